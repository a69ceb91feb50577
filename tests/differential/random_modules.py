"""Seeded random StableHLO modules with shardings in every place that can carry one.

They are written by hand-made rules rather than by MLIR's printer, so that they hold what people and other
tools write: inline meshes, aliases, comments, generic forms, and text that only looks like a sharding.
"""

from __future__ import annotations

import dataclasses
import math
import random
from typing import TYPE_CHECKING

from tests.differential.random_cases import mesh_text, random_axes, random_body

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.differential.random_cases import Axis

MAX_DEVICES = 64
BAIT = (
    "// %0 = stablehlo.tanh %1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>}",
    '// unbalanced " and { and <',
    "//",
)
STRINGS = (
    "sdy.sharding = #sdy.sharding<@mesh, []>",
    "{sdy.sharding = ",
    "// not a comment",
    "}> )]",
    r"a \22quoted\22 \\ word",
    r"a \"quoted\" word",
)


@dataclasses.dataclass(frozen=True)
class Value:
    """An SSA value of a tensor type."""

    name: str
    shape: tuple[int, ...]
    element: str = "f32"

    @property
    def type(self) -> str:
        return f"tensor<{''.join(f'{size}x' for size in self.shape)}{self.element}>"


@dataclasses.dataclass(frozen=True)
class Mesh:
    """A mesh: how a sharding refers to it, and its axes (none for a maximal one)."""

    reference: str
    text: str
    axes: tuple[Axis, ...]


def random_module(seed: int) -> str:
    """One module's text."""
    return Writer(random.Random(seed)).module()


