"""A program exported and imported back: what each of its shardings comes back as."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sdybridge.bridge import LossKind
from sdybridge.modules.export.module import ExportResult, export_module
from sdybridge.modules.export.operations import ConstraintForm
from sdybridge.modules.import_.module import ImportResult, import_module
from sdybridge.modules.mlir.value_names import numbered_values
from sdybridge.sdy import TensorShardingAttr, TensorShardingPerValueAttr
from sdybridge.target import Target

if TYPE_CHECKING:
    from collections.abc import Callable

    from sdybridge.bridge import Loss
    from sdybridge.modules.converted import ConvertedSharding

Shardings = tuple[TensorShardingAttr, ...]
"""The sharding of each value that one attribute annotates."""


@dataclass(frozen=True, slots=True)
class RoundTripSharding:
    r"""One distinct sharding of a program, there and back.

    Attributes:
        before: The sharding of each value, as the program has it.
        hlo: What they are exported as.
        after: What that is imported as; None if it stands where the import leaves it alone.
        count: At how many places the sharding stands.
        first: The offset of the first of them.
        losses: What the export drops, and then what the import drops or has to choose; without the axis names
            where the program's own meshes bring them back.

    >>> from sdybridge import round_trip
    >>> program = (
    ...     'sdy.mesh @m = <["x"=2]>\n'
    ...     'func.func @f(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>})')
    >>> [one] = round_trip(program).shardings
    >>> one.hlo, one.count
    ('{devices=[2]<=[2]}', 1)
    """

    before: Shardings
    hlo: str
    after: Shardings | None
    count: int
    first: int
    losses: tuple[Loss, ...]

    @property
    def is_same(self) -> bool:
        """Whether the sharding comes back as it was."""
        return self.before == self.after


@dataclass(frozen=True, slots=True)
class RoundTrip:
    r"""A program, exported, imported, and exported again.

    Attributes:
        exported: The export of the program.
        imported: The import of that.
        again: The export of that.
        shardings: What becomes of every distinct sharding, most frequent first.

    >>> from sdybridge import round_trip
    >>> program = (
    ...     'sdy.mesh @m = <["x"=2]>\n'
    ...     'func.func @f(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>})')
    >>> trip = round_trip(program)
    >>> trip.is_stable, trip.differences
    (True, ())
    """

    exported: ExportResult
    imported: ImportResult
    again: ExportResult
    shardings: tuple[RoundTripSharding, ...]

    @property
    def differences(self) -> tuple[RoundTripSharding, ...]:
        """The shardings that do not come back as they were."""
        return tuple(sharding for sharding in self.shardings if not sharding.is_same)

    @property
    def is_stable(self) -> bool:
        """Whether both exports are the same text: nothing is lost that an HLO sharding holds.

        The names of values do not count: import gives new ones to those in manual computations.
        """
        if self.exported.proto is not None:
            return self.again.proto == self.exported.proto
        again, exported = self.again.text, self.exported.text
        return again == exported or numbered_values(again) == numbered_values(exported)


def round_trip(
    text: str | bytes,
    *,
    name: str = "<string>",
    keep_meshes: bool = True,
    target: Target = Target.CURRENT,
    constraints: ConstraintForm = ConstraintForm.COPY,
    add_missing_sharding_to_control_flow: bool = True,
    progress: Callable[[int], None] | None = None,
) -> RoundTrip:
    """Export a program, import the result, and compare its shardings with those that it had.

    Args:
        text: MLIR text with Shardy shardings; or HLO text, or the bytes of an HLO proto, in which these ride
            along.
        name: The name of the text, for errors.
        keep_meshes: Import onto the program's own meshes; otherwise onto inferred ones, as XLA does.
        target: Whose conventions to follow; see `Target`.
        constraints: What `sdy.sharding_constraint` and `sdy.reshard` become.
        add_missing_sharding_to_control_flow: As in `export_module`.
        progress: Called now and then with the number of characters of the text that are exported.

    Raises:
        SdyBridgeError: As `export_module`.

    Example:
        >>> text = '''
        ... sdy.mesh @mesh = <["x"=2]>
        ... func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}]>}) { return }
        ... '''
        >>> for sharding in round_trip(text).differences:
        ...     print(sharding.before[0].stripped, "comes back as", sharding.after[0].stripped)
        <@mesh, [{"x", ?}]> comes back as <@mesh, [{"x"}]>
    """

    def export(text: str | bytes, name: str, progress: Callable[[int], None] | None = None) -> ExportResult:
        return export_module(
            text,
            name=name,
            target=target,
            constraints=constraints,
            add_missing_sharding_to_control_flow=add_missing_sharding_to_control_flow,
            progress=progress,
        )

    exported = export(text, name, progress)
    meshes = exported.meshes if keep_meshes else None
    imported = import_module(exported.program, name=f"{name} (exported)", mesh=meshes, target=target)
    again = export(imported.program, f"{name} (imported)")
    found = [sharding for sharding in imported.shardings if sharding.after]
    back = {_key(sharding.before, _values(sharding.after)): sharding for sharding in found}
    shardings = [_compared(sharding, back, keep_meshes=keep_meshes) for sharding in exported.shardings]
    return RoundTrip(exported, imported, again, tuple(shardings))


def _compared(
    sharding: ConvertedSharding, back: dict[tuple[object, ...], ConvertedSharding], *, keep_meshes: bool
) -> RoundTripSharding:
    before = _values(sharding.before)
    found = back.get(_key(sharding.after, before))
    return RoundTripSharding(
        before=before,
        hlo=sharding.after,
        after=_values(found.after) if found else None,
        count=sharding.count,
        first=sharding.first,
        losses=tuple(
            loss
            for loss in (*sharding.losses, *(found.losses if found else ()))
            if not (keep_meshes and loss.kind is LossKind.AXIS_NAMES)
        ),
    )


def _key(hlo: str, values: Shardings) -> tuple[object, ...]:
    """What the import of an HLO sharding depends on: its text, and the ranks."""
    return hlo, *[sharding.rank for sharding in values]


def _values(text: str) -> Shardings:
    if text.startswith("#sdy.sharding_per_value"):
        return TensorShardingPerValueAttr.from_string(text).shardings
    return (TensorShardingAttr.from_string(text),)
