"""What models write beyond CommonMark is shown as it was meant, and nothing of any text is lost."""

import random
import re
from collections import Counter
from html import unescape

import pytest

from app.state.markdown.blocks import MarkdownBlocks
from app.state.markdown.parser import LINE_BREAK, Code, Paragraph, Run, Table, parse

_FULL_WIDTH = str.maketrans("{};~^", "\uff08\uff09\uff1a\uff0c\uff01")
CJK = [
    text.translate(_FULL_WIDTH)
    for text in (
        "**Markdown{マークダウン}**は軽量",
        "**注意;**正文",
        "これは**「重要」**です。",
        "他说**“你好”**的时候",
        "这是**重点{很重要}**~请看",
        "請**不要^**再說",
        "価格は**100円{税込}**です",
        "**「はい」**と**「いいえ」**",
        "使用**`code`**即可",
        "결과는 **중요(important)**합니다",
        "**주의:**본문",
        "『**本**』を読む",
        "文中**强调。**后文",
        "**第一~**然后**第二。**最后",
        "テスト**{太字}**テスト",
        "a**あ、**b",
        "请按**Ctrl+C**键",
        "**《红楼梦》**是小说",
        "数字**123%**很大",
        "*斜体;*正文",
    )
]


def runs_of(text: str) -> list[Run]:
    (node,) = parse(text)
    assert isinstance(node, Paragraph)
    return list(node.runs)


@pytest.mark.parametrize("text", CJK)
def test_bold_beside_cjk_writing(text: str) -> None:
    runs = runs_of(text)
    assert any(run.bold or run.italic for run in runs)
    assert not any("*" in run.text for run in runs)


@pytest.mark.parametrize("text", ["a * b * c", "a** b **c", "snake_case_name", "2 ** 3 ** 4"])
def test_stars_that_are_none_of_that(text: str) -> None:
    assert "".join(run.text for run in runs_of(text)) == text


def test_tags_that_models_write() -> None:
    looks = {
        run.text: (run.low, run.high, run.key)
        for run in runs_of("H<sub>2</sub>O, x<SUP>3</SUP>, <kbd>Ctrl</kbd>, <b>no</b>, <sub>open, </sup>")
    }
    assert looks["2"] == (True, False, False)
    assert looks["3"] == (False, True, False)
    assert looks["Ctrl"] == (False, False, True)
    assert looks[", <b>no</b>, <sub>open, </sup>"] == (False, False, False)
    assert "".join(run.text for run in runs_of("one<br>two<br/>\nthree")) == LINE_BREAK.join(["one", "two", "three"])
    assert [run.text for run in runs_of("`<br>`")] == ["<br>"]
    nodes = parse("<details>\n<summary>More *of it*</summary>\n\nInside\n\n</details>\n")
    texts = [[(run.text, run.bold) for run in node.runs] for node in nodes if isinstance(node, Paragraph)]
    assert texts == [[("More ", True), ("of it", True)], [("Inside", False)]]


def cells_of(text: str) -> list[list[str]]:
    (node,) = parse(text)
    assert isinstance(node, Table)
    return [["".join(run.text for run in cell) for cell in row] for row in node.rows]


@pytest.mark.parametrize(
    ("row", "cells"),
    [
        ("| `(1 | group)` | random intercept |", ["(1 | group)", "random intercept"]),
        ("| ``a ` | b`` | c |", ["a ` | b", "c"]),
        ("`x | y` | z", ["x | y", "z"]),
        ("| $|x|$ | y |", ["$|x|$", "y"]),
        ("| \\(a|b\\) | y |", ["\\(a|b\\)", "y"]),
        ("| a \\| b | `c \\| d` |", ["a | b", "c | d"]),
        ("| one | two | three | four |", ["one", "two | three | four"]),
        ("| A<br>B | c |", [f"A{LINE_BREAK}B", "c"]),
        ("| only |", ["only", ""]),
        ("| | x |", ["", "x"]),
    ],
)
def test_no_cell_loses_its_text(row: str, cells: list[str]) -> None:
    assert cells_of(f"| h | i |\n|---|---|\n{row}\n")[1] == cells


