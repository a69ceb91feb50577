"""What a program holds, counted: its meshes, its distinct shardings, its inputs and outputs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from sdybridge.modules.hlo_annotations import HloAnnotations
from sdybridge.modules.mlir.condensed_annotations import read_mlir
from sdybridge.modules.programs import named, read_hlo, text_of
from sdybridge.sdy import TensorShardingAttr
from sdybridge.source import Source
from sdybridge.target import Target

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from sdybridge.hlo import HloSharding
    from sdybridge.modules.annotations import Annotation
    from sdybridge.sdy import MeshAttr


class AnnotatedProgram(Protocol):
    """A program of any format, as far as its values and their shardings go.

    Attributes:
        format: `MLIR text`, `HLO text` or `HLO proto`.
        meshes: The meshes that it declares, or that ride along in it, by name.
    """

    @property
    def format(self) -> str: ...  # noqa: D102
    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def num_partitions(self) -> int | None: ...  # noqa: D102
    @property
    def is_partitioned(self) -> bool: ...  # noqa: D102
    @property
    def meshes(self) -> Mapping[str, MeshAttr]: ...  # noqa: D102
    def annotations(self) -> Iterator[Annotation]: ...  # noqa: D102
    def tallies(self) -> Iterator[tuple[Annotation, int]]: ...  # noqa: D102
    def inputs(self) -> list[Annotation]: ...  # noqa: D102
    def outputs(self) -> list[Annotation]: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class ShardingUse:
    r"""One distinct sharding, and the values that have it.

    Attributes:
        carrier: What holds it; see `Annotation`.
        text: The sharding.
        count: How many values have it.
        devices: How many devices it is about; None if it does not say.
        axes: The mesh axes that it names, in the order of its text.
        bytes_per_device: What all of these values take on one device; None if no size is known.
        example: The value that takes most on one device; the first of equal ones.

    >>> from sdybridge import inspect_module
    >>> program = (
    ...     'sdy.mesh @m = <["x"=2]>\n'
    ...     'func.func @f(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>})')
    >>> [use] = inspect_module(program).shardings
    >>> use.text, use.devices, use.bytes_per_device, use.example.name
    ('<@m, [{"x"}]>', 2, 16, '%a')
    """

    carrier: str
    text: str
    count: int
    devices: int | None
    axes: tuple[str, ...]
    bytes_per_device: int | None
    example: Annotation


@dataclass(frozen=True, slots=True)
class Inspection:
    r"""What a program holds.

    Attributes:
        format: `MLIR text`, `HLO text` or `HLO proto`.
        name: The name of the module; empty if it has none.
        num_partitions: How many devices it is partitioned over, if it says so.
        is_partitioned: Whether XLA has partitioned it already: its shapes are those of the parts.
        meshes: Its meshes by name.
        carriers: How many values have a sharding of each carrier.
        shardings: Every distinct sharding, most frequent first.
        inputs: The arguments of its main function, with or without sharding.
        outputs: The results of that.

    >>> from sdybridge import inspect_module
    >>> program = (
    ...     'sdy.mesh @m = <["x"=2]>\n'
    ...     'func.func @f(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>})')
    >>> found = inspect_module(program)
    >>> found.format, list(found.meshes), [use.count for use in found.shardings]
    ('MLIR text', ['m'], [1])
    """

    format: str
    name: str
    num_partitions: int | None
    is_partitioned: bool
    meshes: Mapping[str, MeshAttr]
    carriers: Mapping[str, int]
    shardings: tuple[ShardingUse, ...]
    inputs: tuple[Annotation, ...]
    outputs: tuple[Annotation, ...]


def read_annotated(
    data: str | bytes,
    *,
    name: str = "<string>",
    target: Target = Target.CURRENT,
    progress: Callable[[int], None] | None = None,
) -> AnnotatedProgram:
    """The program that `data` holds: MLIR text, HLO text, or an HLO proto.

    Raises:
        SdyBridgeError: It is no program, or its parts cannot be told apart.
    """
    hlo = read_hlo(data, name)
    if hlo is not None:
        return HloAnnotations(hlo, target, progress=progress)
    return read_mlir(Source(text_of(data), name), target, progress=progress)


def inspect_module(
    data: str | bytes,
    *,
    name: str = "<string>",
    target: Target = Target.CURRENT,
    progress: Callable[[int], None] | None = None,
) -> Inspection:
    """Count what a program holds: meshes, distinct shardings, inputs and outputs with their local shapes.

    Args:
        data: MLIR text, HLO text, or the bytes of an HLO proto.
        name: What error messages call it.
        target: Whose grammar to follow.
        progress: Called now and then with the number of characters (or, of a proto, bytes) that are read.

    Raises:
        SdyBridgeError: It is no program, or a sharding in it is malformed; the error is located.

    Example:
        >>> found = inspect_module('''HloModule m
        ...
        ... ENTRY main {
        ...   ROOT a = f32[8,8]{1,0} parameter(0), sharding={devices=[2,1]<=[2]}
        ... }
        ... ''')
        >>> [(use.text, use.count, use.devices, use.bytes_per_device) for use in found.shardings]
        [('{devices=[2,1]<=[2]}', 1, 2, 128)]
    """
    return named(
        name, lambda: inspect_program(read_annotated(data, name=name, target=target, progress=progress))
    )


def inspect_program(program: AnnotatedProgram) -> Inspection:
    """Count what a program holds, in one pass.

    Raises:
        SdyBridgeError: A sharding in it is malformed; the error is located.

    Source: the shapes of parts are those of xla's `HloSharding::TileShape`.
    """
    tallies: dict[tuple[str, TensorShardingAttr | HloSharding, int], _Tally] = {}
    for one, count in program.tallies():
        key = one.carrier, one.sharding, id(one.mesh)
        tally = tallies.get(key)  # type: ignore[arg-type]  # annotations of a program have a sharding
        if tally is None:
            tally = tallies[key] = _Tally(one)  # type: ignore[index]
        tally.add(one, count)
    uses = sorted((tally.use() for tally in tallies.values()), key=lambda use: -use.count)
    carriers: Counter[str] = Counter()
    for use in uses:
        carriers[use.carrier] += use.count
    return Inspection(
        format=program.format,
        name=program.name,
        num_partitions=program.num_partitions,
        is_partitioned=program.is_partitioned,
        meshes=program.meshes,
        carriers=dict(carriers),
        shardings=tuple(uses),
        inputs=tuple(program.inputs()),
        outputs=tuple(program.outputs()),
    )


class _Tally:
    """The values with one sharding so far; each distinct shape is measured once."""

    __slots__ = ("count", "example", "largest", "sizes", "total")

    def __init__(self, first: Annotation) -> None:
        self.count = self.total = 0
        self.largest = -1
        self.example = first
        self.sizes: dict[object, int] = {}

    def add(self, one: Annotation, count: int) -> None:
        size = self.sizes.get(one.stated_shape)
        if size is None:
            size = self.sizes[one.stated_shape] = local_bytes(one) or 0
        self.count += count
        self.total += size * count
        if size > self.largest:
            self.largest, self.example = size, one

    def use(self) -> ShardingUse:
        one = self.example
        return ShardingUse(
            carrier=one.carrier,
            text=sharding_text(one),
            count=self.count,
            devices=one.devices,
            axes=tuple(_axes(one)),
            bytes_per_device=self.total or None,
            example=one,
        )


def local_bytes(one: Annotation) -> int | None:
    """What a value takes on one device; None if its shape is not known."""
    shape = one.local_shape
    return None if shape is None else shape.bytes


def total_bytes(values: Iterable[Annotation]) -> int:
    """What values take on one device together; those of which that is not known count nothing."""
    sizes: dict[tuple[object, ...], int] = {}
    total = 0
    for one in values:
        key = one.sharding, id(one.mesh), one.shape
        size = sizes.get(key)
        if size is None:
            size = sizes[key] = local_bytes(one) or 0
        total += size
    return total


def sharding_text(one: Annotation) -> str:
    """The text of a value's sharding, as it stands in lists; empty without one."""
    sharding = one.sharding
    if isinstance(sharding, TensorShardingAttr):
        return sharding.stripped
    return "" if sharding is None else str(sharding)


def _axes(one: Annotation) -> Iterable[str]:
    """The axes that a sharding names, each once."""
    sharding = one.sharding
    if sharding is None:
        return ()
    if not isinstance(sharding, TensorShardingAttr):
        named = sharding.named_sharding
        return () if named is None else named.used_axis_names
    refs = [ref for dim in sharding.dim_shardings for ref in dim.axes]
    return dict.fromkeys(ref.name for ref in (*refs, *sharding.replicated_axes, *sharding.unreduced_axes))
