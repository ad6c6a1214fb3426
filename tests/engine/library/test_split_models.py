"""Split models as people have them: renamed, mixed up, without their beginning, with a first part of no tensors."""

from pathlib import Path

import pytest

from engine.formats.gguf import types
from engine.library.scan import scan_folder
from helpers.models.gguf_writer import Entry, GgufDraft, tiny_draft


def write_parts(folder: Path, shares: list[list[str]], *, numbers: list[int] | None = None, tensors: int = 0) -> None:
    """A model in several files with these tensors each, as llama.cpp's tool for splitting writes them."""
    folder.mkdir()
    whole = tiny_draft()
    for place, names in enumerate(shares):
        draft = GgufDraft(dict(whole.entries) if place == 0 else {})
        draft.entries["split.no"] = Entry(types.UINT16, numbers[place] if numbers else place)
        draft.entries["split.count"] = Entry(types.UINT16, len(shares))
        draft.entries["split.tensors.count"] = Entry(types.INT32, tensors or len(whole.tensors))
        draft.tensors = {name: whole.tensors[name] for name in names}
        draft.write(folder / f"big-{place + 1:05}-of-{len(shares):05}.gguf")


NAMES = list(tiny_draft().tensors)
HALVES = [NAMES[::2], NAMES[1::2]]


def only(folder: Path) -> str | None:
    """What is wrong with the only model in a folder."""
    (model,) = scan_folder(folder)
    assert model.usable is (model.problem is None)
    return model.problem


def test_a_first_part_without_tensors_is_good(tmp_path: Path) -> None:
    write_parts(tmp_path / "m", [[], NAMES])
    assert only(tmp_path / "m") is None


@pytest.mark.parametrize("kept", [1, 2])
def test_a_part_under_another_name_is_no_whole_model(tmp_path: Path, kept: int) -> None:
    write_parts(tmp_path / "m", HALVES)
    for path in (tmp_path / "m").iterdir():
        if f"-0000{kept}-" in path.name:
            path.rename(path.with_name("renamed.gguf"))
        else:
            path.unlink()
    assert only(tmp_path / "m") == (
        f"It is part {kept} of 2, but its name does not say so, so the other parts cannot be found. "
        "Give all parts their original names."
    )


def test_parts_that_do_not_belong_together(tmp_path: Path) -> None:
    write_parts(tmp_path / "numbers", [*HALVES, []], numbers=[0, 2, 1])
    write_parts(tmp_path / "tensors", HALVES, tensors=99)
    for name in ("numbers", "tensors"):
        assert only(tmp_path / name) == "Its parts do not belong together. Download or copy all of them again."


def test_a_part_whose_first_is_missing_says_so(tmp_path: Path) -> None:
    write_parts(tmp_path / "m", HALVES)
    (tmp_path / "m" / "big-00001-of-00002.gguf").unlink()
    assert only(tmp_path / "m") == "It is part 2 of 2, and the first part is missing."
