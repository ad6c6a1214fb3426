"""Markdown into nodes, code into parts, a reply into thoughts and what it says: without Qt."""

import random
import subprocess
import sys
from importlib import import_module
from time import thread_time

import pytest

from app.state.chat.thoughts import ReplyPiece, Thoughts
from app.state.markdown.blocks import MarkdownBlocks
from app.state.markdown.code_colors import LEXER_MODULES, LONGEST_LINE, language_name, parts
from app.state.markdown.parser import (
    Code,
    Node,
    Paragraph,
    Table,
    ThematicBreak,
    is_safe_link,
    parse,
    visible,
    visible_code,
)


def text_of(nodes: list[Node]) -> str:
    found = []
    for node in nodes:
        match node:
            case Paragraph():
                found.append("".join(run.text for run in node.runs))
            case Code():
                found.append(node.text)
            case Table():
                found += ["".join(run.text for run in cell) for row in node.rows for cell in row]
            case ThematicBreak():
                pass
    return "\n".join(found)


def only(markdown: str) -> Paragraph:
    """The one paragraph of a text."""
    (node,) = parse(markdown)
    assert isinstance(node, Paragraph)
    return node


def test_looks() -> None:
    runs = {run.text: run for run in only("a **b *c*** ~~d~~ `e *f*`").runs}
    assert runs["b "].bold
    assert not runs["b "].italic
    assert runs["c"].bold
    assert runs["c"].italic
    assert runs["d"].struck
    assert runs["e *f*"].code


def test_lists() -> None:
    nodes = parse("3. three\n4. four\n   - inner\n\n     more\n- [x] done\n- [ ] to do\n")
    items = [(node.depth, node.item) for node in nodes if isinstance(node, Paragraph)]
    assert [depth for depth, _ in items] == [1, 1, 2, 2, 1, 1]
    assert [item.number if item else "none" for _, item in items] == [3, 3, None, "none", None, None]
    assert [item.task for _, item in items if item] == [None, None, None, True, False]


def test_headings_quotes_rules_and_code() -> None:
    nodes = parse("## Two\n\n> a\n>> b\n\n---\n\n    x  y\n\n- a\n  ```py\n  z\n  ```\n")
    assert [type(node).__name__ for node in nodes] == [
        *("Paragraph", "Paragraph", "Paragraph", "ThematicBreak", "Code", "Paragraph", "Code")
    ]
    assert [node.level for node in nodes if isinstance(node, Paragraph)] == [2, 0, 0, 0]
    assert [node.quotes for node in nodes if isinstance(node, Paragraph)] == [0, 1, 2, 0]
    assert [(n.text, n.language, n.depth) for n in nodes if isinstance(n, Code)] == [
        ("x  y\n", "", 0),
        ("z\n", "py", 1),
    ]


def test_tables() -> None:
    (table,) = parse("| a | b | c |\n|:--|:-:|--:|\n| 1 | **2** |\n")
    assert isinstance(table, Table)
    assert table.alignments == ("left", "center", "right")
    assert [[("".join(run.text for run in cell)) for cell in row] for row in table.rows] == [
        ["a", "b", "c"],
        ["1", "2", ""],
    ]
    assert table.rows[1][1][0].bold


def test_lines_stay_lines() -> None:
    assert text_of(parse("one\ntwo  \nthree")) == "one\N{LINE SEPARATOR}two\N{LINE SEPARATOR}three"


@pytest.mark.parametrize(
    "address",
    [
        *(
            "javascript:alert(1)",
            "file:///etc/passwd",
            "data:text/html;base64,xx",
            "//host/x",
            "x.md",
            "#here",
            "ftp://h/",
        ),
        *("JAVASCRIPT:a", "vbscript:x", "java\tscript:a", "https:", "http:///x", "smb://h/x", "outrider:x"),
    ],
)
def test_other_addresses_are_no_links(address: str) -> None:
    for markdown in (f"[a]({address})", f"<{address}>", f"![a]({address})", f"[a]\n\n[a]: {address}"):
        nodes = parse(markdown)
        assert not any(run.link for node in nodes if isinstance(node, Paragraph) for run in node.runs)
    assert not is_safe_link(address)


