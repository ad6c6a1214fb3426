"""A chat template of one's own, and the variables that a template reads."""

from pathlib import Path

import pytest

from engine import ChatTemplateFailed, InvalidRequest, LoadConfig, load
from engine.host import read_template, template_names

THINKING = """
{%- if effort is not defined %}{% set effort = "low" %}{% endif -%}
{%- set ns = namespace(n=0) %}{% for message in messages if message.role in range(3) %}{{ loop.index }}{% endfor -%}
{{ bos_token }}{% if enable_thinking %}{{ effort }}{% endif %}
{{ strftime_now("%d") if dated else raise_exception("x") }}
"""


def test_the_variables_of_a_template() -> None:
    assert template_names(THINKING) == ("dated", "effort", "enable_thinking")
    assert template_names("no variable") == ()
    for broken in ("{% if %}", "{{ a", "{{ " + "(" * 5_000):
        with pytest.raises(ChatTemplateFailed):
            template_names(broken)


def test_a_template_of_ones_own(bundled_target: Path) -> None:
    of_file = read_template(bundled_target)
    assert "{%" in of_file
    own = "{% for message in messages %}[{{ message.content }}|{{ mood }}]{% endfor %}"
    said = [{"role": "user", "content": "Hello"}]
    with load(bundled_target, chat_template=own) as decoder:
        assert decoder.read_prompt(said, template_options={"mood": "merry"}).text.endswith("[Hello|merry]")
        assert decoder.generate("Hello", max_tokens=2, template_options={"mood": 1}).tokens
    for wrong in ("", " ", "x" * 500_001, 3):
        with pytest.raises(InvalidRequest, match="chat template"):
            LoadConfig(bundled_target, chat_template=wrong)  # type: ignore[arg-type]
