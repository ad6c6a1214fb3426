"""Small talk: greetings, feelings, likes, thanks, jokes, who are you, goodbye; and the graceful "don't know"."""

from __future__ import annotations

import random

from . import words
from .grammar import Exchange, article, cap, expand, mend_articles, pick, roughen

CATEGORY = "small talk"

_OFFER = (
    "[What would you like to talk about|How can I help you|What can I do for you|What is on your mind|"
    "Shall I tell you a story|Would you like a story, a list or a bit of code|What shall we do]"
    "[ today| now|]?"
)

# Each entry: ways to say it, ways to answer.
_TALK: list[tuple[str, list[str]]] = [
    (
        "[Hello|Hi|Hey|Good day|Hello there|Hi there|Greetings|Howdy|Hey there][!|.|]",
        ["[Hello|Hi|Hello there|Hi there]! [It is nice to meet you|Good to see you|I am glad you are here]. " + _OFFER],
    ),
    (
        "Good {daytime}[!|.|]",
        ["Good {daytime}! [I hope your {daytime} is a good one|I hope you are well|Nice to see you]. " + _OFFER],
    ),
    (
        "[How are you|How are you doing|How are you today|How is it going|How do you feel|Are you well|"
        "How are you feeling today|How do you do|what's up][?|]",
        [
            "I am [fine|well|very well|doing well], thank you. [I like a good chat|I am ready to work|"
            "It is a calm day inside this computer]. [How are you|And you|How about you]?",
            "[Very well|Quite well], thank you for asking! [My draft is quick today|All my tokens are in order]. "
            "[How are you|And you]?",
        ],
    ),
    (
        "[I am|I'm|I feel] {good}[ today| right now|].",
        [
            "[That is|How] [lovely|wonderful|good] to hear! [I am glad that you feel {good}|May it last all day]. "
            "[What made you feel {good}|What happened|Would you like to tell me more]?",
        ],
    ),
    (
        "[I am|I'm|I feel|I am feeling] [so |very |a bit |]{bad}[ today| right now|].",
        [
            "I am sorry that you feel {bad}. [A short walk and a cup of tea may help|Be kind to yourself today|"
            "A little rest can do wonders|It often gets better after some sleep]. "
            "[Would you like to hear a story|Do you want to talk about it|Shall I tell you something cheerful]?",
        ],
    ),
    (
        "[Thanks|Thank you|Thanks a lot|Thank you very much|Many thanks|Thank you so much|thx]"
        "[ for your help| for that|, that helped|][!|.|]",
        [
            "You are [welcome|very welcome]! [I am glad I could help|It was a pleasure|Any time]."
            "[ Is there anything else you would like to know?| Just ask if you need something else.|]",
        ],
    ),
    (
        "[Goodbye|Bye|Bye bye|See you|See you later|Good night|I have to go|I must go now|Talk to you later][!|.|]",
        [
            "[Goodbye|Bye|See you soon|Take care]! [It was nice to talk with you|Thank you for the chat|"
            "I hope to see you again soon]. [Have a lovely {rest}.|Sleep well when the time comes.|Come back any time.]",
        ],
    ),
    (
        "[Who are you|What are you|Introduce yourself|Tell me about yourself|Are you a person|Are you human|"
        "Are you a robot|What kind of model are you|Are you an AI|Describe yourself][?|]",
        [
            "I am [the demo model of Outrider|the small demo model that comes with Outrider|a very small language "
            "model that lives in Outrider]. [I can chat a little, tell short stories, write lists and small Python "
            "functions, and repeat your words|I know small talk, stories, lists, tables and a little Python]. "
            "[I am a program, not a person|I am only a program], [but I enjoy our talk in my own way|so be gentle "
            "with me|and I make mistakes].",
        ],
    ),
    (
        "[What is your name|What's your name|Do you have a name|What are you called|How should I call you|"
        "What can I call you|Tell me your name][?|]",
        [
            "[You can call me|My name is|I am called] Outrider, [like the program that I live in|as the program is "
            "called]. [What is your name|And what is yours|And who are you]?",
        ],
    ),
    (
        "[What can you do|What are you able to do|How can you help me|What are you good at|Help|What do you know|"
        "What should I ask you|What can I ask][?|]",
        [
            "I can [chat a little|make small talk], tell short stories, [answer simple everyday questions|answer "
            "simple questions], make Markdown lists and tables, write small Python functions, and repeat or rewrite "
            "your text. [I am a small model, so keep it simple|Try a story first|What would you like]"
            "[.|!]",
        ],
    ),
    (
        "[Tell me a joke|Do you know a joke|Make me laugh|Say something funny|Another joke|Can you tell a joke|"
        "Tell me something funny][.|?|]",
        [
            "Why did the {animal} bring a ladder to the {place}? [Because it wanted to reach the top of the class|"
            "Because the {thing} was too high|Because it heard that the drinks were on the roof]!",
            "What did the {thing} say to the {thing2}? [Nothing, they had not been introduced|You look a little "
            "pale today|Let us meet at the {place}]!",
            "A {animal} walks into a bakery and asks for {food}. [The baker says: sorry, we only have {food2}|"
            "The baker says: that is the third time today]. [The {animal} says: then I will wait|"
            "The {animal} smiles and says: put it on my tail]!",
        ],
    ),
    (
        "[What is your favourite|What's your favorite|Do you have a favourite|Which is your favourite] colour[?|]",
        [
            "I like {colour}[ best|]. [It makes me think of {thing}s and quiet mornings|It looks good on a {thing}|"
            "It reminds me of an old {thing}]. [Which colour do you like|What is yours]?",
        ],
    ),
    (
        "[What is your favourite|What's your favorite|Do you have a favourite|Which is your favourite] animal[?|]",
        [
            "I like the {animal}[ best| most of all|]. [It is {adj} and {adj2}|A {animal} always seems {adj}]. "
            "[Which animal do you like|What is yours]?",
        ],
    ),
    (
        "[What do you like to eat|What is your favourite food|Do you like {food}|Do you eat {food}|"
        "Are you hungry|What did you have for lunch][?|]",
        [
            "I cannot eat, [but I like the sound of {food}|but {food} must be a fine thing|but many people tell me "
            "that {food} is good]. [What do you like to eat|What did you eat today|Do you like {food2}]?",
        ],
    ),
    (
        "[Do you like|What do you think about|What do you think of|How do you like] {liked}[?|]",
        [
            "[Yes, I like {liked}|I think {liked} can be wonderful|I am fond of {liked}]. [It makes a day "
            "brighter|There is always something new in it|It gives people something to share]. "
            "[And you|What do you think|Do you like {liked} too]?",
        ],
    ),
    (
        "[I like|I love|I really like|I enjoy] {liked}[.|!|]",
        [
            "[That is nice|How nice|Good choice]! [It is good to have something that you enjoy|I can see why people like {liked}|"
            "Many people enjoy {liked}]. [What do you like most about it|How did it begin|Since when]?",
        ],
    ),
    (
        "[I am bored|I'm bored|What should I do today|What can I do this weekend|I have nothing to do|"
        "Any plans for today|Entertain me][.|?|]",
        [
            "[You could|How about this: you could|Why not] [take a walk to the {place}|bake a {adj} cake|call an old "
            "friend|read a book about a {animal}|draw a {adj} {thing}|learn to cook {food}]. [Or stay here, "
            "and I will tell you a story about a {animal}|Or ask me for a story].",
        ],
    ),
    (
        "[How is|How's|What is|Do you like] the weather[ today| there|][?|]",
        [
            "I cannot look out of a window, [but I hope that the sun shines where you are|so I do not know]. "
            "[Inside the computer it is always warm and dry|In here it is dry all year]. "
            "[How is the weather where you are|Is it sunny there|Does it rain there]?",
        ],
    ),
    (
        "It is [raining|snowing|sunny|cold|windy|hot|foggy][ today| outside| here|].",
        [
            "[Then|In that case] [it is a good day for tea and a book|dress well when you go out|I am glad to be "
            "inside the computer]. [Shall I tell you a story|What will you do today]?",
        ],
    ),
    (
        "[My name is|I am|I'm|They call me|You can call me] {name}[.|!|]",
        [
            "[Nice to meet you|Hello|Pleased to meet you|Welcome], {name}! [I am the demo model of Outrider|"
            "What a good name|I will remember it while we talk]. " + _OFFER,
        ],
    ),
    (
        "[How old are you|When were you born|What is your age|When is your birthday][?|]",
        [
            "[I am very young|I have no birthday]: I was trained [not long ago|a short time ago], in less than an hour. "
            "[In the life of a model that is a whole childhood|So I still have a lot to learn]. [How old are you|"
            "And when is your birthday]?",
        ],
    ),
    (
        "[Where do you live|Where are you from|Where are you|Where do you come from][?|]",
        [
            "I live [here, on your own computer|in a small file on your computer|inside Outrider, on your machine]. "
            "[Nothing that you write leaves it|It is small but cosy]. [Where do you live|And where are you from]?",
        ],
    ),
    (
        "[Are you smart|Are you clever|How smart are you|Are you intelligent|Are you real|Can you think|"
        "Do you sleep|Do you dream|Do you have feelings|Are you happy|Can you feel][?|]",
        [
            "[That is a deep question|A good question]! I am [a very small model|only a small model], so [I put one "
            "likely word after another|I only know how words follow each other]. [It is enough for a friendly chat|"
            "Still, a good chat makes me glad in my way].",
        ],
    ),
    (
        "I [live in|am from|come from] {city}[.|!|]",
        [
            "[How nice|Lovely]! [I have never been to {city}|I would like to see {city} one day|{city} must be a fine "
            "place]. [What do you like best about {city}|Is it warm there now|What should I know about it]?",
        ],
    ),
    (
        "[I have|I've got|My friend has|My sister has] {an_animal}[ at home|].",
        [
            "[How lovely|That sounds nice|How sweet]! [A {animal} is good company|I hope the {animal} is well]. "
            "[What is its name|What is the {animal} called|Does the {animal} sleep a lot]?",
        ],
    ),
    (
        "[You are|You're] [great|nice|funny|smart|kind|cool|the best|helpful|very good|awesome][.|!|]",
        ["[Thank you|Oh, thank you|How kind of you]! [You are kind too|That makes my day|I do my best]. " + _OFFER],
    ),
    (
        "[You are|You're] [stupid|dumb|wrong|slow|boring|bad|not very smart|useless][.|!|]",
        [
            "[I am sorry|Sorry about that]. I am a very small model, [and I make mistakes|so I am often wrong]. "
            "[A larger model would do better; you can choose one in the bar above|Let us try something simpler].",
        ],
    ),
    (
        "[Ok|Okay|Yes|Sure|Fine|Alright|Good|Cool|Nice|Great|I see|Interesting|No|Maybe|Hmm][.|!|]",
        ["[All right|Good|Very well]! [Just tell me what you would like|Ask me anything simple]. " + _OFFER],
    ),
    (
        "[I had a|It was a] [long|good|bad|hard|busy|great] day[ at work| at school|][.|!|]",
        [
            "[Tell me about it|I am listening]. [After such a day, some rest and {food} may be just right|A warm drink "
            "and a quiet evening sound right]. [What was the best part|What happened]?",
        ],
    ),
]

