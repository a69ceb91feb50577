"""Device grids: tile assignments, HLO shardings, their text and their protos."""

from sdybridge.hlo.axis_ref import AxisRef as AxisRef
from sdybridge.hlo.axis_ref import SubAxis as SubAxis
from sdybridge.hlo.iota import MAX_MATERIALIZED_DEVICES as MAX_MATERIALIZED_DEVICES
from sdybridge.hlo.iota import IotaTileAssignment as IotaTileAssignment
from sdybridge.hlo.iota_recognition import recognize_iota as recognize_iota
from sdybridge.hlo.kinds import OpShardingType as OpShardingType
from sdybridge.hlo.kinds import ReductionOp as ReductionOp
from sdybridge.hlo.kinds import ShardGroup as ShardGroup
from sdybridge.hlo.kinds import ShardGroupKind as ShardGroupKind
from sdybridge.hlo.mesh import Mesh as Mesh
from sdybridge.hlo.metadata import OpMetadata as OpMetadata
from sdybridge.hlo.named_sharding import DimensionSharding as DimensionSharding
from sdybridge.hlo.named_sharding import NamedSharding as NamedSharding
from sdybridge.hlo.parser import parse_prefix as parse_prefix
from sdybridge.hlo.proto_text import decode_proto_text as decode_proto_text
from sdybridge.hlo.sharding import HloSharding as HloSharding
from sdybridge.hlo.tile_assignment import TileAssignment as TileAssignment
