"""What the productions share: full attributes, aliases, lists."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeVar

from sdybridge.errors import ParseError, VerificationError
from sdybridge.sdy.lexer import Lexer
from sdybridge.sdy.printer import show
from sdybridge.sdy.suggestions import closest
from sdybridge.source import Source, Span
from sdybridge.target import Target

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sdybridge.errors import Path
    from sdybridge.sdy.uniquing import Attribute

T = TypeVar("T")

BODIES: dict[type[Attribute], Callable[[Parser, Path], Attribute]] = {}
"""The production of each class's stripped text; filled by the package, which imports them all."""

IN_OPS: dict[type[Attribute], Callable[[Parser, Path], Attribute]] = {}
"""The production of a class that ops write shorter still, from its `[` on."""

_NOT_READ = frozenset({"dim_mapping", "op_sharding_rule", "propagation_direction", "tensor_mapping"})

_MAX_ALIASES = 100  # one within another


class Parser(Lexer):
    """A lexer with what the productions share.

    Attributes:
        target: Whose grammar to follow.
        aliases: What each `#alias` stands for.
        spans: Where to note the place of every part by its path, if anywhere.
        expanding: The aliases whose text this is, outermost first.
    """

    __slots__ = ("aliases", "expanding", "spans", "target")

    def __init__(
        self,
        source: Source,
        pos: int = 0,
        *,
        target: Target = Target.CURRENT,
        aliases: Mapping[str, str | Attribute] | None = None,
        spans: dict[Path, Span] | None = None,
        expanding: tuple[str, ...] = (),
    ) -> None:
        super().__init__(source, pos)
        self.target = target
        self.aliases = {} if aliases is None else aliases
        self.spans = spans
        self.expanding = expanding

    def mark(self, path: Path, start: int) -> None:
        """Notes that the part at `path` spans from `start` to here."""
        if self.spans is not None:
            self.spans[path] = Span(start, self.pos)


def stripped(p: Parser, cls: type[Attribute], path: Path) -> Attribute:
    """The attribute in its full form, by an alias, or without its `#sdy.name`."""
    if p.at("#"):
        return attribute(p, cls, path)
    if cls in IN_OPS and p.at("["):
        return IN_OPS[cls](p, path)
    return BODIES[cls](p, path)


def attribute(p: Parser, cls: type[Attribute] | None, path: Path) -> Attribute:
    """`attribute := '#sdy.' word body | '#sdy<' word body '>' | '#' alias`."""
    start = p.start()
    name = p.take_hash()
    if name is None:
        raise p.expected("an attribute such as '#sdy.sharding<..>'", p.after())
    follows = p.text[p.pos : p.pos + 1]
    if name == "sdy" and follows == "<":
        p.pos += 1
        attr = _in_angles(p, cls, path)
    elif name.startswith("sdy."):
        attr = _dotted(p, cls, name[4:], start, path)
    elif "." in name or follows == "<":
        raise p.error(f"'#{name}' is not an attribute of Shardy", start, p.pos)
    else:
        attr = _alias(p, cls, name, start)
    p.mark(path, start)
    return attr


def _in_angles(p: Parser, cls: type[Attribute] | None, path: Path) -> Attribute:
    start = p.start()
    mnemonic = p.take_word()
    if mnemonic is None:
        raise p.expected("the name of an attribute", "'#sdy<'")
    attr = BODIES[_class_of(p, cls, mnemonic, start)](p, path)
    p.expect(">", f"the {mnemonic}", "add a '>'")
    return attr


def _dotted(p: Parser, cls: type[Attribute] | None, mnemonic: str, start: int, path: Path) -> Attribute:
    found = _class_of(p, cls, mnemonic, start + len("#sdy."))
    if not found.is_dotted:
        inner = re.match(r"<([^<>]*)>|([{\[(\"][^<>]*)$", p.text[p.pos : p.pos + 100])
        body = "" if inner is None else inner[1] or inner[2]
        raise p.error(
            f"{with_article(mnemonic)} stands inside '#sdy<..>'",
            start,
            p.pos,
            help=f"write #sdy<{mnemonic}{body or '..'}>",
        )
    if not p.text.startswith("<", p.pos):
        spaced = p.at("<")
        raise p.expected(
            "'<'", f"'#sdy.{mnemonic}' directly", "drop the space before the '<'" if spaced else None
        )
    return BODIES[found](p, path)


