"""Writes the generated parts of the documentation: `python docs/generate.py`.

A part stands between `<!-- generated: name -->` and `<!-- end -->`; what is outside is written by hand. The
pages of the checks are generated as a whole. The tests check that everything is current.
"""

from __future__ import annotations

import dataclasses
import enum
import importlib
import inspect
import re
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from click.testing import CliRunner

from sdybridge import SdyBridgeError
from sdybridge.checks import CHECKS
from sdybridge.cli import cli
from sdybridge.cli.rule_page import rule_page
from sdybridge.modules.verify.rules import MODULE_RULES
from sdybridge.sdy import RULES
from sdybridge.storage import BUILDS, CURRENT, HLO_LAYOUTS, NEWER
from sdybridge.storage.picture import class_names, confidences, picture, table_columns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from sdybridge.checks import Rule
    from sdybridge.storage import Layout

DOCS = Path(__file__).parent
CHECK_PAGES = DOCS / "reference" / "checks"

HLO_RULES: Mapping[str, str] = MappingProxyType(
    {
        "axis-index": "An axis that a named sharding uses is one of its mesh, counted from 0.",
        "axis-merge": "Parts of an axis that follow each other in a list are one part.",
        "axis-order": "Replicated, unreduced and manual axes are sorted by axis and pre-size.",
        "axis-overlap": "No part of an axis is used twice, and the parts that are fit one cutting of it.",
        "device-array": "A device list is a rectangular array of 64-bit integers, and not empty.",
        "device-count": "A grid has as many devices as the program runs on.",
        "device-id": "A device that a sharding names exists, and stands in the grid once.",
        "flat-tuple": "The elements of a tuple are the shardings of single tensors.",
        "grid-index": "An index has one coordinate per dimension of the grid, and lies in it.",
        "grid-rank": "A grid has at least one dimension.",
        "grid-size": "A reshaped grid holds as many devices as before.",
        "integer": "An integer is wanted; a bool or a float is none.",
        "integer-range": "An integer fits 64 bits, or the narrower field that it is for.",
        "iota-rank": "The reshape dims and the permutation of an iota are equally long.",
        "iota-size": "The reshape dims of an iota multiply to the number of devices in the grid.",
        "leaf-sharding": "A tuple has no grid, type or group of its own; its elements have.",
        "mesh-axis": "The axes of a mesh have names, each its own.",
        "mesh-devices": "A mesh that lists its devices has each of 0, 1, ... once, and not in this order.",
        "mesh-rank": "A mesh has one name per dimension of its grid of devices.",
        "metadata": "Metadata is a sequence of `OpMetadata`, whose text fields are texts.",
        "named-sharding": "A named sharding is made of a `Mesh`, `DimensionSharding` and `AxisRef`.",
        "permutation": "A permutation holds each of 0, 1, ... once.",
        "positive-size": "A size counts devices and is at least 1.",
        "reduction-op": "A reduction operator is a `ReductionOp`.",
        "sequence": "A sequence is wanted.",
        "shape": "The sizes of a shape are 0 or more.",
        "shard-group": "A shard group is a `ShardGroup`, and no named sharding has one.",
        "shard-group-kind": "The kind of a shard group is a `ShardGroupKind`.",
        "sharding-rank": "A sharding tiles tensors of one rank, that of its grid without subgroups.",
        "sharding-tuple": "A tuple has one sharding per tensor in it, a tensor just one.",
        "single-device-tiling": "A tiled sharding has more than one device.",
        "sub-axis": "A part of an axis is smaller than it, at least 2, and ends at a divisor of its size.",
        "subgroup-rank": "There are not more subgroup types than dimensions of the grid.",
        "subgroup-type": "A subgroup type is an `OpShardingType`.",
        "tile-assignment": "A tiled sharding is built from a `TileAssignment` with devices.",
        "tiled-sharding": "Only a tiled sharding says which part a device holds.",
        "too-many-devices": "The number of devices fits 64 bits.",
        "unknown-device": "The device that is asked for is in the grid.",
    }
)
"""The rules of `sdybridge.hlo`."""

