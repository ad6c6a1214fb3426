"""The table of sizes."""

from pathlib import Path

import pytest
import sizes


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    files = {
        "outrider": 2_000_000,
        "_internal/PySide6/Qt/lib/libQt6Gui.so.6": 9_000_000,
        "_internal/PySide6/QtCore.abi3.so": 1_000_000,
        "_internal/llama_cpp/lib/libllama.so": 5_000_000,
        "_internal/libxcb.so.1": 400_000,
        "_internal/resources/models/demo-target.Q8_0.gguf": 600_000,
        "_internal/jinja/notes.txt": 0,
    }
    for name, size in files.items():
        path = tmp_path / "program" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"\0" * size)
    (tmp_path / "program" / "_internal" / "libQt6Gui.so.6").symlink_to("PySide6/Qt/lib/libQt6Gui.so.6")
    return tmp_path / "program"


def test_parts_add_up(bundle: Path) -> None:
    table = sizes.report(bundle)
    assert table.startswith("program: 18.0 MB in 7 files")
    parts = table.split("By part\n")[1].split("\n\n")[0].splitlines()
    assert parts[0].split() == ["10.0", "MB", "55.6%", "Qt", "and", "PySide6"]
    assert [line.split("%  ")[1] for line in parts] == [
        "Qt and PySide6",
        "llama.cpp",
        "the two programs, and Python modules in them",
        "models",
        "libraries of the system",
        "the rest",
    ]
    assert sum(float(line.split()[0]) for line in parts) == pytest.approx(18.0)


def test_largest_first_and_no_more_than_asked(bundle: Path) -> None:
    table = sizes.report(bundle, most=2)
    files = table.split("The 2 largest files\n")[1].splitlines()
    assert [line.split()[-1] for line in files] == [
        "_internal/PySide6/Qt/lib/libQt6Gui.so.6",
        "_internal/llama_cpp/lib/libllama.so",
    ]


def test_archives_are_compared_with_the_installed(bundle: Path, tmp_path: Path) -> None:
    archive = tmp_path / "outrider.deb"
    archive.write_bytes(b"\0" * 4_500_000)
    assert sizes.report(bundle, archives=[archive]).splitlines()[-1].split() == ["4.5", "MB", "25.0%", "outrider.deb"]


def test_command_line(bundle: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.argv", ["sizes.py", str(bundle)])
    assert sizes.main() == 0
    assert "largest files" in capsys.readouterr().out
    monkeypatch.setattr("sys.argv", ["sizes.py", str(bundle / "nothing")])
    assert sizes.main() == 2
    assert "is not there" in capsys.readouterr().err


def test_empty_folder(tmp_path: Path) -> None:
    assert "0.0 MB in 0 files" in sizes.report(tmp_path)
