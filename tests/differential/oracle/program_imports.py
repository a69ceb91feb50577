"""What real XLA imports of a whole program with HLO shardings: the module before its import, and after it."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import pickle
from importlib.metadata import version
from typing import TYPE_CHECKING

from tests.differential.oracle.isolation import Crash, Rejected, run_isolated
from tests.differential.oracle.pipeline import PRELOAD, compile_until

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

SWITCH = 'mhlo.frontend_attributes = {xla.sdy.import_mhlo_shardings = "t"}'
"""The module attribute that lets XLA read HLO shardings although Shardy is on."""


@dataclasses.dataclass(frozen=True)
class ImportedModule:
    """The pair of modules around XLA's import pipeline.

    Attributes:
        mhlo_text: The module that enters it, as it came back from HLO: `mhlo.sharding` attributes.
        sdy_text: The module that leaves it: Shardy attributes, before propagation.
    """

    mhlo_text: str
    sdy_text: str


def import_programs_cached(texts: Sequence[str], directory: Path) -> list[ImportedModule | Crash | Rejected]:
    """XLA's pairs of modules, kept in `directory` under the input's hash and jaxlib's version."""
    directory.mkdir(parents=True, exist_ok=True)
    release = version("jaxlib")
    files = [directory / hashlib.sha256(f"{release}\nimport\n{text}".encode()).hexdigest() for text in texts]
    missing = [k for k, file in enumerate(files) if not file.exists()]
    answers = run_isolated(import_program, [texts[k] for k in missing], preload=PRELOAD) if missing else []
    for k, answer in zip(missing, answers, strict=True):
        partial = files[k].with_suffix(f".{os.getpid()}")  # tests may run in several processes
        partial.write_bytes(pickle.dumps(answer))
        partial.replace(files[k])
    return [pickle.loads(file.read_bytes()) for file in files]


def import_program(text: str) -> ImportedModule | Crash | Rejected:
    """Compiles until the import is done (runs isolated)."""
    # The dump after the one that is read shows that it is complete.
    with compile_until(text, "shardy/*/02.*.mlir") as compilation:
        before = next(compilation.dumps.glob("shardy/*/00.input_module.mlir"), None)
        after = next(compilation.dumps.glob("shardy/*/01.before_propagation.mlir"), None)
        done = next(compilation.dumps.glob("shardy/*/02.*.mlir"), None)
        if before and after and done:
            return ImportedModule(before.read_text(), after.read_text())
        return compilation.failure
