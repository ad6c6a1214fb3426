"""Remember the choice of models in the settings."""

from __future__ import annotations

from pathlib import Path

from app.settings.settings import Settings
from app.state.models.load_options import LoadChoice
from app.state.models.models import ModelList
from app.state.models.selection import DRAFTINGS, MODEL_FREE, Drafting, Loaded
from app.state.models.targets import Target, write_target
from engine import GenerationStats

_RECENT = 20
_LEAST_TOKENS = 24
"""The least tokens of a reply for measuring a model's speed."""


class ModelMemory:
    """Keep choices of models in the settings. Attributes: models, settings."""

    def __init__(self, models: ModelList, settings: Settings) -> None:
        self.models = models
        self.settings = settings

    def keep_choice(self) -> None:
        """Choose these models in the next run too."""
        chosen = self.models.selection
        own = self.models.bundled_files
        self.settings.target = "" if chosen.target in (None, own.target) else write_target(chosen.target)
        self.settings.sources = None if own.sources == chosen.sources != () else [*map(str, chosen.sources)]
        self.settings.drafting = chosen.drafting

    def keep_draft(self) -> None:
        """Choose this draft again with this target."""
        chosen = self.models.selection
        if isinstance(chosen.target, Path):
            kept = {name: each for name, each in self.settings.drafts.items() if name != str(chosen.target)}
            own = {"drafting": chosen.drafting, "sources": [*map(str, chosen.sources)]}
            self.settings.drafts = {str(chosen.target): own, **kept}

    def draft_of(self, target: Target) -> tuple[Drafting, tuple[Path, ...]] | None:
        """Return the last way to draft for this target, and its source; None without a choice, or if it is missing."""
        stored = self.settings.drafts.get(str(target), {})
        drafting, sources = stored.get("drafting"), stored.get("sources")
        if drafting not in DRAFTINGS or not isinstance(sources, list):
            return None
        files = tuple(Path(each) for each in sources if isinstance(each, str))
        if drafting == "model" and not (files and all(map(self.models.can_be_used, files))):
            return None
        return drafting, files

    def keep_folders(self) -> None:
        """Store the models folders for the next run."""
        self.settings.models_folders = [str(folder) for folder in self.models.folders]

    def keep_servers(self) -> None:
        """Offer these servers in the next run too."""
        self.settings.servers = [server.to_mapping() for server in self.models.servers]

    def keep_options(self, path: Path, options: LoadChoice) -> None:
        """Load a model so, in this run and later ones."""
        self.models.set_options(path, options)
        kept = {name: value for name, value in self.settings.load_options.items() if name != str(path)}
        if options.to_mapping():
            kept[str(path)] = options.to_mapping()
        self.settings.load_options = kept

    def set_favourite(self, path: Path, *, on: bool) -> None:
        """Mark a model as a favourite, or no longer, in this run and later ones."""
        kept = [each for each in self.settings.favourites if each != str(path)]
        self.settings.favourites = [*kept, str(path)] if on else kept
        self.models.favourites = frozenset(map(Path, self.settings.favourites))

    def note_used(self, loaded: Loaded) -> None:
        """Put the loaded models at the head of those used last."""
        used = [str(path) for path in (loaded.target, *loaded.sources) if isinstance(path, Path)]
        recent = [*used, *(each for each in self.settings.recent_models if each not in used)][:_RECENT]
        if recent != self.settings.recent_models:
            self.settings.recent_models = recent
            self.models.recent = tuple(map(Path, recent))

    def note_speed(self, path: Path, stats: GenerationStats) -> None:
        """Store a target's speed, with a draft or without, from a reply that is long enough."""
        if stats.emitted < _LEAST_TOKENS or not stats.tokens_per_second:
            return
        now = {} if stats.proposed else {"plain": round(stats.tokens_per_second, 1)}
        # What came of n-grams and other texts says nothing of a draft, and not of the next reply.
        if stats.proposed > 2 * sum(each.proposed for each in stats.by_method if each.name in MODEL_FREE):
            now = {"drafted": round(stats.tokens_per_second, 1)}
        if stats.plain_tokens_per_second:
            now["plain"] = round(stats.plain_tokens_per_second, 1)
        before = self.settings.measured_speeds
        self.settings.measured_speeds = {**before, str(path): {**before.get(str(path), {}), **now}}
        self._recall_speeds()

    def _recall_speeds(self) -> None:
        found = {}
        for path, speeds in self.settings.measured_speeds.items():
            plain, drafted = (speeds.get(name) for name in ("plain", "drafted"))
            found[Path(path)] = tuple(each if isinstance(each, int | float) else 0.0 for each in (plain, drafted))
        self.models.measured = {path: (each[0], each[1]) for path, each in found.items() if any(each)}

    def recall(self) -> None:
        """Restore favourites, the models used last, and load options, from earlier runs."""
        self._recall_speeds()
        self.models.favourites = frozenset(map(Path, self.settings.favourites))
        self.models.recent = tuple(map(Path, self.settings.recent_models))
        for path, options in self.settings.load_options.items():
            self.models.set_options(Path(path), LoadChoice.from_mapping(options))
