"""An explanation as text: the facts in words, the steps, and the other notations."""

from __future__ import annotations

import re
import textwrap
from contextvars import ContextVar
from typing import TYPE_CHECKING

from sdybridge.hlo.element_types import size_text
from sdybridge.sdy.printer import quote
from sdybridge.view.remarks import show_runs
from sdybridge.view.sharded import MeshOrigin

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sdybridge.sdy import MeshAttr
    from sdybridge.view.dimensions import Dimension
    from sdybridge.view.explanation import Explanation, Group, Shard
    from sdybridge.view.sharded import Sharded
    from sdybridge.view.steps import Steps

WIDTH = 110
"""How wide the lines of texts are, unless `in_width` says otherwise."""

_LINE_BREAK = re.compile(r"\s*[\r\n]\s*")
_width = ContextVar("width", default=WIDTH)
LABEL = 14
_SHOWN_GROUPS = 4
_SHOWN_SHARDS = 8
_SHOWN_DEVICES = 16
_LONGEST_LIST = 100
_LONGEST_FORM = 2000
_FORM_LABELS = {
    "shardy": "Shardy",
    "hlo": "HLO",
    "hlo-list": "HLO list",
    "hlo-named": "HLO named",
    "proto": "proto (hex)",
    "partition-spec": "JAX",
}


def in_width(shown: object, width: int) -> str:
    """The text of an explanation or a comparison, in lines of at most `width` characters where they break."""
    token = _width.set(width)
    try:
        return str(shown)
    finally:
        _width.reset(token)


def explanation_text(explanation: Explanation) -> str:
    """The whole text, in sections with a heading each."""
    sections = [
        [headline(explanation), *wrapped(summary(explanation), "")],
        [*_facts(explanation), *_remarks(explanation)],
        _holders(explanation),
        _steps(explanation),
        _forms(explanation),
    ]
    return "\n\n".join("\n".join(section) for section in sections if section)


def headline(explanation: Explanation) -> str:
    """The sharding, and the mesh that it is on."""
    mesh = explanation.mesh
    sharded = explanation.sharded
    where = ""
    if mesh is not None and mesh.axes:
        inferred = " (inferred)" if sharded.mesh_origin is MeshOrigin.INFERRED else ""
        where = f" on {show_mesh(mesh)}{inferred}"
    return f"{given_text(sharded)}{where}"


def given_text(sharded: Sharded) -> str:
    """The sharding as it was given, on one line, as far as that has room."""
    text = _LINE_BREAK.sub(" ", sharded.text)
    return text if len(text) <= WIDTH else f"{text[: WIDTH - 4]} ..."


def summary(explanation: Explanation) -> str:
    """The kind of sharding, and its numbers, in a sentence."""
    devices = explanation.num_devices
    count = (
        "every device" if devices is None else "the one device" if devices == 1 else f"all {devices} devices"
    )
    holds = "hold" if devices and devices > 1 else "holds"
    kind = explanation.kind
    if kind == "replicated":
        return f"Replicated: {count} {holds} the whole tensor."
    if kind == "maximal":
        return f"On device {explanation.sharded.hlo.unique_device} alone, whole."
    if kind == "manual":
        return f"Manual: the program itself says what {count} {holds}; the partitioner leaves it alone."
    if kind == "unknown":
        return "Unknown: nothing is said; the compiler may choose any sharding."
    if kind == "unreduced":
        return f"Unreduced: {count} {holds} a partial value of the whole tensor, still to be combined."
    parts = [f"{devices} device{'s' * (devices != 1)}"]
    shards = explanation.num_shards
    parts.append("the tensor is not cut" if shards == 1 else f"{shards} shards")
    for group in explanation.groups:
        each = "of it" if shards == 1 else "of each"
        if group.kind == "replicated":
            parts.append(f"{group.size} copies {each}")
        elif group.kind == "unreduced":
            parts.append(f"{group.size} partial values {each}")
        else:
            parts.append(f"manual over {group.size} devices")
    return f"Tiled: {', '.join(parts)}."


def _facts(explanation: Explanation) -> Iterator[str]:
    for i, dim in enumerate(explanation.dimensions):
        yield from fact(f"dimension {i}", dimension_text(dim))
    for group in explanation.groups:
        yield from fact(group.kind, _group(group))
    if explanation.empty_devices:
        yield from fact("empty", f"devices {devices_text(explanation.empty_devices)} hold nothing")
    if explanation.shard is not None:
        yield from fact("on a device", _shard(explanation))


