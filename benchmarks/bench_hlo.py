"""HLO programs: text beside jaxlib's reader of it, protos beside protobuf's parser and serialiser."""

from __future__ import annotations

import tracemalloc
from functools import partial
from statistics import median
from typing import TYPE_CHECKING

from jaxlib import _hlo, _jax

from benchmarks import programs
from benchmarks.hlo_schema import module_class
from benchmarks.table import AtLeast, AtMost, Ratio, Row, Table, Unit
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

RATE = AtLeast(100e6)
FEW_BYTES = AtMost(20e6)
DUMP_LAYERS = 4
WITHIN_TWO = Ratio(0.5)


def run(effort: Effort) -> Iterator[Table]:
    """The training step as XLA's front end translates it."""
    mlir = programs.training_step(effort.layers).read_text(encoding="utf-8")
    computation = _jax.mlir.mlir_module_to_xla_computation(mlir)
    text: str = computation.as_hlo_text()
    yield from _dump_tables(effort)
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
        )
        for what, times in zip(tasks, ours, strict=True)
    ]
    title = f"HLO text: {Unit.BYTES.show(len(text))}, {read_text(text)} shardings; CPU time"
    return Table(title, "jaxlib reads", rows, "jaxlib reads the text, and neither converts nor prints it")


def _same(site: HloSite) -> Edit:
    return Edit(keeps_sharding=False, sharding=site.sharding)


def _dump_tables(effort: Effort) -> Iterator[Table]:
    """`inspect` on long dumps, in time and memory."""
    mlir = programs.training_step(min(DUMP_LAYERS, effort.layers)).read_text(encoding="utf-8")
    forms = {"HLO shardings": export_module(mlir).text, "HLO shardings and Shardy's carriers": mlir}
    rows = []
    for what, program in forms.items():
        computation = _jax.mlir.mlir_module_to_xla_computation(program)
        text = programs.repeated_hlo(computation.as_hlo_text(), effort.hlo_size)
        count = sum(use.count for use in inspect_module(text).shardings)
        ours, theirs = alternate(
            [partial(_inspect, text), partial(_jaxlib_reads, text)],
            min(3, effort.rounds),
        )
        rates = [len(text) / median(times.cpu) for times in (ours, theirs)]
        label = f"{what}, one for {len(text) / count:.0f} B"
        rows.append(Row(label, rates[0], rates[1], Unit.BYTES_PER_SECOND, RATE))
    title = f"inspect of an HLO dump of {Unit.BYTES.show(len(text))}; CPU time"
    yield Table(title, "jaxlib reads", rows, "jaxlib reads the text, and counts nothing")
    tracemalloc.start()
    inspect_module(text)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    yield Table(f"{title}, memory", "-", [Row("beyond the text", peak, None, Unit.BYTES, FEW_BYTES)])


def _jaxlib_reads(text: str, _round: int) -> object:
    return _hlo.hlo_module_from_text(text)


def _inspect(text: str, _round: int) -> object:
    return inspect_module(text)


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
