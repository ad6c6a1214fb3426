"""Hold the generation settings: of the shown chat, and of new chats."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from PySide6.QtCore import QObject, Signal

from app.control.conversations import ConversationController
from app.settings.settings import Settings
from app.state.conversations.conversation import Conversation
from app.state.models.selection import Lookahead, Selection
from app.state.settings.generation import (
    CHOSEN,
    CONVERSATION,
    FIELDS,
    NEEDS_DRAFT,
    SAMPLING,
    SPECULATION,
    THINKING,
    GenerationChoice,
)
from app.state.settings.project import ProjectChoice
from app.state.tools.choice import TOOLS_OFF
from engine import THINKING_MODES, ModelFile, ThinkingMode


class Choices(QObject):
    """Hold the generation choices: each conversation has its own sampling and system prompt, all share the speculation.

    A new conversation starts with the defaults, or with choices made before its first question, and keeps them. They
    are built on each choice and on opening another conversation, and cached. Without a chosen sampling, a reasoning
    model uses its recommended one: with greedy decoding several of these models repeat themselves without end.

    Attributes: defaults (of new chats), of_model (of new chats with the chosen model, None if not chosen), own (the
    settings for the next reply of the shown chat), read (the same with the instructions of its project, as the model
    reads them). Signal: changed().
    """

    changed = Signal()

    def __init__(self, settings: Settings, conversations: ConversationController) -> None:
        super().__init__()
        self._target: ModelFile | None = None
        self._modes: tuple[ThinkingMode, ...] = ()
        self._thinking_model = ""
        self._settings = settings
        self._conversations = conversations
        self._build()
        conversations.open_changed.connect(self._opened)

    def for_selection(self, selection: Selection) -> GenerationChoice:
        """Return `own` with the draft that is chosen: none, or the text so far, decides the method."""
        method = selection.method or self.own.method
        if method in NEEDS_DRAFT and not selection.sources:
            method = "auto"
        if method not in self._by_method:
            self._by_method[method] = replace(self.read, method=method)
        return self._by_method[method]

    def applied(self, selection: Selection) -> Selection:
        """Return the choice with the lookahead that the next reply really uses."""
        has_draft = bool(selection.sources)
        lookahead = self.for_selection(selection).lookahead_for(selection.lookahead, has_draft=has_draft)
        return selection if lookahead == selection.lookahead else replace(selection, lookahead=lookahead)

    def choose(self, choice: GenerationChoice) -> None:
        """Ask the next replies of the chat on the screen with this; its speculation is that of all chats."""
        shown = self._conversations.open
        values = self._stored(choice, self.own, self._base, self._is_chosen(shown))
        if choice is self._start:
            values = self._begins_with()
        if shown is not None:
            values |= {name: shown.settings[name] for name in (THINKING, TOOLS_OFF) if name in shown.settings}
        if shown is None:
            self._settings.next_sampling = values
        elif values != shown.settings:
            self._conversations.set_settings(shown, values)
        self.choose_speculation(choice)

    def choose_defaults(self, choice: GenerationChoice) -> None:
        """Begin new conversations with this; its speculation is that of all chats."""
        self._settings.sampling = self._stored(
            choice, self.defaults, self.defaults, bool(self._settings.sampling.get(CHOSEN))
        )
        self.choose_speculation(choice)

    def choose_for_model(self, choice: GenerationChoice) -> None:
        """Set the choice for new conversations with the chosen model; one equal to the general choice is removed."""
        own = {self._model: {**choice.to_mapping(), CHOSEN: True}} if self._differs(choice) else {}
        others = {path: each for path, each in self._settings.model_choices.items() if path != self._model}
        self._settings.model_choices = {**own, **others}
        self.choose_speculation(choice)

    def _differs(self, choice: GenerationChoice) -> bool:
        return bool(self._model) and choice.to_mapping() != self.defaults.to_mapping()

    def choose_speculation(self, choice: GenerationChoice) -> None:
        """Set only the speculation, in all chats."""
        for name in SPECULATION:
            setattr(self._settings, name, getattr(choice, name))
        self._build()
        self.changed.emit()

    def read_again(self) -> None:
        """Follow settings that were changed elsewhere."""
        self._build()
        self.changed.emit()

    def _build(self) -> None:
        speculation = {name: getattr(self._settings, name) for name in SPECULATION}
        self.defaults = GenerationChoice.from_mapping({**self._settings.sampling, **speculation})
        for_model = self._settings.model_choices.get(self._model)
        self.of_model = None if for_model is None else GenerationChoice.from_mapping(for_model, self.defaults)
        shown = self._conversations.open
        kept = self._settings.next_sampling if shown is None else shown.settings
        values = {name: kept[name] for name in CONVERSATION if name in kept}
        self._base = self.own = GenerationChoice.from_mapping(values, self._start)
        if not self._is_chosen(shown) and _same_sampling(self._base, GenerationChoice()):
            self.own = self._as_recommended(self._base)
        variables = self._settings.template_variables.get(self._model, {})
        self.own = replace(self.own, thinking=self.thinking, variables=variables)
        project = self._conversations.project
        before = "" if project is None else ProjectChoice.from_mapping(project.settings).instructions.strip()
        system = "\n\n".join(filter(None, (before, self.own.system.strip())))
        self.read = replace(self.own, system=system) if before else self.own
        self._by_method = {self.own.method: self.read}

    def _opened(self) -> None:
        shown = self._conversations.open
        if shown is not None and not len(shown) and not shown.settings:
            begins_with = self._settings.next_sampling or self._begins_with()
            mode = self._settings.thinking.get(self._thinking_model)
            self._conversations.set_settings(shown, begins_with if mode is None else {**begins_with, THINKING: mode})
        self._settings.next_sampling = {}
        self._build()
        self.changed.emit()

    # Thinking ---------------------------------------------------------------------------------------------------------

    @property
    def thinking_modes(self) -> tuple[ThinkingMode, ...]:
        """List the thinking choices of the loaded model beside "default"; (): none."""
        return self._modes

    @property
    def thinking(self) -> ThinkingMode:
        """Return the thinking choice of the next reply: the conversation's, or else the model's."""
        shown = self._conversations.open
        kept = None if shown is None else shown.settings.get(THINKING)
        wanted = kept if kept in THINKING_MODES else self._settings.thinking.get(self._thinking_model)
        return next((mode for mode in self._modes if mode == wanted), "default")

    def note_thinking(self, model: str, modes: tuple[ThinkingMode, ...]) -> None:
        """Set the loaded model, and its thinking modes."""
        if (model, modes) != (self._thinking_model, self._modes):
            self._thinking_model, self._modes = model, modes
            self._build()
            self.changed.emit()

    def choose_thinking(self, mode: ThinkingMode) -> None:
        """Set the thinking mode for the next replies of this conversation, and for new ones with the same model."""
        self._settings.thinking = {**self._settings.thinking, self._thinking_model: mode}
        shown = self._conversations.open
        if shown is not None:
            self._conversations.set_settings(shown, {**shown.settings, THINKING: mode})
        self._build()
        self.changed.emit()

    # As the model recommends ------------------------------------------------------------------------------------------

    def note_target(self, target: ModelFile | None) -> None:
        """Set the target model: the sampling may depend on it."""
        if target != self._target:
            self._target = target
            self._build()
            self.changed.emit()

    @property
    def _model(self) -> str:
        """Return the path of the model that is to answer; "" for none that is here."""
        return "" if self._target is None else str(self._target.path)

    @property
    def _start(self) -> GenerationChoice:
        """Make the choices that a new conversation begins with."""
        return self.defaults if self.of_model is None else self.of_model

    @property
    def recommended(self) -> GenerationChoice | None:
        """Apply the sampling that the answering model recommends; None if it recommends none."""
        sampling = None if self._target is None else self._target.recommended_sampling
        if sampling is None:
            return None
        values = {name: getattr(sampling, name) for name in SAMPLING if name != "seed"}
        return replace(self._base, **values)

    def _as_recommended(self, choice: GenerationChoice) -> GenerationChoice:
        recommended = self.recommended
        return choice if recommended is None or self._target is None or not self._target.thinks else recommended

    def _is_chosen(self, shown: Conversation | None) -> bool:
        if shown is not None:
            return bool(shown.settings.get(CHOSEN))
        kept = self._settings.next_sampling
        return bool((kept or self._begins_with()).get(CHOSEN))

    def _begins_with(self) -> dict[str, Any]:
        chosen = {CHOSEN: True} if self.of_model is not None or self._settings.sampling.get(CHOSEN) else {}
        return {**self._start.to_mapping(), **chosen}

    def _stored(
        self, choice: GenerationChoice, shown: GenerationChoice, base: GenerationChoice, chosen: bool
    ) -> dict[str, Any]:
        """Return a choice as it is stored; `shown`: the one it was edited from, `base`: the stored one."""
        if not chosen and _same_sampling(choice, shown):
            unchanged = {name: getattr(base, name) for name in SAMPLING if name != "seed"}
            return replace(choice, **unchanged).to_mapping()
        return {**choice.to_mapping(), CHOSEN: True}


def _same_sampling(one: GenerationChoice, other: GenerationChoice) -> bool:
    """Return True if both draw in the same way, with whatever seed."""
    return all(getattr(one, name) == getattr(other, name) for name in SAMPLING if name != "seed")


def as_kept(choice: GenerationChoice, lookahead: Lookahead) -> dict[str, Any]:
    """Return the settings of a reply in the form that is stored with the message."""
    return {"lookahead": lookahead, **choice.to_mapping(FIELDS)}
