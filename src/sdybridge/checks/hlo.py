"""An HLO program under check, as text or as a proto."""

from __future__ import annotations

import abc
import functools
import re
from typing import TYPE_CHECKING, cast

from sdybridge.checks.program import GSPMD_CALLS, Call, Options, Place, Problem, Program, Use
from sdybridge.errors import SdyBridgeError
from sdybridge.modules.annotations import CARRIER, HLO
from sdybridge.modules.hlo_annotations import HloAnnotations
from sdybridge.modules.hlo_program import RESULT_CALL
from sdybridge.modules.hlo_proto import HloProto
from sdybridge.modules.hlo_proto.site import InstructionSite
from sdybridge.modules.hlo_text import HloText
from sdybridge.modules.hlo_text.site import BrokenSite
from sdybridge.modules.mlir.lexer import items
from sdybridge.source import Source, Span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sdybridge.modules.annotations import Annotation
    from sdybridge.modules.hlo_program import HloProgram, HloSite
    from sdybridge.modules.hlo_text.site import TextSite

_CALL = re.compile(rf'custom_call_target="({"|".join(sorted(GSPMD_CALLS))})"')
_PROPAGATION = "allow_spmd_sharding_propagation_to_output"
_SHARDED = ("sharding={", "xla.sdy.")


class Hlo(Program):
    """An HLO program under check."""

    def __init__(self, source: Source, program: HloProgram, options: Options) -> None:
        self.source = source
        self.options = options
        self.errors: list[SdyBridgeError] = []
        view = HloAnnotations(program, options.target, errors=self.errors, progress=options.progress)
        self._program = program
        self.meshes = view.meshes
        self.annotations = tuple(view.annotations())
        self._view = view
        self.num_partitions = program.num_partitions

    @functools.cached_property
    def inputs(self) -> list[Annotation]:  # type: ignore[override]
        """The parameters of the entry computation."""
        return self._view.inputs()

    @functools.cached_property
    def outputs(self) -> list[Annotation]:  # type: ignore[override]
        """The tensors of its root."""
        return self._view.outputs()

    @functools.cached_property
    def sites(self) -> dict[int, HloSite]:
        """The places that carry shardings, by their offsets."""
        sites = self._program.sites()
        return {site.offset: site for site in sites if not isinstance(site, BrokenSite)}

    @functools.cached_property
    def _gspmd(self) -> dict[int, Annotation]:
        """The values with one HLO sharding, by the offsets of their places."""
        found: dict[int, Annotation] = {}
        several: set[int] = set()
        for one in self.annotations:
            if one.carrier == HLO:
                if one.offset in found:
                    several.add(one.offset)
                found[one.offset] = one
        return {offset: one for offset, one in found.items() if offset not in several}

    @abc.abstractmethod
    def place(self, annotation: Annotation) -> Place:
        """Where a sharding stands."""

    @abc.abstractmethod
    def calls(self) -> Iterator[Call]:
        """The calls of GSPMD's targets."""

    @functools.cached_property
    def sharding_calls(self) -> frozenset[int]:
        """The offsets of the calls of `Sharding` with a sharding."""
        return frozenset(offset for offset, site in self.sites.items() if site.target == "Sharding")

    def repeats_result(self, annotation: Annotation) -> bool:
        """Whether a value is there only to give a result its Shardy sharding on the way through HLO."""
        site = self.sites.get(annotation.offset)
        return site is not None and site.target == RESULT_CALL

    @abc.abstractmethod
    def site_place(self, site: HloSite) -> Place:
        """Where an instruction stands."""

    @functools.cached_property
    def _values(self) -> dict[tuple[str, object], Annotation]:
        return {
            (site.computation, site.value): self._gspmd[offset]
            for offset, site in self.sites.items()
            if offset in self._gspmd
        }

    def uses(self) -> Iterator[Use]:
        """Which values with an HLO sharding instructions with an HLO sharding use."""
        if self._program.is_partitioned:  # what is left of the shardings is of no use to XLA
            return
        for offset, user in self._gspmd.items():
            site = self.sites[offset]
            for operand in site.operands:
                if value := self._values.get((site.computation, operand)):
                    yield Use(value, user, site.target)

    def unsharded_results(self) -> Iterator[tuple[str, Place, Annotation]]:
        """The elements of the root tuple, if it has no sharding, whose values have an HLO sharding."""
        root = self._program.output() if self._gspmd and not self._program.is_partitioned else None
        if root is None or root.has_sharding or root.has_carriers or root.opcode != "tuple":
            return
        for i, operand in enumerate(root.operands):
            if self.propagates_to_output(i):
                continue
            if value := self._values.get((root.computation, operand)):
                yield f"element {i} of the root {root.name}", self.site_place(root), value

    def propagates_to_output(self, index: int) -> bool:  # noqa: ARG002
        """Whether the program says that propagation may shard a result."""
        return False

    def manual_escapes(self) -> Iterator[Problem]:
        """Nothing: a computation of HLO sees its own values only."""
        return iter(())