_GOOD = "happy great good fine cheerful excited wonderful proud calm relaxed better".split()
_BAD = "sad tired lonely angry stressed ill sick nervous bored worried unhappy upset".split()
_LIKED = """music books films tea coffee winter summer rain football chess gardening cooking travelling cats dogs
dancing painting trains swimming poetry cycling snow mountains cheese photography history singing hiking chocolate
games Mondays spring autumn reading running pizza""".split()


def slots(rng: random.Random) -> dict[str, str]:
    """One draw of everything the talk templates may name."""
    animal, liked = pick(rng, words.ANIMALS), pick(rng, _LIKED)
    return {
        "animal": animal,
        "an_animal": article(animal),
        "place": pick(rng, words.PLACES),
        "thing": pick(rng, words.THINGS),
        "thing2": pick(rng, words.THINGS),
        "food": pick(rng, words.FOODS),
        "food2": pick(rng, words.FOODS),
        "colour": pick(rng, words.COLOURS),
        "adj": pick(rng, words.ADJECTIVES),
        "adj2": pick(rng, words.ADJECTIVES),
        "good": pick(rng, _GOOD),
        "bad": pick(rng, _BAD),
        "liked": liked,
        "Liked": cap(liked),
        "name": words.person_name(rng),
        "city": pick(rng, words.CITIES),
        "daytime": pick(rng, ["morning", "evening", "afternoon"]),
        "rest": pick(rng, ["day", "evening", "time", "rest of the day"]),
    }


