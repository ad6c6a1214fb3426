"""Facts of daily life, in our own words."""

from __future__ import annotations

# ways to ask → ways to answer
FACTS: list[tuple[str, str]] = [
    (
        "[Why is the sky blue|What makes the sky blue|Why does the sky look blue][?|]",
        "The air scatters blue light more than red light, so blue reaches us from [every side|all directions]. [In the evening the way is longer and the sky turns red.|]",
    ),
    (
        "[Why do leaves fall|Why do trees lose their leaves|Why do leaves turn yellow][ in autumn|][?|]",
        "[In autumn|When it gets cold] trees save water, so they [stop feeding their leaves|let go of their leaves]. The green fades and the leaves fall.",
    ),
    (
        "[Why does it rain|Where does rain come from|How does rain form|What makes rain][?|]",
        "Water rises from seas and lakes as vapour, cools down high above and becomes small drops. [When the drops are heavy enough|When they grow heavy], they fall as rain.",
    ),
    (
        "[Why is the sea salty|Why is sea water salty|What makes the ocean salty][?|]",
        "Rivers carry small amounts of salt from the rocks to the sea. The water rises again as vapour, but the salt stays.",
    ),
    (
        "[Why do we sleep|Why do people need sleep|Why is sleep important][?|]",
        "[Sleep lets|During sleep we let] the body rest and the brain sort the day. [Without it we are slow and grumpy.|Most people need seven to eight hours.]",
    ),
    (
        "[Why do we dream|Why do people dream|What are dreams][?|]",
        "[Nobody knows for sure|It is not fully known]. Many think that the brain sorts the memories of the day while we dream.",
    ),
    (
        "[How many days are in a year|How many days does a year have|How long is a year][?|]",
        "A year has 365 days, and a leap year has 366.",
    ),
    ("[How many hours are in a day|How many hours does a day have|How long is a day][?|]", "A day has 24 hours."),
    (
        "[How many minutes are in an hour|How many minutes does an hour have|How long is an hour][?|]",
        "An hour has 60 minutes.",
    ),
    (
        "[How many seconds are in a minute|How many seconds does a minute have|How long is a minute][?|]",
        "A minute has 60 seconds.",
    ),
    (
        "[How many days are in a week|How many days does a week have|How long is a week][?|]",
        "A week has seven days[, from Monday to Sunday|].",
    ),
    ("[How many weeks are in a year|How many weeks does a year have][?|]", "A year has 52 weeks[ and a day|]."),
    (
        "[How many months are in a year|How many months does a year have][?|]",
        "A year has twelve months[, from January to December|].",
    ),
    (
        "[What are the seasons|Name the four seasons|How many seasons are there|Which seasons are there][?|]",
        "There are four seasons: spring, summer, autumn and winter.",
    ),
    (
        "[What colour is grass|Why is grass green|Why are leaves green|Why are plants green][?|]",
        "Grass and leaves are green because of [a green substance|chlorophyll] with which plants catch the light of the sun.",
    ),
    (
        "[What do bees make|How do bees make honey|Where does honey come from|Who makes honey][?|]",
        "Bees collect sweet juice from flowers and turn it into honey in their hive. [It is their food for the winter.|]",
    ),
    (
        "[What do cows eat|What does a cow eat|What do sheep eat|What do horses eat][?|]",
        "They eat [mostly |]grass and hay[, and they need plenty of water|].",
    ),
    (
        "[What do cats eat|What does a cat eat|What should I feed my cat][?|]",
        "Cats eat meat and fish[, best from good cat food|]. [Milk is not good for most of them.|Give them fresh water too.]",
    ),
    (
        "[What do dogs eat|What does a dog eat|What should I feed my dog][?|]",
        "Dogs eat meat, and also some vegetables and rice. [Chocolate is bad for them.|Never give them chocolate.]",
    ),
    ("[How many legs does a spider have|How many legs do spiders have][?|]", "A spider has eight legs."),
    (
        "[How many legs does an insect have|How many legs do insects have|How many legs does an ant have|How many legs does a bee have][?|]",
        "Insects have six legs.",
    ),
    (
        "[Do fish sleep|How do fish sleep|When do fish sleep][?|]",
        "Yes, fish rest, [but most of them have no eyelids|but with open eyes]. They stay still near the ground or among plants.",
    ),
    (
        "[Why do cats purr|What does it mean when a cat purrs|Why does my cat purr][?|]",
        "Cats [mostly |]purr when they feel well and safe. [Sometimes they also do it to calm themselves.|]",
    ),
    (
        "[Why do dogs bark|What does it mean when a dog barks|Why does my dog bark][?|]",
        "Dogs bark to [warn|greet] others, out of joy, or because they are alone. [Look at the tail to see which.|]",
    ),
    (
        "[How do birds fly|Why can birds fly|How can birds fly][?|]",
        "Birds have light bones and strong wings. They push the air down, and the air lifts them up.",
    ),
    (
        "[How do planes fly|Why can planes fly|How does a plane fly|How do airplanes fly][?|]",
        "The wings of a plane push the air down as it moves fast, and that lifts it up. The engines keep it moving.",
    ),
    (
        "[Why do ships float|How do boats float|Why does a ship not sink|How can ships float][?|]",
        "A ship pushes away as much water as it weighs. [Since it is hollow|Because it is full of air], it stays on top.",
    ),
    (
        "[Why does ice float|Why does ice swim on water][?|]",
        "Ice is lighter than water[, because water expands when it freezes|]. So it floats on top.",
    ),
    (
        "[At what temperature does water boil|When does water boil|How hot is boiling water][?|]",
        "Water boils at 100 degrees Celsius[ at sea level|].",
    ),
    (
        "[At what temperature does water freeze|When does water freeze|How cold is ice][?|]",
        "Water freezes at 0 degrees Celsius.",
    ),
    (
        "[How much water should I drink|How much should I drink a day|How much water do I need][?|]",
        "About one and a half to two litres a day [is fine for most people|are enough for most people]. [Drink more when it is hot.|]",
    ),
    (
        "[How long should I sleep|How much sleep do I need|How many hours should I sleep][?|]",
        "Most adults need seven to eight hours[ a night|]. [Children need more.|]",
    ),
    (
        "[Is coffee healthy|Is coffee good for me|Is coffee bad for me|How much coffee is too much][?|]",
        "A few cups of coffee a day are fine for most people. [Drink none late in the evening, or you may not sleep.|]",
    ),
    (
        "[What is a healthy breakfast|What should I eat for breakfast|What is good for breakfast][?|]",
        "[Porridge with fruit|Bread with cheese and an apple|Yoghurt with nuts and berries] is a good start[ into the day|]. Drink some water or tea with it.",
    ),
    (
        "[What should I cook today|What can I cook tonight|What should I eat for dinner|Any idea for dinner][?|]",
        "[How about|Try] [pasta with tomatoes|rice with vegetables|a warm soup|pancakes with apples|an omelette with cheese]? It is [quick|easy] and needs only a few things.",
    ),
    (
        "[What should I wear today|What do I wear when it is cold|What should I wear in winter][?|]",
        "Wear several thin layers, a warm coat and a scarf. [You can take one off when you are too warm.|]",
    ),
    (
        "[What should I bring to a party|What can I bring to a dinner|What is a good present for a host][?|]",
        "[Flowers|Some fruit|A cake|A good cheese] and a good mood are always welcome.",
    ),
    (
        "[What is a good gift|What should I give my friend|What can I give my mother|What is a good birthday present][ for a birthday|][?|]",
        "[A book that you loved|A plant|Tickets for a concert|A photo of the two of you] makes a good gift. [Time together is the best one.|]",
    ),
    ("[Where does the sun rise|Where does the sun come up][?|]", "The sun rises in the east and sets in the west."),
    ("[Where does the sun set|Where does the sun go down][?|]", "The sun sets in the west."),
    (
        "[Why is the moon bright|Why does the moon shine|Where does the light of the moon come from][?|]",
        "The moon has no light of its own. It reflects the light of the sun.",
    ),
    (
        "[Why are there seasons|What causes the seasons|Why is it cold in winter|Why is it warm in summer][?|]",
        "The axis of the earth is tilted, so [each half gets more sun in its summer|the sun stands higher in summer than in winter].",
    ),
    (
        "[What is the largest animal|Which animal is the biggest|What is the biggest animal][ in the world| on earth|][?|]",
        "The blue whale is the largest animal[ on earth| of all|]. It can be thirty metres long.",
    ),
    (
        "[What is the fastest animal|Which animal is the fastest|Which animal runs fastest][ on land|][?|]",
        "The cheetah is the fastest animal on land. It runs at about 100 kilometres per hour.",
    ),
    (
        "[What is the tallest animal|Which animal is the tallest][?|]",
        "The giraffe is the tallest animal. It can reach leaves five metres above the ground.",
    ),
    ("[What is the capital of|Which city is the capital of] France[?|]", "The capital of France is Paris."),
    ("[What is the capital of|Which city is the capital of] Germany[?|]", "The capital of Germany is Berlin."),
    ("[What is the capital of|Which city is the capital of] Italy[?|]", "The capital of Italy is Rome."),
    ("[What is the capital of|Which city is the capital of] Spain[?|]", "The capital of Spain is Madrid."),
    (
        "[What is the capital of|Which city is the capital of] [England|Great Britain|the United Kingdom][?|]",
        "The capital is London.",
    ),
    ("[What is the capital of|Which city is the capital of] Japan[?|]", "The capital of Japan is Tokyo."),
    (
        "[How many planets are there|Name the planets|Which planets are there][ in the solar system|][?|]",
        "There are eight planets: Mercury, Venus, Earth, Mars, Jupiter, Saturn, Uranus and Neptune.",
    ),
    (
        "[How many continents are there|Name the continents|Which continents are there][?|]",
        "[Usually seven are counted|There are seven]: Africa, Antarctica, Asia, Australia, Europe, North America and South America.",
    ),
    ("[Which colours make green|How do I mix green|What makes green][?|]", "Blue and yellow make green."),
    ("[Which colours make orange|How do I mix orange|What makes orange][?|]", "Red and yellow make orange."),
    ("[Which colours make purple|How do I mix purple|What makes purple][?|]", "Red and blue make purple."),
    (
        "[What are the colours of the rainbow|Which colours are in a rainbow|How does a rainbow form|Why do we see a rainbow][?|]",
        "A rainbow [appears|forms] when the sun shines through rain. Its colours are red, orange, yellow, green, blue and violet.",
    ),
    (
        "[Why do we yawn|Why do people yawn|Why do I yawn][?|]",
        "We yawn when we are tired or bored[, perhaps to wake the brain up|]. And it spreads from one person to the next.",
    ),
    (
        "[Why do we cry|Why do onions make us cry|Why do onions make me cry|Why do I cry when I cut onions][?|]",
        "A cut onion gives off a sharp gas, and tears wash it out of the eyes. [A sharp knife helps.|Cool the onion first.]",
    ),
    (
        "[Why do we need to eat|Why do people eat|Why are vegetables healthy|Why should I eat vegetables][?|]",
        "Food gives us energy and what the body is built of. Vegetables bring vitamins and keep us full for long.",
    ),
    (
        "[Why should I brush my teeth|How often should I brush my teeth|How long should I brush my teeth][?|]",
        "Brush your teeth twice a day for two minutes. It removes what makes holes in them.",
    ),
    (
        "[How long does it take to boil potatoes|How long do potatoes cook|How long do potatoes take][?|]",
        "Potatoes take about twenty minutes in boiling water. [Test them with a fork.|They are done when a fork slides in.]",
    ),
    (
        "[How do I know if an egg is fresh|Is my egg still good|How can I test an egg][?|]",
        "Put it in a glass of water. A fresh egg lies on the ground, an old one swims.",
    ),
    (
        "[Which fruit is yellow|Name a yellow fruit|What is a yellow fruit][?|]",
        "[A banana is yellow, and so is a lemon|The lemon is yellow, and so is the banana].",
    ),
    (
        "[Which animals live in the sea|Name some animals in the sea|What lives in the ocean][?|]",
        "Whales, dolphins, sharks, crabs, seals and very many fish live in the sea.",
    ),
    (
        "[Which animals live on a farm|Name some farm animals|What lives on a farm][?|]",
        "Cows, pigs, sheep, goats, horses, hens and ducks live on a farm.",
    ),
    (
        "[Which animals lay eggs|Name an animal that lays eggs][?|]",
        "Birds, fish, frogs, turtles and most snakes lay eggs.",
    ),
    (
        "[Is a tomato a fruit|Is a tomato a vegetable|Are tomatoes fruits][?|]",
        "For a gardener a tomato is a fruit, for a cook it is a vegetable. [Both are right.|]",
    ),
    (
        "[Is a whale a fish|Are whales fish|Is a dolphin a fish][?|]",
        "No, it is a mammal. It breathes air and feeds its young with milk.",
    ),
    ("[Is a spider an insect|Are spiders insects][?|]", "No. Spiders have eight legs, and insects have six."),
    ("[What is the opposite of|Name the opposite of] hot[?|]", "The opposite of hot is cold."),
    ("[What is the opposite of|Name the opposite of] big[?|]", "The opposite of big is small."),
    ("[What is the opposite of|Name the opposite of] happy[?|]", "The opposite of happy is sad."),
    ("[What is the opposite of|Name the opposite of] fast[?|]", "The opposite of fast is slow."),
    ("[What is the opposite of|Name the opposite of] light[?|]", "The opposite of light is dark, or heavy."),
]
