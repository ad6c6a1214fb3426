"""Without a word about drafts, a head inside the target or beside it is found; one that is wrong does no harm."""

import json
import os
import shutil
from pathlib import Path

import pytest

from engine.cli.main import main
from engine.library.heads import find_heads_of
from helpers.heads.eagle import write_eagle3, write_plain_target
from helpers.heads.mtp import write_mtp_target

ASKED = ["--max-tokens", "8", "--temperature", "0", "--lookahead", "3", "--tokens", "--json", "1,40,41"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The target is m, its head z; a head of another width, a damaged one and a pickled one stand before it."""
    folder = tmp_path_factory.mktemp("found")
    write_plain_target(folder / "m.gguf")
    write_eagle3(folder / "z.gguf", folder / "m.gguf", kept=100)
    wide = write_plain_target(folder / "wide.gguf", width=128, seed=1)
    write_eagle3(folder / "a.gguf", wide)
    whole = (folder / "z.gguf").read_bytes()
    (folder / "b.gguf").write_bytes(whole[: len(whole) // 2])
    (folder / "c.bin").write_bytes(b"\x80\x04never read")
    return folder


def _generate(capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, str, str]:
    """Exit code, the method that the reply was drafted with, and what was said beside it."""
    code = main(["generate", *options, *ASKED])
    captured = capsys.readouterr()
    return code, json.loads(captured.out)["method"] if code == 0 else "", captured.err


def test_the_head_that_fits(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, method, said = _generate(capsys, "--target", str(folder / "m.gguf"))
    assert (code, method) == (0, "eagle3")
    assert said.count("\n") == 1
    assert "Drafting with the head" in said
    assert _generate(capsys, "--target", str(folder / "m.gguf"), "--method", "eagle3")[1] == "eagle3"


@pytest.mark.parametrize("option", [["--heads", "none"], ["--draft", "none"], ["--method", "autoregressive"]])
def test_without(folder: Path, capsys: pytest.CaptureFixture[str], option: list[str]) -> None:
    assert _generate(capsys, "--target", str(folder / "m.gguf"), *option) == (0, "autoregressive", "")


def test_none_that_fits(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The reply is written without, and a line says why; asked for by name it is refused."""
    for name in ("m", "b"):
        shutil.copy(folder / f"{name}.gguf", tmp_path)
    code, method, said = _generate(capsys, "--target", str(tmp_path / "m.gguf"))
    assert (code, method) == (0, "autoregressive")
    assert said.count("\n") == 1
    assert "No draft head is used." in said
    assert "b.gguf" in said
    shutil.copy(folder / "a.gguf", tmp_path / "b.gguf")
    assert "trained for a target of width 128" in _generate(capsys, "--target", str(tmp_path / "m.gguf"))[2]
    for wrong in (folder / "a.gguf", folder / "b.gguf", folder / "c.bin"):
        code, _, said = _generate(capsys, "--target", str(folder / "m.gguf"), "--heads", str(wrong))
        assert (code, said.count("\n")) == (2, 1)


def test_inside_the_target(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = write_mtp_target(tmp_path / "t.gguf")
    assert _generate(capsys, "--target", str(target))[:2] == (0, "mtp")
    lacking = write_mtp_target(tmp_path / "lacking.gguf", with_head=False)
    assert find_heads_of(lacking) == []


def test_what_lies_beside(folder: Path, tmp_path: Path) -> None:
    assert [path.stem for path in find_heads_of(folder / "m.gguf")] == ["a", "b", "z"]
    assert find_heads_of(tmp_path / "nowhere" / "m.gguf") == []
    target, empty, eagle, medusa = (tmp_path / name for name in ("t", "e", "h", "t/heads"))
    for path, config in ((target, {}), (eagle, {"draft_vocab_size": 9}), (medusa, {"medusa_num_heads": 3})):
        path.mkdir()
        (path / "config.json").write_text(json.dumps(config), "utf-8")
    empty.mkdir()
    assert find_heads_of(target) == [medusa, eagle]
    if os.name == "posix":
        os.mkfifo(tmp_path / "pipe.gguf")
        shutil.copy(folder / "z.gguf", tmp_path / "z.gguf")
        assert find_heads_of(tmp_path / "m.gguf") == [tmp_path / "z.gguf"]
