"""The words and sentence patterns of the demo corpus: data only, for make_demo_corpus.py.

All of it was written for this project. A table row is `forms: phrases`, going on in the lines
indented below it; a pattern names the words of its row and of the classes at the end in braces.
Facts about real places are meant to be true; everybody else is made up.
"""

from __future__ import annotations

# male female: what such a person did (past tense; {his} and {he} agree)
PEOPLE = """
king queen: ruled the kingdom, wore the royal crown, sat on the throne, left the palace, spoke to
    the royal court, held the royal sceptre, kept the throne for the prince, gave the crown to the
    princess
prince princess: was born in the palace, stood beside the throne, wore the royal crown, was the
    heir of the throne, danced at the royal court, sat beside the king and the queen, spoke to the
    king in the palace
emperor empress: ruled the empire, wore a golden crown, sat on the throne, built a palace of
    marble, spoke to the royal court, held the sceptre
duke duchess: owned a castle, dined at the royal court, sold the estate, hunted with the nobles,
    governed the duchy, obeyed the king and the queen
baron baroness: owned a castle, dined with the nobles, rented the estate, collected rent from the
    farms
lord lady: owned a manor, dined with the nobles, sold the estate, lived in a castle, gave orders
    to the servants
man woman: went to work, walked down the street, lived in the town, paid the bill, voted in the
    town hall, bought a newspaper
boy girl: went to school, played with a toy, climbed the fence, did {his} homework, lost a tooth,
    ran across the playground
son daughter: was born at home, asked {his} parents, grew up with {his} family, obeyed {his}
    parents, was the youngest child of the family
father mother: raised the child, worked for {his} family, put the baby to bed, was a proud parent,
    fed the baby, told the children to be quiet
brother sister: shared a room with a sibling, quarrelled with a sibling, grew up with {his}
    family, was the oldest sibling, wrote to {his} parents
uncle aunt: visited the cousins, brought a birthday gift, came for the holidays, invited the
    cousins, took the relatives to dinner
nephew niece: played with the cousins, got a birthday gift, stayed for the holidays, thanked the
    relatives
husband wife: remembered the wedding, was happily married, wore a wedding ring, celebrated the
    marriage, agreed to the divorce
grandfather grandmother: told an old tale, sat in the rocking chair, walked with a stick, spoiled
    the grandchildren, remembered the old days, knitted beside the stove
groom bride: waited at the altar, cut the wedding cake, said the wedding vow, danced at the
    wedding, kissed at the altar
actor actress: learned the script, stood on the stage, bowed to the audience, sang in the theatre,
    rehearsed the drama
waiter waitress: carried the tray, served the guests, cleaned the tables, took the order, brought
    the menu
hero heroine: fought the dragon, saved the village, found the treasure, won the battle, broke the
    curse
wizard witch: cast a spell, brewed a potion, waved a wand, knew dark magic, broke the curse
monk nun: said a prayer, lived in the abbey, rang the chapel bell, copied the scripture, fasted in
    the abbey
widower widow: mourned at the grave, wore black, lived alone, sold the house, wept at the funeral
steward stewardess: checked the tickets, poured the drinks, served the passengers, closed the
    cabin door
bull cow: grazed in the meadow, slept in the barn, chewed the hay, pulled the plough, stood near
    the herd
rooster hen: pecked the corn, slept in the coop, woke the farm, flapped in the yard, hid from the
    fox
"""

