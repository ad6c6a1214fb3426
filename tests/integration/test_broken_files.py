"""A broken model file is one clear line of the command line."""

import json
import os
import random
from collections.abc import Callable
from pathlib import Path

from helpers.models.mutated_headers import header_size, mutated
from helpers.processes import run_engine


def test_the_command_line_says_one_line(bundled_draft: Path, tmp_path: Path) -> None:
    whole, size, drawn = bundled_draft.read_bytes(), header_size(bundled_draft), random.Random(5)
    for number in range(4):
        copy = tmp_path / f"damaged-{number}.gguf"
        copy.write_bytes(mutated(whole[:size], drawn) + whole[size:])
        if number % 2:
            os.truncate(copy, drawn.randrange(len(whole) // 2))
        done = run_engine("generate", "--target", str(copy), "--max-tokens", "4", "--json", "Hello!")
        assert done.returncode in {0, 2}, (number, done.returncode, done.stderr)
        assert "Traceback" not in done.stderr
        if done.returncode == 2:
            assert len(done.stderr.strip().splitlines()) == 1
            assert done.stdout == ""
    done = run_engine("models", str(tmp_path), "--json")
    assert done.returncode == 0, done.stderr
    listed = json.loads(done.stdout)["models"]
    assert len(listed) == 4
    assert sum(entry["problem"] is not None for entry in listed) >= 2


def test_the_command_line_on_the_fragile_model(shared_gguf: Callable[[str], Path]) -> None:
    fragile = shared_gguf("fragile/babyllama105-F32")
    done = run_engine("generate", "--target", str(fragile), "--raw", "--max-tokens", "8", "--json", "Once upon a time")
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["tokens"]) == 8
    done = run_engine("generate", "--target", str(fragile), "--raw", "Once\nupon")
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
    assert "U+000A" in done.stderr
