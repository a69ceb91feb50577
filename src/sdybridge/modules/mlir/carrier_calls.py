"""Custom calls that stand for Shardy operations, and the operations that they become again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdybridge.modules.mlir.frontend_attributes import changed

if TYPE_CHECKING:
    from sdybridge.modules.mlir.frontend_attributes import Attributes
    from sdybridge.modules.mlir.operations import Operation
    from sdybridge.modules.splice import Edit

DIRECTIONS = ("NONE", "FORWARD", "BACKWARD")
"""How a barrier's direction is written, by its number."""

READ_BY_XLA = frozenset(
    f"{dialect}.{name}"
    for dialect in ("stablehlo", "mhlo")
    for name in ("custom_call", "send", "recv", "after_all")
)
"""Operations of which XLA reads what they carry. They have the same results in HLO, as others may not."""


def rewritten(operation: Operation, attributes: Attributes, name: str, details: str) -> Edit:
    """The edit that makes a call on one value the operation `name`.

    Args:
        operation: The call.
        attributes: Its dictionary. What is no property of the call stays, but for carriers.
        name: The name of the operation.
        details: What stands behind its operand.
    """
    text = operation.source.text
    gone = {key: None for key in attributes.frontend if key.startswith("xla.sdy.")}
    properties = {key: None for key in attributes.entries if "." not in key or key == "mhlo.sharding"}
    rest = changed(text, attributes, properties, gone)
    types = operation.signature_types[0]
    of_type = text[types[0].start : types[0].end] if types else ""
    result = "" if name == "sdy.sharding_group" else text[operation.start : operation.name_start]
    new = f"{result}{name} {operation.operands[0]} {details}{' ' if rest else ''}{rest} : {of_type}"
    end = operation.signature.end if operation.signature else operation.end
    return (operation.start, end, new)
