"""The documentation: its examples run, its generated parts are current, its links lead somewhere."""

from __future__ import annotations

import doctest
import importlib.util
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
TOP = [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")]
PAGES = [*TOP, *sorted(DOCS.rglob("*.md"))]
CHECK_PAGES = DOCS / "reference" / "checks"

LANGUAGES = {"python", "console", "text", "mlir", "ebnf", "proto", "yaml", ""}
"""What a block may be written in: `python` and `console` run, the others only show."""

_BLOCK = re.compile(
    r"(?:^<!-- file: (?P<file>[\w./-]+) -->\n+)?^```(?P<language>\w*)\n(?P<body>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_END = "~~~ end of the command ~~~"
_FIGURES = re.compile(r'\d+(?:\.\d+)?(?= ms\b)|(?<="seconds": )[\d.e-]+')
"""What differs from run to run."""


class Block(NamedTuple):
    """One fenced block of a page."""

    language: str
    body: str
    file: str | None
    line: int


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def read_blocks(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for found in _BLOCK.finditer(text):
        yield Block(found["language"], found["body"], found["file"], text.count("\n", 0, found.start()) + 1)


every_page = pytest.mark.parametrize("page", PAGES, ids=name_of)


# Those on checks are generated as a whole, from what the command answers.
@pytest.mark.parametrize("page", [p for p in PAGES if p.parent != CHECK_PAGES], ids=name_of)
def test_examples(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One page is one session: a directory with the examples and the page's files, and the names so far."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{commands(tmp_path.parent)}:{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in read_blocks(page):
        if block.file:
            Path(block.file).write_text(block.body, encoding="utf-8")
        if block.language == "python":
            run_python(block, names, page)
        elif block.language == "console":
            run_console(block, page)


def commands(directory: Path) -> Path:
    """A directory with the two commands that pages use, whether or not the package is installed."""
    found = directory / "commands"
    found.mkdir(exist_ok=True)
    for name, arguments in (("sdybridge", " -m sdybridge"), ("python", "")):
        script = found / name
        script.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)}{arguments} "$@"\n')
        script.chmod(0o755)
    return found


def run_python(block: Block, names: dict[str, Any], page: Path) -> None:
    if block.file:  # a script: a console block runs it
        return
    where = f"{name_of(page)}:{block.line}"
    example = doctest.DocTestParser().get_doctest(block.body, {}, where, str(page), block.line)
    assert example.examples, f"{where}: a python block has no example; write >>> or name its file"
    example.globs = names
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    runner.run(example, out=report.append, clear_globs=False)
    assert not runner.failures, "".join(report)


def run_console(block: Block, page: Path) -> None:
    entered = list(read_commands(block.body))
    assert entered, f"{name_of(page)}:{block.line}: no line starts with $"
    outputs = run_shell(entered)
    actual = "".join(f"{shown(command)}\n{output}" for command, output in zip(entered, outputs, strict=True))
    wanted = "\n".join(line.rstrip() for line in block.body.split("\n") if line.strip())
    given = "\n".join(line.rstrip() for line in actual.split("\n") if line.strip())
    wanted, given = _FIGURES.sub("#", wanted), _FIGURES.sub("#", given)
    if not doctest.OutputChecker().check_output(wanted, given, doctest.ELLIPSIS):
        assert given == wanted, f"{name_of(page)}:{block.line}"


def read_commands(body: str) -> Iterator[str]:
    """The commands after `$`; a line that ends with a backslash goes on behind the next `>`."""
    lines = iter(body.splitlines())
    for line in lines:
        if not line.startswith("$ "):
            continue
        command = line[2:]
        while command.endswith("\\"):
            command += "\n" + next(lines).removeprefix("> ")
        yield command


def shown(command: str) -> str:
    return "$ " + command.replace("\n", "\n> ")


def run_shell(entered: Sequence[str]) -> list[str]:
    """What each command prints, both streams as they come; one shell for all, so that `$?` works."""
    script = "\n".join(
        f"{command}\nstatus=$?; echo {shlex.quote(_END)}; (exit $status)" for command in entered
    )
    done = subprocess.run(
        ["bash", "-c", f"exec 2>&1\n{script}"],
        check=False,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
    )
    outputs = done.stdout.split(f"{_END}\n")
    assert outputs.pop() == "", done.stdout
    return outputs


@every_page
def test_blocks_are_of_known_languages(page: Path) -> None:
    unknown = [
        f"{block.line}: {block.language}" for block in read_blocks(page) if block.language not in LANGUAGES
    ]
    assert not unknown
    text = page.read_text(encoding="utf-8")
    assert text.count("\n```") == 2 * len(list(read_blocks(page))), "a fence is indented or not closed"


@every_page
def test_links_lead_somewhere(page: Path) -> None:
    text = _BLOCK.sub("", page.read_text(encoding="utf-8"))
    links = [link for link in _LINK.findall(text) if "://" not in link]
    broken = [link for link in links if not leads_somewhere(page, link)]
    assert not broken


def leads_somewhere(page: Path, link: str) -> bool:
    file, _, anchor = link.partition("#")
    target = (page.parent / file).resolve() if file else page
    return target.exists() and (not anchor or anchor in anchors(target))


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub makes of the headings of a page."""
    text = _BLOCK.sub("", page.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links(page: Path) -> Iterator[Path]:
    """The files that a page leads to."""
    for link in _LINK.findall(_BLOCK.sub("", page.read_text(encoding="utf-8"))):
        if "://" not in link:
            yield (page.parent / link.partition("#")[0]).resolve() if link[0] != "#" else page


def test_every_page_can_be_reached() -> None:
    """From the first one; it links to all but those on single checks."""
    found, todo = set[Path](), [DOCS / "index.md"]
    while todo:
        page = todo.pop()
        if page not in found and page.suffix == ".md":
            found.add(page)
            todo += links(page)
    pages = {page for page in PAGES if page.is_relative_to(DOCS)}
    assert pages <= found
    assert {page for page in pages if page.parent != CHECK_PAGES} <= {
        *links(DOCS / "index.md"),
        DOCS / "index.md",
    }


def test_the_site_lists_every_page_once() -> None:
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    listed = re.findall(r"- ([\w/-]+\.md)$", nav, re.MULTILINE)
    assert sorted(listed) == sorted(str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md"))


@pytest.mark.slow
def test_the_site_builds(tmp_path: Path) -> None:
    """Strictly: a warning, of an anchor that is not there for one, is an error."""
    pytest.importorskip("material", reason="mkdocs-material is not installed; `make docs` does it")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    for page in DOCS.rglob("*.md"):
        place = page.relative_to(DOCS).with_suffix("")
        assert (tmp_path / (place.parent if place.name == "index" else place) / "index.html").exists()


@pytest.mark.parametrize("page", sorted((DOCS / "how-to").glob("*.md")), ids=name_of)
def test_how_tos_are_alike(page: Path) -> None:
    """The goal, a command with its output, what it means, where to go on."""
    text = _BLOCK.sub(lambda block: f"<{block['language']}>", page.read_text(encoding="utf-8"))
    title, goal, *_ = text.split("\n\n")
    assert title.startswith("# ")
    assert goal.startswith("**Goal:** ")
    shown, _, rest = text.partition("\n## What it means\n")
    assert "<console>" in shown or "<python>" in shown
    assert re.search(r"\n## Next\n\n(?:- .*\n(?:  .*\n)*)+\Z", rest)


@every_page
def test_style(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert "\N{EM DASH}" not in text
    assert text.startswith("# ")


GENERATE: Any = None


def generate() -> Any:
    """The module `docs/generate.py`."""
    global GENERATE
    if GENERATE is None:
        spec = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
        assert spec is not None
        assert spec.loader is not None
        GENERATE = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(GENERATE)
    return GENERATE


@every_page
def test_generated_parts_are_current(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text == generate().with_generated_parts(text), "run `python docs/generate.py`"


def test_check_pages_are_current() -> None:
    pages = generate().check_pages()
    assert {path for path in CHECK_PAGES.iterdir() if path.stem != "index"} == set(pages)
    for path, page in pages.items():
        assert path.read_text(encoding="utf-8") == page, "run `python docs/generate.py`"


def test_every_generated_part_is_somewhere() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert set(re.findall(r"<!-- generated: ([\w-]+) -->", text)) == set(generate().parts())


LOADED = """
import sys, sdybridge
for name in dir(sdybridge):
    getattr(sdybridge, name)
print(*(m.__file__ for n, m in sys.modules.items() if n.startswith("sdybridge.") and m.__file__))
"""
"""Prints the files that the public names need."""


def test_every_rule_is_explained() -> None:
    """Those of `sdy` and `verify_module` have tables and tests of their own; these are all the others."""
    tables = generate()
    used: dict[str, set[str]] = {"hlo": set(), "bridge": set(), "modules": set()}
    loaded = subprocess.run([sys.executable, "-c", LOADED], check=True, capture_output=True, text=True).stdout
    for path in map(Path, loaded.split()):
        rules = re.findall(r'rule="([a-z0-9-]+)"', path.read_text(encoding="utf-8"))
        used.setdefault(path.relative_to(ROOT / "src" / "sdybridge").parts[0], set()).update(rules)
    assert used["hlo"] == set(tables.HLO_RULES)
    converting = used["bridge"] | used["modules"]
    known = {*tables.RULES, *tables.CONVERSION_RULES, *tables.MODULE_RULES}
    assert set(tables.CONVERSION_RULES) <= converting <= known