@pytest.mark.parametrize(
    ("markdown", "link", "text"),
    [
        ("[a](https://b.c/d?e=1)", "https://b.c/d?e=1", "a"),
        ("<http://b.c>", "http://b.c", "http://b.c"),
        ("<me@b.c>", "mailto:me@b.c", "me@b.c"),
        ("see https://b.c/d_(e).", "https://b.c/d_(e)", "https://b.c/d_(e)"),
        ("(https://b.c/d)", "https://b.c/d", "https://b.c/d"),
        # Cyrillic letters, of which all look like Latin ones.
        (
            "https://\u0430\u0440\u0440\u04cf\u0435.com/ä",
            "https://xn--80ak6aa92e.com/ä",
            "https://xn--80ak6aa92e.com/ä",
        ),
        ("<https://\u0430\u0440\u0440\u04cf\u0435.com>", "https://xn--80ak6aa92e.com", "https://xn--80ak6aa92e.com"),
        ("[x](https://\u0430\u0440\u0440\u04cf\u0435.com)", "https://xn--80ak6aa92e.com", "x"),
        ("![a cat](http://b.c/d.png)", "http://b.c/d.png", "[a cat]"),
    ],
)
def test_links_and_pictures(markdown: str, link: str, text: str) -> None:
    (run,) = [run for run in only(markdown).runs if run.link]
    assert (run.link, run.text) == (link, text)


def test_html_is_text() -> None:
    html = '<script src="http://a.b/c.js">alert(1)</script>\n<img src=x onerror=alert(1)>'
    assert text_of(parse(html)).replace("\N{LINE SEPARATOR}", "\n") == html
    assert text_of(parse("&lt;b&gt; <b>x</b>")) == "<b> <b>x</b>"


def test_definitions_are_shown() -> None:
    assert text_of(parse("[a][x]\n\n[x]: https://b.c")) == "[a][x]\n[x]: https://b.c"


def test_control_characters_are_told() -> None:
    assert visible("a\0b\x07c\ufdd0\ud800\u202e") == "a\ufffdb\ufffdc\ufffd\ufffd\ufffd"
    assert visible_code("x\u2066y\u2028z\r\n\t") == "x\ufffdy\ufffdz\n\t"
    assert text_of(parse("\N{ARABIC LETTER ALEF}\u200d\u200f")) == "\N{ARABIC LETTER ALEF}\u200d\u200f"


HOSTILE = [
    *(sign * 3_000 for sign in "`*_[]!|<>&~\\-+#("),
    *(signs * 1_000 for signs in ("![", "[a](", "> ", "- ", "1. ", "*a ", "**a*", "[[]", "<a ", "a**b_", "]]", "a|")),
    "".join(f"{'  ' * depth}- a\n" for depth in range(80)),
    "".join(f"{'>' * depth} a\n" for depth in range(80)),
    "|" + "a|" * 200 + "\n|" + "-|" * 200 + "\n" + ("|" + "x|" * 200 + "\n") * 4,
    "- *a* [b](http://c.d)\n" * 150,
]


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: text[:6].strip())
def test_no_block_takes_long_and_nothing_is_lost(text: str) -> None:
    parse("warm up")
    cutter = MarkdownBlocks()
    blocks = cutter.push(text) + cutter.finish()
    slowest = 0.0
    shown = ""
    for block in blocks:
        times, nodes = [], list[Node]()
        for _ in range(3):
            before = thread_time()
            nodes = parse(block.text)
            times.append(thread_time() - before)
        slowest = max(slowest, min(times))
        shown += text_of(nodes)
    # Eight milliseconds on a quiet machine.
    assert slowest < 0.08
    assert shown.count("a") >= text.count("a") * 0.9 or set(text) <= set("a|-\nx")


@pytest.mark.parametrize("sign", ["> ", ">", "- ", "* ", "[", "*", "1. "])
def test_ten_thousand_deep(sign: str) -> None:
    cutter = MarkdownBlocks()
    text = sign * 10_000 + "end"
    shown = "".join(text_of(parse(block.text)) for block in cutter.push(text) + cutter.finish())
    assert "end" in shown


