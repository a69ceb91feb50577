"""What XLA itself dumps: in every file we find the shardings that its own parser finds, and work on it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from tests.differential.oracle.dumps import PRELOAD, Compilation, dump
from tests.differential.oracle.hlo_modules import Site, read_proto, read_text
from tests.differential.oracle.isolation import run_isolated
from tests.differential.programs import PROGRAMS

from sdybridge.checks import check_module
from sdybridge.errors import ParseError, ProtoError
from sdybridge.hlo import HloSharding
from sdybridge.modules import (
    CarrierForm,
    export_module,
    import_module,
    inspect_module,
    read_hlo,
    rewrite_module,
    strip_shardings,
)
from sdybridge.modules.programs import is_hlo_text

if TYPE_CHECKING:
    from sdybridge.modules.hlo_program import HloProgram, HloSite

AROUND = "shardy|sharding|spmd"
"""Pattern of the passes that write, read and remove shardings."""

NAMES = (
    "mlp_step",
    "attention",
    "scanned_layers",
    "several_results",
    "control_flow",
    "linear_algebra",
    "callbacks",
    "manual_axes",
    "manual_layers",
)
EVERY = tuple(name for name, program in PROGRAMS.items() if program.axes)
NAMED = "--xla_enable_hlo_sharding_v3=true"
COMPILATIONS = {
    "shardy": Compilation(NAMES, AROUND),
    "gspmd": Compilation(NAMES[:6], AROUND, is_shardy=False),
    "named": Compilation(NAMES[:3], AROUND, flags=(NAMED,)),
    "long": Compilation(("manual_collectives",), AROUND, flags=("--xla_dump_hlo_as_long_text",)),
}
SWEEPS = {
    "shardy": Compilation(EVERY, ".*"),
    "gspmd": Compilation(EVERY, ".*", is_shardy=False),
    "named": Compilation(EVERY, ".*", flags=(NAMED,)),
}
CARRIED = frozenset({"shardy", "long"})
"""Where Shardy's attributes ride along: over named meshes they need not, and GSPMD has none."""

_REPORT = re.compile(r"-(?:buffer-assignment(?:-values)?|live-range|memory-usage-report)\.txt$")
_WORKED_ON = re.compile(r"(?:before|after)_(?:optimizations|shardy-xla|sharding-propagation)\b")
_TRUE_OF_ANY = frozenset({"SB402"})  # a device without any element is one, whoever wrote the sharding
_NOT_KNOWN = frozenset({"SB406"})  # only HLO text says whether results without a sharding may get one


@pytest.mark.parametrize("name", COMPILATIONS)
def test_dumps(name: str) -> None:
    check_files(dumped(COMPILATIONS[name]), keeps_carriers=name in CARRIED, is_all_worked_on=False)


@pytest.mark.slow
@pytest.mark.parametrize("name", SWEEPS)
def test_dumps_around_every_pass(name: str) -> None:
    check_files(dumped(SWEEPS[name]), keeps_carriers=name in CARRIED, is_all_worked_on=True)


def dumped(compilation: Compilation) -> dict[str, bytes]:
    (files,) = run_isolated(dump, [compilation], preload=PRELOAD)
    assert isinstance(files, dict), files
    return files


def check_files(files: dict[str, bytes], *, keeps_carriers: bool, is_all_worked_on: bool) -> None:
    found: dict[str, int] = {"text": 0, "proto": 0, "carried": 0, "fields": 0}
    for name, data in files.items():
        if name.endswith(".mlir"):
            check_mlir(name, data.decode())
        elif _REPORT.search(name) or not name.endswith((".txt", ".hlo.pb")):
            check_other(name, data)
        else:
            kind = "text" if name.endswith(".txt") else "proto"
            program = data.decode() if kind == "text" else data
            sites = check_sites(name, program)
            found[kind] += len(sites)
            found["carried"] += sum(
                any(key.startswith("xla.sdy.") for key, _ in site.attributes) for site in sites
            )
            found["fields"] += sum(not site.computation for site in sites)
            if is_all_worked_on or _WORKED_ON.search(name):
                check_work(name, program)
    assert found["text"] + found["fields"] == found["proto"] > 50
    assert found["fields"]
    assert bool(found["carried"]) is keeps_carriers


