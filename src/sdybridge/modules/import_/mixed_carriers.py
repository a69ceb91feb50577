"""What an import of carriers saw of HLO shardings: beside the carriers, and without any."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdybridge.errors import SdyBridgeError
from sdybridge.modules.annotations import CARRIER, MHLO, Annotation
from sdybridge.modules.mixed import AnnotatedProgram
from sdybridge.modules.mlir.hlo_attribute import parse_hlo_attribute

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sdybridge.modules.carriers import Carrier
    from sdybridge.modules.mlir.dictionary import Entry
    from sdybridge.sdy import MeshAttr, TensorShardingAttr
    from sdybridge.source import Source
    from sdybridge.target import Target


class MixedCarriers:
    """The shardings of a program with carriers, so far: every distinct pair once, and all others.

    Args:
        source: The program.
        target: Whose grammar to follow.
    """

    def __init__(self, source: Source, target: Target) -> None:
        self._source = source
        self._target = target
        self._annotations: list[Annotation] = []
        self._calls: set[int] = set()
        self._carried_results: dict[tuple[str, str], str] = {}
        self._known: set[tuple[str, str, int]] = set()

    def program(self) -> AnnotatedProgram:
        """What is to be looked through."""
        return AnnotatedProgram(self._source, self._annotations, True, self._calls, self._carried_results)

    def carried(
        self,
        value: tuple[str, str, str],
        carrier: Carrier,
        shardings: Sequence[TensorShardingAttr],
        hlo: Entry | None,
        meshes: Mapping[str, MeshAttr],
    ) -> None:
        """Take note of a carrier, and of the HLO sharding beside it.

        Args:
            value: The function, what it is there, and its name.
            carrier: The carrier.
            shardings: Its shardings.
            hlo: The entry with the HLO sharding.
            meshes: The meshes by name.
        """
        scope, opcode, name = value
        if opcode == "result":
            self._carried_results[scope, name] = name
        at = carrier.span.start
        text = self._source.text[hlo.value.start : hlo.value.end] if hlo and hlo.value else ""
        key = carrier.text, text, id(meshes)
        if not text or key in self._known:
            self._annotations.append(Annotation(CARRIER, scope, name, opcode, None, None, None, at))
            return
        self._known.add(key)
        try:
            beside = parse_hlo_attribute(text, target=self._target)
        except SdyBridgeError:
            return  # it goes anyway
        leaves = beside.tuple_elements if beside.is_tuple else (beside,) * len(shardings)
        for i, (sharding, leaf) in enumerate(zip(shardings, leaves, strict=False)):
            part = name if len(shardings) == 1 else f"{name}#{i}"
            mesh = sharding.get_mesh(meshes)
            self._annotations.append(Annotation(CARRIER, scope, part, opcode, None, sharding, mesh, at))
            self._annotations.append(Annotation(MHLO, scope, part, opcode, None, leaf, None, at))

    def alone(self, value: tuple[str, str, str], hlo: Entry | None) -> None:
        """Take note of an HLO sharding without a carrier; of operations, of those of calls of `@Sharding`."""
        scope, opcode, name = value
        if hlo and hlo.value:
            at = hlo.value.start
            self._annotations.append(Annotation(MHLO, scope, name, opcode, None, None, None, at))
            if opcode not in ("argument", "result"):
                self._calls.add(at)
