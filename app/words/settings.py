"""Settings in words: what went wrong with their file, what a field holds, and what may be typed there."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication

from app.settings.settings import SettingsTrouble
from app.state.settings.generation import LONGEST_STOP, LONGEST_SYSTEM, MOST_STOPS, GenerationChoice
from app.state.settings.presets import LONGEST_NAME, MOST, NameProblem, PresetsRefused, SystemPrompt
from app.system.translation import fill, number


def trouble_words(trouble: SettingsTrouble) -> str:
    """Say what went wrong with the settings file, and what became of it."""
    words = {
        "damaged": QCoreApplication.translate(
            "Settings",
            "The settings file was damaged, so Outrider uses the default settings. The old file was kept as {aside}.",
        ),
        "unreadable": QCoreApplication.translate(
            "Settings",
            "The settings cannot be read ({reason}). Outrider uses the default settings and saves no changes "
            "until it is restarted. Check the permissions of {path}.",
        ),
        "unwritable": QCoreApplication.translate(
            "Settings", "The settings cannot be saved ({reason}). Check the permissions of {path} and the free space."
        ),
    }
    words_here = words[trouble.kind]
    if trouble.kind == "damaged" and trouble.aside is None:
        words_here = QCoreApplication.translate(
            "Settings", "The settings file {path} was damaged, so Outrider uses the default settings."
        )
    reason = trouble.reason or QCoreApplication.translate("Settings", "unknown reason")
    return words_here.format(path=trouble.path, aside=trouble.aside, reason=reason)


def field_name(name: str) -> str:
    """Return the label of a field."""
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
    """Return the hint of a field, with its unit."""
    words = {
        "temperature": QCoreApplication.translate("Settings", "0 = greedy: always the most likely token"),
        "top_k": QCoreApplication.translate("Settings", "sample from this many of the most likely tokens · 0 = off"),
        "top_p": QCoreApplication.translate(
            "Settings", "sample from the likeliest tokens up to this total probability · 1 = off"
        ),
        "min_p": QCoreApplication.translate(
            "Settings", "drop tokens below this share of the best one's probability · 0 = off"
        ),
        "repeat_penalty": QCoreApplication.translate(
            "Settings", "weakens tokens already used by this factor · 1 = off"
        ),
        "presence_penalty": QCoreApplication.translate(
            "Settings", "subtracted once for every token already used · 0 = off"
        ),
        "frequency_penalty": QCoreApplication.translate("Settings", "subtracted for every use of a token · 0 = off"),
        "penalty_window": QCoreApplication.translate(
            "Settings", "number of recent tokens that penalties apply to · 0 = all"
        ),
        "seed": QCoreApplication.translate(
            "Settings", "the same seed gives the same reply · empty = a new seed each time"
        ),
        "max_tokens": QCoreApplication.translate(
            "Settings", "new tokens per reply · empty = until the context is full"
        ),
        "stop": QCoreApplication.translate(
            "Settings", "Texts that end a reply, one per line. Write \\n for a line break and \\t for a tab."
        ),
        "system": QCoreApplication.translate("Settings", "Instructions that the model reads before every chat"),
    }
    return words.get(name, "")


def field_rule(name: str) -> str:
    """Say what a field accepts, after an invalid entry."""
    words = {
        "temperature": QCoreApplication.translate("Settings", "Enter a number from 0 to 100."),
        "top_k": QCoreApplication.translate("Settings", "Enter 0 or a whole number above 0."),
        "top_p": QCoreApplication.translate("Settings", "Enter a number above 0, at most 1."),
        "min_p": QCoreApplication.translate("Settings", "Enter a number from 0 to 1."),
        "repeat_penalty": QCoreApplication.translate("Settings", "Enter a number above 0, at most 100."),
        "presence_penalty": QCoreApplication.translate("Settings", "Enter a number from -100 to 100."),
        "frequency_penalty": QCoreApplication.translate("Settings", "Enter a number from -100 to 100."),
        "penalty_window": QCoreApplication.translate("Settings", "Enter 0 or a whole number above 0."),
        "seed": QCoreApplication.translate("Settings", "Enter a whole number from 0 to 2⁶⁴ − 1, or leave this empty."),
        "max_tokens": QCoreApplication.translate("Settings", "Enter a whole number above 0, or leave this empty."),
        "stop": QCoreApplication.translate(
            "Settings", "Enter at most {count} stop strings of up to {length} characters each."
        ),
        "system": QCoreApplication.translate("Settings", "Enter at most {length} characters."),
    }
    lengths = {"stop": LONGEST_STOP, "system": LONGEST_SYSTEM}
    return fill(words.get(name, ""), count=MOST_STOPS, length=number(lengths.get(name, 0)))


def drawing_words(choice: GenerationChoice) -> str:
    """Describe the effect of the sampling settings."""
    if choice.temperature == 0:
        return QCoreApplication.translate(
            "Settings",
            "Greedy, the default: each token is the most likely one. Top-k, top-p, min-p and the seed have no effect.",
        )
    if choice.seed is not None:
        return QCoreApplication.translate(
            "Settings",
            "Sampled, but repeatable: the same message with the same models gives the same reply. With a seed, "
            "lookahead auto proposes a fixed number of tokens and overlap auto is off.",
        )
    return QCoreApplication.translate(
        "Settings", "Sampled: every reply differs. The distribution is exactly the target's, with or without a draft."
    )


def preset_names() -> dict[str, str]:
    """Return the names of the bundled presets by their keys."""
    return {
        "greedy": QCoreApplication.translate("Settings", "Greedy"),
        "balanced": QCoreApplication.translate("Settings", "Balanced"),
        "creative": QCoreApplication.translate("Settings", "Creative"),
        "unrepeated": QCoreApplication.translate("Settings", "Without repeats"),
    }


def prompt_names() -> dict[str, str]:
    """Return the names of the bundled system prompts by their keys."""
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
    """Say what is wrong with a name."""
    words = {
        "empty": QCoreApplication.translate("Settings", "Enter a name."),
        "long": QCoreApplication.translate("Settings", "Enter at most {length} characters."),
        "taken": QCoreApplication.translate("Settings", "This name is already taken."),
        "full": QCoreApplication.translate("Settings", "There are already {count}. Delete one first."),
    }
    return fill(words[problem], length=LONGEST_NAME, count=MOST)


def refusal_words(refused: PresetsRefused, file_name: str) -> str:
    """Say why a file of presets or prompts was not imported."""
    reasons = {
        "large": QCoreApplication.translate("Settings", "it is too large"),
        "json": QCoreApplication.translate("Settings", "it is not valid JSON"),
        "other": QCoreApplication.translate("Settings", "it contains something else"),
        "newer": QCoreApplication.translate(
            "Settings", "it was written by a newer version of Outrider; import it there"
        ),
        "list": QCoreApplication.translate("Settings", "its list cannot be read"),
        "many": QCoreApplication.translate("Settings", "there would be more than {count}"),
        "name": QCoreApplication.translate("Settings", "entry {place} has no usable name"),
        "twice": QCoreApplication.translate("Settings", "the name “{field}” occurs twice"),
        "value": QCoreApplication.translate("Settings", "entry {place} has an invalid value for “{field}”"),
        "nothing": QCoreApplication.translate("Settings", "it is empty"),
    }
    field = refused.field if refused.problem == "twice" else field_name(refused.field)
    reason = fill(reasons[refused.problem], place=refused.place, field=field, count=MOST)
    words = QCoreApplication.translate("Settings", "Cannot import {name}: {reason}. Nothing was changed.")
    return fill(words, name=file_name, reason=reason)


def imported_words(added: int, renamed: int) -> str:
    """Say the result of an import."""
    if not added:
        return QCoreApplication.translate("Settings", "All of its entries exist already.")
    said = fill(QCoreApplication.translate("Settings", "Imported: {count}."), count=added)
    if not renamed:
        return said
    more = QCoreApplication.translate("Settings", "{said} Renamed because their names were taken: {count}.")
    return fill(more, said=said, count=renamed)


def option_words(field: str) -> dict[str, tuple[str, str]]:
    """The values of a field of the speculation: what each is called, and what it does."""
    words = {
        "method": {
            "auto": (
                QCoreApplication.translate("Settings", "Automatic"),
                QCoreApplication.translate(
                    "Settings",
                    "Uses the draft that is chosen in the window. With lookahead auto it also uses the text so "
                    "far, whichever promises more.",
                ),
            ),
            "draft-model": (
                QCoreApplication.translate("Settings", "Draft model"),
                QCoreApplication.translate("Settings", "Only the draft model proposes tokens, if one is chosen."),
            ),
            "ngram": (
                QCoreApplication.translate("Settings", "N-gram"),
                QCoreApplication.translate(
                    "Settings",
                    "Proposes what followed earlier in the text when it begins to repeat. Needs no draft model.",
                ),
            ),
            "autoregressive": (
                QCoreApplication.translate("Settings", "Plain"),
                QCoreApplication.translate("Settings", "Proposes nothing: the target generates one token at a time."),
            ),
        },
        "acceptance": {
            "rejection": (
                QCoreApplication.translate("Settings", "Rejection sampling"),
                QCoreApplication.translate(
                    "Settings",
                    "Keeps a proposed token with probability target / draft, at most 1. Accepts the most tokens.",
                ),
            ),
            "exact": (
                QCoreApplication.translate("Settings", "Exact match"),
                QCoreApplication.translate(
                    "Settings",
                    "Keeps a proposed token if the target samples the same one. Accepts fewer tokens; with a "
                    "seed, a reply repeats at any lookahead.",
                ),
            ),
        },
        "overlap": {
            "auto": (
                QCoreApplication.translate("Settings", "Automatic"),
                QCoreApplication.translate("Settings", "On if draft and target do not run on the same cores."),
            ),
            "on": (
                QCoreApplication.translate("Settings", "On"),
                QCoreApplication.translate("Settings", "The draft keeps proposing while the target verifies."),
            ),
            "off": (
                QCoreApplication.translate("Settings", "Off"),
                QCoreApplication.translate("Settings", "The draft waits for the target."),
            ),
        },
    }
    return words[field]
