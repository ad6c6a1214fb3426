"""What desktops read of the Linux packages: menu entry, metadata, file type, manuals."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from linux_packages import archive, deb

from helpers.paths import BUNDLED_MODELS

ROOT = Path(__file__).resolve().parents[2]
LINUX = ROOT / "packaging" / "linux"


def shell(
    *command: str | Path, cwd: Path | None = None, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    words = [str(word) for word in command]
    return subprocess.run(words, capture_output=True, text=True, check=False, cwd=cwd, env=env)


def metainfo() -> str:
    text = (LINUX / f"{deb.APPLICATION_ID}.metainfo.xml").read_text(encoding="utf-8")
    return text.replace("@VERSION@", "0.1.0").replace("@DATE@", "2026-01-01")


def inside(tag: str, text: str) -> list[str]:
    """The texts of the elements of a kind."""
    return re.findall(rf"<{tag}\b[^>]*>([^<]*)</{tag}>", text)


def desktop_entry() -> dict[str, str]:
    lines = (LINUX / "outrider.desktop").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "[Desktop Entry]"
    return dict(line.split("=", 1) for line in lines[1:])


def test_desktop_files_agree() -> None:
    entry, about = desktop_entry(), metainfo()
    kinds = re.findall(r'<mime-type type="([^"]+)">', (LINUX / "outrider-mime.xml").read_text(encoding="utf-8"))
    assert inside("mediatype", about) == kinds
    assert entry["MimeType"] == f"{';'.join(kinds)};"
    assert inside("launchable", about) == ["outrider.desktop"]
    assert inside("id", about) == [deb.APPLICATION_ID]
    assert inside("summary", about) == [entry["Comment"]]
    assert entry["Categories"] == f"{';'.join(inside('category', about))};"
    assert inside("binary", about) == list(deb.COMMANDS)
    assert entry["Exec"].split() == [deb.COMMANDS[0], "%f"]


@pytest.mark.skipif(shutil.which("desktop-file-validate") is None, reason="there are no desktop-file-utils")
def test_menu_entry_is_valid() -> None:
    told = shell("desktop-file-validate", LINUX / "outrider.desktop")
    assert (told.returncode, told.stdout) == (0, "")


@pytest.mark.skipif(shutil.which("appstreamcli") is None, reason="there is no appstreamcli")
def test_metadata_are_valid(tmp_path: Path) -> None:
    path = tmp_path / f"{deb.APPLICATION_ID}.metainfo.xml"
    path.write_text(metainfo(), encoding="utf-8")
    told = shell("appstreamcli", "validate", "--no-net", path)
    assert told.returncode == 0, told.stdout


def test_models_are_recognised_with_and_without_their_ending(tmp_path: Path) -> None:
    packages = tmp_path / "data" / "mime" / "packages"
    packages.mkdir(parents=True)
    shutil.copy(LINUX / "outrider-mime.xml", packages)
    shutil.copy(BUNDLED_MODELS / "demo-draft.Q8_0.gguf", tmp_path / "blob")
    (tmp_path / "empty.gguf").touch()
    (tmp_path / "other").write_bytes(b"about GGUF")
    code = (
        "import sys; from PySide6.QtCore import QMimeDatabase as D\n"
        "for path in sys.argv[1:]: print(D().mimeTypeForFile(path).name())"
    )
    environment = os.environ | {"XDG_DATA_DIRS": str(tmp_path / "data"), "XDG_DATA_HOME": str(tmp_path / "none")}
    paths = [tmp_path / name for name in ("blob", "empty.gguf", "other")]
    told = shell(sys.executable, "-c", code, *paths, env=environment).stdout.split()
    assert told == ["application/x-gguf", "application/x-gguf", "text/plain"]


@pytest.mark.parametrize("program", ["app", "engine"])
def test_manuals_know_every_option(program: str) -> None:
    manual = (LINUX / {"app": "outrider.1", "engine": "outrider-engine.1"}[program]).read_text(encoding="utf-8")
    text = manual.replace("\\-", "-")
    told = shell(sys.executable, "-m", program, "--help", cwd=ROOT).stdout
    options = set(re.findall(r"(?<!\S)\[?(--[a-z-]+)", told))
    assert {"--help", "--version"} <= options
    assert not {option for option in options if option not in text}
    commands = re.findall(r"^    ([a-z]+)  +(?!it comes with)\S", told, re.MULTILINE)
    assert not {command for command in commands if not re.search(rf"^\.B[I]? {command}\b", manual, re.MULTILINE)}


def test_menu_entry_of_the_portable_program(tmp_path: Path) -> None:
    bundle = tmp_path / "bundle"
    bundle.mkdir()
    archive.write_tar(bundle, tmp_path / "x.tar.gz", name="my outrider", epoch=0)
    with tarfile.open(tmp_path / "x.tar.gz") as tar:
        tar.extractall(tmp_path / "apps", filter="data")
    folder = tmp_path / "apps" / "my outrider"
    home = tmp_path / "home"
    environment = {"HOME": str(home), "PATH": "/usr/bin:/bin"}
    assert shell(folder / "install-desktop-entry.sh", env=environment).returncode == 0
    share = home / ".local" / "share"
    entry = (share / "applications" / "outrider.desktop").read_text(encoding="utf-8")
    assert f'Exec="{folder}/outrider" %f\n' in entry
    assert (share / "icons/hicolor/scalable/apps/outrider.svg").is_file()
    assert (share / "mime/packages/outrider.xml").is_file()
    if shutil.which("desktop-file-validate"):
        assert shell("desktop-file-validate", share / "applications" / "outrider.desktop").stdout == ""
    assert shell(folder / "install-desktop-entry.sh", "--remove", env=environment).returncode == 0
    assert not list(share.rglob("*outrider*"))
    odd = folder.rename(tmp_path / "apps" / "100%")
    told = shell(odd / "install-desktop-entry.sh", env=environment)
    assert (told.returncode, "cannot start programs" in told.stderr) == (1, True)
    assert not list(share.rglob("*outrider*"))
