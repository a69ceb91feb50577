"""The shardings that carriers keep: read, checked against the meshes, and counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdybridge.bridge import Loss, LossKind, resolve_mesh
from sdybridge.errors import VerificationError, plural
from sdybridge.modules.converted import ConvertedSharding
from sdybridge.modules.mlir.lexer import unescape
from sdybridge.modules.mlir.signature import sharding_rank
from sdybridge.sdy import MeshAttr, TensorShardingAttr, TensorShardingPerValueAttr, verify_sharding
from sdybridge.sdy.printer import symbol
from sdybridge.source import Span

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sdybridge.errors import SdyBridgeError
    from sdybridge.modules.carriers import Carrier
    from sdybridge.modules.mlir.operations import Operation
    from sdybridge.target import Target

Shardings = tuple[TensorShardingAttr, ...]
_Value = TensorShardingAttr | TensorShardingPerValueAttr


class CarriedShardings:
    """Every sharding that a program keeps in carriers, so far.

    Attributes:
        known: The caller's meshes.
        used: The meshes that they name, of those that the program does not declare.
        converted: What was converted, by the text before and after.
    """

    def __init__(self, target: Target, known: Mapping[str, MeshAttr]) -> None:
        self.used: dict[str, MeshAttr] = {}
        self.converted: dict[tuple[str, str], ConvertedSharding] = {}
        self.meshes: Mapping[str, MeshAttr] = {}  # those of the module that is read now
        self._target = target
        self.known = known
        self._read: dict[str, Shardings] = {}
        self._checked: set[tuple[object, ...]] = set()

    def read(self, carrier: Carrier) -> Shardings:
        """The sharding of each value; one by itself counts as a list of one.

        Raises:
            ParseError: The text does not follow the grammar.
            VerificationError: It is no sharding.
        """
        found = self._read.get(carrier.text)
        if found is None:
            value: _Value = carrier.parse(target=self._target)  # type: ignore[assignment]  # what this key holds
            found = value.shardings if isinstance(value, TensorShardingPerValueAttr) else (value,)
            self._read[carrier.text] = found
        return found

    def check(
        self, shardings: Shardings, types: Sequence[str | None], carrier: Carrier, where: Callable[[], str]
    ) -> None:
        """Check the shardings of values of these types (None: not known), which `where` puts into words.

        Raises:
            VerificationError: One of them is not valid there, or on no known mesh.
        """
        ranks = tuple([sharding_rank(of_type) for of_type in types])
        key = (shardings, ranks, id(self.meshes))
        if key in self._checked:
            return
        listed = carrier.text.startswith("#sdy.sharding_per_value")
        for i, (sharding, rank) in enumerate(zip(shardings, ranks, strict=True)):
            try:
                verify_sharding(sharding, self._mesh(sharding, where), rank=rank)
            except VerificationError as error:
                if listed:
                    error.path = ("shardings", i, *error.path)
                if error.rule != "unknown-mesh":
                    error.notes = (*error.notes, f"in {where()}")
                raise carrier.located(error) from None
        self._checked.add(key)

    def count(self, carrier: Carrier, hlo: str | None, after: str) -> None:
        """Note that a sharding was put back, and the string literal of the HLO sharding beside it."""
        before = carrier.text if hlo is None else unescape(hlo)
        one = self.converted.get((before, after))
        if one is None:
            start = carrier.span.start
            one = ConvertedSharding(before, after, 0, start, (), f"sdy.sharding = {after}")
            self.converted[before, after] = one
        one.count += 1

    def drop(self, carrier: Carrier, problem: str) -> None:
        """Note that a sharding was not put back."""
        loss = Loss(LossKind.RESULT_COUNT, (), problem)
        one = ConvertedSharding(carrier.text, "", 0, carrier.span.start, (loss,), "")
        self.converted.setdefault((carrier.text, problem), one).count += 1

    def _mesh(self, sharding: TensorShardingAttr, where: Callable[[], str]) -> MeshAttr:
        name = sharding.mesh_or_ref
        if isinstance(name, MeshAttr):
            return name
        if name not in self.meshes and name in self.known:
            self.used[name] = self.known[name]
        meshes = {**self.known, **self.meshes}
        try:
            return resolve_mesh(sharding, meshes)
        except VerificationError as error:
            kept = (
                f"its meshes are {', '.join(map(symbol, meshes))}" if meshes else "it keeps no meshes at all"
            )
            raise VerificationError(
                f"the program has lost the mesh {symbol(name)}",
                rule="unknown-mesh",
                path=error.path,
                notes=[f"{where()} names it", kept],
                help=f"give it with its axes: --mesh '{symbol(name)}=x=2,y=4', in Python mesh={{...}}",
            ) from None


def expect_same_meshes(
    carrier: Carrier, kept: Mapping[str, MeshAttr], others: Mapping[str, MeshAttr]
) -> None:
    """Raises if a mesh in the carrier has the name of another one."""
    for name, mesh in kept.items():
        if others.get(name, mesh) != mesh:
            raise carrier.located(
                VerificationError(
                    f"{symbol(name)} is the name of two meshes",
                    rule="symbol-redefinition",
                    span=Span(0, len(carrier.text)),
                    notes=[f"the other one is {others[name].stripped}"],
                    help="rename one of them",
                )
            )


def in_words(operation: Operation) -> str:
    """The operation, for an error."""
    if operation.full_name.endswith(".func") and operation.symbol:
        return f"function {symbol(operation.symbol)}"
    line, column = operation.source.location(operation.start)
    result = operation.results[0][0] + " = " if operation.results else ""
    return f"{result}{operation.full_name} at {line}:{column}"


def kind_error(carrier: Carrier, message: str) -> SdyBridgeError:
    """The error that a carrier keeps something else."""
    return carrier.located(VerificationError(message, rule="carrier-kind", span=Span(0, len(carrier.text))))


def count_error(carrier: Carrier, count: int, values: str) -> SdyBridgeError:
    """The error that a carrier keeps so many shardings for these values."""
    return carrier.located(
        VerificationError(
            f"{plural(count, 'sharding')} for {values}",
            rule="sharding-count",
            span=Span(0, len(carrier.text)),
            notes=[f"they are in the frontend attribute {carrier.key}"],
        )
    )
