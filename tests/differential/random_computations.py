"""Seeded random StableHLO modules with manual computations: nested ones, in regions, with many results."""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING

from tests.differential.random_cases import Axis, mesh_text, random_body
from tests.differential.random_modules import Mesh, Value, Writer, names, types

if TYPE_CHECKING:
    from collections.abc import Sequence

_NAMES = ("x", "y", "z", "a b", "data", "B")
_SIZES = (1, 2, 2, 2, 3, 4)
_MOST_DEVICES = 16
_DEEPEST = 2


def random_computations(seed: int) -> str:
    """One module's text."""
    return ComputationWriter(random.Random(seed)).module()


class ComputationWriter(Writer):
    """Writes modules with manual computations on one mesh.

    Inside one, nothing else is known than its arguments, and nothing uses the axes that are manual.
    """

    def __init__(self, rng: random.Random) -> None:
        super().__init__(rng)
        self.manual: tuple[str, ...] = ()
        self.nesting = 0

    def _axes(self) -> list[Axis]:
        while True:
            axes = [
                Axis(name, self.rng.choice(_SIZES))
                for name in self.rng.sample(_NAMES, self.rng.randint(1, 4))
            ]
            if 2 <= math.prod(axis.size for axis in axes) <= _MOST_DEVICES:
                return axes

    def _meshes(self) -> list[Mesh]:
        axes = self._axes()
        total = math.prod(axis.size for axis in axes)
        ids = self.rng.sample(range(total), total) if self.rng.random() < 0.2 else None
        mesh = Mesh("@mesh", mesh_text(axes, ids).removeprefix("#sdy.mesh"), tuple(axes))
        return [mesh, Mesh("@maximal_mesh", "<[], device_ids=[0]>", ())]

    def _operations(self, values: list[Value], count: int, depth: int) -> list[str]:
        lines = super()._operations(values, count, depth)
        if self.nesting < _DEEPEST and self.rng.random() < (0.9 if depth == 0 else 0.3):
            outer_depth, self.depth = self.depth, depth
            more = self._manual(values)
            self.depth = outer_depth
            lines += [f"    {line}" for line in more] if depth == 0 else more
        return lines

    def _sharding(self, value: Value) -> str:
        if self.nesting == 0 and self.rng.random() < 0.1:
            return f"{self.maximal.reference}, []"
        mesh = self.named[0]
        free = [axis for axis in mesh.axes if axis.name not in self.manual]
        return f"{mesh.reference}, {random_body(self.rng, free, len(value.shape))}"

    def _attributes(self, *results: Value, fixed: Sequence[str] = ()) -> str:
        """Only now and then a sharding, so that most operations in a computation have none."""
        if self.rng.random() < 0.4:
            return super()._attributes(*results, fixed=fixed)
        return f" {{{', '.join(fixed)}}}" if fixed else ""

    def _call(self, values: list[Value]) -> list[str]:
        return [] if self.nesting else super()._call(values)

    def _no_result(self, values: list[Value]) -> list[str]:
        operand = self.rng.choice(values)
        return [
            f"stablehlo.custom_call @none({operand.name}) {{has_side_effect = true}} : ({operand.type}) -> ()"
        ]

    def _manual(self, values: list[Value]) -> list[str]:
        """One manual computation; its results join `values`."""
        free = [axis for axis in self.named[0].axes if axis.name not in self.manual]
        own = self.rng.sample(free, self.rng.randint(0, len(free)))
        operands = [self.rng.choice(values) for _ in range(self.rng.randint(1, 3))]
        pairs = [self._cut(operand, own, to_local=True) for operand in operands]
        arguments = [Value(self._name(), local) for local, _ in pairs]
        outer, self.manual = self.manual, (*self.manual, *(axis.name for axis in own))
        self.nesting += 1
        inner: list[Value] = list(arguments)
        body = self._operations(inner, self.rng.randint(1, 4), self.depth + 1)
        chosen = [self.rng.choice(inner) for _ in range(self.rng.choice((1, 1, 2, 3)))]
        returned = [self._result(value) for value in chosen]
        body += [
            f"  {new.name} = stablehlo.negate {old.name}{self._attributes(new)} : {old.type}"
            for new, old in zip(returned, chosen, strict=True)
        ]
        self.nesting -= 1
        self.manual = outer
        outside = [self._cut(value, own, to_local=False) for value in returned]
        name = self._name()
        group = name if len(returned) == 1 else f"{name}:{len(returned)}"
        results = [
            Value(name if len(returned) == 1 else f"{name}#{k}", shape)
            for k, (shape, _) in enumerate(outside)
        ]
        values += results
        manual_axes = ", ".join(axis_text(axis.name) for axis in own)
        parameters = ", ".join(f"{argument.name}: {argument.type}" for argument in arguments)
        outputs = f"({types(results)})" if len(results) > 1 else results[0].type
        used = f"stablehlo.custom_call @use({names(results)}) {{has_side_effect = true}}"
        ins, outs = (", ".join(sharding for _, sharding in side) for side in (pairs, outside))
        head = (
            f"{group} = sdy.manual_computation({names(operands)}) in_shardings=[{ins}] out_shardings=[{outs}]"
        )
        return [
            f"{head} manual_axes={{{manual_axes}}} ({parameters}) {{",
            *body,
            f"  sdy.return {names(returned)} : {types(returned)}",
            f"}} : ({types(operands)}) -> {outputs}",
            f"{used} : ({types(results)}) -> ()",
        ]

    def _cut(self, value: Value, own: Sequence[Axis], *, to_local: bool) -> tuple[tuple[int, ...], str]:
        """The shape on the other side of a computation's border, and the sharding of the whole value."""
        waiting = self.rng.sample(own, len(own))
        free = [a for a in self.named[0].axes if a.name not in self.manual and a not in own]
        unused = self.rng.sample(free, len(free))
        shape = []
        dims = []
        for size in value.shape:
            axes = []
            while waiting and self.rng.random() < 0.6:
                axis = waiting[-1]
                if to_local and size % axis.size:
                    break
                size = size // axis.size if to_local else size * axis.size
                axes.append(waiting.pop().name)
            if unused and self.rng.random() < 0.2:
                axes.append(unused.pop().name)
            shape.append(size)
            dims.append(
                f"{{{', '.join([*map(axis_text, axes), *(['?'] if self.rng.random() < 0.3 else [])])}}}"
            )
        return tuple(shape), f"<@mesh, [{', '.join(dims)}]>"


def axis_text(name: str) -> str:
    return f'"{name}"'