CONVERSION_RULES: Mapping[str, str] = MappingProxyType(
    {
        "carrier-kind": "A carrier keeps what its key says: a sharding, meshes, a number.",
        "device-id": "What is compared device by device names real devices, each once.",
        "hlo-sharding": "What is imported is an `HloSharding`.",
        "mesh": "The mesh to import onto is a `MeshAttr`.",
        "open-values": "There is one flag for each argument or result of `@main`, or one for all.",
        "sharding-count": "An operation has one sharding per result.",
        "sharding-rank": "The rank to import for is that of the grid, and is given where there is no grid.",
        "sharding-twice": "A value has a sharding of one kind, not of both.",
        "unknown-axis": "An axis that gets a new name is one of the program's.",
        "unknown-mesh": "The mesh that a sharding names is known.",
        "unspecified-dims": "The dimensions that a call of `@Sharding` leaves open are those of its tensor.",
    }
)
"""The rules that conversions of shardings and programs add."""

API_MODULES = (
    "sdybridge.sdy",
    "sdybridge.hlo",
    "sdybridge.bridge",
    "sdybridge.modules",
    "sdybridge.checks",
    "sdybridge.testing",
    "sdybridge.storage",
    "sdybridge.view",
    "sdybridge.errors",
    "sdybridge.source",
    "sdybridge.target",
)


def parts() -> dict[str, Callable[[], str]]:
    """What writes each part, by the part's name."""
    return {
        "exceptions": lambda: fenced("\n".join(exception_tree(SdyBridgeError))),
        "rules-sdy": lambda: rule_table(RULES),
        "rules-modules": lambda: rule_table(MODULE_RULES),
        "rules-hlo": lambda: rule_table(HLO_RULES),
        "rules-conversion": lambda: rule_table(CONVERSION_RULES),
        "checks-table": check_table,
        "help": lambda: help_of(),
        "help-check": lambda: help_of("check"),
        "help-diff": lambda: help_of("diff"),
        "help-convert": lambda: help_of("convert"),
        "help-draw": lambda: help_of("draw"),
        "help-explain": lambda: help_of("explain"),
        "help-export": lambda: help_of("export"),
        "help-import": lambda: help_of("import"),
        "help-rename-axes": lambda: help_of("rename-axes"),
        "help-rewrite": lambda: help_of("rewrite"),
        "help-strip": lambda: help_of("strip"),
        "help-roundtrip": lambda: help_of("roundtrip"),
        "help-storage": lambda: help_of("storage"),
        "help-storage-read": lambda: help_of("storage", "read"),
        "help-storage-layout": lambda: help_of("storage", "layout"),
        "help-storage-dump": lambda: help_of("storage", "dump"),
        "layouts-builds": lambda: "\n".join(f"- `{build.name}`: {build.about}." for build in BUILDS.values()),
        "layouts-attributes": lambda: layout_sections(CURRENT.layouts.values()),
        "layouts-newer": lambda: layout_sections([NEWER.layouts["sdy.sharding"]]),
        "layouts-records": lambda: layout_sections([CURRENT.record, CURRENT.dialect]),
        "layouts-hlo": lambda: "\n\n".join(layout_sections(of.values()) for of in HLO_LAYOUTS.values()),
        "names": names_of_package,
        "api": lambda: "\n\n".join(map(module_api, API_MODULES)),
    }


def with_generated_parts(page: str) -> str:
    """The text of a page, each generated part written anew."""
    known = parts()

    def write(part: re.Match[str]) -> str:
        return f"{part[1]}\n{known[part[2]]()}\n<!-- end -->"

    return re.sub(r"(<!-- generated: ([\w-]+) -->)\n.*?<!-- end -->", write, page, flags=re.DOTALL)


def fenced(text: str) -> str:
    """A block of plain text."""
    return f"```text\n{text.rstrip()}\n```"


def rule_table(rules: Mapping[str, str]) -> str:
    """Rules and what they say, in the order of the table."""
    rows = [f"| `{rule}` | {text} |" for rule, text in rules.items()]
    return "\n".join(["| rule | what holds |", "|---|---|", *rows])


