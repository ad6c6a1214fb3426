"""Conversations of several turns, where the last turn only makes sense with the earlier ones."""

from __future__ import annotations

import random
from collections.abc import Callable

from . import about, copying, everyday, functions, markdown, smalltalk, stories, words
from .grammar import Conversation, Exchange, article, cap, expand, pick, roughen

CATEGORY = "follow-ups"

Turn = tuple[str, str]
Generator = Callable[[random.Random], Exchange]

SINGLE: list[tuple[Generator, float]] = [
    (smalltalk.generate, 1.1),
    (about.generate, 1.0),
    (stories.generate, 0.9),
    (everyday.generate, 1.3),
    (markdown.generate, 1.0),
    (functions.generate, 1.0),
    (copying.generate, 1.5),
    (smalltalk.unknown, 0.35),
]


def any_exchange(rng: random.Random) -> Exchange:
    """One exchange of any single-turn kind."""
    generators, weights = zip(*SINGLE, strict=True)
    chosen: Generator = rng.choices(generators, weights)[0]
    return chosen(rng)


_SHORTER = "[And shorter|Shorter, please|Can you make it shorter|Make it shorter|In short|Shorter|Too long|Give me the short version|In one or two sentences|Can you say it shorter|A shorter version, please|Summarise it|now shorter][?|.|]"
_ANOTHER = "[Another one|Another one, please|One more|Give me another|And another|Again, but different|Can you give me another one|Another|Do it again|Try again|A different one, please|Once more, please][?|.|!|]"
_AGAIN = "[Can you say that again|Say that again|Repeat that|Repeat your last answer|Once again, please|What did you say|Please repeat what you said|Repeat your answer|Sorry, what|I did not get that, say it again][?|.|]"
_FIRST = "[What did I ask first|What was my first question|What did I ask you first|What was the first thing I asked|What did I say first|How did I begin|What was my first message][?|]"
_LAST = "[What did I just ask|What was my last question|What did I ask before|What was my last message|What did I ask you just now|What did I say before this][?|]"
_NAME = "[What is my name|What's my name|Do you remember my name|Who am I|Do you know my name|How am I called|Can you say my name][?|]"
_MORE = "[Add one more|Can you add one more|One more item, please|Add another item|Add one item|Give me one more item][.|?|]"
_THANKS = "[Thanks|Thank you|Great, thanks|Thank you, that helped|Perfect, thank you|nice, thanks][!|.|]"
_HEAD = ["", "", "", "[Of course|Sure|Gladly|Here you are]: "]


def _facts_of_user(rng: random.Random) -> tuple[str, str, str, str]:
    """(what the user says, reply, later question, later answer)."""
    kind = rng.randrange(5)
    if kind < 2:
        name = words.person_name(rng)
        say = expand(rng, "[My name is|I am|I'm|Call me|Hello, I am|Hi, my name is|Hi, I'm] {n}[.|!|]", n=name)
        reply = expand(
            rng,
            "[Nice to meet you|Hello|Pleased to meet you], {n}! [How can I help you|What can I do for you]?",
            n=name,
        )
        answer = expand(rng, "[Your name is {n}|You are {n}|You told me that your name is {n}].", n=name)
        return say, reply, expand(rng, _NAME), answer
    if kind == 2:
        thing, name = pick(rng, words.ANIMALS), words.person_name(rng)
        say = expand(
            rng, "[My {t} is called {n}|I have a {t} named {n}|The name of my {t} is {n}][.|]", t=thing, n=name
        )
        reply = expand(
            rng, "[What a good name for a {t}|{n} is a lovely name]! [How old is {n}|Is {n} well]?", t=thing, n=name
        )
        ask = expand(rng, "[What is my {t} called|What is the name of my {t}|What's my {t}'s name][?|]", t=thing)
        return say, reply, ask, expand(rng, "[Your {t} is called {n}|The name of your {t} is {n}].", t=thing, n=name)
    if kind == 3:
        thing, colour = pick(rng, words.THINGS), pick(rng, words.COLOURS)
        say = expand(rng, "My {t} is {c}[.|]", t=thing, c=colour)
        reply = expand(
            rng, "[A {c} {t}|How nice, a {c} {t}]! [I would like to see it|That sounds pretty].", t=thing, c=colour
        )
        return (
            say,
            cap(reply),
            expand(rng, "[What colour is my {t}|Which colour has my {t}][?|]", t=thing),
            f"Your {thing} is {colour}.",
        )
    city = pick(rng, [*words.CITIES, words.invented_name(rng)])
    say = expand(rng, "I [live in|am from|come from] {c}[.|]", c=city)
    reply = expand(rng, "[How nice|Lovely]! [{c} must be a fine place|I would like to see {c}].", c=city)
    return (
        say,
        reply,
        expand(rng, "[Where do I live|Where am I from|Where do I come from|Which city did I name][?|]"),
        expand(rng, "[You told me: {c}|You named {c}|{c}, as you told me].", c=city),
    )


def _quote(text: str) -> str:
    return f'"{text}"'


