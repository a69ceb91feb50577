"""Import of manual computations in GSPMD's form: a call between changes from whole to local shapes and back.

`jax.shard_map` and XLA's export write `@SPMDFullToShardShape` of a constraint for each operand, a call of the
body, and `@SPMDShardToFullShape` of a constraint for each result. The manual axes are the manual devices of
their shardings.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from sdybridge.bridge import get_manual_axes
from sdybridge.errors import ConversionError, ParseError, SdyBridgeError
from sdybridge.hlo import HloSharding, OpShardingType
from sdybridge.modules.import_.calls import (
    Around,
    Call,
    KeptCall,
    KeptError,
    NoCallError,
)
from sdybridge.modules.import_.computations import ComputationImport, ComputationsImport
from sdybridge.modules.mlir.callees import callee_of, target_of
from sdybridge.modules.mlir.computations import outline_checker
from sdybridge.modules.mlir.lexer import STRING, SYMBOL, holds, symbol_name, unescape
from sdybridge.modules.mlir.meshes import find_meshes
from sdybridge.modules.mlir.reader import parse_operations
from sdybridge.modules.mlir.sdy_operations import read_parameters
from sdybridge.modules.mlir.types import shape_of
from sdybridge.sdy import AxisRefAttr, ManualAxesAttr, TensorShardingAttr, TensorShardingPerValueAttr
from sdybridge.sdy.printer import quote, symbol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sdybridge.modules.mlir.operations import Operation
    from sdybridge.modules.splice import Edit
    from sdybridge.sdy import MeshAttr
    from sdybridge.source import Source
    from sdybridge.target import Target

TO_LOCAL, TO_WHOLE = "SPMDFullToShardShape", "SPMDShardToFullShape"

_CONSTRAINTS = frozenset({"mhlo.copy", "sdy.sharding_constraint"})
_MARK = "sdybridge.hlo_sharding"
_MARKED = re.compile(rf", {re.escape(_MARK)} = {STRING}")
_REPLICATED = re.compile(rf"<({SYMBOL})(?=, \[(?:\{{\}}(?:, )?+)*+\]>)|{STRING}|//[^\n]*+")


def mark_shard_maps(source: Source) -> list[Edit]:
    """The edits that keep the HLO sharding of each change to local shapes while it is imported."""
    text = source.text
    if not holds(text, TO_LOCAL) and not holds(text, TO_WHOLE):
        return []
    edits: list[Edit] = []
    try:
        for one in parse_operations(source).walk():
            if target_of(one) == TO_LOCAL or (one.full_name == "func.call" and not one.operands):
                entry = one.attribute("mhlo.sharding")
                if entry and entry.value and text[entry.value.start] == '"':
                    value = text[entry.value.start : entry.value.end]
                    edits.append((entry.span.end, entry.span.end, f", {_MARK} = {value}"))
    except ParseError:
        return []  # for nothing else need it be read as operations
    return edits


def import_shard_maps(source: Source, target: Target) -> ComputationsImport:
    """Put the manual computations of a program back whose shardings are imported; the marks go.

    Args:
        source: The program, with the marks of `mark_shard_maps`.
        target: Whose grammar to follow.
    """
    work = _ShardMapImport(source, target)
    try:
        work.find()
        result = work.write()
    except ParseError:  # it can be read as operations, but not what these hold
        result = ComputationsImport(source.text)
    result.text = _MARKED.sub("", result.text)
    return result


class _ShardMapImport(ComputationImport):
    """One import under way."""

    def __init__(self, source: Source, target: Target) -> None:
        super().__init__(source, target)
        self.checker = outline_checker(source, target, {})
        self.around: Around | None = None
        self.meshes = {one.name: one.mesh for one in find_meshes(source).operations}

    def find(self) -> None:
        super().find()
        for calls in self.calls.values():
            calls[:] = [call for call in calls if self._is_on_one_mesh(call)]
        for function, calls in self.calls.items():
            self._take_outer_axes(function, calls)
            calls[:] = [self._with_manual_axes(call) for call in calls]
        taken = {one.start for calls in self.calls.values() for call in calls for one in call.to_local}
        for function in self.calls:
            for one in function.walk():
                if target_of(one) == TO_LOCAL and one.start not in taken:
                    reason = "its body is not a function of its own, called with its result"
                    self.result.kept.append(KeptCall(TO_LOCAL, one.name_start, reason))

    def is_body(self, call: Operation, symbol: str) -> bool:  # noqa: ARG002
        return True

    def call(self, call: Operation, symbol: str, around: Around) -> Call:
        sources = self._sources(call, around)
        is_source = bool(call.attribute(_MARK)) and self._goes_to_whole(call, around)
        if not is_source and not any(target_of(one) == TO_LOCAL for one in sources):
            self.kept_bodies.add(symbol)
            raise NoCallError
        body = self.functions.get(symbol)
        if not body or body.is_generic or len(body.regions) != 1 or len(body.regions[0].blocks) != 1:
            raise KeptError("its function has no body of one block")
        gone: list[Operation] = []
        ins: list[TensorShardingAttr] = []
        outs: list[TensorShardingAttr] = []
        operands: list[str] = []
        changes = [call] if is_source else []
        operand_types: list[str] = []
        for operand, to_local in zip(call.operands, sources, strict=True):
            if target_of(to_local) != TO_LOCAL or len(to_local.operands) != 1:
                raise KeptError(f"its operand {operand} does not come from {TO_LOCAL}")
            around.expect_one_use(operand)
            constraint = around.defined.get(to_local.operands[0].partition("#")[0])
            if constraint is None or not _is_constraint(constraint):
                raise KeptError(f"{TO_LOCAL} is not of a value with a sharding of its own")
            around.expect_one_use(to_local.operands[0])
            ins.append(self._sharding(constraint))
            operands += constraint.operands[:1]
            operand_types += self.types(to_local)[0]
            changes.append(to_local)
            gone += [to_local, constraint]
        self.verify_results(call)
        results = [(name, k if count > 1 else -1) for name, count in call.results for k in range(count)]
        renamed: list[tuple[str, str]] = []
        result_types: list[str] = []
        for name, number in results:
            value = name if number < 0 else f"{name}#{number}"
            constraint = self._user(value, around)
            is_sharded = _is_constraint(constraint) and bool(constraint.results)
            to_whole = self._user(constraint.results[0][0], around) if is_sharded else call
            if target_of(to_whole) != TO_WHOLE or not to_whole.results:
                raise KeptError(f"its result {value} does not go to {TO_WHOLE}")
            outs.append(self._sharding(to_whole))
            result_types += self.types(to_whole)[1]
            renamed.append((to_whole.results[0][0], value))
            gone += (constraint, to_whole)
        one_of_all = _with_mesh_of_all([*ins, *outs, *map(self._sharding, changes)])
        ins, outs = ([_on_mesh(one, one_of_all.mesh_or_ref) for one in side] for side in (ins, outs))
        mesh = one_of_all.get_mesh(self.meshes)
        totals = {self._manual_axes(one, mesh) for one in changes}
        if len(totals) != 1:
            raise KeptError("its operands do not have the same manual devices")
        axes = ManualAxesAttr(totals.pop())
        inside = [self.text[value.type.start : value.type.end] for value in body.arguments]
        self._verify_shapes(ins, axes, operand_types, inside)
        self._verify_shapes(outs, axes, result_types, self.types(call)[1])
        return Call(
            call,
            gone,
            (),
            operands,
            operand_types,
            result_types,
            TensorShardingPerValueAttr(ins),
            TensorShardingPerValueAttr(outs),
            axes,
            renamed,
        )

    def placed(self, body: str, call: Call) -> str:
        """The body, in which what is replicated is so on the mesh of the computation: no grid tells that."""
        refs = {one.mesh_or_ref for side in (call.ins, call.outs) for one in side.shardings}
        mesh = refs.pop() if len(refs) == 1 else None
        if not isinstance(mesh, str):
            return body

        def on_mesh(hit: re.Match[str]) -> str:
            other = self.meshes.get(symbol_name(hit[1])) if hit[1] else None
            return f"<{symbol(mesh)}" if other and other.axes else hit[0]

        return _REPLICATED.sub(on_mesh, body)

    def _sources(self, call: Operation, around: Around) -> list[Operation]:
        """What each operand comes from; the call itself for one that comes from elsewhere."""
        return [around.defined.get(operand, call) for operand in call.operands]

    def _goes_to_whole(self, call: Operation, around: Around) -> bool:
        """Whether the first result goes to a change to whole shapes."""
        if not call.results:
            return False
        name, count = call.results[0]
        users = around.users[f"{name}#0" if count > 1 else name]
        last = [user for one in users for result, _ in one.results for user in around.users[result]]
        return any(target_of(one) == TO_WHOLE for one in last)

    def _user(self, value: str, around: Around) -> Operation:
        """What the one use of a value is in."""
        around.expect_one_use(value)
        users = around.users[value]
        if len(users) != 1:
            raise KeptError(f"its result {value} does not go to {TO_WHOLE}")
        return users[0]

    def _sharding(self, operation: Operation) -> TensorShardingAttr:
        """The sharding of the first result of an operation."""
        try:
            if operation.full_name == "sdy.sharding_constraint":
                found: TensorShardingAttr = read_parameters(self.checker, operation)["sharding"].value
                return found
            entry = operation.attribute("sdy.sharding")
            if entry and entry.value:
                value = self.text[entry.value.start : entry.value.end]
                return TensorShardingPerValueAttr.from_string(value, target=self.target).shardings[0]
        except (SdyBridgeError, IndexError):
            pass
        raise KeptError(f"{operation.full_name} has no sharding that could be read")

    def _manual_axes(self, to_local: Operation, mesh: MeshAttr | None) -> tuple[str, ...]:
        """The axes that are manual behind a change to local shapes, or a call that nothing goes into."""
        entry = to_local.attribute(_MARK)
        if mesh is None or not entry or not entry.value:
            raise KeptError(f"{TO_LOCAL} has no sharding that could be read")
        hlo = HloSharding.from_string(unescape(self.text[entry.value.start : entry.value.end]))
        hlo = hlo.tuple_elements[0] if hlo.is_tuple else hlo
        try:
            names = get_manual_axes(hlo, mesh)
        except ConversionError as error:
            raise KeptError("its manual devices are on no axes of the mesh of its shardings") from error
        manual = OpShardingType.MANUAL
        if hlo.subgroup_types and manual in hlo.subgroup_types:
            at = len(hlo.tile_assignment.dims) - len(hlo.subgroup_types)
            count = math.prod(
                size
                for size, kind in zip(hlo.tile_assignment.dims[at:], hlo.subgroup_types, strict=True)
                if kind is manual
            )
            if count != math.prod(map(mesh.axis_size, names)):
                raise KeptError("its manual devices are a part of an axis")
        return names

    def _verify_shapes(
        self,
        shardings: Sequence[TensorShardingAttr],
        axes: ManualAxesAttr,
        outside: Sequence[str],
        inside: Sequence[str],
    ) -> None:
        """Raises unless the manual axes come first and cut the whole shapes into the local ones."""
        if not len(shardings) == len(outside) == len(inside):
            raise KeptError("its operands or results and those of its function do not match")
        for sharding, whole, local in zip(
            shardings, map(shape_of, outside), map(shape_of, inside), strict=True
        ):
            mesh = sharding.get_mesh(self.meshes)
            if mesh is None or whole is None or local is None or len(whole) != len(local):
                raise KeptError("its shapes are not known")
            for dim, size, part in zip(sharding.dim_shardings, whole, local, strict=True):
                is_manual = [ref.name in axes.value for ref in dim.axes]
                pieces = math.prod(ref.get_size(mesh) for ref in dim.axes if ref.name in axes.value)
                if (
                    size is None
                    or size != (part or 0) * pieces
                    or is_manual != sorted(is_manual, reverse=True)
                ):
                    raise KeptError("its local shapes do not follow from its shardings")

    def _is_on_one_mesh(self, call: Call) -> bool:
        """Whether no sharding in a body names an axis of another mesh that is called as a manual one is here.

        Such a call is kept: inferred meshes name their axes alike.
        """
        own = next((one.mesh_or_ref for side in (call.ins, call.outs) for one in side.shardings), None)
        others = [
            name
            for name, mesh in self.meshes.items()
            if name != own and any(mesh.has_axis(axis) for axis in call.manual_axes.value)
        ]
        if not others:
            return True
        symbols, axes = (
            "|".join(map(re.escape, map(written, names)))
            for written, names in ((symbol, others), (quote, call.manual_axes.value))
        )
        named = re.compile(rf"(?:{symbols})\s*+,(?:[^\">]|{STRING})*?(?:{axes})")
        waiting = [self.functions[callee_of(call.call)]]
        seen: set[Operation] = set()
        while waiting:
            function = waiting.pop()
            if function in seen:
                continue
            seen.add(function)
            if named.search(self.text, function.start, function.end):
                self.keep(call.call, "its body has shardings on another mesh with the same names of axes")
                return False
            waiting += [self.functions[callee_of(one.call)] for one in self.calls.get(function, ())]
        return True

    def _with_manual_axes(self, call: Call) -> Call:
        """The call, its shardings replicated along the manual axes that they do not mention."""
        ins, outs = (
            TensorShardingPerValueAttr([self._bound(one, call.manual_axes) for one in side.shardings])
            for side in (call.ins, call.outs)
        )
        return replace(call, ins=ins, outs=outs)

    def _bound(self, sharding: TensorShardingAttr, axes: ManualAxesAttr) -> TensorShardingAttr:
        """The sharding, replicated along the manual axes that it does not mention."""
        free = [AxisRefAttr(name) for name in axes.value if not sharding.is_bound(name)]
        if not free:
            return sharding
        mesh = sharding.get_mesh(self.meshes)
        refs = [*sharding.replicated_axes, *free]
        if mesh and all(mesh.has_axis(ref.name) for ref in refs):
            refs.sort(key=mesh.axis_ref_key)
        return TensorShardingAttr(
            sharding.mesh_or_ref, sharding.dim_shardings, refs, sharding.unreduced_axes, sharding.reduction_op
        )

    def _take_outer_axes(self, function: Operation, calls: list[Call]) -> None:
        """What is manual around a function is not manual in what it calls once more."""
        if not calls:
            return
        around = {
            call.manual_axes
            for found in self.calls.values()
            for call in found
            if callee_of(call.call) == function.symbol
        }
        if not around:
            return
        if len(around) > 1:
            for call in calls:
                self.keep(call.call, "its function is called in several ways")
            calls.clear()
            return
        outer = around.pop().value
        for k, call in enumerate(calls):
            own = [name for name in call.manual_axes.value if name not in outer]
            calls[k] = replace(call, manual_axes=ManualAxesAttr(own))


def _with_mesh_of_all(shardings: Sequence[TensorShardingAttr]) -> TensorShardingAttr:
    """One on the mesh of those that name axes: `{manual}` and `{replicated}` fit any mesh."""
    naming = [one for one in shardings if not one.empty_axes] or shardings[:1]
    if len({one.mesh_or_ref for one in naming}) > 1:
        raise KeptError("its shardings are on different meshes")
    return naming[0]


def _on_mesh(sharding: TensorShardingAttr, mesh_or_ref: str | MeshAttr) -> TensorShardingAttr:
    """The same sharding, which names no axes if it was on another mesh."""
    return TensorShardingAttr(
        mesh_or_ref,
        sharding.dim_shardings,
        sharding.replicated_axes,
        sharding.unreduced_axes,
        sharding.reduction_op,
    )


def _is_constraint(operation: Operation) -> bool:
    """Whether an operation only says how its operand is laid out."""
    return operation.full_name in _CONSTRAINTS or target_of(operation) == "Sharding"
