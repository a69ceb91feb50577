"""HLO as protos."""

from sdybridge.modules.hlo_proto.program import HloProto as HloProto
