"""Describe a folder of safetensors files from its configuration and its headers; no model library is loaded.

Whether transformers can run the architecture is not asked here: the backend says it when it loads the model.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from engine.config import MAX_LOOKAHEAD
from engine.errors import LoadFailed, ModelNotSupported
from engine.formats.model_file import ROLE_PROBLEMS, ModelFile, Role, file_title, is_lasting, printable, problem_of
from engine.formats.recommended import Recommended, recommended_in_config, thinks
from engine.formats.safetensors.reader import (
    FUSION,
    SafetensorsModel,
    StoredTensor,
    is_there,
    names_at_first_sight,
    read_json,
    read_safetensors_model,
)
from engine.formats.vocabulary import Vocabulary, vocabulary_from_tokens
from engine.translatable import Translatable, as_clause

_MAX_TOKENIZER = 256 * 2**20
_MAX_TEMPLATE = 2**20

_ENCODERS = frozenset(
    {"albert", "bert", "big_bird", "camembert", "canine", "convbert", "deberta", "deberta-v2", "distilbert", "dpr"}
    | {"electra", "ernie", "esm", "eurobert", "flaubert", "gte", "jina_bert", "longformer", "luke", "mobilebert"}
    | {"modernbert", "mpnet", "new", "nomic_bert", "rembert", "roberta", "roformer", "squeezebert", "xlm"}
    | {"xlm-roberta", "xlm-roberta-xl", "xlnet"}
)
_TRANSLATORS = frozenset(
    {"bart", "bigbird_pegasus", "blenderbot", "blenderbot-small", "encoder-decoder", "fsmt", "led", "longt5", "m2m_100"}
    | {
        "marian",
        "mbart",
        "mt5",
        "mvp",
        "nllb-moe",
        "pegasus",
        "pegasus_x",
        "plbart",
        "prophetnet",
        "switch_transformers",
    }
    | {"t5", "t5gemma", "umt5", "speech_to_text", "whisper"}
)
SEEING = frozenset({"idefics3", "llava"})
"""Model types whose pictures are read: one token a feature, each token a position, none looks ahead."""
_WITHOUT_TEXT = frozenset(
    {"beit", "clip", "convnext", "convnextv2", "deit", "detr", "dinov2", "dinov3_vit", "hubert", "resnet", "sam"}
    | {
        "segformer",
        "siglip",
        "siglip2",
        "swin",
        "vit",
        "vit_mae",
        "vits",
        "wav2vec2",
        "wav2vec2-bert",
        "wavlm",
        "yolos",
    }
)
_WRITES = re.compile(r"ForCausalLM|LMHeadModel|ForConditionalGeneration|DoubleHeadsModel")
_DRAFT_HEAD = re.compile(r"eagle|medusa|hydra|dflash|mlp_?speculator|nextn", re.IGNORECASE)
_HEAD_ENTRIES = ("medusa_num_heads", "eagle_config", "speculators_model_type", "draft_vocab_size")
_TOKENIZER = re.compile(r"token|vocab|merges|spiece|sentencepiece|tekken")
_STATEFUL = frozenset({"falcon_mamba", "mamba", "mamba2", "rwkv", "xlstm"})
_CONTEXT = ("max_position_embeddings", "n_positions", "n_ctx", "max_seq_len", "seq_length", "context_length")
_FIXED = 350 * 2**20
"""The memory of PyTorch and transformers themselves, with a model of no size."""
_BATCH = 512

Config = Mapping[str, object]


def inspect_safetensors(folder: Path) -> ModelFile:
    """Describe a folder's model, its headers checked. Raises ModelFileBroken, ModelNotSupported."""
    model, config = _outline(folder)
    if model.problem is not None:
        raise ModelNotSupported(folder, as_clause(model.problem))
    return _with_weights(model, config)


def read_safetensors_folder(folder: Path) -> ModelFile:
    """Describe a folder's model; `problem` gives the reason why one that can be read cannot be used.

    Raises ModelFileBroken, ModelNotSupported where there is nothing to be told, or the system refuses to read it.
    """
    model, config = _outline(folder)
    if model.problem is not None:
        return model
    try:
        return _with_weights(model, config)
    except LoadFailed as error:
        if not is_lasting(error):
            raise
        return replace(model, problem=problem_of(error, folder))


def _outline(folder: Path) -> tuple[ModelFile, Config]:
    """Read a folder without its weights, and its configuration. Raises ModelFileBroken."""
    model = ModelFile(folder, folder_name(folder), file_format="safetensors", size_bytes=_size(folder))
    if _is_adapter(folder):
        return replace(model, role="adapter", problem=ROLE_PROBLEMS["adapter"]), {}
    config = read_json(folder / "config.json")
    architecture = config.get("model_type")
    text = _text_part(config)
    role, problem = _role(config)
    if role != "draft-head" and is_feature_head(folder):
        role, problem = "draft-head", ROLE_PROBLEMS["draft-head"]
    model = replace(
        model,
        architecture=printable(architecture) if isinstance(architecture, str) else "",
        context_length=_first(text, *_CONTEXT),
        role=role,
        problem=problem,
    )
    return model, config


