"""Pictures: a tiny projector beside a model, against mtmd called by hand, with and without drafts."""

from __future__ import annotations

import base64
import ctypes
import io
import json
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from engine import (
    Constraint,
    ImagePart,
    InvalidRequest,
    Message,
    SpeculativeDecoder,
    TextPart,
    bundled_pair,
    inspect_model,
    load,
    resolve_source,
)
from engine.backends.caches_in_memory import keep_caches, keep_on_disk
from engine.backends.caches_on_disk import DiskCaches
from engine.backends.pictures import without_pictures
from engine.cli.main import main
from engine.config import GenerationRequest, LoadConfig
from engine.library.projectors import projector_beside
from engine.loading.passed import remember_passed
from engine.loading.trial import check_model_header, passed_key
from engine.server.guard import Limits
from engine.server.interfaces.messages import read_conversation
from engine.server.interfaces.ollama import read_ollama_chat
from engine.server.interfaces.requests import Defaults, read_chat
from engine.server.interfaces.responses import read_responses
from engine.server.streams import ReplyStreams
from helpers.decoding.serving import posted, served
from helpers.models.gguf_writer import GgufDraft
from helpers.models.random_model import TINY, write_random_model
from helpers.models.random_projector import write_projector
from helpers.written_documents import damaged_pictures

MARK = "<__media__>"
_QUESTION = "Tell me a story about a dragon."
_TOKENS = 24
_WAYS: tuple[dict[str, Any], ...] = ({"lookahead": 0}, {"lookahead": 4}, {"method": "ngram"}, {"tree": "2x3"})


def png(seed: int = 0, size: tuple[int, int] = (120, 80)) -> bytes:
    out = io.BytesIO()
    noise = np.random.default_rng(seed).integers(0, 255, (size[1], size[0], 3), dtype=np.uint8)
    Image.fromarray(noise).save(out, "PNG")
    return out.getvalue()


def part(data: bytes) -> ImagePart:
    return ImagePart(f"data:image/png;base64,{base64.b64encode(data).decode()}")


def asked(*seeds: int, text: str = _QUESTION) -> list[Message]:
    return [Message("user", [*(part(png(seed)) for seed in seeds), TextPart(text)])]


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sees")
    path = Path(shutil.copy(resolve_source(bundled_pair()[0]), folder / "tiny-target.gguf"))
    write_projector(folder / "mmproj-tiny-target-f32.gguf", inspect_model(path).width, "gemma3", side=224)
    return path


@pytest.fixture(scope="module")
def decoder(target: Path) -> Iterator[SpeculativeDecoder]:
    with load(target, bundled_pair()[1], trusted=True, context_length=1024) as loaded:
        yield loaded


def test_the_projector_beside_a_model_is_found(target: Path, tmp_path: Path) -> None:
    assert projector_beside(target) == target.parent / "mmproj-tiny-target-f32.gguf"
    other = Path(shutil.copy(target, tmp_path / "another.gguf"))
    assert projector_beside(other) is None
    shutil.copy(target.parent / "mmproj-tiny-target-f32.gguf", tmp_path / "mmproj-somebody-else.gguf")
    assert projector_beside(other) is None
    shutil.copy(target.parent / "mmproj-tiny-target-f32.gguf", tmp_path / "mmproj-F16.gguf")
    assert projector_beside(other) == tmp_path / "mmproj-F16.gguf"
    (tmp_path / "mmproj-F16.gguf").write_bytes(b"GGUF")
    assert projector_beside(other) is None


