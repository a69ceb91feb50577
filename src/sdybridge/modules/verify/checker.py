"""What all verification of modules shares: attributes in place, meshes by name, the rules of one sharding."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from sdybridge.errors import SdyBridgeError, VerificationError
from sdybridge.modules.mlir.lexer import STRING
from sdybridge.modules.mlir.types import is_shaped, rank_of, tuple_elements
from sdybridge.modules.verify.context import AlreadyReportedError, Placed, Where
from sdybridge.sdy import (
    AllToAllParamListAttr,
    Attribute,
    AxisRefListAttr,
    ListOfAxisRefListsAttr,
    ManualAxesAttr,
    MeshAttr,
    TensorShardingAttr,
    TensorShardingPerValueAttr,
    locate,
    parse_prefix,
    verify_sharding,
)
from sdybridge.sdy.printer import symbol
from sdybridge.sdy.suggestions import closest
from sdybridge.source import Span

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sdybridge.errors import Path
    from sdybridge.modules.mlir.operations import Operation, OperationTree
    from sdybridge.modules.verify.context import Context
    from sdybridge.target import Target

A = TypeVar("A", bound=Attribute)
P = ParamSpec("P")
_ATTRIBUTE = re.compile(rf"(#sdy(?:\.([a-z_]+)|<\s*([a-z_]+)))|{STRING}|//[^\n]*+")
_ALIAS = re.compile(r"#([A-Za-z0-9_$.\-]+)")
_CLASSES: dict[str, type[Attribute]] = {
    cls.mnemonic: cls
    for cls in (
        AllToAllParamListAttr,
        AxisRefListAttr,
        ListOfAxisRefListsAttr,
        ManualAxesAttr,
        MeshAttr,
        TensorShardingAttr,
        TensorShardingPerValueAttr,
    )
}


class Checker:
    """One text under verification.

    Attributes:
        source: The text.
        tree: Its operations.
        target: Whose grammar to follow.
        aliases: The attribute aliases, without their `#`, with the text they stand for.
        read_at: Where attributes have been read already.
        errors: What was found, by message and place.
        valid_carriers: The dictionaries of operations that are known to be valid, with what that depends on.
        read_spans: The parts of the text in which every attribute has been read.
    """

    def __init__(self, tree: OperationTree, target: Target) -> None:
        self.source = tree.source
        self.text = tree.source.text
        self.tree = tree
        self.target = target
        self.aliases: Mapping[str, str] = {
            name[1:]: self.text[span.start : span.end]
            for name, span in tree.aliases.items()
            if name.startswith("#")
        }
        self.read_at: set[int] = set()
        self.errors: dict[tuple[str, Span | None], SdyBridgeError] = {}
        self.valid_carriers: set[tuple[object, ...]] = set()
        self.read_spans: list[Span] = []
        self._lines = self.source.lines()

    def attempt(self, check: Callable[P, object], *args: P.args, **options: P.kwargs) -> None:
        """Runs one check and keeps its error, if it has one that is not known already."""
        try:
            check(*args, **options)
        except AlreadyReportedError:
            return
        except SdyBridgeError as error:
            self.place(error)
            self.errors.setdefault((error.message, error.span), error)

    def place(self, error: SdyBridgeError) -> None:
        """Locates in the text an error about its bare string, or about the value of one of its aliases."""
        if not error.source or not error.span:
            return
        if error.source.text is self.text:
            error.located(self.source, error.span)
            return
        alias = self.tree.aliases.get(error.source.name)
        if alias and self.text[alias.start : alias.end] == error.source.text:
            error.located(self.source, error.span.shifted(alias.start))

    def read_all(self, span: Span, passed: Sequence[Span] = ()) -> None:
        """Reads the attributes under any key in a part of the text, but for the parts `passed`, in order."""
        text = self.text
        if text.find("#sdy", span.start, span.end) < 0:
            return
        skipped = 0
        for found in _ATTRIBUTE.finditer(text, span.start, span.end):
            mnemonic, start = found.group(2) or found.group(3), found.start()
            if mnemonic not in _CLASSES or start in self.read_at:
                continue
            while skipped < len(passed) and passed[skipped].end <= start:
                skipped += 1
            if skipped == len(passed) or start < passed[skipped].start:
                self.attempt(self.read, start, _CLASSES[mnemonic])

    def kind_of(self, value: str) -> str | None:
        """The mnemonic of an sdy attribute; `#` for an alias that is not defined; None for anything else."""
        for _ in range(len(self.aliases) + 1):
            found = _ATTRIBUTE.match(value)
            if found and found.group(1):
                return found.group(2) or found.group(3)
            alias = _ALIAS.fullmatch(value)
            if not alias:
                return None
            if alias.group(1) not in self.aliases:
                return "#"
            value = self.aliases[alias.group(1)]
        return "#"

    def read(self, start: int, cls: type[A]) -> tuple[A, int]:
        """The attribute of class `cls` at `start`, in whichever form, and the offset past it.

        Raises:
            ParseError: The text there is not one.
            VerificationError: It holds an invalid mesh.
        """
        self.read_at.add(start)
        return parse_prefix(self.source, start, cls, target=self.target, aliases=self.aliases)

    def place_of(self, start: int, cls: type[Attribute], path: Path) -> Span:
        """The span of the part at `path` of the attribute at `start`."""
        error = VerificationError("", rule="", path=path)
        located = locate(error, self.source, start, cls, target=self.target, aliases=self.aliases)
        return located.span or Span(start, start)

    def error(
        self,
        rule: str,
        message: str,
        span: Span,
        *,
        notes: Sequence[str] = (),
        help: str | None = None,  # noqa: A002
    ) -> VerificationError:
        """A located `VerificationError`."""
        return VerificationError(message, rule=rule, source=self.source, span=span, notes=notes, help=help)

    def error_at(
        self,
        placed: Placed,
        rule: str,
        message: str,
        path: Path = (),
        *,
        notes: Sequence[str] = (),
        help: str | None = None,  # noqa: A002
    ) -> SdyBridgeError:
        """A `VerificationError` about the part at `path` of a sharding."""
        error = VerificationError(message, rule=rule, path=path, notes=notes, help=help)
        return self.in_place(error, placed)

    def in_place(self, error: VerificationError, placed: Placed) -> SdyBridgeError:
        """The error, located in the text, with a note about what carries the sharding."""
        error.path = (*placed.path, *error.path)
        error.notes = (*error.notes, f"in {placed.where}")
        return locate(error, self.source, placed.start, placed.cls, target=self.target, aliases=self.aliases)

    def location(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset, both from 1; quick for many errors in a long text."""
        return self._lines.location(offset)

    def at(self, operation: Operation) -> Where:
        """The operation, for a note."""
        return Where(self, operation)

    def mesh_of(self, placed: Placed, context: Context) -> MeshAttr:
        """The mesh that a sharding is on.

        Raises:
            VerificationError: `unknown-mesh`.
            AlreadyReportedError: The mesh is declared, but its text has an error.
        """
        ref = placed.sharding.mesh_or_ref
        if isinstance(ref, MeshAttr):
            return ref
        meshes = context.module.meshes
        if ref in meshes:
            mesh = meshes[ref]
            if mesh is None:
                raise AlreadyReportedError
            return mesh
        known = list(meshes)
        meant = closest(ref, known)
        notes = [f"its meshes are {', '.join(map(symbol, known[:12]))}" if known else "it has no meshes"]
        outer = context.module.outer
        while outer:
            if ref in outer.meshes:
                notes.append(
                    f"a module around it has {symbol(ref)}, but only the innermost module is searched"
                )
                break
            outer = outer.outer
        raise self.error_at(
            placed,
            "unknown-mesh",
            f"the module has no mesh {symbol(ref)}",
            ("mesh_or_ref",),
            notes=notes,
            help=f"did you mean {symbol(meant)}?" if meant else None,
        )

    def verify(self, placed: Placed, type_text: str | None, context: Context) -> None:
        """All rules of one sharding of a value of the given type (None: unknown), in upstream's order.

        Raises:
            VerificationError: The first rule that is broken.
        """
        sharding = placed.sharding
        mesh = self.mesh_of(placed, context)
        rank = None
        if type_text is not None and not mesh.is_maximal:
            rank = self.rank_to_shard(placed, type_text)
        try:
            verify_sharding(sharding, mesh, rank=rank, manual_axes=context.manual_axes)
        except VerificationError as error:
            if error.rule == "rank-mismatch":
                error.notes = (*error.notes, f"the type is {_short(type_text or '')}")
            if error.rule == "axis-is-manual":
                owners = [owner for name, owner in context.manual_axes.items() if sharding.is_bound(name)]
                error.notes = (*error.notes, *(f"by {self.at(owner)}" for owner in owners[:1]))
            raise self.in_place(error, placed) from None

    def rank_to_shard(self, placed: Placed, type_text: str) -> int | None:
        """The rank that the sharding of a value of this type must have; None for no tensor at all.

        Raises:
            VerificationError: `tuple-size`, `non-shaped-rank`, `unranked-type`.
        """
        elements = tuple_elements(type_text)
        if elements is not None and len(elements) != 1:
            count = f"{len(elements)} elements" if elements else "no elements"
            message = f"a tuple of {count} cannot have a sharding"
            raise self.error_at(placed, "tuple-size", message, notes=[f"the type is {_short(type_text)}"])
        inner = elements[0] if elements else type_text
        if not is_shaped(inner):
            if found := filled_part(placed.sharding):
                part, what = found
                raise self.error_at(
                    placed,
                    "non-shaped-rank",
                    f"a value of type {_short(type_text)} is no tensor, so its sharding has no {what}",
                    (part,),
                    help="write `[]` and no axis lists",
                )
            return 0
        rank = rank_of(inner)
        if rank is None:
            message = f"a value of type {_short(type_text)} has no known rank, so it cannot have a sharding"
            raise self.error_at(placed, "unranked-type", message)
        return rank

    def verify_per_value(
        self,
        attr: TensorShardingPerValueAttr,
        start: int,
        types: Sequence[str | None],
        context: Context,
        where: Where,
        kind: str,
    ) -> list[Placed]:
        """The rules of one sharding per value; `kind` is `result` or `operand`.

        Raises:
            VerificationError: The first rule that is broken.
        """
        if len(attr.shardings) != len(types):
            raise self.error(
                "sharding-count",
                f"{count(len(attr.shardings), 'sharding')} for {count(len(types), kind)}",
                self.place_of(start, TensorShardingPerValueAttr, ("shardings",)),
                notes=[f"in {where}"],
            )
        placed = []
        for index, (sharding, type_text) in enumerate(zip(attr.shardings, types, strict=True)):
            one = Placed(
                sharding,
                start,
                TensorShardingPerValueAttr,
                ("shardings", index),
                Where(self, where.operation, f"{kind} {index}"),
            )
            self.verify(one, type_text, context)
            placed.append(one)
        return placed


def filled_part(sharding: TensorShardingAttr) -> tuple[str, str] | None:
    """The first part that what has no dimensions may not have, as field and in words; None if all are empty.

    >>> filled_part(TensorShardingAttr.from_string('<@mesh, [], replicated={"x"}>'))
    ('replicated_axes', 'replicated axes')
    """
    for part in ("dim_shardings", "replicated_axes", "unreduced_axes"):
        if getattr(sharding, part):
            return part, part.replace("_", " ").replace("dim ", "dimension ")
    return None


def count(number: int, noun: str) -> str:
    """A number of things, in words.

    >>> count(1, "result"), count(0, "operand")
    ('1 result', 'no operands')
    """
    return f"{number or 'no'} {noun}{'' if number == 1 else 's'}"


def _short(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:77]}..."
