"""Tables are sorted, copied and scrolled sideways; code is numbered, saved and drawn."""

import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.state.markdown.sorting import sorted_rows
from app.system import drawing_child
from app.system.drawing import draw
from app.views.chat.question import QuestionBox
from app.views.markdown.code_bars import CodeBar
from app.views.markdown.code_scroll import LineNumbers
from app.views.markdown.preview import PageQuestion, Preview, kind_of
from app.views.markdown.table_bar import TableBar, TableScroll
from engine import Translatable
from helpers.window.reply_view import Reply

RED = '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="30"><rect width="40" height="30" fill="red"/></svg>'


@pytest.mark.parametrize(
    ("cells", "order"),
    [
        (["10", "9", "", "1,000", "-3 %"], [4, 1, 0, 3, 2]),
        (["$5.50", "€4", "£12"], [1, 0, 2]),
        (["item 10", "Item 9", "b", "A"], [3, 2, 1, 0]),
        (["2024-02-01", "2023-12-31"], [1, 0]),
        (["1.5", "1,2", "x"], [1, 0, 2]),
        (["3,5", "3,25"], [1, 0]),
    ],
)
def test_rows_are_sorted_as_a_person_would(cells: list[str], order: list[int]) -> None:
    assert sorted_rows(cells) == order
    empty = [place for place in order if not cells[place]]
    assert sorted_rows(cells, falling=True) == [*reversed([each for each in order if cells[each]]), *empty]


def test_a_table_is_sorted_and_copied_whole(qapp: QApplication, qtbot: QtBot) -> None:
    reply = Reply(qapp, qtbot)
    rows = "\n".join(f"| name {number} | {number * 37 % 90} | $x_{{{number}}}$ | **b** |" for number in range(90))
    view = reply.finish(f"Before\n\n| a | b | c | d |\n|---|---|---|---|\n{rows}\n\nBehind")
    (bar,) = view.texts[0].bars
    assert isinstance(bar, TableBar)
    assert len(bar.box.frames) > 1, "it was cut"
    height = view.height()
    by_number = next(action for action in bar.make_menu().actions() if action.text() == "b")
    by_number.trigger()
    assert isinstance(bar.over, TableScroll)
    shown = bar.over.toPlainText().split()
    assert shown[:8] == ["a", "b", "c", "d", "name", "0", "0", "\ufffc"]
    assert [int(each) for each in shown if each.isdecimal()][1::2] == sorted(n * 37 % 90 for n in range(90))
    assert abs(bar.over.document().size().height() - bar.over.height()) < 90, "it fits into its place"
    assert bar.over.document().size().height() <= bar.over.height()
    assert view.height() - height < 60
    next(action for action in bar.make_menu().actions() if action.text() == "b").trigger()
    assert "name 17" in bar.over.toPlainText()[:80], "89 is first"
    bar.copy_button.click()
    copied = QGuiApplication.clipboard().text().splitlines()
    assert copied[0] == "a,b,c,d"
    assert copied[1:3] == ["name 0,0,$x_{0}$,b", "name 1,37,$x_{1}$,b"]
    assert len(copied) == 91
    next(action for action in bar.make_menu().actions() if action.text() == "As it was written").trigger()
    assert bar.over is None
    assert view.height() == height


def test_a_wide_table_scrolls_sideways(qapp: QApplication, qtbot: QtBot) -> None:
    reply = Reply(qapp, qtbot)
    words = " | ".join(f"Donaudampfschifffahrt{number}" for number in range(8))
    view = reply.finish(f"| {words} |\n{'|---' * 8}|\n| {words} |\n\nBehind\n\n| a | b |\n|---|---|\n| 1 | 2 |")
    wide, narrow = view.texts[0].bars
    assert isinstance(wide, TableBar)
    assert isinstance(narrow, TableBar)
    qtbot.waitUntil(lambda: wide.over is not None)
    assert isinstance(wide.over, TableScroll)
    assert wide.over.horizontalScrollBar().maximum() > 100, "whatever the font"
    assert wide.over.geometry().bottom() < narrow.y()
    assert view.texts[0].page.horizontalScrollBar().maximum() == 0
    assert wide.over.verticalScrollBar().maximum() == 0
    assert narrow.over is None
    assert not narrow.wrap_button.isVisible()
    wide.wrap_button.click()
    assert wide.over is None
    view.texts[0].page.over = lambda _page, _area: None
    assert wide.over is None


def test_lines_of_code_are_numbered_where_asked(qapp: QApplication, qtbot: QtBot) -> None:
    reply = Reply(qapp, qtbot)
    code = "\n".join(f"line {number}" for number in range(120))
    view = reply.finish(f"```\n{code}\n```")
    (bar,) = view.code_bars
    assert not view.findChildren(LineNumbers)
    layout = view.texts[0].page.document().documentLayout()
    left = layout.blockBoundingRect(bar.box.frame.firstCursorPosition().block())
    bar.numbers_button.click()
    (numbers,) = view.findChildren(LineNumbers)
    assert numbers.isVisible()
    picture = numbers.grab().toImage()
    colors = {picture.pixel(x, y) for x in range(picture.width()) for y in range(40)}
    assert len(colors) > 1, "something is painted"
    bar.copy_button.click()
    assert QGuiApplication.clipboard().text() == code
    bar.numbers_button.click()
    after = (
        view.texts[0].page.document().documentLayout().blockBoundingRect(bar.box.frame.firstCursorPosition().block())
    )
    assert left == after


