"""Runs the Python of pages: on stdin a line [page, line, folder, code] of JSON for each block, on stdout a line "" or why it failed.

The blocks of a page share a namespace. One that begins with ">>> " has its output compared.
"""

import doctest
import importlib.util
import json
import os
import sys
import tempfile
import tomllib
import traceback

out = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # what blocks print
python, installed = sys.argv[1], tempfile.mkdtemp()  # in the test's own folder
sys.path += [python, installed]
if importlib.util.find_spec("torch") is None:
    sys.path.append(python + "/tests/standin")
# The engine of xarray is found as in a wheel.
os.mkdir(installed + "/farread.dist-info")
with open(python + "/pyproject.toml", "rb") as f, open(installed + "/farread.dist-info/entry_points.txt", "w") as to:
    for group, of in tomllib.load(f)["project"]["entry-points"].items():
        to.write(f"[{group}]\n" + "".join(f"{name} = {place}\n" for name, place in of.items()))
with open(installed + "/farread.dist-info/METADATA", "w") as to:
    to.write("Metadata-Version: 2.1\nName: farread\nVersion: 0\n")


def compared(code: str, space: dict, page: str, line: int) -> str:
    test = doctest.DocTestParser().get_doctest(code, space, page, page, line)
    test.globs = space  # not the copy
    said: list[str] = []
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
    runner.run(test, out=said.append, clear_globs=False)
    return "".join(said)


def run(code: str, space: dict, page: str, line: int) -> str:
    try:
        if code.startswith(">>> "):
            return compared(code + "\n", space, page, line)
        exec(compile("\n" * line + code, page, "exec"), space)
    except Exception:
        return traceback.format_exc()
    return ""


spaces: dict[str, dict] = {}
for text in sys.stdin:
    page, line, folder, code = json.loads(text)
    os.chdir(folder)
    print(json.dumps(run(code, spaces.setdefault(page, {"__name__": page}), page, line)), file=out, flush=True)
