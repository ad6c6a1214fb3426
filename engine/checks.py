"""Check single values of a configuration, and bring them into one form."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import Literal

from engine.errors import InvalidRequest, InvalidSampling, TextNotEncodable, TokenOutOfRange
from engine.translatable import Translatable

TreeSize = tuple[int, int]
TreeWish = TreeSize | Literal["auto"]
MOST_WIDTH, MOST_DEPTH = 4, 8
"""The widest and deepest tree of proposals: no more tokens in all than a chain may have."""
_MOST_TOKENS = 2**31
_MOST_BIAS = 1e9
MOST_MACHINES = 16
"""The most that llama.cpp can use at once."""
MOST_STREAMS = 64
MOST_PREDICTED = 2**18
"""Bytes of a predicted text, or its tokens."""
_SURROGATE = re.compile("[\ud800-\udfff]")
_ADDRESS = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,252}):([0-9]{1,5})")
_BIASES = Translatable("token ids with finite numbers")
_TOKEN_IDS = Translatable("token ids, whole numbers of 0 or more")


def bias_pairs(value: object) -> tuple[tuple[int, float], ...]:
    """Return a logit bias as sorted pairs. Raises InvalidSampling."""
    try:
        pairs = dict(value)  # type: ignore[call-overload]
    except (TypeError, ValueError):
        raise InvalidSampling("logit_bias", value, _BIASES) from None
    token_ids("logit_bias", tuple(pairs))
    for number in pairs.values():
        # A whole number may be larger than any float.
        if not isinstance(number, int | float) or isinstance(number, bool) or not abs(number) <= sys.float_info.max:
            raise InvalidSampling("logit_bias", value, _BIASES)
    # What is meant by more is always, or never; a logit can still be added to this.
    bounded = {int(token): max(-_MOST_BIAS, min(_MOST_BIAS, float(number))) for token, number in pairs.items()}
    return tuple(sorted(bounded.items()))


def token_ids(name: str, value: object) -> tuple[int, ...]:
    """Return token ids sorted, each once. Raises InvalidSampling."""
    good = isinstance(value, Sequence | AbstractSet) and not isinstance(value, str | bytes)
    if not good or not all(is_whole(token) and 0 <= token < _MOST_TOKENS for token in value):  # type: ignore[attr-defined]
        raise InvalidSampling(name, value, _TOKEN_IDS)
    return tuple(sorted({int(token) for token in value}))  # type: ignore[attr-defined]


def check_tokens(tokens: Iterable[object], vocab_size: int) -> None:
    """Check that a vocabulary has all of these token ids. Raises TokenOutOfRange.

    Libraries below do not: some of them end the process.
    """
    for token in tokens:
        if not is_whole(token) or not 0 <= token < vocab_size:  # type: ignore[operator]
            raise TokenOutOfRange(token, vocab_size)  # type: ignore[arg-type]


def check_text(text: str) -> None:
    """Check that a text can be written in UTF-8: halves of characters (lone surrogates) cannot.

    Raises TextNotEncodable.
    """
    half = lone_surrogate(text)
    if half is not None:
        raise TextNotEncodable(half)


def lone_surrogate(text: str) -> str | None:
    """Return the first half of a character (a lone surrogate) in a text, None if there is none."""
    found = None if text.isascii() else _SURROGATE.search(text)
    return None if found is None else found[0]


def check_streams(count: object) -> None:
    """Check a number of streams. Raises InvalidRequest."""
    if not is_whole(count) or not 1 <= count <= MOST_STREAMS:  # type: ignore[operator]
        raise InvalidRequest(f"Streams must be a whole number from 1 to {MOST_STREAMS}, not {count!r}.")


def machine_addresses(value: object) -> tuple[str, ...]:
    """Return addresses of machines, `host:port` each, of a text with commas or of several. Raises InvalidRequest."""
    texts = value.split(",") if isinstance(value, str) else value
    if isinstance(texts, Sequence) and all(isinstance(text, str) for text in texts):
        addresses = tuple(dict.fromkeys(text.strip() for text in texts if text.strip()))
        ports = [int(found[1]) for text in addresses if (found := _ADDRESS.fullmatch(text))]
        if len(ports) == len(addresses) <= MOST_MACHINES and all(0 < port < 2**16 for port in ports):
            return addresses
    raise InvalidRequest(
        "Machines must be addresses such as 192.168.1.20:50052, at most {most} with commas between them, not "
        "{value!r}.",
        most=MOST_MACHINES,
        value=value,
    )


def is_whole(value: object) -> bool:
    """Return True if a value counts something: a whole number of any kind, but True and False."""
    return hasattr(value, "__index__") and not isinstance(value, bool)


def check_whole(name: str, value: object, allowed: str, most: int = 2**31 - 1) -> None:
    """Check that a value is a whole number from 0 to `most`. Raises InvalidSampling, which says what is `allowed`."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
        raise InvalidSampling(name, value, allowed)


