"""One sharding in any notation: Shardy's, HLO's three, or the bytes of a proto."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sdybridge.bridge import convert_to_hlo_sharding, resolve_mesh
from sdybridge.bridge.notations import Notation, notation_of, read_hlo_sharding
from sdybridge.errors import SdyBridgeError, VerificationError
from sdybridge.hlo import HloSharding
from sdybridge.sdy import MeshAttr, TensorShardingAttr
from sdybridge.sdy import locate as locate_part
from sdybridge.sdy.printer import symbol
from sdybridge.source import Source, Span
from sdybridge.target import Target

if TYPE_CHECKING:
    from collections.abc import Sequence

Meshes = Mapping[str, MeshAttr] | MeshAttr | None
"""The meshes that shardings may name: by name, one for every name, or none."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A sharding, and what else it needs to place a tensor.

    Attributes:
        sharding: The sharding.
        mesh: The mesh of a Shardy sharding.
        manual_axes: The axes that are manual where a Shardy sharding stands.
        text: What it was read from; empty if it was none.

    >>> from sdybridge import MeshAttr, read_sharding
    >>> read_sharding('[{"x"}]', MeshAttr.from_sizes({"x": 2})).sharding.stripped
    '<@mesh, [{"x"}]>'
    """

    sharding: TensorShardingAttr | HloSharding
    mesh: MeshAttr | None = None
    manual_axes: tuple[str, ...] = ()
    text: str = ""

    def __str__(self) -> str:
        sharding = self.sharding
        return sharding.stripped if isinstance(sharding, TensorShardingAttr) else str(sharding)

    def grid(self, target: Target = Target.CURRENT) -> HloSharding:
        """The sharding over a device grid that places a tensor alike.

        Raises:
            VerificationError: A Shardy sharding is not valid on its mesh, or the mesh is not known.
            ConversionError: No device grid places a tensor like it.

        Example:
            >>> from sdybridge import MeshAttr, read_sharding
            >>> print(read_sharding('[{"x"}]', MeshAttr.from_sizes({"x": 2})).grid())
            {devices=[2]<=[2]}
        """
        if isinstance(self.sharding, HloSharding):
            return self.sharding.v3_to_v2_sharding()
        return convert_to_hlo_sharding(self.sharding, self.mesh, manual_axes=self.manual_axes, target=target)


def read_sharding(
    value: str | bytes | TensorShardingAttr | HloSharding,
    meshes: Meshes = None,
    *,
    manual_axes: Sequence[str] = (),
    target: Target = Target.CURRENT,
    name: str = "<sharding>",
) -> Placed:
    """The sharding that a text, the bytes of a proto, or an object stands for.

    Args:
        value: A Shardy sharding, also its dimensions alone (`[{"x"}, {}]`); an HLO sharding; or the bytes of
            an `OpSharding`, as they are or as hexadecimal, base64 or escaped text.
        meshes: The meshes that it may name.
        manual_axes: The axes that are manual where it stands.
        target: Whose grammar to follow.
        name: What errors call the text.

    Raises:
        ParseError: The text does not follow the grammar of its notation.
        ProtoError: The bytes are no sharding.
        VerificationError: The mesh of a Shardy sharding is not known, or it is not valid on it.

    >>> print(read_sharding("[{'x'}]".replace("'", '"'), MeshAttr.from_sizes({"x": 2})).grid())
    {devices=[2]<=[2]}
    """
    if isinstance(value, HloSharding):
        return Placed(value)
    if isinstance(value, bytes):
        return Placed(HloSharding.from_proto(value, target=target))
    if isinstance(value, TensorShardingAttr):
        return Placed(value, resolve_mesh(value, meshes), tuple(manual_axes))
    if not isinstance(value, str):
        raise TypeError(f"expected a sharding or its text, not a {type(value).__name__}")
    text = value.strip()
    source = Source(text, name)
    notation = notation_of(text)
    if notation is Notation.SDY:
        return _read_sdy(source, meshes, tuple(manual_axes), target)
    return Placed(read_hlo_sharding(source, Span(0, len(text)), notation, target), text=text)


def _read_sdy(source: Source, meshes: Meshes, manual_axes: tuple[str, ...], target: Target) -> Placed:
    text, shift = source.text, 0
    if text.startswith("["):  # dimensions alone are on the only mesh
        only = next(iter(meshes)) if isinstance(meshes, Mapping) and len(meshes) == 1 else "mesh"
        opening = f"<{symbol(only)}, "
        text, shift = f"{opening}{text}>", len(opening)
    sharding = None
    try:
        sharding = TensorShardingAttr.from_string(text, target=target)
        mesh = resolve_mesh(sharding, meshes)
        placed = Placed(sharding, mesh, manual_axes)
        placed.grid(target)
    except SdyBridgeError as error:
        if isinstance(error, VerificationError) and sharding is not None:
            if error.rule == "unknown-mesh":
                error.help = "give the mesh, such as x=2,y=4"
            if error.span is None:
                error = locate_part(error, Source(text), 0, TensorShardingAttr, target=target)
        span = error.span or Span(0, len(text))
        start, end = (min(max(at - shift, 0), len(source.text)) for at in (span.start, span.end))
        raise error.located(source, Span(start, end)) from None
    return placed
