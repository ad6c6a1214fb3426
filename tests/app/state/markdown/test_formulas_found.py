r"""Tests of mathematics in Markdown: what is a formula, and which dollars are not.

The sentences are ordinary ones of chats: prices, shells, paths, code.
"""

import pytest

from app.state.markdown.blocks import MarkdownBlocks, is_markdown
from app.state.markdown.parser import Paragraph, Run, parse

PLAIN = (
    "It costs $5 and the other one $10.",
    "Between $5 and $10, or $5-$10, or $5–$10.",
    "Prices: $1,299.99 (was $1,499.00), so you save $200.",
    "I paid $20 (or 18 USD$) for it.",
    "A is US$5, B is A$7 and C is C$9.",
    "The **$5** plan and the **$6** plan.",
    "From $3M to $4.5M in a year, that is $1.5M more.",
    "$100-$200/month, plus $15/user.",
    "5$ here and 6$ there.",
    "Either $ 5 or $ 6, with a space.",
    "Costs are $2/kg or 3 $/lb; it depends on $/€.",
    "Stocks: $AAPL, $MSFT and ($GOOG) fell; $AAPL/$MSFT did not.",
    "Set $HOME and $PATH before you start.",
    "Use $HOME/bin:$PATH in your profile.",
    "Expand ${HOME} and ${USER}, or ${A}${B}.",
    "In make write $(CC) and $(CFLAGS); $@ is the target, $< the source.",
    "The arguments are $1, $2 and $#; all of them are $@ or $*.",
    "The exit code is in $?, the process in $$; kill $$ ends it.",
    "awk prints the field with {print $1} and the last with {print $NF}.",
    "In PHP, $a = $b + $c; and $i++ or $j--.",
    "for ($i = 0; $i < 5; $i++) echo $i;",
    "Perl has $_, @_ and %ENV; $ENV{PATH} too.",
    "jQuery: $('#id') and $('.name') find elements.",
    "Template literals write `${a}` but also ${a} and ${b}.",
    r"The share \\server\share$ and \\server\admin$ are hidden.",
    r"Look in C:\$Recycle.Bin and D:\$Recycle.Bin.",
    "The paths /mnt/$a/$b and ~/$USER/data exist.",
    "A regular expression: ^foo$ matches foo, bar$ ends with bar.",
    "Use s/$foo$/bar/ to replace it.",
    "Pay $10 today, $10 tomorrow, and $x if you must.",
    "She has $5 = five dollars, he has $6 > hers.",
    "export PS1='$USER $ ' && echo $PS1",
    "Type $EDITOR and then $SHELL_NAME$ please.",
    "The variables $var_a and $var_b are set.",
    "The range is $5 to $7 (in $), or $8 (in $).",
    r"An escaped \$x\$ stays, and so does \$5.",
)
INLINE = (
    (r"The line $y = mx + b$ rises.", "y = mx + b"),
    (r"Let $x$ be real.", "x"),
    (r"With $n$, $k$ and $m$ as above.", "n"),
    (r"It is $O(n \log n)$.", r"O(n \log n)"),
    (r"So \(a^2 + b^2 = c^2\) holds.", "a^2 + b^2 = c^2"),
    (r"The angle $\alpha$, in brackets ($\alpha$).", r"\alpha"),
    (r"For $f: A \to B$, it holds.", r"f: A \to B"),
    (r"**Note** $x_i$.", "x_i"),
    (r"Probability $P(A|B)$.", "P(A|B)"),
    (r"The triangle $ABC$ is right.", "ABC"),
    (r"A price of $\$5$ is set.", r"\$5"),
    (r"Values $1, 2, \dots, n$ follow.", r"1, 2, \dots, n"),
    (r"Speed $v = 3\,\text{m per second}$ it is.", r"v = 3\,\text{m per second}"),
    (r"In \( \mathbb{R}^n \) it is.", r"\mathbb{R}^n"),
    (r"The set $\{1, 2\}$ has two.", r"\{1, 2\}"),
    (r"For $x*y*z$ nothing is emphasised.", "x*y*z"),
    (r"$a$-axis and $b$.", "a"),
)
DISPLAYED = (
    ("$$\nx = 1\n$$", "x = 1"),
    ("\\[\nx = 1\n\\]", "x = 1"),
    ("$$ x = 1 $$", "x = 1"),
    (r"\[ \frac{a}{b} \]", r"\frac{a}{b}"),
    ("\\begin{align}\na &= b \\\\\n&= c\n\\end{align}", "\\begin{align}\na &= b \\\\\n&= c\n\\end{align}"),
    ("$$\na\n= b\n- c\n+ d\n$$", "a\n= b\n- c\n+ d"),
    ("\\[\n\\begin{bmatrix} 1 & 2 \\\\ 3 & 4 \\end{bmatrix}\n\\]", "\\begin{bmatrix} 1 & 2 \\\\ 3 & 4 \\end{bmatrix}"),
)


