"""How formulas are shown: set, on the base line, in the colour of the text; what cannot be set as it was written."""

from collections.abc import Callable, Iterator

import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.system.typesetter import Typesetter, set_formula, typesetter
from app.views.markdown.formula import OBJECT
from helpers.window.reply_view import Reply

MakeReply = Callable[..., Reply]

SET = (
    r"x^2 + y^2 = z^2",
    r"\frac{-b \pm \sqrt{b^2 - 4ac}}{2a}",
    r"\sum_{i=1}^{n} i = \frac{n(n+1)}{2}",
    r"\int_0^\infty e^{-x^2}\,dx = \frac{\sqrt{\pi}}{2}",
    r"\begin{pmatrix} a & b \\ c & d \end{pmatrix}",
    r"\begin{bmatrix} 1 & 2 \\ 3 & 4 \end{bmatrix}^{-1}",
    r"f(x) = \begin{cases} x^2 & \text{if } x > 0 \\ 0 & \text{otherwise} \end{cases}",
    r"\begin{aligned} a &= b + c \\ &= d + e \end{aligned}",
    r"\begin{align*} x &= 1 \\ y &= 2 \end{align*}",
    r"\lim_{x \to 0} \frac{\sin x}{x} = 1",
    r"\mathbb{R}^n \to \mathbb{C}",
    r"\vec{v} \cdot \hat{n} = \|v\| \cos\theta",
    r"\nabla \times \mathbf{E} = -\frac{\partial \mathbf{B}}{\partial t}",
    r"\binom{n}{k} = \frac{n!}{k!(n-k)!}",
    r"\left( \frac{a}{b} \right)^2",
    r"\overline{AB} \perp \underline{CD}",
    r"\underbrace{a + b + c}_{3}",
    r"\prod_{p} \frac{1}{1 - p^{-s}}",
    r"P(A \mid B) = \frac{P(B \mid A)\,P(A)}{P(B)}",
    r"\mathcal{L}(\theta) = -\log p_\theta(x)",
    r"A \subseteq B \implies \forall x \in A,\ x \in B",
    r"\boxed{x = 42}",
    r"\operatorname{softmax}(x)_i",
    r"\det \begin{vmatrix} a & b \\ c & d \end{vmatrix}",
    r"\sqrt[3]{27} = 3",
    r"\mathbf{x}^\top \mathbf{W}",
    r"\lfloor x \rfloor \leq \lceil y \rceil",
    r"O(n \log n)",
    r"x \in \{1, 2\}",
    r"\max_{x \in X} f(x)",
)
SOURCE = (
    r"\foo{x}",
    r"\frac{a}",
    r"x^{",
    r"\left( x",
    r"\ce{H2O}",
    r"\SI{5}{m}",
    r"x \tag{1}",
    r"\color{red}{x}",
    r"\begin{array}{c|c} a & b \\ \hline c & d \end{array}",
    r"\hspace{99999em}x",
    "x = 日本",
)


@pytest.fixture
def make_reply(qapp: QApplication, qtbot: QtBot) -> Iterator[MakeReply]:
    """Replies, each in a window of its own; no formula is left to be set at the end."""

    def make(mode: str = "light") -> Reply:
        return Reply(qapp, qtbot, mode)

    yield make
    qtbot.waitUntil(lambda: not typesetter().works)


@pytest.mark.parametrize("tex", SET)
def test_an_ordinary_formula_is_set(tex: str) -> None:
    """Each has an outline of a size that a person can read."""
    made = set_formula(tex, display=True)
    assert made is not None
    assert 0.4 < made.width < 40
    assert 0.4 < made.ascent + made.descent < 8
    box = made.outline.boundingRect()
    assert abs(box.width() - made.width) < 0.6
    assert box.top() < 0


def test_the_name_of_a_function_stands_by_itself() -> None:
    close, apart = set_formula(r"\det{A}", display=True), set_formula(r"\det A", display=True)
    assert close is not None
    assert apart is not None
    assert apart.width > close.width + 0.1


@pytest.mark.parametrize("tex", SOURCE)
def test_what_cannot_be_set_as_it_is_meant_is_not_set(tex: str) -> None:
    """Half of a formula would be another formula."""
    assert set_formula(tex, display=True) is None


def test_the_text_has_formulas_and_copies_their_source(make_reply: MakeReply) -> None:
    """Byte for byte, as the model wrote it."""
    text = "\n\n".join(f"Number {n}: ${tex}$ and\n\\[\n{tex}\n\\]" for n, tex in enumerate((*SET[:8], *SOURCE[:5])))
    reply = make_reply()
    page = reply.finish(text).texts[0].page
    assert page.toPlainText().count(OBJECT) == 2 * len(SET[:8])
    page.selectAll()
    page.copy()
    copied = QGuiApplication.clipboard().text()
    for tex in (*SET[:8], *SOURCE[:5]):
        assert f"${tex}$" in copied
        assert f"\\[\n{tex}\n\\]" in copied
    assert OBJECT not in copied + reply.shown


def test_streamed_and_at_once_look_the_same(make_reply: MakeReply) -> None:
    """Whatever pieces they come in."""
    text = "A $\\frac{a}{b}$ b.\n\n$$\nx = 1\n- 2\n$$\n\n| $x$ | b |\n|---|---|\n| $y^2$ | c |\n\nEnd $z$."
    at_once, streamed = make_reply(), make_reply()
    at_once.finish(text)
    streamed.stream(text)
    streamed.finish(text)
    assert streamed.shown == at_once.shown
    assert streamed.view.height() == at_once.view.height()
    assert streamed.view.texts[0].page.toPlainText() == at_once.view.texts[0].page.toPlainText()


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_a_formula_has_the_colour_of_the_text_and_its_base_line(make_reply: MakeReply, mode: str) -> None:
    """Its letters stand where those around it do."""
    reply = make_reply(mode)
    view = reply.finish("$x x x$\n\nxxx")
    picture = view.grab().toImage()
    text, behind = reply.theme.color("text").lightness(), reply.theme.color("background").lightness()
    page = view.texts[0].page
    block = page.document().firstBlock()
    line = block.layout().lineAt(0)
    baseline = page.document().documentLayout().blockBoundingRect(block).top() + line.y() + line.ascent()
    inked = [
        y
        for y in range(int(baseline) + 8)
        if any(abs(picture.pixelColor(x, y).lightness() - text) < 60 for x in range(60))
    ]
    assert abs(text - behind) > 120
    assert inked
    assert abs(inked[-1] + 1 - baseline) <= 1.5


def test_a_formula_that_takes_too_long_holds_up_nothing_else(
    make_reply: MakeReply, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a while its source is shown."""
    monkeypatch.setattr("app.views.markdown.text._PATIENCE_S", 0.1)
    monkeypatch.setattr(Typesetter, "is_known", lambda *_args, **_words: False)
    monkeypatch.setattr(Typesetter, "formula", lambda *_args, **_words: None)
    reply = make_reply()
    assert reply.finish("It is $x = 1$.\n\nEnd.").toPlainText() == "It is $x = 1$.\nEnd."
