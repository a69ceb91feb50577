"""The productions of Shardy's attribute grammar, one function each, after parsers.cc and attrs.td."""

from __future__ import annotations

from sdybridge.sdy.axis_ref import AxisRefAttr, SubAxisInfoAttr
from sdybridge.sdy.dimension import DimensionShardingAttr
from sdybridge.sdy.grammar import axes, mesh, sharding
from sdybridge.sdy.grammar.core import BODIES as BODIES
from sdybridge.sdy.grammar.core import IN_OPS
from sdybridge.sdy.grammar.core import Parser as Parser
from sdybridge.sdy.grammar.core import attribute as attribute
from sdybridge.sdy.grammar.core import finish as finish
from sdybridge.sdy.grammar.core import nearest as nearest
from sdybridge.sdy.grammar.core import stripped as stripped
from sdybridge.sdy.lists import (
    AllToAllParamAttr,
    AllToAllParamListAttr,
    AxisRefListAttr,
    ListOfAxisRefListsAttr,
)
from sdybridge.sdy.manual_axes import ManualAxesAttr
from sdybridge.sdy.mesh import MeshAttr, MeshAxisAttr
from sdybridge.sdy.sharding import TensorShardingAttr, TensorShardingPerValueAttr

BODIES.update(
    {
        MeshAxisAttr: mesh.axis_body,
        MeshAttr: mesh.mesh_body,
        SubAxisInfoAttr: axes.sub_axis_body,
        AxisRefAttr: axes.ref_body,
        DimensionShardingAttr: sharding.dimension_body,
        TensorShardingAttr: sharding.sharding_body,
        TensorShardingPerValueAttr: sharding.per_value_body,
        ManualAxesAttr: axes.manual_axes_body,
        AxisRefListAttr: axes.ref_list_body,
        ListOfAxisRefListsAttr: axes.list_of_ref_lists_body,
        AllToAllParamAttr: axes.param_body,
        AllToAllParamListAttr: axes.param_list_body,
    }
)
IN_OPS[TensorShardingPerValueAttr] = sharding.shardings
