"""Models folders that vanish and come back, and what appears in them: real files, the real engine."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

import app.bridge.bridge
import app.system.folder_watch
from app.bridge.job import FolderListing, Job
from app.settings.settings import Settings
from app.state.models.selection import Loaded
from app.system.folder_watch import places_to_watch
from engine import Cancelled
from helpers.powers import without_powers
from helpers.window.app_window import OpenWindow, Window

Pair = tuple[Path, Path]
STORY = "Tell me a long story about a lonely lighthouse and the sea."


@pytest.fixture(autouse=True)
def _sooner(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests need not wait as long as a user does."""
    for name in ("SOON_MS", "GROWING_MS", "AWAY_MS"):
        monkeypatch.setattr(app.system.folder_watch, name, 150)


@pytest.fixture
def copies(tmp_path: Path, demo_pair: Pair) -> Pair:
    """The demo pair in a models folder of the user's."""
    folder = tmp_path / "disk" / "models"
    folder.mkdir(parents=True)
    return tuple(Path(shutil.copy(path, folder)) for path in demo_pair)  # type: ignore[return-value]


def settings_for(copies: Pair) -> Settings:
    return Settings(
        models_folders=[str(copies[0].parent)],
        target=str(copies[0]),
        sources=[str(copies[1])],
        drafting="model",
        lookahead=4,
    )


