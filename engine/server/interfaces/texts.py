"""Read and answer requests for the tokens and the vectors of texts."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.backends.pictures import without_pictures
from engine.config import GenerationRequest
from engine.decoder import SpeculativeDecoder
from engine.errors import InvalidRequest
from engine.generation.questions import ReadPrompt
from engine.messages.message import Message
from engine.server.interfaces.bodies import read_flag
from engine.server.interfaces.conversation import read_messages

_MOST_TEXTS = 2048


@dataclass(frozen=True, slots=True)
class Texts:
    """Hold the input of a tokenisation: texts, between which token ids may stand, or messages.

    `pieces`: with the text of each token.
    """

    texts: tuple[str | int, ...]
    messages: tuple[Message, ...]
    add_special: bool
    parse_special: bool
    pieces: bool


def read_texts(body: Mapping[str, Any]) -> Texts:
    """Parse a body of /tokenize, with llama.cpp's names or vLLM's. Raises InvalidRequest."""
    messages = read_messages(body["messages"]) if body.get("messages") is not None else ()
    content = body.get("content", body.get("prompt", ""))
    texts = content if isinstance(content, list) else [content]
    if type(content) not in (str, list) or not all(type(each) in (str, int) for each in texts):
        raise InvalidRequest('"content" must be a text, or a list of texts and token ids.')
    special = read_flag(body, "add_special") or read_flag(body, "add_special_tokens")
    parse = body.get("parse_special") is None or read_flag(body, "parse_special")
    pieces = read_flag(body, "with_pieces") or read_flag(body, "return_token_strs")
    return Texts(tuple(texts), messages, special, parse, pieces)


def in_tokens(
    pieces: Sequence[str | int], decoder: SpeculativeDecoder, *, add_special: bool, parse_special: bool
) -> list[int]:
    """Return the tokens of texts, between which token ids may stand. Raises the errors of encoding."""
    tokens: list[int] = []
    for place, piece in enumerate(pieces):
        special = add_special and not place
        tokens += (
            [piece]
            if isinstance(piece, int)
            else decoder.encode(piece, add_special=special, parse_special=parse_special)
        )
    return tokens


def tokens_answer(wanted: Texts, decoder: SpeculativeDecoder) -> dict[str, Any]:
    """Return the answer of /tokenize. Raises the errors of encoding."""
    if wanted.messages:
        tokens = decoder.prompt_tokens(wanted.messages)
    else:
        tokens = in_tokens(wanted.texts, decoder, add_special=wanted.add_special, parse_special=wanted.parse_special)
    length = 0 if decoder.target is None else decoder.target.context_length
    listed: list[Any] = without_pictures(tokens)
    if wanted.pieces:
        listed = [{"id": token, "piece": decoder.token_text(token)} for token in listed]
    return {"tokens": listed, "count": len(tokens), "max_model_len": length}


def prompt_of(request: GenerationRequest, decoder: SpeculativeDecoder) -> ReadPrompt:
    """Render a conversation as a model reads it. Raises as reading it does."""
    messages: Any = request.prompt
    options = {"thinking": request.thinking, "tools": request.tools, "template_options": request.template_options}
    return decoder.read_prompt(messages, **options)  # type: ignore[arg-type]


def read_tokens(body: Mapping[str, Any]) -> list[int]:
    """Return the tokens of a body of /detokenize. Raises InvalidRequest."""
    tokens = body.get("tokens", [])
    if not isinstance(tokens, list) or not all(type(token) is int for token in tokens):
        raise InvalidRequest('/detokenize needs "tokens", a list of token ids.')
    return tokens


@dataclass(frozen=True, slots=True)
class Embeddings:
    """Hold a request for vectors. `dimensions`: of how many numbers, None: all; `packed`: as base64."""

    model: str
    texts: tuple[str | list[int], ...]
    dimensions: int | None
    packed: bool


def embedding_texts(body: Mapping[str, Any]) -> Embeddings:
    """Parse a body of /v1/embeddings. Raises InvalidRequest."""
    given, form, dimensions = body.get("input"), body.get("encoding_format"), body.get("dimensions")
    texts = [given] if isinstance(given, str) or (given and _are_tokens(given)) else given
    if not isinstance(texts, list) or not texts or not all(text and _is_text(text) for text in texts):
        raise InvalidRequest('"input" must be a text, a list of texts, or lists of token ids, none of them empty.')
    if len(texts) > _MOST_TEXTS:
        raise InvalidRequest(f'"input" has {len(texts):,} texts; the limit is {_MOST_TEXTS:,}.')
    if form not in (None, "float", "base64"):
        raise InvalidRequest('"encoding_format" must be float or base64.')
    if dimensions is not None and (type(dimensions) is not int or dimensions < 1):
        raise InvalidRequest('"dimensions" must be a whole number above 0.')
    model = body.get("model")
    return Embeddings(model if isinstance(model, str) else "", tuple(texts), dimensions, form == "base64")


def embeddings_answer(wanted: Embeddings, model: str, vectors: Sequence[Sequence[float]], count: int) -> dict[str, Any]:
    """Return vectors as /v1/embeddings tells them. Raises InvalidRequest if they are too short."""
    data = []
    for index, vector in enumerate(vectors):
        numbers = np.asarray(vector, np.float32)
        if wanted.dimensions is not None:
            if wanted.dimensions > len(numbers):
                raise InvalidRequest(f'"dimensions" must be at most {len(numbers)}, which the model has.')
            numbers = numbers[: wanted.dimensions]
            numbers = numbers / (np.linalg.norm(numbers) or 1.0)
        encoded: Any = base64.b64encode(numbers.astype("<f4").tobytes()).decode() if wanted.packed else numbers.tolist()
        data.append({"object": "embedding", "index": index, "embedding": encoded})
    counted = {"prompt_tokens": count, "total_tokens": count}
    return {"object": "list", "data": data, "model": model, "usage": counted}


def _is_text(text: object) -> bool:
    return isinstance(text, str) or _are_tokens(text)


def _are_tokens(text: object) -> bool:
    return isinstance(text, list) and all(type(token) is int for token in text)
