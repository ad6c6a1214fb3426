"""Define known good pairs and settings, by name; and find those that the models of a folder can run.

The presets and how to recognise their models are package data (resources/presets/presets.json); what is known of the
vocabularies, each fact with its source, lies beside it (facts.json) and is what the pairs are tested against.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from engine.config import SamplingConfig, SpeculationConfig
from engine.errors import LoadFailed, ModelFileBroken, NotAvailable, UnknownPreset
from engine.formats.model_file import ModelFile
from engine.library.compat import judge_pair, rank_drafts
from engine.library.names import QUANTISATIONS, bundled_pair, hub_cache, resolve_source
from engine.library.scan import inspect_model, scan_folder

RECOMMENDED = "recommended"
"""The name of the sampling that a model's makers recommend in its files, which is no pair."""
_NOT_ALONE = r"(?<![a-z])(?:eagle|medusa|lora|mmproj)(?![a-z])"


@dataclass(frozen=True, slots=True)
class PresetModel:
    """Describe a model of a preset, and the marks of its files.

    `name`: in the Hugging Face hub, or of the bundled pair. `architectures`: what a file may call it. `parameters`,
    `vocabulary`: least and most of each. `names`, `not_names`: regular expressions that are found, and not found, in
    the file's name or the name inside, written in small letters with - between the words.
    """

    name: str
    architectures: tuple[str, ...] = ()
    parameters: tuple[int, int] = (0, 0)
    vocabulary: tuple[int, int] = (0, 0)
    names: str = ""
    not_names: str = ""

    @property
    def bundled(self) -> bool:
        """Return True if it comes with the program."""
        return self.name.startswith("demo-")

    @property
    def short_name(self) -> str:
        """Return its name without its owner's."""
        return self.name.rpartition("/")[2]

    def matches(self, model: ModelFile) -> bool:
        """Return True if a scanned model is this one, in whatever quantisation, usable or not."""
        if model.role != "model" or model.vocabulary is None or model.architecture not in self.architectures:
            return False
        if not self.parameters[0] <= model.parameters <= self.parameters[1]:
            return False
        if not self.vocabulary[0] <= model.vocabulary.size <= self.vocabulary[1]:
            return False
        names = list(_written_names(model))
        wanted = re.compile(rf"(?<![a-z0-9.])(?:{self.names})(?![a-z0-9.])")
        unwanted = re.compile(f"{_NOT_ALONE}|{self.not_names}" if self.not_names else _NOT_ALONE)
        return any(map(wanted.search, names)) and not any(map(unwanted.search, names))


@dataclass(frozen=True, slots=True)
class Preset:
    """Hold a target, its draft, and settings. `draft` None: its method drafts without a model.

    `sampling_source`: where the makers recommend `sampling`, as repository, file and revision; None if nothing is
    known, and greedy. `note`: what a person should know of it.
    """

    name: str
    title: str
    aliases: tuple[str, ...]
    target: PresetModel
    draft: PresetModel | None
    speculation: SpeculationConfig
    sampling: SamplingConfig = field(default_factory=SamplingConfig)
    sampling_source: str | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class PresetFiles:
    """Hold the files for a preset. `problem`: the reason why it cannot be run, None if it can."""

    preset: Preset
    target: Path | None = None
    draft: Path | None = None
    problem: str | None = None


@cache
def all_presets() -> tuple[Preset, ...]:
    """Return every preset, the bundled pair first."""
    folder = files("resources").joinpath("presets")
    data = json.loads(folder.joinpath("presets.json").read_text(encoding="utf-8"))
    sources = json.loads(folder.joinpath("facts.json").read_text(encoding="utf-8"))["sources"]
    models = {name: _model(name, entry) for name, entry in data["models"].items()}
    return tuple(_preset(entry, models, sources) for entry in data["presets"])


def find_preset(name: str) -> Preset:
    """Return the preset of a name or an alias; capitals and the signs between words do not count.

    Raises UnknownPreset.
    """
    wanted = _key(name)
    for preset in all_presets():
        if wanted in map(_key, (preset.name, *preset.aliases)):
            return preset
    known = [preset.name for preset in all_presets()]
    raise UnknownPreset(name, known)


def apply_preset(name: str, folder: Path | None = None) -> tuple[Path, Path | None, SpeculationConfig, SamplingConfig]:
    """Return target, draft (None if no model drafts), and the settings of a preset.

    The models are looked for in `folder`; without one in the Hugging Face cache.
    Raises UnknownPreset, FolderUnreadable, ModelFileBroken (which says what is missing and how to get it), LoadFailed.
    """
    preset = find_preset(name)
    found = match_presets((preset,), folder)[0]
    if found.problem is not None or found.target is None:
        raise ModelFileBroken(Path(preset.target.name), f"the preset {preset.name} cannot be run. {found.problem}")
    return found.target, found.draft, preset.speculation, preset.sampling


