"""The least that any tool over MLIR's objects must do with a program: read it and print it.

With jaxlib alone, because its start is shorter without JAX.
"""

from __future__ import annotations

from typing import Any

from jaxlib.mlir import ir
from jaxlib.mlir._mlir_libs import _jax_mlir_ext
from jaxlib.mlir.dialects import chlo, mhlo, sdy, stablehlo


def make_context() -> Any:
    """A context with the dialects that JAX loads into its own."""
    registry = ir.DialectRegistry()
    _jax_mlir_ext.register_dialects(registry)
    context = ir.Context()
    context.append_dialect_registry(registry)
    context.load_all_available_dialects()
    sdy.register_dialect(context)
    mhlo.register_mhlo_dialect(context)
    chlo.register_dialect(context)
    stablehlo.register_dialect(context)
    return context


def parse_and_print(text: str) -> tuple[Any, str]:
    """The module and its text; the module comes along so that its end is not timed."""
    module = ir.Module.parse(text)
    return module, str(module)
