"""Assertions about shardings, for the test suites of programs that make them.

    >>> from sdybridge import MeshAttr
    >>> mesh = MeshAttr.from_sizes({"x": 2, "y": 4})
    >>> assert_same_sharding('[{"x"}, {}]', "{devices=[2,1,4]<=[8] last_tile_dim_replicate}", mesh=mesh)

They need no devices and no compiler, and no test framework: what fails is an `AssertionError`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sdybridge.checks import (
    Comparison,
    Placed,
    Verdict,
    compare_shardings,
    open_program,
    read_sharding,
)
from sdybridge.hlo.checks import cropped
from sdybridge.modules.annotations import HLO, MHLO
from sdybridge.sdy.suggestions import closest

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from sdybridge.checks import Program
    from sdybridge.hlo import HloSharding
    from sdybridge.modules.annotations import Annotation
    from sdybridge.sdy import MeshAttr, TensorShardingAttr

    Sharding = str | bytes | TensorShardingAttr | HloSharding

_FEW = 20


def assert_same_sharding(
    actual: Sharding,
    expected: Sharding,
    *,
    mesh: MeshAttr | Mapping[str, MeshAttr] | str | None = None,
    manual_axes: Sequence[str] = (),
    shape: Sequence[int] | None = None,
    exact: bool = False,
) -> None:
    """Assert that two shardings, in any two notations, put the same part of a tensor on every device.

    Args:
        actual: What was made.
        expected: What it should be.
        mesh: The mesh of Shardy shardings: a `MeshAttr`, its text, meshes by name, or none for inline ones.
        manual_axes: The axes that are manual where Shardy shardings stand.
        shape: The sizes of the tensor; without them parts are compared as fractions of it.
        exact: Whether they must not differ in form either: in openness, priorities, names.

    Raises:
        AssertionError: They differ; the message lists how, and the devices that hold other parts.
        SdyBridgeError: One is no valid sharding.

    Example:
        >>> assert_same_sharding('[{"x"}]', "{devices=[2]<=[2]}", mesh='<["x"=2]>')
    """
    from sdybridge.sdy import MeshAttr as Mesh

    meshes = Mesh.from_string(mesh) if isinstance(mesh, str) else mesh
    one = read_sharding(actual, meshes, manual_axes=manual_axes, name="<actual>")
    other = read_sharding(expected, meshes, manual_axes=manual_axes, name="<expected>")
    found = compare_shardings(one, other, shape=shape)
    if found.verdict is Verdict.DIFFERENT or (exact and found.verdict is not Verdict.SAME_FORM):
        raise AssertionError("\n".join(["the shardings differ", *_difference(one, other, found)]))


def assert_shardings(
    program: str | bytes | os.PathLike[str],
    expected: Mapping[str, Sharding | None],
    *,
    mesh: MeshAttr | Mapping[str, MeshAttr] | str | None = None,
    function: str | None = None,
    exact: bool = False,
) -> None:
    """Assert that values of a program have these shardings, in any notations.

    Args:
        program: MLIR or HLO text, the bytes of an HLO proto, or a path to either.
        expected: By the name of the value: `%arg0`, `argument 0`, `result 0`, `%3#1`; in HLO the name of an
            instruction, `tuple.3{1}` for a part of a tuple. None for a value without a sharding.
        mesh: The mesh of Shardy shardings in `expected`, if the program does not declare it.
        function: The function or computation to look in; by default all, the main one first.
        exact: Whether they must not differ in form either.

    Raises:
        AssertionError: A sharding differs or is missing; the message is about all of them.
        KeyError: The program has no value of that name with a sharding.
        SdyBridgeError: The program, or a sharding, is not valid.

    Example:
        >>> text = '''
        ... sdy.mesh @mesh = <["x"=2]>
        ... func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) { return }
        ... '''
        >>> assert_shardings(text, {"%a": "{devices=[2]<=[2]}", "argument 0": '[{"x"}]'})
    """
    from sdybridge.sdy import MeshAttr as Mesh

    data, name = _data(program)
    opened = open_program(data, name)
    if opened.errors:
        raise opened.errors[0]
    meshes = (Mesh.from_string(mesh) if isinstance(mesh, str) else mesh) or opened.meshes
    values = _values(opened, function)
    failures: list[str] = []
    for key, wanted in expected.items():
        if key not in values:
            meant = closest(key, list(values))
            hint = (
                f"did you mean {meant!r}?" if meant else f"there are {', '.join([*values][:_FEW]) or 'none'}"
            )
            raise KeyError(f"{name} has no value {key!r} with a sharding; {hint}")
        failures += _failure(opened, key, values[key], wanted, meshes, exact=exact)
    if failures:
        raise AssertionError("\n".join([f"shardings of {name} differ", *failures]))


def _data(program: str | bytes | os.PathLike[str]) -> tuple[str | bytes, str]:
    if isinstance(program, str | bytes):
        return program, "<program>"
    return Path(program).read_bytes(), str(program)


def _values(program: Program, function: str | None) -> dict[str, Annotation]:
    """What the program says about its values, by all names that these have; of two the Shardy one."""
    found: dict[str, Annotation] = {}
    for side, what in ((program.inputs, "argument"), (program.outputs, "result")):
        if function in (None, *(one.scope for one in side)):
            found.update({f"{what} {i}": one for i, one in enumerate(side)})
            found.update({one.name: one for one in side})
    own = dict(found)
    for one in program.annotations:
        if function in (None, one.scope) and one.name not in own:
            known = found.get(one.name)
            if known is None or (known.scope == one.scope and known.carrier in (HLO, MHLO)):
                found[one.name] = one
    return found


def _failure(
    program: Program,
    key: str,
    value: Annotation,
    wanted: Sharding | None,
    meshes: MeshAttr | Mapping[str, MeshAttr],
    *,
    exact: bool,
) -> list[str]:
    where = f"{key} ({value.opcode}, {value.shape}, {program.line(value)})"
    if value.sharding is None or wanted is None:
        if value.sharding is None and wanted is None:
            return []
        actual = "none" if value.sharding is None else cropped(value.sharding)
        return [f"{where}:", f"  actual:   {actual}", f"  expected: {wanted}"]
    one = Placed(value.sharding, value.mesh, value.manual_axes)
    other = read_sharding(wanted, meshes, manual_axes=value.manual_axes, name=f"<expected of {key}>")
    shape = value.shape.dims if value.shape and min(value.shape.dims, default=0) >= 0 else None
    found = compare_shardings(one, other, shape=shape)
    if found.verdict is Verdict.SAME_FORM or (found.is_equal and not exact):
        return []
    return [f"{where}:", *_difference(one, other, found)]


def _difference(actual: Placed, expected: Placed, found: Comparison) -> list[str]:
    lines = [f"  actual:   {_shown(actual)}", f"  expected: {_shown(expected)}"]
    lines += [
        f"  {line.replace(' in A', ' actually').replace(' in B', ' expected')}" for line in found.differences
    ]
    if found.changed:
        some = ", ".join(map(str, found.changed[:_FEW])) + (", ..." if len(found.changed) > _FEW else "")
        lines.append(f"  {len(found.changed)} of {found.devices} devices hold another part: {some}")
    return lines


def _shown(one: Placed) -> str:
    text, grid = str(one), str(one.grid())
    return text if text == grid else f"{text}, that is {grid}"
