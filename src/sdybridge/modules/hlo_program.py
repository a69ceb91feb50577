"""What HLO programs as text and as protos have in common: where they carry shardings, and edits there."""

from __future__ import annotations

import abc
import operator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from sdybridge.errors import VerificationError
from sdybridge.hlo import OpShardingType
from sdybridge.hlo.checks import cropped
from sdybridge.modules.progress import reported
from sdybridge.target import Target

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from sdybridge.errors import SdyBridgeError
    from sdybridge.hlo import HloSharding
    from sdybridge.modules.carriers import Carrier
    from sdybridge.modules.converted import ConvertedSharding
    from sdybridge.modules.shapes import TensorShape

SHARDY: Final = "xla.sdy."
"""What the keys of the frontend attributes start with that carry Shardy's attributes through HLO."""

RESULT_CALL: Final = "xla.sdy.FuncResultSharding"
"""The custom call that carries the Shardy sharding of a result through HLO."""

PARTITIONED: Final = "_spmd"
"""What the name of a computation ends with that XLA has partitioned."""

_NO_TENSORS = frozenset(("token", "opaque"))


@dataclass(frozen=True, slots=True)
class Edit:
    """What becomes of one place that carries shardings.

    Attributes:
        keeps_sharding: Whether its HLO sharding stays as it is.
        sharding: Otherwise the new one, or None for none.
        attributes: Frontend attributes to set, or (None) to remove. The others stay.
    """

    keeps_sharding: bool = True
    sharding: HloSharding | None = None
    attributes: Mapping[str, str | None] = field(default_factory=dict)

    @property
    def key(self) -> tuple[object, ...]:
        """Edits with one key do the same; equal shardings may be written in several ways."""
        return self.keeps_sharding, id(self.sharding), *self.attributes.items()


def edit_once(
    edit: Callable[[HloSite], tuple[Edit | None, Sequence[ConvertedSharding]]],
) -> Callable[[HloSite], Edit | None]:
    """What becomes of each site, where all with one key are alike.

    Args:
        edit: What becomes of the first of them, and the shardings to count at each of them.
    """
    known: dict[object, tuple[Edit | None, Sequence[ConvertedSharding]]] = {}

    def edit_any(site: HloSite) -> Edit | None:
        key = site.key
        found = known.get(key)
        if found is None:
            found = known[key] = edit(site)
        for one in found[1]:
            one.count += 1
        return found[0]

    return edit_any


class HloSite(abc.ABC):
    """One place in an HLO program that may carry shardings: an instruction, or a field of the module.

    Attributes:
        name: The name of the instruction, or of the field.
        computation: The name of the computation it is in; empty for a field of the module.
        is_entry: Whether that is the entry computation.
    """

    __slots__ = ("computation", "is_entry", "name")

    name: str
    computation: str
    is_entry: bool

    @property
    @abc.abstractmethod
    def opcode(self) -> str:
        """What the instruction does, such as `custom-call`; empty for a field of the module."""

    @property
    @abc.abstractmethod
    def is_root(self) -> bool:
        """Whether its value is that of the computation."""

    @property
    @abc.abstractmethod
    def shape(self) -> str:
        """The shape of its value, as text; empty where it is not known."""

    @property
    @abc.abstractmethod
    def tensors(self) -> tuple[TensorShape, ...] | None:
        """The tensors in its value, those of tuples in pre-order; None where they are not known."""

    @property
    @abc.abstractmethod
    def is_tuple(self) -> bool:
        """Whether its value is a tuple."""

    @property
    @abc.abstractmethod
    def parameter_number(self) -> int | None:
        """Which parameter of the computation it is."""

    @property
    @abc.abstractmethod
    def tuple_index(self) -> int | None:
        """Which element of a tuple a `get-tuple-element` takes."""

    @property
    @abc.abstractmethod
    def target(self) -> str:
        """What a `custom-call` calls."""

    @property
    @abc.abstractmethod
    def value(self) -> object:
        """What operands call its value: its name in text, its id in a proto."""

    @property
    @abc.abstractmethod
    def operands(self) -> Sequence[object]:
        """What it calls the values that it uses."""

    @property
    @abc.abstractmethod
    def has_sharding(self) -> bool:
        """Whether it has an HLO sharding; this does not parse it."""

    @property
    @abc.abstractmethod
    def sharding(self) -> HloSharding | None:
        """Its HLO sharding.

        Raises:
            ParseError: The text of it is malformed.
            ProtoError: The bytes of it are.
        """

    @property
    def is_sharded_by_operand(self) -> bool:
        """Whether its HLO sharding is that of its operands, as an outfeed may have it."""
        if self.opcode != "outfeed":
            return False
        sharding = self.sharding
        return sharding is not None and (sharding.is_tuple or sharding.is_tiled)

    @property
    @abc.abstractmethod
    def frontend_attributes(self) -> Mapping[str, str]:
        """What rides along with it: Shardy's attributes have keys that start with `xla.sdy.`."""

    @property
    @abc.abstractmethod
    def key(self) -> tuple[object, ...]:
        """Its opcode, shape, sharding and frontend attributes, as written: most is alike where these are."""

    @property
    def has_carriers(self) -> bool:
        """Whether Shardy's attributes are among them."""
        return any(key.startswith(SHARDY) for key in self.frontend_attributes)

    @property
    @abc.abstractmethod
    def offset(self) -> int:
        """Where it stands: in characters of the text, or bytes of the proto."""

    @abc.abstractmethod
    def carrier(self, key: str) -> Carrier | None:
        """The Shardy attribute under `key` among its frontend attributes."""

    @abc.abstractmethod
    def locate(self, error: SdyBridgeError) -> SdyBridgeError:
        """The error, placed at the HLO sharding, or where there is none, at the whole."""

    def verify(self) -> None:
        """Check that the HLO sharding fits the shape.

        Raises:
            VerificationError: It has another rank, or another number of elements.
        """
        sharding, tensors = self.sharding, self.tensors
        if sharding is None or tensors is None or self.is_sharded_by_operand:
            return
        leaves = sharding.tuple_elements if sharding.is_tuple else (sharding,) * len(tensors)
        problem = rule = None
        if sharding.is_tuple and not self.is_tuple:
            rule, problem = "sharding-kind", f"the sharding of a tuple on a {self.shape}"
        elif sharding.is_tuple and len(leaves) != len(tensors) and not (len(leaves) <= 1 and not tensors):
            rule = "sharding-count"
            problem = f"a tuple of {len(leaves)} shardings on {len(tensors)} tensors"
        else:
            for leaf, tensor in zip(leaves, tensors, strict=False):
                is_tiled = leaf.type is OpShardingType.OTHER and tensor.element_type not in _NO_TENSORS
                if is_tiled and leaf.data_rank != len(tensor.dims):
                    rule = "sharding-rank"
                    problem = (
                        f"{cropped(leaf)} tiles tensors of rank {leaf.data_rank}, not of rank "
                        f"{len(tensor.dims)}"
                    )
                    break
        if problem and rule:
            notes = [f"{self.name} is a {cropped(self.shape)}"]
            raise self.locate(VerificationError(problem, rule=rule, notes=notes))


