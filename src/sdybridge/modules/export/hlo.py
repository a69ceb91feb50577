"""Export of an HLO program: the Shardy shardings that ride along become its HLO shardings."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sdybridge.bridge import (
    Loss,
    LossKind,
    convert_to_hlo_sharding,
    export_losses,
    resolve_mesh,
    verify_for_export,
)
from sdybridge.errors import SdyBridgeError, VerificationError
from sdybridge.hlo import HloSharding, OpShardingType
from sdybridge.modules.carriers import CARRIERS, MESHES, SHARDING, SHARDING_RULE
from sdybridge.modules.converted import ConvertedSharding, most_frequent_first
from sdybridge.modules.hlo_program import RESULT_CALL, Edit
from sdybridge.modules.hlo_results import ReturnedValues, returned_values
from sdybridge.sdy import MeshAttr, TensorShardingAttr, TensorShardingPerValueAttr
from sdybridge.sdy.printer import symbol

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sdybridge.modules.carriers import Carrier
    from sdybridge.modules.hlo_program import HloProgram, HloSite
    from sdybridge.target import Target

_OWN = frozenset((SHARDING, SHARDING_RULE))
_CAPTURING = frozenset(("while", "tuple"))
"""Opcodes whose values hold what a loop captures, too, behind what has a sharding: XLA replicates that."""

_READ_BY_XLA = frozenset(("parameter", "custom-call", "send", "recv", "after-all"))
"""Opcodes that have no other results than in StableHLO: a wrong number of shardings is an error."""


class HloExport:
    """One export under way.

    Attributes:
        meshes: The meshes that the program declares, and the caller's.
        attributes: What becomes of the module's frontend attributes, once every site is edited.
        mixed: What to warn of, once every site is edited.
    """

    def __init__(
        self,
        program: HloProgram,
        target: Target,
        mesh: MeshAttr | Mapping[str, MeshAttr] | None,
        *,
        keep_carriers: bool,
    ) -> None:
        from sdybridge.modules.mixed_programs import MixedSites  # export of MLIR loads without

        self.meshes: dict[str, MeshAttr] = declared_meshes(program)
        self.attributes: dict[str, str | None] = {}
        self.mixed = MixedSites(program, target)
        self._any_mesh = mesh if isinstance(mesh, MeshAttr) else None
        if mesh is not None and not isinstance(mesh, MeshAttr):
            self.meshes = {**mesh, **self.meshes}
        self._program = program
        self._target = target
        self._keep_carriers = keep_carriers
        self._returned: dict[str, ReturnedValues | None] = {}  # by computation
        self._edits: dict[tuple[object, ...], tuple[Edit, ConvertedSharding | None, Edit]] = {}
        self._known: dict[tuple[object, ...], tuple[HloSharding | None, ConvertedSharding]] = {}
        if not keep_carriers and MESHES in program.frontend_attributes:
            self.attributes[MESHES] = None
            self._keep_meshes_for(program.frontend_attributes)

    @property
    def shardings(self) -> tuple[ConvertedSharding, ...]:
        """Every distinct sharding that was converted."""
        return most_frequent_first([converted for _, converted in self._known.values()])

    def edit(self, site: HloSite) -> Edit | None:
        """What becomes of one site."""
        change, converted, moved = self._known_edit(site)
        if converted:
            converted.count += 1
            if site.target == RESULT_CALL and self._put_on_root(site, change.sharding):
                return moved
        returned = self._returned.get(site.computation)
        if returned and returned.shardings and site.is_root:
            own = site.sharding if change.keeps_sharding else change.sharding
            return replace(change, keeps_sharding=False, sharding=returned.sharding(own))
        return change

    def _known_edit(self, site: HloSite) -> tuple[Edit, ConvertedSharding | None, Edit]:
        """What `_edit` answers, from before if there was a site like this one."""
        target = site.target
        key = site.key, site.tuple_index, target, site.is_entry
        known = self._edits.get(key)
        if known is None:
            known = self._edits[key] = self._edit(site, is_result=target == RESULT_CALL)
        return known

    def _edit(self, site: HloSite, *, is_result: bool) -> tuple[Edit, ConvertedSharding | None, Edit]:
        """The edit of a site and of all like it, what it converts, and the edit if the root gets that."""
        attributes = site.frontend_attributes
        self.mixed.see(site, has_carrier=SHARDING in attributes)
        changes: dict[str, str | None] = {}
        if not self._keep_carriers:
            self._keep_meshes_for(attributes)
            changes = {key: None for key in _OWN if key in attributes}
        moved = Edit(keeps_sharding=False, attributes=changes)
        carrier = site.carrier(SHARDING)
        if carrier is None:
            return Edit(attributes=changes), None, moved
        index = site.tuple_index
        key = attributes[SHARDING], site.shape, site.opcode, index, is_result
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._convert(site, carrier, index)
        sharding, converted = known
        if sharding is None:
            return Edit(attributes=changes), converted, moved
        return replace(moved, sharding=sharding), converted, moved

    def verify(self, site: HloSite) -> None:
        """Check the Shardy sharding that rides along at one site.

        Raises:
            SdyBridgeError: It is malformed, or not valid there.
        """
        self._known_edit(site)

    def roots(self) -> Iterator[HloSite]:
        """The roots that get the shardings of results, and are no sites themselves."""
        for returned in self._returned.values():
            if returned and returned.shardings:
                root = returned.root
                if not (root.has_sharding or root.has_carriers):
                    yield root

    def _put_on_root(self, call: HloSite, sharding: HloSharding | None) -> bool:
        """Give the sharding of a result to the root of its computation, if that returns it."""
        computation = call.computation
        if computation not in self._returned:
            self._returned[computation] = returned_values(self._program, computation)
        returned = self._returned[computation]
        indices = returned.indices.get(call.value) if returned else None
        if not sharding or not returned or not indices or call.is_root:
            return False
        returned.shardings.update(dict.fromkeys(indices, sharding))
        return True

    def _keep_meshes_for(self, attributes: Mapping[str, str]) -> None:
        """Other Shardy attributes stay, and so do the meshes that they name."""
        if not (attributes.keys() & CARRIERS) <= _OWN | {MESHES}:
            self.attributes.pop(MESHES, None)

    def _convert(
        self, site: HloSite, carrier: Carrier, index: int | None
    ) -> tuple[HloSharding | None, ConvertedSharding]:
        value = carrier.parse(target=self._target)
        is_list = isinstance(value, TensorShardingPerValueAttr)
        listed: Sequence[object] = (
            value.shardings if isinstance(value, TensorShardingPerValueAttr) else (value,)
        )
        tensors = site.tensors
        ranks = [len(tensor.dims) for tensor in tensors] if tensors is not None else [None] * len(listed)
        if index is not None and len(listed) > 1 and len(ranks) == 1 and index < len(listed):
            shardings = {index: listed[index]}  # XLA repeats the list of the operation at each of its results
        else:
            if len(listed) == 1 and site.target == RESULT_CALL:
                listed = [*listed] * len(ranks)  # halves of numbers of 64 bits, one sharding for both
            shardings = dict(enumerate(listed))
        problem = self._check_count(site, carrier, len(shardings), len(ranks))
        if problem:
            loss = Loss(LossKind.RESULT_COUNT, (), problem)
            return None, ConvertedSharding(carrier.text, "", 0, site.offset, (loss,), "")
        leaves = []
        losses: list[Loss] = []
        for (i, sharding), rank in zip(shardings.items(), ranks or [0], strict=False):
            if not isinstance(sharding, TensorShardingAttr):
                continue  # the carrier takes nothing else
            try:
                mesh = self._mesh(sharding, site)
                verify_for_export(sharding, mesh, rank=rank)
                leaves.append(_as_xla_reads(convert_to_hlo_sharding(sharding, mesh, target=self._target)))
            except SdyBridgeError as error:
                if isinstance(error, VerificationError) and is_list:
                    error.path = ("shardings", i, *error.path)
                error.notes = (*error.notes, f"it is on {site.name}, a {site.shape}")
                raise carrier.located(error) from None
            losses += export_losses(sharding, mesh, target=self._target)
        if site.opcode in _CAPTURING:
            leaves += [HloSharding.replicate()] * (len(ranks) - len(leaves))
        hlo = HloSharding.flat_tuple(leaves) if site.is_tuple else leaves[0]
        text = hlo.to_string(target=self._target)
        converted = ConvertedSharding(carrier.text, text, 0, site.offset, tuple(losses), f"sharding={text}")
        return hlo, converted

    def _check_count(self, site: HloSite, carrier: Carrier, count: int, expected: int) -> str:
        """What is wrong with the number of shardings, of an instruction whose carriers XLA does not read.

        Raises:
            VerificationError: XLA reads them.
        """
        if count == expected or (count == 1 and expected == 0):
            return ""
        if site.opcode in _CAPTURING and 0 < count < expected:
            return ""
        error = VerificationError(
            f"{count} shardings for {expected} values",
            rule="sharding-count",
            notes=[f"{site.name} is a {site.shape}"],
        )
        if site.opcode in _READ_BY_XLA:
            raise carrier.located(error)
        return error.message

    def _mesh(self, sharding: TensorShardingAttr, site: HloSite) -> MeshAttr:
        try:
            return resolve_mesh(sharding, self._any_mesh or self.meshes)
        except VerificationError as error:
            name = symbol(str(sharding.mesh_or_ref))
            if not self.meshes:
                error.notes = (*error.notes, f"the program has no frontend attribute {MESHES}")
            error.message = f"unknown mesh {name} at {site.name}"
            error.help = f"give it: mesh={{{str(sharding.mesh_or_ref)!r}: ..}}, or --mesh {name}=x=2,y=4"
            raise


def declared_meshes(program: HloProgram) -> dict[str, MeshAttr]:
    """The meshes that ride along with a program, by name.

    Raises:
        SdyBridgeError: Their text is malformed.
    """
    carrier = program.carrier(MESHES)
    meshes = carrier.parse() if carrier else None
    return meshes if isinstance(meshes, dict) else {}


def _as_xla_reads(leaf: HloSharding) -> HloSharding:
    """XLA reads a grid of one device as replicated when it makes HLO."""
    if leaf.type is OpShardingType.OTHER and leaf.num_devices == 1:
        return HloSharding.replicate()
    return leaf