def layout_sections(layouts: Iterable[Layout]) -> str:
    """A heading, a table and a picture of each struct."""
    return "\n\n".join("\n".join(layout_section(layout)) for layout in layouts)


def layout_section(layout: Layout) -> Iterator[str]:
    """A heading, a table and a picture of a struct."""
    size = "" if layout.size is None else f", {layout.size} bytes"
    yield f"### `{layout.cls}`"
    yield ""
    yield f"`{layout.name}`{size}. {layout.note}".rstrip()
    yield ""
    yield "| offset | width | field | type | |"
    yield "|---|---|---|---|---|"
    for field in layout.fields:
        offset, width, name, kind, note = table_columns(field, class_names(CURRENT))
        yield f"| `{offset}` | {width} | `{name}` | `{kind}` | {note} |"
    known = confidences(layout)
    yield ""
    for confidence, names in known.items():
        which = "" if len(known) == 1 else f" (`{'`, `'.join(names)}`)"
        yield f"- {confidence.name.capitalize()}{which}: {confidence.value}."
    yield ""
    yield fenced("\n".join(picture(layout)))


def check_table() -> str:
    """The rules that programs are checked against."""
    rows = []
    for rule in CHECKS.values():
        asked = "" if rule.is_default else ", on request"
        rows.append(
            f"| [{rule.code}]({rule.code}.md) | {rule.name} | {rule.severity}{asked} | {rule.summary} |"
        )
    return "\n".join(["| code | name | severity | what holds |", "|---|---|---|---|", *rows])


def check_pages() -> dict[Path, str]:
    """A page on each of the rules that programs are checked against, by its file."""
    return {CHECK_PAGES / f"{code}.md": check_page(rule) for code, rule in CHECKS.items()}


def check_page(rule: Rule) -> str:
    """What `check --explain` says, and the way to the other rules."""
    note = f"\nAll rules: [checks](index.md). In a terminal: `sdybridge check --explain {rule.code}`.\n"
    return rule_page(rule) + note


def exception_tree(cls: type[Exception], depth: int = 0) -> Iterator[str]:
    """An exception and those derived from it, with the first line of what they say."""
    indent = "  " * depth
    yield f"{indent}{cls.__name__:<{24 - len(indent)}} {first_line(cls)}"
    ours = [derived for derived in cls.__subclasses__() if derived.__module__.startswith("sdybridge")]
    for derived in sorted(ours, key=lambda error: error.__name__):
        yield from exception_tree(derived, depth + 1)


def help_of(*command: str) -> str:
    """What the command answers to `--help`."""
    result = CliRunner().invoke(cli, [*command, "--help"], prog_name="sdybridge", terminal_width=100)
    return fenced(result.output)


def names_of_package() -> str:
    """The names that `sdybridge` itself exports, with the module where each is described."""
    package = importlib.import_module("sdybridge")
    rows = [
        f"| `{name}` | `{'.'.join(value.__module__.split('.')[:2])}` | {first_line(value)} |"
        for name, value in sorted(public_names(package).items(), key=lambda item: item[0].lower())
    ]
    return "\n".join(["| name | from | |", "|---|---|---|", *rows])


def public_names(module: Any) -> dict[str, Any]:
    """The classes and functions that a module defines, or that a package exports as `name as name`."""
    if hasattr(module, "__path__"):
        exported = re.findall(r"import (\w+) as \1$", inspect.getsource(module), re.MULTILINE)
        names = {name: getattr(module, name) for name in exported}
    else:
        names = {name: value for name, value in vars(module).items() if not name.startswith("_")}
        names = {
            name: value
            for name, value in names.items()
            if getattr(value, "__module__", "") == module.__name__
        }
    return {
        name: value
        for name, value in names.items()
        if (inspect.isclass(value) or inspect.isfunction(value)) and value.__module__.startswith("sdybridge")
    }


