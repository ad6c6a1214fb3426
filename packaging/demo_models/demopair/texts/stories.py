"""Short stories: a hero from the prompt, a place, a wish, a trouble, help, an end."""

from __future__ import annotations

import random

from . import words
from .grammar import Exchange, article, cap, expand, mend_articles, pick, roughen

CATEGORY = "short stories"

_ASK = [
    "[Tell me|Write|Write me|Can you tell me|Can you write|I would like|Please tell me|Give me|Could you tell me]"
    " a [short |little |very short |nice |funny |]story about {who}[.|?|]",
    "[Story|A story|A short story|A tale|Short story] about {who}[.|, please.|]",
    "[Tell me|Write|Invent|Make up] a [tale|bedtime story|fairy tale|story for children] about {who}[.|]",
    "[Tell|Write] [a story|a short story] [with|in which we meet|where the hero is] {who}[.|]",
    "Once upon a time there was {who}. [Go on|Continue|What happened next][.|?]",
    "[I want to hear|I'd love to hear] [a story|a tale] [about|of] {who}[.|]",
]
_ASK_FREE = [
    "[Tell me|Write|Write me|Can you tell me|Please tell me] a [short |bedtime |nice |funny |new |sad |good |]"
    "[story|tale|fairy tale][.|?|]",
    "[Surprise me with a story|Make up a story|I want a story|Story time|Do you know a story][.|!|]",
]

_OPEN = [
    "[Once upon a time|Long ago|Once|Many years ago|One {season}], there [was|lived] {a_hero} [called|named|by the name "
    "of] {name} in a {adj} {place}.",
    "In a {adj} {place}[ by the sea| far away| under the stars|] there lived {a_hero} [called|named] {name}.",
    "{name} was {a_hero}, [and the whole {place} knew it|and lived alone in a {adj} {place}|the only one in the {place}].",
    "There was once {a_hero}. {Pos} name was {name}, and {pos} home was a {adj} {place}.",
]
_WISH = [
    "[Every day|Every night|All year long|From morning to evening] {name} [dreamed of|thought about|talked about] "
    "{a_object}[ that could {power}| made of {stuff}|].",
    "{name} wanted [only one thing|nothing more than this]: [to find {a_object}|to own {a_object}|to see {a_object} that "
    "could {power}].",
    "More than anything, {name} [loved|liked] {food} and the sound of the {sound}.",
    "[Nobody|No one] knew that {name} kept {a_object} under the [bed|floor|old tree|stairs].",
]
_TROUBLE = [
    "[One morning|One evening|One day|But one night|Then, one windy day], {a_object} [was gone|had disappeared|lay broken "
    "on the ground].",
    "[One morning|One day|Then], a [great|terrible|sudden] storm came and [took the roof away|closed the only road|put out "
    "every light in the {place}].",
    "[One day|One evening|But then], {name} [got lost in the {place2}|heard a cry from the {place2}|found a door that had "
    "never been there].",
    "[One day|Then one night], {a_other} [came to the {place} and asked for help|stood at the door, wet and hungry|said "
    "that it could not be done].",
]
_ACT = [
    "{name} [was afraid|felt small|did not know what to do], but [took a deep breath|did not give up|packed some {food}] and "
    "[went to the {place2}|set out before sunrise|walked all night].",
    "So {name} [went to the {place2}|climbed the highest hill|followed the {sound}] and [asked|met] {a_other}.",
    "[At first|For three days] [nothing happened|nobody would listen], but {name} [tried again|waited|kept looking].",
]
_HELP = [
    '{A_other} [called {name2} ][smiled and said|whispered|laughed and said]: "{Advice}."',
    "There {pro} met {a_other} [who had lost {a_object2}|who knew every path|who was just as lonely]. [Together they|The two "
    "of them] [looked for it|went on|made a plan].",
    "{name2}, {a_other}, [showed {obj} the way|gave {obj} {a_object2}|shared {food} with {obj}].",
]
_END = [
    "[In the end|At last|Before the night was over], [they found {a_object} in the {place2}|the light came back|everything "
    "was as it should be], and the whole {place} [celebrated with {food}|sang until morning|was glad].",
    "[At last|In the end], {name} came home [with {a_object2}|with a new friend|a little wiser], and [slept until noon|made "
    "{food} for everyone|told the story again and again].",
    "And when {name} [looked up|opened {pos} eyes|came to the door], there it was: {a_object}[, bright as a star|, as good as "
    "new|].",
]
_MORAL = [
    "[From that day on|Since then|Ever since], {name} [was never lonely again|kept the door open for every guest|knew that "
    "{moral}].",
    "[And so|That is how] {name} learned that {moral}.",
    "[And if you go to the {place} today, you can still hear the {sound}|And they all lived happily for many years|"
    "And that is the end of the story].",
]
_ADVICE = [
    "look where you began",
    "the way is shorter than you think",
    "ask the {animal}, it sees everything",
    "a friend is the best lamp",
    "wait for the moon",
    "share what you have",
    "listen before you speak",
    "the answer sleeps in the {place2}",
    "small steps also reach the top",
    "follow the {sound}",
]
_MORALS = [
    "a small light is enough in the dark",
    "a friend is worth more than gold",
    "asking for help is not weak",
    "patience opens every door",
    "kindness comes back",
    "even the smallest can be brave",
    "home is where somebody waits",
    "a shared meal tastes better",
    "listening is a kind of magic",
    "every road begins at the door",
    "courage grows with every step",
]
_POWERS = [
    "sing",
    "glow in the dark",
    "fly",
    "tell the truth",
    "find lost things",
    "talk",
    "stop the rain",
    "make people laugh",
]
_STUFF = ["gold", "glass", "wood", "silver", "paper", "ice", "stone"]
_SOUNDS = ["bells", "sea", "wind", "old clock", "rain", "river", "birds", "drums"]
_SEASONS = ["winter", "spring", "summer", "autumn", "cold night", "rainy day"]


