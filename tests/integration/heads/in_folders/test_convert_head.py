"""Pickled heads: refused with the command that converts them, and converted without running anything."""

import json
import os
import pickle  # noqa: TID251 - to make what must not be read
from pathlib import Path
from typing import Any

import pytest

from engine.cli.main import main
from engine.config import LoadConfig
from engine.decoder import SpeculativeDecoder
from engine.errors import EngineError
from helpers.heads.medusa import write_medusa
from helpers.heads.replies import follow_heads
from helpers.heads.torch_eagle import write_torch_eagle
from helpers.seldom import often

torch = pytest.importorskip("torch")
safetensors_torch = pytest.importorskip("safetensors.torch")


def _pickled(folder: Path, *, nested: bool = False) -> Path:
    """Put the weights of a folder into a pickled file in their place, and give its path."""
    (single,) = folder.glob("*.safetensors")
    tensors = safetensors_torch.load_file(single)
    single.unlink()
    path = single.with_suffix(".pt" if nested else ".bin")
    torch.save({"state_dict": tensors, "epoch": 3} if nested else tensors, path)
    return path


@pytest.mark.parametrize("kind", often(["medusa", "eagle3"], "eagle3"))
def test_a_converted_head_drafts(target: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str) -> None:
    folder = (
        write_medusa(tmp_path / "head", target) if kind == "medusa" else write_torch_eagle(tmp_path / "head", target)
    )
    name = next(folder.glob("*.safetensors")).name
    pickled = _pickled(folder, nested=kind == "medusa")
    with SpeculativeDecoder() as decoder:
        decoder.attach_target(LoadConfig(target, threads=1, device="cpu"))
        for path in (folder, pickled):
            with pytest.raises(EngineError, match=f"pickled.*outrider-engine convert-head {pickled.name} {name}"):
                decoder.attach_heads(path)
        assert main(["convert-head", str(pickled), str(folder / name)]) == 0
        assert "tensors written" in capsys.readouterr().out
        decoder.attach_heads(folder)
        assert follow_heads(decoder, lookahead=3, max_tokens=12).stats.accepted > 0
    assert sorted(path.name for path in folder.iterdir()) == sorted(["config.json", name, pickled.name])


class _RunsCode:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.path),)


REFUSED = {
    "truncated.bin": "damaged, incomplete",
    "code.pt": "would run its code",
    "plain.bin": "would run its code|damaged",
    "nothing.pt": "holds no tensors",
    "text.bin": "damaged, incomplete",
    "missing.bin": "no such file",
}


@pytest.mark.parametrize("names", [("code.pt", "text.bin"), pytest.param(tuple(REFUSED), marks=pytest.mark.soak)])
def test_files_that_are_refused(names: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, proof = tmp_path / "out.safetensors", tmp_path / "proof"
    whole = tmp_path / "whole.bin"
    torch.save({"0.weight": torch.zeros(64, 64)}, whole)
    (tmp_path / "truncated.bin").write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    torch.save({"weight": _RunsCode(proof)}, tmp_path / "code.pt")
    (tmp_path / "plain.bin").write_bytes(pickle.dumps({"weight": _RunsCode(proof)}))
    torch.save({"epoch": 3}, tmp_path / "nothing.pt")
    (tmp_path / "text.bin").write_text(json.dumps({"no": "weights"}))
    for name in names:
        assert main(["convert-head", str(tmp_path / name), str(out)]) == 2
        captured = capsys.readouterr()
        assert captured.err.count("\n") == 1
        assert any(each in captured.err for each in REFUSED[name].split("|")), captured.err
    assert not proof.exists()
    assert not out.exists()
    for other in (tmp_path / "out.bin", whole):
        assert main(["convert-head", str(whole), str(other)]) == 2
        assert "must end in .safetensors" in capsys.readouterr().err
    out.write_text("mine")
    assert main(["convert-head", str(whole), str(out)]) == 2
    assert "is there already" in capsys.readouterr().err
    assert out.read_text() == "mine"
