"""The report: one HTML page about a program, with everything in it, so that it opens anywhere."""

from __future__ import annotations

import functools
import heapq
import json
import math
from importlib import resources
from typing import TYPE_CHECKING, Any

from sdybridge.checks.check import check_condensed, check_module
from sdybridge.errors import ConversionError, SdyBridgeError
from sdybridge.hlo import HloSharding
from sdybridge.hlo.element_types import size_text
from sdybridge.modules.annotations import shard_counts
from sdybridge.modules.inspection import local_bytes, read_annotated, sharding_text, total_bytes
from sdybridge.modules.mlir.condensed_annotations import CondensedProgram
from sdybridge.source import Lines
from sdybridge.target import Target
from sdybridge.view.drawing import drawing_of
from sdybridge.view.explainer import explain
from sdybridge.view.explanation import Explanation
from sdybridge.view.explanation_text import in_width

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from sdybridge.checks import Finding
    from sdybridge.modules.annotations import Annotation
    from sdybridge.modules.inspection import AnnotatedProgram
    from sdybridge.sdy import MeshAttr

MOST_PICTURES = 400
"""How many distinct shardings of distinct shapes are drawn and explained, the most frequent ones."""

_MOST_REPLICATED = 10
_MOST_FINDINGS = 200
_PANEL = 56  # characters in a line beside the table
_MOST_DRAWN_DEVICES = 256
_NO_TENSORS = frozenset(("token", "opaque"))
_GOLDEN_ANGLE = 137.5  # hues that far apart are told apart, however many there are


def render_report(
    data: str | bytes,
    *,
    name: str = "<string>",
    target: Target = Target.CURRENT,
    check: bool = True,
    progress: Callable[[int], None] | None = None,
) -> str:
    """One HTML page about a program: its meshes, its values with their shardings drawn, what checks find.

    The page needs no network. At most `MOST_PICTURES` shardings of distinct shapes are drawn.

    Args:
        data: MLIR text, HLO text, or the bytes of an HLO proto.
        name: What the page, and error messages, call it.
        target: Whose grammar to follow.
        check: Whether to check the program, too.
        progress: Called now and then with the number of characters (or, of a proto, bytes) that are read.

    Raises:
        ConversionError: Jinja2 is not installed.
        SdyBridgeError: It is no program, or a sharding in it is malformed.
    """
    try:
        import jinja2
    except ImportError:
        raise ConversionError(
            "the report is made with Jinja2, which is not installed", help="pip install 'sdybridge[report]'"
        ) from None
    program = read_annotated(data, name=name, target=target, progress=progress)
    lines = Lines(data) if isinstance(data, str) else None
    annotations = list(program.annotations())
    table = _Table(annotations, lines)
    environment = jinja2.Environment(autoescape=True)
    safe = environment.filters["safe"]
    facts = [program.format]
    if program.name:
        facts.append(f"module {program.name}")
    if program.num_partitions is not None:
        facts.append(f"{program.num_partitions} partitions")
    return environment.from_string(_asset("report.html.jinja")).render(
        title=name,
        facts=facts,
        cards=_cards(program, annotations, table),
        meshes=[_mesh(mesh_name, mesh) for mesh_name, mesh in program.meshes.items()],
        findings=_findings(data, program, name, target) if check else None,
        replicated=_replicated(annotations, table),
        total=len(annotations),
        data=safe(_for_script({**table.as_json(), "pictures": _pictures(table, target)})),
        css=safe(_asset("report.css")),
        js=safe(_asset("report.js")),
    )


def _findings(data: str | bytes, program: AnnotatedProgram, name: str, target: Target) -> list[Finding]:
    """The first ones of what checks find."""
    if isinstance(program, CondensedProgram):
        found = check_condensed(program.condensed, target=target)
    else:
        found = check_module(data, name=name, target=target)
    return found[:_MOST_FINDINGS]


class _Table:
    """The values, and what several of them share: a sharding on a shape."""

    def __init__(self, annotations: Iterable[Annotation], lines: Lines | None) -> None:
        self.values: list[tuple[str, int | str, str, str, int]] = []
        self.first: list[Annotation] = []  # of each use
        self.counts: list[int] = []
        self.use_of: list[int] = []  # of each value
        uses: dict[tuple[object, ...], int] = {}
        for one in annotations:
            key = one.carrier, one.sharding, id(one.mesh), one.stated_shape
            use = uses.setdefault(key, len(uses))
            if use == len(self.first):
                self.first.append(one)
                self.counts.append(0)
            self.counts[use] += 1
            self.use_of.append(use)
            line = lines.location(one.offset)[0] if lines else ""
            self.values.append((one.name, line, one.opcode, one.scope, use))

    @functools.cached_property
    def sizes(self) -> list[int | None]:
        """What a value of each use takes on one device."""
        return [local_bytes(one) for one in self.first]

    @property
    def most_frequent(self) -> list[int]:
        """The uses, most frequent first."""
        return sorted(range(len(self.first)), key=lambda use: -self.counts[use])

    def as_json(self) -> dict[str, Any]:
        """What the page's script reads."""
        drawn = {use: i for i, use in enumerate(self.most_frequent[:MOST_PICTURES])}
        uses = []
        for i, one in enumerate(self.first):
            size = self.sizes[i]
            shape, local = str(one.shape or ""), str(one.local_shape or "")
            sort_key = -1 if size is None else size
            text = sharding_text(one)
            uses.append((shape, local, sort_key, size_text(size), text, one.carrier, drawn.get(i, -1)))
        return {"values": self.values, "uses": uses}


