"""What the pages say is so: snippets and programs run, commands, options, links and paths exist."""

import ast
import re
import tomllib
from contextlib import redirect_stdout, suppress
from functools import cache
from io import StringIO
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from benchmarks.suite import PARTS
from engine.cli.main import main
from helpers.documents import EXAMPLES, KERNELS, Page, pages
from helpers.paths import ROOT
from helpers.processes import run_engine, run_python

PAGES = pages()
BY_NAME = {str(page): page for page in PAGES}
RUN_SNIPPETS = """
import contextlib, io, sys
for number, snippet in enumerate(sys.argv[1:], 1):
    with contextlib.redirect_stdout(io.StringIO()) as said:
        exec(compile(snippet, f"snippet {number}", "exec"), {"__name__": "__main__"})
    assert said.getvalue().strip(), f"snippet {number} prints nothing"
"""
MAKE = (ROOT / "Makefile").read_text(encoding="utf-8")
COMMANDS = (
    *(
        "generate",
        "chat",
        "bench",
        "models",
        "presets",
        "calibrate",
        "parse",
        "verify",
        "template",
        "compile",
        "serve",
        "connect",
        "rpc-server",
    ),
    *("convert-head", "completion", "get", "search", "alias", "recommend"),
)
ELSEWHERE = frozenset(
    {"sudo", "ray", "vllm", "pip", "(cd", "cmake", "curl", "diff", "kernels-check", "python", "signtool"}
)
"""What commands of other programs begin with."""
pytestmark = pytest.mark.usefixtures("tried_pair")
FILES_OF_SOMEBODY = re.compile(r"big\.gguf|small\.gguf|chat\.json|@|~/|qwen")


@cache
def usage(*command: str) -> str:
    """Return the help of one of our commands."""
    if command[0] == "outrider":
        return run_python("-m", "app", "--help").stdout
    with redirect_stdout(StringIO()) as said, suppress(SystemExit):
        main([*command[1:], "--help"])
    return said.getvalue()


@pytest.mark.parametrize("page", [page for page in PAGES if page.blocks("python")], ids=str)
def test_snippets_run(page: Page) -> None:
    """Each prints something; one process runs those of a page, each with names of its own."""
    done = run_python("-W", "error", "-c", RUN_SNIPPETS, *page.blocks("python"))
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr


def test_pieces_of_files_are_python() -> None:
    """What a page puts into a file of ours is marked `py`: it is not run alone, but it is Python."""
    pieces = [(page, piece) for page in PAGES for piece in page.blocks("py")]
    assert len(pieces) >= 4
    for page, piece in pieces:
        assert ast.parse(dedent(piece)).body, page


def test_files_that_contributing_names_are_checked_by_lint() -> None:
    """They lie beside the examples, where `make lint` checks their style and their types."""
    named = {Path(link).name for link in BY_NAME["CONTRIBUTING.md"].links if "/contributing/" in link}
    assert named == {path.name for path in (ROOT / "docs" / "examples" / "contributing").glob("*.py")}


def test_every_example_is_explained() -> None:
    assert len(EXAMPLES) >= 5
    page = BY_NAME["docs/examples/README.md"]
    assert {path.name for path in EXAMPLES} == {link for link in page.links if link.endswith(".py")}


@pytest.mark.parametrize("page", [page for page in PAGES if page.commands], ids=str)
def test_commands_exist(page: Page) -> None:
    rules = set(re.findall(r"^(\w+):", MAKE, re.MULTILINE))
    for words in page.commands:
        program = words[0].rpartition("/")[2]
        if program == "make":
            assert words[1] in rules, words
        elif program in ("outrider", "outrider-engine"):
            command = words[:2] if words[1:2] and words[1] in COMMANDS else words[:1]
            assert program == "outrider" or len(command) == 2 or words[1:] == ["--version"], words
            options = [word for word in words[1:] if word.startswith("--")]
            assert [option for option in options if option not in usage(program, *command[1:])] == [], words
        elif program == "python" and not words[1].startswith("-"):
            assert (ROOT / words[1]).exists(), words
        else:
            assert program in ELSEWHERE, words


