"""What constructors accept, refuse and normalise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sdybridge.errors import VerificationError
from sdybridge.sdy import (
    RULES,
    AllToAllParamAttr,
    AxisRefAttr,
    AxisRefListAttr,
    DimensionShardingAttr,
    ManualAxesAttr,
    MeshAttr,
    MeshAxisAttr,
    SubAxisInfoAttr,
    TensorShardingAttr,
    TensorShardingPerValueAttr,
)

X = AxisRefAttr("x")
AXIS = MeshAxisAttr("x", 2)


@pytest.mark.parametrize(
    ("cls", "arguments", "message"),
    [
        (MeshAxisAttr, (b"x", 2), "axis name must be a str, not bytes"),
        (MeshAxisAttr, ("x", True), "axis size must be an int, not bool"),
        (MeshAxisAttr, ("x", 2.0), "axis size must be an int, not float"),
        (MeshAttr, (["x"],), "axes must hold MeshAxisAttr only, not str"),
        (MeshAttr, ([AXIS], [True, False]), "device id must be an int, not bool"),
        (MeshAttr, ([AXIS], [1.0, 0.0]), "device id must be an int, not float"),
        (SubAxisInfoAttr, (True, 2), "pre-size must be an int, not bool"),
        (SubAxisInfoAttr, (1, "2"), "size must be an int, not str"),
        (AxisRefAttr, (1,), "axis name must be a str, not int"),
        (AxisRefAttr, ("x", (1, 2)), "sub_axis_info must be a SubAxisInfoAttr, not tuple"),
        (DimensionShardingAttr, ("x",), "axes must hold AxisRefAttr only, not str"),
        (DimensionShardingAttr, ([X], 1), "is_closed must be a bool, not int"),
        (DimensionShardingAttr, ([X], True, True), "priority must be an int, not bool"),
        (TensorShardingAttr, (3,), "mesh_or_ref must be a str or a MeshAttr, not int"),
        (
            TensorShardingAttr,
            ("m", [X]),
            "dim_shardings must hold DimensionShardingAttr only, not AxisRefAttr",
        ),
        (TensorShardingAttr, ("m", [], ["x"]), "replicated_axes must hold AxisRefAttr only, not str"),
        (TensorShardingAttr, ("m", [], [], ["x"]), "unreduced_axes must hold AxisRefAttr only, not str"),
        (TensorShardingAttr, ("m", [], [], [], "max"), "reduction_op must be a ReductionOp, not str"),
        (TensorShardingPerValueAttr, (["m"],), "shardings must hold TensorShardingAttr only, not str"),
        (ManualAxesAttr, ("xy",), "value must be several axis names, not one str"),
        (ManualAxesAttr, ([X],), "manual axis name must be a str, not AxisRefAttr"),
        (AxisRefListAttr, (["x"],), "value must hold AxisRefAttr only, not str"),
        (AllToAllParamAttr, ([X], 0, False), "target dimension must be an int, not bool"),
    ],
)
def test_wrong_types(cls: Any, arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(TypeError) as raised:
        cls(*arguments)
    assert str(raised.value) == message


def test_a_wrong_type_is_refused_also_when_the_equal_value_is_alive() -> None:
    kept = (MeshAxisAttr("x", 1), SubAxisInfoAttr(1, 1), DimensionShardingAttr([X], True, 1))
    assert all(kept)
    for build in (
        lambda: MeshAxisAttr("x", True),
        lambda: SubAxisInfoAttr(1.0, 1),  # type: ignore[arg-type]
        lambda: DimensionShardingAttr([X], 1, 1),  # type: ignore[arg-type]
        lambda: DimensionShardingAttr([X], True, True),
    ):
        with pytest.raises(TypeError):
            build()


def test_numpy_integers_and_arrays_are_welcome() -> None:
    mesh = MeshAttr([MeshAxisAttr("x", np.int32(2))], np.array([1, 0]))  # type: ignore[arg-type]
    assert mesh is MeshAttr.from_sizes({"x": 2}, [1, 0])
    assert [type(i) for i in (mesh.axes[0].size, *mesh.device_ids)] == [int, int, int]
    assert MeshAttr.from_sizes({"x": 2}, list(np.array([1, 0]))) is mesh
    assert type(MeshAxisAttr(np.str_("a new axis"), 2).name) is str


BIG = 2**63


@pytest.mark.parametrize(
    ("build", "rule", "path"),
    [
        (lambda: MeshAxisAttr("x", 0), "axis-size", ("size",)),
        (lambda: MeshAxisAttr("x", -(10**5000)), "axis-size", ("size",)),
        (lambda: MeshAxisAttr("x", BIG), "integer-range", ("size",)),
        (lambda: MeshAxisAttr("\ud800", 2), "name-bytes", ("name",)),
        (lambda: MeshAttr((), [-1, -2]), "negative-device-id", ("device_ids", 0)),
        (lambda: MeshAttr((), [1, 0]), "maximal-device-count", ("device_ids", 1)),
        (lambda: MeshAttr((), [BIG]), "integer-range", ("device_ids", 0)),
        (lambda: MeshAttr([AXIS, AXIS], [-1]), "negative-device-id", ("device_ids", 0)),
        (lambda: MeshAttr([AXIS, AXIS], [0]), "duplicate-axis-name", ("axes", 1, "name")),
        (lambda: MeshAttr([AXIS, AXIS], range(4)), "duplicate-axis-name", ("axes", 1, "name")),
        (lambda: MeshAttr([AXIS], [0]), "device-count", ("device_ids",)),
        (lambda: MeshAttr([AXIS], [2, 1]), "device-permutation", ("device_ids", 0)),
        (lambda: MeshAttr([AXIS], [1, 1]), "device-permutation", ("device_ids", 1)),
        (lambda: MeshAttr([AXIS], [0, BIG]), "device-permutation", ("device_ids", 1)),
        (lambda: SubAxisInfoAttr(BIG, 2), "integer-range", ("pre_size",)),
        (lambda: SubAxisInfoAttr(1, -BIG - 1), "integer-range", ("size",)),
        (lambda: DimensionShardingAttr([X], priority=-1), "negative-priority", ("priority",)),
        (lambda: DimensionShardingAttr([X], priority=BIG), "integer-range", ("priority",)),
        (lambda: TensorShardingAttr("\ud800"), "name-bytes", ("mesh_or_ref",)),
        (lambda: ManualAxesAttr(["x", "\ud800"]), "name-bytes", ("value", 1)),
        (lambda: AllToAllParamAttr([], 0, 1), "all-to-all-axes", ("axes",)),
        (lambda: AllToAllParamAttr([X], BIG, 1), "integer-range", ("src_dim",)),
    ],
)
def test_broken_rules(build: Any, rule: str, path: tuple[str | int, ...]) -> None:
    with pytest.raises(VerificationError) as raised:
        build()
    assert (raised.value.rule, raised.value.path) == (rule, path)
    assert rule in RULES


def test_axis_sizes_multiply_exactly() -> None:
    assert MeshAttr.from_sizes({"x": 2**32, "y": 2**32, "z": 2}).total_size == 2**65


def test_an_error_about_an_astronomic_product_is_short() -> None:
    axes = [MeshAxisAttr(f"x{i}", 2**62) for i in range(400)]
    with pytest.raises(VerificationError, match=r"multiply to about 2\*\*24800 devices"):
        MeshAttr(axes, [1, 0])
