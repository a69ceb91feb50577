"""XLA's exchange of Shardy programs with HLO: the HLO module that it makes, with the carriers in it.

Works with jaxlib alone. In the older release the export of the carriers can be asked for by itself.
"""

from __future__ import annotations

import dataclasses

from tests.differential.oracle.isolation import Rejected

PRELOAD = ("jaxlib.xla_client",)


@dataclasses.dataclass(frozen=True)
class Exchanged:
    """One program there and back.

    Attributes:
        hlo: The text of the HLO module.
        mlir: The program that XLA makes of that again; its carriers are not imported yet.
    """

    hlo: str
    mlir: str


def exchange(text: str) -> Exchanged | Rejected:
    """What XLA makes of a program, with Shardy attributes or with carriers (runs isolated)."""
    from jaxlib import _jax

    try:
        computation = _jax.mlir.mlir_module_to_xla_computation(text)
        back: str = _jax.mlir.xla_computation_to_mlir_module(computation)
        return Exchanged(computation.as_hlo_text(), back)
    except Exception as error:  # noqa: BLE001  (jaxlib's exception types differ by release)
        return Rejected(" ".join(str(error).split()))


def export_classic(text: str) -> str | Rejected:
    """The program with carriers that jaxlib 0.6.2 makes of one with Shardy attributes (runs isolated)."""
    import io

    from jaxlib import _jax
    from jaxlib.mlir import ir
    from jaxlib.mlir._mlir_libs import register_jax_dialects
    from jaxlib.mlir.dialects import chlo, mhlo, sdy, stablehlo

    context = ir.Context()
    registry = ir.DialectRegistry()
    register_jax_dialects.register_dialects(registry)
    context.append_dialect_registry(registry)
    context.load_all_available_dialects()
    sdy.register_dialect(context)
    stablehlo.register_dialect(context)
    mhlo.register_mhlo_dialect(context)
    chlo.register_dialect(context)
    with context, ir.Location.unknown():
        try:
            module = ir.Module.parse(text)
        except ir.MLIRError as error:
            return Rejected(" ".join(str(error).split()))
        bytecode = io.BytesIO()
        module.operation.write_bytecode(bytecode)
        return str(ir.Module.parse(_jax.sdy.sdy_round_trip_export_pipeline(bytecode.getvalue())))


def import_attributes(text: str) -> str | Rejected:
    """The program after XLA's pass that imports attributes from carriers, but no calls (runs isolated)."""
    return _after("xla-sdy-round-trip-import-shardy-attrs", text)


def simplified(text: str) -> str | Rejected:
    """The program without dead code, as XLA imports what came from HLO (runs isolated)."""
    return _after("canonicalize", text)


def manual_axes_added(text: str) -> str | Rejected:
    """The program after Shardy adds the manual axes that shardings do not name to `replicated` (isolated)."""
    return _after("sdy-manual-axes-cleanup", text)


def _after(name: str, text: str) -> str | Rejected:
    from jax._src.interpreters.mlir import make_ir_context
    from jaxlib.mlir import ir
    from jaxlib.mlir.passmanager import PassManager

    with make_ir_context():
        module = ir.Module.parse(text)
        try:
            PassManager.parse(f"builtin.module({name})").run(module.operation)
        except ir.MLIRError as error:
            return Rejected(" ".join(str(error).split()))
        return str(module)
