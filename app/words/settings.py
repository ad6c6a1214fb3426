"""Describe settings: trouble with their file, the effect of the sampling, and the outcome of an import."""

from __future__ import annotations

from app.settings.settings import SettingsTrouble
from app.state.settings.generation import GENERATION, GenerationChoice
from app.state.settings.presets import LONGEST_NAME, MOST, NameProblem, PresetsRefused, SystemPrompt
from app.system.translation import fill, say, tr


def trouble_words(trouble: SettingsTrouble) -> str:
    """Describe a problem with the settings file, and the remedy taken."""
    words = {
        "damaged": tr(
            "Settings",
            "The settings file was damaged, so Outrider uses the default settings. The old file was kept as {aside}.",
        ),
        "unreadable": tr(
            "Settings",
            "The settings cannot be read ({reason}). Outrider uses the default settings and saves no changes "
            "until it is restarted. Check the permissions of {path}.",
        ),
        "unwritable": tr(
            "Settings", "The settings cannot be saved ({reason}). Check the permissions of {path} and the free space."
        ),
    }
    words_here = words[trouble.kind]
    if trouble.kind == "damaged" and trouble.aside is None:
        words_here = tr("Settings", "The settings file {path} was damaged, so Outrider uses the default settings.")
    reason = trouble.reason or tr("Settings", "unknown reason")
    return words_here.format(path=trouble.path, aside=trouble.aside, reason=reason)


def drawing_words(choice: GenerationChoice) -> str:
    if choice.temperature == 0:
        return tr(
            "Settings",
            "Greedy, the default: each token is the most likely one. Rules that drop tokens and the seed have no "
            "effect.",
        )
    if choice.seed is not None:
        return tr(
            "Settings",
            "Sampled, but repeatable: the same message with the same models gives the same reply. With a seed, "
            "lookahead auto proposes a fixed number of tokens and overlap auto is off.",
        )
    return tr(
        "Settings", "Sampled: every reply differs. The distribution is exactly the target's, with or without a draft."
    )


def preset_names() -> dict[str, str]:
    """Return the names of the bundled presets by their keys."""
    return {
        "greedy": tr("Settings", "Greedy"),
        "recommended": tr("Settings", "As the model recommends"),
        "balanced": tr("Settings", "Balanced"),
        "creative": tr("Settings", "Creative"),
        "unrepeated": tr("Settings", "Without repeats"),
    }


def prompt_names() -> dict[str, str]:
    """Return the names of the bundled system prompts by their keys."""
    return {
        "brief": tr("Settings", "Brief"),
        "steps": tr("Settings", "Explains step by step"),
        "code": tr("Settings", "Programming"),
    }


def prompt_text(prompt: SystemPrompt) -> str:
    """Return a system prompt in the language of the window, where it came with the program."""
    words = {
        "brief": tr("Settings", "Answer briefly and to the point."),
        "steps": tr("Settings", "Explain your answers step by step, in plain words. Say so where you are not sure."),
        "code": tr("Settings", "You help with programming. Show complete code, then explain it in a few words."),
    }
    return words.get(prompt.key, prompt.text)


def name_words(problem: NameProblem) -> str:
    words = {
        "empty": tr("Settings", "Enter a name."),
        "long": tr("Settings", "Enter at most {length} characters."),
        "taken": tr("Settings", "This name is already taken."),
        "full": tr("Settings", "There are already {count}. Delete one first."),
    }
    return fill(words[problem], length=LONGEST_NAME, count=MOST)


def refusal_words(refused: PresetsRefused, file_name: str) -> str:
    """Explain the refusal of a file of presets or prompts."""
    reasons = {
        "large": tr("Settings", "it is too large"),
        "json": tr("Settings", "it is not valid JSON"),
        "other": tr("Settings", "it contains something else"),
        "newer": tr("Settings", "it was written by a newer version of Outrider; import it there"),
        "list": tr("Settings", "its list cannot be read"),
        "many": tr("Settings", "there would be more than {count}"),
        "name": tr("Settings", "entry {place} has no usable name"),
        "twice": tr("Settings", "the name “{field}” occurs twice"),
        "value": tr("Settings", "entry {place} has an invalid value for “{field}”"),
        "nothing": tr("Settings", "it is empty"),
    }
    field = refused.field if refused.problem == "twice" else _field_name(refused.field)
    reason = fill(reasons[refused.problem], place=refused.place, field=field, count=MOST)
    words = tr("Settings", "Cannot import {name}: {reason}. Nothing was changed.")
    return fill(words, name=file_name, reason=reason)


def _field_name(name: str) -> str:
    """Return the label of a field of such a file's entries."""
    if name in GENERATION:
        return say(GENERATION[name].label)
    return tr("Settings", "Text") if name == "text" else name


def imported_words(added: int, renamed: int) -> str:
    if not added:
        return tr("Settings", "All of its entries exist already.")
    said = fill(tr("Settings", "Imported: {count}."), count=added)
    if not renamed:
        return said
    more = tr("Settings", "{said} Renamed because their names were taken: {count}.")
    return fill(more, said=said, count=renamed)
