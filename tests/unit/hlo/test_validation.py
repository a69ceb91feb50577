from __future__ import annotations

from typing import Any

import pytest
from tests.unit.hlo.notation import build

from sdybridge.errors import VerificationError


@pytest.mark.parametrize(
    ("text", "shape", "num_devices"),
    [
        ("{devices=[2,2]<=[4]}", [8, 8], 4),
        ("{devices=[2,2]<=[4]}", [7, 3], 4),
        ("{devices=[2,2]<=[4]}", [1, 1], 4),
        ("{devices=[2,2]<=[4]}", [0, 1], None),
        ("{devices=[2,2]3,1,0,2}", [8, 8], 4),
        ("{devices=[2,2]3,1,9,2}", [8, 8], None),
        ("{devices=[2,1,2]<=[4] last_tile_dim_replicate}", [8, 8], 4),
        ("{replicated}", [8, 8], 4),
        ("{unreduced}", [], 4),
        ("{manual}", [8], 0),
        ("{maximal device=3}", [8, 8], 4),
        ("{maximal device=30}", [8, 8], None),
        ("{{replicated},{devices=[2]<=[2]}}", [[], [4]], 2),
        ("{}", [], 2),
        ("{{replicated}}", [], 2),
    ],
)
def test_accepted(text: str, shape: Any, num_devices: int | None) -> None:
    build(text).validate(shape, num_devices)


@pytest.mark.parametrize(
    ("text", "shape", "num_devices", "rule", "message"),
    [
        (
            "{devices=[2,2]<=[4]}",
            [8],
            4,
            "sharding-rank",
            "the grid tiles 2 dimensions, but the tensor has rank 1",
        ),
        (
            "{devices=[4]<=[4]}",
            [],
            4,
            "sharding-rank",
            "the grid tiles 1 dimensions, but the tensor has rank 0",
        ),
        (
            "{devices=[2,1,2]<=[4] last_tile_dims={manual}}",
            [8, 8, 8],
            4,
            "sharding-rank",
            "the grid tiles 2 dimensions, but the tensor has rank 3",
        ),
        (
            "{devices=[2,1,2]<=[4] last_tile_dim_replicate}",
            [8],
            4,
            "sharding-rank",
            "the grid tiles 2 dimensions, but the tensor has rank 1",
        ),
        ("{devices=[2,2]<=[4]}", [8, 8], 8, "device-count", "the grid has 4 devices, but there are 8"),
        ("{devices=[2,2]0,1,2,3}", [8, 8], 8, "device-count", "the grid has 4 devices, but there are 8"),
        ("{devices=[2,2]0,1,2,2}", [8, 8], 4, "device-id", "device 2 is listed more than once"),
        ("{devices=[2,2]0,1,1,5}", [8, 8], 4, "device-id", "device 1 is listed more than once"),
        (
            "{devices=[2,2]0,1,2,5}",
            [8, 8],
            4,
            "device-id",
            "device 5 does not exist: there are 4 devices, from 0",
        ),
        (
            "{devices=[2,2]-1,0,1,2}",
            [8, 8],
            None,
            "device-id",
            "device -1 is negative; a tensor needs a real device",
        ),
        (
            "{maximal device=5}",
            [8, 8],
            4,
            "device-id",
            "device 5 does not exist: there are 4 devices, from 0",
        ),
        (
            "{maximal device=-1}",
            [8, 8],
            None,
            "device-id",
            "device -1 is negative; a tensor needs a real device",
        ),
        (
            "{devices=[1,1]<=[1]}",
            [8, 8],
            None,
            "single-device-tiling",
            "a tiling of a single device says neither that the tensor is replicated nor where it is placed",
        ),
        (
            "{replicated}",
            [[8], [8]],
            None,
            "sharding-tuple",
            "{replicated} is the sharding of one tensor, but the shape is that of a tuple",
        ),
        (
            "{{replicated}}",
            [8],
            None,
            "sharding-tuple",
            "{{replicated}} is the sharding of a tuple, but the shape is that of one tensor",
        ),
        (
            "{{replicated}}",
            [[8], [8]],
            None,
            "sharding-tuple",
            "{{replicated}} has 1 elements, but the tuple has 2 tensors",
        ),
    ],
)
def test_rejected(text: str, shape: Any, num_devices: int | None, rule: str, message: str) -> None:
    with pytest.raises(VerificationError) as error:
        build(text).validate(shape, num_devices)
    assert (error.value.rule, error.value.message) == (rule, message)


def test_path_and_note_lead_to_the_device() -> None:
    with pytest.raises(VerificationError) as error:
        build("{{replicated},{devices=[2,2]0,1,1,3}}").validate([[], [8, 8]], 4)
    assert error.value.path == ("tuple_elements", 1, "tile_assignment", 1, 0)
    assert error.value.notes == ("the sharding is {devices=[2,2]0,1,1,3}, the shape [8,8]",)


@pytest.mark.parametrize("shape", [3, None, "88", [8, "x"], [8.0, 8], [-1, 8], [[8], 8]])
def test_not_a_shape(shape: Any) -> None:
    with pytest.raises(VerificationError):
        build("{devices=[2,2]<=[4]}").validate(shape)


@pytest.mark.parametrize("num_devices", [-1, 4.0, "4"])
def test_not_a_number_of_devices(num_devices: Any) -> None:
    with pytest.raises(VerificationError):
        build("{replicated}").validate([8], num_devices)