@pytest.mark.parametrize(
    ("kind", "architecture"),
    [("idefics3", "llama"), ("qwen2vl_merger", "qwen2vl")],
    ids=["in tiles, with tokens between", "with positions in two dimensions"],
)
def test_other_ways_of_reading_a_picture(tmp_path: Path, kind: str, architecture: str) -> None:
    marks = ("<fake_token_around_image>", "<global-img>", "\n", "\n\n")
    path = write_random_model(tmp_path / "tiny-vl.gguf", TINY, architecture=architecture, marks=marks)
    write_projector(tmp_path / "mmproj-tiny-vl.gguf", TINY.width, kind)
    with load(path, path, trusted=True, context_length=512) as made:
        for seed in (1, 2):
            expected = by_hand(made, [png(seed)], MARK + _QUESTION)
            for options in _WAYS:
                result = made.generate(asked(seed), temperature=0, max_tokens=_TOKENS, **options)
                assert list(result.tokens) == expected, options
        keep_caches(made.target)
        # The chat goes on, goes back behind the picture, and another one comes between.
        turns = [*asked(1), Message("assistant", "b"), Message("user", "c")]
        first = made.generate(turns, temperature=0, max_tokens=4)
        made.generate("Something else, and long enough to be kept: " + "word " * 20, temperature=0, max_tokens=4)
        again = made.generate(turns, temperature=0, max_tokens=4)
        assert again.tokens == first.tokens
        assert again.prompt_evaluated == 1


def test_a_projector_that_would_crash_only_leaves_the_model_blind(tmp_path: Path) -> None:
    path = write_random_model(tmp_path / "tiny-vl.gguf", TINY)
    projector = write_projector(tmp_path / "mmproj-tiny-vl.gguf", TINY.width, "gemma3")
    broken = GgufDraft.of_file(projector)
    broken.entries["clip.vision.patch_size"].value = 0
    broken.write(projector)
    with load(path, context_length=256) as made:
        assert not made.sees
        assert any("mmproj-tiny-vl.gguf" in each for each in made.warnings)
        assert made.generate("a", max_tokens=2).tokens


def test_drafts_and_plain_decoding_write_what_mtmd_by_hand_writes(decoder: SpeculativeDecoder) -> None:
    expected = by_hand(decoder, [png(1)], decoder_prompt(decoder))
    for options in (*_WAYS, {"method": "auto"}):
        result = decoder.generate(asked(1), temperature=0, max_tokens=_TOKENS, **options)
        assert list(result.tokens) == expected, options
        assert result.stats.proposed or options != _WAYS[1]


def test_a_kept_cache_knows_which_picture_it_is_of(decoder: SpeculativeDecoder) -> None:
    first = decoder.generate(asked(1), temperature=0, max_tokens=8)
    again = decoder.generate(asked(1), temperature=0, max_tokens=8)
    assert again.prompt_evaluated == 1
    assert again.tokens == first.tokens
    other = decoder.generate(asked(2), temperature=0, max_tokens=8)
    assert other.prompt_tokens == first.prompt_tokens
    assert other.prompt_evaluated > first.prompt_tokens // 2
    assert list(other.tokens) == by_hand(decoder, [png(2)], decoder_prompt(decoder))[:8]


def test_two_pictures_and_a_second_turn(decoder: SpeculativeDecoder) -> None:
    turns = [*asked(3, 4), Message("assistant", "Two dragons."), Message("user", "Go on.")]
    plain, drafted = (
        decoder.generate(turns, lookahead=lookahead, temperature=0, max_tokens=_TOKENS) for lookahead in (0, 4)
    )
    assert plain.tokens == drafted.tokens
    fit = decoder.fit(turns)
    assert fit.tokens == plain.prompt_tokens
    assert decoder.count_picture(part(png(3)).url) < fit.tokens


def test_what_stands_before_a_picture_comes_back_from_the_disk(decoder: SpeculativeDecoder, tmp_path: Path) -> None:
    """With a draft, of a chat that another one displaced: parts of the text are kept, the picture is computed again."""
    turns = [Message("system", "Be kind. " * 80), *asked(1)]
    target, draft = decoder.target, decoder.draft
    assert target is not None
    assert draft is not None
    keepers = target.keeper, draft.keeper
    plain = decoder.generate(turns, lookahead=0, temperature=0, max_tokens=_TOKENS).tokens
    disk = DiskCaches(tmp_path, "tiny")
    target.keeper = draft.keeper = None
    keep_on_disk(target, disk)
    try:
        disk.keep(target)
        assert list(tmp_path.rglob("*.kv"))
        for options in _WAYS[1:]:
            decoder.generate("Another chat.", temperature=0, max_tokens=2)
            again = decoder.generate(turns, temperature=0, max_tokens=_TOKENS, **options)
            assert again.tokens == plain, options
            assert again.prompt_evaluated < again.prompt_tokens - 150, "of the text not all was read"
            disk.keep(target)
    finally:
        target.keeper, draft.keeper = keepers


