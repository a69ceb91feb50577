"""The annotations of a program in MLIR text that repeats itself, read from its condensed text."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from sdybridge.errors import SdyBridgeError
from sdybridge.modules.annotations import Annotation
from sdybridge.modules.mlir.annotations import MlirProgram
from sdybridge.modules.mlir.attributes import attribute_end
from sdybridge.modules.mlir.condensed import UnclearError, condense
from sdybridge.modules.mlir.reader import parse_operations
from sdybridge.target import Target

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from sdybridge.modules.mlir.condensed import Condensed
    from sdybridge.sdy import MeshAttr
    from sdybridge.source import Source

_RESULTS = re.compile(r"[ \t]*(?:%[\w$.\-]+(?::\d+)?(?:, )?)+ =")
_ONE_NAME = re.compile(r"[ \t]*(%[\w$.\-]+)(?: =|:(?!\d))")
_NAME = re.compile(r"%[\w$.\-]+")
_OF_FUNCTIONS = ("argument", "result")


def read_mlir(
    source: Source,
    target: Target = Target.CURRENT,
    *,
    errors: list[tuple[str, SdyBridgeError]] | None = None,
    progress: Callable[[int], None] | None = None,
) -> MlirProgram | CondensedProgram:
    """A program in MLIR text, read from its condensed text if that tells all.

    Args:
        source: The text.
        target: Whose grammar to follow.
        errors: As `MlirProgram` has it.
        progress: Called now and then with the number of characters that are done.

    Raises:
        SdyBridgeError: Its operations cannot be told apart, or a mesh is malformed.
    """
    try:
        return CondensedProgram(condense(source, progress=progress), target)
    except (UnclearError, SdyBridgeError):  # if it is an error, the whole text has it too
        return MlirProgram(source, target, tree=parse_operations(source, progress=progress), errors=errors)


class _Repeated(NamedTuple):
    """What a piece says about one of its values, for the other places where it stands.

    Attributes:
        annotation: What it says where it stands first.
        text: The sharding.
        skipped: How often that text stands in the piece before.
        number: Which of the names in the piece is the value's; -1 if it has none there.
        suffix: What follows the name.
    """

    annotation: Annotation
    text: str
    skipped: int
    number: int
    suffix: str


class CondensedProgram:
    """An MLIR program as `MlirProgram` has it, at the cost of its condensed text.

    Attributes:
        condensed: That text.

    Raises:
        UnclearError: The condensed text does not tell what the whole one says.
        SdyBridgeError: A mesh or a sharding is malformed; not located in the whole text.
    """

    format = MlirProgram.format

    def __init__(self, condensed: Condensed, target: Target = Target.CURRENT) -> None:
        self.condensed = condensed
        self._program = MlirProgram(condensed.source, target)
        self.name = self._program.name
        self.num_partitions = self._program.num_partitions
        self.is_partitioned = self._program.is_partitioned
        self.meshes: Mapping[str, MeshAttr] = self._program.meshes
        self._check_pieces()
        self._found = [
            (self._piece_of(one, operation.start), one) for operation, one in self._program.by_operation()
        ]
        inputs, outputs = self._program.inputs(), self._program.outputs()
        self._inputs = [(self._piece_of(one, one.offset), one) for one in inputs]
        self._outputs = [(self._piece_of(one, one.offset), one) for one in outputs]
        self._repeated = {
            (piece, id(one)): self._in_other_places(piece, one)
            for piece, one in (*self._found, *self._inputs, *self._outputs)
            if piece in condensed.repeats
        }

    def annotations(self) -> Iterator[Annotation]:
        """Every value with a sharding, in the order of the text."""
        return self._expanded(self._found)

    def tallies(self) -> Iterator[tuple[Annotation, int]]:
        """One annotation for all that differ in their names only, and how many these are."""
        repeats = self.condensed.repeats
        for piece, one in self._found:
            yield self._in_whole(one), 1 + len(repeats.get(piece, ()))

    def inputs(self) -> list[Annotation]:
        """The arguments of the main function, those without a sharding too."""
        return list(self._expanded(self._inputs))

    def outputs(self) -> list[Annotation]:
        """The results of the main function, those without a sharding too."""
        return list(self._expanded(self._outputs))

    def _check_pieces(self) -> None:
        """That every piece that repeats, or that is counted, is one operation or one value.

        Raises:
            UnclearError: One is not.
        """
        found = self.condensed
        held: Counter[int] = Counter()
        for operation in self._program.tree.walk():
            if operation.full_name.endswith(".func"):
                values = (*operation.arguments, *operation.function_results)
                held.update(found.piece(value.span.start) for value in values)
                continue
            piece = found.piece(operation.start)
            held[piece] += 1
            if piece in found.repeats and (operation.regions or operation.end > found.end(piece)):
                raise UnclearError
        counted = (i for i, origin in enumerate(found.origins) if origin in found.value_numbers)
        if any(held[piece] != 1 for piece in (*found.repeats, *counted)):
            raise UnclearError

    def _piece_of(self, one: Annotation, start: int) -> int:
        """The piece that an annotation on the operation at `start` belongs to."""
        return self.condensed.piece(one.offset if one.opcode in _OF_FUNCTIONS else start)

    def _in_whole(self, one: Annotation) -> Annotation:
        """An annotation of the condensed text, where it stands in the whole one."""
        found = self.condensed
        return replace(one, offset=found.origin(one.offset))

    def _expanded(self, pairs: Sequence[tuple[int, Annotation]]) -> Iterator[Annotation]:
        """The annotations of pieces, and those where these repeat, in the order of the whole text."""
        found = self.condensed
        of_piece: dict[int, list[Annotation]] = {}
        for piece, one in pairs:
            of_piece.setdefault(piece, []).append(one)
        places = [(found.origins[piece], piece) for piece in of_piece]
        repeated = {}
        for piece in of_piece.keys() & found.repeats.keys():
            places += [(origin, piece) for origin in found.repeats[piece]]
            repeated[piece] = [self._repeated[piece, id(one)] for one in of_piece[piece]]
        places.sort()
        for origin, piece in places:
            if origin == found.origins[piece]:
                yield from map(self._in_whole, of_piece[piece])
            else:
                yield from self._elsewhere(origin, repeated[piece])

    def _in_other_places(self, piece: int, one: Annotation) -> _Repeated:
        """What to look for where the piece repeats.

        Raises:
            UnclearError: The piece does not have the name of the value.
        """
        text, start = self.condensed.source.text, self.condensed.starts[piece]
        if one.sharding is None:  # an input or output stands where its piece does
            return _Repeated(one, "", 0, 0, "")
        sharding = text[one.offset : attribute_end(text, one.offset)]
        skipped = text.count(sharding, start, one.offset)
        if one.opcode == "result":
            return _Repeated(one, sharding, skipped, 0, "")
        named = _NAME.match(one.name)
        if not named:
            return _Repeated(one, sharding, skipped, -1, one.name)
        names = _names(text, start)
        if named[0] not in names:
            raise UnclearError
        return _Repeated(one, sharding, skipped, names.index(named[0]), one.name[named.end() :])

    def _elsewhere(self, origin: int, repeated: Iterable[_Repeated]) -> Iterator[Annotation]:
        """The annotations of the piece that repeats at `origin`."""
        text = self.condensed.whole.text
        names = _names(text, origin) or [f"result {self.condensed.value_numbers.get(origin)}"]
        for one, sharding, skipped, position, suffix in repeated:
            at = text.find(sharding, origin)
            for _ in range(skipped):
                at = text.find(sharding, at + 1)
            name = names[position] + suffix if position >= 0 else suffix
            yield Annotation(
                one.carrier,
                one.scope,
                name,
                one.opcode,
                one.shape,
                one.sharding,
                one.mesh,
                at,
                one.manual_axes,
            )


def _names(text: str, at: int) -> list[str]:
    """The names of the results of the operation at `at`; or that of the argument."""
    one = _ONE_NAME.match(text, at)
    if one:
        return [one[1]]
    results = _RESULTS.match(text, at)
    return _NAME.findall(results[0]) if results else []
