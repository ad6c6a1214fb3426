"""Word lists written for the corpus; the generators combine them."""

from __future__ import annotations

import random

from .grammar import pick

NAMES = """Anna Ben Clara David Emma Felix Grace Henry Iris Jack Kate Leo Mia Noah Olga Paul Ruth Sam Tina
Victor Wendy Yusuf Zoe Aisha Boris Carmen Diego Elena Farid Greta Hana Ivan Julia Kofi Lina Marco Nadia Omar
Petra Quinn Rosa Stefan Tom Uma Vera Will Xenia Yara Zack Alice Bruno Cleo Dora Erik Fiona George Helen Igor
Jonas Kira Lucas Maya Nils Oscar Pia Rita Simon Tara Ugo Viola Walter Amir Bella Chen Dina Emil Frida Gus
Hugo Ida Jun Karl Lola Max Nora Otto Polly Ravi Sara Theo Ulla Vince Wanda Mei Arun Peter Maria John Lucy
Daniel Laura Martin Sofia Priya Tariq Ingrid Pablo Chloe Adam Lena Robert Susan Kenji Fatima""".split()

_FEMALE = frozenset(
    """Clara Emma Grace Iris Kate Ruth Wendy Zoe Carmen Alice Helen Bella Lucy Chloe Susan Ingrid Priya Maya Kira Mei
    Fatima Xenia Olga""".split()
)


def is_female(name: str) -> bool:
    """Whether stories speak of this name as "she"; invented names go by their last letter."""
    return name in _FEMALE or (name.endswith("a") and name not in {"Joshua", "Luca", "Nikita"})


ANIMALS = """cat dog fox owl mouse rabbit bear wolf horse goat sheep hen duck frog turtle snail bee ant
spider whale dolphin seal crab parrot penguin lion tiger elephant monkey zebra camel donkey squirrel hedgehog
badger otter beaver deer moose eagle crow robin sparrow swan goose pony kitten puppy lizard dragon bat mole
raccoon koala panda kangaroo giraffe hippo octopus shark salmon butterfly firefly cricket cow pig
chicken snake fish""".split()

PEOPLE = """baker farmer sailor teacher doctor nurse painter singer dancer gardener fisherman tailor carpenter
clockmaker librarian pilot knight wizard queen king princess prince pirate robot giant shepherd miller cook
postman inventor astronomer detective musician poet student child girl boy grandmother grandfather captain
explorer blacksmith juggler merchant miner scientist witch ghost astronaut mechanic
programmer engineer driver writer thief princess soldier monk hunter""".split()

THINGS = """lamp key clock boat kite bridge lighthouse tree apple map letter book ring bell drum violin mirror
umbrella teapot bicycle train balloon lantern basket box coin hat coat boot scarf stone shell feather star
moon cloud snowman candle door window ladder bucket broom pencil brush camera radio telescope compass
wagon cart garden well river island mountain forest castle tower mill house boat village city train library
school market harbour desert storm rainbow rocket machine computer toaster spoon cup bread cake soup pumpkin
carrot rose sunflower seed acorn leaf piano guitar whistle ball doll puzzle treasure""".split()

ADJECTIVES = """little small big old young brave shy clever kind lazy hungry lonely happy sad quiet curious
proud gentle grumpy sleepy careful silly wise tiny lost red blue green golden silver white black broken
magic forgotten strange friendly patient noisy tired honest stubborn cheerful secret ancient wooden
bright purple invisible singing flying clumsy nervous polite poor rich famous""".split()

PLACE_ADJECTIVES = """small little big old quiet green sunny snowy windy busy sleepy lonely forgotten beautiful
strange famous noisy peaceful distant misty""".split()

THING_ADJECTIVES = """small little big old red blue green golden silver white black broken magic forgotten strange
secret ancient wooden bright purple invisible singing flying tiny heavy shiny lost""".split()

PORTABLE = """lamp key clock kite map letter book ring bell drum violin mirror umbrella teapot balloon lantern
basket box coin hat coat boot scarf stone shell feather candle bucket broom pencil brush camera telescope
compass spoon cup rose sunflower seed acorn whistle ball puzzle flute ladder""".split()

PLACES = """village forest harbour valley town garden castle mountain river island meadow city desert farm
market lake beach mill cave hill library tower bakery school""".split()

FOODS = """bread soup rice pasta pancakes salad pizza apples cheese honey porridge tea coffee cake dumplings
potatoes curry noodles beans tomatoes eggs omelette sandwiches cookies pie chocolate oranges""".split()

COLOURS = "red blue green yellow orange purple white black brown grey pink silver golden".split()

CITIES = """Berlin Paris Rome Madrid London Oslo Vienna Lisbon Prague Athens Cairo Tokyo Delhi Lima Dublin
Boston Sydney Toronto Nairobi Warsaw Helsinki Bern Chicago Mumbai Seoul Quito""".split()

# Signs outside plain ASCII, so that the byte tokens are met too.
FOREIGN = """café naïve Zürich señor Łódź Århus Köln façade jalapeño Привет мир שלום ありがとう 日本 مرحبا 你好 Ελλάδα
😀 🙂 🎉 ❤️ 👍 🚀 🌍 ☕ € £ § µ ½ → ✓ … \u2013 “quoted” \u2018word\u2019 ñandú über Dvořák Ηλιος 안녕""".split()

DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()

MONTHS = """January February March April May June July August September October November December""".split()

