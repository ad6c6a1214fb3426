"""Heads keep to a constraint: what it forbids they do not propose, and the reply is the target's."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.constraint import Constraint
from helpers.heads.dflash import write_dflash
from helpers.heads.eagle import write_eagle3
from helpers.heads.replies import open_with_heads

PATTERN = "[A-Z][a-z]{2,8} (is|was) (red|green|blue), (and )?[0-9]{2} years old"


@pytest.mark.parametrize("write", [write_eagle3, write_dflash])
@pytest.mark.parametrize("options", [{"temperature": 0.0}, {"temperature": 0.8, "seed": 5}])
@pytest.mark.parametrize("way", [{"lookahead": 4}, {"tree": "3x3"}], ids=["chain", "tree"])
def test_a_pattern(
    write: Callable[..., Path], options: dict[str, Any], way: dict[str, Any], bundled_target: Path, tmp_path: Path
) -> None:
    with open_with_heads(bundled_target, write(tmp_path / "head.gguf", bundled_target, kept=300)) as decoder:
        assert decoder.heads is not None
        asked: dict[str, Any] = {"raw": True, "constraint": Constraint.regex(PATTERN), "max_tokens": 80, **options}
        plain = decoder.generate("Once upon a time", lookahead=0, **asked)
        result = decoder.generate("Once upon a time", method=decoder.heads.method, **way, **asked)
    assert result.finish_reason == plain.finish_reason == "stop"
    assert result.stats.proposed > 0
    assert re.fullmatch(PATTERN, result.text)
    if not options["temperature"]:
        assert result.text == plain.text
