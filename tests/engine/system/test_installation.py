"""A frozen program notices what is missing or changed; any other has nothing to notice."""

import shutil
import sys
from pathlib import Path

import pytest

from engine import InstallationDamaged, NotAvailable
from engine.config import LoadConfig
from engine.host import Installation, check_installation, installation_folder
from engine.loading.open import open_backend
from engine.system.installation import extra_advice
from helpers.children.bundle import make_bundle, run_frozen
from helpers.processes import run_engine

FILES = {
    "resources/styles/window.qss": b"QWidget { color: red }",
    "resources/models/demo.gguf": bytes(3_000_000),
    "licences/components.json": b"[]",
    "qtawesome/fonts/phosphor.ttf": bytes(1_400_000),
    "empty.txt": b"",
}
AT_ONCE = ("resources/styles/window.qss", "qtawesome/fonts/phosphor.ttf")
LIBRARIES = {"libfoo.so": b"\x7fELF", "PySide6/QtCore.abi3.so": b"\x7fELF"}


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return make_bundle(tmp_path / "_internal", FILES, LIBRARIES)


@pytest.fixture
def frozen(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr(sys, "_MEIPASS", str(bundle), raising=False)
    return bundle


def damage(folder: Path) -> InstallationDamaged:
    """What is found at the start; what is found only later."""
    try:
        installation = Installation(folder)
        installation.check_files()
    except InstallationDamaged as error:
        return error
    with pytest.raises(InstallationDamaged) as caught:
        list(installation.check_contents())
    return caught.value


def test_a_whole_program_passes(frozen: Path) -> None:
    assert installation_folder() == frozen
    check_installation()
    assert Installation(frozen).flavour == "standard"


def test_from_source_there_is_nothing_to_check() -> None:
    assert installation_folder() is None
    check_installation()


@pytest.mark.parametrize("name", [*FILES, *LIBRARIES])
def test_a_missing_file_is_found_at_the_start(bundle: Path, name: str) -> None:
    (bundle / name).unlink()
    with pytest.raises(InstallationDamaged) as caught:
        Installation(bundle).check_files()
    assert caught.value.missing == (name,)
    assert f"{name} is missing" in str(caught.value)
    assert caught.value.ADVICE in str(caught.value)


@pytest.mark.parametrize("name", [name for name, content in FILES.items() if content])
def test_one_changed_byte_is_found(bundle: Path, name: str) -> None:
    content = bytearray(FILES[name])
    content[-1] ^= 1
    (bundle / name).write_bytes(content)
    found = damage(bundle)
    assert (found.missing, found.changed) == ((), (name,))


def test_what_the_window_needs_is_read_at_the_start_and_a_model_later(bundle: Path) -> None:
    for name in (*AT_ONCE, "resources/models/demo.gguf"):
        (bundle / name).write_bytes(b"x" * len(FILES[name]))
    with pytest.raises(InstallationDamaged) as caught:
        Installation(bundle).check_files()
    assert caught.value.changed == AT_ONCE
    steps = Installation(bundle).check_contents()
    for _ in range(3):
        next(steps)  # it is read in pieces
    with pytest.raises(InstallationDamaged, match=r"demo.gguf is damaged"):
        list(steps)


@pytest.mark.parametrize("content", [b"", b"short"])
def test_a_cut_file_is_found_at_the_start(bundle: Path, content: bytes) -> None:
    (bundle / "resources/models/demo.gguf").write_bytes(content)
    with pytest.raises(InstallationDamaged, match=r"demo.gguf is damaged"):
        Installation(bundle).check_files()


def test_an_empty_library_is_damaged_and_a_signed_one_is_not(bundle: Path) -> None:
    (bundle / "libfoo.so").write_bytes(b"\x7fELF with a signature")
    Installation(bundle).check_files()
    (bundle / "libfoo.so").write_bytes(b"")
    with pytest.raises(InstallationDamaged, match=r"libfoo.so is damaged"):
        Installation(bundle).check_files()


def test_a_library_of_which_only_the_size_is_known(bundle: Path) -> None:
    text = (bundle / "manifest.json").read_text(encoding="utf-8")
    (bundle / "manifest.json").write_text(text.replace('"libfoo.so": null', '"libfoo.so": [4, null]'), encoding="utf-8")
    installation = Installation(bundle)
    installation.check_files()
    list(installation.check_contents())
    (bundle / "libfoo.so").write_bytes(b"\x7fEL")
    with pytest.raises(InstallationDamaged, match=r"libfoo.so is damaged"):
        Installation(bundle).check_files()


def test_a_folder_in_place_of_a_file_counts_as_missing(bundle: Path) -> None:
    (bundle / "licences/components.json").unlink()
    (bundle / "licences/components.json").mkdir()
    assert damage(bundle).missing == ("licences/components.json",)


@pytest.mark.parametrize(
    "content",
    [None, b"", b"{", b"[]", b"\xff", b"[" * 100_000, b'{"flavour": "standard", "commit": "", "files": {}}']
    + [b'{"flavour": "standard", "commit": "", "files": {"a": %s}}' % value for value in (b"3", b'["x", 1]', b"[1]")],
)
def test_a_manifest_that_is_missing_or_makes_no_sense_is_damage(bundle: Path, content: bytes | None) -> None:
    (bundle / "manifest.json").unlink()
    if content is not None:
        (bundle / "manifest.json").write_bytes(content)
    found = damage(bundle)
    assert (found.missing or found.changed) == ("manifest.json",)
    assert bool(found.missing) is (content is None)


def test_everything_gone_names_a_few_and_counts_the_rest(bundle: Path) -> None:
    for name in (*FILES, *LIBRARIES):
        (bundle / name).unlink()
    found = damage(bundle)
    assert set(found.missing) == {*FILES, *LIBRARIES}
    assert (len(found.listed), found.more) == (5, 2)
    assert "and 2 more" in str(found)


def test_the_command_line_says_it_in_one_line(bundle: Path) -> None:
    assert run_frozen("engine.__main__", bundle, "models", str(bundle)).returncode == 0
    shutil.rmtree(bundle / "resources")
    done = run_frozen("engine.__main__", bundle, "models", str(bundle))
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (3, "", 1)
    assert done.stderr.startswith("outrider-engine: Outrider cannot start")
    assert "resources/styles/window.qss is missing" in done.stderr
    done = run_frozen("engine.__main__", bundle, "--version")
    assert (done.returncode, done.stdout) == (0, run_engine("--version").stdout)


def test_a_frozen_program_does_not_tell_to_install_packages(
    frozen: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "pip" not in extra_advice()
    assert "full flavour of Outrider" in extra_advice()
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text("{}", encoding="utf-8")
    monkeypatch.delitem(sys.modules, "engine.backends.transformers.backend", raising=False)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(NotAvailable, match="does not include PyTorch") as caught:
        open_backend(LoadConfig(tmp_path / "model"))
    assert "pip" not in str(caught.value)
