"""The exception tree. Every error says where, what and how to fix it, and renders itself.

What `str(error)` looks like:

    model.mlir:3:90: error: expected ',' or ']' after dimension sharding, found '{'
    ... #sdy.sharding_per_value<[<@mesh, [{"x":(1)2} {?}]>]> ...
                                                     ^
    help: write `{"x":(1)2}, {?}`
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdybridge.source import EXCERPT_WIDTH

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sdybridge.source import Source, Span

Path = tuple[str | int, ...]
"""A way into a value, as attribute names and indices: `("dim_shardings", 1, "axes", 0)`."""


class SdyBridgeError(ValueError):
    """Base of all errors that sdybridge raises for bad input.

    Attributes:
        message: What is wrong, in one line, without position.
        source: The text that the error is about, if it came from text.
        span: The offending characters in `source`.
        notes: Further lines: the rule that was broken, a second place.
        help: The smallest edit that fixes it.

    >>> from sdybridge import MeshAttr
    >>> try:
    ...     MeshAttr.from_string('<["x"=0]>')
    ... except SdyBridgeError as error:
    ...     caught = error
    >>> caught.message, caught.source.location(caught.span.start)
    ('axis "x" has size 0, but a size must be at least 1', (1, 7))
    """

    def __init__(
        self,
        message: str,
        *,
        source: Source | None = None,
        span: Span | None = None,
        notes: Sequence[str] = (),
        help: str | None = None,  # noqa: A002  (the word that the message itself uses)
    ) -> None:
        super().__init__(message)
        self.message = message
        self.source = source
        self.span = span
        self.notes = tuple(notes)
        self.help = help

    def __str__(self) -> str:
        return self.to_text()

    def to_text(self, width: int = EXCERPT_WIDTH) -> str:
        """The error with its excerpt, notes and help; of a long line `width` characters are shown.

        >>> from sdybridge.source import Source, Span
        >>> error = SdyBridgeError("unknown axis", source=Source("one axis and another"), span=Span(4, 8))
        >>> print(error.to_text(width=12))
        <string>:1:5: error: unknown axis
        one axis and ...
            ^~~~
        """
        head = f"{self.location}: error: {self.message}" if self.source else self.message
        excerpt = self.source.excerpt(self.span, width) if self.source and self.span else ""
        return diagnostic(head, excerpt, self.notes, self.help)

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.message, self.__dict__)

    @property
    def location(self) -> str:
        """`file:line:column` as far as known; empty without a source."""
        if not self.source:
            return ""
        if not self.span:
            return self.source.name
        line, column = self.source.location(self.span.start)
        return f"{self.source.name}:{line}:{column}"

    def located(self, source: Source, span: Span) -> SdyBridgeError:
        r"""The same error, placed in a larger text (used once, where that text is known).

        >>> from sdybridge.source import Source, Span
        >>> source = Source("a line\nanother", "step.mlir")
        >>> print(SdyBridgeError("unknown axis").located(source, Span(7, 14)))
        step.mlir:2:1: error: unknown axis
        another
        ^~~~~~~
        """
        self.source = source
        self.span = span
        return self


def diagnostic(head: str, excerpt: str, notes: Iterable[str], help: str | None) -> str:  # noqa: A002
    """What an error, a warning or a finding says, line by line; without an excerpt if that is empty.

    >>> print(diagnostic("f.mlir:1:1: error: no mesh", "", ["it is needed"], None))
    f.mlir:1:1: error: no mesh
    note: it is needed
    """
    lines = [head, excerpt] if excerpt else [head]
    lines += [f"note: {note}" for note in notes]
    if help:
        lines.append(f"help: {help}")
    return "\n".join(lines)


def plural(count: int, noun: str, nouns: str | None = None) -> str:
    """The count with its noun.

    >>> plural(1, "mesh", "meshes"), plural(2, "site")
    ('1 mesh', '2 sites')
    """
    return f"{count} {noun if count == 1 else nouns or noun + 's'}"


def _rebuild(cls: type[SdyBridgeError], message: str, state: dict[str, object]) -> SdyBridgeError:
    error = cls.__new__(cls, message)
    error.__dict__.update(state)
    return error


class ParseError(SdyBridgeError):
    """Text that does not follow the grammar; always has a source and a span.

    >>> from sdybridge import MeshAttr
    >>> try:
    ...     MeshAttr.from_string('<["x"]>')
    ... except ParseError as error:
    ...     print(error)
    <string>:1:6: error: expected '=' after the axis name, found ']'
    <["x"]>
         ^
    help: write `"x"=` and the axis's size
    """


class VerificationError(SdyBridgeError):
    """A well-formed value that breaks a rule.

    Attributes:
        rule: The short name of the broken rule, stable across releases, such as `unknown-axis`.
        path: The way from the verified value to the offending part, such as
            `("dim_shardings", 1, "axes", 0)`.

    >>> from sdybridge import MeshAttr
    >>> try:
    ...     MeshAttr.from_sizes({"x": 0})
    ... except VerificationError as error:
    ...     print(error.rule, error.path)
    axis-size ('size',)
    """

    def __init__(
        self,
        message: str,
        *,
        rule: str,
        path: Path = (),
        source: Source | None = None,
        span: Span | None = None,
        notes: Sequence[str] = (),
        help: str | None = None,  # noqa: A002
    ) -> None:
        super().__init__(message, source=source, span=span, notes=notes, help=help)
        self.rule = rule
        self.path = path


class ConversionError(SdyBridgeError):
    """A valid value that the other notation cannot express; the notes name both sides.

    >>> from sdybridge import HloSharding, MeshAttr, convert_to_sdy_sharding
    >>> try:
    ...     convert_to_sdy_sharding(HloSharding.iota_tile([4]), MeshAttr.from_sizes({"x": 3}))
    ... except ConversionError as error:
    ...     print(error.message)
    the sharding is on 4 devices, the mesh has 3
    """


class ProtoError(SdyBridgeError):
    r"""Bytes or a message that are not a valid `OpSharding`.

    >>> from sdybridge import HloSharding
    >>> try:
    ...     HloSharding.from_proto(b"\x08\x09")
    ... except ProtoError as error:
    ...     print(error.message)
    type: there is no type 9
    """


class StorageError(SdyBridgeError):
    """Memory that does not hold the attribute that is looked for.

    Attributes:
        struct: The class whose storage was being read, such as `AxisRefAttr`; empty if none was.
        field: The field of that storage.
        address: Where the storage is, or the memory that cannot be read.
        path: The way from the attribute that was asked for to what is wrong, such as
            `("dim_shardings", 1, "axes", 0, "name")`.

    >>> from sdybridge.storage import BytesMemory, read_attribute
    >>> try:
    ...     read_attribute(BytesMemory(0x1000, b""), 0x1000)
    ... except StorageError as error:
    ...     print(error.message)
    cannot read 8 bytes at 0x1000: the image is from 0x1000 to 0x1000
    """

    def __init__(
        self,
        message: str,
        *,
        struct: str = "",
        field: str = "",
        address: int | None = None,
        path: Path = (),
        notes: Sequence[str] = (),
        help: str | None = None,  # noqa: A002
    ) -> None:
        super().__init__(message, notes=notes, help=help)
        self.struct = struct
        self.field = field
        self.address = address
        self.path = path
