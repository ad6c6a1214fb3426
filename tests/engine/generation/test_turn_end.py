"""A reply ends where the model ends it: with any of its end tokens, or with what its template puts behind a reply."""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from engine.backends.base import AddedToken
from engine.chat.render import Renderer
from engine.config import LoadConfig
from engine.decoder import SpeculativeDecoder
from engine.events import GenerationResult
from engine.formats.gguf import types
from engine.generation.reading import TurnEnd, turn_end_of
from engine.messages.message import Message
from helpers.decoding.fakes import PieceTokenizer, ScriptedBackend, recite
from helpers.models.gguf_writer import Entry
from helpers.models.marked_models import template_entry, write_marked_folder, write_marked_gguf
from helpers.paths import SHARED_MODELS
from helpers.upstream import LLAMA_CPP, TEMPLATES, TEST_CHAT, needs_source
from helpers.upstream_replies import read_cases

MARKERS = ("<|im_start|>", "<|im_end|>", "<|call_end|>", "<|other|>")
TURNS = "{% for m in messages %}<{{ m.role[0] }}>{{ m.reasoning }}{{ m.content }}<|im_end|>\n{% endfor %}"
PIECES = [b"", b"a", b"So", b"<|im_", b"end|>", b"<|im_end|>", b"<", b">", b"u", b"\n", b"H", b"e", b"l", b"o", b"!"]
END, A, SO, HALF, OTHER_HALF, DEFINED = range(6)


def _end(template: str, added: dict[str, AddedToken], ends: Sequence[int] = (), thought: Sequence[str] = ()) -> TurnEnd:
    tokenizer = PieceTokenizer(PIECES, template)
    tokenizer.added_tokens = added
    return turn_end_of(tokenizer, frozenset(ends), thought, Renderer())


CONTROL = {"<|im_end|>": AddedToken(20, True), "<s>": AddedToken(21, True)}


@pytest.mark.parametrize(
    ("template", "ends", "expected"),
    [
        (TURNS, (), [20]),
        (TURNS + "<s>", (21,), []),
        (TURNS, (20,), []),
        (TURNS.replace("<|im_end|>", ""), (), []),
        (TURNS.replace("{{ m.content }}", "<|im_end|>{{ m.content }}"), (), []),
        (TURNS + "{% if add_generation_prompt %}<s>{% endif %}", (), [20]),
        ("{{ raise_exception('never') }}", (), []),
        ("<|im_end|>", (), []),
        (TURNS + "word", (), []),
    ],
)
def test_what_stands_behind_a_reply(template: str, ends: Sequence[int], expected: list[int]) -> None:
    assert sorted(_end(template, CONTROL, ends).tokens) == expected


def test_text_where_no_token_stands_for_it() -> None:
    assert _end(TURNS, {}).texts == ("<|im_end|>",)
    assert _end(TURNS.replace("<|im_end|>", "[e~["), {}).texts == ("[e~[",)
    for harmless in ("", "\n\n", "USER:", "<a b>"):
        assert _end(TURNS.replace("<|im_end|>", harmless), {}) == TurnEnd()


def test_a_marker_that_ends_thoughts_too_ends_no_reply() -> None:
    both = TURNS.replace("{{ m.reasoning }}", "{% if m.reasoning %}{{ m.reasoning }}<|im_end|>{% endif %}")
    assert _end(both, CONTROL) == TurnEnd()
    assert _end(TURNS, CONTROL, thought=["<|im_end|><s>"]) == TurnEnd()


def _reply(pieces: Sequence[int], added: dict[str, AddedToken], template: str = TURNS) -> GenerationResult:
    """Return the reply of a model that says these tokens."""
    backend = ScriptedBackend(PIECES, lambda history: 0, chat_template=template, eos_token_ids=[END])
    tokenizer = PieceTokenizer(PIECES, template)
    tokenizer.added_tokens = added
    backend.tokenizer = tokenizer
    prompt = [Message("user", "Hello!")]
    decoder = SpeculativeDecoder()
    decoder.attach_target(backend)
    length = decoder.generate(prompt, max_tokens=1, lookahead=0).prompt_tokens
    backend._script = recite(pieces, length)
    return decoder.generate(prompt, max_tokens=9, lookahead=0)