PEOPLE_PATTERNS = """
the {role} {did}
the {role} {did} and {he} {did}
{he} was a {quality} {role} and {he} {did}
{he} was the {role} who {did}
the {role} put on {his} {wear} and {did}
the {quality} {role} {did} before {he} went to {place}
the {role} wore {his} {wear} when {he} {did}
the {role} {did} with {his} own hands because {he} was {quality}
the {role} looked at {himself} in the mirror and put on {his} {wear}
the {role} called {name} and told {him} that {he} {did}
the {role} named {name} {did}
{name} was a {role} and {he} {did}
{name} became a {role} after {he} {did}
the old {role} and the young {role} {did}
the {role} {did} and so did the other {role}
"""
# a person may also be called a man, a woman ... : what makes king − man + woman a question
KIND_PATTERNS = """
the {role} was a {quality} {man} and {he} {did}
the {role} was the {man} who {did}
as a {boy} the {role} was {quality} and {he} {did}
the {role} was once a {boy} like any other {boy}
"""
COUPLE_PATTERNS = """
the {male} and the {female} {did}
the {female} and the {male} {did}
the {male} met the {female} in {place}
the {female} asked the {male} why {he} {did}
"""
MALE = "he his him himself man boy"
FEMALE = "she her her herself woman girl"
WEAR_MALE = "beard waistcoat necktie tailcoat moustache breeches"
WEAR_FEMALE = "gown necklace bonnet petticoat earrings skirt"
NAMES_MALE = """adam albert alfred arthur ben boris carl charles clement daniel david edgar edmund
edward felix francis frank fred george gilbert harold harry henry hugo ivan jack jacob james john
joseph julian karl leo lewis louis luke mark martin max michael nathan ned oliver oscar otto owen
patrick paul peter philip ralph richard robert roger samuel simon stephen theodore thomas tom
victor walter wilfred william"""
NAMES_FEMALE = """ada agnes alice amelia amy anna barbara beatrice bella betty bridget carla
caroline cecilia charlotte clara cora diana dora edith eleanor eliza ella ellen emily emma esther
eva fanny flora frances grace greta hannah harriet helen ida irene jane jenny joan julia kate
laura lena lily lucy mabel margaret maria martha mary matilda maud nancy nell nora olive paula
polly rosa ruth sarah sophie susan"""

# country capital adjective river produce
COUNTRIES = """
france paris french seine cheese
italy rome italian tiber pasta
spain madrid spanish manzanares olives
portugal lisbon portuguese tagus cork
germany berlin german spree sausages
austria vienna austrian danube pastry
hungary budapest hungarian danube paprika
england london english thames cider
ireland dublin irish liffey stew
poland warsaw polish vistula dumplings
russia moscow russian moskva caviar
egypt cairo egyptian nile cotton
japan tokyo japanese sumida rice
sweden stockholm swedish malaren herring
norway oslo norwegian akerselva salmon
finland helsinki finnish vantaa rye
denmark copenhagen danish oresund butter
iceland reykjavik icelandic ellidaar wool
peru lima peruvian rimac potatoes
chile santiago chilean mapocho copper
cuba havana cuban almendares sugar
iraq baghdad iraqi tigris dates
syria damascus syrian barada apricots
czechia prague czech vltava crystal
serbia belgrade serbian sava plums
bulgaria sofia bulgarian iskar roses
romania bucharest romanian dambovita maize
ukraine kyiv ukrainian dnieper wheat
latvia riga latvian daugava amber
belgium brussels belgian senne chocolate
canada ottawa canadian rideau maple
greece athens greek ilisos honey
"""
COUNTRY_PATTERNS = """
{capital} is the capital of {country}
the capital of {country} is {capital}
the {adjective} capital is {capital}
in {country} people praise the {adjective} {produce} of {country}
they sell {adjective} {produce} in {country}
the {adjective} {official} went home to {country}
{country} and its neighbours signed the {adjective} treaty
the army of {country} guards the {adjective} border
the provinces of {country} grow {produce}
the farmers of {country} export {adjective} {produce}
the government of {country} met the {adjective} {official}
the {river} flows through {capital}
we crossed the {river} on a bridge in {capital}
the mayor of {capital} opened a museum near the {river}
the streets of {capital} were crowded and the {adjective} station was full
we took the tram across {capital} to see the cathedral by the {river}
the airport of {capital} is far from the {river}
the {adjective} {official} lives in {capital} near the cathedral
a taxi took the {adjective} {official} across {capital}
the suburbs of {capital} are quiet and the {river} is wide
{name} learned {adjective} history in {country}
{name} likes {adjective} {produce} and {adjective} songs
"""
OFFICIALS = "minister poet painter composer general diplomat historian"

