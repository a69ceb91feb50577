"""The shardings of a program under export: read, verified, and each distinct one converted once."""

from __future__ import annotations

import contextlib
import functools
from typing import TYPE_CHECKING

from sdybridge.bridge import convert_to_hlo_sharding, export_losses, resolve_mesh, verify_for_export
from sdybridge.errors import SdyBridgeError, VerificationError, plural
from sdybridge.hlo import HloSharding
from sdybridge.modules.converted import ConvertedSharding, most_frequent_first
from sdybridge.modules.export.manual_calls import of_all
from sdybridge.modules.mlir.attributes import Aliases, attribute_end, expanded, quote
from sdybridge.modules.mlir.computations import outline_checker
from sdybridge.modules.mlir.dictionary import find_entry
from sdybridge.modules.mlir.meshes import find_meshes
from sdybridge.modules.mlir.result_types import expand_type
from sdybridge.modules.mlir.signature import result_types as types_of_results
from sdybridge.modules.mlir.signature import sharding_rank, value_type
from sdybridge.modules.mlir.types import rank_of
from sdybridge.sdy import (
    DimensionShardingAttr,
    ManualAxesAttr,
    TensorShardingAttr,
    TensorShardingPerValueAttr,
    locate,
    parse_prefix,
)
from sdybridge.source import Source, Span
from sdybridge.target import Target

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sdybridge.modules.mlir.computations import ManualScope
    from sdybridge.modules.verify.checker import Checker
    from sdybridge.sdy import MeshAttr


class LateMesh(Exception):  # noqa: N818  (no error)
    """A mesh is declared behind shardings that are converted already."""


