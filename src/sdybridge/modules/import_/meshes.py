"""The meshes that the HLO shardings of a program go on, and their Shardy forms there."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from sdybridge.bridge import import_losses, infer_mesh
from sdybridge.errors import SdyBridgeError, VerificationError
from sdybridge.hlo.checks import cropped
from sdybridge.modules.converted import ConvertedSharding
from sdybridge.modules.mlir.lexer import unescape
from sdybridge.sdy import DimensionShardingAttr, MeshAttr, TensorShardingAttr

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sdybridge.bridge import InferredMeshes, Loss
    from sdybridge.hlo import HloSharding
    from sdybridge.modules.import_.found_shardings import Found, FoundShardings
    from sdybridge.modules.mlir.meshes import MeshOperation
    from sdybridge.source import Source

_NUM_PARTITIONS = re.compile(r"mhlo\.num_partitions\s*+=\s*+(\d{1,18})")


def known_meshes(
    source: Source,
    declared: Sequence[MeshOperation],
    mesh: MeshAttr | Mapping[str, MeshAttr] | None,
    mesh_name: str,
) -> dict[str, MeshAttr]:
    """The caller's meshes, and behind them those that the program declares.

    Raises:
        VerificationError: Two different ones have one name.
    """
    known = {} if mesh is None else dict(mesh) if isinstance(mesh, Mapping) else {mesh_name: mesh}
    for operation in declared:
        if known.setdefault(operation.name, operation.mesh) != operation.mesh:
            raise VerificationError(
                f"@{operation.name} is the name of two meshes",
                rule="symbol-redefinition",
                source=source,
                span=operation.span,
                notes=[f"the other one is {cropped(known[operation.name])}"],
                help="rename one of them",
            )
    return known


def infer_meshes(
    found: FoundShardings, known: Mapping[str, MeshAttr], mesh_name: str, axis_names: Sequence[str]
) -> InferredMeshes:
    """The meshes for all shardings of a program: known ones, and those that have to be made.

    Raises:
        ConversionError: A sharding is on devices that no mesh has.
    """
    count = _NUM_PARTITIONS.search(found.text)
    infer = functools.partial(
        infer_mesh,
        mesh_name=mesh_name,
        axis_names=axis_names,
        num_devices=int(count[1]) or None if count else None,
    )
    leaves = [leaf for one in found for leaf in one.leaves]
    try:
        inferred = infer(leaves, mesh=known)
    except SdyBridgeError:
        _raise_for_one(found, functools.partial(infer, mesh=known))
        raise
    if any(inferred.mesh_name(leaf) is None for leaf in leaves):
        # XLA drops these shardings. A mesh without axes says the same as they do.
        inferred = infer(leaves, mesh={**known, fresh_name(mesh_name, known): MeshAttr()})
    return inferred


def convert_found(
    found: FoundShardings,
    inferred: InferredMeshes,
    merged: dict[tuple[str, str], ConvertedSharding],
    *,
    list_replicated_axes: bool | None,
) -> None:
    """Convert every sharding, and let it know the text that takes its place.

    Each distinct conversion is added to `merged`, or counted there.
    """
    for one in found:
        if not one.count:
            continue
        converted = _convert(one, found, inferred, list_replicated_axes)
        one.new = converted.attribute
        same = merged.setdefault((converted.before, converted.attribute), converted)
        if same is not converted:
            same.count += converted.count


def _convert(
    one: Found, found: FoundShardings, inferred: InferredMeshes, list_replicated_axes: bool | None
) -> ConvertedSharding:
    shardings: list[TensorShardingAttr] = []
    losses: list[Loss] = []
    is_open = one.open_dims is True
    target = found.target
    for i, (leaf, rank) in enumerate(zip(one.leaves, one.ranks, strict=True)):
        try:
            sharding = inferred.convert(
                leaf, rank=rank, open_dims=is_open, target=target, list_replicated_axes=list_replicated_axes
            )
            losses += import_losses(leaf, inferred.mesh(leaf), open_dims=is_open, target=target)
        except SdyBridgeError as error:
            raise error.located(found.source, found.place(one, i)) from None
        shardings.append(sharding if isinstance(one.open_dims, bool) else _opened(sharding, one.open_dims))
    before, after = one.form.value
    attribute = f"{before}{', '.join([sharding.stripped for sharding in shardings])}{after}"
    value = unescape(one.literal)
    return ConvertedSharding(
        before=value if value.lstrip().startswith("{") else str(one.hlo),
        after=attribute.removeprefix("sdy.sharding = "),
        count=one.count,
        first=one.first,
        losses=tuple(losses),
        attribute=attribute,
    )


def _raise_for_one(found: FoundShardings, infer: Callable[[Sequence[HloSharding]], InferredMeshes]) -> None:
    """Raise the error about the first sharding that has one by itself, where it stands."""
    for one in found:
        for i, leaf in enumerate(one.leaves):
            try:
                infer([leaf])
            except SdyBridgeError as error:
                raise error.located(found.source, found.place(one, i)) from None


def _opened(sharding: TensorShardingAttr, dims: frozenset[int]) -> TensorShardingAttr:
    """The sharding with some of its dimensions open."""
    return TensorShardingAttr(
        sharding.mesh_or_ref,
        [
            DimensionShardingAttr(dim.axes, is_closed=False) if i in dims else dim
            for i, dim in enumerate(sharding.dim_shardings)
        ],
        sharding.replicated_axes,
        sharding.unreduced_axes,
        sharding.reduction_op,
    )


def fresh_name(name: str, taken: Mapping[str, MeshAttr]) -> str:
    """`name`, with a number behind it where it is taken."""
    numbered = (f"{name}_{i}" for i in itertools.count(1))
    return next(one for one in itertools.chain([name], numbered) if one not in taken)
