"""Long device lists on the wire: always the bytes and the answer of protobuf's own reader and writer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from sdybridge.errors import ProtoError
from sdybridge.hlo import HloSharding, TileAssignment, op_sharding_pb2, packed_ids

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

COUNT = 4 * packed_ids.LONG
LARGE = 2**62
LISTS = {
    "in order": range(COUNT),
    "reversed": range(COUNT - 1, -1, -1),
    "one byte each": [i % 100 for i in range(COUNT)],
    "all lengths": [2**63 - 1 >> i % 64 for i in range(COUNT)],
    "a negative one": [*range(COUNT - 1), -1],
    "longer than a block": range(LARGE, LARGE + 20_000),
    "lengths change": [*range(COUNT), LARGE],
}


def message(ids: Iterable[int], dims: Sequence[int] = ()) -> op_sharding_pb2.OpSharding:
    return op_sharding_pb2.OpSharding(
        type="OTHER", tile_assignment_devices=ids, tile_assignment_dimensions=dims
    )


@pytest.mark.parametrize("ids", LISTS.values(), ids=LISTS)
def test_both_ways_as_protobuf(ids: list[int]) -> None:
    expected = message(ids, [len(ids)])
    grid = HloSharding.tile(TileAssignment.from_array(list(ids)))
    for sharding, proto in (
        (grid, expected),
        (
            HloSharding.flat_tuple([HloSharding.assign_device(7), grid, HloSharding.replicate()]),
            op_sharding_pb2.OpSharding(
                type="TUPLE",
                tuple_shardings=[
                    op_sharding_pb2.OpSharding(type="MAXIMAL", tile_assignment_devices=[7]),
                    expected,
                    op_sharding_pb2.OpSharding(),
                ],
            ),
        ),
    ):
        assert sharding.to_proto() == proto
        assert sharding.to_proto_bytes() == proto.SerializeToString()
        assert HloSharding.from_proto(proto.SerializeToString()) == sharding
        assert HloSharding.from_proto(proto) == sharding


@pytest.mark.parametrize("ids", [[], [0], [127, 128], [2**35], [2**63 - 1, 0]])
def test_unpack_is_the_inverse_of_pack(ids: list[int]) -> None:
    assert packed_ids.unpack(packed_ids.pack(np.array(ids, np.int64))).tolist() == ids


@pytest.mark.parametrize("data", ["80", "0180", "ffffffffffffffffff01", "80" * 70_000])
def test_not_packed(data: str) -> None:
    with pytest.raises(packed_ids.NotPackedError):
        packed_ids.unpack(bytes.fromhex(data))


def chunk(ids: range) -> bytes:
    return message(ids).SerializeToString()[2:]  # without the type


def one(device: int) -> bytes:
    return packed_ids.pack(np.array([device]))


@pytest.mark.parametrize(
    "devices",
    [
        pytest.param(chunk(range(1000)) + chunk(range(1000, COUNT)), id="two chunks"),
        pytest.param(chunk(range(COUNT - 1)) + b"\x20\xff\x1f", id="the last one not packed"),
        pytest.param(
            b"".join(b"\x20" + packed_ids.pack(np.array([i])) for i in range(COUNT)), id="not packed"
        ),
        pytest.param(chunk(range(COUNT))[:1] + b"\x80\xc0\x00" + chunk(range(0)), id="broken length"),
        pytest.param(b"\x22\x02\x80\x80" + chunk(range(COUNT)), id="broken chunk"),
    ],
)
@pytest.mark.parametrize("start", ["", "0803"], ids=["replicated", "tiled"])
def test_other_encodings_of_a_list(devices: bytes, start: str) -> None:
    data = bytes.fromhex(start) + message([], [COUNT]).SerializeToString()[2:] + devices
    try:
        expected = HloSharding.from_proto(op_sharding_pb2.OpSharding.FromString(data))
    except Exception:  # noqa: BLE001  (protobuf's own errors differ between its versions)
        with pytest.raises(ProtoError):
            HloSharding.from_proto(data)
        return
    assert HloSharding.from_proto(data) == expected
