"""Recommendations: what fits by the program's own forecast, with a draft that fits by its own rules."""

import json

import pytest

from engine.cancel import CancelToken
from engine.cli.main import main
from engine.hub.catalogue import catalogue
from engine.hub.hugging_face import HuggingFace
from engine.hub.recommend import Machine, checked, recommend
from engine.hub.web import Patience
from engine.library.speed_forecast import MachinePace
from helpers.hub import LocalHub
from helpers.paths import ROOT

GIB = 2**30
PACE = MachinePace({"Q4_K": {1: 0.1, 2: 0.11, 4: 0.12, 8: 0.2}, "Q8_0": {1: 0.05}}, {1: 0.05}, {16: 0.02, 256: 0.05})


@pytest.mark.parametrize(("memory", "card"), [(8, 0), (16, 0), (32, 0), (64, 0), (16, 8), (32, 24)])
def test_what_is_recommended_fits(memory: int, card: int) -> None:
    found = recommend(Machine(memory * GIB, card * GIB, PACE))
    assert len(found) == 3
    for each in found:
        assert each.memory <= (card if each.on_card else memory) * GIB * 0.9
        assert each.size < each.memory
        assert each.context >= 8192
        assert each.on_card or each.drafted >= each.plain > 0
        assert each.source
    assert any(each.on_card for each in found) is bool(card)
    assert {each.purpose for each in found} == {"general", "code"}


def test_nothing_is_recommended_that_does_not_fit() -> None:
    assert recommend(Machine(2 * GIB)) == ()


def test_pairs_of_the_catalogue_have_one_vocabulary() -> None:
    """The presets say of their pairs why the vocabularies are one; the catalogue's drafts are of the same families."""
    known = catalogue()
    facts = json.loads((ROOT / "resources" / "presets" / "facts.json").read_text("utf-8"))["models"]
    for target in known["targets"]:
        draft = known["drafts"][target["draft"]]
        if "parameters" not in target:  # Those that the facts do not hold are of the draft's own family.
            rows = [facts[each["model"]]["rows"]["value"] for each in (target, draft)]
            assert abs(rows[0] - rows[1]) <= 256, "but for padding"
            families = {facts[each["model"]]["tokenizer"].partition("-coder")[0] for each in (target, draft)}
            assert len(families) == 1
        assert draft["source"]


def test_what_the_hub_has_not_is_dropped_and_said() -> None:
    found = recommend(Machine(16 * GIB))
    names = {name.partition(":")[0] for each in found[:1] for name in (each.target, each.draft)}
    files = {name: {f"x-{each.target.partition(':')[2]}.gguf": b"GGUF" for each in found} for name in names}
    for each in found[:1]:
        files[each.draft.partition(":")[0]] = {f"x-{each.draft.partition(':')[2]}.gguf": b"GGUF"}
    with LocalHub(files) as hub:
        there, gone = checked(found, [HuggingFace(hub.url, None, Patience(tries=1))], CancelToken())
    assert there == list(found[:1])
    assert len(gone) == len(found) - 1
    assert all("There is no " in reason for reason in gone)


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["recommend", "--memory", "16G", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["estimates"] is True
    assert told["models"][0]["draft"]
    assert main(["recommend", "--memory", "32G", "--card", "24G"]) == 0
    assert "all figures are estimates" in capsys.readouterr().out
    assert main(["recommend", "--memory", "1G"]) == 0
    assert "outrider-engine get smollm2" in capsys.readouterr().out
