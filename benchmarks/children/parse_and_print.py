"""jaxlib reads the program in a file and prints it, once."""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.children.figures import Figures
from benchmarks.jaxlib_modules import make_context, parse_and_print

if __name__ == "__main__":
    text = Path(sys.argv[1]).read_text(encoding="utf-8")
    figures = Figures()
    with make_context():
        result = parse_and_print(text)
        figures.lap("call")
        figures.stop()
    figures.print()
