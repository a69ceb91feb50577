"""What the scripts for gdb and lldb share: which C++ types they show, and how."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sdybridge.errors import StorageError
from sdybridge.sdy.printer import quote, symbol
from sdybridge.storage.detection import find_build
from sdybridge.storage.layouts import BUILDS, CURRENT
from sdybridge.storage.reader import Symbol, read_value

if TYPE_CHECKING:
    from sdybridge.storage.layouts import Build
    from sdybridge.storage.memory import Memory

_CLASSES = "|".join(sorted({layout.cls for layout in CURRENT.layouts.values()}))

HANDLE = rf"^mlir::(sdy::)?({_CLASSES}|FlatSymbolRefAttr|Attribute)$"
"""The C++ types that are one pointer to a storage, as a pattern."""

STORAGE = rf"^mlir::(sdy::)?(detail::)?({_CLASSES}|Attribute)Storage$"
"""The C++ types of storages, as a pattern."""

_HANDLE, _STORAGE = re.compile(HANDLE), re.compile(STORAGE)


def is_handle(type_name: str) -> bool:
    """Whether a C++ type is one pointer to a storage.

    >>> is_handle("mlir::sdy::MeshAttr"), is_handle("mlir::IntegerAttr")
    (True, False)
    """
    return _HANDLE.match(type_name) is not None


def is_storage(type_name: str) -> bool:
    """Whether a C++ type is a storage.

    >>> is_storage("mlir::sdy::detail::MeshAttrStorage"), is_storage("mlir::sdy::MeshAttr")
    (True, False)
    """
    return _STORAGE.match(type_name) is not None


def describe(memory: Memory, address: int, *, build: Build = CURRENT) -> str:
    """The attribute at an address as MLIR prints it, also if the records of its MLIR are laid out otherwise.

    Raises:
        StorageError: Neither a Shardy attribute, a string nor a flat symbol reference is there.
    """
    value = read_value(memory, address, build=find_build(memory, address, build=build))
    if isinstance(value, Symbol):
        return symbol(value)
    return quote(value) if isinstance(value, str) else str(value)


class Session:
    """What a debugger has been told, and how it shows an attribute.

    Attributes:
        build: Whose layouts to read by.
    """

    def __init__(self) -> None:
        self.build = CURRENT

    def choose_build(self, name: str) -> str:
        """Reads by the layouts of the build of that name, if there is a name, and says which that is.

        Raises:
            StorageError: There is no such build.
        """
        if name and name not in BUILDS:
            raise StorageError(f"there is no build {name!r}; the builds are {', '.join(BUILDS)}")
        self.build = BUILDS[name] if name else self.build
        return f"{self.build.name}: {self.build.about}"

    def describe(self, memory: Memory, address: int) -> str:
        """The attribute at an address as MLIR prints it.

        Raises:
            StorageError: There is none.
        """
        return describe(memory, address, build=self.build)

    def summary(self, memory: Memory, address: int) -> str:
        """The same for a list of variables, in which an error must be short."""
        if address == 0:
            return "<<NULL ATTRIBUTE>>"
        try:
            return self.describe(memory, address)
        except StorageError as error:
            return f"<{error.message}>"
