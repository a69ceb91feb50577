"""One sharding, text to text and back, each text seen once, beside JAX's conversions without its cache."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any

from jax._src.named_sharding import named_sharding_to_xla_hlo_sharding
from jax._src.sharding_impls import parse_flatten_op_sharding
from jaxlib.xla_client import HloSharding as XlaHloSharding

from benchmarks.shardings import Cases, make_cases, random_sizes
from benchmarks.table import AtMost, Row, Table
from benchmarks.timing import alternate
from sdybridge import HloSharding, TensorShardingAttr, convert_to_hlo_sharding, convert_to_sdy_sharding

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.effort import Effort
    from sdybridge import MeshAttr

ONE_IMPORT = AtMost(20e-6)

_convert_without_cache = named_sharding_to_xla_hlo_sharding.__wrapped__


def run(effort: Effort) -> Iterator[Table]:
    """Shardings over whole axes, and over parts of axes."""
    rounds = range(effort.rounds + 1)
    whole = [make_cases(random_sizes(k, 3 + k % 2), most=effort.inputs) for k in rounds]
    parts = []
    for k in rounds:
        sizes = random_sizes(1000 + k, 3 + k % 2, least=4)
        parts.append(make_cases(sizes, cut=list(sizes)[:2], most=effort.inputs))
    rows = [
        _row("over whole axes", whole),
        _row("over parts of axes", parts),
    ]
    yield Table(
        "One conversion, text to text, each input seen once",
        "JAX uncached",
        rows,
        "JAX starts from finished objects and has axes of their own for the parts",
    )
    imports = [
        _import_row("over whole axes", whole),
        _import_row("over parts of axes", parts),
    ]
    yield Table(
        "One import, text to text, each input seen once",
        "JAX",
        imports,
        "JAX finds the PartitionSpec of the text that jaxlib parses, on axes of their own for the parts",
    )


def texts_to_texts(texts: Sequence[str], mesh: MeshAttr) -> list[str]:
    """Our conversion: parse, verify, convert, print."""
    return [str(convert_to_hlo_sharding(TensorShardingAttr.from_string(text), mesh)) for text in texts]


def objects_to_texts(shardings: Sequence[tuple[Any, int]]) -> list[str]:
    """JAX's conversion: convert, print."""
    return [str(_convert_without_cache(sharding, rank)) for sharding, rank in shardings]


def _row(what: str, cases: Sequence[Cases]) -> Row:
    """The cases of each round are on a mesh of their own, so that no cache knows anything of them."""
    texts = [case.texts() for case in cases]
    named = [case.named_shardings() for case in cases]
    check_equal(texts[0], texts_to_texts(texts[0], cases[0].mesh), objects_to_texts(named[0]))
    ours, theirs = alternate(
        [lambda k: texts_to_texts(texts[k], cases[k].mesh), lambda k: objects_to_texts(named[k])],
        len(cases) - 1,
    )
    counts = [len(case) for case in texts[1:]]
    return Row(
        f"{what} ({sum(counts)} inputs)",
        median(s / n for s, n in zip(ours.cpu, counts, strict=True)),
        median(s / n for s, n in zip(theirs.cpu, counts, strict=True)),
    )


def _import_row(what: str, cases: Sequence[Cases]) -> Row:
    """What the export of each case gives, imported again on the case's mesh."""
    texts = [texts_to_texts(case.texts(), case.mesh) for case in cases]
    named = [case.named_shardings() for case in cases]
    ours, theirs = alternate(
        [
            lambda k: _imports(texts[k], cases[k].mesh),
            lambda k: _jax_imports(texts[k], named[k][0][0].mesh),
        ],
        len(cases) - 1,
    )
    counts = [len(case) for case in texts[1:]]
    return Row(
        f"{what} ({sum(counts)} inputs)",
        median(s / n for s, n in zip(ours.cpu, counts, strict=True)),
        median(s / n for s, n in zip(theirs.cpu, counts, strict=True)),
        goal=ONE_IMPORT,
    )


def _imports(texts: Sequence[str], mesh: MeshAttr) -> list[str]:
    return [str(convert_to_sdy_sharding(HloSharding.from_string(text), mesh)) for text in texts]


def _jax_imports(texts: Sequence[str], mesh: Any) -> list[str]:
    return [str(parse_flatten_op_sharding(XlaHloSharding.from_string(text), mesh)) for text in texts]


def check_equal(texts: Sequence[str], ours: Sequence[str], theirs: Sequence[str]) -> None:
    """Both must convert to the same before their speed says anything.

    Raises:
        ValueError: They do not.
    """
    for text, our, their in zip(texts, ours, theirs, strict=True):
        if our != their:
            raise ValueError(f"{text} is {our} for us and {their} for JAX")
