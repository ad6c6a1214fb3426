"""Pictures for models in folders: tiny ones of random weights, against transformers' own generate."""

from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from engine import ImagePart, InvalidRequest, LoadFailed, Message, SpeculativeDecoder, TextPart, load
from engine.formats.safetensors.model import reads_pictures
from helpers.models.tiny_models import _COMMON, silence, torch, transformers
from helpers.written_documents import damaged_pictures, picture, picture_address

_QUESTION = "a dog sees a cat and a cat sees a dog"
_WORDS = ["<unk>", "<s>", "</s>", "<image>", *dict.fromkeys(_QUESTION.split())]
_MARKS = ["<fake_token_around_image>", "<global-img>", "<end_of_utterance>", "\n", "\n\n"]
_MARKS += [f"<row_{row}_col_{column}>" for row in range(1, 4) for column in range(1, 4)]
_TEXT = _COMMON | {"vocab_size": 97, "max_position_embeddings": 512}
_TEMPLATE = "{% for message in messages %}{{ message['content'] }}{% endfor %}"
_ENDS = {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>"}
_TOKENS = 16


def tokenizer() -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers  # noqa: PLC0415 - comes with transformers

    words = [*_WORDS, *_MARKS]
    words += [f"w{number}" for number in range(97 - len(words))]
    made = Tokenizer(models.WordLevel({word: number for number, word in enumerate(words)}, *list(_ENDS.values())[:1]))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made.add_special_tokens(["<s>", "</s>", "<image>", *_MARKS])
    return transformers.PreTrainedTokenizerFast(tokenizer_object=made, chat_template=_TEMPLATE, **_ENDS)


def llava(image_token: int) -> tuple[Any, Any]:
    """Return a model of one picture of four patches, and its processor."""
    from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil  # noqa: PLC0415

    eyes: dict[str, Any] = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2}
    eyes |= {
        "num_attention_heads": 2,
        "image_size": 28,
        "patch_size": 14,
        "projection_dim": 16,
        "model_type": "clip_vision_model",
    }
    config = transformers.LlavaConfig(
        vision_config=eyes, text_config=_TEXT | {"model_type": "llama"}, image_token_index=image_token
    )
    size = {"height": 28, "width": 28}
    processor = transformers.LlavaProcessor(
        CLIPImageProcessorPil(size={"shortest_edge": 28}, crop_size=size),
        tokenizer(),
        patch_size=14,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
    )
    return transformers.LlavaForConditionalGeneration(config), processor


def idefics3(image_token: int) -> tuple[Any, Any]:
    """Return a model that reads pictures in tiles, with tokens between them, and its processor."""
    from transformers.models.idefics3.image_processing_pil_idefics3 import (  # noqa: PLC0415
        Idefics3ImageProcessorPil,
    )

    eyes = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2}
    eyes |= {"image_size": 56, "patch_size": 14}
    config = transformers.Idefics3Config(
        vision_config=eyes, text_config=_TEXT | {"model_type": "llama"}, image_token_id=image_token, scale_factor=2
    )
    cut = Idefics3ImageProcessorPil(size={"longest_edge": 112}, max_image_size={"longest_edge": 56})
    processor = transformers.Idefics3Processor(cut, tokenizer(), image_seq_len=4)
    return transformers.Idefics3ForConditionalGeneration(config), processor


@pytest.fixture(scope="module", params=[llava, idefics3], ids=["llava", "idefics3"])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any, Any]:
    """Return a folder, its model and its processor."""
    folder = tmp_path_factory.mktemp("folder")
    with silence():
        torch.manual_seed(3)
        model, processor = request.param(_WORDS.index("<image>"))
        model.save_pretrained(folder)
        processor.save_pretrained(folder)
    return folder, model.eval(), processor


@pytest.fixture(scope="module")
def decoder(made: tuple[Path, Any, Any]) -> Any:
    with load(made[0], made[0], device="cpu", context_length=256, trusted=True) as loaded:
        yield loaded


def asked(size: tuple[int, int]) -> list[Message]:
    return [Message("user", [ImagePart(picture_address(picture(*size))), TextPart(f" {_QUESTION}")])]


def by_hand(made: tuple[Path, Any, Any], size: tuple[int, int]) -> list[int]:
    """Return greedy tokens of transformers itself."""
    import io  # noqa: PLC0415

    _, model, processor = made
    shown = Image.open(io.BytesIO(picture(*size)))
    white = Image.new("RGBA", shown.size, "white")
    white.alpha_composite(shown)
    with silence(), torch.inference_mode():
        given = processor(
            text=f"<image> {_QUESTION}", images=[white.convert("RGB")], add_special_tokens=False, return_tensors="pt"
        )
        out = model.generate(**given, max_new_tokens=_TOKENS, do_sample=False)
    return [int(each) for each in out[0][given["input_ids"].shape[1] :]]


@pytest.mark.parametrize("size", [(40, 40), (120, 64)], ids=["square", "wide"])
def test_texts_equal_transformers_own(made: tuple[Path, Any, Any], decoder: SpeculativeDecoder, size: Any) -> None:
    assert decoder.sees
    expected = by_hand(made, size)
    for options in ({"lookahead": 0}, {"lookahead": 4}, {"method": "ngram"}, {"tree": "2x3"}):
        result = decoder.generate(asked(size), temperature=0, max_tokens=_TOKENS, **options)
        assert list(result.tokens) == expected, options
    again = decoder.generate(asked(size), temperature=0, max_tokens=_TOKENS)
    assert (list(again.tokens), again.prompt_evaluated) == (expected, 1)


def test_damaged_pictures_are_a_sentence(decoder: SpeculativeDecoder) -> None:
    for data in damaged_pictures()[:3]:
        with pytest.raises(InvalidRequest, match=r"^Cannot read a picture: [^\n]+\.$"):
            decoder.generate([Message("user", [ImagePart(picture_address(data)), TextPart(" a dog")])], max_tokens=1)


def test_a_folder_without_its_processor_reads_text(made: tuple[Path, Any, Any], tmp_path: Path) -> None:
    with silence():
        made[1].save_pretrained(tmp_path)
        made[2].tokenizer.save_pretrained(tmp_path)
    assert (reads_pictures(made[0]), reads_pictures(tmp_path)) == (True, False)
    with load(tmp_path, device="cpu", context_length=256, trusted=True) as blind:
        result = blind.generate(asked((40, 40)), temperature=0, max_tokens=4)
        assert result.tokens
        assert any("does not read" in note for note in result.notes)


def test_other_ways_to_see_are_named(tmp_path: Path) -> None:
    with silence():
        config = transformers.AutoConfig.for_model("llava_next")
        config.save_pretrained(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"\2\0\0\0\0\0\0\0{}")
    with pytest.raises(LoadFailed, match="llava_next models read pictures in a way that is not supported here"):
        load(tmp_path, device="cpu", trusted=True)
