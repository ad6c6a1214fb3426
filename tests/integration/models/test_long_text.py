"""Text without breaks must not end the process: some pre-tokenizers of llama.cpp go deeper with each character."""

import subprocess
import sys
from pathlib import Path

import pytest

from engine import bundled_pair

PRETOKENIZER = b"\x05\0\0\0\0\0\0\0gpt-2"
DEEP_PRETOKENIZER = b"\x05\0\0\0\0\0\0\0bloom"
ASK = """
import sys
from pathlib import Path
import engine

with engine.load(engine.LoadConfig(Path(sys.argv[1]), trusted=True)) as decoder:
    for length in (8_192, 60_000):
        try:
            decoder.generate("a" * length, raw=True)
        except engine.ContextFull as error:
            print(error.needed)
"""


@pytest.mark.parametrize("pretokenizer", [PRETOKENIZER, DEEP_PRETOKENIZER])
def test_a_long_word_is_a_clear_error(tmp_path: Path, pretokenizer: bytes) -> None:
    original = bundled_pair()[0].read_bytes()
    assert original.count(PRETOKENIZER) == 1
    model = tmp_path / "model.gguf"
    model.write_bytes(original.replace(PRETOKENIZER, pretokenizer))
    done = subprocess.run(
        [sys.executable, "-c", ASK, str(model)], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.split()) == 2
