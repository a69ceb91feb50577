"""The rules of whole modules, by the names that errors give them; `sdy.RULES` has those of one sharding."""

from __future__ import annotations

MODULE_RULES: dict[str, str] = {
    # of meshes and modules
    "mesh-placement": "An sdy.mesh operation stands directly in a module.",
    "symbol-redefinition": "Functions, meshes and modules of one module have different names.",
    "module-attribute-name": "An attribute of a module has a dialect's name in front of a dot.",
    "unknown-mesh": "A sharding names a mesh that its own module, the innermost one around it, declares.",
    # of the places that carry shardings
    "sharding-kind": "A value of a function has one sharding, an operation a list of one per result.",
    "sharding-count": "A list has one sharding per value, for an operation without results none.",
    "no-results-rank": "An operation without results may have one sharding, with no dimensions or axes.",
    "tuple-size": "A tuple can be sharded only if it has one element; the sharding is the element's.",
    "non-shaped-rank": "What is not a tensor has a sharding without dimensions and without axes.",
    "unranked-type": "A tensor of unknown rank cannot be sharded.",
    # of sdy.manual_computation and sdy.named_computation
    "region-arguments": "A computation's body has one argument per operand and returns one value per result.",
    "region-type": "The values in a named computation's body have the types of those outside.",
    "manual-axis-order": "In a dimension sharding of a manual computation the manual axes come first.",
    "manual-divisibility": "The manual axes of a dimension divide its size.",
    "manual-shape": "In the body every size is the one outside divided by the dimension's manual axes.",
    "manual-mesh": "All shardings of a manual computation are on one mesh, or on an empty one.",
    "unknown-manual-axis": "A manual axis is an axis of the manual computation's mesh.",
    # of single operations
    "barrier-direction": "A propagation barrier blocks at least one direction.",
    "edge-single-use": "The input of a data flow edge has no other use.",
    "edge-producer": "A data flow edge starts at no sdy operation; one of functions at a call or argument.",
    "edge-shape": "A data flow edge is over a tensor of static shape.",
    # of collectives
    "collective-operand": "The operand has a sharding; all_slice, all_reduce and reduce_scatter need none.",
    "collective-mesh": "Operand and result of a collective are on the same mesh.",
    "collective-rank": "A collective has one list of axes per dimension.",
    "collective-empty": "The collective names at least one axis or move.",
    "collective-axis": "The axes that are gathered end the operand's dimension sharding.",
    "collective-result": "The result's sharding is what the collective makes of the operand's.",
    "collective-size": "A permutation keeps the number of pieces of every dimension.",
    "collective-overlap": "The axes of the collective are not in use where it needs them free.",
    "collective-order": "Reduction axes stand in mesh order.",
    "unreduced-result": "The result's unreduced axes are the operand's and those of the collective.",
    "move-range": "The dimensions of an all-to-all are dimensions of the tensor.",
    "move-order": "The moves of an all-to-all stand in the order of their source dimensions.",
    "move-overlap": "No dimension takes part in two moves of an all-to-all.",
}
"""What each `VerificationError.rule` of `verify_module` stands for, in a sentence."""