def test_heads_draft_behind_pictures(decoder: SpeculativeDecoder) -> None:
    """Chains and trees, behind one picture, another in its place, and two in a chat that goes on."""
    decoder.attach_heads(resolve_source("demo-head"))
    try:
        turns = [*asked(3, 4), Message("assistant", "Two dragons."), Message("user", "Go on.")]
        for prompt in (asked(1), asked(2), turns, [*asked(1), Message("assistant", "One."), Message("user", "Go on.")]):
            plain = decoder.generate(prompt, lookahead=0, temperature=0, max_tokens=_TOKENS)
            for options in ({"lookahead": 4}, {"tree": "2x3"}):
                result = decoder.generate(prompt, method="eagle3", temperature=0, max_tokens=_TOKENS, **options)
                assert result.tokens == plain.tokens, options
                assert result.stats.proposed > 8, options
                again = decoder.generate(prompt, method="eagle3", temperature=0, max_tokens=_TOKENS, **options)
                assert (again.tokens, again.prompt_evaluated) == (plain.tokens, 1), "the picture is not read again"
                assert again.stats.accepted == result.stats.accepted
        assert decoder.heads is not None
        decoder.heads.counts_pictures = True
        resting = decoder.generate(turns, method="eagle3", temperature=0, max_tokens=4)
        assert resting.notes == (f"{decoder.heads.name} cannot draft behind a picture.",)
        assert resting.stats.proposed == 0
    finally:
        decoder.attach_heads(None)


_SCHEMA = {
    "type": "object",
    "properties": {"name": {"enum": ["cat", "dog", "dragon"]}, "legs": {"type": "integer", "minimum": 0, "maximum": 9}},
    "required": ["name", "legs"],
    "additionalProperties": False,
}


def test_a_schema_holds_behind_a_picture(decoder: SpeculativeDecoder) -> None:
    texts = set()
    for options in (*_WAYS, {"method": "auto"}):
        result = decoder.generate(
            asked(1), temperature=0, max_tokens=60, constraint=Constraint.json_schema(_SCHEMA), **options
        )
        texts.add(result.text)
    assert len(texts) == 1
    told = json.loads(texts.pop())
    assert (told["name"] in ("cat", "dog", "dragon"), type(told["legs"])) == (True, int)


def test_damaged_pictures_get_one_sentence(decoder: SpeculativeDecoder) -> None:
    for address in damaged():
        with pytest.raises(InvalidRequest) as raised:
            decoder.generate([Message("user", [ImagePart(address), TextPart("a")])], max_tokens=1)
        said = str(raised.value)
        assert said.endswith(".")
        assert "\n" not in said
        assert len(said) < 200
    assert decoder.generate(asked(1), temperature=0, max_tokens=2).tokens


