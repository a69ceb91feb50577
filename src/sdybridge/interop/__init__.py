"""Other tools' forms: MLIR bytecode and `jax.export` files. Each framework loads only where it is needed."""

from sdybridge.interop.mlir_bytecode import is_bytecode as is_bytecode
from sdybridge.interop.mlir_bytecode import read_bytecode as read_bytecode