def test_commands_with_the_bundled_pair_run() -> None:
    commands = [words for words in BY_NAME["docs/command-line.md"].commands if words[1] == "generate"]
    mine = [words[1:] for words in commands if not FILES_OF_SOMEBODY.search(" ".join(words))]
    assert len(mine) >= 4
    for words in mine:
        done = run_engine(*words)
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip()


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_is_explained(command: str) -> None:
    text = BY_NAME["docs/command-line.md"].text
    start = text.index(f"\n## {command}\n")
    section = text[start : text.find("\n## ", start + 1)]
    if command in ("chat", "bench", "calibrate", "serve"):
        assert "as for `generate`" in section
        section += text[text.index("\n## generate\n") : text.index("\n## chat\n")]
    told = set(re.findall(r"--[a-z][a-z0-9-]+", section))
    options = set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]+", usage("outrider-engine", command))) - {"--help"}
    assert (
        command in ("chat", "compile", "connect", "convert-head", "serve", "rpc-server", "completion")
        or "--json" in options
    )
    assert options - told == set()


def test_every_exit_code_is_explained() -> None:
    table = BY_NAME["docs/command-line.md"].text.partition("## Exit codes")[2]
    assert set(re.findall(r"^\| (\d+) \|", table, re.MULTILINE)) == {"0", "2", "3", "130"}


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_links_lead_somewhere(page: Page) -> None:
    for link in page.links:
        name, _, anchor = link.partition("#")
        target = page.path if not name else (page.path.parent / name).resolve()
        assert target.exists(), link
        if anchor:
            there = Page(target, target.read_text(encoding="utf-8"))
            assert anchor in there.anchors, link


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_paths_exist(page: Page) -> None:
    missing = [path for path in page.paths if not (ROOT / path).exists()]
    assert [path for path in missing if "CODE" not in path] == []


def test_every_page_is_in_the_index() -> None:
    index = BY_NAME["docs/README.md"]
    listed = {(index.path.parent / link.partition("#")[0]).resolve() for link in index.links}
    assert {path for path in (ROOT / "docs").glob("*.md") if path != index.path} <= listed
    assert {(ROOT / name) for name in ("ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md")} <= {
        (ROOT / link) for link in BY_NAME["README.md"].links
    }


def test_the_tree_names_every_folder() -> None:
    tree = next(block for block in BY_NAME["ARCHITECTURE.md"].blocks("text") if block.startswith("engine/"))
    folders = {
        f"{path.parent.relative_to(ROOT).as_posix()}/"
        for room in ("engine", "app")
        for path in (ROOT / room).rglob("*.py")
    }
    assert folders - set(re.findall(r"^\S+/", tree, re.MULTILINE)) == set()


def test_the_tree_names_no_file_that_is_gone() -> None:
    tree = next(block for block in BY_NAME["ARCHITECTURE.md"].blocks("text") if block.startswith("engine/"))
    named = []
    for line in tree.splitlines():
        folder, told = line.split(maxsplit=1)
        assert (ROOT / folder).is_dir(), folder
        named += [ROOT / folder / name for name in re.findall(r"[\w/]+\.(?:py|md)\b", told)]
    assert named
    assert [path for path in named if not path.exists()] == []


def test_the_layers_are_those_of_the_contracts() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts: list[dict[str, Any]] = settings["tool"]["importlinter"]["contracts"]
    held = {each["containers"][0].rpartition(".")[2]: each["layers"] for each in contracts if each["type"] == "layers"}
    block = next(block for block in BY_NAME["ARCHITECTURE.md"].blocks("text") if " > " in block)
    written = dict(re.findall(r"^(\w+) +(.+(?:\n +.+)*)$", block, re.MULTILINE))
    assert {name: [" ".join(layer.split()) for layer in text.split(">")] for name, text in written.items()} == held


def test_the_kernels_page_names_every_file() -> None:
    files = {path.name for path in KERNELS.parent.iterdir() if path != KERNELS}
    assert {name for name in files if f"`{name}`" not in KERNELS.read_text(encoding="utf-8")} == set()


def test_the_kernels_page_names_what_is_replaced() -> None:
    hook = (KERNELS.parent / "ggml.cmake").read_text(encoding="utf-8")
    renamed = re.findall(r"\b(ggml_\w+)=(ggml_\w+)", hook)
    assert len(renamed) == 5
    table = KERNELS.read_text(encoding="utf-8")
    assert [pair for pair in renamed if not all(f"`{name}`" in table for name in pair)] == []


def test_code_cites_nothing_outside_the_repository() -> None:
    sources = [path for room in ("engine", "app", "tests", "packaging") for path in (ROOT / room).rglob("*.py")]
    cited = re.compile(r"\b[A-Z]{4,}\.md\b")
    known = {path.name for path in ROOT.rglob("*.md")}
    found = {name for path in sources for name in cited.findall(path.read_text(encoding="utf-8"))}
    assert found - known == set()


def test_every_benchmark_part_is_explained() -> None:
    text = BY_NAME["docs/performance.md"].text
    assert [part.name for part in PARTS if f"`{part.name}`" not in text] == []
