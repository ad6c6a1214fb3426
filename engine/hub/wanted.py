"""Choose the requested files of a repository: a quantisation with all its parts, and the files beside it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from engine.errors import DownloadFailed, InvalidRequest
from engine.formats.gguf.parts import part_name, title_stem
from engine.hub.hugging_face import FoundRepository, HubFile, Repository, check_name
from engine.library.names import QUANTISATIONS

_PROJECTOR = re.compile(r"(^|[-_.])mmproj([-_.]|$)", re.IGNORECASE)
_OTHER = re.compile(r"imatrix|ggml-vocab", re.IGNORECASE)
_HEADS = re.compile(r"(^|[-_.])(eagle\d?|mtp|medusa|dflash|dspark|assistant)([-_.]|$)", re.IGNORECASE)
_QUANTISATION = re.compile(
    r"(?:^|[-_.])((?:UD-)?(?:I?Q\d(?:_[A-Z\d]{1,2}){0,3}|TQ\d_\d|MXFP4(?:_MOE)?)|BF16|FP?16|FP?32)$", re.IGNORECASE
)
_MOST_NAMES = 20
_BESIDE_SAFETENSORS = (".json", ".jinja", ".model", ".txt", ".safetensors")


@dataclass(frozen=True, slots=True)
class Wanted:
    """Name files to fetch from a hub. `files`: paths, names or patterns; `quantisation` None: the best known one."""

    repository: str
    quantisation: str | None = None
    files: tuple[str, ...] = ()


def read_wanted(text: str, files: Sequence[str] = ()) -> Wanted:
    """Parse `OWNER/NAME`, `OWNER/NAME:QUANT` and `hf:OWNER/NAME:QUANT`. Raises InvalidRequest."""
    name, _, quantisation = text.removeprefix("hf:").partition(":")
    check_name(name)
    if quantisation and not re.fullmatch(r"[\w.-]{1,40}", quantisation):
        raise InvalidRequest("{name!r} is no quantisation.", name=quantisation)
    return Wanted(name, quantisation or None, tuple(files))


def chosen_files(repository: Repository, wanted: Wanted) -> tuple[HubFile, ...]:
    """Return the requested files, those of the model first. Raises DownloadFailed, which lists the existing ones."""
    if wanted.files:
        return _named(repository, wanted.files)
    models = models_of(repository)
    if wanted.quantisation is None and not models:
        return _safetensors(repository)
    model = _of_quantisation(repository, models, wanted.quantisation)
    return (*model, *_companions(repository, model))


def models_of(repository: Repository) -> dict[str, tuple[HubFile, ...]]:
    """Return the GGUF models of a repository by the path of their first file: each with all of its parts.

    Projectors and draft heads are left out. One that lacks a part is left out too.
    """
    by_path = {file.path: file for file in repository.files}
    found: dict[str, tuple[HubFile, ...]] = {}
    for file in repository.files:
        path = PurePosixPath(file.path)
        if path.suffix.lower() != ".gguf" or any(kind.search(path.name) for kind in (_PROJECTOR, _OTHER, _HEADS)):
            continue
        parts = _parts(file, by_path)
        if parts:
            found[file.path] = parts
    return found


def quantisation_of(path: str) -> str:
    """Return the quantisation at the end of a file's name, or in that of the folder around it; "" if there is none."""
    place = PurePosixPath(path)
    for text in (title_stem(Path(place.name)), place.parent.name):
        match = _QUANTISATION.search(text)
        if match is not None:
            return match[1]
    return ""


def quantisations_of(found: FoundRepository) -> tuple[str, ...]:
    """Return the quantisations of a repository's GGUF files, as far as their names tell them."""
    quantisations = {quantisation_of(path) for path in found.files if path.lower().endswith(".gguf")}
    return tuple(sorted(quantisations - {""}))


def _parts(file: HubFile, by_path: dict[str, HubFile]) -> tuple[HubFile, ...]:
    path = PurePosixPath(file.path)
    name = part_name(path.name)
    if name is None:
        return (file,)
    if name.part != 1 or name.parts > len(by_path):
        return ()
    parts = [by_path.get(str(path.with_name(name.of(number)))) for number in range(1, name.parts + 1)]
    whole = [part for part in parts if part is not None]
    return tuple(whole) if len(whole) == name.parts else ()