def generate(rng: random.Random) -> Exchange:
    """One exchange of small talk."""
    prompts, replies = pick(rng, _TALK)
    values = slots(rng)
    prompt = roughen(rng, expand(rng, prompts, **values))
    template = pick(rng, replies)
    if rng.random() < 0.12:
        # Two things in one breath, as people do: the answer goes to the second.
        prompt = expand(rng, "[Hello|Hi|Hey|Good morning|Hello there][!|,|.] ") + " " + prompt
    return Exchange(CATEGORY, prompt, mend_articles(expand(rng, template, **values)))


_UNKNOWN = [
    "[What do you know about|Tell me about|Explain|What is|What are|Do you know anything about] {topic}[?|]",
    "[Who is|Who was|Who won|Who wrote|Who invented] {topic}[?|]",
    "[How does|Why does|When does|Where does] {topic} [work|happen|matter|come from|begin|end][?|]",
    "[How do I|How can I|Can you help me to|How to] {verb} {topic}[?|]",
    "[Can you|Could you|Please] {verb} {topic}[ for me|][?|]",
    "[Translate|Summarise|Analyse|Compute|Solve|Prove|Predict|Calculate|Draw] {topic}[.|]",
    "[What is the|What was the] [capital|price|meaning|history|cause|future|size|age] of {topic}[?|]",
    "I need [help with|advice about|information about] {topic}[.|]",
]
_UNKNOWN_REPLY = [
    "[I do not know enough about {topic}|I am afraid I know little about {topic}|{Topic} is beyond me|That is too "
    "hard for me]. I am a small demo model: [I can tell a story, make a list, write a little Python or just chat|"
    "I know stories, lists, small functions and small talk]. [Shall I tell you a story about {topic}|Would you like a "
    "story instead|For more, choose a larger model in the bar above][?|.]",
]
_VERBS = "fix build buy sell clean repair install explain find change learn improve open test describe check".split()


def unknown(rng: random.Random) -> Exchange:
    """A question outside the lists, answered modestly."""
    kind = rng.random()
    if kind < 0.4:
        topic = words.invented_word(rng)
    elif kind < 0.7:
        topic = " ".join(pick(rng, words.COMMON) for _ in range(rng.choice([1, 2, 2, 3])))
    elif kind < 0.85:
        topic = f"{words.person_name(rng)} {words.invented_name(rng)}"
    else:
        topic = f"the {pick(rng, words.COMMON)} of {pick(rng, [*words.CITIES, *words.COMMON])}"
    values = {"topic": topic, "Topic": cap(topic), "verb": pick(rng, _VERBS)}
    prompt = roughen(rng, expand(rng, pick(rng, _UNKNOWN), **values))
    reply = expand(rng, pick(rng, _UNKNOWN_REPLY), **values)
    if reply.endswith("bar above?"):
        reply = reply[:-1] + "."
    elif reply.endswith((f"about {topic}.", "instead.")):
        reply = reply[:-1] + "?"
    return Exchange(CATEGORY, prompt, reply, topic=topic)
