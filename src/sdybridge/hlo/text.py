"""The text of shardings: byte for byte as XLA prints it, and as the Python call that builds them.

Source: `HloSharding::Print` in xla's `hlo/ir/hlo_sharding.cc` and `OpMetadataToString` in its
`hlo/ir/hlo_op_metadata.cc`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdybridge.hlo.kinds import OpShardingType, ReductionOp
from sdybridge.hlo.named_text import format_named
from sdybridge.target import Target

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sdybridge.hlo.metadata import OpMetadata
    from sdybridge.hlo.sharding_forms import ShardingForms

_OTHER = OpShardingType.OTHER

_LEAF_NAMES = {
    OpShardingType.REPLICATED: "replicated",
    OpShardingType.MANUAL: "manual",
    OpShardingType.UNKNOWN: "unknown",
    OpShardingType.UNREDUCED: "unreduced",
}

# XLA prints other types, which only protos and the API can give, as `error_type.`.
_SUBGROUP_NAMES = {
    OpShardingType.MANUAL: "manual",
    OpShardingType.MAXIMAL: "maximal",
    OpShardingType.REPLICATED: "replicated",
    OpShardingType.UNREDUCED: "unreduced",
}

_ESCAPES = {b: f"\\{b:03o}" for b in range(256) if not 0x20 <= b < 0x7F} | {
    ord("\n"): r"\n",
    ord("\r"): r"\r",
    ord("\t"): r"\t",
    ord('"'): r"\"",
    ord("'"): r"\'",
    ord("\\"): r"\\",
}


def format_sharding(sharding: ShardingForms, target: Target) -> str:
    """The text of `sharding` without metadata."""
    if sharding._kind is OpShardingType.TUPLE:
        return _format_tuple([format_sharding(element, target) for element in sharding._tuple_elements])
    return f"{{{_format_leaf(sharding, target)}}}"


def format_sharding_with_metadata(sharding: ShardingForms, target: Target) -> str:
    """The text of `sharding` as an HLO module shows it when it prints metadata."""
    if sharding._kind is OpShardingType.TUPLE:
        return _format_tuple(
            [format_sharding_with_metadata(element, target) for element in sharding._tuple_elements]
        )
    entries = sharding._metadata_for(target)
    if not entries:
        return format_sharding(sharding, target)
    text = _format_leaf(sharding, target)
    if sharding._named is not None:
        return f"{{{text}, metadata={format_metadata_list(entries)}}}"
    return f"{{{text} metadata={format_metadata(entries)}}}"


def _format_tuple(elements: Sequence[str]) -> str:
    parts = []
    for i, element in enumerate(elements):
        if i:
            parts.append(", " if i % 5 else f", /*index={i}*/")
        parts.append(element)
    return f"{{{''.join(parts)}}}"


def _format_leaf(sharding: ShardingForms, target: Target) -> str:
    """The text between the braces, without metadata."""
    if sharding._named is not None:
        return format_named(sharding._named, sharding._reduction_op, names_reduction=target is Target.NEWER)
    if sharding._kind is _OTHER:
        text = str(sharding._tiles)
        if sharding._replicate_on_last_tile_dim:
            text += " last_tile_dim_replicate"
        elif sharding._subgroup_types:
            names = [_SUBGROUP_NAMES.get(type_, "error_type.") for type_ in sharding._subgroup_types]
            text += f" last_tile_dims={{{', '.join(names)}}}"
    elif sharding._kind is OpShardingType.MAXIMAL:
        text = f"maximal device={sharding._device}"
    else:
        text = _LEAF_NAMES[sharding._kind]
    return text if sharding._shard_group is None else f"{text} {sharding._shard_group}"


def format_metadata(entries: Sequence[OpMetadata]) -> str:
    """One entry in single braces, several in double ones."""
    return f"{{{_format_entry(entries[0])}}}" if len(entries) == 1 else format_metadata_list(entries)


def format_metadata_list(entries: Sequence[OpMetadata]) -> str:
    """The entries in double braces, even a single one."""
    return f"{{{', '.join([f'{{{_format_entry(entry)}}}' for entry in entries])}}}"


def _format_entry(entry: OpMetadata) -> str:
    parts = []
    for name, value in entry.items():
        if isinstance(value, tuple):
            parts.append(f"{name}={{{','.join(map(str, value))}}}")
        elif isinstance(value, int):
            parts.append(f"{name}={value}")
        elif name == "scheduling_name":  # XLA does not escape this one
            parts.append(f'{name}="{value}"')
        else:
            parts.append(f'{name}="{escape(value)}"')
    return " ".join(parts)


def escape(text: str) -> str:
    r"""`text` with C escapes: octal ones for the bytes that are not printable ASCII.

    >>> print(escape('é "x"'))
    \303\251 \"x\"
    """
    if text.isascii() and text.isprintable() and not any(c in text for c in "\"'\\"):
        return text
    return text.encode("utf-8", "surrogateescape").decode("latin-1").translate(_ESCAPES)


_FACTORIES = {
    OpShardingType.REPLICATED: "replicate",
    OpShardingType.MANUAL: "manual",
    OpShardingType.UNKNOWN: "unknown",
    OpShardingType.UNREDUCED: "unreduced",
}


def format_constructor(sharding: ShardingForms) -> str:
    """Python code that builds `sharding`: its `repr`."""
    if any(element._kind is OpShardingType.TUPLE for element in sharding._tuple_elements):
        return f"HloSharding.from_proto({sharding.to_proto_bytes()!r})"  # only protos nest tuples
    arguments = _constructor_arguments(sharding)
    if sharding._metadata:
        arguments.append(f"metadata={sharding._metadata!r}")
    text = f"HloSharding.{_constructor_name(sharding)}({', '.join(arguments)})"
    if sharding._shard_group is not None:
        text += f".with_shard_group({sharding._shard_group!r})"
    if sharding._reduction_op is not ReductionOp.SUM:
        text += f".with_reduction_op({sharding._reduction_op!r})"
    return text


def _constructor_name(sharding: ShardingForms) -> str:
    if sharding._named is not None:
        return "named"
    if sharding._kind is OpShardingType.TUPLE:
        return "flat_tuple"
    if sharding._kind is OpShardingType.MAXIMAL:
        return "assign_device"
    if sharding._kind is not _OTHER:
        return _FACTORIES[sharding._kind]
    if sharding._replicate_on_last_tile_dim:
        return "partial_tile"
    return "subgroup" if sharding._subgroup_types else "tile"


def _constructor_arguments(sharding: ShardingForms) -> list[str]:
    if sharding._named is not None:
        return [repr(sharding._named)]
    if sharding._kind is OpShardingType.TUPLE:
        return [repr(list(sharding._tuple_elements))]
    if sharding._kind is OpShardingType.MAXIMAL:
        return [repr(sharding._device)]
    if sharding._kind is not _OTHER:
        return []
    tiles, types = sharding._tiles, sharding._subgroup_types
    if not types:
        return [repr(tiles)]
    if types == (OpShardingType.UNREDUCED,) and tiles.num_elements == tiles.dims[-1]:
        # On its own this would become `unreduced()`; only dropping an empty subgroup leads here.
        tiles, types = tiles.reshape((*tiles.dims, 1)), (*types, OpShardingType.REPLICATED)
    return [repr(tiles), repr(types)]