class Text(Hlo):
    """HLO text under check.

    Raises:
        ParseError: Its instructions cannot be told apart.
    """

    def __init__(self, source: Source, options: Options) -> None:
        self._text = HloText(source)
        super().__init__(source, self._text, options)

    def place(self, annotation: Annotation) -> Place:
        """Where a sharding stands."""
        site = self.sites.get(annotation.offset)
        if site is None:
            return Place(Span(annotation.offset, annotation.offset + 1), annotation.name)
        if annotation.carrier == CARRIER and (carrier := site.carrier(CARRIER)):
            return Place(carrier.span, annotation.name)
        span = site.locate(SdyBridgeError("")).span
        if span and annotation.name.endswith("}") and self.source.text.startswith("{{", span.start):
            index = int(annotation.name.rpartition("{")[2][:-1])
            elements = list(items(self.source.text, span.start + 1, span.end - 1))
            span = elements[index] if index < len(elements) else span
        return Place(span, annotation.name)

    def site_place(self, site: HloSite) -> Place:
        """Where an instruction stands."""
        return Place(Span(site.offset, cast("TextSite", site).head.operands), site.name)

    def calls(self) -> Iterator[Call]:
        """The calls of GSPMD's targets."""
        text = self.source.text
        for hit in _CALL.finditer(text):
            start = text.rfind("\n", 0, hit.start()) + 1
            end = text.find("\n", hit.end())
            line = text[start : end if end >= 0 else len(text)]
            is_sharded = any(mark in line for mark in _SHARDED)
            if not is_sharded and (line.endswith(",") or " = " not in line):  # one over several lines
                is_sharded = hit.start() in self._sharded_targets
            yield Call(hit[1], is_sharded, Place(Span(*hit.span()), hit[1]))

    @functools.cached_property
    def _sharded_targets(self) -> frozenset[int]:
        """Where the targets of calls with shardings stand, of calls over several lines too."""
        calls = [cast("TextSite", site) for site in self.sites.values() if site.target in GSPMD_CALLS]
        found = [site.attribute("custom_call_target") for site in calls]
        return frozenset(one.start for one in found if one)

    @functools.cached_property
    def _propagation(self) -> list[str]:
        text, attributes = self.source.text, self._text.header[0]
        spans = [one.value for one in attributes if one.name == _PROPAGATION]
        return [flag.strip() for span in spans for flag in text[span.start + 1 : span.end - 1].split(",")]

    def propagates_to_output(self, index: int) -> bool:
        """Whether the flag of a result says so; a single one is for all."""
        flags = self._propagation
        index = 0 if len(flags) == 1 else index
        return index < len(flags) and flags[index] == "true"


class Proto(Hlo):
    """An HLO proto under check.

    Raises:
        ProtoError: The bytes are no program.
    """

    def __init__(self, data: bytes, name: str, options: Options) -> None:
        self._proto = HloProto(data, name)
        super().__init__(Source("", name), self._proto, options)

    def place(self, annotation: Annotation) -> Place:
        """Where a sharding stands."""
        within = f" in {annotation.scope}" if annotation.scope else ""
        return Place(None, f"{annotation.name}{within}")

    def site_place(self, site: HloSite) -> Place:
        """Where an instruction stands."""
        return Place(None, f"{site.name} in {site.computation}")

    def calls(self) -> Iterator[Call]:
        """The calls of GSPMD's targets."""
        for computation in self._proto.computations([target.encode() for target in GSPMD_CALLS]):
            for index, field in computation.instructions:
                site = InstructionSite(self._proto, computation, index, field)
                if site.target in GSPMD_CALLS:
                    yield Call(site.target, site.is_carrier, self.site_place(site))
