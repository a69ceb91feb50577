"""Options that several subcommands share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from sdybridge.cli.meshes import read_mesh
from sdybridge.errors import SdyBridgeError
from sdybridge.sdy import MeshAttr
from sdybridge.target import Target

if TYPE_CHECKING:
    from collections.abc import Iterable

_GIVEN = (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT)

target_option = click.option(
    "--target",
    type=click.Choice([target.value for target in Target]),
    default=Target.CURRENT.value,
    show_default=True,
    callback=lambda _context, _option, value: Target(value),
    help="The XLA to write for: current releases, classic (before unreduced shardings), newer (main), or "
    "named (current, with named meshes in place of device grids).",
)

all_functions_option = click.option(
    "-a", "--all", "all_functions", is_flag=True, help="Every function in the summary, not the first 10."
)


def refuse_options(names: Iterable[str], why: str) -> None:
    """Check that options are not given that would do nothing.

    Args:
        names: The names of their parameters.
        why: What they would do nothing for, and what to do instead: `{}` stands for the option.

    Raises:
        click.UsageError: One is given.
    """
    context = click.get_current_context()
    for parameter in context.command.params:
        if parameter.name in names and context.get_parameter_source(parameter.name) in _GIVEN:
            name = (
                parameter.opts[-1] if isinstance(parameter, click.Option) else parameter.human_readable_name
            )
            raise click.UsageError(why.format(name))


def refuse_extra_summary(*, quiet: bool, in_json: bool) -> None:
    """Check that no options about the summary are given which there is none for.

    Raises:
        click.UsageError: One is.
    """
    if in_json:
        refuse_options(("quiet", "all_functions"), "{} is for the summary in words; --json has everything")
    if quiet:
        refuse_options(("all_functions",), "{} is for the summary, which --quiet leaves out")


class Names(click.ParamType[tuple[str, ...]]):
    """Names with commas between them."""

    name = "names"

    def convert(
        self,
        value: object,
        param: click.Parameter | None,  # noqa: ARG002
        ctx: click.Context | None,  # noqa: ARG002
    ) -> tuple[str, ...]:
        """The names, without the white space around them."""
        if isinstance(value, tuple):
            return value
        return tuple(filter(None, (name.strip() for name in str(value).split(","))))


class MeshType(click.ParamType[tuple[str | None, MeshAttr]]):
    """A mesh: `x=2,y=4`, `<["x"=2, "y"=4], device_ids=[...]>`, or one of these behind `@name=`."""

    name = "mesh"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str | None, MeshAttr]:
        """The name before `=`, None if there is none, and the mesh."""
        text = str(value).strip()
        try:
            return read_mesh(text)
        except SdyBridgeError as error:
            self.fail(str(error), param, ctx)
        except ValueError:
            self.fail(f'{text!r} is no mesh; write x=2,y=4 or <["x"=2, "y"=4]>', param, ctx)


def known_meshes(
    meshes: tuple[tuple[str | None, MeshAttr], ...],
) -> dict[str, MeshAttr] | MeshAttr | None:
    """The meshes of `--mesh`, which may be repeated: one may have no name, several need names."""
    if len(meshes) == 1 and meshes[0][0] is None:
        return meshes[0][1]
    known = {}
    for name, mesh in meshes:
        if name is None:
            raise click.UsageError("several meshes need names: --mesh @first=x=2 --mesh @second=y=4")
        if name in known:
            raise click.UsageError(f"the mesh @{name} is given twice")
        known[name] = mesh
    return known or None
