"""Layouts and images as text: tables, pictures, dumps."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sdybridge.storage.layouts import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sdybridge.storage.layouts import Build, Confidence, Field, Layout
    from sdybridge.storage.writer import Image

_BYTE = 4  # columns per byte of a picture
_WORDS = {
    Kind.VECTOR: ("begin", "end", "capacity"),
    Kind.ATTRIBUTES: ("pointer", "length"),
    Kind.INT64S: ("pointer", "length"),
    Kind.BYTES: ("pointer", "length"),
}


def table_columns(field: Field, classes: Mapping[str, str]) -> tuple[str, str, str, str, str]:
    """Offset, width, name, type and note of a field.

    Args:
        field: Of which.
        classes: The C++ classes by the names in the records.
    """
    kind = field.kind.c_type
    targets = " or ".join(classes[name] for name in field.targets)
    if targets:
        kind = kind.replace("Attribute", targets) if field.kind is Kind.ATTRIBUTES else f"{targets} *"
    if field.kind is Kind.OPTIONAL_ATTRIBUTE:
        kind += " or null"
    return f"+0x{field.offset:02x}", str(field.width), field.name, kind, field.note


def class_names(build: Build) -> dict[str, str]:
    """The C++ classes of a build by the names in the records."""
    return {name: layout.cls for name, layout in build.layouts.items()}


def confidences(layout: Layout) -> dict[Confidence, list[str]]:
    """The fields by how their places are known."""
    found: dict[Confidence, list[str]] = {}
    for field in layout.fields:
        found.setdefault(field.confidence, []).append(field.name)
    return found


class _Cell(NamedTuple):
    """Some bytes within one word."""

    start: int
    size: int
    text: str
    label: str


def picture(layout: Layout) -> Iterator[str]:
    r"""A struct drawn word by word, eight bytes to a line; dots are padding.

    >>> from sdybridge.storage import CURRENT
    >>> print("\n".join(picture(CURRENT.layouts["sdy.sub_axis_info"])))
             0   1   2   3   4   5   6   7
           +---+---+---+---+---+---+---+---+
     +0x00 |            pointer            | abstract
           +-------------------------------+
     +0x08 |            int64_t            | pre_size
           +-------------------------------+
     +0x10 |            int64_t            | size
           +-------------------------------+
    """
    ruler = "+---" * 8 + "+"
    rule = "+" + "-" * (8 * _BYTE - 1) + "+"
    margin = " " * 7
    yield f"{margin}  " + "   ".join(map(str, range(8)))
    yield margin + ruler
    words = _words(layout)
    last = max(words) if layout.size is None else layout.size // 8 - 1
    word = 0
    while word <= last:
        if word not in words:
            known = min([at for at in words if at > word], default=last + 1)
            yield f"{margin}~{'not known':^{8 * _BYTE - 1}}~"
            word = known
        else:
            cells, labels = _line(words[word])
            yield f" +0x{8 * word:02x} {cells} {labels}".rstrip()
            word += 1
        yield margin + rule
    if layout.size is None:
        yield f"{margin}~{'not known':^{8 * _BYTE - 1}}~"


def _words(layout: Layout) -> dict[int, list[_Cell]]:
    """What is in each word that the fields reach into."""
    words: dict[int, list[_Cell]] = {}
    for field in layout.fields:
        word, start = divmod(field.offset, 8)
        first, *others = _WORDS.get(field.kind, (_short(field.kind),))
        words.setdefault(word, []).append(_Cell(start, min(8, field.width), first, field.name))
        for i, other in enumerate(others, 1):
            words.setdefault(word + i, []).append(_Cell(0, 8, other, ""))
        if field.width > 8 and not others:
            words.setdefault(word + 1, []).append(_Cell(0, field.width - 8, "b", "whether there is one"))
    return words


def _short(kind: Kind) -> str:
    names = {Kind.BOOL: "b", Kind.BITS: "b", Kind.OPTIONAL_INT64: "int64_t", Kind.REDUCTION_OP: "int32_t"}
    return names.get(kind, kind.c_type if kind.c_type.startswith("int") else "pointer")


def _line(cells: Sequence[_Cell]) -> tuple[str, str]:
    """A word's cells, and what they are."""
    line, at = "|", 0
    for cell in cells:
        if cell.start > at:
            line += "." * ((cell.start - at) * _BYTE - 1) + "|"
        line += f"{cell.text:^{cell.size * _BYTE - 1}.{cell.size * _BYTE - 1}}|"
        at = cell.start + cell.size
    if at < 8:
        line += "." * ((8 - at) * _BYTE - 1) + "|"
    return line, ", ".join(filter(None, (cell.label for cell in cells)))


def dump(image: Image, *, with_records: bool = False) -> Iterator[str]:
    r"""The bytes of an image, with what they are.

    Args:
        image: Made by `write_attribute`.
        with_records: Also the records of the classes.

    >>> from sdybridge.sdy import AxisRefAttr
    >>> from sdybridge.storage import write_attribute
    >>> print("\n".join(dump(write_attribute(AxisRefAttr("x")))))
    0x10000  AxisRefAttr "x"
      +0x00  50 00 01 00 00 00 00 00  abstract                    -> 0x10050 sdy.axis_ref
      +0x08  20 00 01 00 00 00 00 00  name, pointer               -> 0x10020
      +0x10  01 00 00 00 00 00 00 00  name, length                1
      +0x18  00 00 00 00 00 00 00 00  sub_axis_info               null
    0x10020  name of AxisRefAttr "x"
      +0x00  78 00                    characters                  "x"
    """
    for block in image.blocks:
        if block.address >= image.records and not with_records:
            return
        yield f"{block.address:#x}  {block.title}"
        for part in block.parts:
            raw = image.read(part.address, part.size)
            for start in range(0, part.size, 8):
                shown = raw[start : start + 8].hex(" ")
                name, means = (part.name, part.means) if start == 0 else ("", "")
                offset = part.address - block.address + start
                yield f"  +0x{offset:02x}  {shown:<23}  {name:<26}  {means}".rstrip()
