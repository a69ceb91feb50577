"""Random programs in pretty and generic text, with everything around their shardings that may confuse."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

MESHES = (
    'sdy.mesh @mesh = <["x"=2, "y"=4]>',
    'sdy.mesh @"o p" = <["x"=8], device_ids=[7, 6, 5, 4, 3, 2, 1, 0]>',
    "sdy.mesh @max = <[], device_ids=[3]>",
)
SHARDINGS = {  # by rank
    0: ("<@mesh, []>", "<@max, []>"),
    1: (
        '<@mesh, [{"x"}]>',
        '<@mesh, [{"x"}]>',
        '<@mesh, [{"y", ?}p1]>',
        "<@mesh, [{}]>",
        '<@"o p", [{"x":(2)2}]>',
        '<@mesh, [{}], replicated={"x"}>',
    ),
    2: (
        '<@mesh, [{"x"}, {"y"}]>',
        '<@mesh, [{"x"}, {}]>',
        '<@mesh, [{?}, {"y":(1)2}]>',
        '<@"o p", [{}, {"x"}]>',
    ),
}
TYPES = {
    0: ("tensor<f32>", "tensor<i1>"),
    1: ("tensor<8xf32>", "tensor<8xf32>", "tensor<16xi32>"),
    2: ("tensor<8x4xf32>",),
}
RULE = "sdy.sharding_rule = #sdy.op_sharding_rule<([i])->([i]) {i=8}>"
EXTRAS = (
    "a.b = 1 : i64",
    "zz",
    'n.s = "text"',
    'n.t = "} loc( {"',
    r'n.u = "\22 \\ //"',
    'n.v = "sdy.sharding = #sdy.sharding<@mesh, []>"',
    'n.w = "a/b"',
    "n.d = {a = {b = {c}}, d = [1, 2]}",
    'n.n = {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}',
    'xla.sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>',
    "sdy.unit",
    f'o.l = "{"long " * 500}"',
)  # fmt: skip
BAIT = ("", "", "// plain", '// {sdy.sharding = "', "// sdy.mesh @mesh = <[]>", "  ")
LOCATIONS = ("", "", "", " loc(#loc1)", ' loc("a")', ' loc("dir/file.py":1:2)', ' loc(fused["a b", unknown])')


def random_program(rng: random.Random) -> str:
    """One program's text; a few are invalid, as a sharding may be on the wrong type."""
    return Writer(rng).program()


