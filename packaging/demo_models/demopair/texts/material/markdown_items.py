"""What stands in the lists and tables."""

from __future__ import annotations


def _lines(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")]


# names of the topic → items
LISTS: list[tuple[str, list[str]]] = [
    ("fruits|kinds of fruit", _lines("Apple,Pear,Banana,Cherry,Grape,Lemon,Mango,Orange,Peach,Plum,Strawberry,Kiwi")),
    (
        "vegetables|kinds of vegetables",
        _lines("Carrot,Potato,Tomato,Onion,Cabbage,Cucumber,Pepper,Spinach,Pea,Pumpkin,Leek,Bean"),
    ),
    ("animals|wild animals", _lines("Bear,Wolf,Fox,Deer,Lion,Tiger,Elephant,Giraffe,Zebra,Monkey,Kangaroo,Panda")),
    ("farm animals|animals on a farm", _lines("Cow,Pig,Sheep,Goat,Horse,Donkey,Hen,Duck,Goose,Turkey")),
    ("pets|animals for a home", _lines("Dog,Cat,Rabbit,Hamster,Goldfish,Parrot,Turtle,Guinea pig,Canary")),
    ("birds|kinds of birds", _lines("Sparrow,Robin,Owl,Eagle,Crow,Swan,Duck,Penguin,Parrot,Stork,Seagull")),
    (
        "sea animals|animals in the sea",
        _lines("Whale,Dolphin,Shark,Seal,Crab,Octopus,Salmon,Starfish,Jellyfish,Turtle"),
    ),
    ("insects|kinds of insects", _lines("Bee,Ant,Butterfly,Beetle,Fly,Mosquito,Cricket,Wasp,Dragonfly,Moth")),
    ("flowers|garden flowers", _lines("Rose,Tulip,Daisy,Lily,Sunflower,Violet,Poppy,Daffodil,Lavender,Orchid")),
    ("trees|kinds of trees", _lines("Oak,Birch,Maple,Pine,Willow,Apple tree,Cherry tree,Chestnut,Palm,Fir")),
    ("colours|colors|bright colours", _lines("Red,Orange,Yellow,Green,Blue,Purple,Pink,White,Black,Brown,Grey")),
    (
        "cities|large cities|big cities",
        _lines("London,Paris,Rome,Berlin,Madrid,Vienna,Tokyo,Cairo,New York,Sydney,Lima,Delhi"),
    ),
    (
        "countries|countries in the world",
        _lines("France,Germany,Italy,Spain,Poland,Norway,Japan,India,Brazil,Canada,Egypt,Kenya"),
    ),
    (
        "sports|kinds of sport",
        _lines("Football,Tennis,Swimming,Running,Cycling,Basketball,Hockey,Skiing,Climbing,Rowing,Judo"),
    ),
    (
        "hobbies|hobbies for the evening",
        _lines(
            "Reading,Painting,Cooking,Gardening,Knitting,Playing chess,Singing,Photography,Woodwork,Learning a language"
        ),
    ),
    ("musical instruments|instruments", _lines("Piano,Violin,Guitar,Flute,Drum,Trumpet,Harp,Cello,Clarinet,Accordion")),
    (
        "jobs|professions",
        _lines("Baker,Teacher,Doctor,Nurse,Farmer,Pilot,Carpenter,Tailor,Programmer,Gardener,Cook,Painter"),
    ),
    (
        "kitchen tools|things in a kitchen|kitchen things",
        _lines("Knife,Spoon,Fork,Pan,Pot,Bowl,Cutting board,Whisk,Grater,Oven glove,Kettle"),
    ),
    ("tools|tools for the workshop", _lines("Hammer,Saw,Screwdriver,Pliers,Drill,Ruler,File,Wrench,Axe,Tape measure")),
    (
        "things for a picnic|picnic things|picnic items",
        _lines("Blanket,Sandwiches,Apples,Cheese,Water,Lemonade,Napkins,Cups,A knife,A ball"),
    ),
    (
        "things to pack for a trip|things for a trip|travel items",
        _lines("Passport,Tickets,Toothbrush,Socks,Shirts,A book,Phone charger,Medicine,Rain coat,Snacks"),
    ),
    (
        "things for the beach|beach things",
        _lines("Towel,Sun cream,Hat,Sunglasses,Water,Swimsuit,Sandals,A book,Beach ball"),
    ),
    (
        "things for camping|camping gear",
        _lines("Tent,Sleeping bag,Torch,Matches,Water bottle,Pot,Rope,Pocket knife,Map,Warm socks"),
    ),
    (
        "things for a birthday party|party things|things for a party",
        _lines("Cake,Candles,Balloons,Invitations,Drinks,Music,Plates,Cups,Games,Presents"),
    ),
    (
        "groceries|things to buy|shopping items",
        _lines("Milk,Bread,Eggs,Butter,Cheese,Apples,Rice,Tomatoes,Onions,Coffee,Salt"),
    ),
    (
        "breakfast foods|ideas for breakfast|breakfast ideas",
        _lines(
            "Porridge with berries,Toast with butter,Scrambled eggs,Yoghurt with honey,Pancakes,Fruit salad,Muesli with milk,Bread with cheese"
        ),
    ),
    (
        "dinner ideas|ideas for dinner|quick dinners",
        _lines(
            "Pasta with tomato sauce,Vegetable soup,Rice with beans,Omelette with cheese,Potato salad,Fish with lemon,Pizza with mushrooms,Noodles with vegetables"
        ),
    ),
    (
        "desserts|sweet dishes",
        _lines("Apple pie,Chocolate cake,Ice cream,Fruit salad,Rice pudding,Pancakes,Cheesecake,Cookies"),
    ),
    ("drinks|cold drinks", _lines("Water,Lemonade,Apple juice,Orange juice,Iced tea,Milk,Cola,Tomato juice")),
    ("spices|spices and herbs", _lines("Salt,Pepper,Paprika,Cinnamon,Basil,Thyme,Oregano,Ginger,Nutmeg,Chilli")),
    (
        "tips for better sleep|ways to sleep better|sleep tips",
        _lines(
            "Go to bed at the same time,Keep the room cool,Put the phone away,Drink no coffee late,Read a quiet book,Breathe slowly,Take a short walk"
        ),
    ),
    (
        "ways to save money|money tips|tips for saving money",
        _lines(
            "Write down what you spend,Cook at home,Compare prices,Buy less but better,Repair things,Use the bicycle,Wait a day before you buy"
        ),
    ),
    (
        "ways to relax|ideas to relax",
        _lines(
            "Take a warm bath,Go for a walk,Listen to music,Read a book,Drink a cup of tea,Breathe slowly,Call a friend,Watch the clouds"
        ),
    ),
    (
        "study tips|tips for learning|ways to learn better",
        _lines(
            "Make a plan,Study in short blocks,Take breaks,Explain it aloud,Write notes by hand,Test yourself,Sleep enough"
        ),
    ),
    (
        "ways to stay healthy|health tips|healthy habits",
        _lines(
            "Eat more vegetables,Drink water,Walk every day,Sleep enough,Laugh often,Stretch in the morning,Meet your friends"
        ),
    ),
    (
        "ideas for the weekend|weekend ideas|things to do at the weekend",
        _lines(
            "Visit a museum,Bake a cake,Go hiking,Call an old friend,Tidy a drawer,Watch a film,Play a board game,Read in the park"
        ),
    ),
    (
        "things to do on a rainy day|rainy day ideas",
        _lines(
            "Read a book,Bake cookies,Build a puzzle,Write a letter,Watch a film,Play cards,Sort old photos,Listen to the rain"
        ),
    ),
    (
        "gift ideas|ideas for a present|presents for a friend",
        _lines("A book,A plant,A warm scarf,A box of tea,A photo,Concert tickets,A board game,Home-made jam"),
    ),
    ("board games|games", _lines("Chess,Checkers,Dominoes,Backgammon,Ludo,Memory,Go,Nine Men's Morris")),
    (
        "school subjects|subjects at school",
        _lines("Maths,English,History,Geography,Biology,Physics,Chemistry,Art,Music,Sport"),
    ),
    ("clothes|winter clothes|pieces of clothing", _lines("Coat,Scarf,Gloves,Hat,Boots,Sweater,Trousers,Socks,Shirt")),
    ("pieces of furniture|furniture", _lines("Table,Chair,Bed,Sofa,Wardrobe,Shelf,Desk,Lamp,Cupboard,Stool")),
    (
        "household chores|chores|tasks at home",
        _lines(
            "Wash the dishes,Sweep the floor,Do the laundry,Take out the rubbish,Water the plants,Dust the shelves,Make the beds,Clean the windows"
        ),
    ),
    ("planets|planets of the solar system", _lines("Mercury,Venus,Earth,Mars,Jupiter,Saturn,Uranus,Neptune")),
    ("days of the week|week days", _lines("Monday,Tuesday,Wednesday,Thursday,Friday,Saturday,Sunday")),
    (
        "months|months of the year",
        _lines("January,February,March,April,May,June,July,August,September,October,November,December"),
    ),
    (
        "programming languages|languages for programming",
        _lines("Python,C,Java,JavaScript,Rust,Go,Ruby,Swift,Kotlin,Haskell"),
    ),
    (
        "words on the Outrider screen|terms of Outrider|words in Outrider",
        _lines("Target,Draft,Lookahead,Rounds,Proposed,Accepted,Acceptance rate,Mean length,Tokens/s,Speedup"),
    ),
    ("means of transport|vehicles|ways to travel", _lines("Car,Bus,Train,Tram,Bicycle,Ship,Plane,Motorcycle,On foot")),
    (
        "steps to make tea|steps for a cup of tea",
        _lines(
            "Fill the kettle,Boil the water,Warm the cup,Put in the tea,Pour the water,Wait four minutes,Take out the tea,Enjoy it"
        ),
    ),
    (
        "steps to plant a tree|steps for planting a tree",
        _lines(
            "Choose a sunny place,Dig a wide hole,Loosen the roots,Set the tree in,Fill in the soil,Press it down,Water it well"
        ),
    ),
    (
        "steps to write a letter|steps for a letter",
        _lines(
            "Think of the reader,Write a greeting,Say why you write,Tell your news,End with a wish,Sign it,Find a stamp"
        ),
    ),
    (
        "rules for a good meeting|meeting rules|tips for meetings",
        _lines("Send an agenda,Start on time,Let everyone speak,Stay on the topic,Write down decisions,End early"),
    ),
    ("feelings|emotions", _lines("Joy,Sadness,Anger,Fear,Surprise,Pride,Hope,Love,Calm")),
    ("parts of the body|body parts", _lines("Head,Arm,Hand,Finger,Leg,Knee,Foot,Ear,Eye,Nose,Mouth")),
]


def _rows(text: str) -> list[list[str]]:
    return [[cell.strip() for cell in row.split(",")] for row in text.split(";")]


# names of the topic → column titles → rows
TABLES: list[tuple[str, list[str], list[list[str]]]] = [
    (
        "fruits|fruit",
        ["Fruit", "Colour", "Taste"],
        _rows(
            "Apple,red,sweet;Banana,yellow,sweet;Cherry,dark red,sweet;Grape,green,sweet;Lemon,yellow,sour;Lime,green,sour;Orange,orange,fresh;Plum,purple,sweet"
        ),
    ),
    (
        "vegetables",
        ["Vegetable", "Colour", "Season"],
        _rows(
            "Carrot,orange,summer;Cucumber,green,summer;Leek,green,winter;Onion,white,autumn;Pea,green,spring;Potato,brown,autumn;Pumpkin,orange,autumn;Tomato,red,summer"
        ),
    ),
    (
        "animals",
        ["Animal", "Legs", "Food", "Home"],
        _rows(
            "Bear,4,berries and fish,forest;Cat,4,meat,house;Cow,4,grass,farm;Duck,2,plants,pond;Fox,4,mice,forest;Owl,2,mice,tree;Spider,8,flies,web;Whale,0,small animals,sea"
        ),
    ),
    (
        "pets",
        ["Pet", "Food", "Needs"],
        _rows(
            "Dog,meat,walks;Cat,meat,play;Rabbit,hay,space;Hamster,seeds,a wheel;Parrot,seeds,company;Goldfish,flakes,clean water;Turtle,leaves,warmth"
        ),
    ),
    (
        "birds",
        ["Bird", "Size", "Food"],
        _rows(
            "Crow,medium,everything;Eagle,large,fish;Owl,medium,mice;Penguin,medium,fish;Robin,small,insects;Sparrow,small,seeds;Swan,large,plants"
        ),
    ),
    (
        "planets|the planets",
        ["Planet", "Size", "Moons"],
        _rows(
            "Mercury,small,0;Venus,medium,0;Earth,medium,1;Mars,small,2;Jupiter,huge,many;Saturn,huge,many;Uranus,large,many;Neptune,large,many"
        ),
    ),
    (
        "cities|large cities",
        ["City", "Country", "River"],
        _rows(
            "London,England,Thames;Paris,France,Seine;Rome,Italy,Tiber;Berlin,Germany,Spree;Vienna,Austria,Danube;Prague,Czechia,Vltava;Cairo,Egypt,Nile"
        ),
    ),
    (
        "countries",
        ["Country", "Capital", "Language"],
        _rows(
            "France,Paris,French;Germany,Berlin,German;Italy,Rome,Italian;Spain,Madrid,Spanish;Poland,Warsaw,Polish;Japan,Tokyo,Japanese;Egypt,Cairo,Arabic"
        ),
    ),
    (
        "colours|colors",
        ["Colour", "Example", "Feeling"],
        _rows(
            "Red,rose,love;Orange,pumpkin,warmth;Yellow,sun,joy;Green,leaf,calm;Blue,sky,trust;Purple,plum,magic;White,snow,peace"
        ),
    ),
    (
        "seasons|the seasons|the four seasons",
        ["Season", "Weather", "Activity"],
        _rows("Spring,mild,gardening;Summer,hot,swimming;Autumn,windy,picking apples;Winter,cold,skiing"),
    ),
    (
        "sports",
        ["Sport", "Players", "Place"],
        _rows(
            "Football,11,field;Basketball,5,hall;Tennis,1 or 2,court;Swimming,1,pool;Chess,2,table;Hockey,6,ice;Rowing,8,river"
        ),
    ),
    (
        "instruments|musical instruments",
        ["Instrument", "Family", "Played with"],
        _rows(
            "Piano,keys,fingers;Violin,strings,bow;Guitar,strings,fingers;Flute,wind,breath;Trumpet,brass,breath;Drum,percussion,sticks;Harp,strings,fingers"
        ),
    ),
    (
        "drinks",
        ["Drink", "Temperature", "Time"],
        _rows(
            "Coffee,hot,morning;Tea,hot,afternoon;Milk,cold,morning;Water,cold,any time;Lemonade,cold,summer;Cocoa,hot,winter"
        ),
    ),
    (
        "meals|meals of a day",
        ["Meal", "Time", "Example"],
        _rows("Breakfast,7:00,porridge;Snack,10:00,apple;Lunch,12:30,soup;Tea,16:00,cake;Dinner,19:00,pasta"),
    ),
    (
        "jobs|professions",
        ["Job", "Tool", "Place"],
        _rows(
            "Baker,oven,bakery;Carpenter,saw,workshop;Doctor,stethoscope,hospital;Farmer,tractor,farm;Painter,brush,studio;Programmer,computer,office;Tailor,needle,shop;Teacher,book,school"
        ),
    ),
    (
        "vehicles|means of transport",
        ["Vehicle", "Wheels", "Speed"],
        _rows(
            "Bicycle,2,slow;Motorcycle,2,fast;Car,4,fast;Bus,6,medium;Train,many,very fast;Tram,many,medium;Ship,0,slow"
        ),
    ),
    (
        "trees",
        ["Tree", "Leaves", "Fruit"],
        _rows(
            "Apple tree,oval,apples;Birch,small,seeds;Chestnut,large,chestnuts;Fir,needles,cones;Oak,lobed,acorns;Pine,needles,cones;Willow,narrow,seeds"
        ),
    ),
    (
        "flowers",
        ["Flower", "Colour", "Season"],
        _rows(
            "Daffodil,yellow,spring;Daisy,white,summer;Lavender,purple,summer;Poppy,red,summer;Rose,red,summer;Sunflower,yellow,summer;Tulip,many,spring"
        ),
    ),
    (
        "school subjects|subjects",
        ["Subject", "Day", "Room"],
        _rows(
            "Maths,Monday,12;English,Tuesday,4;History,Wednesday,7;Biology,Thursday,9;Art,Friday,3;Music,Friday,5;Sport,Monday,hall"
        ),
    ),
    (
        "tools",
        ["Tool", "Use", "Material"],
        _rows(
            "Hammer,nails,steel;Saw,cutting wood,steel;Screwdriver,screws,steel;Brush,painting,hair;Ruler,measuring,wood;Pliers,holding,steel"
        ),
    ),
    (
        "months|the months",
        ["Month", "Days", "Season"],
        _rows(
            "January,31,winter;February,28,winter;March,31,spring;April,30,spring;May,31,spring;June,30,summer;July,31,summer;August,31,summer;September,30,autumn;October,31,autumn;November,30,autumn;December,31,winter"
        ),
    ),
    (
        "shapes|geometric shapes",
        ["Shape", "Sides", "Corners"],
        _rows("Circle,0,0;Triangle,3,3;Square,4,4;Rectangle,4,4;Pentagon,5,5;Hexagon,6,6"),
    ),
    (
        "words of Outrider|Outrider words|terms of Outrider",
        ["Word", "Meaning"],
        _rows(
            "Target,the large model that decides;Draft,the small model that proposes;Lookahead,tokens proposed per round;Accepted,proposed tokens that were kept;Acceptance rate,accepted / proposed;Mean length,emitted tokens per round;Speedup,compared with plain decoding"
        ),
    ),
    (
        "Python types|data types",
        ["Type", "Example"],
        _rows("int,42;float,3.14;str,'hello';bool,True;list,[1 2 3];dict,{'a': 1};tuple,(1 2)"),
    ),
    (
        "materials",
        ["Material", "Property", "Use"],
        _rows(
            "Wood,light,furniture;Glass,clear,windows;Steel,strong,bridges;Paper,thin,books;Wool,warm,sweaters;Stone,heavy,walls"
        ),
    ),
    (
        "weather|kinds of weather",
        ["Weather", "Clothes", "Activity"],
        _rows(
            "Sunny,hat,picnic;Rainy,rain coat,reading;Windy,jacket,flying a kite;Snowy,boots,sledging;Foggy,scarf,drinking tea"
        ),
    ),
]