def module_api(name: str) -> str:
    """A section on each class of a module, and a list of its functions."""
    module = importlib.import_module(name)
    names = public_names(module)
    functions = {key: value for key, value in names.items() if inspect.isfunction(value)}
    lines = [f"## `{name}`", "", first_line(module)]
    if functions:
        lines += ["", *(f"- {described(key, value)}" for key, value in functions.items())]
    for key, value in names.items():
        if inspect.isclass(value):
            lines += ["", *class_api(key, value)]
    return "\n".join(lines)


def class_api(name: str, cls: type) -> Iterator[str]:
    """A heading, what the class is, how to call it, and its members."""
    yield f"### `{name}`"
    yield ""
    yield first_line(cls)
    if issubclass(cls, enum.Enum):
        yield ""
        yield f"Members: {', '.join(f'`{member.name}`' for member in cls)}."
    members = list(member_lines(name, cls))
    if constructor := constructor_of(name, cls):
        members.insert(0, f"- `{constructor}`")
    if members:
        yield ""
        yield from members


def constructor_of(name: str, cls: type) -> str:
    """How to build one, unless classmethods do it or nobody does."""
    if issubclass(cls, enum.Enum) or (cls.__init__ is not object.__init__ and _only_raises(cls.__init__)):
        return ""
    made_by = vars(cls).get("__new__")
    if made_by is not None:
        return f"{name}{signature(made_by.__func__, skip=1)}".removesuffix(f" -> {name}")
    if dataclasses.is_dataclass(cls) or "__init__" in vars(cls):
        return f"{name}{signature(cls.__init__, skip=1)}".removesuffix(" -> None")
    return ""


def _only_raises(function: Any) -> bool:
    code = getattr(function, "__code__", None)
    return code is not None and code.co_argcount == 1


def member_lines(name: str, cls: type) -> Iterator[str]:
    """The class's own public methods and properties, and those of bases that are parts of it alone."""
    members = dict(vars(cls))
    for base in filter(is_part, reversed(cls.__mro__)):
        members |= {key: member for key, member in vars(base).items() if key not in members}
    for key, member in members.items():
        if key.startswith("_") or isinstance(member, type):
            continue
        if isinstance(member, classmethod):
            yield f"- {described(f'{name}.{key}', member.__func__, skip=1)}"
        elif inspect.isfunction(member):
            yield f"- {described(f'.{key}', member, skip=1)}"
        elif isinstance(member, property):
            returns = inspect.signature(member.fget).return_annotation if member.fget else ""
            yield f"- `.{key}: {returns}`: {first_line(member)}"


def is_part(base: type) -> bool:
    """Whether a base class is ours, and only there because a class with all of its members is long."""
    return base.__module__.startswith("sdybridge.hlo.sharding_")


def described(name: str, function: Callable[..., Any], skip: int = 0) -> str:
    """A function's name with its signature, and the first line of what it says."""
    return f"`{name}{signature(function, skip)}`: {first_line(function)}"


def signature(function: Callable[..., Any], skip: int = 0) -> str:
    """The parameters with their types and defaults, the first `skip` left out."""
    found = inspect.signature(function)
    parameters = [
        p.replace(annotation=_bare(p.annotation), default=_code(p.default))
        for p in list(found.parameters.values())[skip:]
    ]
    return str(found.replace(parameters=parameters, return_annotation=_bare(found.return_annotation)))


class _Text:
    """Prints as it is, without the quotes of a string."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _bare(annotation: Any) -> Any:
    return _Text(annotation) if isinstance(annotation, str) else annotation


def _code(default: Any) -> Any:
    return _Text(f"{type(default).__name__}.{default.name}") if isinstance(default, enum.Enum) else default


def first_line(value: Any) -> str:
    """The first line of a docstring."""
    return (inspect.getdoc(value) or "").split("\n")[0]


def main() -> None:
    """Writes every page that has generated parts, and those that are generated as a whole."""
    for path in sorted(DOCS.rglob("*.md")):
        page = path.read_text(encoding="utf-8")
        new = with_generated_parts(page)
        if new != page:
            path.write_text(new, encoding="utf-8")
    for path, page in check_pages().items():
        path.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
