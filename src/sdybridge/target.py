"""Which XLA's behaviour a conversion follows."""

from __future__ import annotations

import enum


class Target(enum.Enum):
    """The generation of XLA that text, protos and conversions are made for.

    Attributes:
        CLASSIC: The system before unreduced shardings (as in jaxlib 0.6.2): unreduced axes are
            dropped on export, and a maximal sharding's proto carries its dimensions.
        CURRENT: Today's releases (as in jaxlib 0.10.2). The default everywhere.
        NEWER: XLA's development branch: unreduced shardings carry a reduction operator.
        NAMED: Today's releases with the option `xla_enable_hlo_sharding_v3`: export keeps the mesh and its
            axes, in the third form of XLA's shardings, where it makes a device grid otherwise. All else is
            as for `CURRENT`.

    >>> Target("current"), [target.value for target in Target]
    (Target.CURRENT, ['classic', 'current', 'newer', 'named'])
    """

    CLASSIC = "classic"
    CURRENT = "current"
    NEWER = "newer"
    NAMED = "named"

    __hash__ = object.__hash__  # members are singletons, and conversions are cached by them

    def __repr__(self) -> str:
        return f"Target.{self.name}"
