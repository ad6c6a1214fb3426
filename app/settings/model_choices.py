"""Remember the choice of models in the settings."""

from __future__ import annotations

from pathlib import Path

from app.settings.settings import Settings
from app.state.models.load_options import LoadChoice
from app.state.models.models import ModelList


class ModelMemory:
    """Keep choices of models in the settings. Attributes: models, settings."""

    def __init__(self, models: ModelList, settings: Settings) -> None:
        self.models = models
        self.settings = settings

    def keep_choice(self) -> None:
        """Choose these models in the next run too."""
        chosen = self.models.selection
        own = self.models.bundled or (None, None)
        self.settings.target = "" if chosen.target in (None, own[0]) else str(chosen.target)
        self.settings.draft = None if chosen.draft == own[1] else str(chosen.draft or "")
        self.settings.drafting = chosen.drafting

    def keep_folders(self) -> None:
        """Look there for models in the next run too."""
        self.settings.models_folders = [str(folder) for folder in self.models.folders]

    def keep_options(self, path: Path, options: LoadChoice) -> None:
        """Load a model so, in this run and later ones."""
        self.models.set_options(path, options)
        kept = {name: value for name, value in self.settings.load_options.items() if name != str(path)}
        if options.to_mapping():
            kept[str(path)] = options.to_mapping()
        self.settings.load_options = kept

    def recall_options(self) -> None:
        """Load the models as was chosen in earlier runs."""
        for path, options in self.settings.load_options.items():
            self.models.set_options(Path(path), LoadChoice.from_mapping(options))
