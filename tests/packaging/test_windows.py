"""The Windows programs and their installer, as far as they can be checked on another system."""

import ast
import json
import re
import sys
from pathlib import Path
from typing import Any

import places
import pytest
import windows_resource
import windows_setup
from messages import SetupError

from engine import __version__

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = (ROOT / "packaging" / "windows" / "outrider.iss").read_text(encoding="utf-8-sig")


# --- the version resource of the Windows programs


def _nodes(text: str) -> dict[str, Any]:
    """The strings and the numbers of a version resource."""
    tree = ast.parse(text, mode="eval")
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    found: dict[str, Any] = {}
    for call in calls:
        assert isinstance(call.func, ast.Name)
        if call.func.id == "StringStruct":
            name, value = map(ast.literal_eval, call.args)
            found[name] = value
        if call.func.id == "FixedFileInfo":
            found |= {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords if keyword.arg}
    return found


@pytest.mark.parametrize("program", ["outrider", "outrider-engine"])
def test_the_programs_carry_the_one_version(program: str, tmp_path: Path) -> None:
    path = windows_resource.write_version_resource(__version__, program, tmp_path / "new")
    found = _nodes(path.read_text(encoding="utf-8"))
    assert found["ProductVersion"] == found["FileVersion"] == __version__
    assert found["filevers"] == found["prodvers"] == windows_resource.numeric_version(__version__)
    assert found["OriginalFilename"] == f"{program}.exe"
    assert found["flags"] == 0


@pytest.mark.parametrize(
    ("version", "numbers", "flags"),
    [
        ("0.1.0", (0, 1, 0, 0), 0),
        ("2.0", (2, 0, 0, 0), 0),
        ("1.2.3rc1", (1, 2, 3, 0), 2),
        ("1.2.dev4", (1, 2, 0, 0), 2),
    ],
)
def test_a_version_becomes_four_numbers(version: str, numbers: tuple[int, ...], flags: int) -> None:
    found = _nodes(windows_resource.version_resource(version, "outrider"))
    assert found["filevers"] == numbers
    assert found["flags"] == flags
    assert found["FileVersion"] == version


@pytest.mark.parametrize("version", ["", "one", "1.70000"])
def test_what_windows_cannot_hold_is_refused(version: str) -> None:
    with pytest.raises(ValueError, match="version"):
        windows_resource.numeric_version(version)


# --- the Windows installer


def _bundle(folder: Path, flavour: str = "standard") -> Path:
    (folder / "_internal").mkdir(parents=True)
    for name in ("outrider.exe", "outrider-engine.exe"):
        (folder / name).touch()
    manifest = {"version": "0.3.1", "flavour": flavour, "commit": "c", "files": {}}
    (folder / "_internal" / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    return folder


def test_the_script_is_given_everything_that_it_asks_for(tmp_path: Path) -> None:
    arguments = windows_setup.compiler_arguments(_bundle(tmp_path / "b"), tmp_path / "i.ico", tmp_path, seconds=60)
    given = {argument[2:].partition("=")[0] for argument in arguments if argument.startswith("/D")}
    own = set(re.findall(r"^#define (\w+)", SCRIPT, re.MULTILINE))
    used = set(re.findall(r"\{#(\w+)\}", SCRIPT))
    assert used - own == given
    assert arguments[-1].endswith("outrider.iss")


def test_version_flavour_and_date_are_the_bundles(tmp_path: Path) -> None:
    bundle = _bundle(tmp_path / "b", "full")
    arguments = windows_setup.compiler_arguments(bundle, tmp_path / "i.ico", tmp_path, seconds=1_767_225_600)
    assert "/DVersion=0.3.1" in arguments
    assert "/DNumericVersion=0.3.1.0" in arguments
    assert "/DOutName=outrider-full-0.3.1-windows-x86_64-setup" in arguments
    assert "/DTouchDate=2026-01-01" in arguments
    assert "/DTouchTime=00:00" in arguments
    assert not [argument for argument in arguments if "Sign" in argument or argument.startswith("/S")]


def test_a_sign_command_keeps_its_quotes_and_dollars(tmp_path: Path) -> None:
    sign = 'signtool sign /n "My $ Name"'
    arguments = windows_setup.compiler_arguments(_bundle(tmp_path / "b"), tmp_path, tmp_path, seconds=0, sign=sign)
    assert "/DSign" in arguments
    assert "/Soutrider=signtool sign /n $qMy $$ Name$q $f" in arguments


def test_the_flavour_names_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Path, ...]] = []
    monkeypatch.setattr(windows_setup, "make_setup", lambda *paths: asked.append(paths))
    monkeypatch.setattr(places, "DIST", tmp_path)
    monkeypatch.setattr(places, "WORK", tmp_path / "work")
    monkeypatch.setattr(sys, "argv", ["windows_setup.py", "--flavour", "full"])
    assert windows_setup.main() == 0
    assert asked == [(tmp_path / "outrider-full", tmp_path / "work" / "icons" / "outrider.ico", tmp_path)]


def test_half_a_program_gets_no_installer(tmp_path: Path) -> None:
    bundle = _bundle(tmp_path / "b")
    (bundle / "outrider-engine.exe").unlink()
    with pytest.raises(SetupError, match=r"outrider-engine\.exe is missing"):
        windows_setup.compiler_arguments(bundle, tmp_path, tmp_path, seconds=0)


def test_the_compiler_that_is_named_is_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = tmp_path / "ISCC.exe"
    compiler.write_text('#!/bin/sh\nprintf "%s\\n" "$@" > "$(dirname "$0")/called"\n', encoding="utf-8")
    compiler.chmod(0o755)
    monkeypatch.setenv("ISCC", str(compiler))
    monkeypatch.setenv(windows_setup.SIGN_COMMAND, "")
    bundle, icon = _bundle(tmp_path / "b"), tmp_path / "i.ico"
    with pytest.raises(SetupError, match=r"i\.ico"):
        windows_setup.make_setup(bundle, icon, tmp_path / "out")
    icon.touch()
    windows_setup.make_setup(bundle, icon, tmp_path / "out")
    assert "/DVersion=0.3.1" in (tmp_path / "called").read_text(encoding="utf-8").splitlines()
    compiler.write_text("#!/bin/sh\nexit 2\n", encoding="utf-8")
    with pytest.raises(SetupError, match="code 2"):
        windows_setup.make_setup(bundle, icon, tmp_path / "out")


def test_the_open_with_entry_takes_nothing_from_others() -> None:
    registry = re.search(r"^\[Registry\]\n(.*?)^\[", SCRIPT, re.MULTILINE | re.DOTALL)
    assert registry is not None
    lines = [line for line in registry[1].splitlines() if line.startswith("Root:")]
    shared = [line for line in lines if r"Software\Classes\.gguf" in line]
    assert len(shared) == 2
    # The type's own default, and the keys of others, stay: a value is written only below OpenWithProgids.
    assert [line for line in shared if "ValueType" in line] == [line for line in shared if "OpenWithProgids" in line]
    for line in shared:
        assert "uninsdeletekeyifempty" in line
    for line in lines:
        assert "Tasks: openwith" in line


def test_every_language_has_every_text() -> None:
    languages = set(re.findall(r'^Name: "(\w\w)"; MessagesFile', SCRIPT, re.MULTILINE))
    assert "en" in languages
    for text in ("ConfirmUninstall", "OpenWith", "StillOpen"):
        assert set(re.findall(rf"^(\w\w)\.{text}=", SCRIPT, re.MULTILINE)) == languages