def dimension_text(dim: Dimension) -> str:
    """How a dimension is cut."""
    size = "" if dim.size is None else f"{dim.size} "
    openness = ", open: propagation may cut it further" if dim.is_open else ""
    if dim.priority is not None:
        openness += f", priority {dim.priority}"
    if dim.shards == 1:
        by = f" ({axes_text(dim.axes)} of size 1)" if dim.axes else ""
        return f"{size}whole{by}{openness}"
    by = "" if dim.axes is None else f" by {axes_text(dim.axes)}"
    lengths = ""
    if dim.shard_size is not None:
        lengths = f" of {dim.shard_size}" if not dim.padding else f" of {show_runs(dim)}"
    return f"{size}in {dim.shards} shards{lengths}{by}{openness}"


def legend(explanation: Explanation) -> Iterator[str]:
    """What devices in one place mean."""
    for group in explanation.groups:
        by = f" along {axes_text(group.axes)}" if group.axes else ""
        if group.kind == "replicated":
            yield f"replicated{by}: devices with a comma between them hold copies"
        elif group.kind == "manual":
            yield f"manual{by}: a bar stands between devices that the program tells apart"
        else:
            yield f"unreduced{by}: a bar stands between devices whose partial values are to be combined"
    if explanation.num_empty_devices:
        yield f"empty: {explanation.num_empty_devices} devices, in parentheses, hold no element"


def _group(group: Group) -> str:
    what = {
        "replicated": "devices hold the same shard",
        "unreduced": "devices hold partial values of the same shard, to be combined",
        "manual": "devices are told apart by the program, in a manual computation",
    }[group.kind]
    by = "" if group.axes is None else f"{axes_text(group.axes)}: " if group.axes else ""
    return f"{by}{group.size} {what}: {groups_text(group.devices, group.count)}"


def groups_text(groups: Sequence[Sequence[int]], count: int) -> str:
    """Groups of devices, the first ones where there are many."""
    texts = [f"{{{devices_text(group)}}}" for group in groups[:_SHOWN_GROUPS]]
    more = count - len(texts)
    return " ".join(texts) + (f" and {more} more" if more > 0 else "")


def devices_text(devices: Sequence[int]) -> str:
    """Device ids, the middle of a long list left out, a run as a range."""
    if len(devices) > 4 and list(devices) == list(range(devices[0], devices[0] + len(devices))):
        return f"{devices[0]}..{devices[-1]}"
    if len(devices) <= _SHOWN_DEVICES:
        return ", ".join(map(str, devices))
    return f"{', '.join(map(str, devices[:8]))}, ... ({len(devices)} in all)"


def _shard(explanation: Explanation) -> str:
    shard, tensor = explanation.shard, explanation.tensor
    bytes_per_device, total = explanation.bytes_per_device, explanation.total_bytes
    text = f"{shard}"
    if bytes_per_device is not None:
        text += f", {size_text(bytes_per_device)}"
    whole = None if tensor is None else tensor.bytes
    if total is not None and whole is not None and explanation.num_devices:
        text += f"; {size_text(total)} on all {explanation.num_devices}, for a tensor of {size_text(whole)}"
    return text


def _remarks(explanation: Explanation) -> Iterator[str]:
    for remark in explanation.remarks:
        yield from fact("note", remark.text)


def _holders(explanation: Explanation) -> list[str]:
    """Which devices hold which part; nothing where that is all of it."""
    shards = explanation.shards
    if shards is None or len(shards) < 2:
        return []
    lines = ["Who holds what"]
    shown = shards if len(shards) <= _SHOWN_SHARDS else shards[: _SHOWN_SHARDS - 1]
    labels = [slice_text(shard) for shard in shown]
    width = max(map(len, labels))
    for one, label in zip(shown, labels, strict=True):
        lines.append(f"  {label:<{width}}  device{'s' * (len(one.devices) > 1)} {devices_text(one.devices)}")
    if len(shown) < len(shards):
        lines.append(f"  ... and {len(shards) - len(shown)} more shards")
    return lines


def slice_text(shard: Shard) -> str:
    """The part of the tensor, as a slice; its coordinates among the shards if the shape is not known."""
    if shard.start is None or shard.limit is None:
        return f"shard ({', '.join(map(str, shard.index))})"
    if any(start == limit for start, limit in zip(shard.start, shard.limit, strict=True)):
        return "nothing"
    return f"[{', '.join(f'{i}:{j}' for i, j in zip(shard.start, shard.limit, strict=True))}]"


def _steps(explanation: Explanation) -> list[str]:
    steps = explanation.steps
    if steps is None:
        return []
    return ["From axes to grid", *steps_lines(steps)]