def every(sites: Iterable[HloSite], more: Callable[[], Iterable[HloSite]]) -> Iterator[HloSite]:
    """The sites, and then the further ones, which are asked for when all others are through."""
    yield from sites
    yield from more()


class HloProgram(abc.ABC):
    """An HLO program, as text or as a proto."""

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """The name of the module."""

    @property
    @abc.abstractmethod
    def has_header(self) -> bool:
        """Whether it is a whole module, with a place for attributes, and not a fragment of one."""

    @property
    @abc.abstractmethod
    def num_partitions(self) -> int | None:
        """How many devices each replica is partitioned over, if the program says so."""

    @property
    @abc.abstractmethod
    def is_partitioned(self) -> bool:
        """Whether XLA has partitioned it: shapes are those of the parts, shardings say of what."""

    @property
    @abc.abstractmethod
    def frontend_attributes(self) -> Mapping[str, str]:
        """What rides along with the module, such as `xla.sdy.meshes`."""

    @abc.abstractmethod
    def sites(self) -> Iterator[HloSite]:
        """Every place that carries a sharding of either kind, one after the other."""

    def tallies(self, progress: Callable[[int], None] | None = None) -> list[tuple[HloSite, int]]:
        """The first of the sites with each key, and how many have that.

        Args:
            progress: Called now and then with the number of characters, or bytes, that are read.
        """
        tallies: dict[tuple[object, ...], tuple[HloSite, list[int]]] = {}
        sites = self.sites()
        for site in reported(sites, operator.attrgetter("offset"), progress) if progress else sites:
            tallies.setdefault(site.key, (site, [0]))[1][0] += 1
        return [(site, count) for site, [count] in tallies.values()]

    @abc.abstractmethod
    def inputs(self) -> list[HloSite]:
        """The parameters of the entry computation, by number."""

    @abc.abstractmethod
    def output(self) -> HloSite | None:
        """The root of the entry computation."""

    @abc.abstractmethod
    def instructions(self, computation: str) -> Iterator[HloSite]:
        """Every instruction of the computation of that name, one after the other."""

    @abc.abstractmethod
    def root(self, computation: str) -> HloSite | None:
        """The instruction whose value the computation of that name has."""

    @abc.abstractmethod
    def carrier(self, key: str) -> Carrier | None:
        """The Shardy attribute of the module under `key`."""

    @abc.abstractmethod
    def locate(self, error: SdyBridgeError) -> SdyBridgeError:
        """The error, placed at the module."""

    @abc.abstractmethod
    def edited(
        self,
        edit: Callable[[HloSite], Edit | None],
        attributes: Mapping[str, str | None] | None = None,
        *,
        target: Target = Target.CURRENT,
        more: Callable[[], Iterable[HloSite]] = tuple,
    ) -> str | bytes:
        """The program with edits; every other byte stays.

        Args:
            edit: What becomes of each of `sites()`; None leaves it alone.
            attributes: Frontend attributes of the module to set, or (None) to remove. They are looked at when
                all sites are edited.
            target: Whose way to write new shardings.
            more: Further instructions to edit, asked for when all sites are edited.
        """
