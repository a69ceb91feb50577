"""Exports the program in a file, once."""

from __future__ import annotations

import sys
from pathlib import Path

import sdybridge
from benchmarks.children.figures import Figures

if __name__ == "__main__":
    text = Path(sys.argv[1]).read_text(encoding="utf-8")
    figures = Figures()
    result = sdybridge.export_module(text)
    figures.lap("call")
    figures.stop()
    figures.print()
