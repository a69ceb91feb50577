"""What the commands on whole programs say about their work: for people, and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sdybridge.bridge import Loss
    from sdybridge.modules import ConvertedModule
    from sdybridge.source import Source


def describe(result: ConvertedModule, source: Source, seconds: float, details: Iterable[str] = ()) -> str:
    """A few lines: the counts, what was rewritten, further `details`, and the losses."""
    counts = [
        plural(result.sites, "site"),
        plural(len(result.shardings), "distinct sharding"),
        plural(len(result.meshes), "mesh", "meshes"),
    ]
    lines = [f"{source.name}: {', '.join(counts)}, {seconds * 1e3:.1f} ms"]
    rewritten = ", ".join(f"{count} {name}" for name, count in sorted(result.operations.items()))
    if rewritten:
        lines.append(f"  rewritten: {rewritten}")
    lines += [f"  {detail}" for detail in details]
    losses = losses_by_kind([(sharding.losses, sharding.count) for sharding in result.shardings])
    width = max((len(kind) for kind, _, _ in losses), default=0)
    for i, (kind, count, explanation) in enumerate(losses):
        lines.append(f"  {'lost:     ' if i == 0 else ' ' * 10} {kind:<{width}} at {count:>6}: {explanation}")
    return "\n".join(lines)


def as_json(result: ConvertedModule, source: Source, seconds: float, **details: object) -> dict[str, object]:
    """The summary for machines; the keys are stable."""
    losses = losses_by_kind([(sharding.losses, sharding.count) for sharding in result.shardings])
    return {
        "file": source.name,
        "sites": result.sites,
        "meshes": {name: mesh.stripped for name, mesh in result.meshes.items()},
        "operations": dict(result.operations),
        **details,
        "shardings": [
            {
                "before": sharding.before,
                "after": sharding.after,
                "count": sharding.count,
                "first": place(result, source, sharding.first),
                "losses": [{"kind": loss.kind.value, "detail": loss.detail} for loss in sharding.losses],
            }
            for sharding in result.shardings
        ],
        "losses": {kind: count for kind, count, _ in losses},
        "functions": _functions(result, source),
        "seconds": round(seconds, 6),
    }


def _functions(result: ConvertedModule, source: Source) -> list[dict[str, object]]:
    """What was done in each function of an MLIR program."""
    from sdybridge.modules import report_functions

    if result.proto is not None or "func.func" not in source.text:
        return []
    return [
        {
            "name": one.name,
            "sites": one.shardings,
            "operations": dict(one.operations),
            "losses": dict(one.losses),
        }
        for one in report_functions(source.text, result)
    ]


def place(result: ConvertedModule, source: Source, offset: int) -> str:
    """A place in the program: `line:column` of a text, `byte N` of a proto."""
    return "{}:{}".format(*source.location(offset)) if result.proto is None else f"byte {offset}"


def losses_by_kind(shardings: Iterable[tuple[Sequence[Loss], int]]) -> list[tuple[str, int, str]]:
    """Each kind of loss with how many sites have it, and its explanation.

    Args:
        shardings: The losses of each sharding, and at how many sites that stands.
    """
    counts: dict[str, tuple[int, str]] = {}
    for losses, count in shardings:
        for kind in dict.fromkeys(loss.kind for loss in losses):
            counts[kind.value] = counts.get(kind.value, (0, ""))[0] + count, kind.explanation
    return [(kind, count, explanation) for kind, (count, explanation) in counts.items()]


def plural(count: int, noun: str, nouns: str | None = None) -> str:
    """The count with its noun.

    >>> plural(1, "mesh", "meshes"), plural(2, "site")
    ('1 mesh', '2 sites')
    """
    return f"{count} {noun if count == 1 else nouns or noun + 's'}"