class Conversions:
    """What is known of the meshes of a program, and what its shardings were converted to."""

    def __init__(self, source: Source, target: Target, *, all_meshes: bool = False) -> None:
        self.source = source
        self.text = source.text
        self.target = target
        self.aliases = Aliases(source.text)
        self.meshes = find_meshes(source, -1 if all_meshes else self.text.find("func.func"))
        self.scope: ManualScope | None = None  # what is manual here
        self._all_meshes = all_meshes
        self._converted: dict[tuple[object, ...], ConvertedSharding] = {}
        self._attributes: dict[tuple[object, ...], str] = {}

    @functools.cached_property
    def checker(self) -> Checker:
        """What verifies single operations of the text."""
        return outline_checker(self.source, self.target, self.aliases)

    @property
    def shardings(self) -> tuple[ConvertedSharding, ...]:
        """Every distinct sharding that was converted, most frequent first."""
        return most_frequent_first([*self._converted.values()])

    def declares_late_meshes(self) -> bool:
        """Whether the text may declare meshes that were not looked for."""
        function = self.text.find("func.func")
        return not self._all_meshes and function >= 0 and self.text.find("sdy.mesh", function) >= 0

    def is_foreign(self, *shardings: TensorShardingAttr, at: int) -> bool:
        """Whether shardings without axes are on another mesh than the manual computation around them."""
        if not self.scope or all(sharding.mesh_or_ref == self.scope.mesh for sharding in shardings):
            return False
        refs = [sharding.mesh_or_ref for sharding in shardings]
        meshes = self.meshes.at(at)
        if any(isinstance(ref, str) and ref not in meshes for ref in refs):
            self.read_all_meshes()
            meshes = self.meshes.at(at)
        found = [meshes.get(ref) if isinstance(ref, str) else ref for ref in refs]
        return any(mesh is not None and not mesh.axes for mesh in found)

    def read_all_meshes(self) -> None:
        """Look for meshes in the whole text.

        Raises:
            LateMesh: Something was converted already without knowing them.
        """
        if self._all_meshes:
            return
        if self._converted:
            raise LateMesh
        self._all_meshes = True
        self.meshes = find_meshes(self.source)

    def convert(
        self,
        attr: TensorShardingAttr | TensorShardingPerValueAttr,
        at: int,
        types: Sequence[str | None],
        manual_axes: tuple[str, ...] = (),
    ) -> ConvertedSharding:
        """Convert the attribute at offset `at` that annotates values of `types` (None: not known)."""
        manual_axes = manual_axes or (self.scope.axes if self.scope else ())
        shardings = attr.shardings if isinstance(attr, TensorShardingPerValueAttr) else (attr,)
        meshes = self.meshes.at(at)
        if any(isinstance(s.mesh_or_ref, str) and s.mesh_or_ref not in meshes for s in shardings):
            self.read_all_meshes()
            meshes = self.meshes.at(at)
        i = 0
        try:
            for i, (sharding, value) in enumerate(zip(shardings, types, strict=True)):  # noqa: B007
                mesh = resolve_mesh(sharding, meshes)
                verify_for_export(sharding, mesh, rank=sharding_rank(value), manual_axes=manual_axes)
            key = (attr, manual_axes, self.meshes.scope_index(at))
            converted = self._converted.get(key)
            if converted is None:
                converted = self._converted[key] = self._convert(attr, shardings, meshes, manual_axes, at)
            converted.count += 1
        except VerificationError as error:
            if not isinstance(attr, TensorShardingAttr):
                error.path = ("shardings", i, *error.path)
            raise locate(
                error, self.source, at, type(attr), target=self.target, aliases=self.aliases
            ) from None
        except SdyBridgeError as error:
            raise error.located(self.source, Span(at, attribute_end(self.text, at))) from None
        return converted

    def _convert(
        self,
        attr: TensorShardingAttr | TensorShardingPerValueAttr,
        shardings: Sequence[TensorShardingAttr],
        meshes: Mapping[str, MeshAttr],
        manual_axes: tuple[str, ...],
        at: int,
    ) -> ConvertedSharding:
        target = self.target
        hlo = [convert_to_hlo_sharding(s, meshes, manual_axes=manual_axes, target=target) for s in shardings]
        whole = hlo[0] if len(hlo) == 1 else HloSharding.flat_tuple(hlo)
        losses = [
            loss for s in shardings for loss in export_losses(s, resolve_mesh(s, meshes), target=target)
        ]
        after = whole.to_string(include_metadata=target is Target.NEWER, target=target)
        return ConvertedSharding(str(attr), after, 0, at, tuple(losses), f"mhlo.sharding = {quote(after)}")

    def parse(self, at: int, end: int, value: str | None) -> TensorShardingAttr | TensorShardingPerValueAttr:
        """The sharding at `at`, which may be an alias; `value` is its text if that is plain."""
        spelled = expanded(self.text[at:end], self.aliases)
        if not spelled.startswith("#"):
            raise VerificationError(
                "`sdy.sharding` must hold a sharding",
                rule="sharding-kind",
                source=self.source,
                span=Span(at, end),
                help="write `#sdy.sharding<...>` on a value, `#sdy.sharding_per_value<...>` on an operation",
            )
        cls: type[TensorShardingAttr | TensorShardingPerValueAttr] = TensorShardingAttr
        if spelled.startswith(("#sdy.sharding_per_value", "#sdy<sharding_per_value")):
            cls = TensorShardingPerValueAttr
        if value:
            with contextlib.suppress(SdyBridgeError):  # raised again below, with its place
                return cls.from_string(value, target=self.target)
        return parse_prefix(self.source, at, cls, target=self.target, aliases=self.aliases)[0]

    def attribute(self, sharding: TensorShardingAttr, at: int, manual_axes: tuple[str, ...]) -> str:
        """The dictionary entry for a sharding that does not stand in the text."""
        key = sharding, manual_axes, self.meshes.scope_index(at)
        if key not in self._attributes:
            hlo = convert_to_hlo_sharding(
                sharding, self.meshes.at(at), manual_axes=manual_axes, target=self.target
            )
            text = hlo.to_string(include_metadata=self.target is Target.NEWER, target=self.target)
            self._attributes[key] = f"mhlo.sharding = {quote(text)}"
        return self._attributes[key]

    def replicated(self, types: Sequence[str | None], scope: ManualScope, at: int) -> str | None:
        """The dictionary entry for an operation of `scope` without a sharding, by the types of its results.

        None if a type is not known, and matters.
        """
        if None in types and set(scope.axes) != set(self._mesh_axes(scope, at)):
            return None
        shardings = []
        for of_type in types or ["none"]:
            expanded_type = of_type and expand_type(of_type, self.text, self.checker.tree.aliases)
            rank = rank_of(expanded_type) if expanded_type else None
            closed = [DimensionShardingAttr((), is_closed=True)] * (rank or 0)
            shardings.append(TensorShardingAttr(scope.mesh, closed))
        return of_all([self.attribute(one, at, scope.axes) for one in shardings])

    def _mesh_axes(self, scope: ManualScope, at: int) -> tuple[str, ...]:
        """The axes of the mesh of a manual computation."""
        return resolve_mesh(TensorShardingAttr(scope.mesh, ()), self.meshes.at(at)).axis_names

    def result_types(self, brace: int, span: Span, attr: TensorShardingPerValueAttr) -> Sequence[str | None]:
        """The types of the results that the list at `span` annotates, None where they are not known."""
        text = self.text
        count = len(attr.shardings)
        if value_type(text, brace):
            raise VerificationError(
                "an argument or result takes one sharding, not a list",
                rule="sharding-kind",
                source=self.source,
                span=span,
                help=f"write `{attr.shardings[0]}`" if count == 1 else None,
            )
        found = types_of_results(text, brace)
        if found is None:
            return [None] * count
        types, all_results = found
        if all_results and not types and count == 1 and attr.shardings[0].is_fully_replicated:
            return ["none"]  # an operation without results takes one sharding of rank 0
        if len(types) == count:
            return types
        if all_results or count != 1:
            raise VerificationError(
                f"{plural(count, 'sharding')} for {plural(len(types), 'result')}",
                rule="sharding-count",
                source=self.source,
                span=span,
                help=f"list {len(types)}, one for each result"
                if types
                else "leave it out, or give one sharding of rank 0 with no axes",
            )
        return types[-1:]

    def manual_axes(self, brace: int) -> tuple[str, ...]:
        """The axes that XLA's passes recorded as manual in the operation dictionary at `brace`."""
        entry = find_entry(self.text, brace, "xla.sdy.manual_axes")
        if entry is None or entry.value is None:
            return ()
        attr, _ = parse_prefix(self.source, entry.value.start, ManualAxesAttr, aliases=self.aliases)
        return attr.value
