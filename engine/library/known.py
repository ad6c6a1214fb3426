"""Know the folders where models are: where downloads go, and those that a person named."""

from __future__ import annotations

import os
from pathlib import Path

from platformdirs import user_data_path

from engine.system.files import expanded


def download_folder() -> Path:
    """Return the folder where models go that are downloaded: OUTRIDER_MODELS, or the user's data. It may not exist."""
    named = os.environ.get("OUTRIDER_MODELS")
    return expanded(named) if named else user_data_path("outrider", appauthor=False) / "models"
