"""Fit conversations into the context: the oldest turns are left out, the system turn never."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from weakref import WeakKeyDictionary

from engine.backends.base import Tokenizer
from engine.cancel import CancelToken
from engine.chat.inputs import PLAIN_INPUT, TemplateInput
from engine.chat.plain_text import encode_written
from engine.chat.render import Renderer
from engine.chat.template import encode_prompt
from engine.errors import ContextFull
from engine.messages.message import Message

_Encode = Callable[[Sequence[Message]], list[int]]
_LETTERS = 16
"""Characters a token from which on a conversation is suspected to be many times too long."""
_SAMPLE, _SAMPLE_LETTERS = 16, 200_000
"""Turns, and characters in them at most, from which the template's overhead per turn is estimated."""
_ROOM = 16
"""One part in so many of the context is kept free for the reply, unless fewer tokens are wanted."""
_MOST_SIZES = 100_000
_known_sizes: WeakKeyDictionary[Tokenizer, dict[str, int]] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class PromptFit:
    """Report the size of a conversation's prompt against the context, in tokens.

    `tokens`: of the prompt, or of its mandatory turns if even they do not fit; `typed`: of the last message alone;
    `context_length`: the capacity; `dropped_turns`: the number of oldest messages dropped; `fits`: False if a reply
    would raise ContextFull; `kept_free`: the part of the context reserved for the reply, by dropping the oldest
    messages.
    """

    tokens: int
    typed: int
    context_length: int
    dropped_turns: int = 0
    fits: bool = True
    kept_free: int = 0


def measure_turns(
    messages: Sequence[Message],
    tokenizer: Tokenizer,
    context_length: int,
    max_tokens: int | None,
    cancel: CancelToken | None = None,
    given: TemplateInput = PLAIN_INPUT,
) -> PromptFit:
    """Forecast `fit_turns` with the same arguments.

    Raises what encoding it raises.
    """
    kept_free = context_length - prompt_limit(context_length, max_tokens)
    if not messages:
        return PromptFit(0, 0, context_length, kept_free=kept_free)
    typed = len(encode_written(messages[-1].content, tokenizer)) + _seen(messages[-1], given)
    try:
        tokens, dropped = fit_turns(messages, tokenizer, context_length, max_tokens, Renderer(cancel), given)
    except ContextFull as error:
        return PromptFit(error.needed, typed, context_length, fits=False, kept_free=kept_free)
    return PromptFit(len(tokens), typed, context_length, dropped, kept_free=kept_free)


def fit_turns(
    messages: Sequence[Message],
    tokenizer: Tokenizer,
    context_length: int,
    max_tokens: int | None,
    renderer: Renderer | None = None,
    given: TemplateInput = PLAIN_INPUT,
) -> tuple[list[int], int]:
    """Return the prompt of a conversation with room left for a reply, and the number of its oldest turns dropped.

    System turns, and the turns from the last user turn on, always stay. Once a conversation has outgrown the
    context, turns are dropped until half of it is free, so that the following replies begin with the same tokens and
    find them in the cache. `renderer`: the current call's; `given`: the template's inputs besides the messages. Raises
    ContextFull if even the mandatory turns do not fit, and the errors of encoding them.
    """
    encode = partial(encode_prompt, tokenizer=tokenizer, raw=False, renderer=renderer or Renderer(), given=given)
    limit = prompt_limit(context_length, max_tokens)
    if not _surely_too_long(messages, tokenizer, limit):
        tokens = encode(messages)
        if len(tokens) <= limit:
            return tokens, 0
    system = [message for message in messages if message.instructs]
    turns = [message for message in messages if not message.instructs]
    if not turns:
        return _all_or_nothing(system, context_length, encode)
    starts = [index for index, message in enumerate(turns) if message.role == "user"] or [0]
    sizes = [_size(turn, tokenizer) + _seen(turn, given) for turn in turns]
    base = len(encode([*system, *turns[:1]])) - sizes[0]
    overhead = _overhead(system, turns, sizes, base, encode)
    chosen = _first_kept(starts, sizes, overhead, limit - base)
    while True:
        kept = turns[starts[chosen] :]
        tokens = encode([*system, *kept])
        if len(tokens) <= limit or chosen == len(starts) - 1:
            break
        chosen += 1
    if len(tokens) > context_length:
        raise ContextFull(len(tokens), context_length)
    return tokens, len(turns) - len(kept)


def prompt_limit(context_length: int, max_tokens: int | None) -> int:
    """Return the number of tokens a conversation may have beside the room that is kept for a reply of `max_tokens`."""
    room = context_length // _ROOM
    return context_length - (room if max_tokens is None else min(room, max_tokens))


def _all_or_nothing(messages: Sequence[Message], context_length: int, encode: _Encode) -> tuple[list[int], int]:
    """Fit messages as `fit_turns` does, where none may be left out."""
    tokens = encode(messages)
    if len(tokens) > context_length:
        raise ContextFull(len(tokens), context_length)
    return tokens, 0


def _size(turn: Message, tokenizer: Tokenizer) -> int:
    """Return tokens of a turn's content. In a long conversation nearly all turns are those of last time."""
    known = _known_sizes.setdefault(tokenizer, {})
    size = known.get(turn.content)
    if size is None:
        if len(known) >= _MOST_SIZES:
            known.clear()
        size = known[turn.content] = len(encode_written(turn.content, tokenizer))
    return size


def _seen(turn: Message, given: TemplateInput) -> int:
    """Return tokens of a turn's images."""
    return 0 if given.see is None else sum(len(given.see(part.url)) for part in turn.pictures)


def _surely_too_long(messages: Sequence[Message], tokenizer: Tokenizer, limit: int) -> bool:
    """Return True if a conversation need not be put together to know that it does not fit.

    What is many times too long takes its time, and more than a tokenizer reads at once is an error of its own.
    """
    if sum(len(message.content) for message in messages) <= _LETTERS * limit:
        return False
    total = 0
    for message in messages:
        total += _size(message, tokenizer)
        if total > 2 * limit:
            return True
    return False


def _overhead(
    system: Sequence[Message], turns: Sequence[Message], sizes: Sequence[int], base: int, encode: _Encode
) -> float:
    """Return tokens that the template adds to a turn beside its content, on average over the first turns."""
    count, letters = 0, 0
    while count < min(len(turns), _SAMPLE) and (letters := letters + len(turns[count].content)) <= _SAMPLE_LETTERS:
        count += 1
    if count < 2:
        return 0.0
    tokens = encode([*system, *turns[:count]])
    return (len(tokens) - sum(sizes[:count]) - base) / (count - 1)


def _first_kept(starts: Sequence[int], sizes: Sequence[int], overhead: float, limit: int) -> int:
    """Index in `starts` of the first turn that stays, as it came about while the conversation grew.

    Told from the sizes of the turns' contents and what the template adds to each; depends on earlier turns
    only, so that it stays where it is until the context is full again.
    """
    first = 0
    for last, end in enumerate(starts):
        size = sum(sizes[starts[first] : end + 1]) + overhead * (end + 1 - starts[first])
        if size <= limit:
            continue
        while first < last and size > limit / 2:
            first += 1
            size = sum(sizes[starts[first] : end + 1]) + overhead * (end + 1 - starts[first])
    return first
