"""`sdybridge storage`: the C++ storage of attributes, shown and read."""

from __future__ import annotations

import json
import re
import textwrap
from typing import TYPE_CHECKING

import click

from sdybridge.errors import plural
from sdybridge.sdy import TensorShardingAttr, parse_attribute
from sdybridge.storage import BUILDS, HLO_LAYOUTS, CoreMemory, ProcessMemory, write_attribute
from sdybridge.storage.debugger import describe
from sdybridge.storage.picture import class_names, confidences, dump, picture, table_columns
from sdybridge.target import Target

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sdybridge.storage import Build, Layout


_COLUMNS = 80


class Address(click.ParamType[int]):
    """An address, as a debugger prints it: `0x7fff1230`, or decimal."""

    name = "address"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number."""
        text = str(value)
        if not re.fullmatch("0[xX][0-9a-fA-F]{1,16}|[0-9]{1,19}", text):
            self.fail(f"{text!r} is no address; write 0x and hexadecimal digits", param, ctx)
        return int(text, 0) if text[:2] in {"0x", "0X"} else int(text)


build_option = click.option(
    "--build",
    type=click.Choice(list(BUILDS)),
    default="current",
    show_default=True,
    callback=lambda _context, _option, value: BUILDS[value],
    help="Whose layouts: those of current releases, or of Shardy's main branch.",
)


@click.group("storage", short_help="Read attributes from a process or a core dump; show their layout.")
def command() -> None:
    """Read Shardy attributes from a process or a core dump, and show how they lie in memory.

    An `mlir::Attribute` is one pointer, to the storage of the attribute. Whoever debugs a compiler with
    Shardy in it has that pointer, and often no debug information.

    \b
    Examples:
      sdybridge storage read --pid 4711 0x55c695efbd18
      sdybridge storage read --core core.4711 0x55c695efbd18
      sdybridge storage layout TensorShardingAttr
      sdybridge storage dump '#sdy.sharding<@mesh, [{"x", ?}p1]>'
      gdb -ix $(python -m sdybridge.storage.gdb) -p 4711
    """  # noqa: D301  (click reads the escape)


@command.command("layout", short_help="Show the fields of a struct, with their offsets and a picture.")
@click.argument("type_name", metavar="[TYPE]", required=False)
@build_option
@click.option("--json", "in_json", is_flag=True, help="The tables as JSON.")
def layout(type_name: str | None, build: Build, *, in_json: bool) -> None:
    """Show the fields of a struct with their offsets, and a picture of it.

    TYPE is a class such as MeshAttr, a name such as sdy.mesh or mesh, or one of AbstractAttribute, Dialect,
    HloSharding and OpSharding, which are shown of several builds. Without it, all are shown. In pictures,
    `b` is one byte that is 0 or 1, and dots are padding that holds anything.

    \b
    Examples:
      sdybridge storage layout AxisRefAttr
      sdybridge storage layout --json | jq '.[].name'
    """  # noqa: D301  (click reads the escape)
    found = [one for one in _layouts(build) if type_name is None or type_name.lower() in _names(one)]
    if not found:
        known = ", ".join(dict.fromkeys(one.cls for one in _layouts(build)))
        raise click.BadParameter(f"no layout of {type_name!r}; known: {known}", param_hint="TYPE")
    if in_json:
        click.echo(json.dumps([_as_json(one) for one in found], indent=2))
        return
    click.echo("\n\n".join("\n".join(_describe(one, build)) for one in found))


@command.command("read", short_help="Read attributes from a process or a core dump.")
@click.argument("addresses", metavar="ADDR...", type=Address(), nargs=-1, required=True)
@click.option("--pid", type=click.IntRange(1), help="The process; it goes on running.")
@click.option("--core", metavar="FILE", type=click.Path(), help="The core dump.")
@click.option(
    "--sysroot",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False),
    default="/",
    help="Of a core dump from another machine: where copies of its libraries are.",
)
@build_option
def read(addresses: tuple[int, ...], pid: int | None, core: str | None, sysroot: str, build: Build) -> None:
    """Read the attributes whose storage is at the given addresses, and print each on a line.

    ADDR is the one pointer that an `mlir::Attribute` is. Shardy attributes are read, strings and flat symbol
    references. Every pointer and length on the way is checked, so that a wrong address gives an error.

    \b
    Examples:
      sdybridge storage read --pid 4711 0x55c695efbd18
      sdybridge storage read --core core.4711 --sysroot ./from-there 0x55c695efbd18
    """  # noqa: D301  (click reads the escape)
    if (pid is None) == (core is None):
        raise click.UsageError("give either --pid or --core")
    with ProcessMemory(pid) if core is None else CoreMemory(core, sysroot=sysroot) as memory:
        for address in addresses:
            click.echo(describe(memory, address, build=build))


@command.command("dump", short_help="Show the bytes of an attribute in memory.")
@click.argument("text")
@click.option(
    "--base", type=Address(), default="0x10000", show_default=True, help="Where the attribute is stored."
)
@click.option("--records", is_flag=True, help="Show the records of the classes, too.")
@build_option
def dump_(text: str, base: int, build: Build, *, records: bool) -> None:
    """Show how an attribute lies in memory: its bytes, with the fields that they are.

    TEXT is any Shardy attribute, or a sharding without its `#sdy.sharding`.

    \b
    Examples:
      sdybridge storage dump '#sdy.mesh<["x"=2, "y"=4]>'
      sdybridge storage dump '<@mesh, [{"x", ?}p1]>' --base 0x7f0000001000
    """  # noqa: D301  (click reads the escape)
    target = Target.NEWER if build.name == "newer" else Target.CURRENT
    parse = TensorShardingAttr.from_string if text.startswith("<") else parse_attribute
    attr = parse(text, name="<text>", target=target)
    click.echo("\n".join(dump(write_attribute(attr, base=base, build=build), with_records=records)))


def _layouts(build: Build) -> list[Layout]:
    of_xla = [layout for layouts in HLO_LAYOUTS.values() for layout in layouts.values()]
    return [*build.layouts.values(), build.record, build.dialect, *of_xla]


def _names(layout: Layout) -> set[str]:
    """What a layout may be called, in lower case."""
    name = layout.name.lower()
    return {name, name.rpartition(".")[2], name.rpartition(":")[2], layout.cls.lower()}


def _describe(layout: Layout, build: Build) -> Iterator[str]:
    size = "of unknown size" if layout.size is None else plural(layout.size, "byte")
    yield click.style(f"{layout.cls} ({layout.name}), {size}", bold=True)
    yield from textwrap.wrap(layout.note, _COLUMNS)
    yield ""
    rows = [table_columns(field, class_names(build)) for field in layout.fields]
    columns = max(len(row[2]) for row in rows)
    for offset, width, name, kind, note in rows:
        yield f"  {offset}  {width:>2}  {name:<{columns}}  {kind}"
        yield from (f"             {line}" for line in textwrap.wrap(note, _COLUMNS - 13))
    yield ""
    yield from picture(layout)
    known = confidences(layout)
    for confidence, names in known.items():
        which = "" if len(known) == 1 else f"{', '.join(names)}: "
        yield from textwrap.wrap(f"{which}{confidence.name.lower()}, {confidence.value}", _COLUMNS)


def _as_json(layout: Layout) -> dict[str, object]:
    """A layout for machines; the keys are stable."""
    return {
        "class": layout.cls,
        "name": layout.name,
        "size": layout.size,
        "note": layout.note,
        "fields": [
            {
                "offset": field.offset,
                "width": field.width,
                "name": field.name,
                "kind": field.kind.name.lower(),
                "type": field.kind.c_type,
                "targets": list(field.targets),
                "confidence": field.confidence.name.lower(),
                "note": field.note,
            }
            for field in layout.fields
        ],
    }
