"""Long device lists on the wire: protobuf's packed varints as NumPy arrays, without a Python int per device.

Protobuf hands out a repeated field one Python int at a time. A packed field has the same bytes as a `bytes`
field, though, so long lists go through a message that differs from `OpSharding` in the type of that field.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from sdybridge.hlo import op_sharding_pb2

LONG = 1024
"""From how many devices on the detour pays."""

_BLOCK = 1 << 16
_DEVICES = "tile_assignment_devices"
_LONGEST_VARINT = 9
"""Of a number that is not negative."""


def pack(ids: NDArray[np.int64]) -> bytes:
    """The varints of `ids`, a flat int64 array.

    >>> import numpy as np
    >>> pack(np.array([1, 300])).hex(" ")
    '01 ac 02'
    """
    import numpy as np

    if not len(ids):
        return b""
    rest = ids.astype(np.uint64)  # protobuf writes -1 as 2**64 - 1
    groups = max(1, -(-int(rest.max()).bit_length() // 7))
    if groups * 7 <= 32:
        rest = rest.astype(np.uint32)
    # One row of bytes per id, as wide as the longest; what an id does not need is left out at the end.
    rows = np.empty((len(ids), groups), np.uint8)
    needed = np.ones((len(ids), groups), bool)
    for k in range(groups):
        rows[:, k] = rest & 0x7F
        rest >>= 7
        more = rest != 0
        rows[:, k] |= more.view(np.uint8) << 7
        if k + 1 < groups:
            needed[:, k + 1] = more
    return rows[needed].tobytes()


class NotPackedError(Exception):
    """The ids are negative, not packed, or broken: protobuf itself has to read the list."""


def unpack(data: bytes) -> NDArray[np.int64]:
    """The int64 ids whose varints `data` holds.

    Raises:
        NotPackedError: One is negative, or cut off.

    >>> unpack(bytes.fromhex("01 ac 02"))
    array([  1, 300])
    """
    import numpy as np

    octets = np.frombuffer(data, np.uint8)
    blocks = [np.empty(0, np.int64)]
    start = 0
    while start < len(octets):  # block by block, because memory in use is much faster than new memory
        ids, size = _unpack_block(octets[start : start + _BLOCK])
        blocks.append(ids)
        start += size
    return np.concatenate(blocks)


def _unpack_block(octets: NDArray[np.uint8]) -> tuple[NDArray[np.int64], int]:
    """The ids that end in `octets`, which start with one, and how many bytes they take."""
    import numpy as np

    ends = np.flatnonzero(octets < 0x80)
    if not len(ends):
        raise NotPackedError
    starts = np.empty_like(ends)
    starts[0] = 0
    np.add(ends[:-1], 1, out=starts[1:])
    groups = int((ends - starts).max()) + 1
    if groups > _LONGEST_VARINT:
        raise NotPackedError
    size = int(ends[-1]) + 1
    padded = np.zeros(size + groups, np.uint8)
    padded[:size] = octets[:size]
    ids = np.zeros(len(ends), np.int64)
    goes_on = np.ones(len(ends), np.uint8)  # 1 where the id has a byte k; else the byte is the next id's
    for k in range(groups):
        octet = padded[k:].take(starts)
        ids |= ((octet & 0x7F) * goes_on).astype(np.int64) << 7 * k
        goes_on &= octet >> 7
    return ids, size


def device_ids(proto: op_sharding_pb2.OpSharding) -> Sequence[int] | NDArray[np.int64]:
    """The listed devices of a message of either class, without those of its elements.

    Raises:
        NotPackedError: The message is of `message_class()`, and its list is not what that can hold.
    """
    devices = proto.tile_assignment_devices
    if _is_plain(proto):
        return devices
    from google.protobuf.unknown_fields import UnknownFieldSet

    number = proto.DESCRIPTOR.fields_by_name[_DEVICES].number
    if any(field.field_number == number for field in UnknownFieldSet(proto)):  # type: ignore[attr-defined]
        raise NotPackedError  # one device per field, perhaps between packed ones
    chunks = [unpack(chunk) for chunk in cast("Sequence[bytes]", devices)]
    if len(chunks) == 1:
        return chunks[0]
    import numpy as np

    return np.concatenate(chunks) if chunks else ()


def add_device_ids(proto: op_sharding_pb2.OpSharding, ids: list[int] | NDArray[np.int64]) -> None:
    """Append `ids`, a list or a flat array, to the devices of a message of either class."""
    if _is_plain(proto):
        proto.tile_assignment_devices.extend(ids if isinstance(ids, list) else ids.tolist())
        return
    import numpy as np

    cast("list[bytes]", proto.tile_assignment_devices).append(pack(np.asarray(ids, np.int64)))


def _is_plain(proto: op_sharding_pb2.OpSharding) -> bool:
    from sdybridge.hlo import op_sharding_pb2

    return type(proto) is op_sharding_pb2.OpSharding


@functools.cache
def message_class() -> type[op_sharding_pb2.OpSharding]:
    """`OpSharding` with `repeated bytes` for its devices, made from our own `op_sharding.proto`."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    from sdybridge.hlo import op_sharding_pb2

    file = descriptor_pb2.FileDescriptorProto()
    op_sharding_pb2.DESCRIPTOR.CopyToProto(file)
    sharding = next(message for message in file.message_type if message.name == "OpSharding")
    devices = next(field for field in sharding.field if field.name == _DEVICES)
    devices.type = descriptor_pb2.FieldDescriptorProto.TYPE_BYTES
    devices.ClearField("options")
    pool = descriptor_pool.DescriptorPool()  # a pool of its own: the names are taken in the common one
    pool.Add(file)
    descriptor = pool.FindMessageTypeByName(f"{file.package}.OpSharding")
    return cast("type[op_sharding_pb2.OpSharding]", message_factory.GetMessageClass(descriptor))
