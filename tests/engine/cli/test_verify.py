"""`generate --proof` and `verify`, in this process."""

import json
from pathlib import Path

import pytest

from engine.cli.main import main


def test_a_reply_is_proved_and_verified(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    proof = tmp_path / "proof.json"
    asked = ["-m", "demo", "-d", "demo", "-n", "20", "--quiet", "--temperature", "0.8"]
    assert main(["generate", *asked, "--seed", "5", "--proof", str(proof), "Tell me of a fox."]) == 0
    assert main(["verify", str(proof)]) == 0
    assert "Identical: all" in capsys.readouterr().out
    assert main(["verify", "--json", "--target", "demo", str(proof)]) == 0
    assert json.loads(capsys.readouterr().out)["identical"]
    proof.write_bytes(proof.read_bytes().replace(b'"seed":5', b'"seed":6'))
    assert main(["verify", str(proof)]) == 1
    said = capsys.readouterr().out
    assert "The file was changed after it was written." in said
    assert "Not identical: token" in said
    assert main(["verify", str(tmp_path / "none.json")]) == 2
    assert main(["verify", __file__]) == 2
    assert "no proof of a reply" in capsys.readouterr().err


def test_a_reply_that_cannot_be_computed_again_has_no_proof(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    proof = tmp_path / "proof.json"
    asked = ["-m", "demo", "-d", "demo", "-n", "20", "--quiet", "--temperature", "0.8", "--lookahead", "auto"]
    asked += ["--method", "draft-model", "--proof", str(proof), "Tell me of a fox."]
    done = main(["generate", *asked])
    assert (done, proof.exists()) in {(2, False), (0, True)}, "with luck, nothing was proposed"
    assert "Set a seed" in capsys.readouterr().err or proof.exists()
    assert main(["generate", "--replies", "2", *asked]) == 2
    assert "--proof is of one reply" in capsys.readouterr().err
