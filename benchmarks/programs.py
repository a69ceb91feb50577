"""The programs that the benchmarks convert, made once and kept in `.benchmarks/`."""

from __future__ import annotations

import hashlib
import os
import re
from importlib.metadata import version
from typing import TYPE_CHECKING

from benchmarks.fresh import ROOT, run_python

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CACHE = ROOT / ".benchmarks" / "programs"
DEVICES = 512

_GENERATOR = ROOT / "examples" / "transformer_step.py"


def training_step(layers: int) -> Path:
    """A transformer training step as JAX lowers it, in a file."""
    return _cached(
        f"step-{layers}-{_fingerprint()}.mlir",
        lambda: run_python(str(_GENERATOR), "--layers", str(layers), "--devices", str(DEVICES)).output,
    )


def manual_step(layers: int) -> Path:
    """The same step with a manual computation in each layer, forward and backward."""
    arguments = [str(_GENERATOR), "--layers", str(layers), "--devices", str(DEVICES), "--manual-mlp"]
    return _cached(f"manual-{layers}-{_fingerprint()}.mlir", lambda: run_python(*arguments).output)


def propagated_step(layers: int) -> Path:
    """The same step as it enters XLA's export, after propagation: a sharding on nearly every operation."""
    return _cached(f"propagated-{layers}-{_fingerprint()}.mlir", lambda: _propagate(layers))


def explicit_mesh(bits: int) -> Path:
    """The text of a square mesh of two to the power `bits` devices in random order."""
    return _cached(f"mesh-{bits}.txt", lambda: _explicit_mesh(bits))


def repeated_hlo(text: str, size: int) -> str:
    """HLO text of about `size` characters: the computations of a program over and over, under new names."""
    header, body = text.split("\n\n", 1)
    names = re.findall(r"^(?:ENTRY )?%?([\w.\-]+) (?:\(.*\) -> .*)?\{$", body, re.MULTILINE)
    longest_first = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    parts = re.split(rf"(?<![\w.\-])({longest_first})(?![\w.\-(])", body.replace("ENTRY ", "").rstrip())
    copies = (
        "".join(part if i % 2 == 0 else f"{part}_copy{k}" for i, part in enumerate(parts))
        for k in range(max(0, size - len(text)) // len(body))
    )
    return "\n\n".join([header, *copies, body])


def _propagate(layers: int) -> str:
    from tests.differential.oracle.pipeline import ExportedModule, export_module

    answer = export_module(training_step(layers).read_text(encoding="utf-8"))
    if not isinstance(answer, ExportedModule):
        raise TypeError(f"XLA did not export the program: {answer.message}")
    return answer.sdy_text


def _explicit_mesh(bits: int) -> str:
    import numpy as np

    ids = np.random.default_rng(bits).permutation(1 << bits).tolist()
    side = 1 << bits // 2
    return f'#sdy.mesh<["x"={side}, "y"={side}], device_ids={ids}>'


def _cached(name: str, make: Callable[[], str]) -> Path:
    file = CACHE / name
    if not file.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        partial = file.with_suffix(f".{os.getpid()}")  # another process may make the same one
        partial.write_text(make(), encoding="utf-8")
        partial.replace(file)
    return file


def _fingerprint() -> str:
    """What the text of a program depends on."""
    made_by = f"{version('jax')} {version('jaxlib')} {DEVICES}".encode() + _GENERATOR.read_bytes()
    return hashlib.sha256(made_by).hexdigest()[:12]
