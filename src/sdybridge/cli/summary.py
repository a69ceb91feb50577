"""What the commands on whole programs say about their work: for people, and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdybridge.cli.tables import aligned
from sdybridge.errors import plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sdybridge.bridge import Loss
    from sdybridge.cli.terminal import ProgramFile
    from sdybridge.modules import ConvertedModule
    from sdybridge.source import Source

_FEW = 10
"""How many functions the summary lists, unless it is asked for all."""


def describe(result: ConvertedModule, source: Source, seconds: float, details: Iterable[str] = ()) -> str:
    """The warnings; and a few lines: the counts, what was rewritten, further `details`, and the losses."""
    counts = [
        plural(result.sites, "site"),
        plural(len(result.shardings), "distinct sharding"),
        plural(len(result.meshes), "mesh", "meshes"),
    ]
    lines = [*map(str, result.warnings), f"{source.name}: {', '.join(counts)}, {seconds * 1e3:.1f} ms"]
    rewritten = ", ".join(f"{count} {name}" for name, count in sorted(result.operations.items()))
    if rewritten:
        lines.append(f"  rewritten: {rewritten}")
    lines += [f"  {detail}" for detail in details]
    losses = losses_by_kind([(sharding.losses, sharding.count) for sharding in result.shardings])
    width = max((len(kind) for kind, _, _ in losses), default=0)
    for i, (kind, count, explanation) in enumerate(losses):
        lines.append(f"  {'lost:     ' if i == 0 else ' ' * 10} {kind:<{width}} at {count:>6}: {explanation}")
    return "\n".join(lines)


def function_table(result: ConvertedModule, program: ProgramFile, *, all_functions: bool) -> str:
    """A line for each function with shardings: how many were converted, kept, and lost something.

    Of a program with one such function the summary has said it all.
    """
    from sdybridge.modules import report_functions

    found = [one for one in report_functions(program.data, result) if one.name and not one.is_empty]
    if len(found) < (1 if all_functions else 2):
        return ""
    found.sort(key=lambda one: -one.shardings)  # a stable sort: the order of the program among equals
    shown = found if all_functions else found[:_FEW]
    rows = [["function", "sites", "operations", "kept", "lost at"]]
    rows += [
        [
            one.name,
            str(one.shardings),
            str(one.operations.total()),
            str(one.kept),
            ", ".join(f"{kind} {count}" for kind, count in one.losses.most_common()) or "-",
        ]
        for one in shown
    ]
    more = [f"  ... and {len(found) - len(shown)} more; --all lists them"] if len(shown) < len(found) else []
    return "".join([f"\n{line}" for line in [*aligned(rows, right=[1, 2, 3]), *more]])


def as_json(
    result: ConvertedModule, program: ProgramFile, seconds: float, **details: object
) -> dict[str, object]:
    """The summary for machines; the keys are stable."""
    source = program.source
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
        "functions": _functions(result, program),
        "warnings": [
            {
                "rule": one.rule,
                "message": one.message,
                "at": one.location.removeprefix(f"{source.name}:").strip(),
                "notes": list(one.notes),
                "help": one.help,
            }
            for one in result.warnings
        ],
        "seconds": round(seconds, 6),
    }


def _functions(result: ConvertedModule, program: ProgramFile) -> list[dict[str, object]]:
    """What was done in each function or computation."""
    from sdybridge.modules import report_functions

    return [
        {
            "name": one.name,
            "sites": one.shardings,
            "operations": dict(one.operations),
            "kept": one.kept,
            "losses": dict(one.losses),
        }
        for one in report_functions(program.data, result)
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
