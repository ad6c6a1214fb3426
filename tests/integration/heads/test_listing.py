"""Head files in a folder are listed under the targets that they are for, whatever the files are called."""

import json
from pathlib import Path

import pytest

from engine.cli.main import main
from engine.library.heads import judge_heads
from engine.library.scan import scan_folder
from helpers.heads.dflash import write_dflash
from helpers.heads.eagle import write_eagle3, write_plain_target
from helpers.heads.mtp import write_mtp_alone, write_mtp_target
from helpers.models.hybrid_model import Size, write_hybrid_model


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four families, their names shuffled: the targets are b, d, f and h.

    The right heads are a for d, e, i and j for b, k for f and one inside f.
    """
    folder = tmp_path_factory.mktemp("shuffled")
    write_plain_target(folder / "b.gguf")
    write_plain_target(folder / "d.gguf", width=128, seed=1)
    write_mtp_target(folder / "f.gguf", size=Size(layers=4, vocabulary=330))
    write_hybrid_model(folder / "h.gguf", "mamba2", Size(vocabulary=340))
    write_eagle3(folder / "a.gguf", folder / "d.gguf")
    write_eagle3(folder / "e.gguf", folder / "b.gguf", kept=100)
    write_eagle3(folder / "c.gguf", folder / "b.gguf", layers=(1, 2, 7))
    write_eagle3(folder / "g.gguf", folder / "b.gguf", fc__weight=None)
    write_dflash(folder / "i.gguf", folder / "b.gguf", depth=1)
    write_dflash(folder / "j.gguf", folder / "b.gguf", depth=1, markov=True, kept=100)
    write_mtp_alone(folder / "k.gguf", folder / "f.gguf")
    return folder


def test_every_right_pairing_and_no_wrong_one(folder: Path) -> None:
    models = scan_folder(folder)
    targets = {model.path.stem: model for model in models if model.usable}
    assert set(targets) == set("bdfh")
    found = {
        name: {(fit.source.path.stem, fit.method) for fit in judge_heads(target, models) if fit.fits}
        for name, target in targets.items()
    }
    assert found == {
        "b": {("e", "eagle3"), ("i", "dflash"), ("j", "dspark")},
        "d": {("a", "eagle3")},
        "f": {("f", "mtp"), ("k", "mtp")},
        "h": set(),
    }
    why = {fit.source.path.stem: fit.reason for fit in judge_heads(targets["b"], models) if not fit.fits}
    assert set(why) == {"a", "c", "k"}
    assert "cannot read layer 4 of such a target" in why["k"]
    assert "trained for a target of width 128" in why["a"]
    assert "reads layer 7" in why["c"]
    why = {fit.source.path.stem: fit.reason for fit in judge_heads(targets["f"], models) if not fit.fits}
    assert "another vocabulary" in why["e"]
    broken = next(model for model in models if model.path.stem == "g")
    assert broken.problem is not None
    assert "It is a draft head that cannot be used: it lacks the tensor 'fc.weight'" in broken.problem
    assert scan_folder(folder) == models, "from the cache"


def test_the_command(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", str(folder), "--json"]) == 0
    told = {Path(model["path"]).stem: model["heads"] for model in json.loads(capsys.readouterr().out)["models"]}
    assert next((Path(each["path"]).stem, each["method"], each["fits"]) for each in told["d"]) == ("a", "eagle3", True)
    assert told["h"] == [] or not any(each["fits"] for each in told["h"])
    assert main(["models", str(folder)]) == 0
    assert "Draft heads" in capsys.readouterr().out
