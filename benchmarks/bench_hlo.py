"""HLO programs: text beside jaxlib's reader of it, protos beside protobuf's parser and serialiser."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from jaxlib import _hlo, _jax

from benchmarks import programs
from benchmarks.hlo_schema import module_class
from benchmarks.table import AtMost, Ratio, Row, Table, Unit
from benchmarks.timing import alternate
from sdybridge.modules import export_module, import_module, inspect_module, strip_shardings
from sdybridge.modules.hlo_program import Edit
from sdybridge.modules.hlo_proto import HloProto
from sdybridge.modules.hlo_text import HloText
from sdybridge.source import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.effort import Effort
    from sdybridge.modules.hlo_program import HloSite

PER_100_MB = AtMost(1.0)
"""Seconds of one core to inspect a dump of 100 MB."""
WITHIN_TWO = Ratio(0.5)


def run(effort: Effort) -> Iterator[Table]:
    """The training step as XLA's front end translates it."""
    mlir = programs.training_step(effort.layers).read_text(encoding="utf-8")
    computation = _jax.mlir.mlir_module_to_xla_computation(mlir)
    text: str = computation.as_hlo_text()
    yield _text_table(text, effort)
    yield _proto_table(computation.as_serialized_hlo_module_proto(), effort)


def read_text(text: str) -> int:
    """Find every sharding of HLO text, and read it with the instruction that it is on."""
    count = 0
    for site in HloText(Source(text)).sites():
        count += bool(site.sharding and site.name and site.opcode and site.shape)
    return count


def _text_table(text: str, effort: Effort) -> Table:
    scale = 1e8 / len(text)
    tasks: dict[str, Callable[[int], object]] = {
        "inspect": lambda _: inspect_module(text),
        "find and read shardings": lambda _: read_text(text),
        "export": lambda _: export_module(text),
        "import": lambda _: import_module(text),
        "strip": lambda _: strip_shardings(text),
    }
    theirs, *ours = alternate([lambda _: _hlo.hlo_module_from_text(text), *tasks.values()], effort.rounds)
    rows = [
        Row(
            f"{what}, per 100 MB",
            median(times.cpu) * scale,
            median(theirs.cpu) * scale,
            goal=PER_100_MB if what in ("inspect", "find and read shardings") else None,
        )
        for what, times in zip(tasks, ours, strict=True)
    ]
    title = f"HLO text: {Unit.BYTES.show(len(text))}, {read_text(text)} shardings; CPU time"
    return Table(title, "jaxlib reads", rows, "jaxlib reads the text, and neither converts nor prints it")


def _same(site: HloSite) -> Edit:
    return Edit(keeps_sharding=False, sharding=site.sharding)


def _proto_table(data: bytes, effort: Effort) -> Table:
    module = module_class()
    tasks: dict[str, Callable[[int], object]] = {
        "every sharding read and written, none changed": lambda _: HloProto(data).edited(_same),
        "export": lambda _: export_module(data),
        "import": lambda _: import_module(data),
        "strip": lambda _: strip_shardings(data),
    }
    theirs, *ours = alternate(
        [lambda _: module.FromString(data).SerializeToString(), *tasks.values()], effort.rounds
    )
    rows = [
        Row(
            what,
            median(times.cpu),
            median(theirs.cpu),
            goal=WITHIN_TWO if what.startswith("every") else None,
        )
        for what, times in zip(tasks, ours, strict=True)
    ]
    title = f"HLO proto: {Unit.BYTES.show(len(data))}; CPU time"
    return Table(
        title, "protobuf", rows, "protobuf parses and serialises, which loses the order of the bytes"
    )
