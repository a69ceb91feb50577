"""MLIR bytecode, StableHLO's portable artifacts and files of `jax.export`, as the text of their program.

Only jaxlib reads them, with the dialects that it knows. It runs in a process of its own: bytes that abort it
are an error like any other here.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys

from sdybridge.errors import ParseError
from sdybridge.source import Source, Span

MAGIC = b"ML\xefR"
"""What MLIR bytecode starts with. A file of `jax.export` has it inside."""

_CHILD = "sdybridge.interop.print_bytecode"
_UNREADABLE = 3
_INSTALL = "pip install 'sdybridge[jax]'"


def is_bytecode(data: bytes) -> bool:
    r"""Whether `data` is MLIR bytecode, or a file of `jax.export`, which is binary and has bytecode inside.

    >>> is_bytecode(b"ML\xefR\rStableHLO_v1.15.0"), is_bytecode(b"module {}")
    (True, False)
    """
    return data.startswith(MAGIC) or (b"\0" in data[:4] and MAGIC in data)


def read_bytecode(data: bytes, *, name: str = "<bytes>") -> str:
    """The program in MLIR bytecode or in a file of `jax.export`, as MLIR text without locations.

    Needs the extra `jax`. It takes as long as importing JAX, about a second.

    Args:
        data: The file's bytes.
        name: What error messages call the file.

    Raises:
        ParseError: jaxlib cannot read the bytes, or is not installed.
    """
    missing = [package for package in ("jax", "jaxlib") if importlib.util.find_spec(package) is None]
    if missing:
        raise _error(data, name, "MLIR bytecode is read by jaxlib, which is not installed", help=_INSTALL)
    child = subprocess.run(  # noqa: S603  (our own module)
        [sys.executable, "-m", _CHILD], input=data, capture_output=True, check=False
    )
    if child.returncode == 0:
        return child.stdout.decode("utf-8", "surrogateescape")
    message = child.stderr.decode("utf-8", "replace").strip()
    if child.returncode != _UNREADABLE:
        last = message.rpartition("\n")[2]
        raise _error(data, name, f"jaxlib stopped while it read the bytecode: {last or 'no message'}")
    if "flatbuffers" in message:
        raise _error(data, name, "files of jax.export are read with flatbuffers", help=_INSTALL)
    first, *notes = [line.strip() for line in message.splitlines()] or ["it gives no reason"]
    raise _error(data, name, f"jaxlib cannot read the bytecode: {first}", notes=notes[:4])


def _error(
    data: bytes,
    name: str,
    message: str,
    *,
    notes: list[str] | None = None,
    help: str | None = None,  # noqa: A002
) -> ParseError:
    shown = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in data[:40])
    return ParseError(
        message, source=Source(shown, name), span=Span(0, len(MAGIC)), notes=notes or (), help=help
    )
