"""Draw a report of `bench` as a picture: speedup and acceptance rate by lookahead.

Drawn with Pillow, which brings its own font: a plotting library would be ten packages for one picture.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import pairwise
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.bench.figures import called, count_threads
from engine.bench.runs import AUTO, NGRAM, PLAIN
from engine.cli.common import write_file
from engine.errors import InvalidRequest, NotAvailable
from engine.system.installation import installation_folder

if TYPE_CHECKING:
    from PIL.ImageDraw import ImageDraw

WIDTH, HEIGHT = 1200, 700
_FINE = 2
"""Drawn so many times larger and made smaller at the end, which smooths edges."""
_LEFT, _RIGHT, _TOP, _BOTTOM = 90, 1095, 118, 610
_INK, _GREY, _GRID = "#1f2430", "#5b6270", "#e3e6eb"
_SPEEDUP, _RATE, _AUTO, _NGRAM = "#1c5fb8", "#c2701c", "#1b7f4d", "#7a4fb0"
_MOST_STEPS = 8
_LONG_TITLE = 80


def prepare_plot(path: Path) -> Callable[[Mapping[str, Any]], None]:
    """Return a function that draws a report into a PNG file; called before the measurement, so that it fails at once.

    Raises NotAvailable where Pillow is not installed, InvalidRequest where the file cannot be written.
    """
    if importlib.util.find_spec("PIL") is None:
        raise NotAvailable("--plot", _advice())
    if path.suffix.lower() != ".png":
        raise InvalidRequest(f"The plot is a PNG file: --plot {path.name} must end in .png.")
    if not path.parent.is_dir() or path.is_dir():
        raise InvalidRequest(f"Cannot write {path}: there is no such folder, or it is a folder itself.")
    return lambda report: draw_plot(report, path)


def _advice() -> str:
    if installation_folder() is not None:
        return (
            "This build of Outrider does not include Pillow, which draws the plot. "
            "Use --json and plot the data elsewhere."
        )
    return 'Pillow, which draws the plot, is not installed. Install it with: pip install "outrider[plot]"'


def draw_plot(report: Mapping[str, Any], path: Path) -> None:
    """Draw a report into a PNG file of 1,200 by 700. Raises InvalidRequest if it cannot be written."""
    from PIL import Image, ImageDraw  # noqa: PLC0415 - an optional extra

    image = Image.new("RGB", (WIDTH * _FINE, HEIGHT * _FINE), "white")
    _Plot(ImageDraw.Draw(image), report).draw()
    picture = BytesIO()
    image.resize((WIDTH, HEIGHT), Image.Resampling.LANCZOS).save(picture, "PNG", optimize=True)
    write_file(path, picture.getvalue())


@dataclass
class _Plot:
    """Draw on a canvas; coordinates are those of the finished picture."""

    canvas: ImageDraw
    report: Mapping[str, Any]

    def __post_init__(self) -> None:
        ways = self.report["ways"]
        self.fixed = [name for name in ways if name not in (AUTO, NGRAM)]
        shown = [row["speedup"] for row in ways.values() if row["speedup"] is not None]
        highest = max([1.0, *(spread["high"] for spread in shown)])
        self.step: float = next(
            step for step in (0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 1e9) if highest * 1.08 / step <= _MOST_STEPS
        )
        self.top: float = self.step * max(2, ceil(highest * 1.08 / self.step))

    def draw(self) -> None:
        """Draw all of the picture."""
        self._title()
        self._axes()
        self._levels()
        rates = [(self._x(i), self._rate_y(rate)) for i, rate in self._rates()]
        self._curve(rates, _RATE, dashed=True)
        for x, y in rates:
            self._box((x - 5, y - 5, x + 5, y + 5), _RATE)
        self._speedups()

    # Where -----------------------------------------------------------------------------------------------------------

    def _x(self, index: int) -> float:
        return _LEFT + (index + 0.5) * (_RIGHT - _LEFT) / len(self.fixed)

    def _y(self, speedup: float) -> float:
        return _BOTTOM - (_BOTTOM - _TOP) * min(speedup / self.top, 1.0)

    def _rate_y(self, rate: float) -> float:
        return _BOTTOM - (_BOTTOM - _TOP) * rate

    def _rates(self) -> list[tuple[int, float]]:
        found = [(index, self.report["ways"][name]["acceptance_rate"]) for index, name in enumerate(self.fixed)]
        return [(index, rate) for index, rate in found if rate is not None]

    # Parts -----------------------------------------------------------------------------------------------------------

    def _title(self) -> None:
        report = self.report
        draft = "n-gram only" if report["draft"] is None else f"draft {report['draft']['name']}"
        settings, machine = report["settings"], report["machine"]
        title = f"Speedup by lookahead: {report['target']['name']}, {draft}"
        size = 24 if len(title) <= _LONG_TITLE else max(12, 24 * _LONG_TITLE // len(title))
        self._text((_LEFT, 22), title, size, _INK)
        threads = count_threads(report["target"]["threads"])
        turns = "1 run" if settings["repeats"] == 1 else f"{settings['repeats']} runs"
        line = (
            f"{machine['processor']}, {threads}; {len(report['prompts'])} prompts, "
            f"{turns}, temperature {settings['sampling']['temperature']:g}"
        )
        self._text((_LEFT, 56), line + ("; PARTIAL" if report["partial"] else ""), 16, _GREY)

    def _axes(self) -> None:
        for number in range(round(self.top / self.step) + 1):
            value = number * self.step
            self._line((_LEFT, self._y(value)), (_RIGHT, self._y(value)), _GRID, 1)
            self._text((_LEFT - 10, self._y(value)), f"{value:g}", 16, _SPEEDUP, "rm")
        for percent in range(0, 101, 20):
            self._text((_RIGHT + 10, self._rate_y(percent / 100)), f"{percent} %", 16, _RATE, "lm")
        for index, name in enumerate(self.fixed):
            self._text((self._x(index), _BOTTOM + 18), "0 (plain)" if name == PLAIN else name, 17, _INK, "mm")
        self._line((_LEFT, _BOTTOM), (_RIGHT, _BOTTOM), _INK, 2)
        self._text(((_LEFT + _RIGHT) / 2, _BOTTOM + 48), "lookahead (draft tokens per round)", 17, _INK, "mm")
        self._text((_LEFT - 60, _TOP - 20), "speedup (plain decoding = 1)", 16, _SPEEDUP, "lm")
        self._text((_RIGHT + 62, _TOP - 20), "acceptance rate", 16, _RATE, "rm")
        note = "points: medians of paired ratios; bars and bands: interquartile range; dashed: acceptance rate"
        self._text(((_LEFT + _RIGHT) / 2, _BOTTOM + 74), note, 15, _GREY, "mm")

    def _levels(self) -> None:
        """Draw auto and n-gram as lines across, their middle half as a pale band; their medians stand above."""
        lines = [(name, colour, self.report["ways"].get(name)) for name, colour in ((AUTO, _AUTO), (NGRAM, _NGRAM))]
        shown = [(name, colour, row["speedup"]) for name, colour, row in lines if row and row["speedup"]]
        for _, colour, spread in shown:
            self._box((_LEFT, self._y(spread["high"]), _RIGHT, self._y(spread["low"])), _pale(colour))
        for _, colour, spread in shown:
            self._line((_LEFT, self._y(spread["median"])), (_RIGHT, self._y(spread["median"])), colour, 3)
        for place, (name, colour, spread) in enumerate(shown):
            self._text((_RIGHT - 460 + 230 * place, 92), f"{called(name)}: {spread['median']:.2f}", 18, colour, "lm")
            self._line((_RIGHT - 500 + 230 * place, 92), (_RIGHT - 468 + 230 * place, 92), colour, 3)

    def _speedups(self) -> None:
        spreads = [(index, self.report["ways"][name]["speedup"]) for index, name in enumerate(self.fixed)]
        known = [(self._x(index), spread) for index, spread in spreads if spread is not None]
        self._curve([(x, self._y(spread["median"])) for x, spread in known], _SPEEDUP)
        for x, spread in known:
            low, high, y = self._y(spread["low"]), self._y(spread["high"]), self._y(spread["median"])
            self._line((x, low), (x, high), _SPEEDUP, 2)
            for end in (low, high):
                self._line((x - 7, end), (x + 7, end), _SPEEDUP, 2)
            self._circle(x, y, 6, _SPEEDUP)
            self._text((x + 12, y - 14), f"{spread['median']:.2f}", 16, _SPEEDUP, "lm", halo=True)

    # Strokes ---------------------------------------------------------------------------------------------------------

    def _curve(self, points: Sequence[tuple[float, float]], colour: str, *, dashed: bool = False) -> None:
        for (x, y), (to_x, to_y) in pairwise(points):
            pieces = max(1, round(((to_x - x) ** 2 + (to_y - y) ** 2) ** 0.5 / 16)) if dashed else 1
            for piece in range(pieces):
                begin, end = piece / pieces, (piece + (0.5 if dashed else 1.0)) / pieces
                start = x + begin * (to_x - x), y + begin * (to_y - y)
                self._line(start, (x + end * (to_x - x), y + end * (to_y - y)), colour, 3)

    def _line(self, begin: tuple[float, float], end: tuple[float, float], colour: str, width: int) -> None:
        points = [value * _FINE for value in (*begin, *end)]
        self.canvas.line(points, colour, width * _FINE)

    def _box(self, box: tuple[float, float, float, float], colour: str) -> None:
        self.canvas.rectangle([value * _FINE for value in box], colour)

    def _circle(self, x: float, y: float, radius: float, colour: str) -> None:
        self.canvas.ellipse([value * _FINE for value in (x - radius, y - radius, x + radius, y + radius)], colour)

    def _text(
        self, place: tuple[float, float], text: str, size: int, colour: str, anchor: str = "la", *, halo: bool = False
    ) -> None:
        from PIL import ImageFont  # noqa: PLC0415 - an optional extra

        font = ImageFont.load_default(size * _FINE)
        where = place[0] * _FINE, place[1] * _FINE
        self.canvas.text(where, text, colour, font, anchor, stroke_width=3 * _FINE * halo, stroke_fill="white")


def _pale(colour: str) -> str:
    """Return a colour of which little is left."""
    parts = (int(colour[start : start + 2], 16) for start in (1, 3, 5))
    return "#" + "".join(f"{255 - (255 - part) // 7:02x}" for part in parts)
