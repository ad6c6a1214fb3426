"""The tokenizers of model folders: text to ids and ids to bytes, for every way of writing a vocabulary."""

import json
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from engine.backends.base import Backend
from engine.errors import ModelFileBroken, NotAvailable, TextNotEncodable
from engine.library.compat import vocabulary_of_backend
from helpers.models.tiny_models import open_folder, write_tiny

tokenizers: Any = pytest.importorskip("tokenizers")

SPECIAL = ["<pad>", "<s>", "</s>"]
UNKNOWN = "[UNK]"
TEXTS = ("Hello, world!", " a  b\n\tc", "é and 日本 and 🙂", "<s> is a word here </s>", "", " ")
TRAINING = ["Hello, world! This is a text of some words, and of more words. a b c é"] * 3


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny(tmp_path_factory.mktemp("template") / "llama", "llama", vocab_size=400)


def _backend(template: Path, folder: Path, tokenizer: Any, **settings: Any) -> Backend:
    folder.mkdir()
    for path in template.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    tokenizer.save(str(folder / "tokenizer.json"))
    names = {"bos_token": "<s>", "eos_token": "</s>", "tokenizer_class": "PreTrainedTokenizerFast"}
    (folder / "tokenizer_config.json").write_text(json.dumps(names | settings))
    return open_folder(folder)


def _byte_level(alphabet: list[str] | None = None) -> Any:
    found = tokenizers.Tokenizer(tokenizers.models.BPE())
    found.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    found.decoder = tokenizers.decoders.ByteLevel()
    signs = tokenizers.pre_tokenizers.ByteLevel.alphabet() if alphabet is None else alphabet
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=380, special_tokens=SPECIAL, initial_alphabet=signs, show_progress=False
    )
    found.train_from_iterator(TRAINING if alphabet is None else [], trainer)
    return found


