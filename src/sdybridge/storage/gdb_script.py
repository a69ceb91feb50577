"""For gdb: `source` this file, or start gdb with `-ix` and its path.

It shows Shardy's attributes in variables, when the program has debug information, and adds

    sdy-print ADDRESS    the attribute at an address, also without debug information
    $sdy(ADDRESS)        the same as a string, for conditions and formats
    sdy-build [NAME]     read by the layouts of another build, such as `newer`
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import gdb

if sys.version_info < (3, 11):  # noqa: UP036  (gdb brings a Python of its own)
    raise gdb.GdbError(
        f"sdybridge needs a gdb with Python 3.11 or newer; this one has {sys.version.split()[0]}"
    )

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # this sdybridge, whatever else is installed

from sdybridge.errors import StorageError
from sdybridge.storage.debugger import Session, is_handle, is_storage
from sdybridge.storage.memory import unreadable

del sys.path[0]  # what else is there is of another Python

_SESSION = Session()
_USAGE = "usage: sdy-print ADDRESS, where ADDRESS is any expression, such as 0x7fff1230 or *(void**)$rdi"


class InferiorMemory:
    """The memory of the program, or of the core dump, that gdb looks at."""

    def read(self, address: int, size: int) -> bytes:
        """The bytes from an address on."""
        try:
            return bytes(gdb.selected_inferior().read_memory(address, size))
        except (gdb.error, OverflowError) as error:
            raise unreadable(address, size, str(error)) from None


class SdyPrint(gdb.Command):  # type: ignore[misc]
    """sdy-print ADDRESS: print the Shardy attribute whose storage is at an address.

    ADDRESS is any expression: a number, a variable, a register, such as *(void**)$rdi for a function that
    takes an attribute by reference. An attribute itself will do, and so will a pointer to its storage.
    """

    def __init__(self) -> None:
        super().__init__("sdy-print", gdb.COMMAND_DATA, gdb.COMPLETE_EXPRESSION)

    def invoke(self, argument: str, _from_tty: bool) -> None:
        """Prints it, or says what is wrong."""
        if not argument.strip():
            raise gdb.GdbError(_USAGE)
        try:
            gdb.write(_SESSION.describe(InferiorMemory(), _address(gdb.parse_and_eval(argument))) + "\n")
        except (StorageError, gdb.error) as error:
            raise gdb.GdbError(str(error)) from None  # without a traceback


class SdyBuild(gdb.Command):  # type: ignore[misc]
    """sdy-build [NAME]: read attributes by the layouts of the build NAME, or say which those are.

    The builds are current, of released compilers, and newer, of Shardy's main branch.
    """

    def __init__(self) -> None:
        super().__init__("sdy-build", gdb.COMMAND_DATA)

    def invoke(self, argument: str, _from_tty: bool) -> None:
        """Chooses it."""
        try:
            gdb.write(_SESSION.choose_build(argument.strip()) + "\n")
        except StorageError as error:
            raise gdb.GdbError(str(error)) from None


class SdyFunction(gdb.Function):  # type: ignore[misc]
    """$sdy(ADDRESS): the Shardy attribute whose storage is at an address, as a string."""

    def __init__(self) -> None:
        super().__init__("sdy")

    def invoke(self, value: Any) -> Any:
        """The text of the attribute, or of what is wrong, so that a condition does not stop."""
        text = _SESSION.summary(InferiorMemory(), _address(value)).encode() + b"\0"  # which gdb 13 leaves out
        return gdb.Value(text, gdb.lookup_type("char").array(len(text) - 1))


class Printer:
    """Shows an attribute, or a storage, or a pointer to one."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def to_string(self) -> str:
        """The attribute's text."""
        return _SESSION.summary(InferiorMemory(), _address(self._value))


def _address(value: Any) -> int:
    """The address of the storage that a value means."""
    kind = value.type.strip_typedefs()
    if kind.code in {gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF}:
        return _address(value.referenced_value())
    if kind.code == gdb.TYPE_CODE_STRUCT:
        return int(value.address) if is_storage(str(kind.unqualified())) else _address(value["impl"])
    return int(value) & (1 << 64) - 1


def find_printer(value: Any) -> Printer | None:
    """The printer of a value that is an attribute."""
    kind = value.type.strip_typedefs()
    if kind.code == gdb.TYPE_CODE_PTR:
        return Printer(value) if is_storage(str(kind.target().strip_typedefs().unqualified())) else None
    name = str(kind.unqualified())
    return Printer(value) if is_handle(name) or (is_storage(name) and value.address is not None) else None


find_printer.name = "sdybridge"  # type: ignore[attr-defined]  # what `info pretty-printer` and `disable` call it
gdb.pretty_printers[:] = [known for known in gdb.pretty_printers if getattr(known, "name", "") != "sdybridge"]
gdb.pretty_printers.insert(0, find_printer)
SdyPrint()
SdyBuild()
SdyFunction()