@pytest.fixture
def window(open_window: OpenWindow, copies: Pair, demo_pair: Pair) -> Window:
    """A window with the copies loaded: without a trial in a process of its own, as it is known that they are sound."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("engine.loading.open.checked_file", lambda *_, **__: nullcontext())
        window = open_window(pair=demo_pair, settings=settings_for(copies))
    assert window.models.list.loaded == Loaded(copies[0], copies[1:])
    return window


def states(window: Window) -> dict[str, str]:
    return {row.path.name: row.state for row in window.models.library.rows() if row.folder is not None}


def watched(window: Window) -> list[str]:
    return window.models._folders._watch._watcher.directories()


def is_away(window: Window) -> bool:
    return bool(window.models.list.away)


def told_once(window: Window, folder: Path) -> bool:
    (notice,) = window.notices()
    return notice.startswith(f"The model folder {folder} is currently not available (")


def test_a_folder_that_is_renamed_and_comes_back(window: Window, copies: Pair) -> None:
    folder = copies[0].parent
    moved = folder.rename(folder.with_name("elsewhere"))
    window.wait(lambda: is_away(window) and window.notices())
    assert told_once(window, folder)
    assert set(states(window).values()) == {"away"}
    exchange = window.ask(STORY)
    assert exchange.status == "done"
    assert window.stats(exchange).accepted > 0, "what is loaded goes on working, the draft too"
    window.models.choose_lookahead(2)
    assert window.ask("Hello!").status == "done"
    moved.rename(folder)
    window.wait(lambda: not is_away(window))
    assert set(states(window).values()) == {"ok"}
    assert window.models.list.selection.target == copies[0]
    assert len(window.notices()) == 1, "one message for one loss"
    assert window.ask("Hello!").status == "done"


def test_while_a_reply_is_written(window: Window, copies: Pair) -> None:
    folder = copies[0].parent
    exchange = window.send(STORY)
    window.wait(lambda: exchange.reply)
    moved = folder.rename(folder.with_name("elsewhere"))
    window.ended(exchange)
    assert exchange.status == "done"
    window.wait(window.notices)
    assert told_once(window, folder)
    assert window.ask("Go on.").status == "done"
    shutil.rmtree(moved)
    assert window.ask("And on.").status == "done", "even its files may be deleted"


def test_while_models_are_loaded(open_window: OpenWindow, copies: Pair, demo_pair: Pair) -> None:
    folder = copies[0].parent
    window = open_window(pair=demo_pair, settings=Settings(models_folders=[str(folder)], lookahead=4))
    assert window.models.list.loaded == Loaded(demo_pair[0], demo_pair[1:])
    window.models.choose_target(copies[0])
    window.models.choose_draft(copies[1])
    exchange = window.send(STORY)
    window.wait(lambda: window.controller.activity.work in ("checking", "loading"))
    moved = folder.rename(folder.with_name("elsewhere"))
    window.ended(exchange)
    window.wait(lambda: is_away(window))
    assert exchange.status == "failed"
    assert "Cannot load demo-" in window.said(exchange)
    assert window.problem(exchange).problem.details is None
    assert window.models.list.loaded.target in (demo_pair[0], copies[0])
    assert window.ask("Hello!").status == "done", "with what is loaded"
    assert len(window.notices()) == 1
    moved.rename(folder)
    window.wait(lambda: not is_away(window) and window.models.list.loaded == Loaded(copies[0], copies[1:]))
    assert window.models.list.selection.target == copies[0], "what was wanted is picked up again"
    assert window.ask("Hello!").status == "done"


def test_permissions_that_are_taken_away(open_window: OpenWindow, copies: Pair, demo_pair: Pair) -> None:
    folder = copies[0].parent
    with without_powers():
        window = open_window(pair=demo_pair, settings=settings_for(copies))
        exchange = window.send(STORY)
        window.wait(lambda: exchange.reply)
        folder.chmod(0)
        try:
            window.ended(exchange)
            assert exchange.status == "done"
            window.wait(window.notices)
            assert told_once(window, folder)
            assert "no permission to read it" in window.notices()[0]
            assert window.ask("Hello!").status == "done"
            window.models.unload()
            window.wait(lambda: window.models.settled)
            failed = window.ask("Hello again!")
            assert failed.status == "failed"
            assert window.problem(failed).problem.details is None, window.problem(failed).problem.details
        finally:
            folder.chmod(0o700)
        window.wait(lambda: not is_away(window) and window.models.list.loaded == Loaded(copies[0], copies[1:]))
        assert window.ask("And now?").status == "done"


def test_what_may_not_be_read_in_a_folder_is_not_watched(
    open_window: OpenWindow, copies: Pair, demo_pair: Pair
) -> None:
    # As the lost+found of a disk. Qt would warn of it at each scan.
    folder = copies[0].parent
    hidden, secret = folder / "lost+found", folder / "secret.gguf"
    hidden.mkdir()
    shutil.copy(copies[1], hidden / "found.gguf")
    shutil.copy(copies[1], secret)
    for path in (hidden, secret):
        path.chmod(0)
    with without_powers():
        window = open_window(pair=demo_pair, settings=settings_for(copies))
        assert states(window)["secret.gguf"] == "problem"
        assert str(folder) in watched(window)
        assert str(hidden) not in watched(window)
        hidden.chmod(0o700)
        window.wait(lambda: states(window).get("found.gguf") == "ok")
        secret.chmod(0o600)
        window.wait(lambda: states(window)["secret.gguf"] == "ok")


def test_a_folder_that_is_missing_at_the_start(open_window: OpenWindow, copies: Pair, demo_pair: Pair) -> None:
    folder = copies[0].parent
    hidden = folder.rename(folder.parent.with_name("not mounted yet"))
    folder.parent.rmdir()
    window = open_window(pair=demo_pair, settings=settings_for(copies))
    window.wait(window.notices)
    assert told_once(window, folder)
    assert window.models.list.loaded.target == demo_pair[0]
    assert window.ask("Hello!").status == "done"
    assert window.program.settings.target == str(copies[0]), "it stays what was chosen"
    folder.parent.mkdir()
    hidden.rename(folder)
    window.wait(lambda: window.models.list.loaded == Loaded(copies[0], copies[1:]))
    # The bundled one has the same name, so this one has its folder before it.
    assert window.main.bar.target.currentText() == f"{folder.name}/demo-target · 8.2M Q8_0"
    assert window.ask("Hello!").status == "done"
    assert len(window.notices()) == 1


def test_what_is_chosen_meanwhile_stays(open_window: OpenWindow, copies: Pair, demo_pair: Pair) -> None:
    folder = copies[0].parent
    hidden = folder.rename(folder.with_name("not mounted yet"))
    window = open_window(pair=demo_pair, settings=settings_for(copies))
    window.models.choose_target(demo_pair[0])
    hidden.rename(folder)
    window.wait(lambda: not is_away(window) and window.models.settled)
    assert window.models.list.selection.target == demo_pair[0]
    assert window.program.settings.target == ""


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own, mounted."""
    (place := tmp_path / "mounted").mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "tmpfs", place], capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip("nothing can be mounted here")
    yield place
    subprocess.run(["umount", "-l", place], capture_output=True, check=False)


