"""The library and the draft picker over folders of models of every kind: headers alone, as large as they claim."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from app.state.models.library import Library, LibraryRow
from app.state.models.load_options import LoadChoice
from app.state.models.models import ModelList
from app.state.models.selection import Loaded, PickerLine
from app.words.models import worded
from engine import ModelFile, judge_pair, scan_folder
from helpers.models.header_models import HeaderModel
from helpers.models.model_zoo import MODELS, PARTS, write_cut, write_model, write_split, write_torn, write_zoo

GIGABYTES = 10**9
OURS = "They have different tokenizers (SentencePiece with 405 tokens and "
SLOWER = ", so proposals are translated through text, which is slower. "
SAME = "Same vocabulary. "
PROJECTOR = "It is the vision part of a model (a projector), which does not generate text."
HEAD = "It is a draft head that cannot be used: an EAGLE-3 head has one layer, this one 16."
ADAPTER = "It is an adapter (LoRA) for a model, not a model of its own."
EMBEDDING = "It is an embedding model, which does not generate text."
CUT = "The file is incomplete: 266 MB are missing. Download or copy it again."
TORN = "The file is incomplete: it ends within its header. Download or copy it again."
WELL = "a speedup is likely."
TIMES = "The target is {} times as large as the draft: "

PAIRINGS = [
    # target, draft, memory free (GB, 0: not looked at), whether it can be chosen, the reason
    ("lama-8b", "lama-half", 0, True, SAME + TIMES.format("8.5") + WELL),
    ("lama-8b", "lama-base", 0, True, SAME + TIMES.format("8.5") + WELL),
    ("lama-8b", "lama-coarse", 0, True, SAME + TIMES.format("27") + WELL),
    ("lama-8b", "padded", 0, True, SAME + TIMES.format("8.5") + WELL),
    ("lama-8b", "plus", 0, True, SAME + TIMES.format("8.5") + WELL),
    ("lama-8b", "unbegun", 0, True, SAME + TIMES.format("8.5") + WELL),
    ("lama-8b", "lama-3b", 0, True, SAME + TIMES.format("2.7") + "a small speedup at best."),
    ("lama-8b", "lama-tiny", 0, True, SAME + TIMES.format("106") + "the draft may be too small to guess well."),
    ("lama-8b", "lama-7b", 0, True, SAME + "The draft is hardly smaller than the target: little or no speedup."),
    ("lama-8b", "lama-8b", 0, True, SAME + "The draft is the target itself: no speedup."),
    ("lama-8b", "lama-8b-exact", 0, True, SAME + "The draft is not smaller than the target: no speedup."),
    (
        *("lama-8b", "wide", 0, True),
        OURS
        + "SentencePiece with 605 tokens): the draft has 200 more tokens"
        + SLOWER
        + TIMES.format("8.5")
        + "a speedup is possible.",
    ),
    (
        *("lama-8b", "edited", 0, True),
        OURS
        + "SentencePiece with 405 tokens): 3 of 400 tokens stand for different texts, the first of them 12"
        + SLOWER
        + TIMES.format("8.5")
        + "a speedup is possible.",
    ),
    (
        *("lama-8b", "strange", 0, True),
        OURS
        + "SentencePiece with 405 tokens): most of their tokens stand for different texts"
        + SLOWER
        + TIMES.format("8.5")
        + "a speedup is possible.",
    ),
    (
        *("lama-8b", "few", 0, True),
        OURS
        + "SentencePiece with 8 tokens): most of their tokens stand for different texts"
        + SLOWER
        + TIMES.format("8.5")
        + "a speedup is possible.",
    ),
    (
        *("lama-8b", "pairs-half", 0, True),
        OURS
        + "byte-pair with 405 tokens): they have different types"
        + SLOWER
        + TIMES.format("8.5")
        + "a speedup is possible.",
    ),
    (
        *("lama-8b", "pairs-7b", 0, True),
        OURS
        + "byte-pair with 405 tokens): they have different types"
        + SLOWER
        + "The draft is hardly smaller than the target: little or no speedup.",
    ),
    ("pairs-7b", "pairs-half", 0, True, SAME + TIMES.format("7.4") + WELL),
    (
        *("pairs-7b", "lama-coarse", 0, True),
        "They have different tokenizers (byte-pair with 405 tokens and SentencePiece with 405 tokens): they have "
        "different types" + SLOWER + TIMES.format("24") + "a speedup is possible.",
    ),
    (
        *("wide", "lama-tiny", 0, True),
        "They have different tokenizers (SentencePiece with 605 tokens and SentencePiece with 405 tokens): the "
        "target has 200 more tokens" + SLOWER + TIMES.format("12") + "a speedup is possible.",
    ),
    (
        *("unbegun", "lama-tiny", 0, True),
        "Same vocabulary, but the draft expects begin token 1 and gets none. " + TIMES.format("12") + WELL,
    ),
    ("lama-tiny", "lama-half", 0, True, SAME + "The draft is not smaller than the target: no speedup."),
    # What cannot be used
    ("lama-8b", "projector", 0, False, PROJECTOR),
    ("lama-8b", "head", 0, False, HEAD),
    ("lama-8b", "adapter", 0, False, ADAPTER),
    ("lama-8b", "embedding", 0, False, EMBEDDING),
    ("lama-8b", "matrix", 0, False, "It contains imatrix data, not a model."),
    ("lama-8b", "diffusion", 0, False, "It does not generate text token by token: it is a diffusion model."),
    ("lama-8b", "wordless", 0, False, "It has no vocabulary. Convert the model again."),
    ("lama-8b", "klingon", 0, False, "Its tokenizer 'klingon' is unknown."),
    ("lama-8b", "cut", 0, False, CUT),
    ("lama-8b", "torn", 0, False, TORN),
    ("lama-8b", "garbage", 0, False, "It is not a GGUF file."),
    ("lama-8b", "empty", 0, False, "It is empty. Download or copy it again."),
    ("lama-8b", "gap", 0, False, "Part of it is missing: gap-00002-of-00003.gguf."),
    ("lama-8b", "stray", 0, False, "It is part 2 of 2, and the first part is missing."),
    # What does not fit into memory beside its target
    ("lama-3b", "lama-half", 3, True, SAME + TIMES.format("3.2") + "a small speedup at best."),
    ("lama-3b", "lama-7b", 3, False, "It needs about 3.9 GB of memory; 1.1 GB are free beside the target."),
    ("lama-8b", "lama-half", 5, False, "It needs about 741.1 MB of memory; 290.2 MB are free beside the target."),
    ("lama-8b", "lama-tiny", 5, True, SAME + TIMES.format("106") + "the draft may be too small to guess well."),
    ("lama-8b", "lama-tiny", 4, False, "It needs about 252.3 MB of memory; 0 are free beside the target."),
    ("lama-8b", "projector", 3, False, PROJECTOR),
]
FOREIGN = ("notes-{}.md", "weights-{}.bin", "half-{}.gguf.part", ".hidden-{}.gguf", "model-{}.safetensors")


class Zoo:
    """A list of models from a folder with one of each kind. Attributes: models, made (path of each stem)."""

    def __init__(self, folder: Path) -> None:
        self.made = write_zoo(folder)
        self.found = scan_folder(folder)
        self.models = ModelList(None)
        self.models.set_found(folder, self.found)

    def choose(self, target: str, free: float = 0) -> None:
        """Choose a target and judge all drafts for it, as the desk does."""
        models = self.models
        models.free = int(free * GIGABYTES)
        models.choose(target=self.made[target])
        chosen = models.by_path(self.made[target])
        assert chosen is not None
        models.set_fits({model.path: judge_pair(chosen, model) for model in models.models if model.usable})

    def drafts(self) -> dict[str, PickerLine]:
        """The lines of the draft picker that are models, in their order, by stem."""
        stems = {path: stem for stem, path in self.made.items()}
        return {stems[line.path]: worded(line) for line in self.models.drafts() if isinstance(line.path, Path)}


@pytest.fixture(scope="module")
def zoo(tmp_path_factory: pytest.TempPathFactory) -> Zoo:
    return Zoo(tmp_path_factory.mktemp("zoo"))


def test_the_table_has_forty_pairings() -> None:
    assert len({pairing[:3] for pairing in PAIRINGS}) == len(PAIRINGS) >= 40


@pytest.mark.parametrize(("target", "draft", "free", "good", "reason"), PAIRINGS)
def test_pairings(zoo: Zoo, target: str, draft: str, free: float, good: bool, reason: str) -> None:
    zoo.choose(target, free)
    line = zoo.drafts()[draft]
    assert (line.problem is None) is good
    assert (line.problem or line.hint.splitlines()[-1]) == reason
    assert line.slower is ("proposals are translated through text" in reason)


def test_drafts_are_ranked_and_what_cannot_be_chosen_comes_last(zoo: Zoo) -> None:
    zoo.choose("lama-8b")
    lines = zoo.models.drafts()
    assert [line.kind for line in lines[:4]] == ["automatic", "ngram", "none", "group"]
    drafts = zoo.drafts()
    stems = [*drafts]
    assert stems[0] == "lama-half"
    assert worded(lines[0]).label == "automatic · lama-half · 500M Q8_0"
    chosen = [line.problem is None for line in drafts.values()]
    assert chosen == sorted(chosen, reverse=True)
    alike = [not line.slower and line.problem is None for line in drafts.values()]
    through_text = [stem for stem, line in drafts.items() if line.slower and stem != "pairs-7b"]
    assert alike.index(False) > stems.index("lama-7b")
    assert {*through_text} == {"wide", "edited", "strange", "few", "pairs-half"}
    assert stems.index("lama-8b-exact") > max(map(stems.index, through_text)), "larger than the target: no draft of it"


def test_automatic_takes_the_best_that_fits(zoo: Zoo) -> None:
    def best(target: str, free: float = 0) -> str | None:
        zoo.choose(target, free)
        return next((path.stem for path in zoo.models.best_sources()), None)

    assert best("lama-8b") == "lama-half"
    assert best("pairs-7b") == "pairs-half"
    assert best("wide") is None, "what goes through text is for a person to choose"
    assert best("lama-tiny") is None, "nothing is smaller"
    assert best("lama-8b", 5) == "lama-tiny", "the better ones do not fit into memory beside the target"
    assert best("lama-8b", 4) is None
    zoo.choose("lama-8b")
    zoo.models.choose_drafting("automatic")
    assert zoo.models.selection.sources == (zoo.made["lama-half"],)
    zoo.models.refuse(zoo.made["lama-half"])
    assert best("lama-8b") not in (None, "lama-half"), "one that could not be loaded is left alone"
    zoo.models._judged.refused.clear()


def test_targets_that_do_not_fit_can_be_chosen_all_the_same(zoo: Zoo) -> None:
    zoo.choose("lama-half", 2)
    lines = {line.path.stem: worded(line) for line in zoo.models.targets() if isinstance(line.path, Path)}
    assert lines["lama-8b"].problem is None
    assert lines["lama-8b"].hint.splitlines()[-1] == "It needs about 4.7 GB of memory; 2.0 GB are free."
    assert lines["projector"].problem == PROJECTOR


def expected(folder: Path) -> dict[Path, tuple[str, str, str]]:
    """Fill a folder with five hundred files; role, state and the beginning of the reason of each row there is to be."""
    rows: dict[Path, tuple[str, str, str]] = {}
    good = list(MODELS.values())
    for number in range(300):
        model = good[number % len(good)]
        named = replace(model, name=f"{model.name} no {number}", context=1024 * (1 + number % 7))
        rows[named.write(folder / f"good-{number}.gguf")] = ("model", "ok", "")
    for number in range(30):
        rows[write_cut(folder / f"cut-{number}.gguf", good[number % len(good)])] = (
            "model",
            "problem",
            "The file is incomplete: ",
        )
    for number in range(20):
        rows[write_torn(folder / f"torn-{number}.gguf", good[number % len(good)])] = (
            "model",
            "problem",
            "The file is incomplete: it ends",
        )
    for number in range(15):
        path = folder / f"garbage-{number}.gguf"
        path.write_bytes(os.urandom(1000 + number))
        rows[path] = ("model", "problem", "It is not a GGUF file.")
    for number in range(5):
        (folder / f"empty-{number}.gguf").touch()
        rows[folder / f"empty-{number}.gguf"] = ("model", "problem", "It is empty.")
    for number in range(10):
        rows[write_split(folder, f"split{number}", 3)] = ("model", "ok", "")
        rows[write_split(folder, f"gap{number}", 3, without=2)] = ("model", "problem", "Part of it is missing: gap")
    for number in range(5):
        rows[write_split(folder, f"stray{number}", 2, without=1)] = ("model", "problem", "It is part 2 of 2, and the")
    roles = {
        "projector": ("projector", PROJECTOR),
        "head": ("draft-head", HEAD),
        "adapter": ("adapter", ADAPTER),
        "embedding": ("embedding", EMBEDDING),
        "matrix": ("other", "It contains imatrix data"),
    }
    for number in range(40):
        stem, (role, reason) = list(roles.items())[number % len(roles)]
        rows[PARTS[stem].write(folder / f"part-{number}.gguf")] = (role, "problem", reason)
    for number in range(35):
        (folder / FOREIGN[number % len(FOREIGN)].format(number)).write_bytes(b"GGUF and more")
    return rows


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[Path, tuple[str, str, str]]]:
    folder = tmp_path_factory.mktemp("many")
    return folder, expected(folder)


def test_a_folder_of_five_hundred_files(many: tuple[Path, dict[Path, tuple[str, str, str]]]) -> None:
    folder, told = many
    assert len(list(folder.iterdir())) == 500
    models = ModelList(None)
    models.set_found(folder, scan_folder(folder))
    rows = {row.path: row for row in Library(models).rows()}
    assert rows.keys() == told.keys(), "each model once, nothing that is none"
    for path, (role, state, reason) in told.items():
        row = rows[path]
        assert (row.model.role, row.state) == (role, state), path.name
        assert (row.model.problem or "").startswith(reason), path.name
        assert bool(row.model.problem) is (state == "problem")
        assert row.folder == folder
        check_figures(row)


def check_figures(row: LibraryRow) -> None:
    """A good row has all its figures, and they are those of its file."""
    number = row.path.stem.partition("-")[2]
    if row.path.stem.startswith("good"):
        model = [*MODELS.values()][int(number) % len(MODELS)]
        assert row.model.name == f"{model.name} no {number}"
        assert row.model.quantisation == model.quantisation
        assert row.model.parameters == pytest.approx(model.weights, rel=0.001)
        assert row.model.size_bytes == row.path.stat().st_size
        assert row.model.context_length == 1024 * (1 + int(number) % 7)
        assert row.context == min(row.model.context_length, 8192)
        assert row.needed > row.model.size_bytes
    elif row.state == "ok":
        assert row.model.size_bytes == sum(
            part.stat().st_size for part in row.path.parent.glob(f"{row.path.stem[:6]}-*")
        )
        assert row.model.parameters == pytest.approx(9_000_000_000, rel=0.001)
    else:
        assert row.needed == row.context == 0


def test_rows_tell_what_is_loaded_chosen_and_too_large(zoo: Zoo) -> None:
    zoo.choose("lama-3b", 2)
    models, made = zoo.models, zoo.made
    models.loaded = Loaded(made["lama-3b"], (made["lama-tiny"],))
    models.choose(sources=(made["lama-half"],))
    library = Library(models)
    rows = {row.path.stem: row for row in library.rows()}
    assert [stem for stem, row in rows.items() if row.loaded] == ["lama-3b", "lama-tiny"]
    assert (rows["lama-3b"].loaded, rows["lama-3b"].chosen, rows["lama-half"].chosen) == ("target", "target", "draft")
    assert {stem for stem, row in rows.items() if row.state == "large"} == {
        *("lama-8b", "lama-8b-exact", "lama-7b", "pairs-7b")
    }
    assert rows["lama-7b"].free == 2 * GIGABYTES < rows["lama-7b"].needed
    models.loaded = Loaded()


def test_options_change_what_is_needed(zoo: Zoo) -> None:
    zoo.choose("lama-3b", 6)
    library, path = Library(zoo.models), zoo.made["lama-3b"]
    before = library.row(path)
    zoo.models.set_options(path, LoadChoice(context=2048, cache_type="q8_0"))
    after = library.row(path)
    assert before is not None
    assert after is not None
    assert (before.context, after.context) == (4096, 2048)
    assert after.needed - before.needed == 2048 * 16384 * 34 // 32 - 4096 * 16384 * 2 - 2048 * 1024
    assert after.options == LoadChoice(context=2048, cache_type="q8_0")
    zoo.models.set_options(path, LoadChoice())


def test_a_folder_that_is_away_keeps_its_rows(zoo: Zoo) -> None:
    zoo.choose("lama-8b")
    folder = zoo.made["lama-8b"].parent
    zoo.models.loaded = Loaded(zoo.made["lama-8b"])
    zoo.models.set_away(folder)
    assert {row.state for row in Library(zoo.models).rows()} == {"away"}
    lines = {line.path.stem: worded(line) for line in zoo.models.targets() if isinstance(line.path, Path)}
    assert lines["lama-8b"].problem is None, "it is loaded, and goes on working"
    assert lines["lama-half"].problem == "Its folder is not available."
    assert zoo.models.best_sources() == ()
    assert zoo.models.set_found(folder, zoo.found), "it is back"
    assert not zoo.models.set_found(folder, zoo.found), "nothing new"
    zoo.models.loaded = Loaded()
    assert {row.state for row in Library(zoo.models).rows()} == {"ok", "problem"}


def test_a_link_that_leads_to_itself_is_a_row_like_any(tmp_path: Path) -> None:
    write_model(tmp_path, "lama-half")
    (tmp_path / "loop.gguf").symlink_to(tmp_path / "loop.gguf")
    models = ModelList(None)
    models.set_found(tmp_path, scan_folder(tmp_path))
    assert {row.path.stem: row.state for row in Library(models).rows()} == {"lama-half": "ok", "loop": "problem"}


def test_models_of_the_same_name_in_several_folders_are_told_apart(tmp_path: Path) -> None:
    models = ModelList(None)
    for name in ("one", "two", "three"):
        (tmp_path / name).mkdir()
        write_model(tmp_path / name, "lama-half")
        models.set_found(tmp_path / name, scan_folder(tmp_path / name))
    labels = [line.label.partition(" · ")[0] for line in models.targets()]
    assert labels == ["lama-half", "two/lama-half", "three/lama-half"]


def test_several_folders_list_each_file_once(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    write_model(first, "lama-half")
    write_model(second, "lama-tiny")
    (second / "again.gguf").symlink_to(first / "lama-half.gguf")
    models = ModelList(None)
    models.set_found(first, scan_folder(first))
    models.set_found(second, scan_folder(second))
    assert models.folders == (first, second)
    assert [model.path for model in models.models] == [first / "lama-half.gguf", second / "lama-tiny.gguf"]
    assert models.folder_of(second / "lama-tiny.gguf") == second
    models.forget_folder(first)
    assert {model.path for model in models.models} == {second / "again.gguf", second / "lama-tiny.gguf"}


def test_models_of_another_scan_are_the_same(zoo: Zoo) -> None:
    again: tuple[ModelFile, ...] = scan_folder(zoo.made["lama-8b"].parent)
    assert again == zoo.found
    assert HeaderModel("x") == HeaderModel("x")
