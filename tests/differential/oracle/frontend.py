"""XLA's front end: StableHLO text with Shardy attributes to an HLO module, read back as protobuf bytes.

It runs the export-shardings pass only: no propagation, no partitioning. Works with jaxlib alone, of
either generation, so that it can run in the environment of the older release too.
"""

from __future__ import annotations

import dataclasses

from tests.differential.oracle import wire
from tests.differential.oracle.isolation import Rejected

PRELOAD = ("jaxlib.xla_client",)
"""What a server that converts should import before it forks; there in every release."""

_COMPUTATIONS, _INSTRUCTIONS = 3, 2
_NAME, _OPCODE, _CUSTOM_CALL_TARGET, _SHARDING, _FRONTEND_ATTRIBUTES = 1, 2, 28, 40, 68


@dataclasses.dataclass(frozen=True)
class Instruction:
    """One HLO instruction, as far as sharding goes.

    Attributes:
        name: Its name in the HLO module, such as `add.3`.
        opcode: Such as `add` or `custom-call`.
        target: The target of a custom call, else empty.
        sharding: The serialized `OpSharding`; `None` for an instruction without one.
        text: The sharding as HLO text prints it; empty for an instruction without one.
        frontend_attributes: What rides along as `frontend_attributes={...}`.
    """

    name: str
    opcode: str
    target: str
    sharding: bytes | None
    text: str
    frontend_attributes: dict[str, str]


def convert_to_instructions(text: str) -> list[Instruction] | Rejected:
    """The instructions of all computations in the HLO module's order (callees first, entry last)."""
    try:
        from jaxlib import _jax as extension
    except ImportError:  # releases before 0.7
        from jaxlib import xla_extension as extension
    try:
        computation = extension.mlir.mlir_module_to_xla_computation(text)
        hlo: str = computation.as_hlo_text()
    except Exception as error:  # noqa: BLE001  (jaxlib's exception types differ by release)
        return Rejected(" ".join(str(error).split()))
    texts = sharding_texts(hlo)
    return [
        _instruction(message, texts)
        for called in wire.submessages(computation.as_serialized_hlo_module_proto(), _COMPUTATIONS)
        for message in wire.submessages(called, _INSTRUCTIONS)
    ]


def _instruction(message: bytes, texts: dict[str, str]) -> Instruction:
    found = dict(wire.fields(message))
    name = wire.text(found[_NAME])
    attributes = wire.submessages(message, _FRONTEND_ATTRIBUTES)
    return Instruction(
        name=name,
        opcode=wire.text(found[_OPCODE]),
        target=wire.text(found.get(_CUSTOM_CALL_TARGET, b"")),
        sharding=next(iter(wire.submessages(message, _SHARDING)), None),
        text=texts.get(name, ""),
        frontend_attributes=wire.string_map(attributes[0], 1) if attributes else {},
    )


def sharding_texts(hlo: str) -> dict[str, str]:
    """The sharding of each instruction of an HLO module's text that has one, by the instruction's name."""
    found = {}
    for line in hlo.splitlines():
        name, equals, rest = line.strip().removeprefix("ROOT ").partition(" = ")
        at = rest.find(", sharding={")
        if equals and at >= 0:
            found[name] = _braces(rest, at + len(", sharding="))
    return found


def _braces(text: str, start: int) -> str:
    """The `{...}` group that opens at `start`; shardings without metadata hold no strings."""
    depth = 0
    for at in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return text[start : at + 1]
    raise ValueError(f"unbalanced braces in {text[start:]!r}")