def _blocks(text: str, step: int = 5) -> list[str]:
    blocks = MarkdownBlocks()
    found = [block for at in range(0, len(text), step) for block in blocks.push(text[at : at + step])]
    return [block.text for block in (*found, *blocks.finish())]


def _runs(text: str) -> list[Run]:
    nodes = [node for block in _blocks(text) for node in parse(block)]
    return [run for node in nodes if isinstance(node, Paragraph) for run in node.runs]


@pytest.mark.parametrize("sentence", PLAIN)
def test_a_dollar_that_is_no_mathematics_stays_text(sentence: str) -> None:
    """Prices, variables, paths and code are left alone."""
    assert not [run.formula for run in _runs(sentence) if run.formula]


@pytest.mark.parametrize(("sentence", "formula"), INLINE)
def test_a_formula_in_a_line_is_found(sentence: str, formula: str) -> None:
    """Its source is kept as it was written."""
    found = [run for run in _runs(sentence) if run.formula]
    assert found[0].formula == formula
    assert not found[0].display
    assert found[0].text in sentence


@pytest.mark.parametrize("before", ["", "Text:\n", "Text:\n\n", "- Item:\n  ", "1. Item:\n\n   ", "> Quote:\n> "])
@pytest.mark.parametrize(("text", "formula"), DISPLAYED)
def test_a_displayed_formula_is_found(text: str, formula: str, before: str) -> None:
    """Within lists and quotes too; what begins its lines is no list, rule or heading."""
    prefix = "> " if before.startswith(">") else " " * (len(before) - before.rfind("\n") - 1)
    runs = _runs(before + text.replace("\n", f"\n{prefix}") + "\n\nThen.")
    found = [run for run in runs if run.display]
    assert [run.formula for run in found] == [formula]
    assert found[0].text.replace("\N{LINE SEPARATOR}", "\n").replace(prefix, "") == text.replace(prefix, "")


@pytest.mark.parametrize(
    "text",
    [r"- \[x\] done", r"See \[1\] and \[2\].", r"\[citation needed\]", r"The file C:\(old\) is gone", "$$", r"\["],
)
def test_an_escaped_bracket_is_no_formula(text: str) -> None:
    """They are common in Markdown that was made by programs."""
    assert not [run.formula for run in _runs(text) if run.display]


def test_empty_lines_do_not_end_a_displayed_formula() -> None:
    """Some models leave them between the marks and the formula."""
    assert [run.formula for run in _runs("So:\n\n$$\n\na = b\n\n$$\n")] == ["", "a = b"]


def test_an_open_formula_is_one_block_until_it_ends() -> None:
    """So that its lines are never taken for a list while it comes."""
    blocks = MarkdownBlocks()
    assert blocks.push("$$\na\n- b\n") == []
    assert blocks.open_text == "$$\na\n- b\n"
    assert [block.text for block in blocks.push("$$\n")] == ["$$\na\n- b\n$$\n"]


def test_footnotes_are_marks_and_regular_expressions_are_not() -> None:
    """`[^1]` in the text and before the note."""
    runs = _runs("Text[^1] and [^a-z].\n\n[^1]: The note.")
    assert [run.text for run in runs if run.raised] == ["1", "1"]
    assert "[^a-z]" in "".join(run.text for run in runs)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a **b** c", True),
        ("- a\n- b", True),
        ("```py\n  x\n```\nok", True),
        ("See $x^2$", True),
        ("plain text", False),
        ("x = 2 ** 3 ** 4", False),
        ("def f():\n    return `1`", False),
        ("# comment\nls -l", False),
        ("Costs $5 and $10", False),
    ],
)
def test_what_a_person_types_is_markdown_only_where_it_is_meant_so(text: str, expected: bool) -> None:
    """Spaces at the beginning of lines often mean something in pasted text."""
    assert is_markdown(text) is expected
