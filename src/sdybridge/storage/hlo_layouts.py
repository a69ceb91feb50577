"""Layouts of XLA's sharding classes, by build. Nothing here reads them; they differ between builds."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from sdybridge.storage.layouts import Confidence, Field, Kind, Layout

if TYPE_CHECKING:
    from collections.abc import Mapping

NEURON, OLDER, CURRENT_JAXLIB = "neuronx_cc 2.24.5133", "jaxlib 0.6.2", "jaxlib 0.10.2"


def _layout(
    cls: str,
    build: str,
    size: int | None,
    note: str,
    *fields: tuple[int, str, Kind, str],
    confidence: Confidence = Confidence.LIVE,
) -> tuple[str, Layout]:
    rows = tuple(
        Field(offset, name, kind, confidence=confidence, note=about) for offset, name, kind, about in fields
    )
    return cls, Layout(cls, f"xla::{cls} in {build}", size, rows, note)


def _sharding(build: str, size: int | None, metadata_size: int, flags: str, note: str) -> tuple[str, Layout]:
    return _layout(
        "HloSharding", build, size, note,
        (0x00, "iota_ndims", Kind.INT32, "of the tile assignment: the number of its dimensions"),
        (0x04, "iota_reshape_ndims", Kind.INT32, "the number of reshape dims"),
        (0x08, "iota_data", Kind.POINTER, "dims and reshape dims, then, 4 bytes each, the permutation"),
        (0x10, "is_iota", Kind.BOOL, "whether there is an iota; if not, what is before it holds anything"),
        (0x20, "shared_array", Kind.POINTER, "the device list, if this owns one; then its control block"),
        (0x30, "array", Kind.POINTER, "the device list; null for an iota that was not expanded"),
        (0x38, "tuple_elements", Kind.VECTOR, "of `HloSharding`"),
        (0x50, "metadata", Kind.VECTOR, f"of `OpMetadata`, {metadata_size:#x} bytes each"),
        (0x68, "subgroup_types", Kind.VECTOR, "of `OpSharding::Type`, 4 bytes each"),
        (0x80, "flags", Kind.BITS, flags),
        (0x88, "shard_group_id", Kind.INT64, "-1 for none"),
        (0x90, "shard_as", Kind.BOOL, ""),
        (0x91, "shard_like", Kind.BOOL, ""),
    )  # fmt: skip


_TYPES = "0 replicated, 1 maximal, 2 tuple, 3 other, 4 manual, 5 unknown"
_FLAGS = "bit 0 replicated, 1 maximal, 2 tuple, 3 manual, 4 unknown, "

_REFERENCE = dict([
    (
        "HloSharding",
        Layout(
            "HloSharding",
            f"xla::HloSharding in {NEURON}",
            None,
            (
                Field(0x00, "tuple_elements", Kind.POINTER, confidence=Confidence.CONFIRMED,
                      note="not empty: a tuple. In jaxlib, the tile assignment is here"),
                Field(0x80, "flags", Kind.BITS, confidence=Confidence.STRONG,
                      note="6 bits, among them replicated, manual, unknown, replicate_on_last_tile_dim; the "
                      "byte is confirmed, which bit is which is not"),
                Field(0x88, "sentinel", Kind.INT64, confidence=Confidence.CONFIRMED,
                      note="the constructor writes -1. In jaxlib, it is `shard_group_id`"),
                Field(0x90, "subgroup_types_length", Kind.INT16, confidence=Confidence.CONFIRMED,
                      note="the constructor writes 0. In jaxlib, two flags are here"),
            ),
            "As the reference has it, from the constructor. Metadata: `OpMetadata`, 0x78 bytes each.",
        ),
    ),
    _layout(
        "OpSharding", NEURON, None,
        "As the reference has it, from `HloSharding::FromProto`. The offsets are those of jaxlib 0.6.2, "
        "where some are other fields.",
        (0x28, "replicate_on_last_tile_dim", Kind.INT32, "compared with 1. In jaxlib, the number of devices"),
        (0x48, "tuple_shardings_size", Kind.INT32, ""),
        (0x50, "tuple_shardings", Kind.POINTER, ""),
        (0x88, "last_tile_dims_size", Kind.INT32, "in jaxlib, of `iota_reshape_dims`"),
        (0x90, "last_tile_dims", Kind.POINTER, "in jaxlib, `iota_reshape_dims`"),
        (0xC0, "type", Kind.INT32, _TYPES),
        (0xC5, "is_iota", Kind.BOOL, "in jaxlib, `is_shard_group`"),
        (0xC8, "iota_reshape_dims", Kind.POINTER, "in jaxlib, `shard_group_id`"),
        confidence=Confidence.CONFIRMED,
    ),
])  # fmt: skip

_OLDER = dict([
    _sharding(
        OLDER, 0x98, 0x78, _FLAGS + "5 replicate_on_last_tile_dim",
        "A replicated sharding is maximal, too. The flags, the -1, the zeros after it and the size of the "
        "metadata are as the reference confirms them of neuronx_cc.",
    ),
    _layout(
        "OpSharding", OLDER, 0xD8, "The message that protoc generates: a size is followed by a capacity.",
        (0x10, "tile_assignment_dimensions_size", Kind.INT32, ""),
        (0x18, "tile_assignment_dimensions", Kind.POINTER, "8 bytes each"),
        (0x28, "tile_assignment_devices_size", Kind.INT32, ""),
        (0x30, "tile_assignment_devices", Kind.POINTER, "8 bytes each"),
        (0x48, "tuple_shardings_size", Kind.INT32, ""),
        (0x50, "tuple_shardings", Kind.POINTER, ""),
        (0x60, "metadata_size", Kind.INT32, ""),
        (0x68, "metadata", Kind.POINTER, ""),
        (0x70, "last_tile_dims_size", Kind.INT32, ""),
        (0x78, "last_tile_dims", Kind.POINTER, "4 bytes each"),
        (0x88, "iota_reshape_dims_size", Kind.INT32, ""),
        (0x90, "iota_reshape_dims", Kind.POINTER, "8 bytes each"),
        (0xA0, "iota_transpose_perm_size", Kind.INT32, ""),
        (0xA8, "iota_transpose_perm", Kind.POINTER, "4 bytes each"),
        (0xC0, "type", Kind.INT32, _TYPES),
        (0xC4, "replicate_on_last_tile_dim", Kind.BOOL, ""),
        (0xC5, "is_shard_group", Kind.BOOL, ""),
        (0xC8, "shard_group_id", Kind.INT64, ""),
        (0xD0, "shard_group_type", Kind.INT32, "0 as, 1 like"),
    ),
])  # fmt: skip

_CURRENT = dict([
    _sharding(
        CURRENT_JAXLIB, None, 0x90, _FLAGS + "5 unreduced, 6 replicate_on_last_tile_dim",
        "0x180 bytes each in a tuple; what comes after is of named shardings.",
    ),
    _layout(
        "OpSharding", CURRENT_JAXLIB, 0xE8,
        "The message that protoc generates. A list of numbers is a pointer with bit 2 set, and a size with a "
        "capacity; or, without that bit, the low 2 bits are its size, and it is where the size would be. Of "
        "messages, bit 0 of the pointer tells one from several.",
        (0x18, "tile_assignment_dimensions", Kind.POINTER, "8 bytes each"),
        (0x20, "tile_assignment_dimensions_size", Kind.INT32, ""),
        (0x30, "tile_assignment_devices", Kind.POINTER, "8 bytes each"),
        (0x38, "tile_assignment_devices_size", Kind.INT32, ""),
        (0x48, "tuple_shardings", Kind.POINTER, ""),
        (0x50, "tuple_shardings_size", Kind.INT32, ""),
        (0x60, "metadata", Kind.POINTER, ""),
        (0x68, "metadata_size", Kind.INT32, ""),
        (0x78, "last_tile_dims", Kind.POINTER, "4 bytes each"),
        (0x80, "last_tile_dims_size", Kind.INT32, ""),
        (0x90, "iota_reshape_dims", Kind.POINTER, "8 bytes each"),
        (0x98, "iota_reshape_dims_size", Kind.INT32, ""),
        (0xA8, "iota_transpose_perm", Kind.POINTER, "4 bytes each"),
        (0xB0, "iota_transpose_perm_size", Kind.INT32, ""),
        (0xD0, "type", Kind.INT32, f"{_TYPES}, 6 unreduced"),
        (0xD4, "replicate_on_last_tile_dim", Kind.BOOL, ""),
        (0xD5, "is_shard_group", Kind.BOOL, ""),
        (0xD8, "shard_group_id", Kind.INT64, ""),
        (0xE0, "shard_group_type", Kind.INT32, "0 as, 1 like"),
    ),
])  # fmt: skip

HLO_LAYOUTS: Mapping[str, Mapping[str, Layout]] = MappingProxyType({
    NEURON: MappingProxyType(_REFERENCE),
    OLDER: MappingProxyType(_OLDER),
    CURRENT_JAXLIB: MappingProxyType(_CURRENT),
})  # fmt: skip
"""`HloSharding` and the message `OpSharding`, by build and class."""