@pytest.mark.skipif(os.name == "nt", reason="nothing is mounted there like this")
def test_a_disk_that_is_unmounted(open_window: OpenWindow, disk: Path, demo_pair: Pair) -> None:
    copies: Pair = tuple(Path(shutil.copy(path, disk)) for path in demo_pair)  # type: ignore[assignment]
    window = open_window(pair=demo_pair, settings=settings_for(copies))
    exchange = window.send(STORY)
    window.wait(lambda: exchange.reply)
    subprocess.run(["umount", "-l", disk], check=True)
    window.ended(exchange)
    assert exchange.status == "done"
    window.wait(lambda: states(window) == {})
    assert window.ask("Hello!").status == "done"


def test_files_that_are_overwritten_while_they_are_loaded(window: Window, copies: Pair) -> None:
    exchange = window.send(STORY)
    window.wait(lambda: exchange.reply)
    for path in copies:
        os.truncate(path, 0)
    window.ended(exchange)
    assert exchange.status == "done"
    assert window.ask("Hello!").status == "done", "what is loaded is in memory, not in the file"
    window.wait(lambda: set(states(window).values()) == {"problem"})


def test_new_files_appear_and_deleted_ones_go(window: Window, copies: Pair) -> None:
    folder = copies[0].parent
    shutil.copy(copies[1], folder / "copied.gguf")
    window.wait(lambda: "copied.gguf" in states(window))
    below = folder / "below" / "deeper"
    below.mkdir(parents=True)
    window.wait(lambda: str(below) in watched(window))
    shutil.copy(copies[1], below / "deep.gguf")
    window.wait(lambda: "deep.gguf" in states(window))
    (folder / "copied.gguf").unlink()
    window.wait(lambda: "copied.gguf" not in states(window))
    assert window.notices() == []


def test_a_download_is_usable_when_it_is_complete(window: Window, copies: Pair) -> None:
    whole = copies[1].read_bytes()
    with (copies[0].parent / "coming.gguf").open("wb") as file:
        file.write(whole[:500_000])
        file.flush()
        window.wait(lambda: states(window).get("coming.gguf") == "problem")
        file.write(whole[500_000:])
    window.wait(lambda: states(window)["coming.gguf"] == "ok")


