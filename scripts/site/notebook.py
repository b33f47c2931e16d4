"""A notebook as a page: its text, its code, and the outputs that it stores. Nothing is run."""

import base64
import html
import json
import re

COLORS = re.compile(r"\x1b\[[0-9;]*m")
PICTURES = {"image/png": "png", "image/jpeg": "jpg", "image/svg+xml": "svg"}


def lines(text):
    """The text of a cell, which may be a list of lines."""
    return "".join(text) if isinstance(text, list) else text


def convert(source, name):
    """(Markdown, {path: bytes} of its pictures, {mark: HTML} to put in the page's HTML)."""
    text, pictures, marks = [], {}, {}
    for cell in json.loads(source)["cells"]:
        code = lines(cell["source"])
        if cell["cell_type"] == "markdown":
            text.append(code)
        if cell["cell_type"] != "code" or not code.strip():
            continue
        text.append(f"```python\n{code}\n```")
        for output in cell["outputs"]:
            mark = f"<p>output-{len(marks)}-of-{name}</p>"
            shown = render(output, f"{name}/{len(pictures)}", pictures)
            if shown:
                text.append(mark[3:-4])
                marks[mark] = f'<div class="output">{shown}</div>'
    return "\n\n".join(text) + "\n", pictures, marks


def render(output, path, pictures):
    """One output as HTML; a picture is added to pictures by its path."""
    if output["output_type"] == "stream":
        return preformatted(lines(output["text"]))
    if output["output_type"] == "error":
        return preformatted("\n".join(output["traceback"]))
    data = output["data"]
    for kind, end in PICTURES.items():
        if kind in data:
            content = lines(data[kind])
            pictures[f"{path}.{end}"] = content.encode() if end == "svg" else base64.b64decode(content)
            alt = html.escape(lines(data.get("text/plain", "picture")))
            return f'<img src="{path.split("/")[-2]}/{path.split("/")[-1]}.{end}" alt="{alt}">'
    rich = lines(data.get("text/html", ""))
    if rich and "<script" not in rich:
        return rich
    return preformatted(lines(data.get("text/plain", "")))


def preformatted(text):
    return f"<pre><code>{html.escape(COLORS.sub('', text).rstrip())}</code></pre>" if text.strip() else ""
