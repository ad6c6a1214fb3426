"""What is remembered between runs."""

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication
from pytestqt.qtbot import QtBot

from app.bridge.worker import Worker
from app.settings import autosave
from app.settings.autosave import Autosave
from app.settings.settings import SETTINGS, Settings, SettingsFile, SettingsTrouble
from app.state.settings.generation import LONGEST_SYSTEM, GenerationChoice
from app.state.settings.presets import presets
from app.state.tools.choice import ToolChoice
from app.system.resources import ResourceDamaged, read_text, starter_prompts
from helpers.paths import ROOT


def test_settings_come_back(tmp_path: Path) -> None:
    file = SettingsFile(tmp_path / "deep" / "settings.json")
    settings = Settings(models_folders=["/models"], sources=[], lookahead=7, theme="dark", left_shown=False)
    assert file.save(settings)
    assert file.load() == settings
    assert [path.name for path in file.path.parent.iterdir()] == ["settings.json"]  # type: ignore[union-attr]


def test_each_value_that_makes_no_sense_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    wrong = {"lookahead": 33, "theme": "pink", "models_folder": 3, "left_shown": "yes", "right_width": -1, "draft": 1}
    path.write_text(json.dumps({**wrong, "target": "/a.gguf", "unknown": 1}), encoding="utf-8")
    assert SettingsFile(path).load() == Settings(target="/a.gguf")


@pytest.mark.parametrize(
    ("kept", "sources"),
    [
        ({"draft": None, "partner": ""}, None),
        ({"draft": "", "partner": ""}, []),
        ({"draft": "/head.gguf", "partner": "/draft.gguf"}, ["/head.gguf", "/draft.gguf"]),
        ({"draft": "/draft.gguf"}, ["/draft.gguf"]),
        ({"draft": "/old.gguf", "sources": ["/new.gguf"]}, ["/new.gguf"]),
    ],
)
def test_what_proposed_in_an_older_version(tmp_path: Path, kept: dict[str, object], sources: list[str] | None) -> None:
    (tmp_path / "settings.json").write_text(json.dumps(kept), encoding="utf-8")
    assert SettingsFile(tmp_path / "settings.json").load().sources == sources


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there, and there are no such pipes")
def test_a_link_stays_and_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "kept.json").write_text('{"theme": "dark"}')
    (tmp_path / "settings.json").symlink_to(tmp_path / "kept.json")
    file = SettingsFile(tmp_path / "settings.json")
    assert file.load().theme == "dark"
    assert file.save(Settings(theme="light"))
    assert (tmp_path / "settings.json").is_symlink()
    assert SettingsFile(tmp_path / "kept.json").load().theme == "light"
    os.mkfifo(tmp_path / "pipe")
    pipe = SettingsFile(tmp_path / "pipe")
    assert pipe.load() == Settings()
    assert pipe.trouble is not None
    assert pipe.trouble.kind == "unreadable"
    assert not pipe.save(Settings())


def test_the_longest_prompts_come_back(tmp_path: Path) -> None:
    file = SettingsFile(tmp_path / "settings.json")
    prompts = [{"name": f"{number}", "text": "\N{CJK UNIFIED IDEOGRAPH-4E2D}" * LONGEST_SYSTEM} for number in range(20)]
    assert file.save(Settings(prompts=prompts))
    assert file.load().prompts == prompts
    assert file.trouble is None


def test_numbers_larger_than_any_are_replaced(tmp_path: Path) -> None:
    file = SettingsFile(tmp_path / "settings.json")
    huge = 10**400
    told = {"sampling": {"temperature": huge, "top_k": huge, "top_p": 0.5}, "left_width": huge, "theme": "dark"}
    (tmp_path / "settings.json").write_text(json.dumps(told | {"presets": [{"name": "a", "min_p": huge}]}))
    settings = file.load()
    assert settings.theme == "dark"
    assert GenerationChoice.from_mapping(settings.sampling) == GenerationChoice(top_p=0.5)
    assert presets(settings.presets).own == []


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


