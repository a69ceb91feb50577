"""Options that several subcommands share."""

from __future__ import annotations

import re

import click

from sdybridge.errors import SdyBridgeError
from sdybridge.sdy import MeshAttr
from sdybridge.target import Target

target_option = click.option(
    "--target",
    type=click.Choice([target.value for target in Target]),
    default=Target.CURRENT.value,
    show_default=True,
    callback=lambda _context, _option, value: Target(value),
    help="The XLA to write for: current releases, classic (before unreduced shardings), or newer (main).",
)

_SHORT_AXIS = re.compile(r'\s*(?:"(?P<quoted>[^"]*)"|(?P<bare>[^"=,\s]+))\s*=\s*(?P<size>\d+)\s*')


class MeshType(click.ParamType[tuple[str | None, MeshAttr]]):
    """A mesh: `x=2,y=4`, `<["x"=2, "y"=4], device_ids=[...]>`, or one of these behind `@name=`."""

    name = "mesh"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str | None, MeshAttr]:
        """The name before `=`, None if there is none, and the mesh."""
        text = str(value).strip()
        name = None
        named = re.match(r'@(?:([\w$.]+)|"([^"]*)")\s*=\s*', text)
        if named:
            name = named[1] or named[2]
            text = text[named.end() :]
        try:
            if text.startswith(("<", "#")):
                return name, MeshAttr.from_string(text)
            return name, MeshAttr.from_sizes(_short_form(text))
        except SdyBridgeError as error:
            self.fail(str(error), param, ctx)
        except ValueError:
            self.fail(f'{text!r} is no mesh; write x=2,y=4 or <["x"=2, "y"=4]>', param, ctx)


def _short_form(text: str) -> dict[str, int]:
    """The sizes in `x=2,y=4`, by axis name.

    Raises:
        ValueError: The text is something else, or a name comes twice.
    """
    sizes: dict[str, int] = {}
    for part in text.split(","):
        axis = _SHORT_AXIS.fullmatch(part)
        name = axis and (axis["quoted"] or axis["bare"])
        if not axis or not name or name in sizes:
            raise ValueError(text)
        sizes[name] = int(axis["size"])
    return sizes
