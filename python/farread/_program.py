"""Where the farread program is."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from pathlib import Path

from . import _errors


def program() -> str:
    """The path of the farread program that came with this package.

    ``FARREAD_BIN`` names another one.
    """
    named = os.environ.get("FARREAD_BIN")
    if named:
        return named
    name = "farread" + (".exe" if sys.platform == "win32" else "")
    user = "nt_user" if os.name == "nt" else "posix_user"
    if sys.platform == "darwin" and sys._framework:  # type: ignore[attr-defined,unused-ignore]
        user = "osx_framework_user"
    root = Path(__file__).resolve().parent.parent
    places = [
        sysconfig.get_path("scripts"),
        sysconfig.get_path("scripts", scheme=user),
        str(root / "bin"),  # pip install --target
        str(root.parent.parent.parent / "bin"),  # pip install --prefix
    ]
    for place in places:
        path = os.path.join(place, name)
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    found = shutil.which("farread")
    if found:
        return found
    raise _errors.unavailable(f"no farread program in {places[0]}: install the wheel of farread for this platform, or set FARREAD_BIN")
