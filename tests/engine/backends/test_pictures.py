"""Pictures: a tiny projector beside a model, against mtmd called by hand, with and without drafts."""

from __future__ import annotations

import base64
import ctypes
import io
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from engine import (
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
from engine.backends.pictures import without_pictures
from engine.backends.saved import keep_caches
from engine.library.projectors import projector_beside
from engine.server.interfaces.messages import read_conversation
from engine.server.interfaces.ollama import read_ollama_chat
from engine.server.interfaces.requests import Defaults, read_chat
from engine.server.interfaces.responses import read_responses
from helpers.models.gguf_writer import GgufDraft
from helpers.models.random_model import TINY, write_random_model
from helpers.models.random_projector import write_projector

MARK = "<__media__>"
_QUESTION = "Tell me a story about a dragon."
_TOKENS = 24
_WAYS: tuple[dict[str, Any], ...] = ({"lookahead": 0}, {"lookahead": 4}, {"method": "ngram"}, {"tree": "2x3"})


def png(seed: int = 0, size: tuple[int, int] = (120, 80)) -> bytes:
    """Return a picture of noise."""
    out = io.BytesIO()
    noise = np.random.default_rng(seed).integers(0, 255, (size[1], size[0], 3), dtype=np.uint8)
    Image.fromarray(noise).save(out, "PNG")
    return out.getvalue()


def part(data: bytes) -> ImagePart:
    """Return a picture as a part of a message."""
    return ImagePart(f"data:image/png;base64,{base64.b64encode(data).decode()}")


def asked(*seeds: int, text: str = _QUESTION) -> list[Message]:
    """Return a question with pictures."""
    return [Message("user", [*(part(png(seed)) for seed in seeds), TextPart(text)])]


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the demo target with a projector beside it."""
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


def test_damaged_pictures_get_one_sentence(decoder: SpeculativeDecoder) -> None:
    for address in damaged():
        with pytest.raises(InvalidRequest) as raised:
            decoder.generate([Message("user", [ImagePart(address), TextPart("a")])], max_tokens=1)
        said = str(raised.value)
        assert said.endswith(".")
        assert "\n" not in said
        assert len(said) < 200
    assert decoder.generate(asked(1), temperature=0, max_tokens=2).tokens


def damaged() -> list[str]:
    """Return addresses of pictures that cannot be read."""
    whole = png(5)
    jpeg = io.BytesIO()
    Image.new("RGB", (64, 64)).save(jpeg, "JPEG")
    bomb = bytearray(png(6, (8, 8)))
    bomb[16:24] = (60_000).to_bytes(4, "big") * 2
    data = [
        b"",
        whole[:40],
        whole[: len(whole) // 2],
        whole[:100] + bytes(200) + whole[300:],
        bytes(bomb),
        jpeg.getvalue()[:200],
        b"GIF89a" + bytes(20),
        b"RIFF\x10\0\0\0WEBPVP8 " + bytes(8),
        b"BM" + bytes(60),
        b"<svg xmlns='http://www.w3.org/2000/svg'/>",
    ]
    made = [f"data:image/png;base64,{base64.b64encode(each).decode()}" for each in data]
    return [*made, "data:image/png;base64,not base64", "https://example.com/a.png", "file:///etc/passwd"]


def test_a_model_that_cannot_see_reads_the_text() -> None:
    with load(bundled_pair()[0], trusted=True, context_length=512) as blind:
        assert not blind.sees
        result = blind.generate(asked(1), temperature=0, max_tokens=4)
        assert any("does not read" in note for note in result.notes)


# By hand --------------------------------------------------------------------------------------------------------------


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


# Other interfaces -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("read", "body"),
    [
        (read_chat, {"messages": [{"role": "user", "content": ["{image_url}", "{text}"]}]}),
        (read_responses, {"input": [{"role": "user", "content": ["{input_image}", "{text}"]}]}),
        (read_conversation, {"messages": [{"role": "user", "content": ["{image}", "{text}"]}], "max_tokens": 8}),
        (read_ollama_chat, {"messages": [{"role": "user", "content": _QUESTION, "images": ["{data}"]}]}),
    ],
)
def test_the_server_reads_pictures_in_each_interface(decoder: SpeculativeDecoder, read: Any, body: Any) -> None:
    data = base64.b64encode(png(1)).decode()
    url = f"data:image/png;base64,{data}"
    forms = {
        "{image_url}": {"type": "image_url", "image_url": {"url": url}},
        "{input_image}": {"type": "input_image", "image_url": url},
        "{image}": {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}},
        "{text}": {"type": "text", "text": _QUESTION},
        "{data}": data,
    }
    told = json.dumps(body)
    for name, form in forms.items():
        told = told.replace(f'"{name}"', json.dumps(form))
    messages = read(json.loads(told), Defaults()).request.prompt
    assert messages[-1].pictures[0].url == url
    assert decoder.prompt_tokens(messages) == decoder.prompt_tokens(asked(1))
