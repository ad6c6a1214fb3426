"""Hold named sampling presets and system prompts: some come with the program, others are the user's own."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from app.state.conversations.conversation import clean
from app.state.settings.generation import LONGEST_SYSTEM, PRESET, GenerationChoice

FORMAT = "outrider-presets"
PROMPTS_FORMAT = "outrider-prompts"
VERSION = 1
MOST = 200
LONGEST_NAME = 80
LARGEST_FILE = 16 * 2**20

NameProblem = Literal["empty", "long", "taken", "full"]
FileProblem = Literal["large", "json", "other", "newer", "list", "many", "name", "twice", "value", "nothing"]


class PresetsRefused(Exception):
    """Report a file of presets or prompts that makes no sense. Nothing was changed.

    Attributes: problem; place (the number of the entry, from 1; 0: the whole file); field (the one that is wrong).
    """

    def __init__(self, problem: FileProblem, place: int = 0, field: str = "") -> None:
        self.problem = problem
        self.place = place
        self.field = field
        super().__init__(f"{problem} {place} {field}".strip())


@dataclass(frozen=True, slots=True)
class GenerationPreset:
    """Hold named values of the fields in PRESET. `key`: of one that comes with the program, "" of the user's own."""

    name: str
    values: GenerationChoice
    key: str = ""

    def to_mapping(self) -> dict[str, Any]:
        return {"name": self.name, **self.values.to_mapping(PRESET)}


@dataclass(frozen=True, slots=True)
class SystemPrompt:
    """Hold a named system prompt. `key`: of one that comes with the program, "" of the user's own."""

    name: str
    text: str
    key: str = ""

    def to_mapping(self) -> dict[str, Any]:
        return {"name": self.name, "text": self.text}


BUILT_IN = (
    GenerationPreset("Greedy", GenerationChoice(), "greedy"),
    GenerationPreset("Balanced", GenerationChoice(temperature=0.7, top_p=0.95, min_p=0.05), "balanced"),
    GenerationPreset("Creative", GenerationChoice(temperature=1.0, top_p=0.98, min_p=0.02), "creative"),
    GenerationPreset(
        "Without repeats",
        GenerationChoice(temperature=0.7, top_p=0.95, repeat_penalty=1.1, penalty_window=256),
        "unrepeated",
    ),
)
"""The built-in items; in the window their names are translated by their keys."""

BUILT_IN_PROMPTS = (
    SystemPrompt("Brief", "Answer briefly and to the point.", "brief"),
    SystemPrompt(
        "Explains step by step",
        "Explain your answers step by step, in plain words. Say so where you are not sure.",
        "steps",
    ),
    SystemPrompt(
        "Programming", "You help with programming. Show complete code, then explain it in a few words.", "code"
    ),
)

Item = TypeVar("Item", bound=GenerationPreset | SystemPrompt)


def applied(preset: GenerationPreset, choice: GenerationChoice) -> GenerationChoice:
    """Return a choice with the values of a preset; the rest of it stays."""
    return GenerationChoice.from_mapping(preset.values.to_mapping(PRESET), choice)


def fits(preset: GenerationPreset, choice: GenerationChoice) -> bool:
    """Return True if a choice has the values of a preset."""
    return all(getattr(preset.values, name) == getattr(choice, name) for name in PRESET)