# Everyday words of many kinds: they give the tokenizer and the copying exercises an English to work on.
COMMON = """about above across after again against age air all almost along already also always amount angle
animal answer any appear area arm around arrive art ask autumn baby back bad bag bank base basic beautiful
because become bed before began begin behind believe below best better between beyond bird birthday bit
blood blow board body bone born both bottom bought bowl branch break breakfast breath brother brought brown
build building burn bus business busy buy call came can car card care carry case catch caught cause center
century certain chair chance change chapter charge cheap check choose circle class clean clear climb close
clothes coast cold collect colour come common company compare complete condition contain control cool copy
corner correct cost could count country couple course cover create cross crowd cry current cut daily dance
danger dark daughter day dead deal dear decide deep degree describe design develop did die difference
different difficult dinner direct discover distance divide do dollar done double doubt down draw dream dress
drink drive drop dry during each ear early earth east easy eat edge education effect egg eight either
electric else email empty end energy engine enjoy enough enter equal especially evening event ever every
exact example except excite exercise expect experience explain express eye face fact fair fall family far
fast father favourite fear feed feel feet fell felt few field fight figure file fill final find fine finger
finish fire first fit five floor flow flower fly follow food foot force foreign forget form forward found
four free fresh friend front fruit full fun game gave general get gift give glad glass go gold gone good
grass gray great ground group grow guess guide hair half hand happen hard has have head hear heart heat
heavy held help here high history hit hold holiday home hope hot hotel hour however huge human hundred hurry
hurt ice idea if imagine important inch include increase indeed inside instead interest iron job join
journey jump just keep kept kitchen knee knew know language large last late laugh law lay lead learn least
leave left leg length less lesson let level lie life lift light like line list listen live local long look
lose lot loud love low lucky lunch made mail main make man many mark mass matter may mean measure meat
meet meeting member metal method middle might mile milk million mind minute miss model modern moment money
month more morning most mother mouth move movie much music must name nation nature near necessary neck need
neighbour never new news next nice night nine noise none noon north nose note nothing notice noun now number
object ocean off offer office often oil once one only open opposite order other our out outside over own
page paint pair paper parent park part party pass past path pattern pay people perfect perhaps period person
phone phrase picture piece place plain plan planet plant plate play please plenty pocket point police poor
popular position possible post pound power practice prepare present press pretty price print probable
problem process produce product promise proper protect prove provide public pull push put quarter question
quick quickly quiet quite race rain raise ran rather reach read ready real reason receive record region
remember repeat reply report represent require rest result return rhythm rich ride right rise road rock role
room root rope round rule run safe said sail salt same sand save saw say science score sea search season
seat second section see seem select sell send sense sentence separate serve set seven several shape share
sharp she shine ship shoe shop shore short should shoulder shout show shower sight sign silent similar
simple since sing sister sit six size skill skin sky sleep slip slow smell smile smoke smooth snow soap
soft soil sold solution some son song soon sound source south space speak special speech speed spell spend
spoke spot spread spring square stand start state station stay steam steel step stick still stood stop store
story straight stream street stretch strong study subject success such sudden sugar suggest suit summer sun
supply support sure surface surprise sweet swim system table tail take talk tall taste taught tax teach team
tell temperature ten term test than thank that then there these thick thin thing think third this those
though thought thousand three through throw thus ticket tie time together told tomorrow tonight tool top
total touch toward track trade travel trip trouble truck true trust try turn twelve twenty two type under
understand unit until upon usual vacation valley value various verb very view visit voice vowel wait walk
wall want war warm wash watch water wave way weak wear weather week weekend weight welcome west wet wheel
when where whether which while who whole whose why wide wild wind wing winter wire wish with woman wonder
wood word work world worry would write wrong year yellow yes yesterday yet young your zero project meeting
screen button folder window keyboard message network password program release server software update user
version website budget customer deadline manager invoice contract delivery schedule draft target token
summary review feature system data model test battery package""".split()

_ONSETS = ("b c d f g h j k l m n p qu r s t v w z br cl dr fl gr pl sk st tr sh ch th bl kr sn sp zh ph kn wr").split()
_NUCLEI = "a e i o u ai ea oo ou ie y au ee oi".split()
_CODAS = ["", "", "n", "r", "l", "s", "t", "m", "k", "x", "nd", "st", "rk", "ng", "ff", "ck", "mp", "z", "v"]


def invented_word(rng: random.Random) -> str:
    """A word that no list holds; copying it cannot be done from memory."""
    count = rng.choice([1, 2, 2, 2, 3])
    return "".join(pick(rng, _ONSETS) + pick(rng, _NUCLEI) + pick(rng, _CODAS) for _ in range(count))


def invented_name(rng: random.Random) -> str:
    return invented_word(rng).capitalize()


def person_name(rng: random.Random) -> str:
    return pick(rng, NAMES) if rng.random() < 0.8 else invented_name(rng)


def code_word(rng: random.Random) -> str:
    """A string such as people paste: an order number, a file name, an address."""
    kind = rng.randrange(8)
    number = rng.randrange(10 ** rng.randrange(1, 6))
    if kind == 0:
        return f"{invented_word(rng)[:3].upper()}-{number}"
    if kind == 1:
        return f"{pick(rng, COMMON)}_{pick(rng, COMMON)}.{pick(rng, ['txt', 'py', 'md', 'csv', 'png'])}"
    if kind == 2:
        return f"{invented_word(rng)}@{pick(rng, COMMON)}.example"
    if kind == 3:
        return "".join(rng.choice("abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789") for _ in range(6))
    if kind == 4:
        return f"{number}.{rng.randrange(100)}"
    if kind == 5:
        return f"{rng.randrange(24)}:{rng.randrange(60):02d}"
    if kind == 6:
        return " ".join(pick(rng, FOREIGN) for _ in range(rng.choice([1, 1, 2, 3])))
    return f"{number}"