def check_number(name: str, value: object, allowed: str, least: float, most: float, *, above: bool = False) -> None:
    """Check that a value is a number from `least` (or `above` it) to `most`. Raises InvalidSampling."""
    # NaN is in no range, and a whole number that is larger than any float is compared as it is.
    good = isinstance(value, int | float) and not isinstance(value, bool)
    if not good or not least <= value <= most or (above and value <= least):  # type: ignore[operator]
        raise InvalidSampling(name, value, allowed)


def check_tree(value: object) -> TreeWish | None:
    """Return the width and depth of a tree, also of a text like 3x4, or raise InvalidRequest. None: no tree.

    "auto": trees by cost.
    """
    if value is None:
        return None
    if value == "auto":
        return "auto"
    parts = value.lower().split("x") if isinstance(value, str) else value
    if isinstance(parts, Sequence) and len(parts) == 2:
        width, depth = (int(part) if isinstance(part, str) and part.isdecimal() else part for part in parts)
        if is_whole(width) and is_whole(depth) and 1 <= width <= MOST_WIDTH and 1 <= depth <= MOST_DEPTH:
            return int(width), int(depth)
    raise InvalidRequest(
        "A tree must be its width (1 to {width}) and its depth (1 to {depth}), like 3x4, not {value!r}.",
        width=MOST_WIDTH,
        depth=MOST_DEPTH,
        value=value,
    )


def check_length(max_tokens: object, min_tokens: object, max_time: object) -> None:
    """Check a reply's limits: tokens at most, tokens at least, and seconds.

    Raises InvalidRequest.
    """
    if max_tokens is not None and (not is_whole(max_tokens) or max_tokens < 1):  # type: ignore[operator]
        raise InvalidRequest("max_tokens must be a whole number above 0, not {max_tokens!r}.", max_tokens=max_tokens)
    if not is_whole(min_tokens) or min_tokens < 0:  # type: ignore[operator]
        raise InvalidRequest(f"min_tokens must be a whole number of 0 or more, not {min_tokens!r}.")
    if max_tokens is not None and min_tokens > max_tokens:  # type: ignore[operator]
        raise InvalidRequest(f"min_tokens ({min_tokens}) must not be above max_tokens ({max_tokens}).")
    good = max_time is None or (isinstance(max_time, int | float) and not isinstance(max_time, bool))
    if not good or (max_time is not None and not 0 < max_time <= sys.float_info.max):  # type: ignore[operator]
        raise InvalidRequest(f"max_time must be a number of seconds above 0, not {max_time!r}.")


def check_prefix(name: str, value: object) -> tuple[str | int, ...]:
    """Return the beginning of a reply: texts and token ids, in their order. Raises InvalidRequest."""
    pieces = () if value is None else (value,) if isinstance(value, str) else value
    good = isinstance(pieces, Sequence) and not isinstance(pieces, bytes)
    if not good or not all(isinstance(piece, str) or is_whole(piece) for piece in pieces):  # type: ignore[attr-defined]
        raise InvalidRequest(f"{name} must be a text, or a list of token ids and texts.")
    found = tuple(piece if isinstance(piece, str) else int(piece) for piece in pieces if piece != "")  # type: ignore[attr-defined]
    if sum(len(piece) if isinstance(piece, str) else 1 for piece in found) > MOST_PREDICTED:
        raise InvalidRequest(f"{name} is too long: it may have {MOST_PREDICTED:,} letters and tokens at most.")
    for piece in found:
        check_text(str(piece))
    return found


def check_prediction(value: object) -> str | tuple[int, ...]:
    """Return a predicted reply: a text, or token ids as a tuple. Raises InvalidRequest."""
    if value is None:
        return ""
    if isinstance(value, str):
        if len(value) > MOST_PREDICTED or len(value.encode("utf-8", "replace")) > MOST_PREDICTED:
            raise InvalidRequest(f"The prediction is too long: it may have {MOST_PREDICTED:,} bytes at most.")
        check_text(value)
        return value
    if isinstance(value, bytes) or not isinstance(value, Sequence) or not all(map(is_whole, value)):
        raise InvalidRequest("The prediction must be a text, or a list of token ids.")
    if len(value) > MOST_PREDICTED:
        raise InvalidRequest(f"The prediction is too long: it may have {MOST_PREDICTED:,} tokens at most.")
    return tuple(map(int, value))