def test_a_download_that_is_complete_before_it_is_watched(
    window: Window, copies: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, coming = copies[1].read_bytes(), copies[0].with_name("coming.gguf")

    def late(folder: Path, since: float) -> tuple[tuple[str, ...], tuple[str, ...], bool]:
        places = places_to_watch(folder, since)
        if coming.exists() and coming.stat().st_size < len(whole):
            with coming.open("ab") as file:
                file.write(whole[500_000:])
        return places

    monkeypatch.setattr(app.bridge.bridge, "places_to_watch", late)
    coming.write_bytes(whole[:500_000])
    window.wait(lambda: states(window).get("coming.gguf") == "ok")


def test_what_happens_while_a_scan_waits_is_looked_at_once(window: Window, copies: Pair) -> None:
    folders, bridge = window.models._folders, window.program.bridge
    waiting: list[Job[FolderListing]] = []
    look = bridge.look

    def behind_a_long_reply(folder: Path) -> Job[FolderListing]:
        waiting.append(Job(window.loop, lambda _cancel: FolderListing((), (), ())))
        return waiting[-1]

    bridge.look = behind_a_long_reply  # type: ignore[method-assign]
    for _ in range(5):
        folders._stirred(copies[0].parent)
        window.qtbot.wait(20)
    window.wait(lambda: waiting)
    folders._stirred(copies[0].parent)
    assert len(waiting) == 1
    bridge.look = look  # type: ignore[method-assign]
    waiting[0].result.set_exception(Cancelled())
    window.wait(lambda: window.models.settled)
    assert set(states(window).values()) == {"ok"}


def test_life_around_a_folder_costs_nothing(window: Window, copies: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    watch = window.models._folders._watch
    looked: list[Path] = []
    monkeypatch.setattr(app.system.folder_watch, "_identity", looked.append)
    for _ in range(100):
        watch._stir(str(copies[0].parent.parent))
    assert not looked
    monkeypatch.undo()
    window.wait(lambda: not watch._short.isActive())


def test_no_timer_runs_while_nothing_happens(window: Window, copies: Pair) -> None:
    watch = window.models._folders._watch
    window.wait(lambda: not watch._short.isActive() and not watch._growing.isActive())
    assert not watch._slow.isActive()
    folder = copies[0].parent
    moved = folder.rename(folder.with_name("elsewhere"))
    window.wait(lambda: is_away(window) and watch._slow.isActive())
    moved.rename(folder)
    window.wait(lambda: not is_away(window))
    assert not watch._slow.isActive()


@pytest.mark.parametrize("read", [False, True])
def test_a_folder_that_goes_while_it_is_read(
    window: Window, copies: Pair, monkeypatch: pytest.MonkeyPatch, read: bool
) -> None:
    folders, folder, moved = window.models._folders, copies[0].parent, copies[0].parent.with_name("elsewhere")
    bridge, look = folders._bridge, folders._bridge.look

    def goes(asked: Path) -> Job[FolderListing]:
        job = look(asked)
        job.result.add_done_callback(lambda _: folder.rename(moved))
        return job

    for path in copies:
        os.utime(path, (1, 1))
    window.qtbot.wait(300)
    window.wait(lambda: not folders._watch._short.isActive() and not folders._watch._growing.isActive())
    with monkeypatch.context() as patch:
        if read:
            patch.setattr(bridge, "look", goes)
        else:
            places = "places_to_watch"
            patch.setattr(app.bridge.bridge, places, lambda *asked: (folder.rename(moved), places_to_watch(*asked))[1])
        folders._stirred(folder)
        window.wait(moved.exists)
    window.wait(lambda: is_away(window))
    moved.rename(folder)
    window.wait(lambda: not is_away(window))


def test_several_folders_are_added_and_removed(window: Window, copies: Pair, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    shutil.copy(copies[1], other / "more.gguf")
    window.models.add_folder(other)
    window.wait(lambda: "more.gguf" in states(window))
    folders = [str(copies[0].parent), str(other)]
    window.wait(lambda: window.program.settings.models_folders == folders)
    window.models.remove_folder(copies[0].parent)
    assert {*states(window)} == {"more.gguf"}
    assert window.program.settings.models_folders == [str(other)]
    assert window.ask("Hello!").status == "done", "what is loaded stays"
    shutil.copy(copies[1], copies[0].parent / "unseen.gguf")
    window.qtbot.wait(400)
    assert {*states(window)} == {"more.gguf"}


def test_a_folder_that_was_not_read_yet_is_not_forgotten(
    open_window: OpenWindow, demo_pair: Pair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = [tmp_path / name for name in ("first", "second", "new")]
    for folder in folders:
        folder.mkdir()
    window = open_window(pair=demo_pair, settings=Settings(models_folders=[*map(str, folders[:2])]), ready=False)
    look = window.program.bridge.look

    def cancelled(folder: Path) -> Job[FolderListing]:
        job = look(folder)
        if folder == folders[0]:
            job.cancel()
        return job

    monkeypatch.setattr(window.program.bridge, "look", cancelled)
    window.ready()
    window.models.add_folder(folders[2])
    window.wait(lambda: len(window.program.settings.models_folders) == 3)
    assert window.models.list.folders == tuple(folders)
    assert window.program.settings.models_folders == [*map(str, folders)], "a scan that was cancelled removes nothing"
