"""Write a Whisper model of one thin layer and random weights, as the library reads it."""

import struct
from pathlib import Path

import numpy as np

_WIDTH, _SOUND, _TEXT, _VOCABULARY = 64, 1_500, 448, 51_865
HEAD = struct.pack("<4s11i", b"lmgg", _VOCABULARY, _SOUND, _WIDTH, 1, 1, _TEXT, _WIDTH, 1, 1, 80, 1)


def random_whisper(path: Path) -> Path:
    random = np.random.default_rng(1)
    words = [f" w{number}".encode() for number in range(50_257)]
    words[220] = b" "  # The library looks for it.

    def tensor(name: str, *shape: int, half: bool = False) -> bytes:
        values = random.normal(0, 0.05, shape).astype("<f2" if half else "<f4")
        sizes = struct.pack(f"<{3 + len(shape)}i", len(shape), len(name), half, *reversed(shape))
        return sizes + name.encode() + values.tobytes()

    def norm(name: str) -> bytes:
        return tensor(f"{name}.weight", _WIDTH) + tensor(f"{name}.bias", _WIDTH)

    def linear(name: str, out: int = _WIDTH, into: int = _WIDTH) -> bytes:
        bias = b"" if name.endswith(".key") else tensor(f"{name}.bias", out)
        return tensor(f"{name}.weight", out, into, half=True) + bias

    def attention(name: str) -> bytes:
        return norm(f"{name}_ln") + b"".join(linear(f"{name}.{part}") for part in ("query", "key", "value", "out"))

    def block(name: str) -> bytes:
        wide = linear(f"{name}.mlp.0", 4 * _WIDTH) + linear(f"{name}.mlp.2", _WIDTH, 4 * _WIDTH)
        return norm(f"{name}.mlp_ln") + wide + attention(f"{name}.attn")

    with path.open("wb") as file:
        file.write(HEAD + struct.pack("<2i", 80, 201) + random.random(80 * 201).astype("<f4").tobytes())
        file.write(struct.pack("<i", len(words)))
        file.write(b"".join(struct.pack("<I", len(word)) + word for word in words))
        for number, into in ((1, 80), (2, _WIDTH)):
            file.write(tensor(f"encoder.conv{number}.weight", _WIDTH, into, 3, half=True))
            file.write(tensor(f"encoder.conv{number}.bias", _WIDTH, 1))
        file.write(tensor("encoder.positional_embedding", _SOUND, _WIDTH) + block("encoder.blocks.0"))
        file.write(norm("encoder.ln_post") + tensor("decoder.positional_embedding", _TEXT, _WIDTH))
        file.write(tensor("decoder.token_embedding.weight", _VOCABULARY, _WIDTH, half=True))
        file.write(block("decoder.blocks.0") + attention("decoder.blocks.0.cross_attn") + norm("decoder.ln"))
    return path
