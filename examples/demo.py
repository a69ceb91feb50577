"""The demo: a real training step goes from Shardy shardings to HLO shardings, and XLA checks the result.

    make demo

1. Read `examples/transformer_step.mlir`, a transformer step that JAX lowered for 128 devices.
2. Export it, and show each distinct sharding before and after.
3. Let the real XLA inside jaxlib read our result, derive its own HLO shardings from the original program, and
   compare the two instruction by instruction.
4. Write a page with every value of the program drawn and explained, to open in a browser.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from sdybridge import ConstraintForm, ExportResult, export_module
from sdybridge.view.report import render_report

HERE = Path(__file__).parent
PROGRAM = HERE / "transformer_step.mlir"
OUTPUT = HERE.parent / "demo-output"

_SHARDING = re.compile(r"(?:, |^)sharding=(\{(?:[^{}]|\{[^{}]*\})*\})")


def main() -> None:
    """Run the demo; exit with 1 if XLA disagrees."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("program", nargs="?", type=Path, default=PROGRAM, help="another StableHLO program")
    arguments = parser.parse_args()
    console = Console(width=None if sys.stdout.isatty() else 132, highlight=False)

    text = arguments.program.read_text()
    export_module("")  # load everything once, so that the time below is that of the work
    start = time.perf_counter()
    result = export_module(text, name=str(arguments.program))
    seconds = time.perf_counter() - start

    OUTPUT.mkdir(exist_ok=True)
    exported = OUTPUT / f"{arguments.program.stem}.hlo.mlir"
    exported.write_text(result.text)
    _show_program(console, arguments.program, text, result)
    _show_shardings(console, result)
    rate = f"[bold]{seconds * 1e3:.1f} ms[/] ({len(text) / 1e6 / seconds:.0f} MB/s)"
    console.print(
        f"[bold]{result.sites}[/] shardings exported in {rate}, written to {OUTPUT.name}/{exported.name}"
    )
    _show_losses(console, result)
    agrees = _check_with_xla(console, text, result)
    page = OUTPUT / f"{arguments.program.stem}.html"
    page.write_text(render_report(text, name=arguments.program.name))
    console.print(f"Every value drawn and explained: open {OUTPUT.name}/{page.name} in a browser.")
    sys.exit(0 if agrees else 1)


def _show_program(console: Console, path: Path, text: str, result: ExportResult) -> None:
    console.print()
    console.print(f"[bold]{path.name}[/]: {len(text) / 1e3:.0f} KB of StableHLO with Shardy shardings")
    for name, mesh in result.meshes.items():
        console.print(f"  sdy.mesh @{name} = [cyan]{mesh.stripped}[/]  ({mesh.total_size} devices)")
    console.print()


def _show_shardings(console: Console, result: ExportResult) -> None:
    table = Table(title="Distinct shardings, before and after", title_justify="left", header_style="bold")
    table.add_column("sites", justify="right")
    table.add_column("Shardy", style="cyan")
    table.add_column("HLO", style="green")
    for sharding in result.shardings:
        before = sharding.before.removeprefix("#sdy.sharding").removeprefix("<@mesh, ").removesuffix(">")
        table.add_row(str(sharding.count), Text(before), Text(sharding.after))
    console.print(table)


def _show_losses(console: Console, result: ExportResult) -> None:
    counts: dict[str, int] = {}
    for sharding in result.shardings:
        for kind in dict.fromkeys(loss.kind for loss in sharding.losses):
            counts[kind.explanation] = counts.get(kind.explanation, 0) + sharding.count
    console.print("What HLO shardings cannot hold:")
    for explanation, count in counts.items():
        console.print(f"  {count:>5} sites: {explanation}")
    console.print()


def _check_with_xla(console: Console, text: str, result: ExportResult) -> bool:
    """Whether XLA reads our program and derives the same HLO shardings from the original one."""
    try:
        from jax._src.lib import _jax
    except ImportError:
        console.print(
            "[yellow]jaxlib is not installed, so XLA was not asked: pip install 'sdybridge\\[jax]'[/]"
        )
        return True

    def shardings(program: str) -> list[str]:
        hlo = _jax.mlir.mlir_module_to_xla_computation(program).as_hlo_text()
        return [found[1] for line in hlo.splitlines() if (found := _SHARDING.search(line))]

    # XLA's front end writes constraints as @Sharding custom calls, so compare with that form.
    ours = shardings(export_module(text, constraints=ConstraintForm.CUSTOM_CALL).text)
    shardings(result.text)  # the default form must be accepted too
    xla = shardings(text)
    same = sum(a == b for a, b in zip(ours, xla, strict=False))
    if ours == xla:
        agreed = f"all {len(xla)} HLO shardings that it derives from the two programs are the same"
        console.print(f"[bold green]XLA agrees:[/] it reads the result, and {agreed}.")
        return True
    console.print(
        f"[bold red]XLA differs:[/] {same} of {len(xla)} HLO shardings are the same (ours: {len(ours)})."
    )
    return False


if __name__ == "__main__":
    main()
