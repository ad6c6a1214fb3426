"""Find the folders of the program and its data; and list the variables that child programs must not inherit.

Nothing here needs Qt or a display.
"""

from __future__ import annotations

import os
import platform
import sys
from importlib.resources import files
from pathlib import Path

from platformdirs import user_config_path, user_data_path, user_log_path

from engine import InstallationDamaged, __version__
from engine.host import Installation, cache_folder, folder_key, installation_folder, tighten, tighten_cache

_NAME = "outrider"
_LIBRARY_PATH = "LD_LIBRARY_PATH"
_BEFORE = f"{_LIBRARY_PATH}_ORIG"
_AFRESH = "PYINSTALLER_RESET_ENVIRONMENT"
_QT_PATHS = ("QT_PLUGIN_PATH", "QML2_IMPORT_PATH", "QML_IMPORT_PATH")


def settings_path() -> Path:
    """Return the file of the settings, in the user's configuration folder."""
    return user_config_path(_NAME, appauthor=False) / "settings.json"


def data_folder() -> Path:
    """Return the folder of the user's data. It may not exist."""
    return user_data_path(_NAME, appauthor=False)


def log_folder() -> Path:
    """Return the folder of the log. It may not exist."""
    return user_log_path(_NAME, appauthor=False)


def caches_folder(store: Path) -> Path:
    """Return the folder of the stored caches of a store's chats. It may not exist."""
    return cache_folder() / "chats" / folder_key(store)


def texts_folder(store: Path) -> Path:
    """Return the folder for the index of the chats in a store, which replies are drafted from. It may not exist."""
    return cache_folder() / "texts" / folder_key(store)


def tighten_folders() -> None:
    """Take the program's own folders, and the files in them, from all others: earlier versions did not."""
    logs = log_folder()
    # On Linux the log is in a folder of its own within ours, on macOS among those of other programs.
    ours = (logs, logs.parent) if logs.parent.name == _NAME else (logs,)
    tighten(settings_path().parent, data_folder(), *ours)
    tighten_cache()


def is_frozen() -> bool:
    """Return True if this is a frozen program, not run by an installed Python."""
    return installation_folder() is not None


def flavour() -> str:
    """Return a frozen program's flavour: standard, full, or unknown where its manifest is damaged; else none."""
    folder = installation_folder()
    if folder is None:
        return "none"
    try:
        return Installation(folder).flavour
    except InstallationDamaged:
        return "unknown"


def describe(settings: Path | None = None) -> str:
    """Return the output of `--paths`, one `key: value` per line. `settings`: the file in place of the default one."""
    here = Path(__file__).resolve().parents[1] / "__main__.py"
    facts = {
        "version": __version__,
        "frozen": "yes" if is_frozen() else "no",
        "flavour": flavour(),
        "program": sys.executable if is_frozen() else here,
        "resources": files("resources"),
        "settings": settings_path() if settings is None else settings.absolute(),
        "data": data_folder(),
        "logs": log_folder(),
        "cache": cache_folder(),
        "python": platform.python_version(),
    }
    return "".join(f"{key}: {value}\n" for key, value in facts.items())


def restore_environment() -> None:
    """Restore for child programs the library path that this one was started with.

    The bootloader of a frozen program put its own folder in front, kept the value from before under another name, and
    started the program again (PyInstaller's manual, "Launching external programs"; onedir on Linux). Another start of
    the program itself would take the path as set already, so a variable makes it set the path anew. Libraries are
    still found: the loader read the path when this process started.
    """
    if not is_frozen() or sys.platform in ("win32", "darwin"):
        return
    before = os.environ.pop(_BEFORE, None)
    if before is None:
        os.environ.pop(_LIBRARY_PATH, None)
    else:
        os.environ[_LIBRARY_PATH] = before
    os.environ[_AFRESH] = "1"


def forget_qt_paths() -> None:
    """Forget our Qt paths, now that Qt has read them: a Qt program that we start must look for its own plugins."""
    for name in _QT_PATHS:
        if _is_ours(os.environ.get(name, "")):
            del os.environ[name]


def outside_environment() -> dict[str, str]:
    """Return the environment for a program of the system, also if Qt is not running here."""
    return {name: value for name, value in os.environ.items() if name not in _QT_PATHS or not _is_ours(value)}


def _is_ours(value: str) -> bool:
    folder = installation_folder()
    return folder is not None and value.startswith(os.fspath(folder))
