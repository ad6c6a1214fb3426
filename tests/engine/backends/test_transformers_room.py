"""Room for keys and values: it costs what was written to it, and nothing once it is let go."""

import gc

import psutil
import pytest

from helpers.models.tiny_models import torch

from engine.backends.transformers.cache import new_room, next_room  # isort: skip

MIB = 2**20
NOISE = 48
"""What else this process may take or give back meanwhile (MiB), its other threads included."""
HEADS, WIDTH = 4, 64
CPU, DEVICE = torch.device("cpu"), torch.device("meta")


def _resident() -> float:
    """MiB."""
    gc.collect()
    return float(psutil.Process().memory_info().rss) / MIB


def test_room_costs_what_was_written_to_it() -> None:
    tokens = 512 * MIB // (HEADS * WIDTH * 4)
    before = _resident()
    room = new_room((1, HEADS, tokens, WIDTH), torch.float32, CPU)
    assert _resident() - before < NOISE
    room[:, :, : tokens // 4] = 1.0
    assert _resident() - before == pytest.approx(128, abs=NOISE)
    assert float(room[:, :, : tokens // 4].sum()) == HEADS * WIDTH * (tokens // 4)
    view = room[:, :, 7:9]
    del room
    assert float(view.sum()) == HEADS * WIDTH * 2
    del view
    assert _resident() - before < NOISE


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float64])
def test_room_has_the_asked_shape_and_numbers(dtype: torch.dtype) -> None:
    room = new_room((1, 2, 300, 8), dtype, CPU)
    assert (room.shape, room.dtype, room.device) == ((1, 2, 300, 8), dtype, CPU)
    room.fill_(0.5)
    assert float(room.double().mean()) == 0.5


def test_room_without_width_or_on_a_device_is_no_mapping() -> None:
    assert new_room((1, 2, 300, 0), torch.float32, CPU).shape == (1, 2, 300, 0)
    assert new_room((1, 2, 300, 8), torch.float32, DEVICE).device == DEVICE


@pytest.mark.parametrize(("device", "most_idle", "most_copied"), [(CPU, 1.0, 2), (DEVICE, 0.125, 10)])
def test_room_grows_by_little_enough_and_seldom_enough(
    device: torch.device, most_idle: float, most_copied: int
) -> None:
    room = copied = 0
    for needed in range(1, 20_001, 5):
        if needed > room:
            copied += needed
            room = next_room(room, needed, device)
        assert needed <= room <= max(256, (1 + most_idle) * needed)
    assert copied < most_copied * 20_000
    assert next_room(room, 10 * room, device) == 10 * room
