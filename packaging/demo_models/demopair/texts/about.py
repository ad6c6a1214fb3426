"""What Outrider is and what every word on its screen means."""

from __future__ import annotations

import random

from .grammar import Exchange, cap, expand, pick, roughen

CATEGORY = "outrider"

# word on the screen → ways to explain it
_MEANINGS: dict[str, list[str]] = {
    "target": [
        "[is|means] the large model [whose text you get|whose words are reproduced]. It checks the tokens that the draft "
        "proposes, so the reply is exactly what the target would have written alone.",
        "[is|means] the model that decides: every token in the reply is the target's own choice. The draft only guesses ahead.",
    ],
    "draft": [
        "[is|means] the small, quick model [that rides ahead|that runs ahead] and proposes tokens. The target checks them, "
        "so a weak draft costs time but never quality.",
        "[is|means] the proposer: it guesses the next few tokens cheaply, and the target keeps those that it would have "
        "written itself.",
    ],
    "lookahead": [
        "[is|says|means] how many tokens the draft proposes [in each round|per round]. With 0 there is no draft, which is "
        "plain decoding.",
        "[is|means] the number of tokens proposed per round, from 0 to 32. A larger lookahead pays only when most proposals "
        "are accepted.",
    ],
    "round": [
        "[is|means] one turn of the loop: propose, verify, accept, commit. The draft proposes tokens, and the target "
        "verifies them in one pass.",
        "[is|means] one step of speculation: the draft proposes, the target verifies everything in a single forward pass, "
        "and the accepted tokens are kept.",
    ],
    "proposed": [
        "counts the draft tokens that the target verified. Compare it with accepted to see how good the draft is.",
        "[is|means] the number of tokens that the draft offered and the target checked.",
    ],
    "accepted": [
        "counts the proposed tokens that were kept. They are the ones that came almost for free.",
        "[is|means] the number of draft tokens that the target agreed with, so they went into the reply.",
    ],
    "rejected": [
        "[is|means] the proposed token at which a round broke off, and those after it. They are thrown away and are in no cache.",
        "counts the draft tokens that the target did not keep. A rejected token never reaches your reply.",
    ],
    "correction": [
        "[is|means] the token that the target puts in the place of the first rejected one. It never counts as accepted.",
        "[is|means] the target's own token after a rejection, so that every round moves on by at least one token.",
    ],
    "bonus": [
        "[is|means] the extra token that the target gives when a whole draft was accepted. It never counts as accepted.",
        "[is|means] one more token for free: when all proposals pass, the same forward pass also yields the next token.",
    ],
    "acceptance rate": [
        "[is|means] accepted divided by proposed. Corrections and bonuses never count as accepted.",
        "shows how often the target agrees with the draft: accepted tokens divided by proposed tokens.",
    ],
    "mean length": [
        "[is|means] the emitted tokens per round: emitted divided by rounds. A higher mean length means fewer passes of the target.",
        "says how many tokens a round brings on average, the correction or bonus included.",
    ],
    "speedup": [
        "compares the measured tokens/s with plain decoding of the same target on the same machine. A value of 2 means twice as fast.",
        "[is|means] how much faster speculation is than the target alone. An estimate is always labelled as one.",
    ],
    "tokens/s": [
        "[is|means] the tokens emitted per second, without the time for reading the prompt.",
        "shows the speed of the reply: how many tokens come out in one second.",
    ],
    "token": [
        "[is|means] a piece of text: a word, a part of a word or a sign. Models read and write tokens.",
        "[is|means] the unit in which a model works, often a short word or a part of a longer one.",
    ],
    "plain decoding": [
        "[is|means] decoding without a draft: one forward pass of the target for each token. It is the measure for the speedup.",
        "[is|means] a lookahead of 0: the target writes alone, token by token.",
    ],
}

_ASK = [
    "[What is|What's|What does|What is meant by] [the |a |]{word}[ mean| mean here| in Outrider|][?|]",
    "[Explain|Please explain|Can you explain|Define|Describe] [the word |the |]{word}[ to me| in simple words|][.|?|]",
    "[What does the word|What does|In Outrider, what does] {word} mean[ on the screen| on this screen| in the panel|][?|]",
    "[I see|There is] the word {word} on [the|my] screen. What is it?",
    "[Meaning of|Tell me about|What about] [the |]{word}[ in Outrider| here|][?|.|]",
    "[Tell me|Help me understand|I do not understand] what {word} [means|is][.|]",
    "What is {word} in speculative decoding[?|]",
]
_TAIL = [
    "",
    "",
    "",
    " [You see it in the Speculation panel|Watch it in the Speculation panel while I write|It is on the right, in "
    "the Speculation panel].",
    " [The word is explained in the manual too|Ask me about the other words too].",
]