def test_no_visible_marker_stands_at_the_end() -> None:
    written = _reply([SO, A, HALF, OTHER_HALF, SO], {})
    assert (written.text, written.finish_reason) == ("Soa", "stop")
    defined = _reply([SO, DEFINED, A], {"<|im_end|>": AddedToken(DEFINED, False)})
    assert (defined.text, defined.tokens, defined.finish_reason) == ("So", (SO, DEFINED), "stop")
    other = _reply([SO, HALF, A], {})
    assert other.text == "So<|im_a"


def test_a_raw_prompt_knows_no_turns() -> None:
    backend = ScriptedBackend(PIECES, recite([SO, HALF, OTHER_HALF]), chat_template=TURNS, eos_token_ids=[END])
    decoder = SpeculativeDecoder()
    decoder.attach_target(backend)
    assert decoder.generate("a", raw=True, lookahead=0).text == "So<|im_end|>"


def _ends(path: Path) -> set[str]:
    with SpeculativeDecoder() as decoder:
        decoder.attach_target(LoadConfig(path, trusted=True))
        assert decoder.target is not None
        tokenizer = decoder.target.tokenizer
        end = turn_end_of(tokenizer, decoder.target.eos_token_ids, (), Renderer())
        tokens = decoder.target.eos_token_ids | end.tokens
        return {text for text, token in tokenizer.added_tokens.items() if token.id in tokens}


def test_all_end_tokens_of_a_gguf_model(shared_gguf: Callable[[str], Path], tmp_path: Path) -> None:
    named = {f"ggml__{name}_token_id": Entry(types.UINT32, 508 + place) for name, place in (("eot", 3), ("eom", 2))}
    path, source = tmp_path / "m.gguf", shared_gguf("stories260K-F32")
    write_marked_gguf(source, path, MARKERS, chat_template=template_entry(TURNS), **named)
    assert _ends(path) == {"</s>", "<|im_end|>", "<|call_end|>", "<|other|>"}
    write_marked_gguf(source, path, ("<a>", "<b>"), chat_template=template_entry(TURNS.replace("<|im_end|>", "<b>")))
    assert _ends(path) == {"</s>", "<b>"}


def test_all_end_tokens_of_a_folder(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    source, folder = SHARED_MODELS / "hf" / "stories260K", tmp_path / "m"
    if not source.is_dir():
        pytest.skip("no stories260K among the test models")
    write_marked_folder(source, folder, MARKERS, chat_template=TURNS)
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": [2, 510]}))
    assert _ends(folder) == {"</s>", "<|im_end|>", "<|call_end|>"}


@needs_source
def test_no_end_stands_within_a_reply_of_other_people() -> None:
    """The end of no template of llama.cpp stands in the middle of a reply that its tests have."""
    found, _ = read_cases(TEST_CHAT)
    replies: dict[str, set[str]] = {}
    for case in found:
        replies.setdefault(case.template, set()).add(case.reply)
    ends = 0
    for path in TEMPLATES:
        text = path.read_text(encoding="utf-8")
        names = sorted({*re.findall(r"<[^<>\s'\"{}]+>|\[[A-Z_/]+\]|\[e~\[", text), "</s>"})
        tokenizer = PieceTokenizer(PIECES, text)
        tokenizer.added_tokens = {name: AddedToken(place, True) for place, name in enumerate(names)}
        end = turn_end_of(tokenizer, {names.index("</s>")}, (), Renderer())
        marker, ends = end.marker, ends + bool(end.marker)
        for reply in replies.get(path.relative_to(LLAMA_CPP).as_posix(), ()):
            assert not marker or marker not in reply.strip().removesuffix(marker), (path.name, reply)
    assert ends > 30