def _with_weights(model: ModelFile, config: Config) -> ModelFile:
    folder, text = model.path, _text_part(config)
    weights = read_safetensors_model(folder)
    cache, state = _memory(text, model.architecture, 4 if weights.dtype == "F32" else 2)
    return replace(
        model,
        parameters=_parameters(weights, config),
        quantisation=_quantisation(config) or weights.dtype,
        size_bytes=weights.size_bytes,
        has_chat_template=_has_chat_template(folder),
        recommended=_recommended(folder),
        thinks=any(map(thinks, chat_templates(folder))),
        vocabulary=_vocabulary(folder, _number(text, "vocab_size")),
        tokens=_number(text, "vocab_size"),
        cache_per_token=cache,
        state_bytes=state,
        compute_bytes=_compute(text),
        width=_first(text, "hidden_size", "n_embd", "d_model"),
        depth=min(_first(text, "num_hidden_layers", "n_layer", "n_layers", "num_layers"), 512),
    )


def is_feature_head(folder: Path) -> bool:
    """Return True if the tensors in a folder are those of an EAGLE-1 or EAGLE-2 head: its configuration does not tell.

    What is looked at is the beginning of one file, however damaged the rest is (see names_at_first_sight).
    """
    names = names_at_first_sight(folder)
    layer = "layers.0.post_attention_layernorm.weight"
    return FUSION in names or (layer in names and "norm.weight" not in names)


def folder_name(folder: Path) -> str:
    """Return the name of a model folder: its own name, or owner/model in a Hugging Face cache."""
    if folder.parent.name == "snapshots":
        kind, _, rest = folder.parent.parent.name.partition("--")
        if kind == "models" and rest:
            return file_title(rest.replace("--", "/"))
    return file_title(folder.absolute().name)


def reads_pictures(folder: Path) -> bool:
    """Return True if the model in a folder reads pictures, and what prepares them lies beside it."""
    with suppress(LoadFailed, OSError):
        prepares = any(is_there(folder / name) for name in ("processor_config.json", "preprocessor_config.json"))
        return prepares and _small(folder / "config.json").get("model_type") in SEEING
    return False


# What it is ---------------------------------------------------------------------------------------------------------