def test_a_head_with_a_bar_in_code_is_one() -> None:
    assert cells_of("| `a | b` | c |\n|---|---|\n| 1 | 2 |") == [["a | b", "c"], ["1", "2"]]
    assert not any(isinstance(node, Table) for node in parse("| abc | def |\n| --- |\n| bar |"))


PIECES = [
    "plain words 12",
    "**bold 3** and *italic* and ~~struck~~",
    "`code | with 4 bars`",
    "<b>tags</b> <img src=x5>",
    "a<br>b<sub>6</sub>",
    "[link](https://a.example/b7)",
    "<https://c.example/8>",
    "https://d.example/9.",
    "![picture](https://e.example/f10.png)",
    "[![badge](https://g.example/h22.svg)](https://i.example/k23)",
    "&copy; &#65; \\* \\_",
    "$x_{11}|y|$ costs $12 or $13",
    f"{CJK[1]}14",
    "[^1] and [1] and [x]: y",
    "{15} |16| ~17~ =18=",
    "***a** b*",
    "_ _ __c__ *d",
    "x<y 19>z",
    "<!-- a comment 20 -->",
    "`` a ` b21 ``",
]
BLOCKS = [
    "{}",
    "# {}",
    "{}\n===",
    "- {}\n- {}\n    - {}",
    "1. {}\n2. {}",
    "> {}\n> {}",
    "| a | b |\n|---|---|\n| {} | {} |\n| {} | {} | {} |",
    "```python\n{}\n```",
    "~~~\n{}\n\n{}\n~~~",
    "    {}",
    "- [x] {}\n- [ ] {}",
    "<details>\n<summary>{}</summary>\n\n{}\n\n</details>",
    '{{\n  "a": "{}"\n}}',
    "$$\n{}\n$$",
    "[^2]: {}",
    "<div>\n{}\n</div>",
    "{}\n---\n{}",
    "10) {}\n\n    - {}\n\n        {}",
    "> 1. {}\n{}\n> > {}",
    "1. - 2. {}\n3. {}",
    "- ```\n  {}\n  ```\n-\n- {}",
    "[name 1]: <https://a.example/{}>\n'{}'",
    "| a |\n--- |\n| {}\n{}",
    "**{}\n{}**  \n{}\\\n{}",
]


def letters(text: str) -> Counter[str]:
    return Counter(sign for sign in text.casefold() if sign.isalnum())


def shown_of(text: str) -> str:
    """All that is shown of a text, with the addresses of its links and the languages of its code."""
    blocks = MarkdownBlocks()
    said = []
    for block in [*blocks.push(text), *blocks.finish()]:
        if block.kind == "code":
            said += [block.text, block.language]
            continue
        for node in parse(block.text, goes_on=block.glue is not None):
            if isinstance(node, Code):
                said += [node.text, node.language]
            rows = [[node.runs]] if isinstance(node, Paragraph) else node.rows if isinstance(node, Table) else []
            said += [piece for row in rows for cell in row for run in cell for piece in (run.text, run.link)]
    return "\n".join(said)


@pytest.mark.parametrize("seed", range(4))
def test_every_letter_and_digit_is_shown(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(60):
        blocks = [chance.choice(BLOCKS) for _ in range(chance.randint(1, 6))]
        text = "\n\n".join(re.sub(r"\{\}", lambda _: " ".join(chance.choices(PIECES, k=3)), block) for block in blocks)
        text = text.replace("{{", "{").replace("}}", "}")
        # What a tag, the number of an item or an entity is shown as.
        told = re.sub(r"</?(br|details|summary|sub|sup|kbd)>", "", text)
        told = re.sub(r"^(> )?(- )?\d+[.)] (- 2\. )?|^- \[[x ]\]", "", told, flags=re.MULTILINE)
        lost = letters(unescape(told)) - letters(unescape(shown_of(text)))
        assert not lost, (lost, text)