def test_the_command_line_takes_pictures_and_a_projector(
    decoder: SpeculativeDecoder, target: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, eyes = tmp_path / "elsewhere.gguf", target.parent / "mmproj-tiny-target-f32.gguf"
    path.symlink_to(target)
    remember_passed(passed_key(LoadConfig(path, 1024, projector=eyes), check_model_header(path)))
    (tmp_path / "a.png").write_bytes(png(1))

    def told(*given: str) -> str:
        code = main(["generate", "-m", str(path), "-c", "1024", "-n", "8", "--lookahead", "0", *given, _QUESTION])
        out, err = capsys.readouterr()
        assert (code, err.count("\n")) == ((0, 0) if out else (2, 1)), err
        return out or err

    seen = told("--mmproj", str(eyes), "--image", str(tmp_path / "a.png"), "--json", "--quiet")
    assert json.loads(seen)["tokens"] == list(decoder.generate(asked(1), temperature=0, max_tokens=8).tokens)
    assert "it is no projector (mmproj) for pictures" in told("--mmproj", str(target))
    assert "there is no such file" in told("--mmproj", str(tmp_path / "gone.gguf"))
    for number, data in enumerate(damaged_pictures()):
        (tmp_path / f"{number}.png").write_bytes(data)
        assert f"Cannot read {number}.png: " in told("--image", str(tmp_path / f"{number}.png"))


def damaged() -> list[str]:
    """Return addresses of pictures that cannot be read."""
    made = [f"data:image/png;base64,{base64.b64encode(each).decode()}" for each in damaged_pictures()]
    return [*made, "data:image/png;base64,not base64", "https://example.com/a.png", "file:///etc/passwd"]


def test_a_model_that_cannot_see_reads_the_text() -> None:
    with load(bundled_pair()[0], trusted=True, context_length=512) as blind:
        assert not blind.sees
        result = blind.generate(asked(1), temperature=0, max_tokens=4)
        assert any("does not read" in note for note in result.notes)


def decoder_prompt(decoder: SpeculativeDecoder) -> str:
    """Return the prompt as llama.cpp's programs are given it, with their marker."""
    read = decoder.read_prompt(asked(1)).text
    return read.replace(part(png(1)).mark, "<__media__>")


def by_hand(decoder: SpeculativeDecoder, pictures: list[bytes], prompt: str) -> list[int]:
    """Return greedy tokens of mtmd and llama.cpp, called in the straight way."""
    import llama_cpp  # noqa: PLC0415 - loaded where it is needed
    from llama_cpp import mtmd_cpp as mtmd  # noqa: PLC0415 - as above

    path = Path(decoder.target.config.path)  # type: ignore[union-attr]
    params = llama_cpp.llama_model_default_params()
    params.use_extra_bufts = False
    model: Any = llama_cpp.llama_model_load_from_file(str(path).encode(), params)
    settings = llama_cpp.llama_context_default_params()
    settings.n_ctx, settings.n_batch, settings.n_ubatch = 1024, 512, 512
    context: Any = llama_cpp.llama_init_from_model(model, settings)
    options = mtmd.mtmd_context_params_default()
    options.use_gpu = options.print_timings = options.warmup = False
    eyes: Any = mtmd.mtmd_init_from_file(str(projector_beside(path)).encode(), model, options)
    bitmaps = (ctypes.c_void_p * len(pictures))(*(_bitmap(mtmd, data) for data in pictures))
    chunks: Any = mtmd.mtmd_input_chunks_init()
    data = prompt.encode()
    text = mtmd.mtmd_input_text(data, len(data), True, True)
    assert mtmd.mtmd_tokenize(eyes, chunks, ctypes.byref(text), bitmaps, len(pictures)) == 0
    past = llama_cpp.llama_pos()
    assert mtmd.mtmd_helper_eval_chunks(eyes, context, chunks, 0, 0, 512, True, ctypes.byref(past)) == 0
    made = _go_on(llama_cpp, model, context, past.value)
    mtmd.mtmd_input_chunks_free(chunks)
    for bitmap in bitmaps:
        mtmd.mtmd_bitmap_free(bitmap)
    mtmd.mtmd_free(eyes)
    llama_cpp.llama_free(context)
    llama_cpp.llama_model_free(model)
    return made


def _bitmap(mtmd: Any, data: bytes) -> Any:
    image = Image.open(io.BytesIO(data)).convert("RGB")
    pixels = (ctypes.c_uint8 * (3 * image.width * image.height)).from_buffer_copy(image.tobytes())
    return mtmd.mtmd_bitmap_init(image.width, image.height, pixels)


def _go_on(llama_cpp: Any, model: Any, context: Any, place: int) -> list[int]:
    vocabulary = llama_cpp.llama_model_get_vocab(model)
    size, made = llama_cpp.llama_vocab_n_tokens(vocabulary), list[int]()
    batch = llama_cpp.llama_batch_init(1, 0, 1)
    while len(made) < _TOKENS:
        row = np.ctypeslib.as_array(llama_cpp.llama_get_logits_ith(context, -1), (size,))
        made.append(int(row.argmax()))
        if llama_cpp.llama_vocab_is_eog(vocabulary, made[-1]):
            break
        batch.n_tokens, batch.token[0], batch.pos[0], batch.logits[0] = 1, made[-1], place, True
        batch.n_seq_id[0], batch.seq_id[0][0] = 1, 0
        assert llama_cpp.llama_decode(context, batch) == 0
        place += 1
    llama_cpp.llama_batch_free(batch)
    return made


def test_words_stay_words(decoder: SpeculativeDecoder) -> None:
    mark = part(png(1)).mark
    without = decoder.prompt_tokens([Message("user", f"{mark} <__media__> {_QUESTION}")])
    assert min(without) >= 0
    tokens = decoder.prompt_tokens(asked(1))
    assert len(without_pictures(tokens)) < len(tokens)


_PATHS: tuple[tuple[str, Any, dict[str, Any]], ...] = (
    ("/v1/chat/completions", read_chat, {"messages": [{"role": "user", "content": ["{image_url}", "{text}"]}]}),
    ("/v1/responses", read_responses, {"input": [{"role": "user", "content": ["{input_image}", "{text}"]}]}),
    ("/v1/messages", read_conversation, {"messages": [{"role": "user", "content": ["{image}", "{text}"]}]}),
    (
        "/api/chat",
        read_ollama_chat,
        {"messages": [{"role": "user", "content": _QUESTION, "images": ["{data}"]}], "options": {"num_predict": 8}},
    ),
)


def _body(body: dict[str, Any], data: str) -> dict[str, Any]:
    url = f"data:image/png;base64,{data}"
    forms = {
        "{image_url}": {"type": "image_url", "image_url": {"url": url}},
        "{input_image}": {"type": "input_image", "image_url": url},
        "{image}": {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}},
        "{text}": {"type": "text", "text": _QUESTION},
        "{data}": data,
    }
    told = json.dumps(body | {"max_tokens": 8, "temperature": 0, "stream": False})
    for name, form in forms.items():
        told = told.replace(f'"{name}"', json.dumps(form))
    made: dict[str, Any] = json.loads(told)
    return made


