"""The gateway: one farread program for a process, asked over a socket that nobody else can reach."""

from __future__ import annotations

import atexit
import base64
import http.client
import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import threading
import urllib.parse
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any, Optional

from . import _errors
from ._program import program

_UNIX = hasattr(socket, "AF_UNIX") and sys.platform != "win32"
_SOCKET_PATH = 103  # bytes of the path of a Unix socket: macOS has the least
_SOCKET_NAME = len("/farread-4294967295/s")  # what the program puts it into
_ENDS_WITHIN = 5.0  # seconds for a program that is told to end, and that nobody asks


class _Connection(http.client.HTTPConnection):
    """A connection to the gateway, over a Unix socket where there are such."""

    def __init__(self, address: str) -> None:
        self._address = address
        super().__init__("localhost")

    def connect(self) -> None:
        if self._address.startswith("unix:"):
            self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self.sock.connect(self._address[len("unix:") :])
            return
        at = urllib.parse.urlsplit(self._address)
        self.sock = socket.create_connection((at.hostname or "127.0.0.1", at.port or 80))
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


class _Child:
    """A running program. It ends when the last process that has its pipe does."""

    def __init__(self, flags: list[str]) -> None:
        folder, usable = _temporary()
        unix = _UNIX and len(os.fsencode(folder)) + _SOCKET_NAME <= _SOCKET_PATH
        self.secret = "" if unix else secrets.token_urlsafe(32)
        args = [program(), "serve", "--any", "--exit-with-stdin", "--ready-json", "--quiet", "--ttl", "0s"]
        args += ["--max-response", "256MiB", "--max-read", "1GiB", "--cache-memory", "128MiB"]
        args += ["--addr", "unix:"] if unix else ["--addr", "127.0.0.1:0", "--token-file", "-"]
        options: dict[str, Any] = {} if usable else {"env": {**os.environ, "TMPDIR": folder}}
        if sys.platform == "win32":
            options["creationflags"] = subprocess.CREATE_NEW_PROCESS_GROUP
        else:
            options["start_new_session"] = True  # Ctrl-C is for Python alone
        _reap()
        with tempfile.TemporaryFile(dir=folder) as errors:
            try:
                self.process = subprocess.Popen(
                    args + flags, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, **options
                )
            except OSError as e:
                raise _errors.unavailable(f"{args[0]}: {e.strerror or e}") from None
            assert self.process.stdin is not None and self.process.stdout is not None
            if self.secret:
                self.process.stdin.write(self.secret.encode() + b"\n")
                self.process.stdin.flush()
            line = self.process.stdout.readline()
            self.process.stdout.close()
            if not line:
                self.process.stdin.close()
                status = self.process.wait()
                errors.seek(0)
                raise _errors.from_exit(status, errors.read().decode(errors="replace"))
        self.inherited = False
        try:
            self.address: str = json.loads(line)["url"]
        except (ValueError, KeyError, TypeError):
            self.end(False)
            raise _errors.Unavailable(f"{args[0]}: this is no program of farread of this version: see FARREAD_BIN") from None

    def end(self, asked: bool) -> None:
        """Lets the program end. It is waited for if nobody asks it, and no other process has it."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.close()
        except OSError:
            pass
        if not asked and not self.inherited:
            try:
                self.process.wait(_ENDS_WITHIN)
            except subprocess.TimeoutExpired:
                pass
        if self.process.poll() is None:
            _ending.append(self.process)


_ending: list[subprocess.Popen[bytes]] = []  # told to end, while somebody used them


def _reap() -> None:
    _ending[:] = [p for p in _ending if p.poll() is None]


def _temporary() -> tuple[str, bool]:
    """The folder for temporary files, and whether the program finds it by itself."""
    if not _UNIX:
        return tempfile.gettempdir(), True
    said = os.environ.get("TMPDIR")
    for folder in filter(None, (said, "/tmp", "/var/tmp")):
        if os.path.isdir(folder) and os.access(folder, os.W_OK | os.X_OK):
            return folder, folder == (said or "/tmp")
    raise _errors.Unavailable(f"no folder for temporary files, neither {said or 'TMPDIR'} nor /tmp: set TMPDIR to one")


class Gateway:
    """Asks the program, which it starts at the first request. A forked process asks the same one."""

    def __init__(self, flags: Mapping[str, Any]) -> None:
        self.said = {name: value for name, value in flags.items() if value is not None}
        self._flags = _arguments(flags)
        self._lock = threading.Lock()
        self._child: Optional[_Child] = None
        self._idle: list[_Connection] = []
        self._asking = 0  # answers that are read
        self._pid = os.getpid()

    @property
    def flags(self) -> list[str]:
        """The flags of commands, as configured."""
        return list(self._flags)

    def forked(self) -> None:
        """Drops the connections of the process that this one was forked from."""
        self._lock = threading.Lock()
        idle, self._idle = self._idle, []
        for c in idle:
            c.close()
        self._pid, self._asking = os.getpid(), 0

    def forks(self) -> None:
        """Says that a process was forked from this one, which has the program, too."""
        if self._child is not None:
            self._child.inherited = True

    def close(self) -> None:
        """Ends the program, if no forked process uses it."""
        with self._lock:
            child, self._child = self._child, None
            idle, self._idle = self._idle, []
            asked = self._asking > 0
        for c in idle:
            c.close()
        if child is not None:
            child.end(asked)

    def _connect(self, fresh: bool) -> tuple[_Connection, bool, str]:
        """A connection, whether it was used before, and the secret."""
        with self._lock:
            if fresh:
                while self._idle:
                    self._idle.pop().close()
            if self._child is None:
                self._child = _Child(self._flags)
            child = self._child
            if self._idle:
                return self._idle.pop(), True, child.secret
        c = _Connection(child.address)
        try:
            c.connect()
        except OSError:
            with self._lock:  # it was killed: start another one
                if self._child is child:
                    child.end(True)
                    self._child = _Child(self._flags)
                child = self._child or child
            c = _Connection(child.address)
            try:
                c.connect()
            except OSError as e:
                raise _errors.unavailable(f"farread's own program does not answer: {e}") from None
        return c, False, child.secret

    def _release(self, c: _Connection) -> None:
        with self._lock:
            if self._pid == os.getpid() and len(self._idle) < 32:
                self._idle.append(c)
                return
        c.close()

    @contextmanager
    def ask(
        self, path: str, query: Optional[Mapping[str, str]] = None, uri: str = "", held: Optional[set[Any]] = None
    ) -> Iterator[http.client.HTTPResponse]:
        """An answer of the gateway, to be read whole. ``held`` gets the socket meanwhile."""
        with self._lock:
            self._asking += 1
        try:
            with self._asked(path, query, uri, held) as answer:
                yield answer
        finally:
            with self._lock:
                self._asking -= 1

    @contextmanager
    def _asked(self, path: str, query: Optional[Mapping[str, str]], uri: str, held: Optional[set[Any]]) -> Iterator[http.client.HTTPResponse]:
        target = path + ("?" + urllib.parse.urlencode(query) if query else "")
        for fresh in (False, True):
            c, used, secret = self._connect(fresh)
            try:
                if held is not None:
                    held.add(c.sock)
                c.putrequest("GET", target, skip_accept_encoding=True)
                if secret:
                    c.putheader("Authorization", "Bearer " + secret)
                c.endheaders()
                answer = c.getresponse()
                break
            except (OSError, http.client.HTTPException) as e:
                c.close()
                if fresh or not used:
                    raise _errors.unavailable(f"{uri or path}: farread's own program ended the connection: {e}") from None
            except BaseException:
                c.close()
                raise
        whole = False
        try:
            if answer.status >= 300:
                raise _refused(answer, uri)
            yield answer
            whole = answer.isclosed() or answer.length == 0
        except (http.client.HTTPException, ConnectionError) as e:
            if isinstance(e, _errors.Error):
                raise
            raise _errors.unavailable(f"{uri or path}: the answer was cut: {e}") from None
        finally:
            if held is not None:
                held.discard(c.sock)
            answer.close()
            if whole:
                self._release(c)
            else:
                c.close()

    def json(self, path: str, query: Optional[Mapping[str, str]] = None, uri: str = "") -> Any:
        with self.ask(path, query, uri) as r:
            return json.loads(r.read())

    def bytes(self, path: str, query: Optional[Mapping[str, str]] = None, uri: str = "") -> bytes:
        with self.ask(path, query, uri) as r:
            return r.read()


def _refused(answer: http.client.HTTPResponse, uri: str) -> _errors.Error:
    text = answer.read()
    try:
        told = json.loads(text)
        return _errors.from_answer(answer.status, told["code"], told["message"], uri)
    except (ValueError, KeyError, TypeError):
        return _errors.from_answer(answer.status, "", f"status {answer.status}", uri)


def fill(answer: IO[bytes], into: memoryview, uri: str) -> None:
    """Reads an answer into memory, all of which it fills."""
    at = 0
    while at < len(into):
        n = answer.readinto(into[at:])  # type: ignore[attr-defined]
        if not n:
            raise _errors.unavailable(f"{uri}: the answer was cut after {at} of {len(into)} bytes")
        at += n


def local_uri(uri: str | os.PathLike[str]) -> str:
    """A URI whose meaning does not depend on the working folder."""
    text = os.fspath(uri)
    if not isinstance(text, str) or not text:
        raise _errors.Invalid(f"{uri!r}: want s3://bucket/key, https://host/path or a local path")
    if not text.isprintable() and ("\0" in text or text != text.encode(errors="ignore").decode()):
        raise _errors.Invalid(f"{text!r}: a NUL, or what is no UTF-8, in a URI")
    if "://" in text:
        return text
    slash = "/" if text.endswith(("/", os.sep)) else ""
    try:
        return os.path.abspath(text) + slash
    except FileNotFoundError:
        raise _errors.NotFound(f"{text}: the working folder is gone: give the whole path") from None


def root_of(uri: str) -> str:
    """The segment of a path that stands for a URI."""
    return "~" + base64.urlsafe_b64encode(uri.encode()).decode().rstrip("=")


_OPTIONS = {
    "endpoint_url": "endpoint-url",
    "region": "region",
    "profile": "profile",
    "anonymous": "no-sign-request",
    "path_style": "path-style",
    "policy": "policy",
    "max_memory": "max-memory",
    "timeout": "timeout",
    "cache": "cache",
}


def _arguments(flags: Mapping[str, Any]) -> list[str]:
    args: list[str] = []
    for name, value in flags.items():
        if value is None:
            continue
        if name not in _OPTIONS:
            raise _errors.Invalid(f"configure: no option {name!r}: there are {', '.join(_OPTIONS)}")
        if isinstance(value, bool):
            args.append(f"--{_OPTIONS[name]}={'true' if value else 'false'}")
        else:
            args.append(f"--{_OPTIONS[name]}={value}")
    return args


_current = Gateway({})
_adopting = threading.Lock()
_configured = False  # in this process, not by what was unpickled


def current() -> Gateway:
    """The gateway of this process."""
    return _current


def configure(**flags: Any) -> None:
    """Says how stores are reached, in place of what was said before.

    Without it the environment counts (``AWS_ENDPOINT_URL``, ``AWS_PROFILE`` and so on), as it
    is at the first read; a call makes farread look at it again. What is pickled takes this along to
    processes in which it is not called.

    :param endpoint_url: URL of another S3 than AWS
    :param region: AWS region
    :param profile: profile of the AWS configuration files
    :param anonymous: send no credentials
    :param path_style: bucket in the path, not in the host name
    :param policy: ``"fast"``, ``"few"`` or ``"lean"``: least time, requests or bytes
    :param max_memory: ceiling for buffers and caches, such as ``"2GiB"``
    :param timeout: give up on a store that is silent for so long, such as ``"30s"``
    :param cache: folder that keeps bytes of stores for the next run

    >>> configure(max_memory="512MiB")
    >>> configure()
    """
    global _configured
    _replace(flags)
    _configured = True


def _replace(flags: Mapping[str, Any]) -> None:
    global _current
    new = Gateway(flags)
    old, _current = _current, new
    old.close()


def adopt(flags: Mapping[str, Any]) -> None:
    """Takes what :func:`configure` said where an object was pickled, unless it was called here."""
    with _adopting:
        if not _configured and flags != _current.said:
            _replace(flags)


def _forked() -> None:
    global _adopting
    _adopting = threading.Lock()
    _current.forked()


def _forks() -> None:
    _current.forks()


def _ended() -> None:
    _current.close()
    _reap()
    for p in _ending:  # it ends after this process, which need not be warned of
        p.returncode = 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_forks, after_in_child=_forked)
atexit.register(_ended)
