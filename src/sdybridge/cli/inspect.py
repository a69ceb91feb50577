"""`sdybridge inspect`: what shardings programs hold."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import click

from sdybridge.cli.options import refuse_options, target_option
from sdybridge.cli.tables import aligned, terminal_width
from sdybridge.cli.terminal import ProgressBar, check_standard_input, read_program, show_error
from sdybridge.errors import SdyBridgeError, plural
from sdybridge.hlo.element_types import size_text
from sdybridge.modules.inspection import inspect_module, local_bytes, sharding_text, total_bytes
from sdybridge.source import Lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sdybridge.cli.terminal import ProgramFile
    from sdybridge.modules.annotations import Annotation
    from sdybridge.modules.inspection import Inspection, ShardingUse
    from sdybridge.sdy import MeshAttr
    from sdybridge.target import Target

_FEW = 20
_USE_HEADER = ("count", "sharding", "devices", "axes", "per device", "largest")
_VALUE_HEADER = ("name", "global", "local", "per device", "sharding")


@click.command("inspect", short_help="Show the meshes, shardings, inputs and outputs of programs.")
@click.argument(
    "files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, allow_dash=True)
)
@click.option("-a", "--all", "show_all", is_flag=True, help=f"Every row, not the first {_FEW} of each table.")
@target_option
@click.option("--json", "in_json", is_flag=True, help="Everything as JSON, one object per file.")
def command(files: tuple[str, ...], target: Target, *, show_all: bool, in_json: bool) -> None:
    """Show the meshes, shardings, inputs and outputs of programs.

    FILES are StableHLO/MLIR text, HLO text or HLO protos, or - for standard input. For each distinct sharding
    the table says how many values have it, on how many devices, over which axes, what these values take on
    one device together, and which of them takes most. Inputs and outputs are those of the main function or
    entry computation, with their global and local shapes.

    \b
    Examples:
      sdybridge inspect step.mlir
      sdybridge inspect before.txt after.txt --all
      sdybridge inspect module_0001.hlo.pb
      sdybridge inspect - --json < step.mlir | jq .shardings
    """  # noqa: D301  (click reads the escape)
    if in_json:
        refuse_options(("show_all",), "{} is for the tables; --json has everything")
    check_standard_input(files)
    reports = []
    failed = False
    for file in files:
        try:
            program = read_program(file)
            with ProgressBar(f"inspect {program.source.name}", len(program.data)) as bar:
                found = inspect_module(
                    program.data, name=program.source.name, target=target, progress=bar.update
                )
        except SdyBridgeError as error:
            show_error(error)
            failed = True
            continue
        places = _Places(program)
        if in_json:
            reports.append(_as_json(found, places))
        else:
            click.echo("\n".join(_describe(found, places, sys.maxsize if show_all else _FEW)))
    if in_json:
        click.echo(json.dumps(reports[0] if len(files) == 1 and reports else reports, indent=2))
    sys.exit(1 if failed else 0)


class _Places:
    """Where in its file something stands: a line of text, or a byte of a proto."""

    def __init__(self, program: ProgramFile) -> None:
        self.name = program.source.name
        self._lines = Lines(program.data) if isinstance(program.data, str) else None

    def line(self, offset: int) -> str:
        """In words."""
        return f"line {self._lines.location(offset)[0]}" if self._lines else f"byte {offset}"

    def position(self, offset: int) -> str:
        """For machines."""
        return "{}:{}".format(*self._lines.location(offset)) if self._lines else str(offset)


def _describe(found: Inspection, places: _Places, most: int) -> list[str]:
    facts = [found.format]
    if found.name:
        facts.append(f"module {found.name}")
    if found.num_partitions is not None:
        facts.append(plural(found.num_partitions, "partition"))
    if found.is_partitioned:
        facts.append("partitioned: its shapes are local")
    lines = [f"{click.style(places.name, bold=True)}: {', '.join(facts)}"]
    if found.meshes:
        lines += _table("Meshes", [_mesh_row(*item) for item in found.meshes.items()], most, crop=1)
    counts = [(str(count), carrier) for carrier, count in found.carriers.items()]
    lines += _table("Values with a sharding", counts, most, right=[0])
    uses = [_use_row(use, places) for use in found.shardings]
    lines += _table(
        "Distinct shardings", uses, most, header=_USE_HEADER, right=[0, 2, 4], crop=1, drop=[3, 2, 5]
    )
    for title, values in (("Inputs", found.inputs), ("Outputs", found.outputs)):
        title = f"{title}: {plural(len(values), 'value')}"
        unknown = sum(local_bytes(value) is None for value in values)
        if unknown < len(values):
            least = "at least " if unknown else ""
            title += f", {least}{size_text(total_bytes(values))} per device"
        rows = [_value_row(value) for value in values]
        lines += _table(title, rows, most, header=_VALUE_HEADER, right=[3], crop=4, drop=[1])
    return [*lines, ""]


def _mesh_row(name: str, mesh: MeshAttr) -> tuple[str, ...]:
    return f"@{name}", mesh.stripped, plural(mesh.total_size, "device")


def _use_row(use: ShardingUse, places: _Places) -> tuple[str, ...]:
    example = f"{use.example.name} {use.example.stated_shape or ''}".rstrip()
    return (
        str(use.count),
        use.text,
        "-" if use.devices is None else str(use.devices),
        ", ".join(use.axes) or "-",
        size_text(use.bytes_per_device),
        f"{example}, {places.line(use.example.offset)}",
    )


def _value_row(value: Annotation) -> tuple[str, ...]:
    shape, local = value.shape or "-", value.local_shape or "-"
    return value.name, str(shape), str(local), size_text(local_bytes(value)), sharding_text(value) or "-"


def _table(
    title: str,
    rows: Sequence[tuple[str, ...]],
    most: int,
    *,
    header: tuple[str, ...] = (),
    right: Sequence[int] = (),
    crop: int | None = None,
    drop: Sequence[int] = (),
) -> list[str]:
    """A titled table; nothing without rows."""
    if not rows:
        return []
    shown = [*([header] if header else []), *rows[:most]]
    lines = aligned(shown, right=right, crop=crop, drop=drop, width=terminal_width())
    if header:
        lines[0] = click.style(lines[0], dim=True)
    if len(rows) > most:
        lines.append(f"  ... {len(rows) - most} more, shown with --all")
    return ["", click.style(title, bold=True), *lines]


def _as_json(found: Inspection, places: _Places) -> dict[str, object]:
    """Everything for machines; the keys are stable."""
    return {
        "file": places.name,
        "format": found.format,
        "module": found.name,
        "num_partitions": found.num_partitions,
        "is_partitioned": found.is_partitioned,
        "meshes": {name: mesh.stripped for name, mesh in found.meshes.items()},
        "carriers": dict(found.carriers),
        "shardings": [
            {
                "carrier": use.carrier,
                "sharding": use.text,
                "count": use.count,
                "devices": use.devices,
                "axes": list(use.axes),
                "bytes_per_device": use.bytes_per_device,
                "example": _value_as_json(use.example, places),
            }
            for use in found.shardings
        ],
        "inputs": [_value_as_json(value, places) for value in found.inputs],
        "outputs": [_value_as_json(value, places) for value in found.outputs],
    }


def _value_as_json(value: Annotation, places: _Places) -> dict[str, object]:
    shape, local = value.stated_shape, value.local_shape
    return {
        "name": value.name,
        "in": value.scope,
        "opcode": value.opcode,
        "element_type": shape.element_type if shape else None,
        "global_shape": list(value.shape.dims) if value.shape else None,
        "local_shape": list(local.dims) if local else None,
        "bytes_per_device": local_bytes(value),
        "sharding": sharding_text(value) or None,
        "at": places.position(value.offset),
    }
