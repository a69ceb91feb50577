"""Runs functions that may abort the process: XLA answers many bad inputs with a failed CHECK.

`run_isolated` starts one server process, which imports the function's module once and then forks for
every item. A fork that dies costs its own item only, which becomes a `Crash`.
"""

from __future__ import annotations

import dataclasses
import importlib
import os
import pickle
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ROOT = Path(__file__).resolve().parents[3]

_FATAL_LINE = re.compile(r"^F\d{4} [\d:.]+\s+\d+ (?:[\w./-]*/)?([\w.-]+:\d+\].*)$", re.MULTILINE)
_ABORT_LINE = re.compile(r"^.*(?:LLVM ERROR|Assertion).*$", re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class Crash:
    """XLA killed its process; `message` is the line it left on stderr."""

    message: str


@dataclasses.dataclass(frozen=True)
class Rejected:
    """XLA refused the input with a diagnostic."""

    message: str


@dataclasses.dataclass(frozen=True)
class _Failed:
    """The function itself raised: a defect of the oracle, not a fact about XLA."""

    trace: str


def run_isolated(
    function: Callable[..., Any],
    items: Sequence[Any],
    *,
    python: str | Path | None = None,
    preload: Sequence[str] = (),
    item_timeout: float = 300,
) -> list[Any]:
    """`[function(item) for item in items]`, with a `Crash` in the place of each item that killed its fork.

    Args:
        function: A module-level function.
        items: Anything that pickles.
        python: The interpreter of the server, by default this one; it needs what `function` imports.
        preload: Modules that the server imports before the first fork, to pay for them once. Their import
            must not start threads.
        item_timeout: Seconds after which an item counts as crashed.

    Raises:
        RuntimeError: `function` raised a Python exception.
    """
    variables = {**os.environ, "JAX_PLATFORMS": "cpu", "TF_CPP_MIN_LOG_LEVEL": "2"}
    job = pickle.dumps((function.__module__, function.__qualname__, list(items), list(preload), item_timeout))
    server = subprocess.run(
        [str(python or sys.executable), "-m", __name__],
        input=job,
        capture_output=True,
        cwd=ROOT,
        env=variables,
        check=False,
    )
    if server.returncode:
        raise RuntimeError(f"the oracle's server failed:\n{server.stderr.decode(errors='replace')[-4000:]}")
    results: list[Any] = pickle.loads(server.stdout)
    for result in results:
        if isinstance(result, _Failed):
            raise RuntimeError(f"the oracle failed:\n{result.trace}")  # noqa: TRY004
    return results


def _serve() -> None:
    """The server: reads a job from stdin, writes the list of results to stdout."""
    answer = os.dup(1)
    os.dup2(2, 1)  # whatever XLA prints must not mix with the answer
    module, name, items, preload, item_timeout = pickle.load(sys.stdin.buffer)
    for other in preload:
        importlib.import_module(other)
    function = getattr(importlib.import_module(module), name)
    results = [_run_in_fork(function, item, item_timeout) for item in items]
    with os.fdopen(answer, "wb") as out:
        pickle.dump(results, out)


def _run_in_fork(function: Callable[..., Any], item: Any, item_timeout: float) -> Any:
    receiver, sender = os.pipe()
    with tempfile.TemporaryFile() as errors:
        child = os.fork()
        if child == 0:
            os.dup2(errors.fileno(), 2)
            os.close(receiver)
            _answer(function, item, sender)
        os.close(sender)
        payload = _read_all(receiver, item_timeout)
        if payload is None:
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        if payload is None:
            return Crash("timeout")
        if payload:
            return pickle.loads(payload)
        errors.seek(0)
        return Crash(crash_message(errors.read().decode(errors="replace"), status))


def _answer(function: Callable[..., Any], item: Any, sender: int) -> None:
    try:
        result = function(item)
    except Exception:  # noqa: BLE001  (handed to the parent, which raises)
        result = _Failed(traceback.format_exc())
    with os.fdopen(sender, "wb") as out:
        pickle.dump(result, out)
    os._exit(0)


def _read_all(receiver: int, timeout: float) -> bytes | None:
    """Everything written to the pipe until it closes; `None` on a timeout."""
    deadline = time.monotonic() + timeout
    chunks: list[bytes] = []
    with os.fdopen(receiver, "rb", buffering=0) as pipe:
        while True:
            ready, _, _ = select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                return None
            chunk = pipe.read(1 << 20)
            if not chunk:
                return b"".join(chunks)
            chunks.append(chunk)


def crash_message(stderr: str, status: int) -> str:
    """The failed CHECK in a dead process's stderr, or else the signal that killed it."""
    fatal = _FATAL_LINE.search(stderr)
    if fatal:
        return fatal.group(1)
    abort = _ABORT_LINE.search(stderr)
    return abort.group().strip() if abort else f"killed by signal {os.waitstatus_to_exitcode(status)}"


if __name__ == "__main__":
    # Under this name, not as `__main__`, so that the classes in a pickle are found on both sides.
    importlib.import_module("tests.differential.oracle.isolation")._serve()