FULL = Settings(
    models_folders=["/models", "/more models"],
    favourites=["/a.gguf"],
    files_folder="/somewhere/notes",
    recent_models=["/b.gguf", "/a.gguf"],
    target="/a.gguf",
    sources=["/models/head.gguf", "/models/draft.gguf"],
    drafting="ngram",
    lookahead=7,
    load_options={"/a.gguf": {"threads": 4, "context": None}},
    measured_speeds={"/a.gguf": {"plain": 12.5, "drafted": 20.0}},
    drafts={"/a.gguf": {"drafting": "model", "sources": ["/b.gguf"]}},
    thinking={"/a.gguf": "off"},
    model_choices={"/a.gguf": {"temperature": 0.5, "chosen": True}},
    template_variables={"/a.gguf": {"enable_thinking": False}},
    theme="dark",
    language="de",
    font_points=12,
    notify=False,
    keep_caches=False,
    own_texts=False,
    chat_exports="weekly",
    first_launch=False,
    geometry="AAAA",
    left_shown=False,
    right_shown=False,
    left_width=300,
    right_width=200,
    conversation=12,
    tokens_colored=True,
    tokens_unsure=True,
    method="ngram",
    acceptance="exact",
    overlap="off",
    sampling=GenerationChoice(temperature=0.8, stop=("END",), system="Be brief.").to_mapping(),
    next_sampling=GenerationChoice(top_k=7).to_mapping(),
    servers=[{"address": "http://a:1", "model": "m", "name": "n"}],
    presets=[{"name": "Mine", "temperature": 1.0}],
    prompts=[{"name": "Pirate", "text": "Talk like a pirate."}],
    tools=ToolChoice(frozenset({"clock", "files"}), (str(ROOT),), frozenset({"files/read"}), limit=3).to_mapping(),
    server_on=True,
    server_host="0.0.0.0",  # noqa: S104
    server_port=9000,
    server_names="desk.local",
)


def test_all_of_them_come_back(tmp_path: Path) -> None:
    file = SettingsFile(tmp_path / "settings.json")
    assert all(getattr(FULL, name) != getattr(Settings(), name) for name in SETTINGS), "nothing is left out here"
    assert file.save(FULL)
    assert file.load() == FULL


WRONG: list[object] = [None, True, -1, 2**70, 1.5, "pink\0", "x", [], {}, [1], [None], {"a": 1}, {"": {}}, [{}], [[[]]]]


@pytest.mark.parametrize("name", SETTINGS)
def test_whatever_stands_there_the_rest_is_read(tmp_path: Path, name: str) -> None:
    path = tmp_path / "settings.json"
    for wrong in WRONG:
        path.write_text(json.dumps({**FULL.to_mapping(), name: wrong}), encoding="utf-8")
        read = SettingsFile(path).load()
        for other in SETTINGS:
            if other != name:
                assert getattr(read, other) == getattr(FULL, other)
        assert SettingsFile(path).save(read)
        assert SettingsFile(path).load() == read, "what was taken over is good"


