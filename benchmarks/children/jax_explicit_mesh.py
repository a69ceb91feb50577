"""The same as `explicit_mesh` with jaxlib and JAX.

The mesh is read by MLIR, and again before the clock starts, because JAX cannot take it over from there.
"""

from __future__ import annotations

import json
import sys
import zlib
from pathlib import Path

from jax._src.named_sharding import named_sharding_to_xla_hlo_sharding
from jax.sharding import AbstractMesh, NamedSharding, PartitionSpec
from jaxlib.mlir import ir
from jaxlib.xla_client import HloSharding

from benchmarks.children.figures import Figures
from benchmarks.jaxlib_modules import make_context

if __name__ == "__main__":
    text = Path(sys.argv[1]).read_text(encoding="utf-8")
    ids = tuple(json.loads(text[text.index("device_ids=") + len("device_ids=") : -1]))
    side = round(len(ids) ** 0.5)
    named = NamedSharding(
        AbstractMesh((side, side), ("x", "y")), PartitionSpec("y", None), _logical_device_ids=ids
    )
    with make_context():
        figures = Figures()
        mesh = ir.Attribute.parse(text)
        figures.lap("parse")
        sharding = named_sharding_to_xla_hlo_sharding.__wrapped__(named, 2)
        figures.lap("export")
        printed = str(sharding)
        figures.lap("print")
        figures.stop()
        HloSharding.from_string(printed)
        figures.lap("read_back")
    figures.print(checksum=zlib.crc32(printed.encode()))
