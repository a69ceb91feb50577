"""A reader of XLA's sharding text for tests: just enough to write a case in one line."""

from __future__ import annotations

import re

from sdybridge.hlo import HloSharding, OpMetadata, OpShardingType, ShardGroup, ShardGroupKind, TileAssignment

LEAF = re.compile(
    r"\{(?:(?P<kind>replicated|manual|unknown|unreduced)"
    r"|maximal device=(?P<device>-?\d+)"
    r"|devices=\[(?P<dims>[\d,]+)\](?:<=\[(?P<reshape>[\d,]+)\](?:T\((?P<perm>[\d,]+)\))?|(?P<ids>[-\d,]+)))"
    r"(?P<partial> last_tile_dim_replicate)?"
    r"(?: last_tile_dims=\{(?P<types>[a-z, ]*)\})?"
    r"(?: shard_(?P<group>as|like) (?P<id>-?\d+))?"
    r'(?: metadata=\{op_name="(?P<name>\w*)"\})?\}'
)
FACTORIES = {
    "replicated": HloSharding.replicate,
    "manual": HloSharding.manual,
    "unknown": HloSharding.unknown,
    "unreduced": HloSharding.unreduced,
}


def ints(text: str) -> list[int]:
    return [int(number) for number in text.split(",")]


def build(text: str) -> HloSharding:
    """The sharding that XLA's parser makes of `text`."""
    if text == "{}" or text.startswith("{{"):
        leaves = list(LEAF.finditer(text, 1))
        rest = LEAF.sub("", text[1:-1])
        assert not re.sub(r", (/\*index=\d+\*/)?|,", "", rest), f"not the text of a tuple: {text}"
        return HloSharding.flat_tuple([build_leaf(leaf) for leaf in leaves])
    match = LEAF.fullmatch(text)
    assert match, f"not the text of a sharding: {text}"
    return build_leaf(match)


def build_leaf(match: re.Match[str]) -> HloSharding:
    sharding = without_group(match)
    if match["name"] is not None:
        sharding = sharding.with_metadata([OpMetadata(op_name=match["name"])])
    if match["group"] is None:
        return sharding
    return sharding.with_shard_group(ShardGroup(int(match["id"]), ShardGroupKind[match["group"].upper()]))


def without_group(match: re.Match[str]) -> HloSharding:
    if match["kind"]:
        return FACTORIES[match["kind"]]()
    if match["device"]:
        return HloSharding.assign_device(int(match["device"]))
    tiles = grid(match)
    if match["partial"]:
        return HloSharding.partial_tile(tiles)
    if match["types"]:
        names = match["types"].replace(" ", "").upper().split(",")
        return HloSharding.subgroup(tiles, [OpShardingType[name] for name in names])
    return HloSharding.tile(tiles)


def grid(match: re.Match[str]) -> TileAssignment:
    dims = ints(match["dims"])
    if match["ids"]:
        import numpy as np

        return TileAssignment.from_array(np.array(ints(match["ids"])).reshape(dims))
    if match["perm"]:
        return TileAssignment.iota(dims, ints(match["reshape"]), ints(match["perm"]))
    return TileAssignment.iota(dims, ints(match["reshape"]), [0])


def build_grid(text: str) -> TileAssignment:
    """A bare grid, such as `[2,4]<=[8]`."""
    match = LEAF.fullmatch(f"{{devices={text}}}")
    assert match, f"not the text of a grid: {text}"
    return grid(match)
