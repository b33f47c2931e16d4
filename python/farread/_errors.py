"""The exceptions of farread: one line each, which says what to do."""

from __future__ import annotations

import re


class Error(Exception):
    """Any failure of farread. ``code`` is the gateway's word for it, ``""`` if it has none."""

    code: str = ""


class NotFound(Error, FileNotFoundError):
    """There is no such object, bucket or file."""


class NoEntry(Error, LookupError):
    """The dataset has no such id, item, track or member."""

    def __str__(self) -> str:  # KeyError's quotes would hide what it says
        return str(self.args[0]) if self.args else ""


class Denied(Error, PermissionError):
    """Credentials or a policy do not allow it."""


class Changed(Error):
    """The object was replaced after it was opened."""


class Exists(Error, FileExistsError):
    """What is to be written is there already."""


class Corrupt(Error, ValueError):
    """The stored bytes are damaged."""


class Unsupported(Error, TypeError):
    """A dataset of another kind, or stored in a way that is not read."""


class TooLarge(Error, MemoryError):
    """An answer, or what has to be read for it, is beyond a limit."""


class Invalid(Error, ValueError):
    """A URI, an option or a selection that makes no sense."""


class Unavailable(Error, ConnectionError):
    """The store, or farread's own program, does not answer."""


_HINTS: dict[type[Error], str] = {
    NotFound: "check the URI, and farread.configure(endpoint_url=...) if it is another S3 than AWS",
    Denied: "check the credentials, or use farread.configure(anonymous=True) for public buckets",
    Changed: "open it again",
    Exists: "give overwrite=True to replace it",
    Unavailable: "try again",
}

_BY_CODE: dict[str, type[Error]] = {
    "not-found": NotFound,
    "no-root": NotFound,
    "no-route": Invalid,
    "no-entry": NoEntry,
    "denied": Denied,
    "unauthorized": Denied,
    "changed": Changed,
    "precondition": Changed,
    "corrupt": Corrupt,
    "unsupported": Unsupported,
    "too-large": TooLarge,
    "too-much": TooLarge,
    "invalid": Invalid,
    "method": Invalid,
}

# Limits that follow max_memory; others are fixed, and some of them are met by asking for less.
_MEMORY = re.compile(r"buffers of \d+ bytes|bytes of memory|decoded bytes, \d+ allowed")
_ANSWER = re.compile(r"slice of \d+ bytes|\d+ items, \d+ allowed|answer exceeds|(?:bytes|requests) to read|to look at")

# Hints of the command, and what its flags are called here.
_COMMAND = re.compile(r" \((?:see: farread [^()]*--help|--force [^()]*)\)")
_SOURCE = re.compile(r"^pack (?:-|\S*farread-\w+(?:[/\\]\S*)?): ")
_FLAGS = re.compile(r"--(chunk-shape|block-shape|codec|dims|attrs|coord|force)\b")
_NAMES = {"chunk-shape": "chunks", "block-shape": "blocks", "coord": "coords", "force": "overwrite=True"}

_BY_EXIT: dict[int, type[Error]] = {2: Invalid, 3: NotFound, 4: Denied, 5: Exists, 6: Unavailable, 7: Corrupt}


def _with_hint(kind: type[Error], text: str, code: str = "") -> Error:
    line = " ".join(text.split())
    hint = _HINTS.get(kind) if kind is not TooLarge else _room(line, code)
    e = kind(f"{line}: {hint}" if hint else line)
    e.code = code
    return e


def _room(line: str, code: str) -> str:
    """What gives more room, or less to be read, if anything does."""
    less = "ask for less at a time" if code else ""  # of an answer
    if _MEMORY.search(line):
        more = "allow more by farread.configure(max_memory=...)"
        return f"{less}, or {more}" if less else more
    return less if _ANSWER.search(line) else ""


def from_answer(status: int, code: str, message: str, uri: str) -> Error:
    """The exception for an answer of the gateway about a URI."""
    kind = _BY_CODE.get(code)
    if kind is None:
        kind = Invalid if status == 400 or code.startswith("bad-") and status < 500 else Unavailable
    return _with_hint(kind, f"{uri}: {message}" if uri and uri not in message else message, code)


def from_exit(status: int, text: str, uri: str = "") -> Error:
    """The exception for a farread command that failed, about a URI in place of a pipe or a temporary file."""
    kind = _BY_EXIT.get(status, Unavailable)
    for end, other in ("unsupported feature", Unsupported), ("exceeds limit", TooLarge):
        if kind is Corrupt and text.endswith(end):  # one code stands for all of them
            kind = other
    if uri:
        text = _SOURCE.sub(lambda _: f"{uri}: ", text.strip(), count=1)
    text = _FLAGS.sub(lambda m: _NAMES.get(m[1], m[1]), _COMMAND.sub("", text))
    if kind is Exists and ("not replace" in text or "is not replaced" in text):  # nor would overwrite=True
        return Exists(" ".join(text.split()))
    return _with_hint(kind, text or f"farread ended with {status}")


def unavailable(text: str) -> Error:
    return _with_hint(Unavailable, text)