class Writer:
    """Writes one program."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.count = 0
        self.fault = rng.random() < 0.1
        self.separator = rng.choice((", ", ", ", ", ", ",", " ,\n    "))

    def program(self) -> str:
        rng = self.rng
        meshes = [f"  {mesh}{rng.choice(LOCATIONS)}" for mesh in MESHES]
        functions = [line for i in range(rng.randint(1, 3)) for line in self.function(i)]
        body = [*functions, *meshes] if rng.random() < 0.15 else [*meshes, *functions]
        lines = [
            '#s = #sdy.sharding<@mesh, [{"x"}]>',
            'module @m attributes {a.b = "{"} {',
            *body,
            "}",
            '#loc1 = loc("f/g")',
        ]
        return "\n".join(lines) + rng.choice(("", "\n"))

    def function(self, number: int) -> list[str]:
        rng = self.rng
        count = rng.choice((0, 1, 3, 3, 90, 120))
        separator = rng.choice((", ", ", ", ",\n      "))
        extras = rng.choice(((0,), (0,), (0, 0, 0, 1, 2)))
        arguments = separator.join(f"%arg{i}: {self.value(extras)}" for i in range(count))
        results = ", ".join(self.value((0, 1)) for _ in range(rng.choice((0, 1, 2))))
        lines = [f"  func.func @f{number}({arguments})" + (f" -> ({results})" if results else "") + " {"]
        for _ in range(rng.randint(3, 25)):
            lines += self.operation()
            if bait := rng.choice(BAIT):
                lines.append(bait)
        return [*lines, "    return", "  }"]

    def value(self, extras: Sequence[int]) -> str:
        rank = self.rank()
        of_type = self.rng.choice(TYPES[rank])
        sharding = f"#sdy.sharding{self.sharding(rank)}"
        if rank == 1 and extras != (0,) and self.rng.random() < 0.2:
            sharding = self.rng.choice(("#s", '#sdy.sharding<mesh<["q"=2]>, [{"q"}]>'))
        return f"{of_type}{self.dictionary(f'sdy.sharding = {sharding}', self.rng.choice(extras))}"

    def rank(self) -> int:
        return self.rng.choice((0, 1, 1, 1, 2))

    def sharding(self, rank: int) -> str:
        if self.fault and self.rng.random() < 0.02:
            rank = (rank + 1) % 3
        return self.rng.choice(SHARDINGS[rank])

    def dictionary(self, sharding: str | None, extras: int, *more: str) -> str:
        entries = [*self.rng.sample(EXTRAS, extras), *more]
        if sharding and self.rng.random() < 0.85:
            entries.insert(self.rng.randint(0, len(entries)), sharding)
        return f" {{{self.separator.join(entries)}}}" if entries else ""

    def attributes(self, ranks: Sequence[int]) -> str:
        shardings = [self.sharding(rank) for rank in ranks]
        if ranks[0] == 1 and self.rng.random() < 0.1:
            shardings[0] = '<mesh<["q"=2]>, [{"q"}]>'
        if len(ranks) == 1 and ranks[0] == 1 and self.rng.random() < 0.1:
            shardings = ["#s"]
        more = [RULE] if self.rng.random() < 0.2 else []
        is_plain = all(text in ('<@mesh, [{"x"}]>', "<@mesh, [{}]>", "<@mesh, []>") for text in shardings)
        if is_plain and self.rng.random() < 0.3:
            more.append('xla.sdy.manual_axes = #sdy<manual_axes{"y"}>')
        listed = f"sdy.sharding = #sdy.sharding_per_value<[{', '.join(shardings)}]>"
        return self.dictionary(listed, self.rng.choice((0, 0, 0, 0, 1, 2)), *more)

    def operation(self) -> list[str]:
        write = self.rng.choice(
            (self.unary, self.unary, self.unary, self.generic, self.constraint, self.constraint, self.several,
             self.constant, self.loop, self.region, self.group, self.two_on_a_line)
        )  # fmt: skip
        return [f"    {line}" for line in write()]

    def name(self) -> str:
        self.count += 1
        return f"%{self.count}"

    def where(self) -> str:
        return self.rng.choice(LOCATIONS)

    def unary(self) -> list[str]:
        rank = self.rank()
        of_type = self.rng.choice(TYPES[rank])
        return [f"{self.name()} = stablehlo.abs %a{self.attributes([rank])} : {of_type}{self.where()}"]

    def two_on_a_line(self) -> list[str]:
        (first,), (second,) = self.unary(), self.constraint()
        return [f"{first} {second}"]

    def generic(self) -> list[str]:
        rank = self.rank()
        of_type = self.rng.choice(TYPES[rank])
        head = f'{self.name()} = "stablehlo.abs"(%a) <{{p = 1 : i64}}>'
        return [f"{head}{self.attributes([rank])} : ({of_type}) -> {of_type}{self.where()}"]

    def constraint(self) -> list[str]:
        rank = self.rank()
        of_type = self.rng.choice(TYPES[rank])
        name = self.rng.choice(("sharding_constraint", "reshard"))
        dictionary = self.rng.choice(("", "", f" {{{RULE}}}", " {a.b}"))
        return [
            f"{self.name()} = sdy.{name} %a#1 {self.sharding(rank)}{dictionary} : {of_type}{self.where()}"
        ]

    def several(self) -> list[str]:
        ranks = [self.rank() for _ in range(self.rng.randint(2, 6))]
        types = ", ".join(self.rng.choice(TYPES[rank]) for rank in ranks)
        head = f"{self.name()}:{len(ranks)} = stablehlo.custom_call @f(%a)"
        return [f"{head}{self.attributes(ranks)} : (tensor<f32>) -> ({types}){self.where()}"]

    def constant(self) -> list[str]:
        dialect = self.rng.choice(("sdy", "stablehlo"))
        return [f"{self.name()} = {dialect}.constant{self.attributes([1])} dense<1.0> : tensor<8xf32>"]

    def loop(self) -> list[str]:
        attributes = self.attributes([1])
        keyword = f" attributes{attributes}" if attributes else ""
        return [
            f"{self.name()} = stablehlo.while(%i = %a) : tensor<8xf32>{keyword}",
            "cond {",
            "  stablehlo.return %p : tensor<i1>",
            "} do {",
            *(f"  {line}" for line in (self.unary() if self.rng.random() < 0.7 else self.loop())),
            "  stablehlo.return %i : tensor<8xf32>",
            f"}}{self.where()}",
        ]

    def region(self) -> list[str]:
        name = self.rng.choice(("if", "case", "sort"))
        return [
            f'{self.name()} = "stablehlo.{name}"(%p) ({{',
            *(f"  {line}" for line in (self.unary() if self.rng.random() < 0.7 else self.region())),
            "  stablehlo.return %b : tensor<8xf32>",
            f"}}){self.attributes([1])} : (tensor<i1>) -> tensor<8xf32>{self.where()}",
        ]

    def group(self) -> list[str]:
        return [f"sdy.sharding_group %a group_id={self.rng.randrange(9)} : tensor<8xf32>{self.where()}"]
