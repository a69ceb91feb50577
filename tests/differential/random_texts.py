"""Seeded random HLO sharding texts: valid ones in any order and spacing, and small damage to them."""

from __future__ import annotations

import random
import re

_DEVICES = (1, 2, 2, 3, 4, 4, 6, 8, 8, 12, 16, 24, 60)
_TYPES = ("manual", "replicated", "unreduced", "maximal", "manual", "replicated")
_SIMPLE = ("replicated", "manual", "unknown", "unreduced", "maximal device=3", "maximal device=-1")
_GAPS = (" ", "  ", "\n", "\t", " /*c*/ ", " // c\n", "/*index=5*/")
_STRAY = (
    "{", "}", "[", "]", "(", ")", ",", "<=", "=", ":", "T", "<", "-", "/", "'", '"', "0", "1", "2", "-1", "4",
    "1.5", "2x2", "99999999999999999999", "18446744073709551615", "manual", "replicated", "maximal",
    "unknown", "unreduced", "device=", "devices=", "last_tile_dims=", "last_tile_dim_replicate", "metadata=",
    "shard_as", "shard_like", "foo", "foo=", "op_name=", "profile_type=",
    "source_line=", '"a"', "\\", "\0", "é", "mesh",
    "f32", "nan",
)  # fmt: skip
_TOKEN = re.compile(r"\s+|/\*.*?\*/|//[^\n]*|\"(?:[^\"\\]|\\.)*\"|<=|[A-Za-z_][\w.-]*=?|-?\d+|.", re.DOTALL)
_METADATA = (
    'op_name="a"', 'op_type="b"', 'source_file="f.py"', "source_line=7", "source_end_line=-1",
    "source_column=3", "source_end_column=2147483647", "profile_type={}", "profile_type={0,3}",
    'deduplicated_name="d"', 'scheduling_name="s"', "stack_frame_id=4", 'metadata_payload="p"',
    'op_name="\\141\\n"', "op_name='it\\'s'", 'op_type=""', 'metadata_payload=""', 'op_name="\\u00e9\\x41"',
)  # fmt: skip


def random_texts(seed: int, count: int) -> list[str]:
    """`count` texts; the same ones for the same seed, in any process."""
    rng = random.Random(seed)
    return [damaged(rng, text) if rng.random() < 0.5 else text for text in (valid(rng) for _ in range(count))]


def valid(rng: random.Random) -> str:
    """A sharding that XLA should read, in canonical form or not."""
    if rng.random() < 0.15:
        elements = [leaf(rng) for _ in range(rng.randint(0, 7))]
        return f"{{{rng.choice((',', ', ', ', /*index=5*/', ' ,')).join(elements)}}}"
    return leaf(rng)


def leaf(rng: random.Random) -> str:
    items = [grid(rng)] if rng.random() < 0.75 else rng.choice(_SIMPLE).split()
    if "devices" in items[0]:
        items += subgroups(rng)
    if rng.random() < 0.2:
        items.append(f"shard_{rng.choice(('as', 'like'))} {rng.choice((0, 1, 7, -1))}")
    if rng.random() < 0.2:
        items.append(f"metadata={metadata(rng)}")
    if rng.random() < 0.1:
        items.append(rng.choice(("last_tile_dims={}", "shard_like 2", "metadata={}", "manual", "replicated")))
    if rng.random() < 0.4:
        rng.shuffle(items)
    gap = " " if rng.random() < 0.7 else rng.choice(_GAPS)
    return "{" + gap.join(items) + "}"


def grid(rng: random.Random) -> str:
    total = rng.choice(_DEVICES)
    dims = factors(rng, total)
    shape = f"devices=[{','.join(map(str, dims))}]"
    if rng.random() < 0.3 and total > 1:
        ids = list(range(total))
        if rng.random() < 0.7:
            rng.shuffle(ids)
        return shape + rng.choice((",", ",", ", ", " , ")).join(map(str, ids))
    if rng.random() < 0.4:
        return f"{shape}<=[{total}]"
    sizes = factors(rng, total)
    if len(sizes) == 1:
        return f"{shape}<=[{total}]"
    perm = rng.sample(range(len(sizes)), len(sizes))
    return f"{shape}<=[{','.join(map(str, sizes))}]T({','.join(map(str, perm))})"


def factors(rng: random.Random, n: int) -> list[int]:
    """Sizes with the product `n`, some of them 1."""
    sizes = [1] * rng.randint(1, 4)
    for prime in (2, 3, 5):
        while n % prime == 0:
            sizes[rng.randrange(len(sizes))] *= prime
            n //= prime
    return sizes


def subgroups(rng: random.Random) -> list[str]:
    kind = rng.random()
    if kind < 0.35:
        return []
    if kind < 0.65:
        return ["last_tile_dim_replicate"]
    types = rng.choices(_TYPES, k=rng.randint(1, 3))
    return [f"last_tile_dims={{{rng.choice((', ', ',')).join(types)}}}"]


def metadata(rng: random.Random) -> str:
    entries = []
    for _ in range(rng.choice((1, 1, 1, 2))):
        fields = rng.sample(_METADATA, rng.randint(0, 3))
        entries.append("{" + rng.choice((" ", ", ")).join(fields) + "}")
    return entries[0] if len(entries) == 1 and rng.random() < 0.8 else "{" + ", ".join(entries) + "}"


def damaged(rng: random.Random, text: str) -> str:
    """The text with a few tokens swapped, left out, doubled, replaced or added."""
    tokens = _TOKEN.findall(text)
    for _ in range(rng.choice((1, 1, 2, 3))):
        at = rng.randrange(len(tokens)) if tokens else 0
        how = rng.randrange(6)
        if how == 0:
            del tokens[at : at + 1]
        elif how == 1:
            tokens[at:at] = tokens[at : at + 1]
        elif how == 2:
            other = rng.randrange(len(tokens)) if tokens else 0
            tokens[at : at + 1], tokens[other : other + 1] = tokens[other : other + 1], tokens[at : at + 1]
        elif how == 3:
            tokens[at : at + 1] = [rng.choice(_STRAY)]
        elif how == 4:
            tokens.insert(at, rng.choice(_STRAY))
        else:
            tokens = [
                str(int(t) + rng.choice((-1, 1))) if i == at and t.isdecimal() else t
                for i, t in enumerate(tokens)
            ]
    return "".join(tokens)
