"""Settings in words: what went wrong with their file, what a field holds, and what may be typed there."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication

from app.settings.settings import SettingsTrouble
from app.state.settings.generation import LONGEST_STOP, LONGEST_SYSTEM, MOST_STOPS, GenerationChoice
from app.state.settings.presets import LONGEST_NAME, MOST, NameProblem, PresetsRefused, SystemPrompt
from app.system.translation import fill, number


def trouble_words(trouble: SettingsTrouble) -> str:
    """What went wrong with the file of the settings, and what became of it."""
    words = {
        "damaged": QCoreApplication.translate(
            "Settings", "The settings file was damaged: the usual settings are used. The old file is kept as {aside}."
        ),
        "unreadable": QCoreApplication.translate(
            "Settings",
            "The settings cannot be read ({reason}): the usual ones are used, and nothing is saved in this run. "
            "Check the permissions of {path}.",
        ),
        "unwritable": QCoreApplication.translate(
            "Settings", "The settings cannot be saved ({reason}). Check the permissions and the free space of {path}."
        ),
    }
    words_here = words[trouble.kind]
    if trouble.kind == "damaged" and trouble.aside is None:
        words_here = QCoreApplication.translate(
            "Settings", "The settings file {path} was damaged: the usual settings are used."
        )
    reason = trouble.reason or QCoreApplication.translate("Settings", "no reason was given")
    return words_here.format(path=trouble.path, aside=trouble.aside, reason=reason)


def field_name(name: str) -> str:
    """What a field is called."""
    words = {
        "temperature": QCoreApplication.translate("Settings", "Temperature"),
        "top_k": QCoreApplication.translate("Settings", "Top-k"),
        "top_p": QCoreApplication.translate("Settings", "Top-p"),
        "min_p": QCoreApplication.translate("Settings", "Min-p"),
        "repeat_penalty": QCoreApplication.translate("Settings", "Repeat penalty"),
        "presence_penalty": QCoreApplication.translate("Settings", "Presence penalty"),
        "frequency_penalty": QCoreApplication.translate("Settings", "Frequency penalty"),
        "penalty_window": QCoreApplication.translate("Settings", "Penalty window"),
        "seed": QCoreApplication.translate("Settings", "Seed"),
        "max_tokens": QCoreApplication.translate("Settings", "Max tokens"),
        "stop": QCoreApplication.translate("Settings", "Stop strings"),
        "system": QCoreApplication.translate("Settings", "System prompt"),
        "text": QCoreApplication.translate("Settings", "Text"),
        "method": QCoreApplication.translate("Settings", "Method"),
        "acceptance": QCoreApplication.translate("Settings", "Acceptance rule"),
        "overlap": QCoreApplication.translate("Settings", "Overlap"),
    }
    return words.get(name, name)


def field_hint(name: str) -> str:
    """What a field does, in a few words, with its unit."""
    words = {
        "temperature": QCoreApplication.translate("Settings", "0: greedy, always the most likely token"),
        "top_k": QCoreApplication.translate("Settings", "tokens to draw from at most · 0: off"),
        "top_p": QCoreApplication.translate("Settings", "share of the probability to draw from · 1: off"),
        "min_p": QCoreApplication.translate("Settings", "least probability, of the best token's · 0: off"),
        "repeat_penalty": QCoreApplication.translate("Settings", "factor on tokens that were there already · 1: off"),
        "presence_penalty": QCoreApplication.translate("Settings", "once for each token that was there · 0: off"),
        "frequency_penalty": QCoreApplication.translate("Settings", "for each time that it was there · 0: off"),
        "penalty_window": QCoreApplication.translate("Settings", "last tokens that the penalties look at · 0: all"),
        "seed": QCoreApplication.translate("Settings", "the same seed, the same reply · empty: another each time"),
        "max_tokens": QCoreApplication.translate("Settings", "new tokens · empty: until the context is full"),
        "stop": QCoreApplication.translate(
            "Settings", "Texts that end a reply, one on each line. Write \\n for a line break, \\t for a tab."
        ),
        "system": QCoreApplication.translate("Settings", "What the model is told before everything else"),
    }
    return words.get(name, "")


def field_rule(name: str) -> str:
    """What may be typed into a field, said when something else was."""
    words = {
        "temperature": QCoreApplication.translate("Settings", "Write a number from 0 to 100."),
        "top_k": QCoreApplication.translate("Settings", "Write 0 or a whole number above 0."),
        "top_p": QCoreApplication.translate("Settings", "Write a number above 0, at most 1."),
        "min_p": QCoreApplication.translate("Settings", "Write a number from 0 to 1."),
        "repeat_penalty": QCoreApplication.translate("Settings", "Write a number above 0, at most 100."),
        "presence_penalty": QCoreApplication.translate("Settings", "Write a number from -100 to 100."),
        "frequency_penalty": QCoreApplication.translate("Settings", "Write a number from -100 to 100."),
        "penalty_window": QCoreApplication.translate("Settings", "Write 0 or a whole number above 0."),
        "seed": QCoreApplication.translate("Settings", "Write a whole number from 0 to 2⁶⁴ − 1, or nothing."),
        "max_tokens": QCoreApplication.translate("Settings", "Write a whole number above 0, or nothing."),
        "stop": QCoreApplication.translate("Settings", "At most {count} stop strings, of {length} characters each."),
        "system": QCoreApplication.translate("Settings", "At most {length} characters."),
    }
    lengths = {"stop": LONGEST_STOP, "system": LONGEST_SYSTEM}
    return fill(words.get(name, ""), count=MOST_STOPS, length=number(lengths.get(name, 0)))


def drawing_words(choice: GenerationChoice) -> str:
    """What the sampling comes to."""
    if choice.temperature == 0:
        return QCoreApplication.translate(
            "Settings",
            "Greedy, as Outrider does it unless you choose otherwise: each token is the most likely one. Top-k, top-p, "
            "min-p and the seed change nothing then.",
        )
    if choice.seed is not None:
        return QCoreApplication.translate(
            "Settings",
            "Drawn, and the same again for the same question with the same models: with a seed a lookahead of auto "
            "proposes a fixed number of tokens, and an overlap of auto is off.",
        )
    return QCoreApplication.translate(
        "Settings", "Drawn: each reply is another one, of exactly the target's distribution, with a draft or without."
    )


def preset_names() -> dict[str, str]:
    """What the presets are called that come with the program, by their keys."""
    return {
        "greedy": QCoreApplication.translate("Settings", "Greedy"),
        "balanced": QCoreApplication.translate("Settings", "Balanced"),
        "creative": QCoreApplication.translate("Settings", "Creative"),
        "unrepeated": QCoreApplication.translate("Settings", "Without repeats"),
    }


def prompt_names() -> dict[str, str]:
    """What the system prompts are called that come with the program, by their keys."""
    return {
        "brief": QCoreApplication.translate("Settings", "Brief"),
        "steps": QCoreApplication.translate("Settings", "Explains step by step"),
        "code": QCoreApplication.translate("Settings", "Programming"),
    }


def prompt_text(prompt: SystemPrompt) -> str:
    """A system prompt in the language of the window, where it came with the program."""
    words = {
        "brief": QCoreApplication.translate("Settings", "Answer briefly and to the point."),
        "steps": QCoreApplication.translate(
            "Settings", "Explain your answers step by step, in plain words. Say so where you are not sure."
        ),
        "code": QCoreApplication.translate(
            "Settings", "You help with programming. Show complete code, then explain it in a few words."
        ),
    }
    return words.get(prompt.key, prompt.text)


def name_words(problem: NameProblem) -> str:
    """What is wrong with a name."""
    words = {
        "empty": QCoreApplication.translate("Settings", "Write a name."),
        "long": QCoreApplication.translate("Settings", "At most {length} characters."),
        "taken": QCoreApplication.translate("Settings", "There is one of this name."),
        "full": QCoreApplication.translate("Settings", "There are {count} already. Delete one first."),
    }
    return fill(words[problem], length=LONGEST_NAME, count=MOST)


def refusal_words(refused: PresetsRefused, file_name: str) -> str:
    """Why a file of presets or prompts was not imported."""
    reasons = {
        "large": QCoreApplication.translate("Settings", "it is too large"),
        "json": QCoreApplication.translate("Settings", "it is no JSON, or damaged"),
        "other": QCoreApplication.translate("Settings", "it holds something else"),
        "newer": QCoreApplication.translate("Settings", "a newer version of Outrider wrote it; import it there"),
        "list": QCoreApplication.translate("Settings", "what it lists cannot be read"),
        "many": QCoreApplication.translate("Settings", "there would be more than {count}"),
        "name": QCoreApplication.translate("Settings", "entry {place} has no name that can be used"),
        "twice": QCoreApplication.translate("Settings", "the name “{field}” is there twice"),
        "value": QCoreApplication.translate("Settings", "in entry {place} “{field}” makes no sense"),
        "nothing": QCoreApplication.translate("Settings", "there is nothing in it"),
    }
    field = refused.field if refused.problem == "twice" else field_name(refused.field)
    reason = fill(reasons[refused.problem], place=refused.place, field=field, count=MOST)
    words = QCoreApplication.translate("Settings", "Cannot import {name}: {reason}. Nothing was changed.")
    return fill(words, name=file_name, reason=reason)


def imported_words(added: int, renamed: int) -> str:
    """What came of an import."""
    if not added:
        return QCoreApplication.translate("Settings", "Everything in it was here already.")
    said = fill(QCoreApplication.translate("Settings", "Imported: {count}."), count=added)
    if not renamed:
        return said
    more = QCoreApplication.translate("Settings", "{said} Renamed, as their names were taken: {count}.")
    return fill(more, said=said, count=renamed)


def option_words(field: str) -> dict[str, tuple[str, str]]:
    """The values of a field of the speculation: what each is called, and what it does."""
    words = {
        "method": {
            "auto": (
                QCoreApplication.translate("Settings", "Automatic"),
                QCoreApplication.translate(
                    "Settings",
                    "The draft that is chosen in the window; with the lookahead auto also the text so far, whichever "
                    "promises more.",
                ),
            ),
            "draft-model": (
                QCoreApplication.translate("Settings", "Draft model"),
                QCoreApplication.translate("Settings", "Only the draft model proposes, where one is chosen."),
            ),
            "ngram": (
                QCoreApplication.translate("Settings", "N-gram"),
                QCoreApplication.translate(
                    "Settings", "What stands in the text already is proposed when it begins to repeat. Needs no draft."
                ),
            ),
            "autoregressive": (
                QCoreApplication.translate("Settings", "Plain"),
                QCoreApplication.translate("Settings", "Nothing is proposed: the target writes token by token."),
            ),
        },
        "acceptance": {
            "rejection": (
                QCoreApplication.translate("Settings", "Rejection sampling"),
                QCoreApplication.translate(
                    "Settings",
                    "A proposed token is kept with the probability target / draft, at most 1. Accepts most.",
                ),
            ),
            "exact": (
                QCoreApplication.translate("Settings", "Exact match"),
                QCoreApplication.translate(
                    "Settings",
                    "A proposed token is kept where the target draws the same. Accepts less; with a seed a "
                    "reply repeats whatever the lookahead.",
                ),
            ),
        },
        "overlap": {
            "auto": (
                QCoreApplication.translate("Settings", "Automatic"),
                QCoreApplication.translate("Settings", "On where draft and target do not compute on the same cores."),
            ),
            "on": (
                QCoreApplication.translate("Settings", "On"),
                QCoreApplication.translate("Settings", "The draft goes on proposing while the target verifies."),
            ),
            "off": (
                QCoreApplication.translate("Settings", "Off"),
                QCoreApplication.translate("Settings", "The draft waits for the target."),
            ),
        },
    }
    return words[field]