# Questions on the whole, each with answers.
_GENERAL: list[tuple[str, list[str]]] = [
    (
        "[What is Outrider|What is this program|What does Outrider do|Tell me about Outrider|Explain Outrider|"
        "What does this app do|What is this app|Describe Outrider in one sentence|What is Outrider for][?|]",
        [
            "Outrider is a desktop [chat application|chat program] for local language models. A small draft model rides ahead "
            "and proposes tokens, and the large target model confirms several of them in one pass. [You get the same text, "
            "only sooner|The text stays the same; only the waiting is shorter].",
        ],
    ),
    (
        "[What is speculative decoding|Explain speculative decoding|How does speculative decoding work|Tell me about speculative "
        "decoding|What is speculation|How does speculation work|How do you work|How does Outrider work][ in simple words|][?|]",
        [
            "[A small draft model|The draft] proposes a few tokens, and the target checks them all in one forward pass. The "
            "tokens that the target agrees with are accepted; at the first disagreement it writes a correction. [So several "
            "tokens may come out of one pass|That saves time without changing the text].",
        ],
    ),
    (
        "[Does|Will|Can] [speculation|the draft|a bad draft|speculative decoding|Outrider] [change|harm|spoil] the "
        "[text|reply|answer|quality|output][?|]",
        [
            "No. The [text|reply] is exactly what the target would have written alone. A bad draft only [costs time|makes it "
            "slower], because its tokens are rejected.",
        ],
    ),
    (
        "[Why is|What if|What does it mean when] the acceptance rate is [so |very |]low[?|]",
        [
            "[Then|A low acceptance rate means that] the target rarely agrees with the draft. [Try a smaller lookahead or a "
            "draft of the same family|A smaller lookahead or a better draft may help]. The text itself is not affected.",
        ],
    ),
    (
        "[Why is|What if|What does it mean when|Is it good when] the acceptance rate is [so |very |]high[?|]",
        [
            "[Then|A high acceptance rate means that] the target agrees with most proposals. [You can try a larger lookahead|A "
            "larger lookahead may bring even more speed], since each round keeps many tokens.",
        ],
    ),
    (
        "[Which|What|How large a|What is a good] lookahead should I [choose|use|take|set][?|]",
        [
            "[Start with|Try] 4. [If|When] the acceptance rate is high, go up to 8; [if|when] it is low, go down to 2. [With 0 "
            "you get plain decoding|A lookahead of 0 turns speculation off].",
        ],
    ),
    (
        "[Is my data safe|Do you send my data anywhere|Do I need the internet|Does Outrider need the internet|Is this "
        "private|Are my chats private|Does my text leave my computer][?|]",
        [
            "[Everything stays on your computer|Nothing leaves your computer]. The models run [here|locally], so you need no "
            "internet [for a chat|to talk with me].",
        ],
    ),
    (
        "[How do I|How can I|Where do I] [choose|change|pick|load|use] [another|a different|a larger|my own] "
        "[model|target|draft][?|]",
        [
            "Use the pickers in the bar at the top: one for the target, one for the draft. With the folder button you choose "
            "the folder where your GGUF files are. [The change takes effect at the next message|It is used from the next "
            "message on].",
        ],
    ),
    (
        "[How do I|How can I|Can I] [stop|cancel|interrupt] [a reply|the reply|you|the answer|it][?|]",
        [
            "[Press Esc or click the Cancel button|Click Cancel, or press Esc]. The [part that is already written|partial reply] "
            "stays, and you can go on at once.",
        ],
    ),
    (
        "[What is the difference between|How do I tell apart|Compare] a correction and a bonus[?|]",
        [
            "A correction follows a rejection: the target replaces the first rejected token. A bonus follows a full success: "
            "all proposals were accepted and the target adds one more. [Neither counts as accepted|Both are the target's "
            "own tokens].",
        ],
    ),
    (
        "[What is the difference between|How do I tell apart|Compare] [the|a] target and [the|a] draft[?|]",
        [
            "The target is large and decides; the draft is small and guesses. [The draft proposes tokens, the target verifies "
            "them|What the target does not confirm is thrown away].",
        ],
    ),
    (
        "[Who made you|Who made Outrider|How were you made|How were you trained|Who trained you|What were you trained on][?|]",
        [
            "I was trained [by the Outrider project itself|for Outrider], on text that its own [grammars and templates|templates] "
            "wrote. [It took less than an hour on a small computer|That is why I am small and speak in simple sentences].",
        ],
    ),
    (
        "[How big are you|How large are you|How many parameters do you have|Are you a large model][?|]",
        [
            "I am [very small|tiny]: about eight million parameters, and my draft has less than a tenth of that. [Large models have "
            "billions|That is enough to show how speculation works].",
        ],
    ),
    (
        "[Why is it called Outrider|Why the name Outrider|What does the name Outrider mean|What is an outrider][?|]",
        [
            "An outrider is someone who rides ahead [of a carriage to clear the way|of the others]. [Here the draft rides ahead, "
            "and the target follows|The draft model does the same for the target].",
        ],
    ),
    (
        "[Why is|What makes] [speculation|Outrider|speculative decoding] [fast|faster|quick][?|]",
        [
            "Checking several tokens at once costs [hardly more|not much more] than writing one. [So when the draft guesses well, "
            "the target gets several tokens out of one pass|Every accepted token saves a pass of the target].",
        ],
    ),
    (
        "[Can you show me|What do I see in|What is in|What shows] the [Speculation panel|panel on the right|plots|counters][?|]",
        [
            "[It shows|There you see] two live plots, the acceptance rate and the tokens/s, and the counters: rounds, proposed, "
            "accepted, acceptance rate, mean length and tokens/s.",
        ],
    ),
]


