"""Shardings of a program, found by the line or the name of what they are on."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from sdybridge.errors import SdyBridgeError
from sdybridge.modules.hlo_annotations import HloAnnotations
from sdybridge.modules.mlir.condensed_annotations import read_mlir
from sdybridge.modules.programs import read_hlo
from sdybridge.source import Source, Span
from sdybridge.view.messages import Found, find_shardings
from sdybridge.view.reading import parse
from sdybridge.view.tensor_type import TensorType

if TYPE_CHECKING:
    from sdybridge.modules.annotations import Annotation
    from sdybridge.target import Target

_SHOWN = 6


def shardings_at(source: Source, line: int, target: Target) -> list[Found]:
    """The shardings on a line of a program, the first one being 1.

    Raises:
        SdyBridgeError: There are none; the notes name the nearest lines that have some.
    """
    found = all_shardings(source, target)
    at_line = source.lines().location
    lines = [at_line(one.span.start)[0] for one in found]
    here = [one for one, at in zip(found, lines, strict=True) if at == line]
    if here:
        return here
    count = source.text.count("\n") + (not source.text.endswith("\n"))
    if line > count:
        message, start = f"there is no line {line}: the text has {count}", 0
    else:
        message = f"line {line} has no sharding"
        start = _line_start(source.text, line)
    near = sorted({*lines}, key=lambda at: abs(at - line))[:_SHOWN]
    notes = [f"lines with shardings, the nearest first: {', '.join(map(str, near))}"] if near else []
    raise SdyBridgeError(message, source=source, span=Span(start, start + 1), notes=notes)


def shardings_of(source: Source, name: str, target: Target, data: bytes | None = None) -> list[Found]:
    """The shardings of a value (`%arg0`, `%3`), an instruction (`copy.3`), or all operations of a kind.

    Args:
        source: The program.
        name: The name.
        target: Whose grammar to follow.
        data: The bytes of a proto, in place of a text.

    Raises:
        SdyBridgeError: There are none; the notes name what is close.
    """
    found = all_shardings(source, target, data)
    wanted = name.lstrip("%@")
    exact = [one for one in found if _plain(one.name) == wanted]
    if exact:
        return exact
    of_kind = [one for one in found if wanted in (one.opcode, one.opcode.rpartition(".")[2])]
    in_function = [one for one in found if one.scope == wanted and one.opcode in ("argument", "result")]
    if of_kind or in_function:
        return of_kind or in_function
    known = list(dict.fromkeys(_plain(one.name) for one in found if one.name))
    close = difflib.get_close_matches(wanted, known, n=_SHOWN) or known[:_SHOWN]
    raise SdyBridgeError(
        f"nothing named {name} has a sharding",
        source=source,
        span=Span(0, 1),
        notes=[f"with shardings: {', '.join(close)}"] if close else ["the text has no shardings at all"],
    )


def _plain(name: str) -> str:
    return name.lstrip("%").partition("#")[0].partition("{")[0]


def _line_start(text: str, line: int) -> int:
    at = 0
    for _ in range(line - 1):
        at = text.find("\n", at) + 1
    return at


def all_shardings(source: Source, target: Target, data: bytes | None = None) -> list[Found]:
    """All shardings of a program, in its order; those of any text where it is none."""
    annotations = _annotations(source, target, data)
    if not annotations:
        return find_shardings(source, target)
    found = [_found(one, target) for one in annotations if one.sharding is not None]
    return found if data is not None else sorted(found, key=lambda one: one.span.start)


def _annotations(source: Source, target: Target, data: bytes | None) -> list[Annotation]:
    """What a program says about its values, where each place is read that can be."""
    try:
        program = read_hlo(source.text if data is None else data, source.name)
        if program is not None:
            return list(HloAnnotations(program, target, errors=[]).annotations())
        return list(read_mlir(source, target, errors=[]).annotations())
    except SdyBridgeError:
        if data is not None:
            raise
        return []


def _found(one: Annotation, target: Target) -> Found:
    tensors: tuple[TensorType, ...] = ()
    if one.shape is not None:
        sizes = tuple([None if size < 0 else size for size in one.shape.dims])
        tensors = (TensorType(sizes, one.shape.element_type),)
    return Found(
        parsed=(parse(one.sharding, target=target),),
        span=Span(one.offset, one.offset + 1),
        tensors=tensors,
        name=one.name,
        mesh=one.mesh,
        manual_axes=one.manual_axes,
        opcode=one.opcode,
        scope=one.scope,
    )
