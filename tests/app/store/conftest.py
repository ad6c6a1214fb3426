"""Share an open store among the tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.store.store import FILE_NAME, Store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / FILE_NAME


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    opened = Store.open(path)
    yield opened
    opened.close()