def recommended_sampling(name: str | Path) -> SamplingConfig:
    """Return the sampling that the makers of a model recommend; `name`: as `resolve_source` takes it.

    Raises NotAvailable if its files say nothing, LoadFailed and its kinds.
    """
    path = resolve_source(name)
    model = inspect_model(path)
    if model.recommended_sampling is None:
        raise NotAvailable(f"The preset {RECOMMENDED}", f"{model.path.name} does not say how to sample from it.")
    return model.recommended_sampling


def match_presets(presets: Sequence[Preset], folder: Path | None = None) -> list[PresetFiles]:
    """Find the files for each preset: models of a folder, or of the Hugging Face cache if there is none given.

    Raises FolderUnreadable.
    """
    if all(preset.target.bundled for preset in presets):
        models: tuple[ModelFile, ...] = ()
    elif folder is not None:
        models = scan_folder(folder)
    else:
        models = scan_folder(hub_cache()) if hub_cache().is_dir() else ()
    where = "in the Hugging Face cache" if folder is None else f"in {folder}"
    return [_match(preset, models, where) for preset in presets]


def _match(preset: Preset, models: Sequence[ModelFile], where: str) -> PresetFiles:
    if preset.target.bundled:
        return _bundled(preset)
    targets, problem = _usable(preset.target, models, where)
    if not targets:
        return PresetFiles(preset, problem=problem)
    target = min(targets, key=_preference)
    if preset.draft is None:
        return PresetFiles(preset, target.path)
    drafts, problem = _usable(preset.draft, models, where)
    if not drafts:
        return PresetFiles(preset, target.path, problem=problem)
    draft, fit = rank_drafts(target, drafts)[0]
    if not fit.fits:
        return PresetFiles(preset, target.path, draft.path, f"{draft.name} does not fit {target.name}: {fit.reason}")
    return PresetFiles(preset, target.path, draft.path)


def _bundled(preset: Preset) -> PresetFiles:
    try:
        target, draft = bundled_pair()
        fit = judge_pair(inspect_model(target), inspect_model(draft))
    except LoadFailed as error:
        return PresetFiles(preset, problem=str(error))
    return PresetFiles(preset, target, draft, None if fit.fits else fit.reason)


def _usable(wanted: PresetModel, models: Sequence[ModelFile], where: str) -> tuple[list[ModelFile], str]:
    """Return the files of a model that can be used, and the message if there are none."""
    found = [model for model in models if wanted.matches(model)]
    usable = [model for model in found if model.usable]
    if found:
        return usable, f"{found[0].name} cannot be used. {found[0].problem}"
    return [], f"There is no {wanted.short_name} {where}. Download it first: hf download {wanted.name}"


def _preference(model: ModelFile) -> tuple[object, ...]:
    """Return a key, smaller is better: tuned for chats, in the quantisation that is meant where nobody says."""
    known = model.quantisation.upper()
    order = QUANTISATIONS.index(known) if known in QUANTISATIONS else len(QUANTISATIONS)
    return not model.has_chat_template, order, model.size_bytes, str(model.path)


def _written_names(model: ModelFile) -> Iterable[str]:
    """Return the names of a model: in its header, by its file and by the folder around it."""
    names = (model.name, model.path.stem if model.file_format == "gguf" else model.path.name)
    return [re.sub(r"[^a-z0-9.]+", "-", name.casefold()) for name in names]


def _key(name: str) -> str:
    """Return a name without the parts that people write in different ways."""
    words = re.sub(r"[\s_:/-]+", "-", name.casefold().rpartition("/")[2]).strip("-").split("-")
    return "".join(word for word in words if word not in ("instruct", "chat", "it", "meta"))


# Reading ------------------------------------------------------------------------------------------------------------


def _model(name: str, entry: dict[str, Any]) -> PresetModel:
    given: dict[str, Any] = {each: tuple(entry[each]) for each in ("architectures", "parameters", "vocabulary")}
    return PresetModel(name, **given, names=entry["names"], not_names=entry.get("not_names", ""))


def _preset(entry: dict[str, Any], models: dict[str, PresetModel], sources: dict[str, dict[str, str]]) -> Preset:
    def model(name: str) -> PresetModel:
        return PresetModel(name) if name.startswith("demo-") else models[name]

    source = sources.get(entry.get("sampling_source", ""))
    return Preset(
        entry["name"],
        entry["title"],
        tuple(entry["aliases"]),
        model(entry["target"]),
        None if entry["draft"] is None else model(entry["draft"]),
        SpeculationConfig(method=entry["method"], lookahead=entry["lookahead"]),
        SamplingConfig(**entry.get("sampling", {})),
        None if source is None else f"{source['repository']}, {source['file']}, {source['revision']}",
        entry.get("note") or "",
    )
