"""Folders with tiny models of random weights, written by transformers: every kind of memory, no meaning.

Without PyTorch and transformers, importing this skips the tests that do.
"""

import importlib
import logging
import random
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.backends.base import Backend
from engine.config import LoadConfig
from engine.loading.open import open_backend

torch: Any = pytest.importorskip("torch")
transformers: Any = pytest.importorskip("transformers")

# Two threads wait for each other where other programs run.
torch.set_num_threads(1)

VOCABULARY = 97
WINDOW = 6
POSITIONS = 96

_COMMON: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": POSITIONS,
    "initializer_range": 0.3,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
_SMALL = {"vocab_size": VOCABULARY, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": POSITIONS}
_MAMBA = {"mamba_n_heads": 8, "mamba_d_head": 8, "mamba_d_state": 8, "mamba_n_groups": 1, "mamba_chunk_size": 8}
SETTINGS: dict[str, dict[str, Any]] = {
    "llama": _COMMON,
    "mistral": _COMMON | {"sliding_window": WINDOW},
    "gemma2": _COMMON | {"head_dim": 8, "sliding_window": WINDOW, "query_pre_attn_scalar": 8},
    "gemma3_text": _COMMON | {"head_dim": 8, "sliding_window": WINDOW, "num_hidden_layers": 3},
    "gpt2": _SMALL | {"initializer_range": 0.3, "bos_token_id": 1, "eos_token_id": 2},
    "falcon": _COMMON | {"new_decoder_architecture": True, "num_kv_heads": 2},
    "mixtral": _COMMON | {"num_local_experts": 4, "num_experts_per_tok": 2},
    "mamba": {name: value for name, value in _COMMON.items() if "position" not in name}
    | {"state_size": 8, "time_step_rank": 4},
    "jamba": _COMMON
    | {"attn_layer_period": 2, "attn_layer_offset": 1, "expert_layer_period": 2, "expert_layer_offset": 1}
    | {"num_experts": 2, "num_experts_per_tok": 1, "mamba_d_state": 8, "mamba_dt_rank": 4, "use_mamba_kernels": False},
    "falcon_h1": _COMMON | _MAMBA | {"mamba_d_ssm": 64, "head_dim": 8},
    "bamba": _COMMON | _MAMBA | {"attn_layer_indices": [1], "mamba_expand": 2},
    "rwkv": _COMMON | {"attention_hidden_size": 32, "context_length": POSITIONS, "rescale_every": 0},
    "openai-gpt": _SMALL,
    "bert": _COMMON | {"is_decoder": False},
}
"""Settings by model type: full attention, sliding windows shorter than any test's text, learned positions, an attention
of its own, experts, recurrent states, both in turns and side by side, a list of states, no cache at all, and one that
looks ahead."""


@contextmanager
def silence() -> Iterator[None]:
    """transformers' own messages are not what is tested."""
    switches = transformers.utils.logging
    logger = logging.getLogger("transformers")
    bars: Any = importlib.import_module("tqdm").tqdm
    level, interval = logger.level, bars.monitor_interval
    logger.setLevel(logging.CRITICAL + 1)
    switches.disable_progress_bar()
    # A bar would leave a thread behind that watches it.
    bars.monitor_interval = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    bars.monitor_interval = interval
    switches.enable_progress_bar()
    logger.setLevel(level)


def tiny_model(kind: str, seed: int = 0, **changed: Any) -> Any:
    with silence():
        config = transformers.AutoConfig.for_model(kind, **SETTINGS[kind] | changed)
        torch.manual_seed(seed)
        return transformers.AutoModelForCausalLM.from_config(config).eval()


def write_tiny(folder: Path, kind: str, seed: int = 0, **changed: Any) -> Path:
    """The same as a folder of config.json and model.safetensors."""
    model = tiny_model(kind, seed, **changed)
    with silence():
        model.save_pretrained(folder)
    return folder


def open_folder(folder: Path, **options: Any) -> Backend:
    """The backend of a folder, on the CPU unless told otherwise."""
    return open_backend(LoadConfig(folder, **{"device": "cpu"} | options))


def rows_without_cache(model: Any, tokens: list[int]) -> NDArray[np.float32]:
    """The rows behind all tokens, read at once without a cache: what the model means. Shape (tokens, vocabulary)."""
    with torch.inference_mode(), silence():
        rows: NDArray[np.float32] = model(input_ids=torch.tensor([tokens])).logits[0].float().numpy()
    return rows


def some_tokens(rng: random.Random, count: int) -> list[int]:
    """Token ids at random, none of them special."""
    return [rng.randrange(3, VOCABULARY) for _ in range(count)]
