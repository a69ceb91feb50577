"""What the command reads and writes: files or standard streams, errors, and progress on long work."""

from __future__ import annotations

import os
import re
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self, TextIO

import click

from sdybridge.cli.tables import terminal_width
from sdybridge.errors import ParseError
from sdybridge.source import EXCERPT_WIDTH, Source, Span

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from rich.progress import Progress

    from sdybridge.errors import SdyBridgeError

_FILE_NAME = re.compile(r"""(?:[./~]|[^\s{}\[\]<>()"'\\]*\.[A-Za-z])[^\s{}\[\]<>()"'\\]*""")
_GZIP = b"\x1f\x8b"
_PATIENCE = 1.0  # seconds before a progress bar appears


class ProgramFile(NamedTuple):
    """A program as it was read.

    Attributes:
        data: Its text, or the bytes of a proto.
        source: Its text with its name; without text for a proto.
    """

    data: str | bytes
    source: Source


def read_program(path: str) -> ProgramFile:
    """A program in any format: text, or the bytes of an HLO proto; `-` is standard input.

    MLIR bytecode and files of `jax.export` are turned into text.
    """
    from sdybridge.interop import is_bytecode
    from sdybridge.modules.programs import is_proto

    data, name = _read(path)
    if not is_bytecode(data) and is_proto(data):
        return ProgramFile(data, Source("", name))
    source = _as_text(data, name)
    return ProgramFile(source.text, source)


def read_text(path: str) -> Source:
    """The text of a file, or of standard input for `-`; bytes that are not UTF-8 survive.

    MLIR bytecode and files of `jax.export` are turned into text.
    """
    return _as_text(*_read(path))


def _read(path: str) -> tuple[bytes, str]:
    name = "<stdin>" if path == "-" else path
    try:
        data = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except OSError as error:
        where = "standard input" if path == "-" else path
        raise click.UsageError(f"cannot read {where}: {error.strerror}") from None
    return (_decompressed(data, name) if data.startswith(_GZIP) else data), name


def _decompressed(data: bytes, name: str) -> bytes:
    """What a gzip file holds, as XLA dumps protos with `--xla_dump_compress_protos`."""
    import gzip
    import zlib

    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        message = f"the gzip file is damaged: {error}"
        raise ParseError(message, source=Source("", name)) from None


def check_standard_input(paths: Sequence[str]) -> None:
    """Check that `-` is not given twice: standard input can be read once.

    Raises:
        click.UsageError: It is.
    """
    if paths.count("-") > 1:
        raise click.UsageError("standard input can be given once only")


def is_file(text: str) -> bool:
    """Whether this is the name of a file, and not a sharding, which may be too long for a name."""
    try:
        return Path(text).is_file()
    except (OSError, ValueError):
        return False


def refuse_file_name(text: str, help: str) -> None:  # noqa: A002  (the word that errors use)
    """Check that what should be a sharding is not the name of a file.

    Args:
        text: What was given.
        help: What to do instead, if it is.

    Raises:
        click.UsageError: It is.
    """
    if _FILE_NAME.fullmatch(text):
        exists = is_file(text)
        raise click.UsageError(f"{text} is no sharding, {f'but a file; {help}' if exists else 'nor a file'}")


def _as_text(data: bytes, name: str) -> Source:
    from sdybridge.interop import is_bytecode, read_bytecode  # subprocess and more, for few commands

    if is_bytecode(data):
        return Source(read_bytecode(data, name=name), name)
    source = Source(data.decode("utf-8", "surrogateescape"), name)
    if "\0" in source.text[:4096]:
        raise ParseError("this is a binary file, not MLIR text", source=Source("", name))
    if source.text.startswith("\ufeff"):
        raise ParseError(
            "the text starts with a byte order mark, which no reader takes",
            source=source,
            span=Span(0, 1),
            help="save the file as UTF-8 without one",
        )
    return source


def write_program(path: str | None, program: str | bytes) -> None:
    """Write to a file, whole or not at all, or to standard output for None and `-`."""
    data = program if isinstance(program, bytes) else program.encode("utf-8", "surrogateescape")
    if path == "":
        raise click.UsageError("the name of the output file is empty")
    try:
        if path in {None, "-"}:
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
        else:
            _write_file(Path(str(path)), data)
    except BrokenPipeError:
        raise
    except OSError as error:
        where = "to standard output" if path in {None, "-"} else path
        raise click.UsageError(f"cannot write {where}: {error.strerror}") from None


def _write_file(target: Path, data: bytes) -> None:
    if target.exists() and not target.is_file():  # a device or pipe cannot be replaced
        target.write_bytes(data)
        return
    import tempfile

    target = target.resolve()  # a link stays a link
    handle, temporary = tempfile.mkstemp(dir=target.parent or None, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(temporary).chmod(target.stat().st_mode & 0o7777 if target.exists() else 0o666 & ~_umask())
        Path(temporary).replace(target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def show_error(error: SdyBridgeError) -> None:
    """Print an error with its excerpt to standard error, in colour on a terminal."""
    first, *rest = error.to_text(excerpt_width(sys.stderr)).encode("utf-8", "replace").decode().split("\n")
    where, mark, message = first.partition(": error: ")
    if not mark:
        where, message = "sdybridge", first
    click.echo(
        f"{click.style(where, bold=True)}: {click.style('error:', fg='red', bold=True)} {message}", err=True
    )
    for line in rest:
        if line.strip().startswith("^"):
            line = click.style(line, fg="red", bold=True)
        for label, colour in (("note:", "cyan"), ("help:", "green")):
            if line.startswith(label):
                line = click.style(label, fg=colour, bold=True) + line[len(label) :]
        click.echo(line, err=True)


def excerpt_width(stream: TextIO) -> int:
    """How many characters of a line an excerpt may show, so that the caret stays under its place."""
    columns = terminal_width(stream)
    return EXCERPT_WIDTH if columns is None else max(20, min(EXCERPT_WIDTH, columns - len("...  ...")))


class ProgressBar:
    """A bar on standard error that appears when the work takes over a second on a terminal."""

    def __init__(self, label: str, total: int) -> None:
        self._label = label
        self._total = total
        self._start = time.monotonic()
        self._bar: Progress | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar:
            self._bar.stop()

    def update(self, done: int) -> None:
        """Show that `done` of the total is done."""
        if self._bar is None:
            if time.monotonic() - self._start < _PATIENCE or not sys.stderr.isatty():
                return
            from rich.console import Console
            from rich.progress import Progress

            self._bar = Progress(console=Console(stderr=True), transient=True)
            self._bar.add_task(self._label, total=self._total)
            self._bar.start()
        self._bar.update(self._bar.task_ids[0], completed=done)
