"""Import of an HLO program: its HLO shardings become Shardy shardings that ride along."""

from __future__ import annotations

import enum
import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sdybridge.bridge import import_losses, infer_mesh
from sdybridge.errors import ConversionError, SdyBridgeError, VerificationError
from sdybridge.hlo.checks import cropped
from sdybridge.modules.carriers import MESHES, SHARDING
from sdybridge.modules.converted import ConvertedSharding, most_frequent_first
from sdybridge.modules.export.hlo import HloExport, declared_meshes
from sdybridge.modules.hlo_program import RESULT_CALL, Edit
from sdybridge.modules.hlo_results import returned_values
from sdybridge.modules.import_.meshes import fresh_name
from sdybridge.modules.mixed_programs import MixedSites
from sdybridge.sdy import MeshAttr, TensorShardingAttr, TensorShardingPerValueAttr, print_mesh_dictionary

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sdybridge.bridge import InferredMeshes, Loss
    from sdybridge.hlo import HloSharding
    from sdybridge.modules.hlo_program import HloProgram, HloSite
    from sdybridge.target import Target

    _Leaf = tuple[TensorShardingAttr, Sequence[Loss]]


@dataclass(eq=False, slots=True)
class _Found:
    """One distinct sharding under import.

    Attributes:
        leaves: The sharding of each tensor.
        ranks: The rank of each tensor.
        is_value: Whether it is written without a list: the sharding of an argument.
        is_open: Whether its dimensions are open.
        before: Its text.
        site: Where it first stands.
        count: At how many places it stands.
        new: What takes its place.
    """

    leaves: tuple[HloSharding, ...]
    ranks: tuple[int, ...]
    is_value: bool
    is_open: bool
    before: str
    site: HloSite
    count: int = 0
    new: str = ""


class _Kind(enum.Enum):
    """What a site has: a Shardy sharding that rides along, or an HLO sharding alone."""

    NEITHER = 0
    CARRIED = 1
    OWN = 2


_REMOVAL = Edit(keeps_sharding=False)


