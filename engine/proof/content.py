"""Prove a reply in one JSON file: its prompt and settings, the model files, and its tokens."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from engine.backends.base import Backend
from engine.cancel import CancelToken
from engine.config import GenerationRequest, LoadConfig, SamplingConfig, SpeculationConfig, freeze_prompt
from engine.constraint import Constraint
from engine.decoder import SpeculativeDecoder
from engine.errors import EngineError, InvalidRequest
from engine.events import GenerationResult
from engine.formats.files import list_files, stamp_files
from engine.generation.request import make_request
from engine.library.names import resolve_source
from engine.messages.message import Message
from engine.methods import PARTS, DraftMethod, find_method
from engine.system.machine import describe_machine
from engine.translatable import Translatable

FORMAT, VERSION = "outrider proof", 1
MOST_BYTES = 64 * 2**20
"""The largest file."""
MOST_TOKENS = 2**20
_HEAD_BYTES = 2**16
"""The beginning of a file, with its format."""
_LONGEST_NAME = 500
_LOADED = ("context_length", "threads", "gpu_layers", "device", "dtype", "cache_type")
_PLAIN = ("thinking", "one_call", "min_tokens", "ignore_eos", "max_tokens", "raw", "drop_turns")
_LISTS = ("stop", "stop_tokens", "must_call", "tools", "prefix")
_HERE = "here"
"""The entry for models found on this machine: it is no part of the file."""
_CONSTRAINT_FIELDS = ("kind", "text", "blanks")


class NoProof(EngineError):
    """Report a file that is no proof, or a reply that none can be made of."""


@dataclass(frozen=True, slots=True)
class Proof:
    """Hold a proof file. `content`: all of it; `intact`: it is as it was written, to the byte."""

    content: Mapping[str, Any]
    intact: bool = True

    @property
    def tokens(self) -> tuple[int, ...]:
        """Return the tokens of the reply."""
        return tuple(self.content["tokens"])

    @property
    def logprobs(self) -> tuple[float, ...]:
        """Return their natural log-probabilities."""
        return tuple(self.content["logprobs"])

    @property
    def prompt(self) -> tuple[int, ...]:
        """Return the tokens that the target had read."""
        return tuple(self.content["prompt"]["tokens"])

    def model(self, part: str) -> Mapping[str, Any] | None:
        """Return name, files and load options of the target, the draft or the heads; None: there are none."""
        found: Mapping[str, Any] | None = self.content[part]
        return found

    def config(self, part: str, path: Path) -> LoadConfig:
        """Return the configuration of a model: as it was, where that makes a difference. Raises InvalidRequest."""
        facts = self.model(part) or {}
        return LoadConfig(
            path, facts.get("context_length"), dtype=facts.get("dtype"), cache_type=facts.get("cache_type")
        )

    @property
    def needs(self) -> tuple[str, ...]:
        """List the models needed to compute it again: sources only where their guesses decide the draw."""
        methods = () if self.by_target_alone else map(find_method, self.content["sources"])
        needed = {"target", *(method.needs for method in methods if method is not None)}
        return tuple(part for part in PARTS if part in needed)

    @property
    def by_target_alone(self) -> bool:
        """Return True if the target alone determines its tokens, for any source of proposals."""
        return _by_target_alone(self.request, self.content["sources"])

    @property
    def request(self) -> GenerationRequest:
        """Return the request. Raises InvalidRequest and its kinds."""
        settings = self.content["settings"]
        sampling, speculation = dict(settings["sampling"]), dict(settings["speculation"])
        bias = sampling.pop("logit_bias", [])
        drawing = speculation.pop("draft_sampling", None)
        constraint = settings["constraint"]
        prompt = self.content["prompt"]
        given = prompt.get("messages") or prompt.get("text") or prompt["tokens"]
        rest = {name: tuple(settings[name]) for name in _LISTS} | {name: settings[name] for name in _PLAIN}
        return GenerationRequest(
            freeze_prompt(given),
            sampling=SamplingConfig(**sampling, logit_bias=tuple(map(tuple, bias))),
            speculation=SpeculationConfig(
                **speculation, draft_sampling=None if drawing is None else SamplingConfig(**drawing)
            ),
            constraint=None if constraint is None else Constraint(**constraint),
            template_options=settings["template_options"],
            **rest,
        )


def describe_reply(
    decoder: SpeculativeDecoder,
    prompt: Any,
    result: GenerationResult,
    sources: Iterable[str],
    options: Mapping[str, Any],
) -> dict[str, Any]:
    """Describe the reply that a decoder has just written: the input of `make_proof`, as plain values.

    `prompt`, `options`: of the call; `sources`: those that proposed tokens in its rounds.
    Raises InvalidRequest and its kinds.
    """
    target = decoder.target
    request = make_request(prompt, dict(options), SamplingConfig(), SpeculationConfig())
    if request.has_pictures:
        raise InvalidRequest(Translatable("A reply to pictures cannot be proved yet."))
    read = [] if target is None else list(target.tokens[: result.prompt_tokens])
    prompt_facts: dict[str, Any] = {"tokens": read}
    if isinstance(request.prompt, str):
        prompt_facts["text"] = request.prompt
    elif isinstance(request.prompt[0], Message):
        prompt_facts["messages"] = [Message.from_mapping(message).to_dict() for message in request.prompt]
    machine = describe_machine()
    return {
        "format": FORMAT,
        "version": VERSION,
        "text": result.text,
        "finish_reason": result.finish_reason,
        "tokens": list(result.tokens),
        "logprobs": [round(share, 6) for share in result.logprobs],
        "prompt": prompt_facts,
        "settings": _settings(request, result),
        "method": result.method,
        "lookahead": result.lookahead,
        "sources": sorted(set(sources)),
        "forced": result.stats.forced_tokens,
        "dropped_turns": result.dropped_turns,
        "kernels": bool(target is not None and target.own_kernels),
        "made_with": {name: machine[name] for name in ("outrider", "libraries", "processor")},
        **{part: _model(getattr(decoder, part), decoder.config_of(part)) for part in PARTS},
    }


def _settings(request: GenerationRequest, result: GenerationResult) -> dict[str, Any]:
    speculation, constraint = request.speculation, request.constraint
    method = speculation.method
    plain = asdict(replace(speculation, method="auto")) | {
        "method": method.name if isinstance(method, DraftMethod) else method,
        "tree": list(speculation.tree) if isinstance(speculation.tree, tuple) else speculation.tree,
    }
    return {
        "sampling": asdict(request.sampling) | {"seed": result.seed},
        "speculation": plain,
        "constraint": None if constraint is None else {name: getattr(constraint, name) for name in _CONSTRAINT_FIELDS},
        "template_options": dict(request.template_options),
        **{name: getattr(request, name) for name in _PLAIN},
        **{name: list(getattr(request, name)) for name in _LISTS},
    }


def _model(backend: Backend | object | None, config: LoadConfig | None) -> dict[str, Any] | None:
    """Describe a loaded model, and return its files."""
    if backend is None:
        return None
    facts: dict[str, Any] = {"name": str(getattr(backend, "name", ""))}
    if config is not None:
        facts |= {name: getattr(config, name) for name in _LOADED}
        facts["context_length"] = getattr(backend, "context_length", None)
        path = resolve_source(config.path)
        facts[_HERE] = [str(path), [list(stamp) for stamp in stamp_files(path)]]
    return facts


def make_proof(made: Mapping[str, Any]) -> bytes:
    """Return the file of a reply from its `describe_reply`. Reads the models' files, which takes seconds.

    Raises NoProof if it cannot be computed again, or the files have changed since.
    """
    content = json.loads(json.dumps(made))
    if not content["tokens"] or content["finish_reason"] == "error":
        raise NoProof(Translatable("The reply has no tokens that could be computed again."))
    if content["forced"]:
        raise NoProof(Translatable("Some of this reply was given or ended by hand: it cannot be computed again."))
    proof = Proof(content)
    if not proof.by_target_alone and not isinstance(content["lookahead"], int):
        raise NoProof(
            Translatable(
                "The draft’s timing decided some of its random draws. Set a seed (or temperature 0), and ask again."
            )
        )
    for part in PARTS:
        if part in proof.needs:
            content[part] = _with_files(content[part])
        elif content[part] is not None:
            content[part] = {"name": content[part]["name"], "files": []}
    return _packed(content | {"digest": _digest(content)})


def _with_files(model: dict[str, Any]) -> dict[str, Any]:
    """Describe a model, with the checksums of its files. Raises NoProof."""
    path, stamps = model.pop(_HERE, ("", []))
    try:
        now = [list(stamp) for stamp in stamp_files(Path(path))] if path else []
        if not now or now != stamps:
            raise NoProof("The model {name} was changed or removed since: there is no proof.", name=model["name"])
        return model | {"files": checksums(Path(path))}
    except OSError as error:
        raise NoProof(
            "The model {name} cannot be read: {reason}.", name=model["name"], reason=error.strerror or ""
        ) from None


def checksums(path: Path, cancel: CancelToken | None = None) -> list[dict[str, Any]]:
    """Return name, size and SHA-256 of each file of a model. Raises OSError, Cancelled."""
    found = []
    for each in list_files(path):
        digest = hashlib.sha256()
        with each.open("rb") as file:
            while piece := file.read(2**22):
                if cancel is not None:
                    cancel.check()
                digest.update(piece)
        found.append({"name": each.name, "bytes": each.stat().st_size, "sha256": digest.hexdigest()})
    return found


def find_models(proof: Proof, paths: Iterable[Path], cancel: CancelToken | None = None) -> dict[str, Path]:
    """Find the models of a proof among these, by part; only files of the right size are read.

    Raises Cancelled.
    """
    found: dict[str, Path] = {}
    there = [(path, sizes) for path in dict.fromkeys(paths) if (sizes := _sizes(path))]
    for part in proof.needs:
        wanted = (proof.model(part) or {}).get("files", [])
        for path, sizes in there:
            with suppress(OSError):
                if sizes == [each["bytes"] for each in wanted] and _same(checksums(path, cancel), wanted):
                    found[part] = path
                    break
    return found


def _sizes(path: Path) -> list[int]:
    try:
        return [each.stat().st_size for each in list_files(path)]
    except (OSError, EngineError):
        return []


def _same(found: Sequence[Mapping[str, Any]], wanted: Sequence[Mapping[str, Any]]) -> bool:
    return bool(wanted) and [each["sha256"] for each in found] == [each["sha256"] for each in wanted]


def _by_target_alone(request: GenerationRequest, sources: Iterable[str]) -> bool:
    if request.sampling.greedy or request.speculation.acceptance == "exact":
        return True
    methods = [find_method(source) for source in sources]
    return all(method is not None and method.is_index for method in methods)


def read_proof(data: bytes) -> Proof:
    """Read a file, which anybody may have written. Raises NoProof."""
    if len(data) > MOST_BYTES:
        raise NoProof("This file is too large for a proof: {most} MB at most.", most=MOST_BYTES // 2**20)
    version, proof = None, Proof({})
    try:
        content = json.loads(data)
        version = content["version"] if content["format"] == FORMAT else None
        if version == VERSION:
            _check(content)
            proof = Proof(content, _packed(content) == data and content.get("digest") == _digest(content))
            _check_asked(proof)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, EngineError):
        version = None
    if version is None:
        raise NoProof(Translatable("This is no proof of a reply, or it is damaged."))
    if version != VERSION:
        raise NoProof(Translatable("Another version of the program wrote this proof."))
    return proof


def is_proof(path: Path) -> bool:
    """Return True if a file looks like a proof."""
    try:
        with path.open("rb") as file:
            return f'"format":"{FORMAT}"'.encode() in file.read(_HEAD_BYTES)
    except OSError:
        return False


def load_proof(path: Path) -> Proof:
    """Read a proof's file. Raises NoProof."""
    try:
        with path.expanduser().open("rb") as file:
            return read_proof(file.read(MOST_BYTES + 1))
    except OSError as error:
        raise NoProof("Cannot read {path}: {reason}.", path=path, reason=error.strerror or str(error)) from None