def _role(config: Config) -> tuple[Role, str | None]:
    """Return the role in the configuration, and the reason why a model of this role cannot be used."""
    named = config.get("model_type")
    kind = named if isinstance(named, str) else None
    names = config.get("architectures")
    classes = [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
    role: Role = "model"
    if any(map(_DRAFT_HEAD.search, [*classes, kind or ""])) or any(name in config for name in _HEAD_ENTRIES):
        role = "draft-head"
    elif config.get("is_encoder_decoder") is True or kind in _TRANSLATORS:
        return "other", Translatable("It is an encoder-decoder model, which does not continue a text.")
    elif kind in _ENCODERS and not (config.get("is_decoder") is True and any(map(_WRITES.search, classes))):
        role = "embedding"
    elif kind in _WITHOUT_TEXT:
        return "other", Translatable("It is an image or audio model, which does not generate text.")
    elif kind is None and not classes:
        return "other", Translatable(
            "Its config.json does not name the model type, so it cannot be used as a language model."
        )
    elif classes and not any(map(_WRITES.search, classes)):
        return "other", Translatable(
            "It is a {classes}, which has no output layer for text.", classes=printable(classes[0])
        )
    return role, ROLE_PROBLEMS.get(role)


def _is_adapter(folder: Path) -> bool:
    weights = ("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin", "pytorch_model.bin.index.json")
    return is_there(folder / "adapter_config.json") and not any(is_there(folder / name) for name in weights)


def _has_chat_template(folder: Path) -> bool:
    if any(is_there(folder / name) for name in ("chat_template.jinja", "chat_template.json")):
        return True
    return bool(_small(folder / "tokenizer_config.json").get("chat_template"))


def chat_templates(folder: Path) -> Iterator[object]:
    """Yield the chat templates, as far as they can be read."""
    path = folder / "chat_template.jinja"
    with suppress(OSError):
        if is_there(path) and path.stat().st_size <= _MAX_TEMPLATE:
            yield path.read_text("utf-8", "replace")
    with suppress(LoadFailed):
        found = _small(folder / "tokenizer_config.json").get("chat_template")
        found = found or _small(folder / "chat_template.json").get("chat_template")
        # Several named ones are a list.
        for each in found if isinstance(found, list) else [{"template": found}]:
            yield each.get("template") if isinstance(each, Mapping) else None


def _recommended(folder: Path) -> Recommended:
    """Return nothing if the file is damaged: the model runs without it."""
    try:
        return recommended_in_config(_small(folder / "generation_config.json"))
    except LoadFailed:
        return ()


def _vocabulary(folder: Path, vocab_size: int) -> Vocabulary | None:
    path = folder / "tokenizer.json"
    if not is_there(path):
        return _raw_bytes() if vocab_size == 256 and not any(map(_TOKENIZER.search, _names(folder))) else None
    return vocabulary_of_tokenizer_json(
        read_json(path, _MAX_TOKENIZER), _small(folder / "tokenizer_config.json"), vocab_size
    )


def _raw_bytes() -> Vocabulary:
    """Return the vocabulary of a model that reads bytes, written as in GGUF files of such models: as in Python.

    The last byte is in no text, and some of them have their end token there.
    """
    texts = {byte: repr(bytes([byte]))[2:-1].encode() for byte in range(255)}
    return vocabulary_from_tokens("RWKV", texts, None, None, 256)


def _names(folder: Path) -> list[str]:
    try:
        return [path.name for path in folder.iterdir()]
    except OSError:
        return []


def _small(path: Path) -> Config:
    """Return the object in a file that may be missing. Raises ModelFileBroken if it is damaged."""
    return read_json(path) if is_there(path) else {}


# Figures ------------------------------------------------------------------------------------------------------------


def _quantisation(config: Config) -> str:
    """Return the name of the method that the weights were quantised with, '' if they were not."""
    settings = config.get("quantization_config", config.get("compression_config"))
    method = settings.get("quant_method") if isinstance(settings, Mapping) else None
    return printable(method, 40) if isinstance(method, str) else ""


def _parameters(weights: SafetensorsModel, config: Config) -> int:
    """Number of weights, those that a quantisation packs into whole numbers counted each."""
    settings = config.get("quantization_config")
    if not isinstance(settings, Mapping):
        return weights.parameters
    bits = _number(settings, "bits") or (4 if settings.get("load_in_4bit") is True else 0)
    return sum(_unpacked(tensor, bits) for tensor in weights.tensors.values())


def _unpacked(tensor: StoredTensor, bits: int) -> int:
    name = tensor.name
    if name.endswith((".qzeros", ".scales", ".g_idx", ".absmax", ".quant_map", ".nested_absmax", ".nested_quant_map")):
        return 0
    if name.endswith((".qweight", ".weight_packed")) and tensor.dtype in ("I32", "U32") and 0 < bits <= 32:
        return tensor.elements * 32 // bits
    if name.endswith(".weight") and tensor.dtype == "U8" and bits == 4:
        return tensor.elements * 2
    return 0 if ".quant_state." in name else tensor.elements


def _memory(text: Config, architecture: object, number_bytes: int) -> tuple[int, int]:
    """Return bytes of cache for each token of context, and bytes of recurrent state."""
    layers = min(_first(text, "num_hidden_layers", "n_layer", "n_layers", "num_layers"), 512)
    width = _first(text, "hidden_size", "n_embd", "d_model")
    if architecture in _STATEFUL:
        inner = _number(text, "intermediate_size") or 2 * width
        return 0, layers * inner * (_number(text, "state_size") + _number(text, "conv_kernel") + 4) * 4
    heads = _first(text, "num_attention_heads", "n_head", "n_heads")
    shared = _number(text, "num_key_value_heads") or heads
    head = _number(text, "head_dim") or width // max(heads, 1)
    return 2 * layers * shared * head * number_bytes, 0


def _compute(text: Config) -> int:
    """Return bytes of working space: the libraries, the widest activations of a batch, and the rows of logits."""
    width = _first(text, "hidden_size", "n_embd", "d_model")
    inner = _first(text, "intermediate_size", "n_inner", "ffn_dim") or 4 * width
    rows = (MAX_LOOKAHEAD + 1) * _number(text, "vocab_size")
    return _FIXED + 4 * (_BATCH * (6 * width + 2 * inner) + 2 * rows)


def _text_part(config: Config) -> Config:
    """Return the entries of the part that writes text, in a model that also sees or hears."""
    part = config.get("text_config")
    return part if isinstance(part, Mapping) and part else config


def _number(config: Config, name: str) -> int:
    """Return a whole number from 0 on, or 0."""
    value = config.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**48 else 0


def _first(config: Config, *names: str) -> int:
    return next((number for name in names if (number := _number(config, name))), 0)


def _size(folder: Path) -> int:
    """Return bytes of all weights in a folder."""
    total = 0
    try:
        for path in folder.iterdir():
            if path.suffix in (".safetensors", ".bin", ".pt", ".pth", ".ckpt"):
                total += path.stat().st_size
    except OSError:
        return total
    return total


_LARGEST_ID = 2**22
_NOTHING: Mapping[str, object] = {}


# The vocabulary in tokenizer.json, comparable with that of a GGUF file of the same model: both store a token's text in
# the same alphabet, SentencePiece with ▁ for a space and bytes as <0x0A>, byte-level BPE in GPT-2's printable alphabet.
# Source of the format: the serialisation of Hugging Face's `tokenizers`.


def vocabulary_of_tokenizer_json(
    data: Mapping[str, object], config: Mapping[str, object] = _NOTHING, vocab_size: int = 0
) -> Vocabulary | None:
    """Return the vocabulary in the object of a tokenizer.json, or None if it has none.

    Never fails, whatever is in it.

    `config`: the object of tokenizer_config.json, which may switch the begin and end tokens on and off. `vocab_size`:
    the model's number of token ids, where it has more than the tokenizer (padding).
    """
    model = _mapping(data.get("model"))
    texts = {token: text for token, text in _tokens(model) if 0 <= token < _LARGEST_ID}
    texts |= {token: text for token, text in _added_tokens(data) if 0 <= token < _LARGEST_ID}
    if not texts:
        return None
    ids = {text: token for token, text in texts.items()}
    first, last = _around(data.get("post_processor"))
    begin = _end_of_text(first, config, "bos", ids)
    end = _end_of_text(last, config, "eos", ids)
    encoded = {token: text.encode("utf-8", "replace") for token, text in texts.items()}
    return vocabulary_from_tokens(_kind(model, data), encoded, begin, end, min(vocab_size, _LARGEST_ID))


def _tokens(model: Mapping[str, object]) -> Iterator[tuple[int, str]]:
    """Return ids and texts of the model's own tokens.

    They stand in an object of ids by text, or in a list of texts with scores (Unigram).
    """
    vocab = model.get("vocab")
    if isinstance(vocab, Mapping):
        for text, token in vocab.items():
            if isinstance(text, str) and isinstance(token, int):
                yield token, text
    elif isinstance(vocab, list):
        for token, entry in enumerate(vocab):
            if isinstance(entry, list) and entry and isinstance(entry[0], str):
                yield token, entry[0]


def _added_tokens(data: Mapping[str, object]) -> Iterator[tuple[int, str]]:
    for entry in _list(data.get("added_tokens")):
        token, text = _mapping(entry).get("id"), _mapping(entry).get("content")
        if isinstance(token, int) and isinstance(text, str):
            yield token, text


def _around(post_processor: object) -> tuple[int | None, int | None]:
    """Return the token ids that the tokenizer itself puts before and behind a text."""
    for step in _nested(post_processor, "processors"):
        single = [_mapping(part) for part in _list(step.get("single"))]
        if step.get("type") == "TemplateProcessing" and single:
            tokens = _mapping(step.get("special_tokens"))
            return _special(single[0], tokens), _special(single[-1], tokens)
    return None, None


def _special(part: Mapping[str, object], tokens: Mapping[str, object]) -> int | None:
    name = _mapping(part.get("SpecialToken")).get("id")
    ids = _list(_mapping(tokens.get(name)).get("ids")) if isinstance(name, str) else []
    return ids[0] if ids and isinstance(ids[0], int) else None


def _end_of_text(found: int | None, config: Mapping[str, object], which: str, ids: Mapping[str, int]) -> int | None:
    """Return the begin or end token: the configuration overrules the post-processor."""
    wanted = config.get(f"add_{which}_token")
    if wanted is False:
        return None
    if found is None and wanted is True:
        name = config.get(f"{which}_token")
        text = _mapping(name).get("content", name)
        return ids.get(text) if isinstance(text, str) else None
    return found


def _kind(model: Mapping[str, object], data: Mapping[str, object]) -> str:
    """Return the kind in the words that a GGUF file's kind has."""
    kind = model.get("type")
    if kind == "BPE":
        steps = (*_nested(data.get("pre_tokenizer"), "pretokenizers"), *_nested(data.get("decoder"), "decoders"))
        return "byte-pair" if any(step.get("type") == "ByteLevel" for step in steps) else "SentencePiece"
    return kind if isinstance(kind, str) else ""


def _nested(step: object, name: str) -> Iterator[Mapping[str, object]]:
    """Return a step and, if it is a sequence of steps, those."""
    waiting = [step]
    while waiting:
        found = _mapping(waiting.pop())
        yield found
        waiting.extend(reversed(_list(found.get(name))))


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else _NOTHING


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []
