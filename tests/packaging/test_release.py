"""Releases: version, notes and checksums agree, and the workflow calls what is there."""

import hashlib
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import release

from engine import __version__

ROOT = Path(__file__).resolve().parents[2]
WORKFLOW = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("tag", "title", "said"),
    [
        ("v1.2.0", "# Outrider 1.2.0", None),
        (None, "# Outrider 1.2.0", None),
        ("v1.2.1", "# Outrider 1.2.0", "must be v1.2.0"),
        ("1.2.0", "# Outrider 1.2.0", "must be v1.2.0"),
        ("v1.2.0", "# Outrider 1.1.0", "must be '# Outrider 1.2.0'"),
    ],
)
def test_tag_version_and_notes_must_agree(tag: str | None, title: str, said: str | None) -> None:
    reasons = release.disagreements("1.2.0", tag=tag, notes=f"{title}\n\nText\n")
    if said is None:
        assert not reasons
    else:
        assert len(reasons) == 1
        assert said in reasons[0]


def test_the_notes_are_of_this_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert release.main(["version", "--tag", f"v{__version__}"]) == 0
    assert capsys.readouterr().out == f"{__version__}\n"
    assert release.main(["version", "--tag", "v0.0.0"]) == 1


def test_the_notes_say_what_is_untested() -> None:
    notes = release.NOTES.read_text(encoding="utf-8")
    untested = [line for line in notes.splitlines() if "untested" in line.lower()]
    for system in ("Windows", "macOS", "Vulkan", "CUDA", "Metal"):
        assert [line for line in untested if system in line], system


def test_checksums_are_those_of_the_files(tmp_path: Path) -> None:
    (tmp_path / "b.deb").write_bytes(b"b")
    (tmp_path / "a.zip").write_bytes(b"a")
    release.write_checksums(tmp_path)
    again = release.write_checksums(tmp_path)
    expected = f"{hashlib.sha256(b'a').hexdigest()}  a.zip\n{hashlib.sha256(b'b').hexdigest()}  b.deb\n"
    assert again.read_text(encoding="utf-8") == expected


def test_the_workflow_calls_what_is_there() -> None:
    called = set(re.findall(r"(packaging/\S+\.(?:py|sh|md))", WORKFLOW))
    assert {"packaging/installers/make_dist.py", "packaging/smoke_test.py"} <= called
    for path in called:
        assert (ROOT / path).is_file(), path
    assert re.search(r"^dist:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)


def test_the_workflow_passes_options_that_exist(script_help: Callable[[str], str]) -> None:
    for script, options in re.findall(r"python3? (packaging/\S+\.py)((?:.*\\\n)*.*)", WORKFLOW):
        known = script_help(script)
        for option in re.findall(r"(?<=\s)--[a-z-]+", options):
            if option != "--tag":  # of a subcommand
                assert option in known, f"{script} {option}"


@pytest.fixture
def script_help() -> Callable[[str], str]:
    def ask(script: str) -> str:
        command = [sys.executable, "-B", str(ROOT / script), "--help"]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout

    return ask


def test_the_workflow_gives_no_more_rights_than_needed() -> None:
    assert re.search(r"^permissions:\n  contents: read$", WORKFLOW, re.MULTILINE)
    assert WORKFLOW.count("contents: write") == 1
    jobs = WORKFLOW.count("\n    runs-on:")
    assert jobs == WORKFLOW.count("\n    timeout-minutes:")
    assert WORKFLOW.count("actions/checkout@") == WORKFLOW.count("persist-credentials: false")