def _of_quantisation(
    repository: Repository, models: dict[str, tuple[HubFile, ...]], quantisation: str | None
) -> tuple[HubFile, ...]:
    quantisations = {path: quantisation_of(path) for path in models}
    for name in QUANTISATIONS if quantisation is None else (quantisation,):
        found = [path for path in models if quantisations[path].casefold() == name.casefold() or _ends_with(path, name)]
        if found:
            return models[min(found, key=lambda path: (path.count("/"), len(path), path))]
    if quantisation is None:
        return models[min(models)]
    there = sorted({name or PurePosixPath(path).name for path, name in quantisations.items()})
    raise DownloadFailed(
        "{repository} has no {quantisation}. It has: {there}.",
        repository=repository.name,
        quantisation=quantisation,
        there=_names(there),
    )


def _ends_with(path: str, name: str) -> bool:
    stem = title_stem(Path(PurePosixPath(path).name))
    return re.search(rf"(^|[-._]){re.escape(name)}$", stem, re.IGNORECASE) is not None


def _companions(repository: Repository, model: Sequence[HubFile]) -> list[HubFile]:
    """Choose the companions of a model: one projector, and the draft heads, each in the smallest good quantisation."""
    found = []
    gguf = [file for file in repository.files if file.path.lower().endswith(".gguf") and file not in model]
    projectors = [file for file in gguf if _PROJECTOR.search(PurePosixPath(file.path).name)]
    if projectors:
        found.append(min(projectors, key=lambda file: _rank(file, ("F16", "FP16", "BF16", "Q8_0", "F32"))))
    kinds: dict[str, list[HubFile]] = {}
    for file in gguf:
        match = _HEADS.search(PurePosixPath(file.path).name)
        if match is not None and file not in projectors:
            kinds.setdefault(match[2].casefold(), []).append(file)
    found += [min(files, key=lambda file: _rank(file, ("Q8_0", "F16", "BF16", "Q4_K_M"))) for files in kinds.values()]
    return found


def _rank(file: HubFile, order: Sequence[str]) -> tuple[int, str]:
    quantisation = quantisation_of(file.path).upper()
    return (order.index(quantisation) if quantisation in order else len(order), file.path)


def _safetensors(repository: Repository) -> tuple[HubFile, ...]:
    names = {file.path for file in repository.files}
    if "config.json" not in names or not any(name.endswith(".safetensors") for name in names):
        raise DownloadFailed(
            "{repository} has no model that can be used here: neither GGUF files nor safetensors.",
            repository=repository.name,
        )
    return tuple(file for file in repository.files if "/" not in file.path and file.path.endswith(_BESIDE_SAFETENSORS))


def _named(repository: Repository, wanted: Sequence[str]) -> tuple[HubFile, ...]:
    """Return the files that are named, each first part of a model with its others."""
    by_path = {file.path: file for file in repository.files}
    found: dict[str, HubFile] = {}
    for name in wanted:
        matching = [by_path[name]] if name in by_path else [
            file
            for file in repository.files
            if name == PurePosixPath(file.path).name or fnmatchcase(file.path.casefold(), name.casefold())
        ]  # fmt: skip
        if not matching:
            there = sorted(path for path in by_path if path.lower().endswith((".gguf", ".safetensors")))
            raise DownloadFailed(
                "{repository} has no file {name}. It has: {there}.",
                repository=repository.name,
                name=name,
                there=_names(there or sorted(by_path)),
            )
        for file in matching:
            found |= {part.path: part for part in (*_parts(file, by_path), file)}
    return tuple(found.values())


def _names(names: Sequence[str]) -> str:
    clean = ["".join(letter if letter.isprintable() else "?" for letter in name[:200]) for name in names]
    more = len(clean) - _MOST_NAMES
    return ", ".join(clean[:_MOST_NAMES]) + (f" … (+{more})" if more > 0 else "")
