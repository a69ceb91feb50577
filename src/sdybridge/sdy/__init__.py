"""Shardy's attributes: meshes, axis refs and their algebra, shardings, their text and their rules."""

from __future__ import annotations

from sdybridge.sdy.axis_ref import AxisRefAttr as AxisRefAttr
from sdybridge.sdy.axis_ref import SubAxisInfoAttr as SubAxisInfoAttr
from sdybridge.sdy.dimension import DimensionShardingAttr as DimensionShardingAttr
from sdybridge.sdy.lists import AllToAllParamAttr as AllToAllParamAttr
from sdybridge.sdy.lists import AllToAllParamListAttr as AllToAllParamListAttr
from sdybridge.sdy.lists import AxisRefListAttr as AxisRefListAttr
from sdybridge.sdy.lists import ListOfAxisRefListsAttr as ListOfAxisRefListsAttr
from sdybridge.sdy.manual_axes import ManualAxesAttr as ManualAxesAttr
from sdybridge.sdy.mesh import MeshAttr as MeshAttr
from sdybridge.sdy.mesh import MeshAxisAttr as MeshAxisAttr
from sdybridge.sdy.mesh_dictionary import parse_mesh_dictionary as parse_mesh_dictionary
from sdybridge.sdy.mesh_dictionary import print_mesh_dictionary as print_mesh_dictionary
from sdybridge.sdy.parser import locate as locate
from sdybridge.sdy.parser import parse_attribute as parse_attribute
from sdybridge.sdy.parser import parse_prefix as parse_prefix
from sdybridge.sdy.parser import parse_with_spans as parse_with_spans
from sdybridge.sdy.rules import RULES as RULES
from sdybridge.sdy.sharding import ReductionOp as ReductionOp
from sdybridge.sdy.sharding import TensorShardingAttr as TensorShardingAttr
from sdybridge.sdy.sharding import TensorShardingPerValueAttr as TensorShardingPerValueAttr
from sdybridge.sdy.uniquing import Attribute as Attribute
from sdybridge.sdy.verify import verify_coexistence as verify_coexistence
from sdybridge.sdy.verify import verify_sharding as verify_sharding