def _pictures(table: _Table, target: Target) -> list[dict[str, str]]:
    """What the most frequent uses look like, and mean."""
    return [_picture(table.first[use], target) for use in table.most_frequent[:MOST_PICTURES]]


def _picture(one: Annotation, target: Target) -> dict[str, str]:
    shape = None if one.shape is None or one.shape.element_type in _NO_TENSORS else str(one.shape)
    try:
        explanation = explain(
            one.sharding, mesh=one.mesh, shape=shape, manual_axes=one.manual_axes, target=target
        )
        if isinstance(explanation, Explanation):  # a value has no tuple of shardings
            return {"svg": drawing_of(explanation).to_svg(), "text": in_width(explanation, _PANEL)}
    except SdyBridgeError as error:  # a mesh that is not declared, another rank
        return {"text": error.message}
    return {}


def _cards(
    program: AnnotatedProgram, annotations: Sequence[Annotation], table: _Table
) -> list[dict[str, str]]:
    shardings = {(one.carrier, one.sharding, id(one.mesh)) for one in table.first}
    cards = [
        {"figure": f"{len(annotations):,}", "what": f"value{_s(annotations)} with a sharding"},
        {"figure": f"{len(shardings):,}", "what": f"distinct sharding{_s(shardings)}"},
    ]
    for what, values in (("input", program.inputs()), ("output", program.outputs())):
        is_known = not values or any(one.sharding is not None for one in values)
        figure = size_text(total_bytes(values)) if is_known else "unknown"
        cards.append({"figure": figure, "what": f"{len(values):,} {what}{_s(values)}, per device"})
    return cards


def _s(counted: Collection[object]) -> str:
    """The ending of a noun for so many."""
    return "" if len(counted) == 1 else "s"


def _mesh(name: str, mesh: MeshAttr) -> dict[str, object]:
    axes = [{"name": axis.name, "size": axis.size, "hue": _hue(i)} for i, axis in enumerate(mesh.axes)]
    devices = f"{mesh.total_size:,} device{'' if mesh.total_size == 1 else 's'}"
    if mesh.device_ids:
        devices += ", in an order of their own"
    return {"name": name, "devices": devices, "axes": axes, "grid": _mesh_grid(mesh)}


def _mesh_grid(mesh: MeshAttr) -> list[list[dict[str, int]]]:
    """The devices with the last axis across, a colour for each place along the first; none of many."""
    if not mesh.axes or not 1 < mesh.total_size <= _MOST_DRAWN_DEVICES:
        return []
    ids = mesh.device_ids or range(mesh.total_size)
    width = mesh.axes[-1].size
    per_colour = mesh.total_size // mesh.axes[0].size
    cells = [{"id": int(device), "hue": _hue(i // per_colour)} for i, device in enumerate(ids)]
    return [cells[start : start + width] for start in range(0, len(cells), width)]


def _hue(index: int) -> int:
    return round(index * _GOLDEN_ANGLE % 360)


def _replicated(annotations: Sequence[Annotation], table: _Table) -> list[dict[str, object]]:
    """The values that take most on each device though devices hold copies of them."""
    numbers = [copies(one) or 1 for one in table.first]
    sizes = [size if number > 1 else None for size, number in zip(table.sizes, numbers, strict=True)]
    sized = ((-size, i) for i, use in enumerate(table.use_of) if (size := sizes[use]))
    largest = heapq.nsmallest(_MOST_REPLICATED, sized)
    return [
        {
            "index": i,
            "name": annotations[i].name,
            "shape": str(annotations[i].shape),
            "size": size_text(-size),
            "copies": numbers[table.use_of[i]],
            "sharding": sharding_text(annotations[i]),
        }
        for size, i in largest
    ]


def copies(one: Annotation) -> int | None:
    """How many devices hold the same part of a value; None if that is not known.

    Manual axes split the tensor in a way that the sharding does not say; they count as copies here.
    """
    sharding = one.sharding
    if isinstance(sharding, HloSharding):
        if not sharding.is_tiled:
            return None
        grid = sharding.tile_assignment.dims
        return math.prod(grid[sharding.data_rank :])
    if sharding is None or one.mesh is None:
        return None
    ways = shard_counts(sharding, one.mesh)
    if ways is None:
        return None
    return one.mesh.total_size // math.prod(ways)


def _for_script(value: object) -> str:
    """JSON that cannot end the script element it stands in."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")


def _asset(name: str) -> str:
    return (resources.files("sdybridge.view") / "assets" / name).read_text("utf-8")
