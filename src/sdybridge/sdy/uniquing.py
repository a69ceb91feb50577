"""Uniqued attributes: equal values are one object, as in an MLIR context."""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NoReturn, TypeVar

from sdybridge.target import Target

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping
    from typing import Self

T = TypeVar("T", bound="Attribute")

set_field = object.__setattr__
"""Writes a slot of an attribute that is still being built."""

# Reentrant: a weak reference's callback can run in the middle of any allocation, also of one under the lock.
_LOCK = threading.RLock()


class Attribute:
    """Base of all Shardy attributes: immutable, and one object per distinct value.

    Building the same value twice gives the same object, so `==` and `hash` are identity. Pickling and
    copying keep that, also across threads. A value lives as long as somebody refers to it. Subclassing
    an attribute class is an error.

    >>> from sdybridge.sdy import AxisRefAttr
    >>> AxisRefAttr("x") is AxisRefAttr("x"), isinstance(AxisRefAttr("x"), Attribute)
    (True, True)

    Source: `mlir::Attribute`, uniqued storage.
    """

    __slots__ = ("__weakref__", "_stripped")
    __match_args__: ClassVar[tuple[str, ...]] = ()  # the constructor's arguments, in order

    mnemonic: ClassVar[str]
    """The attribute's name in text, such as `sharding` in `#sdy.sharding<..>`."""

    is_dotted: ClassVar[bool] = False
    """Whether the text is `#sdy.name<..>` rather than `#sdy<name..>`: when its body starts with `<`."""

    _stripped: str

    def __init_subclass__(cls) -> None:
        if Attribute not in cls.__bases__:
            raise TypeError(f"{cls.__bases__[0].__name__} cannot be subclassed: its values are uniqued")

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is immutable; build a new one instead of setting {name}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is immutable; {name} cannot be deleted")

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), tuple(getattr(self, field) for field in self.__match_args__)

    def __str__(self) -> str:
        if self.is_dotted:
            return f"#sdy.{self.mnemonic}{self.stripped}"
        return f"#sdy<{self.mnemonic}{self.stripped}>"

    @property
    def stripped(self) -> str:
        """The text without its `#sdy.name`, as it stands inside lists and ops: `<@mesh, [{"x"}]>`."""
        try:
            return self._stripped
        except AttributeError:
            text = self._print()
        set_field(self, "_stripped", text)
        return text

    def _print(self) -> str:
        raise NotImplementedError

    @classmethod
    def from_string(
        cls,
        text: str,
        *,
        name: str = "<string>",
        target: Target = Target.CURRENT,
        aliases: Mapping[str, str | Attribute] | None = None,
    ) -> Self:
        """The attribute that `text` spells, in its full or its stripped form.

        Args:
            text: Such as `#sdy.mesh<["x"=2]>` or `<["x"=2]>`.
            name: What error messages call the text.
            target: Whose grammar to follow.
            aliases: What each `#alias` stands for: its text, or an attribute.

        Raises:
            ParseError: The text does not follow the grammar.
            VerificationError: The text holds an invalid mesh.

        Example:
            >>> from sdybridge.sdy import AxisRefAttr
            >>> AxisRefAttr.from_string('#sdy<axis_ref"x":(2)4>')
            AxisRefAttr.sub('x', 2, 4)
            >>> AxisRefAttr.from_string('"x"')
            AxisRefAttr('x')
        """
        read = SHORT_CUTS.get(cls)
        found = read(text) if read is not None and type(text) is str else None
        return _parse_whole(cls, text, name, target, aliases) if found is None else found  # type: ignore[no-any-return]


SHORT_CUTS: dict[type[Attribute], Callable[[str], Any]] = {}
"""For some classes, a reader that gives None unless the text is canonical; filled by the parser."""


def _parse_whole(*args: object) -> Any:
    raise NotImplementedError("sdybridge.sdy.parser was not imported")


def set_parser(parse: Callable[..., Any]) -> None:
    """Called once by the parser, which imports the attribute classes and so cannot be imported by them."""
    global _parse_whole
    _parse_whole = parse


class UniqueTable(Generic[T]):
    """The living attributes of one class, by their fields. Locks only to clear away dead ones."""

    __slots__ = ("_lock", "_on_death", "entries")

    def __init__(self) -> None:
        self.entries: dict[Hashable, _Entry[T]] = {}
        self._on_death = self._forget  # bound once
        self._lock = _LOCK  # attributes may die when the interpreter has cleared this module already

    def __len__(self) -> int:
        return len(self.entries)

    def get(self, key: Hashable) -> T | None:
        """The living attribute with these fields, if any."""
        entry = self.entries.get(key)
        return None if entry is None else entry()

    def add(self, key: Hashable, value: T) -> T:
        """Enters `value`, or gives the attribute that another thread has entered meanwhile."""
        entry = _Entry(value, self._on_death)
        entry.key = key
        if self.entries.setdefault(key, entry) is entry:  # atomic, so that this needs no lock
            return value
        with _LOCK:
            found = self.get(key)
            if found is not None:
                return found
            self.entries[key] = entry
            return value

    def _forget(self, entry: _Entry[T]) -> None:
        with self._lock:
            if self.entries.get(entry.key) is entry:
                del self.entries[entry.key]


class _Entry(weakref.ref[T]):
    __slots__ = ("key",)

    key: Hashable
