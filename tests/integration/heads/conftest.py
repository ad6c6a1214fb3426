"""The targets that heads are made for, each written once, and a folder for the heads of each file of tests."""

from pathlib import Path

import pytest

from helpers.heads.eagle import write_plain_target


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the heads of a file of tests."""
    return tmp_path_factory.mktemp("heads")


@pytest.fixture(scope="session")
def plain_target(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A GGUF target; about a third of what heads propose for it is accepted. Nothing lies beside it."""
    return write_plain_target(tmp_path_factory.mktemp("plain") / "target.gguf", mixing=0.25)


@pytest.fixture(scope="session")
def torch_target(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A target in a folder, with nothing beside it."""
    # Only tests that need PyTorch ask for it.
    from helpers.heads.torch_eagle import write_torch_target  # noqa: PLC0415

    return write_torch_target(tmp_path_factory.mktemp("torch") / "target")


@pytest.fixture(scope="session")
def target(plain_target: Path) -> Path:
    """The target of files of tests that have none of their own."""
    return plain_target
