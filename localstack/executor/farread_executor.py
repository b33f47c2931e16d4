"""A Lambda executor for LocalStack: archives of provided.* runtimes run as child processes.

LocalStack's own executor starts one container per environment from an image that it
pulls, with an init binary that it downloads. Where neither can be had, this one speaks
the Lambda Runtime API to the archive's `bootstrap` itself. One environment is one child
and one HTTP server on loopback, and both go when the child exits, runs into its timeout
or is stopped: the next invocation then begins with a fresh child, as on AWS.

Not kept: the memory limit (AWS_LAMBDA_FUNCTION_MEMORY_SIZE is set, nothing enforces it),
a read-only file system, layers, extensions. Choose it by LAMBDA_RUNTIME_EXECUTOR=child.
"""

import json
import os
import queue
import signal
import subprocess
import tempfile
import threading
import time
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from localstack import config
from localstack.services.lambda_.invocation.executor_endpoint import StatusErrorException
from localstack.services.lambda_.invocation.lambda_models import InvocationResult
from localstack.services.lambda_.invocation.plugins import RuntimeExecutorPlugin
from localstack.services.lambda_.invocation.runtime_executor import RuntimeExecutor

RUNTIME_API = "/2018-06-01/runtime/"
INIT_TIMEOUT = 10  # what AWS gives the initialization of an environment, in seconds


def failure(kind: str, message: str) -> bytes:
    """An error document as a runtime would have sent it."""
    return json.dumps({"errorType": kind, "errorMessage": message}).encode()


@dataclass
class Invocation:
    """One event on its way through a child, and where the answer goes."""

    request_id: str
    arn: str
    trace: str
    payload: bytes
    deadline_ms: int
    answer: Future = field(default_factory=Future)  # of (body, is_error)

    def settle(self, body: bytes, is_error: bool) -> None:
        if not self.answer.done():
            self.answer.set_result((body, is_error))


