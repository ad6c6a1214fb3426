"""The two sides of `startup`: each imports its own needs alone, nothing of the benchmark.

    python benchmarks/window/startup_sides.py program FOLDER | empty

Prints when the window was painted for the first time, in seconds since 1970.
"""

# What is imported here before a side begins is paid by both.
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

PAINTED = "first paint:"


def tell() -> None:
    """It is painted."""
    when = datetime.now(UTC).timestamp()
    print(PAINTED, when, flush=True)
    print(PAINTED, file=sys.stderr, flush=True)


def start_program(folder: str) -> int:
    """The program, as `python -m app` starts it."""
    from app import __main__ as program  # noqa: PLC0415 - what is imported is measured

    arguments = ["--settings", f"{folder}/settings.json", "--conversations", f"{folder}/store.sqlite3"]
    program_run = program._run

    def run(args: Any, installation: Any, claim: Any) -> int:
        # As late as the program itself imports it.
        from app.shell import bootstrap  # noqa: PLC0415 - as above

        original = bootstrap.run
        bootstrap.run = lambda *given, **named: original(*given, **(named | {"script": _until_painted}))
        return program_run(args, installation, claim)

    program._run = run
    return program.main(arguments)


async def _until_painted(program: Any, loop: Any) -> int:
    painted = loop.create_future()

    def note() -> None:
        if not painted.done():
            tell()
            painted.set_result(None)

    program.window.painted.connect(note)
    await painted
    return 0


def start_empty() -> int:
    """A window with an empty plot."""
    import pyqtgraph  # noqa: PLC0415 - what is imported is measured
    from PySide6.QtCore import QTimer  # noqa: PLC0415 - as above
    from PySide6.QtWidgets import QApplication, QMainWindow  # noqa: PLC0415 - as above

    class Plot(pyqtgraph.PlotWidget):  # type: ignore[misc]
        """It covers the window, which is not painted itself."""

        def paintEvent(self, event: Any) -> None:  # noqa: N802 - Qt's name
            super().paintEvent(event)
            QTimer.singleShot(0, end)

    def end() -> None:
        tell()
        application.quit()

    application = QApplication([])
    window = QMainWindow()
    window.resize(1280, 800)
    window.setCentralWidget(Plot())
    window.show()
    return application.exec()


if __name__ == "__main__":
    # Not this folder, but the project's.
    sys.path[0] = str(Path(__file__).resolve().parents[2])
    sys.exit(start_program(sys.argv[2]) if sys.argv[1] == "program" else start_empty())