def test_a_value_inside_another_falls_back_alone(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    told = {
        "sampling": {"temperature": "hot", "top_k": 40, "unknown": 1, "stop": ["END", 7]},
        "models_folders": ["/models", 7, "", "/models", "/x\0"],
        "load_options": {"/a": {"threads": 2}, "/b": 7, "/c": {"deep": [[[[[[[[[[1]]]]]]]]]]}, "": {"threads": 1}},
    }
    path.write_text(json.dumps(told), encoding="utf-8")
    read = SettingsFile(path).load()
    assert read.sampling == GenerationChoice(top_k=40).to_mapping()
    assert read.models_folders == ["/models"]
    assert read.load_options == {"/a": {"threads": 2}}


def test_the_folder_of_older_versions_is_read(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    for told, folders in (
        ({"models_folder": "/models"}, ["/models"]),
        ({"models_folder": ""}, []),
        ({"models_folder": 3}, []),
        ({"models_folder": "/old", "models_folders": ["/new"]}, ["/new"]),
    ):
        path.write_text(json.dumps(told), encoding="utf-8")
        assert SettingsFile(path).load().models_folders == folders


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"null", b"\xff\xfe\x00", b'{"theme": "dark"', b"[" * 100_000, b"\0" * 700, b"x" * 17_000_000],
)
def test_a_damaged_file_is_put_aside(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(content)
    file = SettingsFile(path)
    assert file.load() == Settings()
    aside = tmp_path / "settings.json.damaged"
    assert file.trouble == SettingsTrouble("damaged", path, aside)
    assert aside.read_bytes() == content
    assert not path.exists()
    assert file.save(Settings(theme="dark"))
    path.write_bytes(content + b" ")
    assert SettingsFile(path).load() == Settings()
    assert aside.read_bytes() == content, "the first one is not lost for the second"
    assert (tmp_path / "settings.json.damaged-2").read_bytes() == content + b" "


def test_no_file_is_no_trouble(tmp_path: Path) -> None:
    file = SettingsFile(tmp_path / "none" / "settings.json")
    assert file.load() == Settings()
    assert file.trouble is None


def test_what_cannot_be_read_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.mkdir()
    file = SettingsFile(path)
    assert file.load() == Settings()
    assert file.trouble is not None
    assert file.trouble.kind == "unreadable"
    assert not file.save(Settings(theme="dark"))
    assert path.is_dir()


def test_a_change_is_told_once(tmp_path: Path) -> None:
    settings = Settings()
    told: list[str] = []
    settings.listener = told.append
    settings.theme = "dark"
    settings.theme = "dark"
    settings.models_folder = "/models"
    settings.sampling = GenerationChoice(top_k=3).to_mapping()
    assert told == ["theme", "models_folders", "sampling"]


@pytest.fixture
def aside() -> Iterator[Worker]:
    loop = asyncio.new_event_loop()
    worker = Worker(loop, contextlib.nullcontext, "outrider-settings")
    yield worker
    assert worker.close(10.0)
    loop.close()


def test_each_change_is_saved(tmp_path: Path, qtbot: QtBot, aside: Worker) -> None:
    file = SettingsFile(tmp_path / "settings.json")
    settings = file.load()
    keeper = Autosave(settings, file, aside)
    with qtbot.waitSignal(keeper.changed):
        settings.theme = "dark"
    qtbot.waitUntil(lambda: file.load().theme == "dark")
    settings.left_width = 333
    settings.notify = False
    qtbot.waitUntil(lambda: not file.load().notify)
    settings.left_width = 334
    qtbot.waitUntil(lambda: file.load().left_width == 334)
    settings.theme = "light"
    keeper.close()
    assert file.load() == settings
    settings.theme = "system"
    qtbot.wait(50)
    assert file.load().theme == "light", "it listens no more"
    keeper.close()
    assert file.load() == settings, "who closes it again saves again"


def test_the_window_does_not_wait_for_the_disk(
    tmp_path: Path, qtbot: QtBot, aside: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, slow, flushed = tmp_path / "deep" / "settings.json", threading.Event(), []
    monkeypatch.setattr(os, "fsync", lambda _: flushed.append(slow.wait(30.0)))
    file = SettingsFile(path)
    settings = file.load()
    keeper = Autosave(settings, file, aside)
    for theme in ("dark", "light"):
        settings.theme = theme
        qtbot.waitUntil(lambda theme=theme: SettingsFile(path).load().theme == theme)  # type: ignore[misc]
    assert not path.exists()
    assert not flushed
    slow.set()
    qtbot.waitUntil(lambda: [each.name for each in path.parent.iterdir()] == ["settings.json"])
    assert file.load() == settings
    keeper.close()


def test_a_disk_that_does_not_answer_at_the_end_takes_nothing_away(
    tmp_path: Path, aside: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, slow = tmp_path / "settings.json", threading.Event()
    monkeypatch.setattr(os, "fsync", lambda _: slow.wait(30.0))
    monkeypatch.setattr(autosave, "_END_S", 0.1)
    file = SettingsFile(path)
    settings = file.load()
    keeper = Autosave(settings, file, aside)
    settings.theme = "dark"
    assert keeper.save()
    settings.theme = "light"
    keeper.close()
    assert SettingsFile(path).load() == settings
    slow.set()
    assert aside.close(10.0)
    QCoreApplication.processEvents()
    assert SettingsFile(path).load() == settings, "nor does what it wrote late"


def test_what_was_saved_for_now_counts_if_it_is_whole_and_the_last(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "settings.json"
    file, beside = SettingsFile(path), path.with_name("settings.json.new")
    assert file.save(Settings(theme="dark"))
    assert file.save_for_now(Settings(theme="light"))
    assert SettingsFile(path).load().theme == "light"
    moment = path.stat().st_mtime - 1.0
    os.utime(beside, (moment, moment))
    assert SettingsFile(path).load().theme == "light", "what came before it is settled a moment later"
    whole = beside.read_bytes()
    for cut in (b"", whole[:-2]):  # As the end of the power leaves a file.
        beside.write_bytes(cut)
        assert SettingsFile(path).load().theme == "dark"
    beside.write_bytes(whole)
    os.utime(beside, (1, 1))
    assert SettingsFile(path).load().theme == "dark"
    assert file.settle()
    file.clear_up()
    assert [each.name for each in path.parent.iterdir()] == ["settings.json"]


def test_trouble_with_the_file_itself_is_told_once(tmp_path: Path, qtbot: QtBot, aside: Worker) -> None:
    (tmp_path / "settings.json").mkdir()
    settings = Settings()
    keeper = Autosave(settings, SettingsFile(tmp_path / "settings.json"), aside)
    told: list[SettingsTrouble] = []
    keeper.trouble.connect(told.append)
    for theme in ("dark", "light", "dark"):
        settings.theme = theme
        qtbot.wait(50)
    qtbot.waitUntil(lambda: bool(told))
    keeper.close()
    assert [each.kind for each in told] == ["unwritable"]


def test_trouble_is_told_once(tmp_path: Path, qtbot: QtBot, aside: Worker) -> None:
    (tmp_path / "file").touch()
    settings = Settings()
    keeper = Autosave(settings, SettingsFile(tmp_path / "file" / "settings.json"), aside)
    told: list[SettingsTrouble] = []
    keeper.trouble.connect(told.append)
    for theme in ("dark", "light", "dark"):
        settings.theme = theme
        assert not keeper.save()
    keeper.close()
    assert [each.kind for each in told] == ["unwritable"]


CHILD = """
import asyncio, contextlib, sys
from pathlib import Path
from PySide6.QtCore import QCoreApplication
from app.settings.settings import SettingsFile
from app.settings.autosave import Autosave
from app.bridge.worker import Worker
app = QCoreApplication(sys.argv)
file = SettingsFile(Path(sys.argv[1]))
settings = file.load()
keeper = Autosave(settings, file, Worker(asyncio.new_event_loop(), contextlib.nullcontext, "outrider-settings"))
number = settings.conversation
while True:
    number += 1
    settings.conversation = number
    settings.prompts = [{"name": str(number), "text": "x" * (number % 50) * 2_000}]
    app.processEvents()
    print(number, flush=True)
"""


def test_killed_at_any_time_nothing_that_was_over_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    last = 0
    (tmp_path / ".settings-0000.part").touch()
    os.utime(tmp_path / ".settings-0000.part", (0, 0))
    for turn in range(6):
        command = [sys.executable, "-c", CHILD, str(path)]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as child:
            assert child.stdout is not None
            child.stdout.readline()
            time.sleep(0.03 + 0.017 * turn)
            child.kill()
            said = [int(line) for line in child.stdout.read().splitlines(keepends=True) if line.endswith(b"\n")]
        file = SettingsFile(path)
        settings = file.load()
        assert file.trouble is None
        saved = settings.conversation
        assert saved >= max([last, *said]), "what was said to be done is there"
        assert settings.prompts[0]["name"] == str(saved), "and whole"
        last = saved
    assert last > 6
    assert not list(tmp_path.glob("*damaged*"))
    assert not (tmp_path / ".settings-0000.part").exists(), "what another killed one left is taken away"


def test_there_are_ten_starter_prompts() -> None:
    starters = starter_prompts()
    assert len(starters) == 10
    assert all(starter.title.strip() and starter.prompt.strip() for starter in starters)


def test_a_missing_resource_says_which() -> None:
    with pytest.raises(ResourceDamaged, match=r"styles/none\.qss"):
        read_text("styles", "none.qss")
