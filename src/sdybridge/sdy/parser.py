"""Text to attributes: whole texts, places in larger texts, and the spans of an attribute's parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from sdybridge.sdy import fast_path
from sdybridge.sdy.grammar import Parser, attribute, finish, nearest, stripped
from sdybridge.sdy.sharding import TensorShardingAttr, TensorShardingPerValueAttr
from sdybridge.sdy.uniquing import SHORT_CUTS, Attribute, set_parser
from sdybridge.source import Source, Span
from sdybridge.target import Target

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sdybridge.errors import Path, SdyBridgeError, VerificationError

T = TypeVar("T", bound=Attribute)


def parse_attribute(
    text: str,
    *,
    name: str = "<string>",
    target: Target = Target.CURRENT,
    aliases: Mapping[str, str | Attribute] | None = None,
) -> Attribute:
    """The attribute that `text` spells, of whichever kind its prefix says.

    Args:
        text: A full attribute, such as `#sdy.sharding<@mesh, [{"x"}]>`, `#sdy<manual_axes{"x"}>` or `#alias`.
        name: What error messages call the text.
        target: Whose grammar to follow.
        aliases: What each `#alias` stands for: its text, or an attribute.

    Raises:
        ParseError: The text does not follow the grammar.
        VerificationError: The text holds an invalid mesh.

    >>> parse_attribute('#sdy<manual_axes{"x"}>')
    ManualAxesAttr(['x'])

    Source: shardy/dialect/sdy/ir/parsers.cc.
    """
    if isinstance(text, str) and text.startswith("#"):
        found = fast_path.sharding(text) or fast_path.per_value(text)
        if found is not None:
            return found
    p = _whole(text, name, target, aliases)
    attr = attribute(p, None, ())
    finish(p)
    return attr


def parse_prefix(
    text: str | Source,
    pos: int,
    cls: type[T],
    *,
    name: str = "<string>",
    target: Target = Target.CURRENT,
    aliases: Mapping[str, str | Attribute] | None = None,
) -> tuple[T, int]:
    """The attribute that starts at `pos` of a larger text, and where it ends.

    Args:
        text: The text, or the source that holds it, in which errors are located.
        pos: Where the attribute starts; white space and comments before it are skipped.
        cls: What to read, in the full or the stripped form: `<@mesh, [{"x"}]>`, `{"x"}` for an axis ref list.
            A per-value sharding also in the form that ops have: `[<@mesh, [{"x"}]>]`.
        name: What error messages call the text, unless it is a source.
        target: Whose grammar to follow.
        aliases: What each `#alias` stands for: its text, or an attribute.

    Raises:
        ParseError: The text does not follow the grammar.
        VerificationError: The text holds an invalid mesh.

    >>> attr, end = parse_prefix('sdy.reshard %0 <@mesh, [{"x"}]> : tensor<4xf32>', 15, TensorShardingAttr)
    >>> attr.stripped, end
    ('<@mesh, [{"x"}]>', 31)
    """
    source = text if isinstance(text, Source) else None
    if cls is TensorShardingAttr:
        found = fast_path.sharding_at(text if source is None else source.text, pos)  # type: ignore[arg-type]
        if found is not None:
            return found  # type: ignore[return-value]
    p = Parser(source or Source(text, name), pos, target=target, aliases=aliases)  # type: ignore[arg-type]
    return stripped(p, cls, ()), p.pos  # type: ignore[return-value]


def parse_with_spans(
    text: str,
    cls: type[T] | None = None,
    *,
    name: str = "<string>",
    target: Target = Target.CURRENT,
    aliases: Mapping[str, str | Attribute] | None = None,
) -> tuple[T, dict[Path, Span]]:
    """The attribute, and where in `text` each of its parts stands, by the path to the part.

    Parts that an alias stands for have no span of their own; device ids only as a whole list.

    >>> attr, spans = parse_with_spans('#sdy.sharding<@mesh, [{}, {"x"}]>')
    >>> spans["dim_shardings", 1, "axes", 0]
    Span(start=27, end=30)
    """
    spans: dict[Path, Span] = {}
    p = _whole(text, name, target, aliases, spans)
    attr = attribute(p, None, ()) if cls is None else stripped(p, cls, ())
    finish(p)
    return attr, spans  # type: ignore[return-value]


def locate(
    error: VerificationError,
    source: Source,
    pos: int = 0,
    cls: type[Attribute] | None = None,
    *,
    target: Target = Target.CURRENT,
    aliases: Mapping[str, str | Attribute] | None = None,
) -> SdyBridgeError:
    """The same error, with a caret under the part of the text that its path leads to.

    Args:
        error: An error about the attribute that `source` spells at `pos`.
        source: The text.
        pos: Where in it the attribute starts.
        cls: The attribute's class; None for one in full form, which says it itself.
        target: Whose grammar to follow.
        aliases: What each `#alias` stands for.

    >>> from sdybridge.errors import VerificationError
    >>> source = Source('#sdy.sharding<@mesh, [{}, {"x"}]>')
    >>> print(locate(VerificationError("no", rule="", path=("dim_shardings", 1, "axes", 0)), source))
    <string>:1:28: error: no
    #sdy.sharding<@mesh, [{}, {"x"}]>
                               ^~~
    """
    spans: dict[Path, Span] = {}
    p = Parser(source, pos, target=target, aliases=aliases, spans=spans)
    attribute(p, None, ()) if cls is None else stripped(p, cls, ())
    return error.located(source, nearest(spans, error.path, Span(pos, p.pos)))


def _whole(
    text: str,
    name: str,
    target: Target,
    aliases: Mapping[str, str | Attribute] | None,
    spans: dict[Path, Span] | None = None,
) -> Parser:
    if not isinstance(text, str):
        raise TypeError(f"text must be a str, not {type(text).__name__}")
    p = Parser(Source(text, name), target=target, aliases=aliases, spans=spans)
    if p.start() > 0:
        raise p.error("white space or a comment before the attribute", 0, p.start(), help="remove it")
    return p


def _parse_whole(
    cls: type[T],
    text: str,
    name: str,
    target: Target,
    aliases: Mapping[str, str | Attribute] | None,
) -> T:
    p = _whole(text, name, target, aliases)
    attr = stripped(p, cls, ())
    finish(p)
    return attr  # type: ignore[return-value]


set_parser(_parse_whole)
SHORT_CUTS[TensorShardingAttr] = fast_path.sharding
SHORT_CUTS[TensorShardingPerValueAttr] = fast_path.per_value
