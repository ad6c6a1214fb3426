"""Define colours as named tokens, for two themes, switched live."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QFont, QFontDatabase, QFontInfo, QPalette
from PySide6.QtWidgets import QApplication, QWidget

from app.settings.settings import Settings
from app.views.widgets.plain_style import use_plain_style

if TYPE_CHECKING:
    import fontpkg_inter  # noqa: F401 - only its fonts are used; what makes installers looks here for what to take along

RADIUS = 8
LINE_HEIGHT = 145
"""Per cent, in replies."""
_NOBODYS = frozenset({"Bitstream Vera Sans", "DejaVu Sans", "Helvetica", "Sans", "Sans Serif"})
"""Families that Qt takes if no desktop has set one."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """Hold the colours of one theme."""

    background: str
    surface: str
    raised: str
    border: str
    text: str
    muted: str
    accent: str
    on_accent: str
    danger: str
    accepted: str
    correction: str
    bonus: str
    unsure: str
    more_unsure: str
    most_unsure: str
    code_keyword: str
    code_name: str
    code_string: str
    code_number: str
    code_comment: str
    code_type: str


LIGHT = Tokens(
    background="#FBFAF8",
    surface="#FFFFFF",
    raised="#F3F1EC",
    border="#E2DED6",
    text="#1E1D1A",
    muted="#6B675F",
    accent="#2F6F5E",
    on_accent="#FFFFFF",
    danger="#B3372F",
    accepted="#DDF0E4",
    correction="#FBE6C8",
    bonus="#DCE7FB",
    unsure="#FFF4C8",
    more_unsure="#FFE6C2",
    most_unsure="#FFE0DA",
    code_keyword="#8A2F6B",
    code_name="#1D5A96",
    code_string="#2C682E",
    code_number="#93450A",
    code_comment="#6B675F",
    code_type="#0E636B",
)
DARK = Tokens(
    background="#171614",
    surface="#1E1D1A",
    raised="#272521",
    border="#37342E",
    text="#ECE9E2",
    muted="#A39E93",
    accent="#6FBFA6",
    on_accent="#171614",
    danger="#E5786F",
    accepted="#1F3A2C",
    correction="#4A3514",
    bonus="#1E3354",
    unsure="#3A3413",
    more_unsure="#4C2F0E",
    most_unsure="#5A241C",
    code_keyword="#DB9FCE",
    code_name="#90BEEA",
    code_string="#A6CB8C",
    code_number="#E6AC7D",
    code_comment="#A39E93",
    code_type="#7DC9CB",
)

LIGHT_CONTRAST = replace(
    LIGHT, background="#FFFFFF", border="#000000", text="#000000", muted="#000000", accent="#0B4A3A", danger="#8A1209"
)
DARK_CONTRAST = replace(
    DARK,
    background="#000000",
    surface="#000000",
    raised="#1E1D1A",
    border="#FFFFFF",
    text="#FFFFFF",
    muted="#FFFFFF",
    accent="#8FE8C8",
    danger="#FFA79F",
)
"""The high-contrast theme, by choice or by the system's setting: no greys, and each line as clear as a text."""


