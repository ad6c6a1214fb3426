"""Determine a request's prompt and the ends of its reply: the model's end tokens, and its template's."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import Any
from weakref import WeakKeyDictionary

from engine.backends.base import Backend, Tokenizer
from engine.backends.pictures import without_pictures
from engine.cancel import CancelToken
from engine.chat.call_form import CallForm, call_form
from engine.chat.context_fit import fit_turns, prompt_limit
from engine.chat.inputs import PLAIN_INPUT, TemplateInput
from engine.chat.plain_text import encode_behind, lookalikes_of, reply_cuts
from engine.chat.render import Renderer
from engine.chat.reply_grammar import GrammarRequest, TagGrammar, usable_grammar
from engine.chat.reply_parts import ReplyParser
from engine.chat.reply_text import ReplyText
from engine.chat.template import choose_template, encode_prompt
from engine.chat.thinking import thinking_input, thought_end
from engine.checks import check_tokens, lone_surrogate
from engine.config import GenerationRequest
from engine.errors import ChatTemplateFailed, ContextFull, InvalidRequest
from engine.generation.questions import eyes_of
from engine.loading.source import Source
from engine.masks.call_grammar import bare_constraint, calls_constraint
from engine.masks.call_guess import CallGuess, CallKind
from engine.masks.late_end import LateEnd
from engine.masks.reply_masks import ReplyMasks
from engine.masks.request_masks import masks_of
from engine.messages.message import Message
from engine.messages.parts import ImagePart, OtherPart
from engine.messages.tools import described
from engine.translatable import Translatable

_MOST_KEPT_FREE = 4096
"""Tokens for the reply for which a context grows, at most."""
_PROMPT_END = 256
"""Tokens that show the end of a prompt, which may begin the reply."""
_REPLY, _THOUGHT, _TOOL = "QRXYZ", "QTXYZ", "qfxyz"
"""Texts that stand in no template."""
_MARKERS_BEGIN = "<["
_LONGEST = 64
_HALF = Translatable("Halves of characters (lone surrogates) in the prompt were read as question marks.")
_UNREAD = Translatable("Parts of messages that are no text were left out: this model does not read them.")


@dataclass(frozen=True, slots=True)
class TurnEnd:
    """Hold the ends of a reply beside the model's own end tokens: token ids, and texts that no token stands for.

    `marker`: the text of either, "" for nothing.
    """

    marker: str = ""
    tokens: frozenset[int] = frozenset()
    texts: tuple[str, ...] = ()


_NOTHING = TurnEnd()
_known: WeakKeyDictionary[Tokenizer, tuple[str, TurnEnd]] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class Reading:
    """Hold a request's prompt for the target, and the ends of its reply.

    Attributes: request (with the end tokens banned if it goes past them); prompt (token ids, not empty); reply (its
    text); stop_tokens; parser (of the reply's parts); forced (its first tokens); masks (those of a constraint); guess
    (the likely next tokens of optional calls); thought_end (returns the tokens that end the reasoning and begin the
    answer); dropped_turns (the number of oldest turns dropped from the prompt); notes (for the user, on the making of
    the prompt).
    """

    request: GenerationRequest
    prompt: list[int]
    reply: ReplyText
    stop_tokens: frozenset[int]
    parser: ReplyParser = field(default_factory=lambda: ReplyParser(TagGrammar()))
    forced: Sequence[int] = ()
    masks: ReplyMasks | LateEnd | None = None
    guess: CallGuess | None = None
    thought_end: Callable[[], list[int]] = list
    dropped_turns: int = 0
    notes: tuple[str, ...] = ()


def read_with_room(
    request: GenerationRequest, target: Backend, sources: Sequence[Source], cancel: CancelToken
) -> Reading:
    """Make the prompt that the target reads; where it has no room for it, in a larger context, if it can have one.

    Raises what `read_request` raises.
    """
    while True:
        reading, problem = None, None
        try:
            reading = read_request(request, target, cancel)
        except ContextFull as error:
            problem = error
        wanted = min(request.max_tokens or target.context_length // 4, _MOST_KEPT_FREE)
        whole = reading is not None and not reading.dropped_turns
        enough = whole and reading is not None and len(reading.prompt) + wanted <= target.context_length
        if enough or not target.grow_context(2 * target.context_length):
            if reading is None:
                raise problem or ContextFull(0, target.context_length)
            return reading
        for source in sources:
            source.grow_context(target.context_length)


def read_request(request: GenerationRequest, target: Backend, cancel: CancelToken) -> Reading:
    """Prepare the prompt of the target. Raises ContextFull, InvalidRequest and its kinds."""
    tokenizer, renderer = target.tokenizer, Renderer(cancel)
    _check_token_ids(request, target.vocab_size)
    given = thinking_input(request.thinking, tokenizer, renderer) if _is_chat(request) else PLAIN_INPUT
    given = replace(given, tools=request.tools or None, arguments={**given.arguments, **request.template_options})
    given = replace(given, see=eyes_of(target))
    tokens, dropped = _encode(request, target, renderer, given)
    begun = _begun(request.prefix, tokenizer, tokens)
    forced = _begun(request.forced, tokenizer, [*tokens[-_PROMPT_END:], *begun])
    if begun and len(tokens) + len(begun) >= target.context_length > len(begun):
        # Not before: with the turns that the reply was begun with, it is in the cache.
        tokens, dropped = _encode(request, target, renderer, given, len(begun))
    if not tokens:
        raise InvalidRequest(Translatable("The prompt has no tokens: it must have some text."))
    if tokens[-1] < 0:
        raise InvalidRequest(Translatable("The prompt ends with a picture: write something behind it."))
    parser, end = _parser(request, tokenizer, tokens, given, begun), TurnEnd()
    if _is_chat(request):
        end = turn_end_of(tokenizer, target.eos_token_ids, parser.thought_ends, renderer)
    ends = target.eos_token_ids | end.tokens
    if request.ignore_eos:
        request, ends, end = _without_end(request, ends), frozenset(), TurnEnd()
    stop_tokens = ends | frozenset(request.stop_tokens)
    reply = ReplyText(tokenizer, (*request.stop, *end.texts))
    reply.follow(begun)
    return Reading(
        request,
        [*tokens, *begun],
        reply,
        stop_tokens,
        parser,
        forced,
        masks_of(request, target, parser, stop_tokens, _calls_wanted(request, target, given, renderer, ends, end)),
        _guess(request, target, given, renderer, ends, end),
        lambda: thought_end(tokenizer, Renderer(cancel), given, parser.thought_ends),
        dropped,
        (*renderer.notes, *_notes_on(request, sees=target.sees)),
    )


def _notes_on(request: GenerationRequest, *, sees: bool) -> tuple[str, ...]:
    """Return notes on a prompt: the parts that the model does not read, or not as they are."""
    prompt = request.prompt
    messages = [] if isinstance(prompt, str) else [each for each in prompt if isinstance(each, Message)]
    texts = (prompt,) if isinstance(prompt, str) else [message.content for message in messages]
    left_out = OtherPart if sees else ImagePart | OtherPart
    unread = any(isinstance(part, left_out) for message in messages for part in message.parts)
    return (*([_UNREAD] if unread else []), *([_HALF] if any(map(lone_surrogate, texts)) else []))


def _check_token_ids(request: GenerationRequest, vocab_size: int) -> None:
    """Check every token id of a request before any work. Raises TokenOutOfRange."""
    sampling, prompt = request.sampling, request.prompt
    given = () if isinstance(prompt, str) or isinstance(prompt[0], Message) else prompt
    begun = (token for token in (*request.prefix, *request.forced) if isinstance(token, int))
    biased = (token for token, _ in sampling.logit_bias)
    predicted = () if isinstance(request.prediction, str) else request.prediction
    check_tokens(
        itertools.chain(given, begun, biased, sampling.banned_tokens, request.stop_tokens, predicted), vocab_size
    )


def _is_chat(request: GenerationRequest) -> bool:
    """Return True if the prompt goes through the chat template."""
    return not request.raw and (isinstance(request.prompt, str) or isinstance(request.prompt[0], Message))


def _begun(pieces: Sequence[str | int], tokenizer: Tokenizer, prompt: Sequence[int]) -> list[int]:
    """Return the tokens with which the reply begins. Of its texts only thoughts' markers become control tokens."""
    before, tokens = _text_of(prompt[-_PROMPT_END:], tokenizer), list[int]()
    for piece in pieces:
        if isinstance(piece, int):
            tokens.append(piece)
            continue
        places = [0, *reply_cuts(piece, "" if tokens else before, lookalikes_of(tokenizer)), len(piece)]
        for begin, end in itertools.pairwise(places):
            tokens += encode_behind(piece[begin:end], tokenizer) if end > begin else []
    return tokens


def _encode(
    request: GenerationRequest, target: Backend, renderer: Renderer, given: TemplateInput, begun: int = 0
) -> tuple[list[int], int]:
    """Return the tokens of the prompt, and the number of turns left out of it. `begun`: tokens that follow it."""
    prompt, tokenizer = request.prompt, target.tokenizer
    if isinstance(prompt, tuple) and isinstance(prompt[0], Message) and not request.raw:
        length = target.context_length - begun
        tokens, dropped = fit_turns(prompt, tokenizer, length, request.max_tokens, renderer, given)
        if dropped and not request.drop_turns:
            whole = encode_prompt(prompt, tokenizer, raw=False, renderer=renderer, given=given)
            raise ContextFull(len(whole), prompt_limit(length, request.max_tokens))
        return tokens, dropped
    return encode_prompt(prompt, tokenizer, raw=request.raw, renderer=renderer, given=given), 0


def _parser(
    request: GenerationRequest, tokenizer: Tokenizer, prompt: Sequence[int], given: TemplateInput, begun: Sequence[int]
) -> ReplyParser:
    """Make the parser of the reply to a prompt of these tokens, by the chat template.

    `begun`: the tokens behind them with which the reply begins.
    """
    messages, before = request.prompt, ""
    if isinstance(messages, tuple) and len(messages) > 1 and isinstance(messages[-1], Message):
        before = messages[-1].content if messages[-1].role == "assistant" else ""
    seen = prompt if before else prompt[-_PROMPT_END:]
    end = _text_of(seen, tokenizer).removesuffix(before)
    text = ReplyText(tokenizer)
    before += "".join([text.marked(text.push(token)) for token in begun])
    template = choose_template(tokenizer.chat_templates, given)
    names = [tool["function"]["name"] for tool in request.tools]
    if template is None or not _is_chat(request):
        tags = TagGrammar(opened=end.rstrip().endswith("<think>"))
        return ReplyParser(tags, before, tools=names, one_call=request.one_call)
    wanted = GrammarRequest(
        template,
        tokenizer.bos_token,
        tokenizer.eos_token,
        described(request.tools),
        thinking=request.thinking != "off",
        options=given.arguments,
    )
    grammar, _ = usable_grammar(wanted, end)
    return ReplyParser(grammar, before, tools=names, one_call=request.one_call)


def _text_of(tokens: Sequence[int], tokenizer: Tokenizer) -> str:
    """Return the text of tokens with that of control tokens, and of pictures none."""
    words = without_pictures(tokens)
    data = b"".join(tokenizer.piece(token) or tokenizer.marker(token).encode() for token in words)
    return data.decode("utf-8", "replace")


def _calls_wanted(
    request: GenerationRequest,
    target: Backend,
    given: TemplateInput,
    renderer: Renderer,
    ends: AbstractSet[int],
    turn_end: TurnEnd,
) -> CallForm | None:
    """Return the form of calls where the reply must have some, or may in place of JSON; None else."""
    if not request.must_call and not (request.tools and request.constraint is not None):
        return None
    tokenizer = target.tokenizer
    return call_form(tokenizer, given, renderer, [*map(tokenizer.marker, ends), *turn_end.texts])


def _guess(
    request: GenerationRequest,
    target: Backend,
    given: TemplateInput,
    renderer: Renderer,
    ends: frozenset[int],
    turn_end: TurnEnd,
) -> CallGuess | None:
    """Make the guesser of calls that a reply makes by itself; None if it can make none, or must."""
    if not request.tools or request.must_call or request.constraint is not None or not _is_chat(request):
        return None
    tokenizer = target.tokenizer
    form = call_form(tokenizer, given, renderer, [*map(tokenizer.marker, ends), *turn_end.texts])
    silent = frozenset(token for token in ends if not tokenizer.piece(token))

    def make(kind: CallKind) -> ReplyMasks:
        if kind == "bare":
            wanted = bare_constraint(request.tools)
        else:
            wanted = calls_constraint(request.tools, form, tokenizer, one=request.one_call)
        return ReplyMasks(wanted, tokenizer, target.vocab_size, silent)

    return CallGuess(make, tokenizer, target.vocab_size, silent)


def _without_end(request: GenerationRequest, ends: frozenset[int]) -> GenerationRequest:
    """Return the request with the model's end tokens banned."""
    banned = ends.union(request.sampling.banned_tokens)
    return replace(request, sampling=replace(request.sampling, banned_tokens=tuple(banned)))


def turn_end_of(
    tokenizer: Tokenizer, ends: AbstractSet[int], thought_ends: Sequence[str], renderer: Renderer
) -> TurnEnd:
    """Find the ends of a model's replies, once for its template. Raises Cancelled.

    `ends`: its own end tokens; `thought_ends`: markers that end a thought only. `renderer`: of the call that this is a
    part of.
    """
    template = tokenizer.chat_template
    if template is None:
        return _NOTHING
    kept = _known.get(tokenizer)
    if kept is None or kept[0] != template:
        kept = template, _find(template, tokenizer, ends, renderer)
        if not renderer.timed_out:
            _known[tokenizer] = kept
    found = kept[1]
    return _NOTHING if any(found.marker in marker for marker in thought_ends) else found


def _find(template: str, tokenizer: Tokenizer, ends: AbstractSet[int], renderer: Renderer) -> TurnEnd:
    def render(**reply: Any) -> str:
        messages = [{"role": "user", "content": "Hello!"}, {"role": "assistant", "content": _REPLY, **reply}]
        given = PLAIN_INPUT.variables(messages, tokenizer.bos_token, tokenizer.eos_token)
        return renderer.render_variables(template, given | {"add_generation_prompt": False})

    try:
        _, written, behind = render().rpartition(_REPLY)
    except ChatTemplateFailed:
        return _NOTHING
    marker = behind.strip()
    known = [text for text, token in tokenizer.added_tokens.items() if token.id in ends]
    whole = marker
    while last := next((text for text in known if marker.endswith(text)), ""):
        marker = marker.removesuffix(last).rstrip()
    if not written or not marker or len(marker) > _LONGEST or " " in marker or "\n" in marker:
        return _NOTHING
    token = tokenizer.added_tokens.get(marker)
    # A silent token before an end token may end something else, and does no harm.
    if token is not None and token.control and marker != whole:
        return _NOTHING
    if token is None and (marker[0] not in _MARKERS_BEGIN or any(text in marker for text in tokenizer.added_tokens)):
        return _NOTHING
    if _divides(marker, render):
        return _NOTHING
    return TurnEnd(marker, texts=(marker,)) if token is None else TurnEnd(marker, frozenset({token.id}))


def _divides(marker: str, render: Callable[..., str]) -> bool:
    """Return True if a marker also stands between the parts of one reply: thought, text and calls of tools."""
    call = {"type": "function", "id": "abcdefghi", "function": {"name": _TOOL, "arguments": {}}}
    of_thought: dict[str, Any] = dict.fromkeys(("reasoning", "reasoning_content"), _THOUGHT)
    for parts in (of_thought, {"tool_calls": [call]}):
        try:
            text = render(**parts)
        except ChatTemplateFailed:
            continue
        places = sorted(place for part in (_THOUGHT, _REPLY, _TOOL) if (place := text.rfind(part)) >= 0)
        if len(places) > 1 and marker in text[places[0] : places[-1]]:
            return True
    return False
