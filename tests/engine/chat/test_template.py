"""Chat templates from untrusted files, encoding of prompts, whole characters and stop strings."""

import time
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.chat.render import Renderer
from engine.chat.reply_text import ReplyText
from engine.chat.template import encode_prompt
from engine.errors import ChatTemplateFailed, InvalidRequest
from engine.messages.message import Message
from helpers.decoding.fakes import PieceTokenizer
from helpers.properties import quick

TURNS = [Message("system", "Be brief."), Message("user", "Hi"), Message("assistant", "Yes?"), Message("user", "Why?")]
TEMPLATE = (
    "{% for message in messages %}<|{{ message['role'] }}|>{{ message.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def render_template(template: str, messages: Sequence[Message], bos_token: str, eos_token: str) -> str:
    return Renderer().render(template, messages, bos_token, eos_token)


class RecordingTokenizer(PieceTokenizer):
    """Record the texts that it was asked to encode."""

    def __init__(self, chat_template: str | None = None, bos_token: str = "") -> None:
        super().__init__([b"a", b"b"], chat_template)
        self.bos_token = bos_token
        self.asked: list[tuple[str, bool, bool]] = []

    def encode(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        """Token ids; the question is noted."""
        self.asked.append((text, add_special, parse_special))
        return super().encode(text, add_special=add_special, parse_special=parse_special)


def test_text_is_one_user_turn() -> None:
    tokenizer = RecordingTokenizer(TEMPLATE)
    encode_prompt("ab", tokenizer, raw=False)
    assert tokenizer.asked == [("<|user|>ab\n<|assistant|>", True, True)]


def test_raw_text_is_left_alone() -> None:
    """What a person types is never read as a control token."""
    tokenizer = RecordingTokenizer(TEMPLATE)
    assert encode_prompt("ab<|user|>", tokenizer, raw=True) == [0, 1]
    assert tokenizer.asked == [("ab<|user|>", True, False)]


def test_messages_go_through_the_template() -> None:
    tokenizer = RecordingTokenizer(TEMPLATE)
    encode_prompt(TURNS, tokenizer, raw=False)
    assert tokenizer.asked[0][0] == "<|system|>Be brief.\n<|user|>Hi\n<|assistant|>Yes?\n<|user|>Why?\n<|assistant|>"


def test_begin_token_is_not_doubled() -> None:
    tokenizer = RecordingTokenizer("{{ bos_token }}" + TEMPLATE, "<s>")
    encode_prompt("ab", tokenizer, raw=False)
    assert tokenizer.asked == [("<s><|user|>ab\n<|assistant|>", False, True)]


def test_model_without_a_template_reads_the_text() -> None:
    tokenizer = RecordingTokenizer(None)
    encode_prompt([Message("user", "ab")], tokenizer, raw=False)
    assert tokenizer.asked == [("ab", True, False)]


def test_token_ids_are_taken_as_they_are() -> None:
    assert encode_prompt((5, 6), RecordingTokenizer(), raw=False) == [5, 6]


def test_messages_cannot_be_raw() -> None:
    with pytest.raises(InvalidRequest, match="omit raw"):
        encode_prompt(TURNS, RecordingTokenizer(TEMPLATE), raw=True)


def test_what_templates_of_real_models_use() -> None:
    template = (
        "{%- set ns = namespace(found=false) -%}{%- for m in messages if m.role == 'user' -%}"
        "{%- if loop.index > 1 -%}{%- break -%}{%- endif -%}{%- set ns.found = true -%}"
        "{{ m | tojson }}{{ '%s!' | format(m.content | trim) }}{{ '=' * 3 }}{%- endfor -%}"
        "{{ ns.found }}{{ strftime_now('%%') }}{{ range(3) | join(',') }}{{ tools is none }}"
    )
    expected = '{"role": "user", "content": "Hi"}Hi!===True%0,1,2True'
    assert render_template(template, TURNS, "", "") == expected


@pytest.mark.parametrize(
    "template",
    [
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ messages.__class__ }}{{ messages.__class__.__base__ }}",
        "{{ raise_exception.__globals__.os }}",
        "{{ render.__code__ }}{{ self._TemplateReference__context }}",
        "{{ cycler.__init__.__globals__.os.system('true') }}",
        "{{ lipsum.__globals__['os'] }}",
        "{{ ''['__class__']['__base__'] }}",
        "{{ ('' | attr('__class__')).__base__ }}",
        "{{ messages.append(1) }}",
        "{{ messages[0].update(role='x') }}",
        "{% include '/etc/passwd' %}",
        "{% import '/etc/passwd' as x %}",
        "{% extends '/etc/passwd' %}",
        "{% for message in %}",
        "{{ 1 / 0 }}",
        "{{ messages[99].content.x }}",
        "{{ range(10 ** 9) | list }}",
        "{% for a in range(99999) %}{% for b in range(99999) %}{{ a }}{% endfor %}{% endfor %}",
        "{{ 'a' * 10 ** 10 }}",
        "{{ [0] * 10 ** 10 }}",
        "{{ 2 ** (10 ** 10) }}",
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
        "{{ undefined_function() }}",
        "{{ messages | map('nofilter') | list }}",
    ],
)
def test_hostile_template_is_one_clear_error_and_quick(template: str) -> None:
    started = time.perf_counter()
    with pytest.raises(ChatTemplateFailed, match=r"^The model's chat template failed: .+ Send plain text"):
        render_template(template, TURNS, "", "")
    assert time.perf_counter() - started < 5.0


