"""Where a sharding came from: the metadata entries that it carries along."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from sdybridge.errors import VerificationError
from sdybridge.hlo.checks import INT32_MAX, as_int, as_ints, shown
from sdybridge.hlo.kinds import ReductionOp

if TYPE_CHECKING:
    from collections.abc import Sequence

REDUCTION_OP_TYPE = "sdy::reduction_op"
"""The `op_type` of the entry in which newer releases of XLA keep the reduction operator."""


@dataclass(frozen=True, slots=True)
class OpMetadata:
    """One metadata entry; unset fields are empty or 0, as in its proto.

    Strings may hold bytes that are not UTF-8 as lone surrogates (the `surrogateescape` convention).

    Attributes:
        op_type: The framework's operation type, such as `Conv2D`.
        op_name: The framework's name for the operation.
        source_file: The file of the user's program.
        source_line: The first line there, from 1.
        source_end_line: The last line.
        source_column: The first column.
        source_end_column: The column behind the last one.
        profile_type: The numbers of the profiles that were used.
        deduplicated_name: The name of the operation that this one is a copy of.
        scheduling_name: The name that the scheduler knows the operation by.
        stack_frame_id: The number of a frame in the module's stack frame index.
        metadata_payload: A free text for tools.
        other_fields: The fields of the proto that are not listed here, serialised. Text does not show them.

    Raises:
        VerificationError: A field is no text, or no number of 32 bits.

    >>> OpMetadata(op_name="matmul", source_line=7)
    OpMetadata(op_name='matmul', source_line=7)

    Source: `OpMetadata` in xla's `xla_data.proto`.
    """

    # In the order in which they are printed.
    op_type: str = ""
    op_name: str = ""
    source_file: str = ""
    source_line: int = 0
    source_end_line: int = 0
    source_column: int = 0
    source_end_column: int = 0
    profile_type: tuple[int, ...] = ()
    deduplicated_name: str = ""
    scheduling_name: str = ""
    stack_frame_id: int = 0
    metadata_payload: str = ""
    other_fields: bytes = b""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == "profile_type":
                value = as_ints(value, field.name)
                for i, number in enumerate(value):
                    as_int(number, f"profile_type[{i}]", low=-INT32_MAX - 1, high=INT32_MAX)
                object.__setattr__(self, field.name, value)
            elif isinstance(field.default, int):
                number = as_int(value, field.name, low=-INT32_MAX - 1, high=INT32_MAX)
                object.__setattr__(self, field.name, number)
            elif not isinstance(value, type(field.default)):
                raise VerificationError(
                    f"{field.name} must be a {type(field.default).__name__}, got {shown(value)}",
                    rule="metadata",
                    path=(field.name,),
                )

    def __repr__(self) -> str:
        given = [f"{name}={value!r}" for name, value in self.items()]
        if self.other_fields:
            given.append(f"other_fields={self.other_fields!r}")
        return f"OpMetadata({', '.join(given)})"

    def items(self) -> list[tuple[str, str | int | tuple[int, ...]]]:
        """The fields that are set, with their values, in the order in which they are printed.

        >>> OpMetadata(op_name="dot").items()
        [('op_name', 'dot')]
        """
        values = ((name, getattr(self, name)) for name in PRINTED_FIELDS)
        return [(name, value) for name, value in values if value]


PRINTED_FIELDS = tuple([field.name for field in fields(OpMetadata) if field.name != "other_fields"])
"""The names that an entry has in text, in the order in which they are printed."""


def take_reduction_op(
    entries: Sequence[OpMetadata], *, last_wins: bool
) -> tuple[tuple[OpMetadata, ...], ReductionOp]:
    """The entries without those that name the reduction, as newer releases write them, and the reduction.

    Args:
        entries: The metadata of a sharding.
        last_wins: Whether each of several counts more than those before, as where XLA reads text. Where it
            reads protos, one that names the sum changes nothing.
    """
    kept = []
    reduction_op = ReductionOp.SUM
    for entry in entries:
        if entry.op_type != REDUCTION_OP_TYPE:
            kept.append(entry)
        elif entry.op_name in ("MAX", "MIN"):
            reduction_op = ReductionOp[entry.op_name]
        elif last_wins:
            reduction_op = ReductionOp.SUM
    return tuple(kept), reduction_op
