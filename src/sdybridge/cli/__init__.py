"""The `sdybridge` command."""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING

from sdybridge.cli.at_once import answer
from sdybridge.errors import SdyBridgeError

if TYPE_CHECKING:
    from sdybridge.cli.group import cli as cli


def __getattr__(name: str) -> object:  # click takes longer to load than most answers to find
    if name != "cli":
        raise AttributeError(f"module 'sdybridge.cli' has no attribute {name!r}")
    from sdybridge.cli.group import cli

    return cli


def main() -> None:
    """Run the command; errors of the input are shown, not raised."""
    _open_closed_streams()
    try:
        if isinstance(sys.stdout, io.TextIOWrapper):  # names in programs may hold bytes that are no text
            sys.stdout.reconfigure(errors="backslashreplace")
        text = answer(sys.argv[1:])
        if text is None:
            from sdybridge.cli.group import cli

            cli(prog_name="sdybridge")
        else:
            sys.stdout.write(f"{text}\n")
            sys.stdout.flush()
    except SdyBridgeError as error:
        from sdybridge.cli.terminal import show_error

        show_error(error)
        sys.exit(1)
    except OSError as error:  # standard output is full, or gone
        if not isinstance(error, BrokenPipeError):
            sys.stderr.write(f"sdybridge: error: cannot write to standard output: {error.strerror}\n")
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is left in its buffer goes nowhere
        sys.exit(1 if isinstance(error, BrokenPipeError) else 2)


def _open_closed_streams() -> None:
    """Standard streams that the shell closed read nothing, and keep nothing."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115
