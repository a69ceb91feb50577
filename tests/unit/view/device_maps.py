"""Which part of a tensor each device holds, worked out from the text of a sharding with NumPy alone."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_GRID = re.compile(
    r"\{devices=\[([\d,]+)\](?:<=\[([\d,]+)\](?:T\(([\d,]+)\))?|([\d,]+))"
    r"( last_tile_dim_replicate)?(?: last_tile_dims=\{([\w, ]+)\})?"
)
_REF = re.compile(r"[\"']([^\"']+)[\"'](?::\((\d+)\)(\d+))?")


class Held(NamedTuple):
    """What one device holds: the numbers of its shard, and its place in groups that are no copies."""

    shard: tuple[int, ...]
    inner: tuple[int, ...]


class DeviceMap(NamedTuple):
    """Into how many shards each dimension is cut, and what each device holds."""

    shards: tuple[int, ...]
    held: dict[int, Held]


def numbers(text: str | None) -> list[int]:
    return [int(number) for number in text.split(",")] if text else []


def of_grid(text: str) -> DeviceMap:
    """The map of a tiled HLO sharding."""
    found = _GRID.match(text)
    assert found, text
    dims = numbers(found[1])
    if found[4]:
        grid = np.array(numbers(found[4])).reshape(dims)
    else:
        reshape = numbers(found[2])
        perm = numbers(found[3]) or list(range(len(reshape)))
        grid = np.arange(np.prod(reshape)).reshape(reshape).transpose(perm).reshape(dims)
    types = (
        ["replicated"] if found[5] else [one.strip() for one in (found[6] or "").split(",") if one.strip()]
    )
    rank = len(dims) - len(types)
    inner = [rank + i for i, kind in enumerate(types) if kind != "replicated"]
    held = {}
    for at in np.ndindex(*dims):
        held[int(grid[at])] = Held(at[:rank], tuple(at[i] for i in inner))
    return DeviceMap(tuple(dims[:rank]), held)


def of_axes(
    dims: Sequence[str],
    sizes: Mapping[str, int],
    device_ids: Sequence[int] = (),
    inner: Sequence[str] = (),
) -> DeviceMap:
    """The map of a Shardy sharding.

    Args:
        dims: The text of each dimension's axes, such as `"x", "y":(1)2`.
        sizes: The axes of the mesh.
        device_ids: The order of its devices.
        inner: The texts of axes along which devices are no copies: manual or unreduced ones.
    """
    shape = tuple(sizes.values())
    devices = list(device_ids) or list(range(int(np.prod(shape))))
    held = {}
    counts: tuple[int, ...] = ()
    for device, at in zip(devices, itertools.product(*map(range, shape)), strict=True):
        where = dict(zip(sizes, at, strict=True))
        found = [_coordinate(dim, where, sizes) for dim in dims]
        groups = [_coordinate(text, where, sizes)[0] for text in inner]
        held[device] = Held(tuple(i for i, _ in found), tuple(groups))
        counts = tuple(n for _, n in found)
    return DeviceMap(counts, held)


def _coordinate(refs: str, where: Mapping[str, int], sizes: Mapping[str, int]) -> tuple[int, int]:
    """The place along some refs together, the first being major, and how many places there are."""
    place, count = 0, 1
    for name, pre_size, part in _REF.findall(refs):
        size = int(part) if part else sizes[name]
        behind = sizes[name] // (int(pre_size) * size) if part else 1
        place = place * size + where[name] // behind % size
        count *= size
    return place, count


def slices(index: Sequence[int], shards: Sequence[int], shape: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """The part of a tensor that a shard is."""
    found = []
    for i, n, size in zip(index, shards, shape, strict=True):
        length = -(-size // n)
        found.append((min(i * length, size), min((i + 1) * length, size)))
    return tuple(found)
