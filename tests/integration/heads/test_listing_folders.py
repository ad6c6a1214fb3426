"""Head folders are listed under the targets in folders that they are for."""

import json
from pathlib import Path

from engine.library.heads import judge_heads
from engine.library.scan import scan_folder
from helpers.heads.medusa import write_medusa
from helpers.heads.torch_eagle import write_torch_eagle, write_torch_target


def test_folders_with_heads(tmp_path: Path) -> None:
    """Targets and heads in folders, whether a tokenizer lies with the target or not."""
    target = write_torch_target(tmp_path / "n")
    write_torch_eagle(tmp_path / "m", target)
    write_medusa(tmp_path / "p", target)
    write_torch_eagle(tmp_path / "q", target)
    config = tmp_path / "q" / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text("utf-8")) | {"vocab_size": 4096}), "utf-8")
    models = scan_folder(tmp_path)
    (found,) = (model for model in models if model.usable)
    assert found.path == target
    fits = {fit.source.path.name: (fit.method, fit.fits, fit.reason) for fit in judge_heads(found, models)}
    assert [fits[name][:2] for name in "mpq"] == [("eagle3", True), ("medusa", True), ("eagle3", False)]
    assert "another vocabulary" in fits["q"][2]
