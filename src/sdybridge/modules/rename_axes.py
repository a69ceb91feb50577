"""New names for mesh axes, everywhere in a program."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING

from sdybridge.errors import SdyBridgeError, VerificationError
from sdybridge.hlo import HloSharding, Mesh, NamedSharding
from sdybridge.modules.carriers import CARRIERS, Quoting, print_carrier, read_carrier, write_string
from sdybridge.modules.converted import ConvertedSharding
from sdybridge.modules.hlo_program import Edit, edit_once
from sdybridge.modules.mlir.hlo_attribute import parse_hlo_attribute
from sdybridge.modules.mlir.lexer import STRING, matching_bracket, next_code, placed, string_end, unescape
from sdybridge.modules.mlir.meshes import find_meshes
from sdybridge.modules.mlir.sites import HLO_NAME, NAME, SiteKind, find_sites
from sdybridge.modules.programs import named, read_hlo, text_of
from sdybridge.modules.rewrite import converted_module
from sdybridge.modules.splice import splice
from sdybridge.sdy import (
    AxisRefAttr,
    DimensionShardingAttr,
    ManualAxesAttr,
    MeshAttr,
    MeshAxisAttr,
    TensorShardingAttr,
    TensorShardingPerValueAttr,
)
from sdybridge.sdy.printer import show
from sdybridge.source import Source, Span

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sdybridge.modules import splice as splices
    from sdybridge.modules.carriers import Carrier, CarrierValue
    from sdybridge.modules.converted import ConvertedModule
    from sdybridge.modules.hlo_program import HloProgram, HloSite

_CODE = re.compile(rf"(?P<skip>//[^\n]*+|@\s*{STRING})|(?P<string>{STRING})|(?P<list>\[)")
_SIZE = re.compile(r"\s*+=\s*+\d")
_TO_END = re.compile(
    rf'{STRING}|//[^\n]*+|(?P<bracket>[\[(<{{])|(?P<end> : |\n(?=\s*+(?:%|"|[a-z][\w.]*+ |\}})))'
)
_AXES = re.compile(rf"\{{\s*+(?:\}}|{STRING}\s*+[,}}:])")
_ATTRIBUTE = re.compile(
    r"#sdy[\w.]*+<|#stablehlo\.(?:mesh|replica_group_mesh_axes)\w*+<|\bstablehlo\.mesh\s*+=\s*+\{"
)


def rename_axes(text: str | bytes, names: Mapping[str, str], *, name: str = "<string>") -> ConvertedModule:
    """Give mesh axes new names, in meshes and shardings, in HLO those of Shardy that ride along too.

    Args:
        text: MLIR text, HLO text, or the bytes of an HLO proto.
        names: The new name by the old one. All change at once, so two may change places.
        name: The name of the text, for errors.

    Raises:
        ParseError: Something that holds axes is malformed.
        ProtoError: The bytes are no HLO proto.
        VerificationError: No mesh has an axis of that name, or a mesh would have two of one name.

    Example:
        >>> text = 'sdy.mesh @mesh = <["x"=2, "y"=4]>'
        >>> print(rename_axes(text, {"x": "data"}).text)
        sdy.mesh @mesh = <["data"=2, "y"=4]>
    """
    rename = _Rename(names)
    program = read_hlo(text, name)
    if program is None:
        source = Source(text_of(text), name)
        new: str | bytes = placed(source, functools.partial(rename.mlir, source))
    else:
        new = named(name, functools.partial(rename.hlo, program))
    rename.check_all_known(name)
    return converted_module(new, rename.shardings, rename.meshes)


class _Rename:
    """One renaming under way."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names
        self._seen: dict[str, None] = {}  # the axes of the program, in the order of the text
        self._known: dict[tuple[str, str], ConvertedSharding] = {}
        self.meshes: dict[str, MeshAttr] = {}

    @property
    def shardings(self) -> list[ConvertedSharding]:
        """What changed, and into what."""
        return list(self._known.values())

    def check_all_known(self, name: str) -> None:
        """Check that the program has every axis that is to be renamed."""
        for old in self._names:
            if old not in self._seen:
                known = ", ".join(map(show, self._seen))
                raise VerificationError(
                    f"no mesh has an axis {show(old)}",
                    rule="unknown-axis",
                    source=Source("", name),
                    notes=[f"the axes are {known}" if known else "the program has no axes"],
                )

    def hlo(self, program: HloProgram) -> str | bytes:
        """The HLO program with new names."""
        attributes = {
            key: self._counted(carrier, 0)
            for key in program.frontend_attributes.keys() & CARRIERS
            if (carrier := program.carrier(key))
        }
        return program.edited(edit_once(self._edit), attributes)

    def _edit(self, site: HloSite) -> tuple[Edit, Sequence[ConvertedSharding]]:
        carriers = {
            key: self._new_carrier(carrier, site.offset)
            for key in sorted(site.frontend_attributes.keys() & CARRIERS)
            if (carrier := site.carrier(key))
        }
        sharding = site.sharding
        try:
            new = sharding and self._hlo_sharding(sharding)
        except SdyBridgeError as error:
            raise site.locate(error) from None
        keeps = sharding is None or new is sharding
        attributes = {key: carrier.after for key, carrier in carriers.items()}
        return Edit(keeps_sharding=keeps, sharding=new, attributes=attributes), tuple(carriers.values())

    def _counted(self, carrier: Carrier, offset: int) -> str:
        """The text of a carrier with new names."""
        new = self._new_carrier(carrier, offset)
        new.count += 1
        return new.after

    def _new_carrier(self, carrier: Carrier, offset: int) -> ConvertedSharding:
        """A carrier with new names."""
        known = self._known.get((carrier.key, carrier.text))
        if known is None:
            try:
                value = self._renamed(carrier.parse())
            except VerificationError as error:  # two axes would have one name
                raise (error if error.source else error.located(carrier.source, carrier.span)) from None
            if isinstance(value, dict):
                self.meshes.update(value)
            after = print_carrier(carrier.key, value)
            known = ConvertedSharding(carrier.text, after, 0, offset, (), f"{carrier.key}={after}")
            self._known[carrier.key, carrier.text] = known
        return known

    def _axis(self, name: str) -> str:
        self._seen.setdefault(name)
        return self._names.get(name, name)

    def _renamed(self, value: CarrierValue) -> CarrierValue:
        if isinstance(value, dict):
            return {key: self._mesh(mesh) for key, mesh in value.items()}
        if isinstance(value, TensorShardingPerValueAttr):
            return TensorShardingPerValueAttr([self._sharding(one) for one in value.shardings])
        if isinstance(value, TensorShardingAttr):
            return self._sharding(value)
        if isinstance(value, ManualAxesAttr):
            return ManualAxesAttr([self._axis(name) for name in value.value])
        return value

    def _mesh(self, mesh: MeshAttr) -> MeshAttr:
        axes = [MeshAxisAttr(self._axis(axis.name), axis.size) for axis in mesh.axes]
        return MeshAttr(axes, mesh.device_ids)

    def _refs(self, refs: tuple[AxisRefAttr, ...]) -> list[AxisRefAttr]:
        return [AxisRefAttr(self._axis(ref.name), ref.sub_axis_info) for ref in refs]

    def _sharding(self, sharding: TensorShardingAttr) -> TensorShardingAttr:
        mesh = sharding.mesh_or_ref
        dims = [
            DimensionShardingAttr(self._refs(dim.axes), dim.is_closed, dim.priority)
            for dim in sharding.dim_shardings
        ]
        return TensorShardingAttr(
            self._mesh(mesh) if isinstance(mesh, MeshAttr) else mesh,
            dims,
            self._refs(sharding.replicated_axes),
            self._refs(sharding.unreduced_axes),
            sharding.reduction_op,
        )

    def _hlo_sharding(self, sharding: HloSharding) -> HloSharding:
        """The HLO sharding with new names; itself if nothing changes."""
        if sharding.is_tuple:
            elements = [self._hlo_sharding(element) for element in sharding.tuple_elements]
            same = all(new is old for new, old in zip(elements, sharding.tuple_elements, strict=True))
            return sharding if same else HloSharding.flat_tuple(elements)
        old = sharding.named_sharding
        if old is None:
            return sharding
        names = [self._axis(name) for name in old.mesh.axis_names]
        if names == list(old.mesh.axis_names):
            return sharding
        new = NamedSharding(
            Mesh(old.mesh.device_assignment, names),
            old.dim_shardings,
            replicated_axes=old.replicated_axes,
            unreduced_axes=old.unreduced_axes,
            manual_axes=old.manual_axes,
        )
        named_sharding = HloSharding.named(new, metadata=sharding.metadata)
        return named_sharding.with_reduction_op(sharding.reduction_op)

    def mlir(self, source: Source) -> str:
        """The MLIR text with new names: in Shardy's attributes and operations, and in carriers."""
        edits: dict[int, splices.Edit] = {}
        for start, end in _shardy_code(source):
            here = {at: edit for at, edit in self._names_in(source, start, end) if at not in edits}
            if here:
                before = source.text[start:end]
                after = splice(before, [(at - start, to - start, new) for at, to, new in here.values()])
                known = ConvertedSharding(before, after, 0, start, (), after)
                self._known.setdefault(("", before), known).count += 1
                edits.update(here)
        for operation in find_meshes(source).operations:
            mesh = self._mesh(operation.mesh)
            if mesh is not operation.mesh:
                self.meshes[operation.name] = mesh
        for site in find_sites(source.text, NAME):
            if site.kind is SiteKind.KEY and site.name in CARRIERS and source.text.startswith('"', site.end):
                span = Span(site.end, string_end(source.text, site.end))
                carrier = read_carrier(site.name, source, span, Quoting.MLIR)
                new = self._counted(carrier, span.start)
                if new != carrier.text:
                    edits[span.start] = (span.start, span.end, write_string(new, Quoting.MLIR))
        edits.update(self._hlo_attributes(source))
        return splice(source.text, edits.values())

    def _names_in(self, source: Source, start: int, end: int) -> Iterator[tuple[int, splices.Edit]]:
        """The edits of the names in a part of the text."""
        in_mesh: set[str] = set()
        for hit in _CODE.finditer(source.text, start, end):
            if hit["list"]:
                in_mesh = set()
            elif hit["string"] and hit["string"].startswith('"'):
                old = unescape(hit["string"])
                new = self._axis(old)
                if _SIZE.match(source.text, hit.end()):
                    _check_new(new, in_mesh, source, Span(hit.start(), hit.end()))
                if new != old:
                    yield hit.start(), (hit.start(), hit.end(), write_string(new, Quoting.MLIR))

    def _hlo_attributes(self, source: Source) -> Iterator[tuple[int, splices.Edit]]:
        """The edits of `mhlo.sharding` strings over named meshes."""
        text = source.text
        for site in find_sites(text, HLO_NAME):
            if site.kind is not SiteKind.KEY or not text.startswith('"', site.end):
                continue
            end = string_end(text, site.end)
            if "mesh" not in text[site.end : end]:
                continue
            try:
                sharding = parse_hlo_attribute(text[site.end : end])
                new = self._hlo_sharding(sharding)
            except SdyBridgeError as error:
                raise error.located(source, Span(site.end, end)) from None
            if new is not sharding:
                yield site.end, (site.end, end, write_string(new.to_string(), Quoting.MLIR))