def test_what_code_describes_is_drawn(qapp: QApplication, qtbot: QtBot) -> None:
    reply = Reply(qapp, qtbot)
    view = reply.finish(f"```svg\n{RED}\n```\n\n```html\n<p>Hi</p>\n```\n\n```python\nx\n```")
    svg, html, python = view.code_bars
    assert [bar.preview_button.isHidden() for bar in (svg, html, python)] == [False, False, True]
    below = html.y()
    svg.preview_button.click()
    qtbot.waitUntil(lambda: isinstance(svg.over, Preview), timeout=30_000)
    assert isinstance(svg.over, Preview)
    picture = svg.over.pixmap().toImage()
    assert picture.pixelColor(20, 15).name() == "#ff0000"
    assert svg.over.height() >= 30
    assert html.y() > svg.over.geometry().bottom()
    assert svg.browser_button.isHidden()
    svg.preview_button.click()
    assert svg.over is None
    assert html.y() == below, "the source is one click away"
    opened: list[str] = []
    html._ask_for_browser()
    (question,) = view.window().findChildren(PageQuestion)
    assert question.isVisible()
    assert not opened
    question.close()


def test_own_messages_have_the_same(qapp: QApplication, qtbot: QtBot) -> None:
    reply = Reply(qapp, qtbot)
    box = QuestionBox(f"| a | b |\n|---|---|\n| 1 | 2 |\n\n```svg\n{RED}\n```", reply.theme)
    qtbot.addWidget(box)
    box.show()
    box.fit_into(500)
    assert [type(each) for each in (*box.findChildren(TableBar), *box.findChildren(CodeBar))] == [TableBar, CodeBar]


@pytest.mark.parametrize(
    ("svg", "reason"),
    [
        (RED.replace("<rect", '<image href="file:///etc/hostname"/><rect'), "outside"),
        (RED.replace("<svg", '<svg xmlns:xlink="http://www.w3.org/1999/xlink"').replace(
            "<rect", '<image xlink:href="http://x.example/a.png"/><rect'), "outside"),
        (RED.replace('fill="red"', 'fill="url(http://x.example/#a)"'), "outside"),
        (RED.replace("<rect", "<style>@import 'http://x.example/a.css';</style><rect"), "outside"),
        (f'<!DOCTYPE svg [<!ENTITY a "b">]>{RED}', "entities"),
        (f'<!DOCTYPE svg SYSTEM "http://x.example/a.dtd" [ ]>{RED}', "entities"),
        (RED.replace("<rect", "<g>" * 20_001 + "</g>" * 20_001 + "<rect"), "elements"),
        (RED.replace("</svg>", ""), "no valid SVG"),
    ],
)  # fmt: skip
def test_a_drawing_that_leads_elsewhere_is_refused(svg: str, reason: str) -> None:
    with pytest.raises(drawing_child.NotDrawn, match=reason):
        drawing_child.checked_svg(svg)
    drawing_child.checked_svg(RED.replace("<rect", '<a href="https://x.example">b</a><rect style="fill:url(#a)"'))


def test_a_page_is_drawn_without_what_it_would_load() -> None:
    page = (
        "<style>b{color:#ff0000}</style><script>document.write('x')</script><b>Ärger 重点</b><img src='file:///etc/x'>"
    )
    asked = {"kind": "html", "width": 300, "scale": 1.0, "seconds": 5.0}
    picture, reason = draw(asked, page)
    assert (picture[:4], reason) == (b"\x89PNG", "")
    nothing, reason = draw(asked, "<script>alert(1)</script>")
    assert nothing == b""
    assert isinstance(reason, Translatable)
    assert "without scripts" in reason


def test_a_diagram_is_drawn() -> None:
    pytest.importorskip("merm")
    asked = {"kind": "mermaid", "width": 600, "scale": 1.0, "seconds": 5.0}
    assert draw(asked, "graph TD\n  A[Start] --> B{Ok?}\n  B -->|yes| C[End]\n")[0][:4] == b"\x89PNG"
    assert draw(asked, "no such thing at all")[1]


def test_what_has_a_preview() -> None:
    told = {
        ("svg", RED): "svg",
        ("xml", f'<?xml version="1.0"?>\n<!-- a -->\n{RED}'): "svg",
        ("html", f" {RED}"): "svg",
        ("HTML", "<p>x"): "html",
        ("xml", "<a/>"): None,
        ("python", RED): None,
        ("svg", "x" * 600_000): None,
    }
    assert {each: kind_of(*each) for each in told} == told
