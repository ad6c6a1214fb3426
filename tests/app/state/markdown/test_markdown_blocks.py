"""How a growing Markdown text is cut into blocks, without Qt."""

import random

import pytest

from app.state.markdown.blocks import CODE_LIMIT, LINE_LIMIT, LINES_LIMIT, PARAGRAPH_LIMIT, Block, MarkdownBlocks

MARKDOWN = """# Title
A paragraph
of two lines.

1. one

2. two
   more of two
- a
  - b

| a | b |
|---|---|
| 1 | 2 |

```python
def f():

    return "# no heading"
```
The end"""


def blocks_of(text: str, pieces: list[str] | None = None) -> list[Block]:
    """The blocks of a text that comes in pieces."""
    blocks = MarkdownBlocks()
    found = [block for piece in pieces or [text] for block in blocks.push(piece)]
    return found + blocks.finish()


def squeezed(text: str) -> str:
    """A text without white space."""
    return "".join(text.split())


def test_blocks_end_where_markdown_blocks_end() -> None:
    texts = [block.text for block in blocks_of(MARKDOWN)]
    assert [text.split("\n")[0].strip() for text in texts] == [
        "# Title",
        "A paragraph",
        "1. one",
        "| a | b |",
        "def f():",
        "The end",
    ]
    code = blocks_of(MARKDOWN)[4]
    assert (code.kind, code.language) == ("code", "python")
    assert code.text == 'def f():\n\n    return "# no heading"\n'


@pytest.mark.parametrize("seed", range(20))
def test_blocks_do_not_depend_on_how_the_text_arrives(seed: int) -> None:
    draw = random.Random(seed)
    pieces, rest = [], MARKDOWN * 3
    while rest:
        size = draw.randint(1, 30)
        pieces.append(rest[:size])
        rest = rest[size:]
    assert blocks_of("", pieces) == blocks_of(MARKDOWN * 3)


@pytest.mark.parametrize(
    "text",
    [
        "word " * 4_000,
        "word\n" * 4_000,
        "nospaceatall" * 2_000,
        "- item\n" * 3_000,
        "| a | b |\n|---|---|\n" + "| one | two |\n" * 2_000,
        "```\n" + "code line\n" * 3_000 + "```\n",
        "```\n" + "never closed\n" * 3_000,
    ],
)
def test_no_block_grows_without_bound_and_nothing_is_lost(text: str) -> None:
    blocks = MarkdownBlocks()
    found: list[Block] = []
    for start in range(0, len(text), 50):
        found += blocks.push(text[start : start + 50])
        assert len(blocks.open_text) <= max(LINES_LIMIT, PARAGRAPH_LIMIT) + 200
    found += blocks.finish()
    assert len(found) > 3
    words = "".join(block.text for block in found)
    assert squeezed(text).strip("`") in squeezed(words) or all(
        words.count(word) >= text.count(word) for word in set(text.split()) if word.isalpha()
    )
    assert any(block.joined for block in found)


def test_code_is_given_as_it_was_written() -> None:
    lines = [f"{' ' * (number % 5)}line {number}" for number in range(2_000)]
    lines[700:705] = ["", "", "x" * 7_000, "``", "    ```"]
    code = "\n".join(lines) + "\n"
    text = f"Before\n```python title\n{code}```\nAfter"
    for size in (1, 7, 100_000):
        blocks = blocks_of("", [text[at : at + size] for at in range(0, len(text), size)])
        pieces = [block for block in blocks if block.kind == "code"]
        assert "".join(block.text for block in pieces) == code
        assert [block.joined for block in pieces] == [False] + [True] * (len(pieces) - 1)
        assert {block.language for block in pieces} == {"python title"}
        assert max(len(block.text) for block in pieces) <= CODE_LIMIT + LINE_LIMIT
        assert (blocks[0].text, blocks[-1].text) == ("Before\n", "After\n")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("  ```\n  a\n    b\n c\n  ```\n", "a\n  b\nc\n"),
        ("~~~~ js\n```\n~~~\n~~~~\n", "```\n~~~\n"),
        ("```\nnever closed", "never closed"),
        ("```\r\na\r\n```\r\n", "a\r\n"),
        ("```\n```", ""),
    ],
)
def test_fences(text: str, code: str) -> None:
    (block,) = blocks_of(text)
    assert (block.kind, block.text) == ("code", code)


JSON = '{\n  "a": [\n    1\n  ],\n  "*b*": {}\n}'


@pytest.mark.parametrize("text", [JSON, f"{JSON}\n", f"{JSON}\nThe end", f"So:\n{JSON}\n\nThe end"])
def test_json_keeps_its_indentation(text: str) -> None:
    for pieces in (None, list(text)):
        found = [block for block in blocks_of(text, pieces) if block.kind == "code"]
        assert [(block.text.rstrip("\n"), block.language) for block in found] == [(JSON, "json")]
    opened = MarkdownBlocks()
    opened.push(JSON[:-2])
    assert opened.open_block == Block(JSON[:-2], kind="code", language="json")


def test_what_looks_like_a_fence_and_is_none() -> None:
    assert [block.kind for block in blocks_of("``` a `b` ```\n    ```\n``\n")] == ["text"]


def test_the_open_block_is_what_is_not_finished() -> None:
    blocks = MarkdownBlocks()
    assert blocks.open_block is None
    assert blocks.push("One\n\nTwo *a") == [Block("One\n")]
    assert blocks.open_block == Block("Two *a")
    blocks.push("*\n\n```py\nx = 1\ny\n``")
    assert blocks.open_block == Block("x = 1\ny\n", kind="code", language="py"), "the fence may be about to close"
    assert blocks.push("`\n") == [Block("x = 1\ny\n", kind="code", language="py")]


def test_long_nested_lists_are_cut() -> None:
    text = "- top\n" + "".join(f"{'  ' * (1 + number % 3)}- item {number}\n" for number in range(5_000))
    blocks = blocks_of(text)
    assert max(len(block.text) for block in blocks) < LINES_LIMIT * 2
    assert sum(block.text.count("item") for block in blocks) == 5_000
    assert all(block.text.startswith("- ") for block in blocks)
