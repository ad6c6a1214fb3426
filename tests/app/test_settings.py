"""What is remembered between runs."""

import json
import os
from pathlib import Path

import pytest

from app.resources import ResourceDamaged, read_text, starter_prompts
from app.settings import Settings, SettingsFile


def test_settings_come_back(tmp_path: Path) -> None:
    file = SettingsFile(tmp_path / "deep" / "settings.json")
    settings = Settings(models_folders=["/models"], draft="", lookahead=7, theme="dark", left_shown=False)
    assert file.save(settings)
    assert file.load() == settings
    assert [path.name for path in file.path.parent.iterdir()] == ["settings.json"]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"null", b"\xff\xfe\x00", b'{"theme": "dark"', b"[" * 100_000, b'"' + b"x" * 3_000_000],
)
def test_a_damaged_file_counts_as_none(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(content)
    assert SettingsFile(path).load() == Settings()


def test_each_value_that_makes_no_sense_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    wrong = {"lookahead": 33, "theme": "pink", "models_folder": 3, "left_shown": "yes", "right_width": -1, "draft": 1}
    path.write_text(json.dumps({**wrong, "target": "/a.gguf", "unknown": 1}), encoding="utf-8")
    assert SettingsFile(path).load() == Settings(target="/a.gguf")


@pytest.mark.parametrize(
    ("content", "lookahead"),
    [("{}", "auto"), ('{"lookahead": 4}', 4), ('{"lookahead": "auto"}', "auto"), ('{"lookahead": 0}', 0)],
)
def test_a_chosen_lookahead_stays_and_new_users_get_auto(tmp_path: Path, content: str, lookahead: int | str) -> None:
    file = SettingsFile(tmp_path / "settings.json")
    (tmp_path / "settings.json").write_text(content, encoding="utf-8")
    assert file.load().lookahead == lookahead
    assert file.save(file.load())
    assert file.load().lookahead == lookahead


@pytest.mark.parametrize("wrong", ["adaptive", "4", "", True, 1.5, -1, 33, None, ["auto"]])
def test_a_lookahead_that_makes_no_sense_is_auto(tmp_path: Path, wrong: object) -> None:
    path = tmp_path / "settings.json"
    path.write_text(json.dumps({"lookahead": wrong}), encoding="utf-8")
    assert SettingsFile(path).load().lookahead == "auto"


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_folder_that_cannot_be_written_is_no_failure(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    assert not SettingsFile(tmp_path / "settings.json").save(Settings())


def test_a_path_that_is_no_folder_is_no_failure(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert not SettingsFile(tmp_path / "file" / "settings.json").save(Settings())


def test_there_are_ten_starter_prompts() -> None:
    starters = starter_prompts()
    assert len(starters) == 10
    assert all(starter.title.strip() and starter.prompt.strip() for starter in starters)


def test_a_missing_resource_says_which() -> None:
    with pytest.raises(ResourceDamaged, match=r"styles/none\.qss"):
        read_text("styles", "none.qss")
