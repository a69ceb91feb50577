"""The child process of `mlir_bytecode`: bytecode from standard input, text to standard output.

Exits with 3 and jaxlib's message when the bytes cannot be read.
"""

from __future__ import annotations

import sys

MAGIC = b"ML\xefR"
_PORTABLE = b"StableHLO_v"
_UNREADABLE = 3


def main() -> int:
    """Read, print, and say why not."""
    data = sys.stdin.buffer.read()
    try:
        text = _exported(data) if not data.startswith(MAGIC) else _bytecode(data)
    except Exception as error:  # noqa: BLE001  (jaxlib's errors have no common class)
        sys.stderr.write(str(error))
        return _UNREADABLE
    sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
    return 0


def _exported(data: bytes) -> str:
    from jax import export

    return _bytecode(export.deserialize(bytearray(data)).mlir_module_serialized)


def _bytecode(data: bytes) -> str:
    from jax._src.interpreters import mlir
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import stablehlo

    with mlir.make_ir_context() as context:
        context.allow_unregistered_dialects = True
        if _PORTABLE in data[:32]:
            module = stablehlo.deserialize_portable_artifact(context, data)
        else:
            module = ir.Module.parse(data)
        return f"{module.operation.get_asm(enable_debug_info=False)}"


if __name__ == "__main__":
    sys.exit(main())
