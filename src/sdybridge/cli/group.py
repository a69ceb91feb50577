"""The subcommands: one file each, loaded when it is called."""

from __future__ import annotations

import importlib
import io
import sys

import click

import sdybridge

_SECTIONS = {
    "Convert": {
        "convert": "Convert one sharding either way, and show what is lost.",
        "export": "Convert a whole program from Shardy shardings to HLO shardings.",
        "import": "Convert a whole program from HLO shardings to Shardy shardings.",
        "roundtrip": "Export a program, import it back, and compare its shardings.",
        "rewrite": "Write the HLO shardings of a program in another way.",
        "strip": "Remove every sharding of an HLO program.",
        "rename-axes": "Give mesh axes new names, everywhere in a program.",
    },
    "Understand": {
        "explain": "Say what a sharding means, or what moves between two.",
        "draw": "Draw a tensor as a grid of shards, with the devices of each.",
        "diff": "Compare two shardings, or two programs, device by device.",
        "inspect": "Show the meshes, shardings, inputs and outputs of programs.",
        "check": "Find what is wrong or doubtful about the shardings of programs.",
        "report": "Write one HTML page about a program.",
    },
    "Debug": {
        "storage": "Read attributes from a process or core dump, show layouts.",
    },
}
_COMMANDS = {name: about for section in _SECTIONS.values() for name, about in section.items()}
_FILES = {"import": "import_", "rename-axes": "rename_axes"}


class _LazyGroup(click.Group):
    """A group whose subcommands are imported when they are called, so that `--help` answers at once."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = importlib.import_module(
            f"sdybridge.cli.{_FILES.get(cmd_name, cmd_name)}"
        ).command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            import difflib

            close = difflib.get_close_matches(args[0], _COMMANDS, n=1)
            hint = f"did you mean `{close[0]}`?" if close else f"commands: {', '.join(_COMMANDS)}"
            raise click.UsageError(f"no command `{args[0]}`; {hint}", ctx) from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        for title, commands in _SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(f"{name:<11}", about) for name, about in commands.items()])


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(sdybridge.__version__, "-V", "--version", prog_name="sdybridge")
def cli() -> None:
    """Convert shardings between Shardy's named axes and XLA's device grids.

    \b
    Shardy:  #sdy.sharding<@mesh, [{"y"}, {}]>        on <["x"=2, "y"=4]>
    HLO:     {devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}

    The output is byte for byte what XLA writes. Exit codes: 0 done, 1 the input has a problem, 2 wrong usage.

    \b
    Examples:
      sdybridge convert '[{"y"}, {}]' --mesh x=2,y=4
      sdybridge convert '{devices=[4,2]<=[2,4]T(1,0)}'
      sdybridge export step.mlir -o step.hlo.mlir
      sdybridge inspect step.mlir
      sdybridge import step.hlo.mlir --mesh x=2,y=4 -o step.mlir
      cat step.mlir | sdybridge export - | less
    """  # noqa: D301  (click reads the escape)
    if isinstance(sys.stdout, io.TextIOWrapper):  # names in programs may hold bytes that are no text
        sys.stdout.reconfigure(errors="backslashreplace")