def _check_new(name: str, in_mesh: set[str], source: Source, span: Span) -> None:
    """Check that the mesh has no axis of that name yet, and add it."""
    if name in in_mesh:
        raise VerificationError(
            f"the mesh would have two axes named {show(name)}",
            rule="duplicate-axis-name",
            source=source,
            span=span,
            help="give every axis its own name",
        )
    in_mesh.add(name)


def _shardy_code(source: Source) -> Iterator[tuple[int, int]]:
    """The parts of an MLIR text whose strings are the names of axes, symbols aside; they may repeat."""
    text = source.text
    for site in find_sites(text, NAME):
        if site.kind is SiteKind.OPERATION:
            yield site.start, _operation_end(text, site.end)
    code = 0
    for hit in _ATTRIBUTE.finditer(text):
        if hit.start() >= code:
            code = next_code(text, code, hit.start())
            if code == hit.start():
                yield code, matching_bracket(text, hit.end() - 1)


def _operation_end(text: str, at: int) -> int:
    """Where the axes of the Shardy operation end whose name ends at `at`: before its dictionary or type.

    >>> text = 'sdy.reshard %0 <@mesh, [{"x"}]> {a = "x"} : tensor<8xf32>'
    >>> text[: _operation_end(text, 11)]
    'sdy.reshard %0 <@mesh, [{"x"}]> '
    """
    while True:
        hit = _TO_END.search(text, at)
        if hit is None:
            return len(text)
        bracket = hit["bracket"]
        if hit["end"] or (bracket == "{" and not _AXES.match(text, hit.start())):
            return hit.start()
        at = matching_bracket(text, hit.start()) if bracket else hit.end()