def test_code_in_parts() -> None:
    found = [(part, text) for part, text in parts('def f():\n    return "a"  # b', "python title=x") if text.strip()]
    assert ("keyword", "def ") in found
    assert ("name", "f") in found
    assert ("string", '"a"  ') in found
    assert ("comment", "# b") in found


@pytest.mark.parametrize("language", ["python", "c++", "js", "html", "yaml", "diff", "bash", "nothing such", ""])
def test_no_character_is_lost(language: str) -> None:
    draw = random.Random(1)
    for _ in range(20):
        code = "".join(draw.choice("ab=({[<\"'/*#\\$@\n\r\t- :é\u202e\0") for _ in range(400))
        assert "".join(text for _, text in parts(code, language)) == code


def test_languages_are_not_guessed() -> None:
    assert language_name("{.python .numberLines}") == "python"
    assert any(part for part, _ in parts("fn main() {}", "Rust,ignore"))
    assert not any(part for part, _ in parts("fn main() {}", "nonsense"))
    assert list(parts("def f(): pass", "")) == [("", "def f(): pass")]
    for module in LEXER_MODULES:
        import_module(module)


def test_hostile_code_stays_plain() -> None:
    line = "x" * (LONGEST_LINE + 1)
    assert list(parts(line, "c")) == [("", line)]
    assert list(parts("\n" * 2_500, "c")) == [("", "\n" * 2_500)]
    for language in ("c", "csharp", "java", "javascript", "python"):
        code = "a\n" * 1_250
        list(parts("a", language))
        before = thread_time()
        assert "".join(text for _, text in parts(code, language)) == code
        assert thread_time() - before < 1.0


def test_nothing_is_imported_before_it_is_needed() -> None:
    code = (
        "import sys, app.views.markdown.reply;"
        "print([m for m in sys.modules if m.startswith(('markdown_it', 'pygments'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def split(text: str, pieces: list[str] | None = None) -> list[tuple[str, str]]:
    """What happens in a reply; neighbours of one kind are joined."""
    thoughts = Thoughts()
    found: list[ReplyPiece] = []
    for part in pieces or [text]:
        found += thoughts.push(part)
    joined: list[tuple[str, str]] = []
    for piece in found + thoughts.finish():
        if joined and piece.text and joined[-1][0] == piece.what:
            joined[-1] = (piece.what, joined[-1][1] + piece.text)
        else:
            joined.append((piece.what, piece.text))
    return [(what, text.strip()) for what, text in joined]


THOUGHTS = {
    "<think>\nhm\n</think>\n\nYes": [("begins", ""), ("thought", "hm"), ("ends", ""), ("said", "Yes")],
    "<think>a</think>b": [("begins", ""), ("thought", "a"), ("ends", ""), ("said", "b")],
    "<think>\nnever": [("begins", ""), ("thought", "never"), ("ends", "")],
    "hm\n</think>\nYes": [("said", "hm"), ("was thought", ""), ("said", "Yes")],
    "a <think> b": [("said", "a <think> b")],
    "say `</think>` to end": [("said", "say `</think>` to end")],
    "```\n<think>\n</think>\n```\nx": [("said", "```\n<think>\n</think>\n```\nx")],
    "<thinker": [("said", "<thinker")],
    "Close it with </think> and go on": [("said", "Close it with </think> and go on")],
    "a </think>": [("said", "a </think>")],
    "hm </think> \nYes": [("said", "hm"), ("was thought", ""), ("said", "Yes")],
    "hm.</think>Yes": [("said", "hm."), ("was thought", ""), ("said", "Yes")],
    "<x><think> and </think>, both": [("said", "<x><think> and </think>, both")],
    '{"a": "</think>"}': [("said", '{"a": "</think>"}')],
    "<think>\nx\n</thin": [("begins", ""), ("thought", "x\n</thin"), ("ends", "")],
}


@pytest.mark.parametrize("text", THOUGHTS)
def test_thoughts(text: str) -> None:
    assert split(text) == THOUGHTS[text]
    for seed in range(30):
        draw = random.Random(seed)
        pieces, rest = [], text
        while rest:
            size = draw.randint(1, 4)
            pieces.append(rest[:size])
            rest = rest[size:]
        assert split("", pieces) == THOUGHTS[text]
