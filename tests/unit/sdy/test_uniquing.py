"""One object per value: identity, immutability, lifetime, threads."""

from __future__ import annotations

import copy
import gc
import pickle
import subprocess
import sys
import threading
import weakref
from typing import TYPE_CHECKING

import pytest

from sdybridge import sdy
from sdybridge.sdy import (
    AllToAllParamAttr,
    AllToAllParamListAttr,
    Attribute,
    AxisRefAttr,
    AxisRefListAttr,
    DimensionShardingAttr,
    ListOfAxisRefListsAttr,
    ManualAxesAttr,
    MeshAttr,
    MeshAxisAttr,
    ReductionOp,
    SubAxisInfoAttr,
    TensorShardingAttr,
    TensorShardingPerValueAttr,
)
from sdybridge.sdy.sharding import _SHARDINGS

if TYPE_CHECKING:
    from collections.abc import Callable

X = AxisRefAttr("x")
BUILDERS: list[Callable[[], Attribute]] = [
    lambda: MeshAxisAttr("x", 2),
    lambda: MeshAttr([MeshAxisAttr("x", 2)], [1, 0]),
    lambda: SubAxisInfoAttr(2, 4),
    lambda: AxisRefAttr("x"),
    lambda: AxisRefAttr.sub("x", 2, 4),
    lambda: DimensionShardingAttr([X], is_closed=False, priority=3),
    lambda: TensorShardingAttr("mesh", [DimensionShardingAttr([X])], [AxisRefAttr("y")]),
    lambda: TensorShardingAttr("mesh", [], [], [X], ReductionOp.MAX),
    lambda: TensorShardingAttr(MeshAttr.maximal(3)),
    lambda: TensorShardingPerValueAttr([TensorShardingAttr("mesh")]),
    lambda: ManualAxesAttr(["x", "y"]),
    lambda: AxisRefListAttr([X]),
    lambda: ListOfAxisRefListsAttr([AxisRefListAttr([X]), AxisRefListAttr()]),
    lambda: AllToAllParamAttr([X], 0, 1),
    lambda: AllToAllParamListAttr([AllToAllParamAttr([X], 0, 1)]),
]
each_class = pytest.mark.parametrize("build", BUILDERS, ids=lambda build: repr(build()))


@each_class
def test_building_twice_gives_one_object(build: Callable[[], Attribute]) -> None:
    assert build() is build()


@each_class
def test_copies_are_the_same_object(build: Callable[[], Attribute]) -> None:
    value = build()
    assert copy.copy(value) is value
    assert copy.deepcopy([value])[0] is value


@each_class
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_load_as_the_same_object(build: Callable[[], Attribute], protocol: int) -> None:
    value = build()
    assert pickle.loads(pickle.dumps(value, protocol)) is value


@each_class
def test_repr_evaluates_to_the_same_object(build: Callable[[], Attribute]) -> None:
    value = build()
    assert eval(repr(value), dict(vars(sdy))) is value


@each_class
def test_fields_cannot_be_set_or_deleted(build: Callable[[], Attribute]) -> None:
    value = build()
    for field in (*value.__match_args__, "anything"):
        with pytest.raises(AttributeError, match="immutable"):
            setattr(value, field, None)
        with pytest.raises(AttributeError, match="immutable"):
            delattr(value, field)


@each_class
def test_classes_cannot_be_extended(build: Callable[[], Attribute]) -> None:
    with pytest.raises(TypeError, match="cannot be subclassed"):
        type("Sub", (type(build()),), {})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (AxisRefAttr("x"), AxisRefAttr("y")),
        (AxisRefAttr("x"), AxisRefAttr.sub("x", 1, 2)),
        (DimensionShardingAttr([X]), DimensionShardingAttr([X], is_closed=False)),
        (DimensionShardingAttr([X]), DimensionShardingAttr([X], priority=0)),
        (DimensionShardingAttr(priority=0), DimensionShardingAttr(priority=1)),
        (MeshAttr(), MeshAttr.maximal(0)),
        (MeshAttr(), MeshAttr.from_sizes({"x": 1})),
        (MeshAttr.from_sizes({"x": 2, "y": 3}), MeshAttr.from_sizes({"y": 3, "x": 2})),
        (TensorShardingAttr("mesh"), TensorShardingAttr(MeshAttr())),
        (TensorShardingAttr("m", (), [X]), TensorShardingAttr("m", (), (), [X])),
        (TensorShardingAttr("m", (), (), [X]), TensorShardingAttr("m", (), (), [X], ReductionOp.MIN)),
        (ManualAxesAttr(["a", "b"]), ManualAxesAttr(["b", "a"])),
        (AxisRefListAttr(), ManualAxesAttr()),
    ],
    ids=lambda value: value.stripped,
)
def test_different_values_differ(one: Attribute, other: Attribute) -> None:
    assert one != other


def test_what_means_the_same_is_the_same() -> None:
    assert MeshAttr.from_sizes({"x": 2, "y": 2}, range(4)) is MeshAttr.from_sizes({"x": 2, "y": 2})
    assert TensorShardingAttr("m", reduction_op=ReductionOp.MAX) is TensorShardingAttr("m")
    assert AxisRefAttr("\udcc3\udca9") is AxisRefAttr("é")  # the same bytes


def test_values_die_with_their_last_user() -> None:
    before = len(_SHARDINGS)
    reference = weakref.ref(TensorShardingAttr("a mesh that nothing else names"))
    gc.collect()
    assert reference() is None
    assert len(_SHARDINGS) <= before


def test_threads_that_race_get_one_object() -> None:
    kept: list[Attribute] = []
    barrier = threading.Barrier(4)

    def build() -> None:
        for i in range(200):
            barrier.wait()
            value = TensorShardingAttr(f"race {i}", [DimensionShardingAttr([AxisRefAttr(f"race {i}")])])
            kept.append(value)

    previous = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    threads = [threading.Thread(target=build) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sys.setswitchinterval(previous)
    assert len(kept) == 800
    assert len(set(kept)) == 200


def test_a_pickle_from_another_process_loads_as_the_object_here() -> None:
    program = (
        "import pickle, sys; from sdybridge.sdy import TensorShardingAttr;"
        "value = TensorShardingAttr.from_string('<@mesh, [{\"x\":(1)2, ?}p1]>');"
        "sys.stdout.buffer.write(pickle.dumps(value))"
    )
    data = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True).stdout
    assert pickle.loads(data) is TensorShardingAttr.from_string('<@mesh, [{"x":(1)2, ?}p1]>')