@pytest.mark.parametrize(("read", "body"), [each[1:] for each in _PATHS])
def test_the_server_reads_pictures_in_each_interface(decoder: SpeculativeDecoder, read: Any, body: Any) -> None:
    data = base64.b64encode(png(1)).decode()
    messages = read(_body(body, data), Defaults()).request.prompt
    assert messages[-1].pictures[0].url == f"data:image/png;base64,{data}"
    assert decoder.prompt_tokens(messages) == decoder.prompt_tokens(asked(1))


def test_the_server_answers_pictures_beside_streams(decoder: SpeculativeDecoder) -> None:
    """Texts are written together in streams, pictures in turns, and a damaged one is refused in a sentence."""
    expected = decoder.generate(asked(1), temperature=0, max_tokens=8).content
    texts = {f"Tell me of fox {n}.": decoder.generate(f"Tell me of fox {n}.", max_tokens=8).content for n in range(3)}
    got, streams = list[tuple[Any, ...]](), ReplyStreams(2, least_bytes=0)
    streams.open(decoder, GenerationRequest("Once"), 2**20)
    whole, broken = (base64.b64encode(data).decode() for data in (png(1), png(5)[:400]))
    with served(decoder, Limits(), streams, ollama=True) as url:

        def write() -> None:
            for text in texts:
                body = {"messages": [{"role": "user", "content": text}], "max_tokens": 8, "temperature": 0}
                got.append((text, posted(url, "/v1/chat/completions", body)[1]["choices"][0]["message"]["content"]))

        def look() -> None:
            for path, _, body in _PATHS:
                got.append((path, *posted(url, path, _body(body, whole))))
                got.append((path, *posted(url, path, _body(body, broken))))

        threads = [threading.Thread(target=work) for work in (write, look, write)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
    decoder.close_streams()
    assert {each for each in got if len(each) == 2} == set(texts.items())
    answers = [each[1:] for each in got if len(each) == 3]
    assert [status for status, _ in answers] == [200, 400] * len(_PATHS)
    for (_, seen), (_, refused) in zip(answers[::2], answers[1::2], strict=True):
        assert json.dumps(expected)[1:-1] in json.dumps(seen)
        assert "Cannot read a picture: it is damaged." in json.dumps(refused)
