"""The pages for people, and what stands in them: code blocks, commands, links, headings and paths."""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

from helpers.paths import ROOT

EXAMPLES = sorted((ROOT / "docs" / "examples").glob("*.py"))
KERNELS = ROOT / "engine" / "backends" / "llama_cpp" / "kernels" / "README.md"
_BLOCK = re.compile(r"^ *```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^()\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_PATH = re.compile(
    r"(?:(?<![\w./~-])|(?<=\$PWD/))(?:engine|app|benchmarks|docs|packaging|recipes|resources|tests)/[\w./-]*[\w/]"
)


@dataclass(frozen=True)
class Page:
    """A page: its path, and its text."""

    path: Path
    text: str

    def __str__(self) -> str:
        return self.path.relative_to(ROOT).as_posix()

    def blocks(self, language: str) -> list[str]:
        return [dedent(code) for kind, code in _BLOCK.findall(self.text) if kind == language]

    @property
    def prose(self) -> str:
        """Return the text without its code blocks."""
        return _BLOCK.sub("", self.text)

    @property
    def links(self) -> list[str]:
        """Return the targets of all links that stay in the repository."""
        return [target for target in _LINK.findall(self.prose) if "://" not in target]

    @property
    def anchors(self) -> set[str]:
        """Return the names by which its headings are linked to."""
        headings = [re.sub(r"[`*]|\\", "", heading) for heading in _HEADING.findall(self.prose)]
        return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}

    @property
    def commands(self) -> list[list[str]]:
        """Return the words of all commands in its shell blocks, without comments."""
        lines = "".join(self.blocks("sh")).replace("\\\n", " ").splitlines()
        return [words for line in lines if (words := shlex.split(line, comments=True))]

    @property
    def paths(self) -> set[str]:
        """Return every path of the repository that is named in code: in a code block, or between backticks."""
        code = [text for _, text in _BLOCK.findall(self.text)] + re.findall(r"`([^`]+)`", self.prose)
        return {path for text in code for path in _PATH.findall(text)}


def pages() -> list[Page]:
    """Return all pages that are written by hand and that tell what is so now."""
    others = (ROOT / "packaging" / "README.md", ROOT / "tests" / "campaigns" / "README.md", KERNELS)
    found = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *others]
    written = [path for path in found if path.name != "CHANGELOG.md"]
    return [Page(path, path.read_text(encoding="utf-8")) for path in sorted(written)]