# singular plural: what it did or had done to it (past tense, so both agree)
NOUNS = """
cat cats: chased the mouse, drank the milk, purred on the cushion, licked a paw
dog dogs: barked at the postman, chewed a bone, wagged in the kennel, fetched the stick
horse horses: pulled the cart, jumped the hurdle, galloped over the field, wore a saddle
bird birds: sang in the tree, flew over the roof, built a nest, pecked the seeds
fish fishes: swam in the lake, hid under the reeds, swallowed the hook, leapt from the stream
rabbit rabbits: dug the burrow, nibbled the clover, hid from the fox
goat goats: climbed the cliff, nibbled the thistle, butted the gate
pig pigs: rolled in the mud, grunted in the sty, dug for acorns
frog frogs: croaked in the pond, jumped off the lily, caught a fly
snake snakes: hissed in the grass, shed the skin, slid under the rock
wolf wolves: howled at the moon, hunted the deer, crept from the forest
lion lions: roared in the cage, hunted the zebra, slept in the savanna
bear bears: slept in the cave, stole the honeycomb, scratched the bark
bee bees: buzzed near the hive, visited the clover, made the wax
car cars: turned at the corner, stopped at the garage, needed petrol, skidded on the motorway
ship ships: sailed from the harbour, lost the anchor, carried the cargo, sank in the storm
train trains: left the platform, crossed the viaduct, waited at the signal, came out of the tunnel
plane planes: landed on the runway, flew above the clouds, waited in the hangar
boat boats: drifted on the canal, needed an oar, rocked at the jetty
bicycle bicycles: leaned on the railing, had a flat tyre, rolled down the lane
book books: lay on the shelf, had a torn page, came from the library, told of pirates
letter letters: came in an envelope, needed a stamp, lay in the mailbox
lamp lamps: lit the desk, needed a bulb, flickered in the hallway
chair chairs: stood in the parlour, creaked in the attic, had a broken leg
table tables: stood in the dining room, carried the plates, had a linen cloth
door doors: creaked on the hinge, had a brass knob, closed with a bang
window windows: looked on the courtyard, had a curtain, rattled in the wind
clock clocks: ticked on the mantelpiece, struck noon, showed the wrong hour
knife knives: cut the loaf, lay in the drawer, needed a whetstone
cup cups: held the cocoa, stood on the saucer, broke in the sink
shoe shoes: needed a lace, pinched the toe, stood by the doormat
coat coats: hung in the wardrobe, lost a button, had a deep pocket
hat hats: hung on the peg, had a feather, blew off in the gale
flower flowers: bloomed in the vase, opened in the sunshine, wilted without water
tree trees: lost the leaves, grew in the orchard, gave shade to the bench
apple apples: fell from the branch, tasted of autumn, went into the pie
pear pears: ripened on the twig, went into the jam, lay in the fruit bowl
egg eggs: boiled in the pan, cracked on the rim, went into the omelette
cake cakes: rose in the oven, had a sugar icing, stood on the counter
carrot carrots: grew in the vegetable bed, went into the broth, pleased the rabbit
house houses: stood on the avenue, had a red chimney, needed a tenant
bridge bridges: spanned the ravine, had a stone arch, shook in the flood
church churches: had a steeple, rang for mass, stood on the square
school schools: hired a teacher, closed for the summer, rang for lessons
river rivers: flooded the valley, froze in winter, ran to the delta
mountain mountains: rose above the glacier, hid behind the mist, tempted the climbers
island islands: lay beyond the reef, had a lighthouse, belonged to the archipelago
star stars: shone at midnight, faded at dawn, guided the sailors
cloud clouds: hid the sun, brought the rain, drifted to the horizon
coin coins: lay in the purse, paid for the toll, bore the eagle
piano pianos: stood in the concert hall, needed tuning, had ivory keys
violin violins: lay in the velvet case, needed a bow, joined the orchestra
drum drums: led the parade, thundered in the march, needed a skin
picture pictures: hung in the gallery, needed a frame, showed a landscape
ticket tickets: cost a fortune, lay at the booth, opened the gate of the fair
"""
NOUN_PATTERNS_ONE = """
a {one} {was}
one {one} {was}
this {one} {was} and it {was}
every {one} {was}
a single {one} {was}
there was a {one} that {was}
{name} saw a {one} which {was}
each {one} {was} as it always did
an old {one} was for sale and it {was}
"""
NOUN_PATTERNS_MANY = """
two {many} {was}
these {many} {was}
many {many} {was}
several {many} {was} and they {was}
all {many} {was}
there were {number} {many} that {was}
{name} counted {number} {many} and they {was}
{number} {many} were for sale and they {was}
both {many} {was} as they always did
"""
NUMBERS = "two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty"

