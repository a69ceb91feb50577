"""What about a sharding is worth a second look."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sdybridge.hlo import OpShardingType, recognize_iota
from sdybridge.hlo.metadata import REDUCTION_OP_TYPE
from sdybridge.view.dimensions import Dimension

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sdybridge.view.sharded import Sharded


@dataclass(frozen=True, slots=True)
class Remark:
    """One observation.

    Attributes:
        kind: What sort it is, stable across releases: `uneven`, `empty-shards`, `part-of-an-axis`,
            `size-1-axis`, `device-list`, `reduction-op`, `misfit` or `repeated-device`.
        text: A sentence.
    """

    kind: str
    text: str


def remarks_on(
    sharded: Sharded, dimensions: tuple[Dimension, ...], num_empty: int, num_devices: int | None
) -> tuple[Remark, ...]:
    """The remarks on a sharding, the gravest first."""
    return (
        *_misfit(sharded),
        *_lengths(dimensions, num_empty, num_devices),
        *_parts(sharded, dimensions),
        *_size_one(sharded),
        *_device_list(sharded),
        *_reduction_op(sharded),
    )


def _misfit(sharded: Sharded) -> Iterator[Remark]:
    if sharded.misfit is not None:
        text = sharded.misfit.message
        notes = [note for note in sharded.misfit.notes if not note.startswith(("sharding:", "mesh:"))]
        yield Remark(
            "misfit", "; ".join([text, *notes, *([sharded.misfit.help] if sharded.misfit.help else [])])
        )


def _lengths(dimensions: tuple[Dimension, ...], num_empty: int, num_devices: int | None) -> Iterator[Remark]:
    for i, dim in enumerate(dimensions):
        if dim.padding:
            yield Remark(
                "uneven",
                f"dimension {i} of {dim.size} does not divide by {dim.shards}: the shards are "
                f"{show_runs(dim)}, and every buffer is {dim.shard_size} long, {dim.padding} of the "
                f"{(dim.shard_size or 0) * dim.shards} are padding",
            )
    if num_empty:
        yield Remark("empty-shards", f"{num_empty} of {num_devices} devices hold no element at all")


def show_runs(dim: Dimension) -> str:
    """The lengths of the shards.

    >>> show_runs(Dimension(8, size=17)), show_runs(Dimension(64, size=128))
    ('3,3,3,3,3,2,0,0', '64 x 2')
    """
    if dim.shards <= 12:
        return ",".join(str(length) for length, count in dim.runs for _ in range(count))
    return ", ".join(f"{count} x {length}" for length, count in dim.runs)


def _parts(sharded: Sharded, dimensions: tuple[Dimension, ...]) -> Iterator[Remark]:
    """Parts of axes whose rest splits nothing: propagation chooses them where the whole does not divide."""
    sdy, mesh = sharded.sdy, sharded.mesh
    if sdy is None or mesh is None:
        return
    used: dict[str, int] = {}
    for ref in sdy.axis_refs:
        used[ref.name] = used.get(ref.name, 1) * ref.get_size(mesh)
    for i, dim in enumerate(sdy.dim_shardings):
        for ref in dim.axes:
            whole = mesh.axis_size(ref.name)
            if ref.sub_axis_info is None or used[ref.name] == whole:
                continue
            text = (
                f'dimension {i} is cut {ref.get_size(mesh)} ways by a part of "{ref.name}", which has '
                f"{whole} devices: the other factor of {whole // used[ref.name]} holds copies"
            )
            size = dimensions[i].size
            if size is not None and [ref] == list(dim.axes) and ref.sub_axis_info.pre_size == 1:
                uneven = Dimension(whole, size=size)
                if uneven.padding:
                    text += f'; all of "{ref.name}" would give {show_runs(uneven)}'
            yield Remark("part-of-an-axis", text)


def _size_one(sharded: Sharded) -> Iterator[Remark]:
    sdy, mesh = sharded.sdy, sharded.mesh
    if sdy is None or mesh is None:
        return
    for name in dict.fromkeys(ref.name for ref in sdy.axis_refs if ref.get_size(mesh) == 1):
        yield Remark(
            "size-1-axis", f'"{name}" has one device: it splits nothing, and device grids do not show it'
        )


def _device_list(sharded: Sharded) -> Iterator[Remark]:
    hlo = sharded.hlo
    if hlo.type is not OpShardingType.OTHER or hlo.tile_assignment.is_iota or hlo.num_devices < 2:
        return
    flat = hlo.tile_assignment.array.reshape(-1)
    distinct = len(set(flat.tolist()))
    if distinct < flat.size:
        yield Remark("repeated-device", f"the {flat.size} places of the grid name only {distinct} devices")
        return
    if sharded.sdy is not None and sharded.mesh is not None and sharded.mesh.device_ids:
        yield Remark("device-list", "the devices are listed because the mesh has them in an order of its own")
    elif recognize_iota(hlo.tile_assignment) is not None:
        yield Remark("device-list", "the list of devices is the one that the short form counts")
    else:
        yield Remark("device-list", "no reshape and transpose of a count gives this order of devices")


def _reduction_op(sharded: Sharded) -> Iterator[Remark]:
    hlo = sharded.hlo
    named = [entry.op_name for entry in hlo.metadata if entry.op_type == REDUCTION_OP_TYPE]
    if hlo.reduction_op.name != "SUM":
        named.append(hlo.reduction_op.name)
    if named and not hlo.has_unreduced:
        yield Remark(
            "reduction-op",
            f"the reduction {named[-1]} means nothing here: no devices are unreduced, and the tiles are "
            "those of the sharding without it",
        )