def _sentence_piece() -> Any:
    """Pieces with ▁ for spaces and bytes for what has no piece."""
    vocabulary = {text: index for index, text in enumerate([*SPECIAL, *(f"<0x{byte:02X}>" for byte in range(256))])}
    for text in ("\u2581", "H", "e", "l", "o", "\u2581a", "b", "\u2581\u2581"):
        vocabulary[text] = len(vocabulary)
    found = tokenizers.Tokenizer(tokenizers.models.BPE(vocabulary, [], byte_fallback=True))
    found.model.unk_token = SPECIAL[0]
    found.add_special_tokens(SPECIAL)
    normalizers, decoders = tokenizers.normalizers, tokenizers.decoders
    found.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
    found.decoder = decoders.Sequence(
        [decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    return found


def _metaspace() -> Any:
    pieces = [*SPECIAL, "\u2581Hello", "\u2581", ",", *"Helo wrd!abc"]
    found = tokenizers.Tokenizer(tokenizers.models.Unigram([(piece, -1.0) for piece in pieces], 0, False))
    found.add_special_tokens(SPECIAL)
    found.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    found.decoder = tokenizers.decoders.Metaspace()
    return found


def _word_piece() -> Any:
    vocabulary = {text: index for index, text in enumerate([*SPECIAL, UNKNOWN, "hello", "wor", "##ld", ",", "!"])}
    found = tokenizers.Tokenizer(tokenizers.models.WordPiece(vocabulary))
    found.model.unk_token = UNKNOWN
    found.add_special_tokens([*SPECIAL, UNKNOWN])
    found.normalizer = tokenizers.normalizers.BertNormalizer()
    found.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    found.decoder = tokenizers.decoders.WordPiece()
    return found


def _text(backend: Backend, tokens: list[int]) -> str:
    return b"".join(map(backend.tokenizer.piece, tokens)).decode()


@pytest.mark.parametrize("text", TEXTS)
def test_byte_level(template: Path, tmp_path: Path, text: str) -> None:
    backend = _backend(template, tmp_path / "model", _byte_level())
    tokens = backend.tokenizer.encode(text, add_special=True, parse_special=False)
    assert _text(backend, tokens) == text
    assert not {0, 1, 2} & set(tokens)


@pytest.mark.parametrize("text", TEXTS)
def test_sentence_piece(template: Path, tmp_path: Path, text: str) -> None:
    """The space that is put in front of a text is part of it, as in GGUF files."""
    backend = _backend(template, tmp_path / "model", _sentence_piece())
    tokens = backend.tokenizer.encode(text, add_special=False, parse_special=False)
    assert _text(backend, tokens) == (" " + text if text else "")
    assert backend.tokenizer.piece(SPECIAL.index("</s>") + 1 + 10) == b"\n"


def test_metaspace(template: Path, tmp_path: Path) -> None:
    backend = _backend(template, tmp_path / "model", _metaspace())
    tokens = backend.tokenizer.encode("Hello, wold!", add_special=False, parse_special=False)
    assert _text(backend, tokens) == " Hello, wold!"


def test_word_piece(template: Path, tmp_path: Path) -> None:
    backend = _backend(template, tmp_path / "model", _word_piece())
    tokens = backend.tokenizer.encode("Hello, world!", add_special=False, parse_special=False)
    assert [backend.tokenizer.piece(token) for token in tokens] == [b" hello", b" ,", b" wor", b"ld", b" !"]
    assert backend.tokenizer.piece(3) == b""


def test_control_tokens(template: Path, tmp_path: Path) -> None:
    """Their text is text unless it is asked to be read as them; they add no bytes; other added tokens do."""
    made = _byte_level()
    made.add_tokens(["<think>"])
    made.post_processor = tokenizers.processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    backend = _backend(template, tmp_path / "model", made)
    tokenizer = backend.tokenizer
    assert (tokenizer.bos_token, tokenizer.eos_token) == ("<s>", "</s>")
    assert backend.eos_token_ids == {2}
    assert tokenizer.encode("", add_special=True, parse_special=False) == [1]
    assert tokenizer.encode("", add_special=False, parse_special=False) == []
    written = tokenizer.encode("a</s>", add_special=True, parse_special=False)
    assert written[0] == 1
    assert 2 not in written
    assert _text(backend, written) == "a</s>"
    assert tokenizer.encode("a</s>", add_special=False, parse_special=True)[-1] == 2
    assert [tokenizer.piece(token) for token in (0, 1, 2)] == [b"", b"", b""]
    (thought,) = tokenizer.encode("<think>", add_special=False, parse_special=False)
    assert tokenizer.piece(thought) == b"<think>"
    assert tokenizer.piece(399) == b""
    found = vocabulary_of_backend(backend)
    assert (found.begin_id, found.end_id) == (1, None)


def test_characters_without_a_token(template: Path, tmp_path: Path) -> None:
    """A text in which something would be left out is refused; blanks that a rule leaves out are not missed."""
    letters = tokenizers.Tokenizer(tokenizers.models.BPE({"a": 0, "b": 1, "c": 2}, []))
    letters.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    backend = _backend(template, tmp_path / "letters", letters)
    assert backend.tokenizer.encode("ab c", add_special=False, parse_special=False) == [0, 1, 2]
    with pytest.raises(TextNotEncodable, match="no token for 'd'"):
        backend.tokenizer.encode("ab dc", add_special=False, parse_special=False)
    few = _backend(template, tmp_path / "few", _byte_level(["a", "b", "\u0120"]))
    assert len(few.tokenizer.encode("a b", add_special=False, parse_special=False)) == 3
    with pytest.raises(TextNotEncodable, match="'é'"):
        few.tokenizer.encode("a é", add_special=False, parse_special=False)


def test_halves_of_characters(template: Path, tmp_path: Path) -> None:
    backend = _backend(template, tmp_path / "model", _byte_level())
    tokens = backend.tokenizer.encode("a\ud83d", add_special=False, parse_special=False)
    assert _text(backend, tokens) == "a?"
    smiley = backend.tokenizer.encode("🙂", add_special=False, parse_special=False)
    assert b"".join(map(backend.tokenizer.piece, smiley)) == "🙂".encode()
    assert len(smiley) > 1


def test_chat_template(template: Path, tmp_path: Path) -> None:
    assert _backend(template, tmp_path / "none", _byte_level()).tokenizer.chat_template is None
    one = _backend(template, tmp_path / "one", _byte_level(), chat_template="{{ messages }}")
    assert one.tokenizer.chat_template == "{{ messages }}"
    several = [{"name": "tool_use", "template": "tools"}, {"name": "default", "template": "plain"}]
    assert (
        _backend(template, tmp_path / "more", _byte_level(), chat_template=several).tokenizer.chat_template == "plain"
    )


def test_truncation_in_the_file_is_not_obeyed(template: Path, tmp_path: Path) -> None:
    made = _byte_level()
    made.enable_truncation(3)
    made.enable_padding(length=50)
    tokenizer = _backend(template, tmp_path / "model", made, model_max_length=3).tokenizer
    assert 50 < len(tokenizer.encode("a b " * 40, add_special=True, parse_special=False)) <= 160


def test_folder_without_a_tokenizer(template: Path, tmp_path: Path) -> None:
    tokenizer = open_folder(template).tokenizer
    assert tokenizer.encode("", add_special=True, parse_special=False) == []
    assert tokenizer.piece(5) == b""
    with pytest.raises(NotAvailable, match=r"Pass the prompt as token ids \(--tokens\)"):
        tokenizer.encode("Hello", add_special=True, parse_special=False)
    raw = open_folder(write_tiny(tmp_path / "raw", "llama", vocab_size=256)).tokenizer
    assert raw.encode("é<s>", add_special=True, parse_special=True) == [0xC3, 0xA9, *b"<s>"]
    assert raw.piece(0xC3) == b"\xc3"
    assert (raw.bos_token, raw.eos_token, raw.chat_template) == ("", "", None)


@pytest.mark.parametrize(
    "content", ['{"version": "1.0"}', '{"model": {"type": "BPE", "vocab": [], "merges": 5}}', "[]", "nul"]
)
def test_damaged_tokenizer(template: Path, tmp_path: Path, content: str) -> None:
    folder = tmp_path / "model"
    _backend(template, folder, _byte_level()).close()
    (folder / "tokenizer.json").write_text(content)
    with pytest.raises(ModelFileBroken, match="its tokenizer cannot be read"):
        open_folder(folder)


class SlowFast:
    """The library's tokenizer, which lets other threads go on before it reads."""

    fast: Any

    def __init__(self, fast: Any) -> None:
        self.__dict__["fast"] = fast

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.fast, name, value)

    def encode(self, text: str, **options: Any) -> Any:
        """Read, in a moment."""
        time.sleep(0.001)
        return self.fast.encode(text, **options)


def test_two_threads_turn_no_text_into_control_tokens(template: Path, tmp_path: Path) -> None:
    """Whether the texts of control tokens are those tokens is a switch of the library's tokenizer, not of a call."""
    tokenizer: Any = _backend(template, tmp_path / "model", _byte_level()).tokenizer
    text = "a</s>"
    right = {parse: tokenizer.encode(text, add_special=False, parse_special=parse) for parse in (True, False)}
    assert right[True] != right[False]
    tokenizer._fast = SlowFast(tokenizer._fast)

    def differ(parse: bool) -> int:
        found = (tokenizer.encode(text, add_special=False, parse_special=parse) for _round in range(20))
        return sum(each != right[parse] for each in found)

    with ThreadPoolExecutor(2) as threads:
        assert list(threads.map(differ, (True, False))) == [0, 0]