class SavedItems(Generic[Item]):
    """Hold the built-in items and the user's own, which can be saved, renamed, deleted, imported and exported.

    Names are compared without regard to case and outer blanks; the built-in ones are taken. `words`: what they are
    called in the window, by key. Attribute: own. Methods that change something raise KeyError for a name that is not
    among the user's own, and ValueError for a new one that `name_problem` objects to.
    """

    def __init__(
        self,
        built_in: Sequence[Item],
        read: Callable[[Mapping[str, Any], int], Item],
        file_format: str,
        own: Iterable[object] = (),
    ) -> None:
        self.built_in: tuple[Item, ...] = tuple(built_in)
        self.own: list[Item] = []
        self.words: Mapping[str, str] = {}
        self._read: Callable[[Mapping[str, Any], int], Item] = read
        self._format = file_format
        for each in own:
            try:
                item = read(each if isinstance(each, Mapping) else {}, 0)
            except PresetsRefused:
                continue
            if self.name_problem(item.name) is None:
                self.own.append(item)

    def __iter__(self) -> Iterator[Item]:
        return iter((*self.built_in, *self.own))

    def find(self, name: str) -> Item | None:
        return next((each for each in self if _same(self.shown(each), name)), None)

    def shown(self, item: Item) -> str:
        """Return the name of an item in the window."""
        return self.words.get(item.key, item.name) if item.key else item.name

    def name_problem(self, name: str, *, besides: str | None = None) -> NameProblem | None:
        """Check a name for another item; `besides`: the user's own item that gets it."""
        name = _tidy(name)
        if not name:
            return "empty"
        if len(name) > LONGEST_NAME:
            return "long"
        taken = [*(each.name for each in self.built_in), *map(self.shown, self)]
        if any(_same(each, name) for each in taken if besides is None or not _same(each, besides)):
            return "taken"
        if besides is None and len(self.own) >= MOST:
            return "full"
        return None

    def save(self, item: Item) -> None:
        """Add an item of one's own, or replace the one of its name."""
        for place, each in enumerate(self.own):
            if _same(each.name, item.name):
                self.own[place] = item
                return
        self._demand(item.name)
        self.own.append(item)

    def rename(self, name: str, new: str) -> None:
        place = self._place(name)
        self._demand(new, besides=name)
        self.own[place] = self._read({**self.own[place].to_mapping(), "name": _tidy(new)}, 0)

    def delete(self, name: str) -> None:
        del self.own[self._place(name)]

    def to_list(self) -> list[dict[str, Any]]:
        """Return the user's own items, as they are stored."""
        return [each.to_mapping() for each in self.own]

    def export(self) -> str:
        """Return the user's own items as a file."""
        file = {"format": self._format, "version": VERSION, "items": self.to_list()}
        return json.dumps(file, ensure_ascii=False, indent=2) + "\n"

    def import_(self, data: bytes) -> tuple[int, int]:
        """Import a file's presets: all of them or none. Returns how many came, and how many of them had to be renamed.

        One that is there already, just so, is left out. Raises PresetsRefused.
        """
        found = [self._read(each, place) for place, each in enumerate(self._items(data), 1)]
        for place, item in enumerate(found, 1):
            if any(_same(item.name, other.name) for other in found[: place - 1]):
                raise PresetsRefused("twice", place, item.name)
        new = [item for item in found if item not in self.own]
        if len(self.own) + len(new) > MOST:
            raise PresetsRefused("many")
        renamed = 0
        for item in new:
            name = self._free(item.name)
            renamed += name != item.name
            self.own.append(self._read({**item.to_mapping(), "name": name}, 0))
        return len(new), renamed

    def _items(self, data: bytes) -> list[Mapping[str, Any]]:
        if len(data) > LARGEST_FILE:
            raise PresetsRefused("large")
        try:
            file = json.loads(data.decode("utf-8-sig"))
        except (ValueError, RecursionError, MemoryError) as error:
            raise PresetsRefused("json") from error
        if not isinstance(file, dict) or file.get("format") != self._format:
            raise PresetsRefused("other")
        version, items = file.get("version"), file.get("items")
        if isinstance(version, int) and not isinstance(version, bool) and version > VERSION:
            raise PresetsRefused("newer")
        if version != VERSION or isinstance(version, bool) or not isinstance(items, list):
            raise PresetsRefused("list")
        if not items:
            raise PresetsRefused("nothing")
        if len(items) > MOST:
            raise PresetsRefused("many")
        for place, each in enumerate(items, 1):
            if not isinstance(each, dict):
                raise PresetsRefused("list", place)
        return items

    def _free(self, name: str) -> str:
        """Return the name, with a number if it is taken."""
        if self.name_problem(name) is None:
            return name
        for number in range(2, MOST + len(self.built_in) + 2):
            ending = f" ({number})"
            other = name[: LONGEST_NAME - len(ending)].rstrip() + ending
            if self.name_problem(other) is None:
                return other
        raise PresetsRefused("many")

    def _place(self, name: str) -> int:
        for place, each in enumerate(self.own):
            if _same(each.name, name):
                return place
        raise KeyError(name)

    def _demand(self, name: str, *, besides: str | None = None) -> None:
        problem = self.name_problem(name, besides=besides)
        if problem is not None:
            raise ValueError(problem)


def presets(own: Iterable[object] = ()) -> SavedItems[GenerationPreset]:
    """Return the sampling presets; `own` as stored: invalid ones are left out."""
    return SavedItems(BUILT_IN, _preset, FORMAT, own)


def prompts(own: Iterable[object] = ()) -> SavedItems[SystemPrompt]:
    """Return the system prompts; `own` as stored: invalid ones are left out."""
    return SavedItems(BUILT_IN_PROMPTS, _prompt, PROMPTS_FORMAT, own)


def with_recommended(saved: SavedItems[GenerationPreset], values: GenerationChoice | None) -> None:
    """Offer a model's recommended values first of all, or no longer where there are none."""
    recommended = () if values is None else (GenerationPreset("As the model recommends", values, "recommended"),)
    saved.built_in = (*recommended, *BUILT_IN)


def _preset(data: Mapping[str, Any], place: int) -> GenerationPreset:
    name = _name(data, place)
    choice = GenerationChoice()
    for field in PRESET:
        if field in data:
            changed = choice.with_value(field, data[field])
            if changed is None:
                raise PresetsRefused("value", place, field)
            choice = changed
    return GenerationPreset(name, choice)


def _prompt(data: Mapping[str, Any], place: int) -> SystemPrompt:
    name, text = _name(data, place), data.get("text")
    if not isinstance(text, str) or not text.strip() or len(text) > LONGEST_SYSTEM or clean(text) != text:
        raise PresetsRefused("value", place, "text")
    return SystemPrompt(name, text)


def _name(data: Mapping[str, Any], place: int) -> str:
    name = data.get("name")
    if not isinstance(name, str) or clean(name) != name or not 0 < len(_tidy(name)) <= LONGEST_NAME:
        raise PresetsRefused("name", place)
    return _tidy(name)


def _tidy(name: str) -> str:
    return " ".join(name.split())


def _same(one: str, other: str) -> bool:
    return _tidy(one).casefold() == _tidy(other).casefold()
