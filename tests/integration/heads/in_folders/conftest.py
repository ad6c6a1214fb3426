"""Here the target is one in a folder, too."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def target(torch_target: Path) -> Path:
    """The target of files of tests that have none of their own."""
    return torch_target