class Theme(QObject):
    """Hold the theme in use: its colours and font size follow the settings.

    Attribute: tokens. Signal: changed().
    """

    changed = Signal()

    def __init__(
        self, app: QApplication, style_sheet: str, icon_folder: str = "", settings: Settings | None = None
    ) -> None:
        super().__init__()
        self._settings = Settings() if settings is None else settings
        self._platform_font = _platform_font(app)
        self._applied: tuple[Tokens, QFont] | None = None
        self._icon_folder = icon_folder
        self._scheme: str | None = None
        self.tokens = LIGHT
        self._app = app
        use_plain_style(app)
        self._template = Template(style_sheet)
        self._hints = app.styleHints()  # Held, both: PySide deletes what it hands out with the last name for it.
        self._access = self._hints.accessibility()
        self._hints.colorSchemeChanged.connect(self._apply)
        self._access.contrastPreferenceChanged.connect(self._apply)
        self.refresh()

    @property
    def mode(self) -> str:
        """Return the theme that is chosen."""
        return self._settings.theme

    @property
    def font_points(self) -> int:
        """Return the size of the font that is chosen, 0 for the platform's."""
        return self._settings.font_points

    def refresh(self) -> None:
        """Apply the settings, if they have changed."""
        if self.mode != self._scheme:
            self._scheme = self.mode
            schemes = {"light": Qt.ColorScheme.Light, "dark": Qt.ColorScheme.Dark}
            self._app.styleHints().setColorScheme(schemes.get(self.mode, Qt.ColorScheme.Unknown))
        self._apply()

    def set_mode(self, mode: str) -> None:
        """Set light, dark, high contrast, or the system's theme; stored."""
        self._settings.theme = mode
        self.refresh()

    @property
    def points(self) -> float:
        """Return the size of the letters that is in use."""
        return self.font_points or self._platform_font.pointSizeF()

    @property
    def scale(self) -> float:
        """Return the size of the font relative to the platform's."""
        return self.points / self._platform_font.pointSizeF()

    def set_font_points(self, points: int) -> None:
        """Use letters of this size; 0 is the platform's. Remembered."""
        self._settings.font_points = points
        self.refresh()

    @property
    def dark(self) -> bool:
        return self._system_is_dark() if self.mode in ("system", "contrast") else self.mode == "dark"

    def _system_is_dark(self) -> bool:
        return self._app.styleHints().colorScheme() == Qt.ColorScheme.Dark

    def _system_wants_contrast(self) -> bool:
        return self._access.contrastPreference() == Qt.ContrastPreference.HighContrast

    def _tokens(self) -> Tokens:
        if self.mode == "contrast" or self._system_wants_contrast():
            return DARK_CONTRAST if self.dark else LIGHT_CONTRAST
        return DARK if self.dark else LIGHT

    def color(self, name: str) -> QColor:
        """Return a token as a colour."""
        return QColor(getattr(self.tokens, name))

    def _apply(self) -> None:
        wanted = (self._tokens(), self._font())
        if wanted == self._applied:
            return
        self._applied = wanted
        self.tokens = wanted[0]
        self._app.setPalette(_palette(self.tokens))
        if wanted[1] != self._app.font():
            self._app.setFont(wanted[1])
        size = self.points
        sizes = {"small": f"{size * 0.92:.2f}pt", "large": f"{size * 1.25:.2f}pt", "huge": f"{size * 1.7:.2f}pt"}
        shade = "dark" if self.dark else "light"
        icons = {
            part: f"{self._icon_folder}/{file}-{shade}.svg" for part, file in (("arrow", "caret"), ("check", "check"))
        }
        sheet = self._template.substitute(asdict(self.tokens), radius=RADIUS, **icons, **sizes)
        self._app.setStyleSheet(sheet)
        self.changed.emit()

    def _font(self) -> QFont:
        font = QFont(self._platform_font)
        font.setPointSizeF(self.points)
        return font


def _platform_font(app: QApplication) -> QFont:
    """Return the font as it was before anybody chose a size; a theme that is made later (in tests) sees the same."""
    name = "platformFont"
    if app.property(name) is None:
        font = app.font()
        if not _NOBODYS.isdisjoint({font.family(), QFontInfo(font).family()}):
            for path in package_folder("fontpkg_inter").glob("files/*.ttf"):
                QFontDatabase.addApplicationFont(str(path))
            font.setFamilies(["Inter", font.family()])
        app.setProperty(name, font)
    font = app.property(name)
    return QFont(font)


def package_folder(name: str) -> Path:
    """Return the folder of an installed package that brings fonts. It is not imported: that takes longer."""
    found = find_spec(name)
    places = None if found is None else found.submodule_search_locations
    return Path(next(iter(places or [])))


def fixed_font() -> QFont:
    """Return the platform's font for code, as large as the text."""
    font = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
    font.setPointSizeF(QApplication.font().pointSizeF())
    return font


class _FixedLetters(QObject):
    """Follow the font size for a widget while it is on the screen."""

    def __init__(self, widget: QWidget) -> None:
        super().__init__(widget)
        self._widget = widget
        # The widget has a font of its own, and hears nothing.
        (widget.parentWidget() or widget).installEventFilter(self)

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        """Fit the letters, as those around the widget have another size."""
        if event.type() == QEvent.Type.FontChange:
            # Not at once: with the style sheet comes the font that the widget had.
            QTimer.singleShot(0, self._widget, self._fit)
        return False

    def _fit(self) -> None:
        self._widget.setFont(fixed_font())


def keep_fixed(widget: QWidget) -> None:
    """Set a widget's font to that for code, always as large as the text."""
    widget.setFont(fixed_font())
    _FixedLetters(widget)


def _palette(tokens: Tokens) -> QPalette:
    role = QPalette.ColorRole
    colors = {
        role.Window: tokens.background,
        role.WindowText: tokens.text,
        role.Base: tokens.surface,
        role.AlternateBase: tokens.raised,
        role.Text: tokens.text,
        role.PlaceholderText: tokens.muted,
        role.Button: tokens.raised,
        role.ButtonText: tokens.text,
        role.BrightText: tokens.danger,
        role.ToolTipBase: tokens.raised,
        role.ToolTipText: tokens.text,
        role.Highlight: tokens.accent,
        role.HighlightedText: tokens.on_accent,
        role.Link: tokens.accent,
        role.LinkVisited: tokens.accent,
        role.Accent: tokens.accent,
        role.Light: tokens.surface,
        role.Midlight: tokens.raised,
        role.Mid: tokens.border,
        role.Dark: tokens.border,
        role.Shadow: tokens.border,
    }
    palette = QPalette()
    for name, color in colors.items():
        palette.setColor(name, QColor(color))
    for name in (role.WindowText, role.Text, role.ButtonText):
        palette.setColor(QPalette.ColorGroup.Disabled, name, QColor(tokens.muted))
    return palette
