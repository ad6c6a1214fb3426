"""Which model files passed their trial: remembered on disk, so that each is tried once.

Only passing is remembered. The file is a convenience: missing, damaged or unwritable, it costs one more trial.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import tempfile
from pathlib import Path

from engine._version import __version__
from engine.config import LoadConfig
from engine.formats.gguf.parts import split_parts
from engine.formats.model_file import ModelFile
from engine.system.cache_files import cache_folder

_TRIAL = 1
"""Counts up when the trial tries more than it did."""
_REMEMBERED = 512


def verdict_key(config: LoadConfig, model: ModelFile) -> str:
    """Names a file as it is now together with the settings that matter and the library that will run it."""
    stats = []
    for part in split_parts(model.path):
        status = part.stat()
        stats.append((status.st_size, status.st_mtime_ns, status.st_ino, status.st_dev))
    vocabulary = None if model.vocabulary is None else model.vocabulary.digest
    facts = (
        _TRIAL,
        __version__,
        _library_version(),
        os.fspath(model.path.absolute()),
        stats,
        vocabulary,
        config.context_length,
        config.gpu_layers,
        config.cache_type,
    )
    return hashlib.blake2b(repr(facts).encode("utf-8", "surrogatepass"), digest_size=20).hexdigest()


def is_remembered(key: str) -> bool:
    """Whether what this key names has passed."""
    return key in _load()


def remember(key: str) -> None:
    """Remember that it passed, forgetting the oldest beyond a few hundred. Does nothing where it cannot write."""
    keys = [*[known for known in _load() if known != key], key][-_REMEMBERED:]
    path = _path()
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=path.parent, prefix=".passed-", delete=False
        ) as file:
            temporary = Path(file.name)
            json.dump({"passed": keys}, file)
        temporary.replace(path)
    except OSError:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def _load() -> list[str]:
    try:
        loaded = json.loads(_path().read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return []
    passed = loaded.get("passed") if isinstance(loaded, dict) else None
    return [key for key in passed if isinstance(key, str)] if isinstance(passed, list) else []


def _path() -> Path:
    return cache_folder() / "passed.json"


def _library_version() -> str:
    try:
        return importlib.metadata.version("llama-cpp-python")
    except importlib.metadata.PackageNotFoundError:
        return ""
