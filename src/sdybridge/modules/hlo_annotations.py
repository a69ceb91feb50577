"""The annotations of an HLO program, as text or as a proto: of instructions, and of fields of the module."""

from __future__ import annotations

import contextlib
import functools
import operator
from typing import TYPE_CHECKING, Any

from sdybridge.errors import SdyBridgeError
from sdybridge.modules.annotations import CARRIER, HLO, Annotation
from sdybridge.modules.carriers import MESHES
from sdybridge.modules.hlo_text import HloText
from sdybridge.modules.progress import reported
from sdybridge.sdy import MeshAttr, TensorShardingAttr, TensorShardingPerValueAttr
from sdybridge.target import Target

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from sdybridge.hlo import HloSharding
    from sdybridge.modules.carriers import Carrier
    from sdybridge.modules.hlo_program import HloProgram, HloSite
    from sdybridge.modules.shapes import TensorShape

    Shardings = tuple[TensorShardingAttr | HloSharding, ...]


class HloAnnotations:
    """An HLO program: its meshes, and what it says about its values.

    >>> from sdybridge.source import Source
    >>> program = HloAnnotations(HloText(Source('''HloModule m
    ...
    ... ENTRY main {
    ...   ROOT a = f32[8,8]{1,0} parameter(0), sharding={devices=[2,1]<=[2]}
    ... }
    ... ''')))
    >>> [(one.scope, one.name, str(one.shape), str(one.local_shape)) for one in program.annotations()]
    [('main', 'a', 'f32[8,8]', 'f32[4,8]')]
    """

    def __init__(
        self,
        program: HloProgram,
        target: Target = Target.CURRENT,
        *,
        errors: list[SdyBridgeError] | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        """Reads nothing yet.

        Args:
            program: The program.
            target: Whose grammar to follow for Shardy's attributes.
            errors: Where to put the errors about single shardings, which are then passed over; None raises
                the first one.
            progress: Called now and then with the number of characters, or bytes, that are read.
        """
        self.program = program
        self._progress = progress
        self._target = target
        self._errors = errors
        self._carried: dict[str, Shardings] = {}  # each distinct text is read once

    @property
    def format(self) -> str:
        """`HLO text` or `HLO proto`."""
        return "HLO text" if isinstance(self.program, HloText) else "HLO proto"

    @property
    def name(self) -> str:
        """The name of the module."""
        return self.program.name

    @property
    def num_partitions(self) -> int | None:
        """The `num_partitions` of the module."""
        return self.program.num_partitions

    @property
    def is_partitioned(self) -> bool:
        """Whether XLA has partitioned it."""
        return self.program.is_partitioned

    @functools.cached_property
    def meshes(self) -> Mapping[str, MeshAttr]:
        """The meshes that ride along in the frontend attributes of the module."""
        with self._errors_kept():
            carrier = self.program.carrier(MESHES)
            found = carrier.parse(target=self._target) if carrier else {}
            return found if isinstance(found, dict) else {}
        return {}

    def annotations(self) -> Iterator[Annotation]:
        """Every value with a sharding, in the order of the program.

        Raises:
            ParseError: The program or a sharding in it is malformed.
            ProtoError: As `ParseError`.
            VerificationError: A sharding does not fit the shape that it is on.
        """
        for site in self._sites():
            with self._errors_kept():
                yield from self.of_site(site)

    def _sites(self) -> Iterator[HloSite]:
        """The places with shardings, with a report now and then."""
        sites: Iterator[HloSite] = self.program.sites()
        if self._progress is None:
            return sites
        return reported(sites, operator.attrgetter("offset"), self._progress)

    def tallies(self) -> Iterator[tuple[Annotation, int]]:
        """One annotation for all that differ in their names only, and how many these are.

        Raises:
            SdyBridgeError: As `annotations`.
        """
        with self._errors_kept():
            for site, count in self.program.tallies(self._progress):
                with self._errors_kept():
                    for one in self.of_site(site):
                        yield one, count

    def inputs(self) -> list[Annotation]:
        """The tensors of the entry computation's parameters, those without a sharding too."""
        return [one for site in self.program.inputs() for one in self._every_tensor(site)]

    def outputs(self) -> list[Annotation]:
        """The tensors of the entry computation's root, those without a sharding too."""
        root = self.program.output()
        return [] if root is None else self._every_tensor(root)

    def _every_tensor(self, site: HloSite) -> list[Annotation]:
        with self._errors_kept():
            found = list(self.of_site(site))
            if found:  # its own Shardy sharding says most
                carriers = {one.carrier for one in found}
                wanted = CARRIER if CARRIER in carriers else HLO
                return [one for one in found if one.carrier == wanted]
        tensors = site.tensors or ()
        return [
            self._annotation(site, "", name, shape, None, None)
            for name, shape in zip(_names(site, len(tensors)), tensors, strict=True)
        ]

    def of_site(self, site: HloSite) -> Iterator[Annotation]:
        """What one place says, in both notations.

        Raises:
            SdyBridgeError: As `annotations`.
        """
        if site.has_sharding:
            site.verify()
            sharding = site.sharding
            if sharding is not None:
                shardings = sharding.tuple_elements if sharding.is_tuple else (sharding,)
                yield from self._leaves(site, HLO, shardings)
        carrier = site.carrier(CARRIER) if site.has_carriers else None
        if carrier is not None:
            yield from self._leaves(site, CARRIER, self._carried_shardings(carrier))

    def _leaves(self, site: HloSite, carrier: str, shardings: Shardings) -> Iterator[Annotation]:
        tensors = None if site.is_sharded_by_operand else site.tensors
        if tensors is None or (len(shardings) != 1 and len(shardings) != len(tensors)):
            tensors = (None,) * len(shardings)  # type: ignore[assignment]  # of shapes that are not known
        elif len(shardings) == 1:
            shardings *= len(tensors)  # one for all
        names = _names(site, len(shardings))
        for name, shape, sharding in zip(names, tensors or (), shardings, strict=True):
            mesh = None
            if isinstance(sharding, TensorShardingAttr):
                ref = sharding.mesh_or_ref
                mesh = ref if isinstance(ref, MeshAttr) else self.meshes.get(ref)
            yield self._annotation(site, carrier, name, shape, sharding, mesh)

    def _annotation(
        self,
        site: HloSite,
        carrier: str,
        name: str,
        shape: TensorShape | None,
        sharding: TensorShardingAttr | HloSharding | None,
        mesh: MeshAttr | None,
    ) -> Annotation:
        whole, part = (None, shape) if self.program.is_partitioned else (shape, None)
        opcode, scope = site.opcode, site.computation
        return Annotation(carrier, scope, name, opcode, whole, sharding, mesh, site.offset, part=part)

    def _carried_shardings(self, carrier: Carrier) -> Shardings:
        found = self._carried.get(carrier.text)
        if found is None:
            value: Any = carrier.parse(target=self._target)
            found = value.shardings if isinstance(value, TensorShardingPerValueAttr) else (value,)
            self._carried[carrier.text] = found
        return found

    @contextlib.contextmanager
    def _errors_kept(self) -> Iterator[None]:
        try:
            yield
        except SdyBridgeError as error:
            if self._errors is None:
                raise
            self._errors.append(error)


def _names(site: HloSite, count: int) -> list[str]:
    """What to call the tensors of a site: `name`, or `name{0}`, `name{1}`."""
    return [site.name] if count == 1 else [f"{site.name}{{{i}}}" for i in range(count)]