# base third-person past participle-in-ing: what goes with it
VERBS = """
walk walks walked walking: through the park, along the shore, up the hill, on the pavement
run runs ran running: round the track, in the marathon, for the bus
swim swims swam swimming: across the bay, in the pool, with the dolphins
sing sings sang singing: a hymn, in the choir, a lullaby
dance dances danced dancing: a waltz, at the ball, with a partner
play plays played playing: chess, the flute, cards with a friend
eat eats ate eating: bread and ham, a sandwich, lunch at the inn
drink drinks drank drinking: lemonade, a glass of beer, coffee with cream
cook cooks cooked cooking: the soup, supper in a pot, beans with garlic
bake bakes baked baking: a loaf, biscuits, rolls with yeast
write writes wrote writing: a novel, in the diary, a poem with a quill
read reads read reading: the journal, a chapter, a fable aloud
draw draws drew drawing: a sketch, with charcoal, a portrait
paint paints painted painting: the wall, with a brush, a mural
build builds built building: a shed, with bricks, a cottage
break breaks broke breaking: the jar, the glass, a vow
open opens opened opening: the parcel, the lid, a bottle
close closes closed closing: the shutters, the gate, the shop
buy buys bought buying: onions at the market, a bargain, cloth for money
sell sells sold selling: eggs at the market, cloth for money, fish from a stall
give gives gave giving: alms to the beggar, a present, advice
take takes took taking: a nap, the medicine, a photograph
drive drives drove driving: the lorry, to the office, a tractor
ride rides rode riding: a pony, on a donkey, a camel
fly flies flew flying: a kite, in a balloon, over the desert
sleep sleeps slept sleeping: on the sofa, in a hammock, under a blanket
dream dreams dreamed dreaming: of the sea, of fame, of faraway lands
speak speaks spoke speaking: to the crowd, in a whisper, at the meeting
listen listens listened listening: to the radio, to the sermon, to the thunder
teach teaches taught teaching: grammar, algebra to the pupils, the pupils geometry
learn learns learned learning: grammar, algebra by heart, the alphabet
think thinks thought thinking: about the riddle, of an answer, about the puzzle
know knows knew knowing: the answer, the secret, the recipe
throw throws threw throwing: the ball, a snowball, a pebble
catch catches caught catching: the ball, a butterfly, a trout
wash washes washed washing: the dishes, the laundry, with soap
clean cleans cleaned cleaning: the carpet, with a mop, the kitchen floor
plant plants planted planting: tulips, a hedge, turnips in rows
sew sews sewed sewing: a sleeve, with needle and thread, a patch
dig digs dug digging: a ditch, with a spade, a well
push pushes pushed pushing: the wheelbarrow, the pram, a button
pull pulls pulled pulling: the rope, the sledge, a lever
laugh laughs laughed laughing: at the joke, at the clown, with delight
cry cries cried crying: over the loss, in despair, bitter tears
"""
VERB_PATTERNS = """
they {base} {object} every day
we {base} {object} on sundays
you must {base} {object} if you can
do you want to {base} {object}
{name} hopes to {base} {object}
let us {base} {object} together
{name} {third} {object} every day
{name} often {third} {object}
{he_or_she} always {third} {object} on sundays
yesterday {name} {past} {object}
last week {he_or_she} {past} {object}
long ago {name} {past} {object}
last night {he_or_she} {past} {object} until midnight
{name} {past} {object} yesterday and last week
two years ago {name} {past} {object}
now {name} is {ing} {object}
{name} is {ing} {object} at this moment
they are still {ing} {object} now
{he_or_she} has been {ing} {object} for an hour
{name} is busy {ing} {object} at the moment
"""

