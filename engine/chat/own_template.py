"""Read the chat template of a model that is not loaded, and find the variables of a template."""

from __future__ import annotations

from pathlib import Path

from engine.cancel import CancelToken
from engine.chat.render import Renderer
from engine.formats.gguf.reader import read_gguf
from engine.formats.safetensors.model import chat_templates


def read_template(path: Path) -> str:
    """Return the usual chat template of a model, a GGUF file or a folder; "" where it brings none.

    Raises ModelFileBroken, ModelNotSupported.
    """
    if path.is_dir():
        return next((each for each in chat_templates(path) if isinstance(each, str)), "")
    return read_gguf(path).text("tokenizer.chat_template") or ""


def template_names(template: str, *, cancel: CancelToken | None = None) -> tuple[str, ...]:
    """Return the variables that a chat template reads beside those that each is given: for `template_options`.

    Raises ChatTemplateFailed for what is no template, Cancelled.
    """
    return Renderer(cancel).names(template)
