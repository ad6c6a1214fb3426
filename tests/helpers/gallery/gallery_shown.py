"""The scenes of a gallery that a person would film: formulas, a reply being edited, servers, the race while it runs."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Qt

from app.shell.compare_windows import CompareWindows
from app.shell.program import Program
from app.state.chat.transcript import Exchange
from app.state.compare.compare import PLAIN
from app.state.compare.race import Race, RaceMark
from app.words.compare import way_words
from engine import GenerationResult, GenerationStats, Translatable
from helpers.gallery.gallery_tools import Gallery, press, until, view_of

FORMULAS = r"""The roots of $ax^2 + bx + c = 0$ are

$$x = \frac{-b \pm \sqrt{b^2 - 4ac}}{2a}$$

A matrix and its determinant, and a function in cases:

\[ A = \begin{pmatrix} a & b \\ c & d \end{pmatrix}, \quad \det A = ad - bc \]

$$f(x) = \begin{cases} x^2 & \text{if } x > 0 \\ 0 & \text{otherwise} \end{cases}$$

\begin{align*} a &= b + c \\ &= d + e \end{align*}

- Within a list: $\sum_{i=1}^{n} i = \frac{n(n+1)}{2}$, and \(\alpha \le \beta\).
- It costs $5, not $10; `$HOME` is a folder, and so is $PATH.

| name | formula |
|:--|--:|
| limit | $\lim_{x \to 0} \frac{\sin x}{x} = 1$ |
| Gauss | $\int_0^\infty e^{-x^2}\,dx = \frac{\sqrt{\pi}}{2}$ |

What cannot be set stays: $\ce{H2O}$.
"""
_STORY = " Once upon a time there was a shy dragon who lived in a cave beside the sea, and nobody knew his name."


async def replies(program: Program, gallery: Gallery) -> None:
    """What else replies can be."""
    await edited_reply(program, gallery)
    await formulas(program, gallery)


async def dialogs(program: Program, gallery: Gallery) -> None:
    """Servers and the race."""
    await servers(program, gallery)
    await race(program, gallery)


async def formulas(program: Program, gallery: Gallery) -> None:
    """A reply with mathematics, from its beginning and from its end."""
    transcript = program.window.transcript
    exchange = Exchange("How are the roots of $ax^2 + bx + c$ found? It costs $5.")
    transcript.add(exchange)
    exchange.add("", [("content", FORMULAS)])
    stats = GenerationStats()
    exchange.end(GenerationResult("", (), 1, 1, "stop", "plain", 0, stats, 0, FORMULAS, "", ()))
    transcript.end(exchange)
    view = transcript.view_of(exchange)
    assert view is not None
    await until(lambda: view.reply.is_settled)
    transcript.jump_to_end()
    bar = transcript.verticalScrollBar()
    await gallery.shot("formulas-end")
    bar.setValue(bar.value() - round(0.8 * transcript.viewport().height()))
    await gallery.shot("formulas")
    transcript.show_all(program.controller.transcript.entries)


async def edited_reply(program: Program, gallery: Gallery) -> None:
    """A reply that is being written anew by a person."""
    view = view_of(program)
    view.build_actions()
    view.reply_actions.button("edit").click()
    assert view.reply_editor is not None
    await gallery.shot("edit-reply")
    press(Qt.Key.Key_Escape)
    assert view.reply_editor is None


async def servers(program: Program, gallery: Gallery) -> None:
    """The page of the local server, off, on and refused; the dialog for another server, asking, refused and found."""
    window = program.window
    window.commands.run("program.settings")
    await until(gallery.others)
    dialog: Any = gallery.others()[0]
    dialog.open_at("server")
    await gallery.shot("settings-server", dialog)
    dialog.server.show_state("http://127.0.0.1:8080", "")
    await gallery.shot("settings-server-on", dialog)
    taken = {"host": "127.0.0.1", "port": "8080", "reason": "Address already in use"}
    words = Translatable("Cannot listen on {host}, port {port}: {reason}. Choose another port.", **taken)
    dialog.server.show_state("", words)
    await gallery.shot("settings-server-problem", dialog)
    dialog.close()
    await gallery.front()
    window.commands.run("models.server")
    await until(gallery.others)
    asked: Any = gallery.others()[0]
    await gallery.shot("add-server", asked)
    asked.address.setText("http://localhost:8080")
    asked.show_problem("No server answers at http://localhost:8080. Is it running, and is the port right?")
    await gallery.shot("add-server-problem", asked)
    asked.show_found("http://localhost:8080", ["publisher/Lama-8B-Instruct-GGUF", "other"], "llama.cpp")
    await gallery.shot("add-server-found", asked)
    asked.close()
    await gallery.front()


async def race(program: Program, gallery: Gallery) -> None:
    """A race while both columns move, and when it is over."""
    windows = program.window.findChild(CompareWindows)
    assert windows is not None
    program.window.commands.run("proof.compare")
    dialog: Any = windows.dialogs["compare"]
    ran = Race()
    words = _STORY.split(" ")[1:] * 8
    for lane, pace in ((0, 0.02), (1, 0.01)):
        for number, word in enumerate(words, 1):
            ran.take(RaceMark(lane, number * pace, f" {word}", number, over=number == len(words)))
    names = way_words(PLAIN), way_words("4")
    view = dialog.race
    view.show_race(ran, names, sampled=False, free=True)
    await until(lambda: view.field.seconds is not None and view.field.seconds > ran.seconds / 3)
    await gallery.shot("race-running", dialog)
    await until(lambda: bool(view.outcome.text()))
    await gallery.shot("race-over", dialog)
    view.show_race(None, names, sampled=False, free=True)
    dialog.close()
    await gallery.front()
