"""For lldb: `command script import` this file.

It shows Shardy's attributes in variables, when the program has debug information, and adds

    sdy-print ADDRESS    the attribute at an address, also without debug information
    sdy-build [NAME]     read by the layouts of another build, such as `newer`
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import lldb

if sys.version_info < (3, 11):  # noqa: UP036  (lldb brings a Python of its own)
    raise ImportError(
        f"sdybridge needs an lldb with Python 3.11 or newer; this one has {sys.version.split()[0]}"
    )

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # this sdybridge, whatever else is installed

from sdybridge.errors import StorageError
from sdybridge.storage.debugger import HANDLE, STORAGE, Session, is_storage
from sdybridge.storage.memory import unreadable

del sys.path[0]  # what else is there is of another Python

_SESSION = Session()
_USAGE = "usage: sdy-print ADDRESS, where ADDRESS is any expression, such as 0x7fff1230 or *(void**)$rdi"


class ProcessMemory:
    """The memory of the program, or of the core dump, that lldb looks at."""

    def __init__(self, process: Any) -> None:
        self._process = process

    def read(self, address: int, size: int) -> bytes:
        """The bytes from an address on."""
        error = lldb.SBError()
        try:
            found = self._process.ReadMemory(address, size, error)
        except (OverflowError, TypeError) as wrong:
            raise unreadable(address, size, str(wrong)) from None
        if error.Fail() or found is None or len(found) != size:
            raise unreadable(address, size, error.GetCString() or "nothing is mapped there")
        return bytes(found)


def sdy_print(_debugger: Any, argument: str, context: Any, result: Any, _names: dict[str, Any]) -> None:
    """sdy-print ADDRESS: print the Shardy attribute whose storage is at an address.

    ADDRESS is any expression: a number, a variable, a register, such as *(void**)$rdi for a function that
    takes an attribute by reference. An attribute itself will do, and so will a pointer to its storage.
    """
    if not argument.strip():
        result.SetError(_USAGE)
        return
    frame = context.GetFrame()
    value = (frame if frame.IsValid() else context.GetTarget()).EvaluateExpression(argument)
    if value.GetError().Fail():
        result.SetError(value.GetError().GetCString() or f"{argument} has no value")
        return
    try:
        result.AppendMessage(_SESSION.describe(ProcessMemory(context.GetProcess()), _address(value)))
    except StorageError as error:
        result.SetError(str(error))


def sdy_build(_debugger: Any, argument: str, _context: Any, result: Any, _names: dict[str, Any]) -> None:
    """sdy-build [NAME]: read attributes by the layouts of the build NAME, or say which those are.

    The builds are current, of released compilers, and newer, of Shardy's main branch.
    """
    try:
        result.AppendMessage(_SESSION.choose_build(argument.strip()))
    except StorageError as error:
        result.SetError(str(error))


def summarize(value: Any, _names: dict[str, Any]) -> str:
    """The attribute that a variable holds."""
    return _SESSION.summary(ProcessMemory(value.GetProcess()), _address(value))


def _address(value: Any) -> int:
    """The address of the storage that a value means."""
    kind = value.GetType().GetCanonicalType()
    if kind.IsReferenceType():
        return _address(value.Dereference())
    if kind.GetTypeClass() in {lldb.eTypeClassClass, lldb.eTypeClassStruct}:
        if is_storage(kind.GetUnqualifiedType().GetName()):
            return int(value.GetLoadAddress())
        return _address(_impl(value.GetNonSyntheticValue()))
    return int(value.GetValueAsUnsigned())


def _impl(value: Any) -> Any:
    """The pointer in an attribute, which the base of all attributes has."""
    found = value.GetChildMemberWithName("impl")
    return found if found.IsValid() else _impl(value.GetChildAtIndex(0))


def __lldb_init_module(debugger: Any, _names: dict[str, Any]) -> None:
    here = __name__
    for command in ("sdy_print", "sdy_build"):
        name = command.replace("_", "-")
        debugger.HandleCommand(f"command script add --overwrite -f {here}.{command} {name}")
    for pattern in (HANDLE, STORAGE):
        debugger.HandleCommand(f"type summary add -F {here}.summarize -x '{pattern}'")