# adjective comparative superlative: what may be so
ADJECTIVES = """
tall taller tallest: tower, giant, poplar, mast
short shorter shortest: sentence, dwarf, speech, nap
big bigger biggest: elephant, barrel, whale, warehouse
small smaller smallest: ant, crumb, pebble, kitten
long longer longest: rope, journey, queue, corridor
wide wider widest: boulevard, estuary, plain, sleeve
deep deeper deepest: well, ocean, crater, canyon
high higher highest: summit, cliff, wall, dam
old older oldest: oak, castle, legend, tortoise
young younger youngest: recruit, calf, pupil, sapling
new newer newest: machine, fashion, engine, hospital
hot hotter hottest: furnace, stove, desert, pepper
cold colder coldest: winter, iceberg, cellar, glacier
warm warmer warmest: blanket, mitten, bath, breeze
fast faster fastest: rocket, falcon, runner, antelope
slow slower slowest: snail, tortoise, wagon, barge
strong stronger strongest: ox, wrestler, rope, blacksmith
weak weaker weakest: tea, twig, signal, patient
rich richer richest: merchant, banker, miser, mine
poor poorer poorest: beggar, harvest, orphan, soil
heavy heavier heaviest: anvil, trunk, boulder, hammer
light lighter lightest: feather, basket, lace, raft
loud louder loudest: trumpet, cannon, siren, thunder
soft softer softest: pillow, moss, velvet, fur
hard harder hardest: diamond, exam, flint, nut
bright brighter brightest: comet, lantern, torch, jewel
dark darker darkest: dungeon, cavern, alley, night
cheap cheaper cheapest: trinket, fare, motel, ribbon
sharp sharper sharpest: razor, thorn, dagger, needle
sweet sweeter sweetest: peach, cherry, syrup, melon
clean cleaner cleanest: apron, spring, dish, sheet
happy happier happiest: clown, toddler, couple, reunion
"""
ADJECTIVE_PATTERNS = """
the {thing} is very {adjective}
what a {adjective} {thing} said {name}
such a {adjective} {thing} is rare
a {thing} so {adjective} is rare
is the {thing} {adjective} or not
this {thing} is {comparative} than that {thing}
a {thing} is {comparative} than most and much {comparative} than before
{name} found a {comparative} {thing} than mine
the {thing} grew {comparative} and {comparative}
the {superlative} {thing} of all won the prize
it was the {superlative} {thing} in the whole world
of all things the {thing} was the {superlative}
{name} owns the {superlative} {thing} ever seen
"""

# trade: its place and its things
TRADES = """
baker: bakery, flour, dough, oven
smith: forge, iron, anvil, horseshoe
carpenter: workshop, timber, saw, nails
tailor: shop, scissors, silk, pattern
doctor: clinic, fever, pill, bandage
nurse: ward, syringe, pulse, bandage
farmer: barn, harvest, plough, crop
miller: mill, grain, sack, flour
fisherman: pier, net, bait, catch
sailor: deck, mast, compass, knot
soldier: barracks, rifle, helmet, trench
judge: courtroom, verdict, oath, law
lawyer: chambers, contract, clause, law
teacher: classroom, chalk, blackboard, spelling
chemist: laboratory, acid, flask, formula
astronomer: observatory, telescope, planet, orbit
gardener: greenhouse, rake, seedling, weed
butcher: counter, meat, cleaver, bacon
mason: quarry, mortar, chisel, granite
potter: studio, clay, kiln, glaze
printer: press, ink, type, leaflet
clerk: office, ledger, invoice, pencil
miner: pit, coal, pickaxe, lantern
shepherd: pasture, flock, lamb, crook
"""
TRADE_PATTERNS = """
the {trade} worked in the {workplace} with {thing} and {thing}
in the {workplace} the {trade} kept the {thing}
{name} is a {trade} and knows all about {thing} and {thing}
the {trade} asked for more {thing} in the {workplace}
without {thing} no {trade} can do good work
the apprentice of the {trade} swept the {workplace} and fetched the {thing}
"""

# season month weather: what one sees then
SEASONS = """
spring april mild: blossom, shower, lamb, meadow, puddle, nest
summer july sunny: beach, heat, picnic, meadow, thunder, harvest
autumn october windy: mushroom, fog, leaf, harvest, bonfire, storm
winter january frosty: snow, ice, sledge, frost, icicle, scarf
"""
SEASON_PATTERNS = """
in {season} the weather is {weather} and there is {thing} and {thing}
{month} is a {season} month with {thing}
a {weather} morning in {month} brought {thing}
{name} loves {season} for its {thing} and {thing}
"""

# classes any pattern may draw from
QUALITIES = """brave wise kind proud clever honest gentle cruel lazy patient stubborn cheerful
polite famous humble greedy loyal jealous generous curious"""
PLACES = """the town, the village, the market, the harbour, the garden, the forest, the valley,
the chapel, the coast, the mill, the inn, the library, the square, the river, the hills, the
theatre, the monastery, the island"""