def _brief(rng: random.Random, limit: int = 220) -> Exchange:
    """An exchange with a prompt that is short enough to be quoted."""
    while True:
        made = any_exchange(rng)
        if len(made.prompt) <= limit and "\n" not in made.prompt:
            return made


def _follow(rng: random.Random, base: Exchange, earlier: list[Turn]) -> Turn | None:
    """A follow-up to `base`, the newest exchange; None if the drawn kind does not fit."""
    asked = [text for role, text in earlier if role == "user"]
    kind = rng.randrange(9)
    if kind in (0, 1) and base.short:
        return expand(rng, _SHORTER), base.short
    if kind in (2, 3) and base.again is not None:
        head = expand(rng, pick(rng, ["", "", "[Here is another one|Another one]:"]))
        body = base.again(rng)
        return expand(rng, _ANOTHER), f"{head}\n\n{body}" if head else body
    if kind == 4 and len(base.reply) < 500:
        return expand(rng, _AGAIN), base.reply
    if kind == 5 and len(asked[0]) < 220 and "\n" not in asked[0]:
        return expand(rng, _FIRST), expand(
            rng, "[You first asked|Your first message was|You began with|First you wrote]:"
        ) + " " + _quote(asked[0])
    if kind == 6 and len(asked[-1]) < 220 and "\n" not in asked[-1]:
        return expand(rng, _LAST), expand(rng, "[You asked|Your last message was|You wrote]:") + " " + _quote(asked[-1])
    if kind == 7:
        return expand(rng, _THANKS), expand(
            rng,
            "You are [welcome|very welcome]! [Is there anything else|Just ask if you need more|I am glad that it helped].",
        ).replace("else.", "else?")
    if kind == 8:
        return _about_reply(rng, base)
    return None


def _about_reply(rng: random.Random, base: Exchange) -> Turn | None:
    """Make a question on the content of the newest reply."""
    if base.category == stories.CATEGORY and base.details:
        name = base.details["name"]
        draw = rng.random()
        if draw < 0.5:
            ask = expand(
                rng,
                "[What was the name of the hero|What is the hero called|Who is the story about|What was the name|Who was it about][?|]",
            )
            return ask, expand(
                rng,
                "[The story is about {n}, {h}|The hero is called {n}|It was {n}, {h}].",
                n=name,
                h=base.details["hero"],
            )
        new = article(stories.hero(rng))
        ask = expand(rng, "[Now one about|And one about|The same with|Now tell one about] {h}[.|, please.|?|]", h=new)
        return ask, stories.tell(rng, new, words.person_name(rng))[0]
    if base.category == markdown.CATEGORY and base.reply.count("\n- ") >= 2 and base.topic:
        items = [line[2:] for line in base.reply.split("\n") if line.startswith("- ") and not line.startswith("- [")]
        if items:
            if rng.random() < 0.5:
                ask = expand(
                    rng,
                    "[Now as a numbered list|With numbers, please|Number them|Make it a numbered list|Can you number them][.|?|]",
                )
                return ask, "\n".join(f"{n}. {item}" for n, item in enumerate(items, 1))
            which, at = pick(rng, [("first", 0), ("last", -1), ("second", 1)])
            ask = expand(rng, "[What is|Which is|Name] the {w} [item|one|point][ on the list|][?|]", w=which)
            return ask, expand(rng, "[The {w} one is {i}|It is {i}|{i}].", w=which, i=items[at])
    if base.category == functions.CATEGORY and base.details:
        new = pick(rng, [words.invented_word(rng), f"my_{base.details['name']}", pick(rng, words.COMMON)])
        ask = expand(
            rng,
            "[Call it|Rename it to|Name it|Change the name to|Call the function] {n}[ instead|][.|, please.|]",
            n=new,
        )
        if base.short:
            return ask, base.short.replace(f"def {base.details['name']}(", f"def {new}(")
    return None


def _turns(*exchanges: Exchange) -> list[Turn]:
    turns: list[Turn] = []
    for made in exchanges:
        turns += [("user", made.prompt), ("assistant", made.reply)]
    return turns


def generate(rng: random.Random) -> Conversation:
    """Make a conversation whose last turn refers to the earlier ones."""
    if rng.random() < 0.3:
        say, reply, ask, answer = _facts_of_user(rng)
        turns = [("user", roughen(rng, say)), ("assistant", reply)]
        for _ in range(rng.choice([0, 1, 1, 2, 3])):
            turns += _turns(_brief(rng))
        turns += [("user", roughen(rng, ask)), ("assistant", answer)]
        return Conversation(CATEGORY, tuple(turns))
    while True:
        before = [_brief(rng) for _ in range(rng.choice([0, 0, 0, 1, 1, 2]))]
        base = any_exchange(rng)
        turns = _turns(*before, base)
        follow = _follow(rng, base, turns)
        if follow is None:
            continue
        turns += [("user", roughen(rng, follow[0])), ("assistant", follow[1])]
        return Conversation(CATEGORY, tuple(turns))