def _numbers(rng: random.Random) -> tuple[str, str]:
    """A small sum on the counters, with numbers that come out even."""
    if rng.random() < 0.6:
        proposed, percent = rng.choice(
            [
                (4, 25),
                (4, 50),
                (4, 75),
                (8, 25),
                (8, 50),
                (8, 75),
                (10, 10),
                (10, 20),
                (10, 30),
                (10, 40),
                (10, 50),
                (10, 60),
                (10, 70),
                (10, 80),
                (10, 90),
                (20, 50),
                (20, 75),
                (20, 80),
                (100, 60),
                (100, 75),
                (100, 85),
                (100, 40),
                (200, 50),
                (40, 50),
            ]
        )
        accepted = proposed * percent // 100
        ask = expand(
            rng,
            "[If|When|Say] {p} tokens were proposed and {a} [were |]accepted, what is the acceptance rate?"
            if rng.random() < 0.7
            else "[Proposed|proposed] {p}, accepted {a}. [What is the acceptance rate|Acceptance rate]?",
            p=str(proposed),
            a=str(accepted),
        )
        return ask, f"The acceptance rate is {accepted} / {proposed} = {percent} %."
    rounds, mean = rng.choice([(10, 2), (10, 3), (10, 4), (5, 2), (5, 3), (5, 4), (20, 2), (20, 3), (100, 2), (100, 3)])
    emitted = rounds * mean
    ask = expand(
        rng,
        "[If|When|Say] {e} tokens were emitted in {r} rounds, what is the mean length?",
        e=str(emitted),
        r=str(rounds),
    )
    return ask, f"The mean length is {emitted} / {rounds} = {mean} tokens per round."


def generate(rng: random.Random) -> Exchange:
    """One exchange about Outrider."""
    draw = rng.random()
    if draw < 0.08:
        ask, reply = _numbers(rng)
        return Exchange(CATEGORY, roughen(rng, ask), reply)
    if draw < 0.5:
        asks, replies = pick(rng, _GENERAL)
        return Exchange(CATEGORY, roughen(rng, expand(rng, asks)), expand(rng, pick(rng, replies)), topic="Outrider")
    word = pick(rng, list(_MEANINGS))
    shown = word + ("s" if word in ("round", "correction", "token", "draft") and rng.random() < 0.1 else "")
    if word == "draft" and rng.random() < 0.4:
        shown = "draft model"
    if word == "bonus" and rng.random() < 0.3:
        shown = "bonus token"
    quoted = pick(rng, [shown, shown, f'"{shown}"', cap(shown)])
    prompt = roughen(rng, expand(rng, pick(rng, _ASK), word=quoted))
    meaning = expand(rng, pick(rng, _MEANINGS[word]))
    subject = (
        word if word in ("tokens/s", "plain decoding", "lookahead") or meaning.startswith("counts") else f"the {word}"
    )
    if word in ("proposed", "accepted", "rejected"):
        subject = f'"{word}"'
    if word in ("round", "token"):
        subject = f"a {word}"
    start = pick(rng, ["{S} ", "{S} ", "{S} ", "In Outrider, {s} ", "[On the screen|Here], {s} "])
    lead = expand(rng, start.replace("{S}", cap(subject)).replace("{s}", subject)).rstrip() + " "
    return _finish(rng, prompt, lead + meaning, word)


def _finish(rng: random.Random, prompt: str, reply: str, word: str) -> Exchange:
    tail = expand(rng, pick(rng, _TAIL))
    full = f"{reply} {tail}" if tail else reply
    short = cap(f"{reply.split('. ', 1)[0].rstrip('.')}.") if ". " in reply else None
    return Exchange(CATEGORY, prompt, full, short, word)
