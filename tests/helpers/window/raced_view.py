"""A race that is over, in a window of its own."""

from pytestqt.qtbot import QtBot

from app.state.compare.race import Race, RaceMark
from app.views.compare.race import RaceView
from app.views.widgets.theme import Theme


def raced_view(theme: Theme, qtbot: QtBot, names: tuple[str, str]) -> RaceView:
    """Show a race of one token each, which both have written; wait until it stands still."""
    race = Race()
    for lane, seconds in ((0, 0.4), (1, 0.2)):
        race.take(RaceMark(lane, seconds / 2, "zzz", 1))
        race.take(RaceMark(lane, seconds, "", 1, over=True))
    view = RaceView(theme)
    qtbot.addWidget(view)
    view.show_race(race, names, sampled=False, free=True)
    view.show()
    qtbot.waitUntil(lambda: bool(view.outcome.text()))
    return view
