"""What XLA dumps while it compiles real programs: modules around its passes, as text, protos and MLIR."""

from __future__ import annotations

import dataclasses
import os
import tempfile
from pathlib import Path

PRELOAD = ("jax", "jax.experimental", "jax._src.compiler", "numpy")
DEVICES = 8
_FLAGS = (
    f"--xla_force_host_platform_device_count={DEVICES}",
    "--xla_backend_optimization_level=0",  # what LLVM does is not looked at
    "--xla_dump_hlo_as_text",
    "--xla_dump_hlo_as_proto",
)
_SUFFIXES = frozenset({".txt", ".pb", ".mlir"})


@dataclasses.dataclass(frozen=True)
class Compilation:
    """How to compile programs.

    Attributes:
        names: The programs.
        passes: The pattern of the passes to dump around.
        is_shardy: Whether Shardy propagates, or else GSPMD.
        flags: Further flags of XLA's.
    """

    names: tuple[str, ...]
    passes: str
    is_shardy: bool = True
    flags: tuple[str, ...] = ()


def dump(compilation: Compilation) -> dict[str, bytes]:
    """The files that XLA dumps, by their names in the directory of dumps (runs isolated)."""
    with tempfile.TemporaryDirectory(prefix="oracle-") as scratch:
        to = f"--xla_dump_to={scratch}", f"--xla_dump_hlo_pass_re={compilation.passes}"
        os.environ["XLA_FLAGS"] = " ".join([*_FLAGS, *to, *compilation.flags])
        import jax
        from tests.differential.programs import compile_on_host_devices

        jax.config.update("jax_use_shardy_partitioner", compilation.is_shardy)
        for name in compilation.names:
            compile_on_host_devices(name, DEVICES)
        files = [path for path in Path(scratch).rglob("*") if path.suffix in _SUFFIXES]
        return {str(path.relative_to(scratch)): path.read_bytes() for path in sorted(files)}
