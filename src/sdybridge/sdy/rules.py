"""The rules that Shardy attributes are verified against, by the names that errors give them."""

from __future__ import annotations

RULES: dict[str, str] = {
    # of one attribute, checked when it is built
    "integer-range": "Sizes, device ids, priorities and dimensions fit 64 bits.",
    "name-bytes": "A name is a byte string: UTF-8, other bytes as lone surrogates from U+DC80 to U+DCFF.",
    "negative-priority": "A priority is not negative.",
    "all-to-all-axes": "An all-to-all parameter names at least one axis.",
    "not-mergeable": "Only a part of an axis and the part that follows it directly can be merged.",
    # of a mesh, checked when it is built, in this order
    "axis-size": "A mesh axis has at least one device.",
    "negative-device-id": "A device id is not negative.",
    "maximal-device-count": "A mesh without axes names at most one device.",
    "duplicate-axis-name": "The axes of a mesh have different names.",
    "device-count": "Explicit device ids are as many as the product of the axis sizes.",
    "device-permutation": "Explicit device ids are the numbers from 0 up, each once, in any order.",
    # of a sharding on a mesh, checked by verify_sharding in this order
    "maximal-rank": "On a maximal mesh a sharding has no dimensions, no replicated and no unreduced axes.",
    "rank-mismatch": "A sharding has one dimension sharding per tensor dimension.",
    "empty-dimension-priority": "A dimension that is closed and has no axes has no priority.",
    "unknown-axis": "Every axis that a sharding uses is an axis of its mesh.",
    "duplicate-axis": "No axis, and no part of one, stands twice in a sharding.",
    "mergeable-sub-axes": "Consecutive parts of an axis that are neighbours in a list are written as one.",
    "replicated-order": "Replicated axes stand in mesh order.",
    "unreduced-order": "Unreduced axes stand in mesh order.",
    "whole-and-part": "A sharding uses an axis as a whole or in parts, not both.",
    "sub-axis-pre-size": "The pre-size of a part is at least 1.",
    "sub-axis-size": "The size of a part is greater than 1.",
    "sub-axis-divides": "The pre-size of a part times its size divides the size of the axis.",
    "sub-axis-whole": "A part is smaller than its axis.",
    "sub-axis-overlap": "The parts of an axis do not overlap.",
    "axis-is-manual": "In a manual computation no sharding uses the axes that are manual there.",
    # of a sharding, checked by verify_coexistence
    "coexistence": "All parts of an axis are products of the factors of one split of it.",
}
"""What each `VerificationError.rule` of this package stands for, in a sentence."""
