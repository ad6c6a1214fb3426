"""Render a chat template as one call does, and see what comes of it."""

import time

import pytest

from engine.cancel import CancelToken
from engine.chat.render import Renderer
from engine.errors import ChatTemplateFailed
from engine.messages.message import Message
from helpers.models.hostile_templates import WORD

HI, SAID = [Message("user", "Hi")], [Message("user", f"open {WORD}")]


def rendered(template: str, messages: list[Message], cancel: CancelToken | None = None) -> str:
    return Renderer(cancel).render(template, messages, "<s>", "</s>")


def answers(template: str) -> bool:
    """Return True if the template does its work where nothing hostile is said."""
    return rendered(template, HI) == "<|user|>Hi\n<|assistant|>"


def refuse(template: str, messages: list[Message]) -> tuple[str, float]:
    """Return the error of a template, and the seconds that it took."""
    began = time.perf_counter()
    with pytest.raises(ChatTemplateFailed) as caught:
        rendered(template, messages)
    return str(caught.value), time.perf_counter() - began