def test_template_speaks_for_itself() -> None:
    with pytest.raises(ChatTemplateFailed, match="roles must alternate"):
        render_template("{{ raise_exception('roles must alternate') }}", TURNS, "", "")


def test_what_a_user_writes_is_no_template() -> None:
    text = "{{ 7 * 7 }}{% raise %}"
    assert text in render_template(TEMPLATE, [Message("user", text)], "", "")


def _released(pieces: Sequence[bytes], stop: Sequence[str] = ()) -> tuple[list[str], ReplyText]:
    reply = ReplyText(PieceTokenizer(pieces), stop)
    shown = []
    for token in range(len(pieces)):
        shown.append(reply.push(token))
        if reply.stopped:
            break
    shown.append(reply.finish())
    return shown, reply


def test_emoji_over_four_tokens_is_shown_when_whole() -> None:
    shown, reply = _released([bytes([byte]) for byte in "🦜!".encode()])
    assert shown == ["", "", "", "🦜", "!", ""]
    assert reply.text == "🦜!"


def test_half_a_character_at_the_end_is_dropped() -> None:
    shown, reply = _released([b"ok ", "🦜".encode()[:3]])
    assert shown == ["ok ", "", ""]
    assert reply.text == "ok "


def test_bytes_that_are_no_text_do_not_stop_it() -> None:
    _, reply = _released([b"a\xff", b"\xf0\x9f", b"b"])
    assert reply.text == "a��b"


@quick
@given(st.text(max_size=20), st.lists(st.integers(1, 3), max_size=60), st.lists(st.text(min_size=1, max_size=3)))
def test_pieces_put_together_are_the_text(text: str, sizes: list[int], stop: list[str]) -> None:
    data = text.encode("utf-8", "replace")
    pieces, place = [], 0
    for size in [*sizes, len(data)]:
        pieces.append(data[place : place + size])
        place += size
    shown, reply = _released(pieces, stop)
    whole = data.decode()
    assert "".join(shown) == reply.text
    assert whole.startswith(reply.text)
    assert not any(each in reply.text for each in stop)
    found = [place for each in stop if (place := whole.find(each)) >= 0]
    if not found:
        assert reply.text == whole
        assert not reply.stopped
    else:
        assert reply.stopped


def test_stop_string_over_several_tokens() -> None:
    shown, reply = _released([b"one <", b"|e", b"nd|", b"> two"], ["<|end|>"])
    assert shown == ["one ", "", "", "", ""]
    assert reply.text == "one "
    assert reply.stopped


def test_beginning_of_a_stop_string_is_released_when_it_was_none() -> None:
    shown, reply = _released([b"one <", b"|e", b"gg", b"!"], ["<|end|>"])
    assert shown == ["one ", "", "<|egg", "!", ""]
    assert not reply.stopped


def test_held_text_comes_out_at_the_end() -> None:
    shown, reply = _released([b"one <|"], ["<|end|>"])
    assert shown == ["one ", "<|"]
    assert reply.text == "one <|"


def test_earliest_of_several_stop_strings_counts() -> None:
    _, reply = _released([b"abcdef"], ["ef", "cd", "de"])
    assert reply.text == "ab"


def test_repeated_beginning_of_a_stop_string() -> None:
    _, reply = _released([b"aa", b"a", b"ab", b"c"], ["aab"])
    assert reply.text == "aa"


def test_stop_string_of_a_split_character() -> None:
    parrot = "🦜".encode()
    shown, reply = _released([b"hi " + parrot[:2], parrot[2:], b"x"], ["🦜"])
    assert "".join(shown) == reply.text == "hi "
    assert reply.stopped