class HloImport:
    """One import under way.

    Attributes:
        meshes: The meshes that the program declares afterwards.
        attributes: What becomes of the module's frontend attributes.
        shardings: Every distinct sharding that was converted.
        carried: At how many places a Shardy sharding rode along already.
        mixed: What to warn of, once every site is edited.
    """

    def __init__(
        self,
        program: HloProgram,
        target: Target,
        open_arguments: Sequence[bool],
        open_results: Sequence[bool],
        *,
        list_replicated_axes: bool | None,
        read_carriers: bool,
    ) -> None:
        self.meshes: Mapping[str, MeshAttr] = declared_meshes(program)
        self.attributes: dict[str, str | None] = {}
        self.shardings: tuple[ConvertedSharding, ...] = ()
        self._program = program
        self._target = target
        self.carried = 0
        self.mixed = MixedSites(program, target)
        self._verifier = HloExport(program, target, None, keep_carriers=True)
        self._read_carriers = read_carriers
        self._list_replicated_axes = list_replicated_axes
        self._open_arguments = open_arguments
        self._open_results = open_results
        self._results: dict[str, set[object]] = {}  # the calls that carry shardings of results
        self._carried_roots: set[int] = set()
        self._kinds: dict[tuple[object, ...], _Kind] = {}
        self._edits: dict[tuple[object, ...], Edit | None] = {}
        self._entries: dict[tuple[object, ...], _Found] = {}
        self._found: dict[tuple[object, ...], _Found] = {}

    def read(
        self,
        mesh: MeshAttr | Mapping[str, MeshAttr] | None,
        mesh_name: str,
        axis_names: Sequence[str],
    ) -> None:
        """Find every sharding, the meshes for them, and their Shardy forms.

        Raises:
            SdyBridgeError: One is malformed, does not fit its value, or has no Shardy form.
        """
        self._verifier = HloExport(self._program, self._target, mesh, keep_carriers=True)
        for site in self._program.sites():
            key = self._key(site)
            kind = self._kinds.get(key)
            if kind is None:
                kind = self._kinds[key] = self._kind(site)
            if kind is _Kind.CARRIED:
                if site.target == RESULT_CALL:
                    self._results.setdefault(site.computation, set()).add(site.value)
            elif kind is _Kind.OWN:
                if site.computation in self._results and site.is_root and self._is_carried(site):
                    self._carried_roots.add(site.offset)
                else:
                    self._entry(key, site).count += 1
        if not self._found:
            return
        given = {} if mesh is None else {mesh_name: mesh} if isinstance(mesh, MeshAttr) else dict(mesh)
        known = {**given}
        for name, declared in self.meshes.items():
            if known.setdefault(name, declared) != declared:
                raise self._program.locate(_name_of_two(name, known[name]))
        inferred = self._infer(known, mesh_name, axis_names)
        self.meshes = dict(inferred.meshes)
        self.shardings = self._convert(inferred)
        if self._program.has_header:
            self.attributes[MESHES] = print_mesh_dictionary(self.meshes)

    def _key(self, site: HloSite) -> tuple[object, ...]:
        """What the import of a site depends on, besides what its computation returns."""
        return site.key, self._is_open(site), site.target, site.is_entry

    def _kind(self, site: HloSite) -> _Kind:
        has_carrier = SHARDING in site.frontend_attributes
        if has_carrier and self._read_carriers and site.opcode:
            self._verifier.verify(site)
        self.mixed.see(site, has_carrier=has_carrier)
        if self._read_carriers and has_carrier:
            return _Kind.CARRIED
        if not self._is_read(site):
            return _Kind.NEITHER
        site.verify()
        return _Kind.OWN

    @staticmethod
    def _is_read(site: HloSite) -> bool:
        """Whether it has a sharding to import. A field of the module, which is partitioned already, stays."""
        return site.has_sharding and bool(site.opcode) and not site.is_sharded_by_operand

    def edit(self, site: HloSite) -> Edit | None:
        """What becomes of one site."""
        key = self._key(site)
        if site.is_root and site.offset in self._carried_roots:
            change: Edit | None = _REMOVAL
        elif key in self._edits:
            change = self._edits[key]
        else:
            change = self._edits[key] = self._edit(key, site)
        self.carried += change is _REMOVAL
        return change

    def _edit(self, key: tuple[object, ...], site: HloSite) -> Edit | None:
        kind = self._kinds[key]
        if kind is _Kind.OWN:
            return Edit(keeps_sharding=False, attributes={SHARDING: self._entry(key, site).new})
        return (
            _REMOVAL if kind is _Kind.CARRIED and self._is_read(site) else None
        )  # what rides along says more

    def _is_carried(self, root: HloSite) -> bool:
        """Whether calls carry what the sharding of a root says, but for replicated elements."""
        returned, sharding = returned_values(self._program, root.computation), root.sharding
        if returned is None or sharding is None:
            return False
        carried = {
            index for value in self._results[root.computation] for index in returned.indices.get(value, ())
        }
        leaves = sharding.tuple_elements if sharding.is_tuple else (sharding,)
        return bool(carried) and all(
            index in carried or leaf.is_replicated for index, leaf in enumerate(leaves)
        )

    def _entry(self, key: tuple[object, ...], site: HloSite) -> _Found:
        """The sharding of a site, under import."""
        found = self._entries.get(key)
        if found is None:
            is_value, is_open = site.opcode == "parameter", self._is_open(site)
            # Equal shardings may be written in different ways: each program makes one object of each text.
            same = id(site.sharding), site.shape, is_value, is_open
            if same not in self._found:
                self._found[same] = self._first(site, is_value=is_value, is_open=is_open)
            found = self._entries[key] = self._found[same]
        return found

    def _first(self, site: HloSite, *, is_value: bool, is_open: bool) -> _Found:
        sharding, tensors = site.sharding, site.tensors
        told = sharding and not sharding.is_tuple and _rank_told_by(sharding)
        if sharding is None or (tensors is None and told is None):
            error = VerificationError(f"{site.name} does not say its shape", rule="sharding-rank")
            raise site.locate(error)
        ranks = (told or 0,) if tensors is None else tuple([len(tensor.dims) for tensor in tensors])
        leaves = sharding.tuple_elements if sharding.is_tuple else (sharding,) * max(1, len(ranks))
        text = sharding.to_string()
        return _Found(
            leaves, ranks or (0,) * len(leaves), is_value and not site.is_tuple, is_open, text, site
        )

    def _is_open(self, site: HloSite) -> bool:
        """Whether propagation may shard it further: an argument or the result of the program."""
        if not site.is_entry or not (self._open_arguments or self._open_results):
            return False
        number = site.parameter_number
        if number is not None:
            return _flag(self._open_arguments, number)
        return site.is_root and _flag(self._open_results, 0)

    def _infer(
        self, known: Mapping[str, MeshAttr], mesh_name: str, axis_names: Sequence[str]
    ) -> InferredMeshes:
        infer = functools.partial(
            infer_mesh,
            mesh_name=mesh_name,
            axis_names=axis_names,
            num_devices=self._program.num_partitions,
        )
        leaves = [*{id(leaf): leaf for one in self._found.values() for leaf in one.leaves}.values()]
        try:
            inferred = infer(leaves, mesh=known)
        except SdyBridgeError:
            self._raise_for_one(functools.partial(infer, mesh=known))
            raise
        if any(inferred.mesh_name(leaf) is None for leaf in leaves):  # XLA drops these shardings
            inferred = infer(leaves, mesh={**known, fresh_name(mesh_name, known): MeshAttr()})
        return inferred

    def _raise_for_one(self, infer: Callable[[Sequence[HloSharding]], InferredMeshes]) -> None:
        """Raise the error about the first sharding that has one by itself, where it stands."""
        for one in self._found.values():
            try:
                infer(one.leaves)
            except SdyBridgeError as error:
                raise one.site.locate(error) from None

    def _convert(self, inferred: InferredMeshes) -> tuple[ConvertedSharding, ...]:
        merged: dict[tuple[str, str], ConvertedSharding] = {}
        convert = functools.partial(self._convert_leaf, inferred, {})
        for one in self._found.values():
            try:
                leaves = [
                    convert(leaf, rank, one.is_open) for leaf, rank in zip(one.leaves, one.ranks, strict=True)
                ]
            except SdyBridgeError as error:
                raise one.site.locate(error) from None
            shardings = [sharding for sharding, _ in leaves]
            losses = tuple([loss for _, found in leaves for loss in found])
            one.new = str(shardings[0] if one.is_value else TensorShardingPerValueAttr(shardings))
            converted = ConvertedSharding(
                one.before, one.new, one.count, one.site.offset, losses, f"{SHARDING}={one.new}"
            )
            same = merged.setdefault((one.before, one.new), converted)
            if same is not converted:
                same.count += converted.count
        return most_frequent_first([*merged.values()])

    def _convert_leaf(
        self,
        inferred: InferredMeshes,
        known: dict[tuple[int, int, bool], _Leaf],
        leaf: HloSharding,
        rank: int,
        is_open: bool,
    ) -> _Leaf:
        """The Shardy form of the sharding of one tensor: tuples of thousands hold few distinct ones."""
        key = id(leaf), rank, is_open
        found = known.get(key)
        if found is None:
            target = self._target
            sharding = inferred.convert(
                leaf,
                rank=rank,
                open_dims=is_open,
                target=target,
                list_replicated_axes=self._list_replicated_axes,
            )
            losses = import_losses(leaf, inferred.mesh(leaf), open_dims=is_open, target=target)
            found = sharding if self._program.has_header else self._with_its_mesh(sharding), losses
            known[key] = found
        return found

    def _with_its_mesh(self, sharding: TensorShardingAttr) -> TensorShardingAttr:
        """The sharding with its mesh in it: a fragment of a program has no other place for that."""
        mesh = sharding.get_mesh(self.meshes) or sharding.mesh_or_ref
        axes = sharding.replicated_axes, sharding.unreduced_axes
        return TensorShardingAttr(mesh, sharding.dim_shardings, *axes, sharding.reduction_op)


def _flag(flags: Sequence[bool], index: int) -> bool:
    """One flag counts for all; none is no."""
    if len(flags) == 1:
        return flags[0]
    return bool(flags) and index < len(flags) and flags[index]


def _name_of_two(name: str, other: MeshAttr) -> ConversionError:
    return ConversionError(
        f"@{name} is the name of two meshes",
        notes=[f"the other one is {cropped(other)}"],
        help="rename one of them",
    )


def _rank_told_by(sharding: HloSharding) -> int | None:
    """The rank of the Shardy sharding, where the HLO sharding alone tells it."""
    if sharding.is_tiled:
        return sharding.data_rank
    return None if sharding.unique_device is None else 0
