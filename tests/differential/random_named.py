"""Seeded random texts of shardings over named meshes: valid ones in many spellings, and damaged ones."""

from __future__ import annotations

import math
import random

from tests.differential.random_texts import damaged

_NAMES = ("a", "b", "x", "data", "model", "_axis_0", "my axis", "0", "1", "é", "a.b", "A", "a:(1)2")
_SIZES = (1, 2, 2, 2, 3, 4, 4, 6, 8)
_MOST_DEVICES = 96


def random_named(seed: int, count: int, damage: float = 0.0) -> list[str]:
    """`count` texts; the same ones for the same seed, in any process."""
    rng = random.Random(seed)
    return [
        damaged(rng, text) if rng.random() < damage else text for text in (valid(rng) for _ in range(count))
    ]


def valid(rng: random.Random) -> str:
    """A sharding over a named mesh, or a tuple with some."""
    if rng.random() < 0.1:
        others = ("{replicated}", "{devices=[2,2]<=[4]}", "{maximal device=1}", "{manual}")
        elements = [leaf(rng) if rng.random() < 0.6 else rng.choice(others) for _ in range(rng.randint(1, 7))]
        return f"{{{', '.join(elements)}}}"
    return leaf(rng)


def leaf(rng: random.Random) -> str:
    if rng.random() < 0.04:
        return f"{{maximal_mesh[device_id={rng.choice((0, 3, -1, 1 << 40))}]{metadata(rng)}}}"
    if rng.random() < 0.03:
        return f"{{mesh[], {rng.choice(('replicated', '[]', '[{}, {?}]'))}}}"
    sizes = mesh_sizes(rng)
    names = rng.sample(_NAMES, len(sizes))
    mesh = ",".join(f"{quoted(rng, name)}={size}" for name, size in zip(names, sizes, strict=True))
    comma = rng.choice((", ", ",", " ", ""))
    return f"{{mesh[{mesh}]{device_ids(rng, sizes)}{comma}{body(rng, names, sizes)}{metadata(rng)}}}"


def mesh_sizes(rng: random.Random) -> list[int]:
    sizes = [rng.choice(_SIZES) for _ in range(rng.randint(1, 4))]
    while math.prod(sizes) > _MOST_DEVICES:
        sizes.pop()
    return sizes


def quoted(rng: random.Random, name: str) -> str:
    quote = rng.choice("''\"")
    return f"{quote}{name}{quote}"


def device_ids(rng: random.Random, sizes: list[int]) -> str:
    total, kind = math.prod(sizes), rng.random()
    if kind < 0.6 or total < 3:
        return ""
    if kind < 0.8:
        ids = rng.sample(range(total), total)
        return "" if ids == sorted(ids) else f", device_ids=({','.join(map(str, ids))})"
    rest = total
    factors: list[int] = []
    while rest > 1 and len(factors) < 4:
        factors.append(rng.choice([d for d in range(2, rest + 1) if rest % d == 0]))
        rest //= factors[-1]
    factors.append(rest)
    perm = rng.sample(range(len(factors)), len(factors))
    return f", device_ids=([{','.join(map(str, factors))}]T({','.join(map(str, perm))}))"


def body(rng: random.Random, names: list[str], sizes: list[int]) -> str:
    if rng.random() < 0.1:
        return rng.choice(("replicated", "manual", "unreduced"))
    parts = [part for index in range(len(sizes)) for part in cut(rng, index, sizes[index])]
    rng.shuffle(parts)
    dims: list[list[Part]] = [[] for _ in range(rng.choice((0, 1, 2, 2, 3)))]
    lists: dict[str, list[Part]] = {"replicated": [], "unreduced": [], "manual": []}
    for part in parts:
        place = rng.random()
        if place < 0.5 and dims:
            rng.choice(dims).append(part)
        elif place < 0.75:
            lists[rng.choice(tuple(lists))].append(part)
    text = [f"[{rng.choice((', ', ',')).join([dim(rng, one, names, sizes) for one in dims])}]"]
    attributes = [
        f"{key}={{{', '.join(refs(rng, sorted(axes), names, sizes))}}}"
        for key, axes in lists.items()
        if axes or rng.random() < 0.05
    ]
    rng.shuffle(attributes)
    return rng.choice((", ", ",")).join(text + attributes)


Part = tuple[int, int, int]  # the axis, the pre-size and the size


def cut(rng: random.Random, index: int, size: int) -> list[Part]:
    """An axis in one piece, or in a chain of parts."""
    parts, pre = [], 1
    while pre < size:
        rest = size // pre
        piece = rest if rng.random() < 0.6 else rng.choice([d for d in range(2, rest + 1) if rest % d == 0])
        parts.append((index, pre, piece))
        pre *= piece
    return parts or [(index, 1, 1)]


def refs(rng: random.Random, parts: list[Part], names: list[str], sizes: list[int]) -> list[str]:
    """The texts of the parts, those that continue each other as one."""
    merged: list[Part] = []
    for index, pre, size in parts:
        if merged and merged[-1][0] == index and merged[-1][1] * merged[-1][2] == pre:
            merged[-1] = (index, merged[-1][1], merged[-1][2] * size)
        else:
            merged.append((index, pre, size))
    return [ref(rng, part, names, sizes) for part in merged]


def ref(rng: random.Random, part: Part, names: list[str], sizes: list[int]) -> str:
    index, pre, size = part
    name = names[index] if rng.random() < 0.95 or str(index) in names else str(index)
    whole = size == sizes[index]
    return quoted(rng, name) + ("" if whole else f":({pre}){rng.choice(('', ' '))}{size}")


def dim(rng: random.Random, parts: list[Part], names: list[str], sizes: list[int]) -> str:
    texts = refs(rng, parts, names, sizes)
    if rng.random() < 0.3:
        texts.append("?")
    return f"{{{rng.choice((', ', ',')).join(texts)}}}"


def metadata(rng: random.Random) -> str:
    return rng.choice(("",) * 8 + (', metadata={op_name="m"}', ', metadata={{op_name="m"}, {source_line=3}}'))