def steps_lines(steps: Steps) -> Iterator[str]:
    """The steps, a line each."""
    known = all(dim.axes is not None for dim in steps.tile_dims)
    axes = "  ".join(_sized(name, size) for name, size in steps.axes)
    if steps.device_ids:
        yield from fact("axes", f"{axes}, in the order of the mesh's device ids")
    else:
        yield from fact("axes", f"{axes}, so device = {steps.device_formula}")
    dims = []
    for dim in steps.tile_dims:
        size = _sized(" ".join(dim.axes), dim.size) if dim.axes else str(dim.size)
        dims.append(f"{size} for {_ROLES.get(dim.role, dim.role)}")
    yield from fact("tile dims", f"{_list([dim.size for dim in steps.tile_dims])}: {', '.join(dims)}")
    yield from fact(
        "reshape", f"{_list([size for _, size in steps.axes])}: the count of devices, along the axes"
    )
    order = [steps.axes[at][0] for at in steps.transpose]
    taken = "as the tile dims take the axes" if known else "as the tile dims count them"
    transpose = ",".join(map(str, steps.transpose))
    yield from fact("transpose", f"({transpose}): {' '.join(order)}, {taken}")
    yield from fact("in NumPy", steps.numpy)
    if steps.canonical is None:
        yield from fact("written", "as a list: the mesh has an order of its own")
        return
    reshape, perm = steps.canonical
    text = f"<={_list(reshape)}"
    if len(reshape) > 1:
        text += f"T({','.join(map(str, perm))})"
    if (tuple([size for _, size in steps.axes]), steps.transpose) != steps.canonical:
        text += ": axes that stay neighbours count as one, those of size 1 as none"
    yield from fact("written", text)


_ROLES = {"replicated": "copies"}


def _sized(axes: str, size: int) -> str:
    """Axes with their size; a part of an axis says it itself."""
    return axes if axes.endswith(f"){size}") and " " not in axes else f"{axes}={size}"


def _list(values: Sequence[int]) -> str:
    return f"[{','.join(map(str, values))}]"


def _forms(explanation: Explanation) -> list[str]:
    lines = ["In every notation"]
    lost: dict[str, list[str]] = {}
    for form in explanation.forms:
        text = f"none: {form.reason}" if form.text is None else form.text or "(no bytes)"
        longest = _LONGEST_LIST if form.name == "hlo-list" else _LONGEST_FORM
        if len(text) > longest:
            text = f"{text[: longest - 25]} ... ({len(text)} characters)"
        lines += fact(_FORM_LABELS[form.name], text, break_long=False)
        for loss in form.losses:
            kind = f"{loss.kind.value.replace('-', ' ')} {loss.detail}"
            lost.setdefault(kind, []).append(_FORM_LABELS[form.name])
    by_forms: dict[tuple[str, ...], list[str]] = {}
    for kind, names in lost.items():
        by_forms.setdefault(tuple(names), []).append(kind)
    for labels, kinds in by_forms.items():
        lines += fact("not held", f"{'; '.join(kinds)}: not in {', '.join(labels)}")
    return lines


def axes_text(axes: Sequence[str] | None) -> str:
    """Axes with spaces between them; `nothing` for none."""
    return " ".join(axes) if axes else "nothing"


def show_mesh(mesh: MeshAttr) -> str:
    """A mesh in the short form that `--mesh` takes, where it has one.

    >>> from sdybridge.sdy import MeshAttr
    >>> show_mesh(MeshAttr.from_sizes({"x": 2, "y": 4}))
    'x=2,y=4'
    """
    if mesh.device_ids or not mesh.axes:
        text = mesh.stripped
        return text if len(text) <= WIDTH else f"{text[: WIDTH - 4]} ..."
    names = [name if name.isidentifier() else quote(name) for name in mesh.axis_names]
    return ",".join(f"{name}={axis.size}" for name, axis in zip(names, mesh.axes, strict=True))


def fact(label: str, text: str, *, break_long: bool = True) -> Iterator[str]:
    """A label and a text beside it, on several lines where it is long."""
    indent = " " * (LABEL + 2)
    head = f"  {label:<{LABEL - 1}} "
    if not break_long:
        yield f"{head}{text}"
        return
    yield from wrapped(text, indent, head)


def wrapped(text: str, indent: str, first: str | None = None) -> Iterator[str]:
    """Lines of at most the width that is set; words that are longer stay whole."""
    yield from textwrap.wrap(
        text,
        _width.get(),
        initial_indent=indent if first is None else first,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
