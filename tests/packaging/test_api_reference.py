"""docs/api.md is what the docstrings say, and names everything that is public."""

import re

import pytest
import update_api_reference as reference

import engine


def test_the_page_is_up_to_date() -> None:
    page = reference.PAGE.read_text(encoding="utf-8")
    assert page == reference.make_page(), "run: make docs"


def test_every_public_name_has_an_entry() -> None:
    headings = re.findall(r"^### (\S+)$", reference.make_page(), re.MULTILINE)
    assert sorted(heading.replace("\\", "") for heading in headings) == sorted(engine.__all__)


def test_a_changed_docstring_makes_it_out_of_date(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine.accept, "__doc__", "Say something else.")
    assert reference.PAGE.read_text(encoding="utf-8") != reference.make_page()
    assert "Say something else." in reference.make_page()


def test_a_name_without_a_group_is_a_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "__all__", [*engine.__all__, "something_new"])
    with pytest.raises(ValueError, match="something_new"):
        reference.make_page()


def test_its_own_links_lead_somewhere() -> None:
    page = reference.make_page()
    headings = [heading.replace("\\", "") for heading in re.findall(r"^#+ (.+)$", page, re.MULTILINE)]
    anchors = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
    assert set(re.findall(r"\]\(#([^)]+)\)", page)) <= anchors


def test_check_says_whether_it_is_up_to_date(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["update_api_reference.py", "--check"])
    assert reference.main() == 0
    monkeypatch.setattr(engine.accept, "__doc__", "Say something else.")
    assert reference.main() == 1
    assert "make docs" in capsys.readouterr().out