def _class_of(p: Parser, cls: type[Attribute] | None, mnemonic: str, start: int) -> type[Attribute]:
    by_mnemonic = {known.mnemonic: known for known in BODIES}
    found = by_mnemonic.get(mnemonic)
    if not mnemonic:
        raise p.expected("the name of an attribute", "'#sdy.' directly")
    if mnemonic in _NOT_READ:
        raise p.error(f"{with_article(mnemonic)} places no data and is not read", start, p.pos)
    if found is None:
        meant = closest(mnemonic, list(by_mnemonic))
        raise p.error(
            f"Shardy has no attribute named {show(mnemonic)}",
            start,
            p.pos,
            help=None if meant is None else f"did you mean {meant}?",
        )
    if cls is not None and cls is not found:
        raise p.error(
            f"expected {with_article(cls.mnemonic)} here, found {with_article(mnemonic)}", start, p.pos
        )
    return found


def _alias(p: Parser, cls: type[Attribute] | None, name: str, start: int) -> Attribute:
    value = alias_value(p, name, start)
    if not isinstance(value, str):
        if cls is not None and type(value) is not cls:
            raise p.error(
                f"expected {with_article(cls.mnemonic)} here, but #{name} is {with_article(value.mnemonic)}",
                start,
                p.pos,
            )
        return value
    inner = inside_alias(p, name, value)
    attr = attribute(inner, cls, ())
    finish(inner)
    return attr


def with_article(mnemonic: str) -> str:
    """An attribute's name in a sentence."""
    return f"an {mnemonic}" if mnemonic[0] in "ao" else f"a {mnemonic}"


def alias_value(p: Parser, name: str, start: int) -> str | Attribute:
    """What the alias `#name` at `start` stands for."""
    if name in p.expanding:
        raise p.error(f"the alias #{name} stands for itself", start, p.pos)
    if len(p.expanding) >= _MAX_ALIASES:
        raise p.error(f"more than {_MAX_ALIASES} aliases stand for one another", start, p.pos)
    value = p.aliases.get(name)
    if value is None:
        meant = closest(name, list(p.aliases))
        raise p.error(
            f"the alias #{name} is not defined",
            start,
            p.pos,
            help=None if meant is None else f"did you mean #{meant}?",
        )
    return value


def inside_alias(p: Parser, name: str, text: str) -> Parser:
    """A parser of the text that the alias `#name` stands for."""
    source = Source(text, f"#{name}")
    return Parser(source, target=p.target, aliases=p.aliases, expanding=(*p.expanding, name))


def finish(p: Parser) -> None:
    """Accepts the ` : type` that MLIR lets follow an attribute, and then nothing more."""
    if p.take(":"):
        start = p.start()
        p.take("!")
        if p.take_word() is None:
            raise p.expected("a type", "':'")
        if p.text.startswith("<", p.pos):
            _skip_brackets(p, start)
    if p.start() < len(p.text):
        raise p.expected("nothing more", "the attribute", "remove the rest")


def _skip_brackets(p: Parser, start: int) -> None:
    depth = 0
    for bracket in re.finditer(r"<|(?<!-)>", p.text[p.pos :]):
        depth += 1 if bracket[0] == "<" else -1
        if depth == 0:
            p.pos += bracket.end()
            return
    raise p.error("the type is not closed", start, len(p.text))


def items(p: Parser, close: str, item: Callable[[Parser, Path], T], path: Path, noun: str) -> list[T]:
    """`items := item (',' item)* close`."""
    found: list[T] = []
    while True:
        start = p.start()
        found.append(item(p, (*path, len(found))))
        end = p.pos
        if p.take(","):
            if p.at(close):
                raise p.expected(noun, "','", "remove the ','")
        elif p.take(close):
            return found
        else:
            raise p.expected(f"',' or '{close}'", noun, comma_help(p, item, p.text[start:end]))


def comma_help(p: Parser, item: Callable[[Parser, Path], object], before: str) -> str | None:
    """The two items with the comma that is missing between them, if the second is one."""
    start = p.start()
    probe = Parser(p.source, start, target=p.target, aliases=p.aliases, expanding=p.expanding)
    try:
        item(probe, ())
    except (ParseError, VerificationError):
        return None
    if len(before) + probe.pos - start > 80:
        return "add a ','"
    return f"write `{before}, {p.text[start : probe.pos]}`"


def element(cls: type[T], body: Callable[[Parser, Path], T]) -> Callable[[Parser, Path], T]:
    """`element := body | attribute`, of a list that takes full attributes and aliases as well."""

    def parse(p: Parser, path: Path) -> T:
        return attribute(p, cls, path) if p.at("#") else body(p, path)  # type: ignore[arg-type, return-value]

    return parse


def nearest(spans: Mapping[Path, Span], path: Path, otherwise: Span) -> Span:
    """The span of the smallest part around `path` that has one."""
    while path not in spans:
        if not path:
            return otherwise
        path = path[:-1]
    return spans[path]
