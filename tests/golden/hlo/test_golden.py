"""Every line of the case files, `input => output`: XLA's results (of jaxlib 0.10.2, or as the file says)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.unit.hlo.notation import build, ints

from sdybridge import hlo
from sdybridge.errors import VerificationError
from sdybridge.hlo import HloSharding, OpShardingType, TileAssignment
from sdybridge.target import Target

if TYPE_CHECKING:
    from collections.abc import Sequence


def cases(name: str) -> list[tuple[str, str]]:
    lines = (Path(__file__).parent / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    pairs = [line.partition(" => ") for line in lines if line and not line.startswith("#")]
    return [(given, "" if expected == "(no bytes)" else expected) for given, _, expected in pairs]


def text_cases() -> list[tuple[str, str]]:
    files = ("print", "canonical_iota", "subgroup", "partial_tile")
    return [case for name in files for case in cases(name)]


@pytest.mark.parametrize(("given", "expected"), text_cases())
def test_text(given: str, expected: str) -> None:
    assert str(build(given)) == expected


@pytest.mark.parametrize(("given", "expected"), text_cases())
def test_repr_evaluates_to_the_same(given: str, expected: str) -> None:
    sharding = build(given)
    again = eval(repr(sharding), dict(vars(hlo)))
    assert again == sharding
    assert str(again) == expected


def answer(question: str) -> object:
    names = {kind.name: kind for kind in OpShardingType}
    return eval(
        question,
        {
            **names,
            "F": HloSharding.from_string,
            "flat_tuple": HloSharding.flat_tuple,
            "iota": HloSharding.iota_tile,
            "listed": listed,
        },
    )


def listed(devices: list[object], types: Sequence[OpShardingType] = ()) -> HloSharding:
    grid = TileAssignment.from_array(np.array(devices))
    return HloSharding.subgroup(grid, types) if types else HloSharding.tile(grid)


@pytest.mark.parametrize(("given", "expected"), cases("answers"))
def test_answer(given: str, expected: str) -> None:
    assert str(answer(given)) == expected


@pytest.mark.parametrize(("given", "expected"), cases("refused"))
def test_refused(given: str, expected: str) -> None:
    with pytest.raises(VerificationError, match="^" + re.escape(expected)):
        answer(given)


@pytest.mark.parametrize(("given", "expected"), cases("proto"))
def test_proto_bytes(given: str, expected: str) -> None:
    assert build(given).to_proto_bytes().hex() == expected


@pytest.mark.parametrize(("given", "expected"), cases("proto_classic"))
def test_classic_proto_bytes(given: str, expected: str) -> None:
    assert build(given).to_proto_bytes(target=Target.CLASSIC).hex() == expected


@pytest.mark.parametrize(("given", "expected"), cases("transpose"))
def test_dimensions_that_become_replicated(given: str, expected: str) -> None:
    text, moved = given.split(" moves ")
    assert str(replicate_dims(build(text), ints(moved))) == expected


def replicate_dims(sharding: HloSharding, moved: list[int]) -> HloSharding:
    """The sharding with the tensor's dimensions `moved` not split, but replicated."""
    if not sharding.is_tiled:
        return sharding
    grid = sharding.tile_assignment
    types = list(sharding.subgroup_types) or [OpShardingType.REPLICATED] * sharding.replicate_on_last_tile_dim
    kept = [1 if i in moved else size for i, size in enumerate(grid.dims)]
    rest = [i for i in range(grid.num_dimensions) if i not in moved]
    tail = [grid.dims[i] for i in moved]
    types += [OpShardingType.REPLICATED] * len(moved)
    return HloSharding.subgroup(grid.transpose(rest + moved).reshape(kept + tail), types)


@pytest.mark.parametrize(("given", "expected"), cases("tile_shape"))
def test_tile_shape(given: str, expected: str) -> None:
    text, shape = given.split(" on ")
    assert list(build(text).tile_shape(ints(shape))) == ints(expected)


@pytest.mark.parametrize(("given", "expected"), cases("placement"))
def test_placement(given: str, expected: str) -> None:
    found = re.fullmatch(r"(.*) on ([\d,]+), device (\d+)", given)
    assert found is not None
    sharding, shape, device = build(found[1]), ints(found[2]), int(found[3])
    listed = [
        sharding.tile_index_for_device(device),
        sharding.tile_offset_for_device(shape, device),
        sharding.tile_limit_for_device(shape, device),
        sharding.tile_shape(shape),
    ]
    assert listed == [tuple(ints(numbers)) for numbers in re.findall(r"[\d,]+", expected)]