class RuntimeApi(ThreadingHTTPServer):
    """The Runtime API of one child: one invocation at a time, None closes it."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), RuntimeApiHandler)
        self.inbox: queue.SimpleQueue[Invocation | None] = queue.SimpleQueue()
        self.current: Invocation | None = None
        self.ready: Future = Future()  # of True, or StatusErrorException
        self.closed = False

    def became_ready(self) -> None:
        if not self.ready.done():
            self.ready.set_result(True)

    def failed(self, document: bytes) -> None:
        """The child will answer nothing more: tell whoever waits for it."""
        if not self.ready.done():
            self.ready.set_exception(StatusErrorException("the function did not start", document))
        if self.current is not None:
            self.current.settle(document, True)

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self.inbox.put(None)
            self.shutdown()
            self.server_close()


class RuntimeApiHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: RuntimeApi

    def log_message(self, *_):
        """LocalStack's log has no use for these requests."""

    def do_GET(self):
        if self.path != RUNTIME_API + "invocation/next":
            return self._answer(404)
        self.server.became_ready()
        invocation = self.server.inbox.get()
        if invocation is None:
            self.close_connection = True
            return None
        self.server.current = invocation
        return self._answer(
            200,
            invocation.payload,
            {
                "Content-Type": "application/json",
                "Lambda-Runtime-Aws-Request-Id": invocation.request_id,
                "Lambda-Runtime-Deadline-Ms": str(invocation.deadline_ms),
                "Lambda-Runtime-Invoked-Function-Arn": invocation.arn,
                "Lambda-Runtime-Trace-Id": invocation.trace,
            },
        )

    def do_POST(self):
        body = self._body()
        if self.path == RUNTIME_API + "init/error":
            self._answer(202)
            return self.server.failed(body)
        request_id, _, what = self.path.removeprefix(RUNTIME_API + "invocation/").partition("/")
        invocation = self.server.current
        if invocation is None or invocation.request_id != request_id or what not in ("response", "error"):
            return self._answer(400, failure("InvalidRequestID", "no such invocation"))
        # First the 202: the function logs and flushes before it asks for the next event.
        self._answer(202)
        return invocation.settle(body, what == "error")

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        pieces = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            pieces.append(self.rfile.read(size))
            self.rfile.readline()
        while self.rfile.readline().strip():  # trailers
            pass
        return b"".join(pieces)

    def _answer(self, status: int, body: bytes = b"", headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Child:
    """A running bootstrap and its Runtime API."""

    def __init__(self, code: Path, env: dict[str, str], log):
        self.api = RuntimeApi()
        threading.Thread(target=self.api.serve_forever, daemon=True).start()
        bootstrap = code / "bootstrap"
        own = {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "TMPDIR": tempfile.gettempdir(),
            "LAMBDA_TASK_ROOT": str(code),
            "AWS_LAMBDA_RUNTIME_API": f"127.0.0.1:{self.api.server_port}",
        }
        try:
            bootstrap.chmod(0o755)
            self.process = subprocess.Popen(
                [str(bootstrap)],
                cwd=code,
                env=env | own,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # so that its own children can be ended with it
            )
        except OSError as e:
            self.api.close()
            raise StatusErrorException(str(e), failure("Runtime.InvalidEntrypoint", str(e))) from e
        threading.Thread(target=self._reap, daemon=True).start()

    def _reap(self) -> None:
        status = self.process.wait()
        how = f"exit status {status}" if status >= 0 else f"signal: {signal.Signals(-status).name}"
        self.api.failed(failure("Runtime.ExitError", f"Runtime exited with error: {how}"))
        self.api.close()

    def alive(self) -> bool:
        return self.process.poll() is None and not self.api.closed

    def kill(self) -> None:
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()


class ChildExecutor(RuntimeExecutor):
    """One execution environment."""

    child: Child | None = None

    def start(self, env_vars):
        self.env = {name: str(value) for name, value in env_vars.items()}
        self.log = tempfile.NamedTemporaryFile(prefix=f"lambda-{self.id}-", suffix=".log")
        self._start_child()

    def _start_child(self) -> None:
        code = self.function_version.config.code.get_unzipped_code_location()
        self.child = Child(Path(code), self.env, self.log)
        try:
            self.child.api.ready.result(timeout=INIT_TIMEOUT)
        except FutureTimeout as e:
            self.child.kill()
            message = f"no call of invocation/next within {INIT_TIMEOUT} s"
            raise StatusErrorException(message, failure("Sandbox.Timedout", message)) from e

    def stop(self):
        if self.child is not None:
            self.child.kill()

    def invoke(self, payload):
        if not self.child.alive():
            self._start_child()
        timeout = self.function_version.config.timeout
        begin, logged = time.time(), os.path.getsize(self.log.name)
        invocation = Invocation(
            request_id=payload["invoke-id"],
            arn=payload["invoked-function-arn"],
            trace=payload.get("trace-id") or "",
            payload=payload["payload"].encode(),
            deadline_ms=int((begin + timeout) * 1000),
        )
        self.child.api.inbox.put(invocation)
        try:
            body, is_error = invocation.answer.result(timeout=timeout)
        except FutureTimeout:
            self.child.kill()
            text = f"RequestId: {invocation.request_id} Error: Task timed out after {timeout:.2f} seconds"
            body, is_error = failure("Sandbox.Timedout", text), True
        logs = self._logs_of(invocation.request_id, logged, time.time() - begin)
        return InvocationResult(invocation.request_id, body, is_error=is_error, logs=logs)

    def _logs_of(self, request_id: str, start: int, seconds: float) -> str:
        with open(self.log.name, "rb") as f:
            f.seek(start)
            lines = f.read().decode(errors="replace")
        version = self.function_version.id.qualifier
        return (
            f"START RequestId: {request_id} Version: {version}\n{lines}END RequestId: {request_id}\n"
            f"REPORT RequestId: {request_id}\tDuration: {seconds * 1000:.2f} ms\n"
        )

    def get_logs(self):
        return Path(self.log.name).read_text(errors="replace")

    def get_address(self):
        return "127.0.0.1"

    def get_endpoint_from_executor(self):
        return "127.0.0.1"  # AWS_ENDPOINT_URL of the function: LocalStack itself

    def get_runtime_endpoint(self):
        return f"http://127.0.0.1:{config.GATEWAY_LISTEN[0].port}/_localstack_lambda/{self.id}"

    @classmethod
    def prepare_version(cls, function_version):
        if function_version.config.code:
            function_version.config.code.prepare_for_execution()

    @classmethod
    def cleanup_version(cls, function_version):
        """The archive's folder goes with the function's code."""


class ChildExecutorPlugin(RuntimeExecutorPlugin):
    name = "child"

    def load(self, *_args, **_kwargs):
        return ChildExecutor
