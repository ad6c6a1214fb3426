"""The steps of a walk through the program; each one ends when a person sees what it is for."""

import json
import time
from pathlib import Path

from helpers.window.walker import Part, Walker

STORY = "Tell me a story about a shy dragon."
OTHER_STORY = "Tell me a bedtime story about a sleepy bear."
CODE = "Write a Python function that counts the vowels of a word."
TABLE = "Make a table of countries and their capital."
BEFORE, AFTER = "Previous version of your message", "Next version of your message"


class Walk:
    """The steps. Each one ends when a person sees what it is for."""

    def __init__(self, walker: Walker, folder: Path, pictures: Path | None, look: str) -> None:
        self.walker = walker
        self.folder = folder
        self._pictures = pictures
        self._look = look

    def shot(self, number: int, step: str, window: str = "") -> None:
        """Keep a picture of this step, where pictures are wanted: of the screen, or of one window."""
        if self._pictures is not None:
            time.sleep(0.25)  # the plots are drawn at 10 Hz
            self.walker.shot(self._pictures / f"{number:02}-{step}-{self._look}.png", window)

    def welcome(self, theme: str) -> None:
        """An empty home: what the two models do, then a greeting, the bundled pair, no conversation."""
        walker = self.walker
        walker.reads("Two models, one text")
        self.shot(0, "first-start")
        walker.click("Try the demo pair")
        walker.reads("What would you like to talk about?")
        assert walker.find("Target", kind="Picker").text.startswith("demo-target")
        assert self.conversations() == []
        walker.click("Settings")
        walker.find(kind="row", name="Theme: follow system")
        self.shot(1, "menu")
        walker.click(kind="row", name=f"Theme: {theme}")
        walker.wait(lambda: not walker.sees(kind="row", name="Theme: follow system"), "the menu closed")
        walker.wait(lambda: not walker.sees(object="progress"), "the models loaded")
        walker.move(5, 5)
        self.shot(2, "welcome")

    def choose_folder(self) -> None:
        """A models folder is added to the library, in the file dialog."""
        walker = self.walker
        walker.click("Models and model folders")
        walker.click("Add folder…", window="Models")
        walker.answer("Add a model folder", self.folder)
        walker.click("Close", window="Models")
        self.pick("Target", "my-target")
        self.pick("Draft", "my-draft")
        self.pick("Lookahead", "4")

    def pick(self, picker: str, words: str) -> None:
        """Choose the line of a picker with these words."""
        walker = self.walker

        def line() -> Part | None:
            rows = walker.all(kind="row", window="", on=True)
            if not rows:
                walker.click(picker, kind="Picker")
            return next((part for part in rows if words in part.name.split(" · ")), None)

        found: Part = walker.wait(line, f"{words} in {picker}")
        walker.hover(found)
        if " " not in picker:
            self.shot(3, f"picker-{picker.lower()}")
        walker.click_on(found)
        walker.wait(lambda: words in walker.find(picker, kind="Picker").text, f"{picker}: {words}")

    def ask(self, question: str, count: int = 1) -> None:
        """Type a question; wait for the whole reply, which is the one with this number in the conversation."""
        walker = self.walker
        walker.click(object="prompt")
        walker.type(question)
        walker.wait(lambda: walker.find(object="prompt").text == question, "the question in the box")
        walker.key("Return")
        self.replied(question, count)

    def replied(self, question: str, count: int = 1) -> None:
        """Wait for question and reply with figures; nothing is being written any more."""
        walker = self.walker
        walker.find(object="questionText", text=question)
        walker.wait(lambda: len(self.figures()) >= min(count, 2), "the figures under the reply")
        walker.find("Send")
        assert all(" tok/s · " in words for words in self.figures())

    def figures(self) -> list[str]:
        """The lines under the replies that can be seen."""
        return [part.text for part in self.walker.all(object="summary") if "accepted" in part.text]

    def replies(self) -> list[str]:
        """The texts of the replies that can be seen."""
        return [part.text for part in self.walker.all(object="replyText") if part.text]

    def conversations(self) -> list[str]:
        """The titles at the left, with the headings."""
        window = "Outrider"
        return [part.name for part in self.walker.all(kind="row", window=window)]

    def _cards_of(self, line: int, spots: range) -> dict[str, list[tuple[float, int]]]:
        """What the cards of a line of tokens say, and where."""
        seen: dict[str, list[tuple[float, int]]] = {}
        for spot in spots:
            self.walker.move(spot, line)
            told = self.card()
            if told is not None:
                seen.setdefault(told[0], []).append((told[1], spot))
        return seen

    def colors(self) -> None:
        """Coloured tokens: a legend, and a card about the token under the mouse."""
        walker = self.walker
        walker.click("Colour tokens")
        legend = walker.wait(lambda: [part.name for part in walker.look() if part.kind == "TokenLegend"], "the legend")
        assert legend[-1].startswith("accepted ")
        assert "correction" in legend[-1]
        text = walker.find("Reply")
        x, y, width, height = text.place
        seen: dict[str, list[tuple[float, int]]] = {}
        for line in (y + height // 2 + beside for beside in (0, 22, -22, 44, -44)):
            seen = self._cards_of(line, range(x + 30, x + width - 30, 20))
            if {"correction by the target", "accepted from the draft"} <= set(seen):
                break
        assert {"correction by the target", "accepted from the draft"} <= set(seen)
        walker.move(min(seen["accepted from the draft"])[1], line)
        walker.reads("accepted from the draft")
        assert "The target's best tokens" in walker.texts()
        self.shot(5, "colours")
        walker.move(x + 5, y - 20)
        walker.wait(lambda: not walker.sees(object="tokenCard"), "the card gone")

    def card(self) -> tuple[str, float] | None:
        """What the card tells: whence its token came, and the target's probability in per cent; None: no card."""
        parts = self.walker.look()
        cards = [part for part in parts if part.object == "tokenCard"]
        if not cards:
            return None
        left, top, width, height = cards[0].place
        inside = [
            part
            for part in parts
            if left < part.place[0] < left + width and top < part.place[1] < top + height and part.text
        ]
        whence = next(part.text for part in inside if part.object == "caption")
        target = next(part.text for part in inside if part.object == "counterValue")
        return whence.partition(" · ")[0], float(target.strip("<% "))

    def plain_text(self) -> None:
        """No colours any more."""
        walker = self.walker
        walker.click("Colour tokens")
        walker.wait(lambda: all(part.kind != "TokenLegend" for part in walker.look()), "replies without colours")

    def compare(self, turns: int = 15, seconds: float = 40.0, prompt: str = STORY) -> None:
        """Plain against speculative; both say the same."""
        walker = self.walker
        walker.key("ctrl+shift+c")
        title = "Compare plain and speculative decoding"
        walker.find("Prompt", window=title, text=prompt)
        self.pick("Runs: how often each mode answers the prompt", str(turns))
        walker.click("Start", window=title)
        walker.wait(lambda: walker.sees("Copy as text", on=True), "the end of the comparison", seconds)
        assert "identical, 96 of 96 tokens" in walker.find("Outputs").text
        walker.move(5, 5)
        self.shot(6, "compare", title)
        walker.click("Close", window=title)
        walker.wait(lambda: not walker.sees(window=title), "the dialog closed")

    def sweep(self) -> None:
        """Every lookahead; the picker takes the best."""
        walker = self.walker
        walker.key("ctrl+shift+l")
        title = "Lookahead sweep"
        walker.click("Start", window=title)
        walker.wait(lambda: walker.sees("Copy as text", on=True), "the end of the sweep", 60.0)
        walker.move(5, 5)
        self.shot(7, "sweep", title)
        walker.key("Escape")
        walker.wait(lambda: not walker.sees(window=title), "the dialog closed")

    def edit(self) -> None:
        """Ask something else instead; go back to what was there before, and on again."""
        walker = self.walker
        before = self.replies()
        walker.hover(walker.find(object="questionText", text=STORY))
        walker.click("Edit and send again")
        walker.find("Edit your message", text=STORY)
        walker.key("ctrl+a")
        walker.type(OTHER_STORY)
        self.shot(8, "edit")
        walker.key("Return")
        self.replied(OTHER_STORY)
        after = self.replies()
        assert after != before
        walker.find("Version 2 of 2")
        self.shot(9, "branch")
        walker.click(BEFORE)
        walker.find("Version 1 of 2")
        walker.wait(lambda: self.replies() == before, "the reply from before")
        walker.click(AFTER)
        walker.wait(lambda: self.replies() == after, "the reply to the other question")

    def regenerate(self, question: str = OTHER_STORY, places: int = 2) -> None:
        """Another reply to the same question, beside the first; then so many places have two versions."""
        walker = self.walker
        walker.hover(walker.find(object="replyText"))
        walker.click("Generate another reply")
        walker.wait(lambda: len(walker.all("Version 2 of 2")) == places, "two versions of the reply")
        self.replied(question)

    def second_conversation(self) -> None:
        """A new chat, with code and a table."""
        walker = self.walker
        walker.click("New chat")
        walker.reads("What would you like to talk about?")
        self.plain_text()
        self.ask(CODE)
        walker.reads("def count_vowels")
        assert "```" not in walker.texts(), "Markdown is drawn, not shown"
        self.ask(TABLE, 2)
        assert len(self.conversations()) == 3, "a heading and two conversations"
        walker.move(5, 5)
        self.shot(10, "markdown")

    def search(self) -> None:
        """What is said in a conversation finds it."""
        walker = self.walker
        walker.key("ctrl+f")
        walker.type("sleepy")
        walker.wait(lambda: len(self.conversations()) == 1, "one conversation found")
        self.shot(11, "search")
        walker.click(kind="row", window="Outrider")
        walker.find(object="questionText", text=OTHER_STORY)
        walker.key("ctrl+f", "Escape", "Escape")
        walker.wait(lambda: len(self.conversations()) == 3, "all conversations again")

    def rename(self, title: str, typed: str = "") -> None:
        """Another title, from the menu of the conversation. `typed`: what is typed, where that is longer."""
        self.menu(STORY, "Rename", picture=True)
        self.walker.find("Title")
        self.walker.key("ctrl+a")
        self.walker.type(typed or title)
        self.walker.key("Return")
        self.walker.wait(lambda: any(name.startswith(title) for name in self.conversations()), title)

    def menu(self, conversation: str, words: str, *, picture: bool = False) -> None:
        """Choose this from the menu of the conversation."""
        walker = self.walker
        rows = walker.wait(
            lambda: [part for part in walker.all(kind="row") if part.name[:12] == conversation[:12]], conversation
        )
        walker.click_on(rows[0], button=3)
        walker.hover(walker.find(kind="row", name=words))
        if picture:
            self.shot(12, "conversation-menu")
        walker.click(kind="row", name=words)

    def export(self, title: str) -> None:
        """As Markdown and as JSON, into files."""
        markdown, data = self.folder.parent / "chat.md", self.folder.parent / "chat.json"
        for words, path in (("Export as Markdown…", markdown), ("Export as JSON…", data)):
            self.menu(title, words)
            self.walker.answer("Export the chat", path)
            self.walker.wait(path.is_file, str(path))
        text = markdown.read_text("utf-8")
        assert title in text
        assert OTHER_STORY in text
        assert self.replies()[-1].splitlines()[-1] in text
        messages = json.loads(data.read_text("utf-8"))["messages"]
        questions = [message["text"] for message in messages if message["role"] == "user"]
        assert questions == [STORY, OTHER_STORY]
        assert len(messages) == 5, "two questions, three replies"

    def quit(self) -> None:
        """Ctrl+Q ends it."""
        self.walker.key("ctrl+q")
        ended = self.walker.ended()
        assert ended[:2] == (0, ""), ended

    def reopen(self, title: str) -> None:
        """Everything is there again: the conversation with its versions, models, colours, theme."""
        walker = self.walker
        walker.start()
        walker.find(object="questionText", text=OTHER_STORY)
        walker.wait(lambda: len(walker.all("Version 2 of 2")) == 2, "the versions")
        assert title in self.conversations()
        assert walker.find("Target", kind="Picker").text.startswith("my-target")
        assert walker.find("Lookahead", kind="Picker").text == "4"
        self.shot(13, "reopened", "Outrider")
