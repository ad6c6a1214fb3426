"""The window offers every draft method that can be run, in words."""

from app.state.models.models import ModelList
from app.state.models.selection import DRAFTINGS, MODEL_FREE, PickerLine
from app.state.settings.generation import METHODS
from app.words.models import worded
from engine import DRAFT_METHODS


def test_every_method_can_be_chosen_and_has_words() -> None:
    offered = [option.value for option in METHODS]
    assert offered[:3] == ["auto", "draft-model", "ngram"]
    assert offered[-1] == "autoregressive"
    runnable = {each.name for each in DRAFT_METHODS if each.available and each.needs != "heads"}
    assert set(offered) == {"auto", *runnable, "autoregressive"}
    assert all(option.label and option.hint for option in METHODS)


def test_those_without_a_model_are_lines_of_the_draft_picker() -> None:
    assert tuple(each.name for each in DRAFT_METHODS if each.available and each.needs == "nothing") == MODEL_FREE
    assert MODEL_FREE[0] == "ngram"
    assert ("model", "automatic", *MODEL_FREE, "none") == DRAFTINGS
    models = ModelList(None)
    lines = [worded(line) for line in models.drafts()]
    assert [line.key for line in lines] == ["automatic", *MODEL_FREE, None]
    assert all(line.label and line.hint for line in lines)
    for method in MODEL_FREE:
        models.choose_drafting(method)
        assert (models.selection.method, models.selection.draft_key) == (method, method)
        assert worded(PickerLine(None, "", kind=method)).label
