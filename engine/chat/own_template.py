"""Read the chat template of a model that is not loaded, and find the variables of a template."""

from __future__ import annotations

from pathlib import Path

from engine.cancel import CancelToken
from engine.chat.render import Renderer
from engine.formats.gguf.reader import read_gguf
from engine.formats.safetensors.model import chat_templates


def read_template(path: Path) -> str:
    """Return a model's usual chat template, "" for none. Raises ModelFileBroken, ModelNotSupported."""
    if path.is_dir():
        return next((each for each in chat_templates(path) if isinstance(each, str)), "")
    return read_gguf(path).text("tokenizer.chat_template") or ""


def template_names(template: str, *, cancel: CancelToken | None = None) -> tuple[str, ...]:
    """Return a template's own variables, for `template_options`. Raises ChatTemplateFailed, Cancelled."""
    return Renderer(cancel).names(template)