def check_sites(name: str, program: str | bytes) -> list[Site]:
    """The places that we find are those that XLA's parser finds, each with what XLA says of it."""
    ours = read_hlo(program, name)
    assert ours is not None, name
    theirs = read_text(program) if isinstance(program, str) else read_proto(program)
    assert (ours.name, dict(ours.frontend_attributes)) == (theirs.name, theirs.attributes), name
    sites = [as_site(site) for site in ours.sites()]
    # XLA lists computations in an order of its own.
    assert sorted(sites, key=str) == sorted(theirs.sites, key=str), name
    check_inputs_and_output(name, ours, theirs.sites)
    return sites


def check_inputs_and_output(name: str, ours: HloProgram, theirs: list[Site]) -> None:
    wanted = [site for site in theirs if site.is_entry]
    output = ours.output()
    assert output is not None, name
    root = [site for site in wanted if site.is_root]
    assert [as_site(output)] == root or not root, name
    inputs = {site.name for site in ours.inputs()}
    assert {site.name for site in wanted if site.opcode == "parameter"} <= inputs, name
    assert len(inputs) == len(ours.inputs()), name


def as_site(site: HloSite) -> Site:
    return Site(
        site.computation,
        site.is_entry,
        site.name,
        site.opcode,
        site.target,
        site.is_root,
        str(site.sharding) if site.has_sharding else None,
        tuple(sorted(site.frontend_attributes.items())),
    )


def check_work(name: str, program: str | bytes) -> None:
    """Everything that we do with a program works, and XLA reads the result."""
    before = shardings_by_xla(program)
    found = inspect_module(program, name=name)
    assert sum(found.carriers.values()) >= len(before), name
    expected = _TRUE_OF_ANY if isinstance(program, str) else _TRUE_OF_ANY | _NOT_KNOWN
    assert {one.code for one in check_module(program, name=name)} <= expected, name
    assert not by_xla(strip_shardings(program, name=name).program), name
    for spelling in ("v1", "named", "classic"):
        after = shardings_by_xla(rewrite_module(program, spelling, name=name).program)
        assert after.keys() == before.keys(), name
        for place, sharding in after.items():
            assert sharding.v3_to_v2_sharding() == before[place].v3_to_v2_sharding(), (name, place)
    exported = export_module(program, name=name, carrier=CarrierForm.SDY).program
    imported = import_module(exported, name=name)
    # The shardings of a partitioned program's parameters and result are not of Shardy's matter.
    assert all(not place[0] for place in shardings_by_xla(imported.program)), name
    again = export_module(imported.program, name=name, carrier=CarrierForm.SDY).program
    assert by_xla(import_module(again, name=name).program) == by_xla(imported.program), name


def by_xla(program: str | bytes) -> list[Site]:
    """The instructions that carry shardings, as XLA reads them."""
    module = read_text(program) if isinstance(program, str) else read_proto(program)
    return sorted((site for site in module.sites if site.computation), key=str)


def shardings_by_xla(program: str | bytes) -> dict[tuple[str, str], HloSharding]:
    return {
        (site.computation, site.name): HloSharding.from_string(site.sharding)
        for site in by_xla(program)
        if site.sharding is not None
    }


def check_mlir(name: str, text: str) -> None:
    """The modules inside of Shardy's pass."""
    found = inspect_module(text, name=name)
    assert found.carriers or "sharding" not in text, name
    assert {one.code for one in check_module(text, name=name)} <= _TRUE_OF_ANY | _NOT_KNOWN, name
    export_module(text, name=name)
    import_module(text, name=name)
    rewrite_module(text, "named", name=name)


def check_other(name: str, data: bytes) -> None:
    """Reports and options are no programs, and an error says where."""
    error = ParseError if name.endswith(".txt") else ProtoError
    program = data.decode() if error is ParseError else data
    assert not isinstance(program, str) or not is_hlo_text(program), name
    with pytest.raises(error) as caught:
        inspect_module(program, name=name)
    assert caught.value.source is not None, name
    assert caught.value.source.name == name