def hero(rng: random.Random) -> str:
    """A hero without article: now and then one that no list holds."""
    draw = rng.random()
    if draw < 0.4:
        noun = pick(rng, words.ANIMALS)
    elif draw < 0.65:
        noun = pick(rng, words.PEOPLE)
    elif draw < 0.87:
        noun = pick(rng, words.THINGS)
    elif draw < 0.94:
        noun = pick(rng, words.COMMON)
    else:
        noun = words.invented_word(rng)
    return f"{pick(rng, words.ADJECTIVES)} {noun}" if rng.random() < 0.4 else noun


def _slots(rng: random.Random, a_hero: str, name: str) -> dict[str, str]:
    pro, obj, pos = ("she", "her", "her") if words.is_female(name) else ("he", "him", "his")
    other = f"{pick(rng, words.ADJECTIVES)} {pick(rng, [*words.ANIMALS, *words.PEOPLE])}"
    values = {
        "a_hero": a_hero,
        "name": name,
        "name2": pick(rng, [n for n in words.NAMES if n != name]),
        "pro": pro,
        "obj": obj,
        "pos": pos,
        "Pos": cap(pos),
        "adj": pick(rng, words.PLACE_ADJECTIVES),
        "place": pick(rng, words.PLACES),
        "place2": pick(rng, words.PLACES),
        "a_object": article(f"{pick(rng, words.THING_ADJECTIVES)} {pick(rng, words.PORTABLE)}"),
        "a_object2": article(pick(rng, words.PORTABLE)),
        "a_other": article(other),
        "A_other": cap(article(other)),
        "food": pick(rng, words.FOODS),
        "animal": pick(rng, words.ANIMALS),
        "sound": pick(rng, _SOUNDS),
        "season": pick(rng, _SEASONS),
        "power": pick(rng, _POWERS),
        "stuff": pick(rng, _STUFF),
        "moral": pick(rng, _MORALS),
    }
    values["Advice"] = cap(expand(rng, pick(rng, _ADVICE), **values))
    return values


def tell(rng: random.Random, a_hero: str, name: str) -> tuple[str, str]:
    """A story about the hero, and the same in two sentences."""
    values = _slots(rng, a_hero, name)
    parts = [_OPEN, _WISH, _TROUBLE, _ACT, _HELP, _END, _MORAL]
    if rng.random() < 0.5:
        parts.remove(pick(rng, [_WISH, _ACT, _HELP]))
    sentences = [mend_articles(expand(rng, pick(rng, part), **values)) for part in parts]
    if rng.random() < 0.3 and len(sentences) > 5:
        cut = rng.choice([2, 3])
        text = " ".join(sentences[:cut]) + "\n\n" + " ".join(sentences[cut:])
    else:
        text = " ".join(sentences)
    return text, f"{sentences[0]} {sentences[-1]}"


def generate(rng: random.Random) -> Exchange:
    """One request for a story and the story."""
    free = rng.random() < 0.12
    a_hero = article(hero(rng))
    name = words.person_name(rng)
    who = a_hero
    named = not free and rng.random() < 0.25
    if named:
        who = expand(rng, "{a} [called|named] {name}", a=a_hero, name=name)
    elif not free and rng.random() < 0.15:
        who = f"{a_hero} and {article(hero(rng))}"
    prompt = roughen(rng, expand(rng, pick(rng, _ASK_FREE if free else _ASK), who=who))
    lead = expand(rng, "[||||Here is a story for you.|Gladly!|Here it comes:|Sit back and listen.]")
    # A second named hero is told as company, so that the story keeps to what was asked.
    told_hero = a_hero
    if " and a" in who:
        told_hero = f"{a_hero} who was a friend of {who.split(' and ', 1)[1]}"
    text, short = tell(rng, told_hero, name)

    def again(other: random.Random) -> str:
        return tell(other, a_hero, words.person_name(other))[0]

    reply = f"{lead}\n\n{text}" if lead else text
    return Exchange(CATEGORY, prompt, reply, short, a_hero, again, {"name": name, "hero": a_hero})
