"""Reads the explicit mesh in a file, exports a sharding on it and prints that, once."""

from __future__ import annotations

import sys
import zlib
from pathlib import Path

from benchmarks.children.figures import Figures
from sdybridge import MeshAttr, TensorShardingAttr, convert_to_hlo_sharding

SHARDING = '<@mesh, [{"y"}, {}]>'

if __name__ == "__main__":
    text = Path(sys.argv[1]).read_text(encoding="utf-8")
    figures = Figures()
    mesh = MeshAttr.from_string(text)
    figures.lap("parse")
    sharding = convert_to_hlo_sharding(TensorShardingAttr.from_string(SHARDING), mesh)
    figures.lap("export")
    printed = str(sharding)
    figures.lap("print")
    figures.stop()
    figures.print(checksum=zlib.crc32(printed.encode()))
