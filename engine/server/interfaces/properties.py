"""Describe a server and its model, with llama.cpp's names."""

from __future__ import annotations

from typing import Any

from engine._version import __version__
from engine.decoder import SpeculativeDecoder
from engine.server.interfaces.requests import Defaults


def describe_props(name: str, decoder: SpeculativeDecoder | None, defaults: Defaults, slots: int) -> dict[str, Any]:
    """Return the properties of a model and of the server. `decoder` None: it is not loaded."""
    target = None if decoder is None else decoder.target
    templates = {} if target is None else target.tokenizer.chat_templates
    sampling = defaults.sampling
    names = ("temperature", "top_k", "top_p", "min_p", "repeat_penalty", "presence_penalty", "frequency_penalty")
    params: dict[str, Any] = {each: getattr(sampling, each) for each in names}
    params |= {"seed": -1 if sampling.seed is None else sampling.seed, "n_predict": -1, "typical_p": sampling.typical}
    length = 0 if target is None else target.context_length
    props = {
        "default_generation_settings": {"params": params, "n_ctx": length},
        "total_slots": slots,
        "model_alias": name,
        "model_path": name,
        "modalities": {"vision": target is not None and target.sees, "audio": False, "video": False},
        "endpoint_slots": True,
        "endpoint_props": False,
        "endpoint_metrics": True,
        "chat_template": templates.get("default", next(iter(templates.values()), "")),
        "bos_token": "" if target is None else target.tokenizer.bos_token,
        "eos_token": "" if target is None else target.tokenizer.eos_token,
        "build_info": f"outrider-{__version__}",
        "is_sleeping": target is None,
    }
    return props | ({"chat_template_tool_use": templates["tool_use"]} if "tool_use" in templates else {})


def describe_slots(decoder: SpeculativeDecoder | None, slots: int, running: int) -> list[dict[str, Any]]:
    """Return the places in which replies are written, the busy ones first."""
    target = None if decoder is None else decoder.target
    common = {
        "n_ctx": 0 if target is None else target.context_length,
        "speculative": decoder is not None and bool(decoder.sources),
    }
    return [{"id": place, **common, "is_processing": place < running} for place in range(slots)]