def _check(content: Mapping[str, Any]) -> None:
    """Check the shapes of the used values. Raises ValueError and the errors of wrong types."""
    for numbers in (content["tokens"], content["prompt"]["tokens"]):
        _check_tokens(numbers)
    shares, messages = content["logprobs"], content["prompt"].get("messages") or []
    if len(shares) != len(content["tokens"]):
        raise ValueError(len(shares))
    kinds = [
        *((each, str) for each in (content["text"], content["finish_reason"], content["method"], *content["sources"])),
        *((each, dict) for each in (content["made_with"], content["target"], *messages)),
        *((content[part], dict | None) for part in PARTS[1:]),
        *((each, int | float) for each in shares),
    ]
    if not all(isinstance(each, kind) for each, kind in kinds):
        raise TypeError
    if not set(content["settings"]["sampling"]) <= {field.name for field in fields(SamplingConfig)}:
        raise ValueError


def _check_tokens(numbers: object) -> None:
    if not isinstance(numbers, list) or not 0 < len(numbers) <= MOST_TOKENS:
        raise ValueError
    if not all(type(number) is int and 0 <= number < 2**31 for number in numbers):
        raise ValueError


def _check_asked(proof: Proof) -> None:
    """Check the request and the models of a proof, by making them."""
    replace(proof.request, top=0)
    for part in proof.needs:
        _check_model(proof.model(part))
        proof.config(part, Path(part))


def _check_model(model: Mapping[str, Any] | None) -> None:
    if model is None or not model["files"]:
        raise ValueError
    if not isinstance(model["name"], str) or len(model["name"]) > _LONGEST_NAME:
        raise ValueError
    for each in model["files"]:
        if not isinstance(each["name"], str) or not isinstance(each["sha256"], str) or type(each["bytes"]) is not int:
            raise TypeError


def _digest(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(_packed({name: each for name, each in content.items() if name != "digest"})).hexdigest()


def _packed(content: Mapping[str, Any]) -> bytes:
    """Return the one form in which a content is written: whatever byte is changed shows."""
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode("utf-8", "surrogatepass") + b"\n"