class Writer:
    """Writes one module; `lines` collects the operations of the block at hand."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.count = 0
        self.depth = 0
        self.aliases: list[str] = []
        self.meshes = self._meshes()
        self.named = [mesh for mesh in self.meshes if mesh.axes]
        self.maximal = next(mesh for mesh in self.meshes if not mesh.axes)
        self.callees: list[tuple[str, list[Value], list[Value]]] = []

    def module(self) -> str:
        functions = [self._function(f"helper{k}", is_main=False) for k in range(self.rng.randrange(3))]
        functions.insert(self.rng.randrange(len(functions) + 1), self._function("main", is_main=True))
        meshes = [f"  sdy.mesh {m.reference} = {m.text}" for m in self.meshes if m.reference.startswith("@")]
        note = self.rng.choice(STRINGS)
        body = [*meshes, *functions]
        if self.rng.random() < 0.2:  # meshes may stand after their uses
            body = [*functions, *meshes]
        partitions = math.prod(axis.size for axis in self.named[0].axes)
        attributes = f'mhlo.num_partitions = {partitions} : i32, some.note = "{note}"'
        header = f"module @random attributes {{{attributes}}} {{"
        return "\n".join([*self.aliases, *self._bait(), header, *body, "}", ""])

    def _meshes(self) -> list[Mesh]:
        """One to four meshes over the same devices, in different orders; one inline; then a maximal one."""
        axes = self._axes()
        total = math.prod(axis.size for axis in axes)
        meshes: list[Mesh] = []
        for name in ("@mesh", '@"odd mesh"', "@mesh.2$x", "")[: self.rng.randint(1, 4)]:
            ids = self.rng.sample(range(total), total) if meshes or self.rng.random() < 0.2 else None
            text = mesh_text(axes, ids).removeprefix("#sdy.mesh")
            meshes.append(Mesh(name or f"mesh{text}", text, tuple(axes)))
            axes = self.rng.sample(axes, len(axes))
        device = self.rng.randrange(total)
        return [*meshes, Mesh("@maximal_mesh", f"<[], device_ids=[{device}]>", ())]

    def _axes(self) -> list[Axis]:
        while True:
            axes = random_axes(self.rng)
            if 8 <= math.prod(axis.size for axis in axes) <= MAX_DEVICES:
                return axes

    def _function(self, name: str, *, is_main: bool) -> str:
        arguments = [self._value(f"%arg{k}") for k in range(self.rng.randint(1, 4))]
        values = list(arguments)
        lines = self._operations(values, self.rng.randint(3, 9), depth=0)
        results, last = self._results(values, (0, 2, 3) if is_main else (1, 2, 3))
        if not is_main:
            self.callees.append((name, arguments, results))
        inputs = ", ".join(f"{v.name}: {v.type}{self._value_attributes(v)}" for v in arguments)
        outputs = [f"{v.type}{self._value_attributes(v)}" for v in results]
        arrow = f" -> ({', '.join(outputs)})" if outputs else ""
        operands = f" {', '.join(v.name for v in results)} : {types(results)}" if results else ""
        visibility = "public" if is_main else "private"
        head = f"  func.func {visibility} @{name}({inputs}){arrow} {{"
        return "\n".join([head, *lines, *last, f"    return{operands}", "  }"])

    def _results(self, values: Sequence[Value], counts: Sequence[int]) -> tuple[list[Value], list[str]]:
        """What a function returns, and the operations that make it.

        XLA's front end makes different HLO of the two notations where a function returns one result of
        several, the same value twice, or (from main) a single value; so each result gets its own operation.
        """
        operands = [self.rng.choice(values) for _ in range(self.rng.choice(counts))]
        results = [self._result(value) for value in operands]
        lines = [
            f"    {result.name} = stablehlo.{unary} {operand.name}{self._attributes(result)} : {operand.type}"
            for result, operand, unary in zip(results, operands, ("negate", "sine", "abs"), strict=False)
        ]
        return results, lines

    def _operations(self, values: list[Value], count: int, depth: int) -> list[str]:
        """Some operations at a depth of nested regions; their results join `values`."""
        writers = [
            self._binary, self._binary, self._generic, self._constant, self._constraint, self._call,
            self._several_results, self._no_result, self._barrier, self._reduce, self._transpose,
        ]  # fmt: skip
        if depth < 2:
            writers += [self._while, self._case, self._sort]
        outer_depth, self.depth = self.depth, depth
        lines: list[str] = []
        for _ in range(count):
            lines += self.rng.choice(writers)(values)
            if self.rng.random() < 0.1:
                lines += self._bait()
        self.depth = outer_depth
        return [f"    {line}" for line in lines] if depth == 0 else lines

    def _bait(self) -> list[str]:
        return [self.rng.choice(BAIT)] if self.rng.random() < 0.5 else []

    def _value(self, name: str | None = None) -> Value:
        rank = self.rng.choices(range(4), weights=(2, 3, 4, 2))[0]
        return Value(name or self._name(), tuple(self.rng.choice((3, 8, 16)) for _ in range(rank)))

    def _name(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def _result(self, like: Value) -> Value:
        return Value(self._name(), like.shape, like.element)

    def _sharding(self, value: Value) -> str:
        """What stands between `<` and `>`."""
        if self.rng.random() < 0.1:
            return f"{self.maximal.reference}, []"
        mesh = self.rng.choice(self.named)
        return f"{mesh.reference}, {random_body(self.rng, mesh.axes, len(value.shape))}"

    def _value_attributes(self, value: Value) -> str:
        """The dictionary of an argument or result."""
        attribute = self._aliased(f"#sdy.sharding<{self._sharding(value)}>")
        return self._dictionary([f"sdy.sharding = {attribute}"], self._extras(prefixed=True))

    def _attributes(self, *results: Value, fixed: Sequence[str] = ()) -> str:
        """The dictionary of an operation."""
        shardings = ", ".join(f"<{self._sharding(value)}>" for value in results)
        attribute = self._aliased(f"#sdy.sharding_per_value<[{shardings}]>")
        return self._dictionary([f"sdy.sharding = {attribute}"], [*fixed, *self._extras()])

    def _aliased(self, attribute: str) -> str:
        if self.rng.random() < 0.85:
            return attribute
        self.aliases.append(f"#alias{len(self.aliases)} = {attribute}")
        return f"#alias{len(self.aliases) - 1}"

    def _extras(self, *, prefixed: bool = False) -> list[str]:
        extras = [
            f'some.note = "{self.rng.choice(STRINGS)}"',
            f'some.other = "{self.rng.choice(STRINGS)}"',
            "a.unit",
            "z.last = [1 : i64, {inner = dense<2> : tensor<1xi64>}]",
        ]
        if not prefixed:
            extras.append(f'mhlo.frontend_attributes = {{note = "{self.rng.choice(STRINGS[1:4])}"}}')
        return [extra for extra in extras if self.rng.random() < 0.25]

    def _dictionary(self, sharding: list[str], others: list[str]) -> str:
        """` {...}` with the sharding (mostly) and the others in any order; empty when there are none."""
        entries = [*(sharding if self.rng.random() < 0.7 else []), *others]
        self.rng.shuffle(entries)
        if not entries:
            return ""
        separator = self.rng.choice((", ", ", ", ",", " ,\n   "))
        return f" {{{separator.join(entries)}}}"

    def _binary(self, values: list[Value]) -> list[str]:
        left = self.rng.choice(values)
        right = self.rng.choice([value for value in values if value.type == left.type])
        result = self._result(left)
        values.append(result)
        attributes = self._attributes(result)
        return [f"{result.name} = stablehlo.add {left.name}, {right.name}{attributes} : {left.type}"]

    def _generic(self, values: list[Value]) -> list[str]:
        operand = self.rng.choice(values)
        result = self._result(operand)
        values.append(result)
        attributes = self._attributes(result)
        call = f'"stablehlo.tanh"({operand.name}){attributes}'
        return [f"{result.name} = {call} : ({operand.type}) -> {result.type}"]

    def _constant(self, values: list[Value]) -> list[str]:
        result = self._value()
        values.append(result)
        return [f"{result.name} = stablehlo.constant{self._attributes(result)} dense<1.5> : {result.type}"]

    def _constraint(self, values: list[Value]) -> list[str]:
        operand = self.rng.choice(values)
        result = self._result(operand)
        values.append(result)
        sharding = self._sharding(operand)
        return [f"{result.name} = sdy.sharding_constraint {operand.name} <{sharding}> : {operand.type}"]

    def _several_results(self, values: list[Value]) -> list[str]:
        operand, count = self.rng.choice(values), self.rng.randint(2, 4)
        name = self._name()
        results = [self._value(f"{name}#{k}") for k in range(count)]
        values += results
        attributes = self._attributes(*results, fixed=["has_side_effect = true"])
        call = f"stablehlo.custom_call @several({operand.name}){attributes}"
        return [f"{name}:{count} = {call} : ({operand.type}) -> ({types(results)})"]

    def _no_result(self, values: list[Value]) -> list[str]:
        operand = self.rng.choice(values)
        sharding = f"sdy.sharding = #sdy.sharding_per_value<[<{self.maximal.reference}, []>]>"
        attributes = self._dictionary([sharding], ["has_side_effect = true"])
        return [f"stablehlo.custom_call @none({operand.name}){attributes} : ({operand.type}) -> ()"]

    def _barrier(self, values: list[Value]) -> list[str]:
        operands = [self.rng.choice(values) for _ in range(self.rng.randint(1, 3))]
        name, results = self._group(operands)
        values += results
        attributes = self._attributes(*results)
        return [f"{name} = stablehlo.optimization_barrier{attributes} {names(operands)} : {types(operands)}"]

    def _transpose(self, values: list[Value]) -> list[str]:
        operand = self.rng.choice(values)
        permutation = self.rng.sample(range(len(operand.shape)), len(operand.shape))
        result = Value(self._name(), tuple(operand.shape[k] for k in permutation))
        values.append(result)
        attributes = self._attributes(result)
        head = f"{result.name} = stablehlo.transpose {operand.name}, dims = {permutation}{attributes}"
        return [f"{head} : ({operand.type}) -> {result.type}"]

    def _reduce(self, values: list[Value]) -> list[str]:
        """The short form of one operand, or the long form of two."""
        operand = self.rng.choice(values)
        dims = sorted(self.rng.sample(range(len(operand.shape)), self.rng.randint(0, len(operand.shape))))
        shape = tuple(size for k, size in enumerate(operand.shape) if k not in dims)
        zero = Value(self._name(), ())
        lines = [f"{zero.name} = stablehlo.constant dense<0.0> : tensor<f32>"]
        if self.rng.random() < 0.5:
            result = Value(self._name(), shape)
            values.append(result)
            head = f"{result.name} = stablehlo.reduce({operand.name} init: {zero.name}) applies stablehlo.add"
            tail = f"across dimensions = {dims}{self._attributes(result)}"
            return [*lines, f"{head} {tail} : ({operand.type}, tensor<f32>) -> {result.type}"]
        name = self._name()
        results = [Value(f"{name}#{k}", shape) for k in range(2)]
        values += results
        operands = ", ".join(f"({operand.name} init: {zero.name})" for _ in range(2))
        a, b, c, d = (self._name() for _ in range(4))
        scalar = "tensor<f32>"
        attributes = self._attributes(*results)
        head = f"{name}:2 = stablehlo.reduce{operands} across dimensions = {dims}{attributes}"
        return [
            *lines,
            f"{head} : ({operand.type}, {operand.type}, {scalar}, {scalar}) -> ({types(results)})",
            f" reducer({a}: {scalar}, {c}: {scalar}) ({b}: {scalar}, {d}: {scalar})  {{",
            *self._binary([Value(a, ()), Value(c, ())]),
            f"  stablehlo.return {a}, {d} : {scalar}, {scalar}",
            "}",
        ]

    def _sort(self, values: list[Value]) -> list[str]:
        candidates = [value for value in values if value.shape]
        if not candidates:
            return []
        operand = self.rng.choice(candidates)
        name, results = self._group([operand, operand])
        values += results
        a, b, c, d, less = (self._name() for _ in range(5))
        scalar = "tensor<f32>"
        inner = self._operations([Value(a, ()), Value(b, ())], self.rng.randrange(3), depth=2)
        call = f'"stablehlo.sort"({operand.name}, {operand.name})'
        return [
            f"{name} = {call} <{{dimension = 0 : i64, is_stable = true}}> ({{",
            f"^bb0({a}: {scalar}, {b}: {scalar}, {c}: {scalar}, {d}: {scalar}):",
            *inner,
            f"  {less} = stablehlo.compare LT, {a}, {b} : ({scalar}, {scalar}) -> tensor<i1>",
            f"  stablehlo.return {less} : tensor<i1>",
            f"}}){self._attributes(*results)} : ({operand.type}, {operand.type}) -> ({types(results)})",
        ]

    def _while(self, values: list[Value]) -> list[str]:
        operands = [self.rng.choice(values) for _ in range(self.rng.randint(1, 3))]
        name, results = self._group(operands)
        inner = [Value(self._name(), value.shape) for value in operands]
        bindings = ", ".join(f"{i.name} = {o.name}" for i, o in zip(inner, operands, strict=True))
        flag = self._name()
        body = self._operations([*values, *inner], self.rng.randint(1, 3), self.depth + 1)
        attributes = self._attributes(*results)
        values += results
        changed = [self._result(value) for value in inner]  # XLA drops what does not change or is not used
        pairs = zip(changed, inner, strict=True)
        negations = [f"  {new.name} = stablehlo.negate {old.name} : {old.type}" for new, old in pairs]
        used = f"stablehlo.custom_call @use({names(results)}) {{has_side_effect = true}}"
        return [
            f"{name} = stablehlo.while({bindings}) : {types(operands)}"
            + (f" attributes{attributes}" if attributes else ""),
            "cond {",
            f"  {flag} = stablehlo.custom_call @flag() {{has_side_effect = true}} : () -> tensor<i1>",
            f"  stablehlo.return {flag} : tensor<i1>",
            "} do {",
            *body,
            *negations,
            f"  stablehlo.return {names(changed)} : {types(changed)}",
            "}",
            f"{used} : ({types(results)}) -> ()",
        ]

    def _case(self, values: list[Value]) -> list[str]:
        chosen = [self.rng.choice(values) for _ in range(self.rng.randint(1, 3))]
        name, results = self._group(chosen)
        operation = self.rng.choice(("case", "if"))
        selector = Value(self._name(), (), "i32" if operation == "case" else "i1")
        flag = "stablehlo.custom_call @flag() {has_side_effect = true}"
        lines = [
            f"{selector.name} = {flag} : () -> {selector.type}",
            f'{name} = "stablehlo.{operation}"({selector.name}) ({{',
        ]
        for k in range(2):
            lines += ["}, {"] if k else []
            lines += self._operations(list(values), self.rng.randint(1, 3), self.depth + 1)
            lines.append(f"  stablehlo.return {names(chosen)} : {types(chosen)}")
        outputs = f"({types(results)})" if len(results) > 1 else results[0].type
        values += results
        return [*lines, f"}}){self._attributes(*results)} : ({selector.type}) -> {outputs}"]

    def _call(self, values: list[Value]) -> list[str]:
        if not self.callees:
            return []
        callee, arguments, returned = self.rng.choice(self.callees)
        lines: list[str] = []
        operands = []
        for argument in arguments:
            fitting = [value for value in values if value.type == argument.type]
            if not fitting:
                fitting = [self._result(argument)]
                lines.append(f"{fitting[0].name} = stablehlo.constant dense<0.5> : {argument.type}")
            operands.append(self.rng.choice(fitting))
        name, results = self._group(returned)
        values += results
        attributes = self._attributes(*results)
        outputs = f"({types(results)})" if len(results) > 1 else results[0].type
        call = "func.call" if self.depth else "call"
        head = f"{name} = {call} @{callee}({names(operands)}){attributes}"
        return [*lines, f"{head} : ({types(operands)}) -> {outputs}"]

    def _group(self, like: Sequence[Value]) -> tuple[str, list[Value]]:
        """The left-hand side for results like these, and the results."""
        name = self._name()
        if len(like) == 1:
            return name, [Value(name, like[0].shape)]
        return f"{name}:{len(like)}", [Value(f"{name}#{k}", value.shape) for k, value in enumerate(like)]


def names(values: Sequence[Value]) -> str:
    return ", ".join(value.name for value in values)


def types(values: Sequence[Value]) -> str:
    return ", ".join(value.type for value in values)
