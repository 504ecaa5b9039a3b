"""Write pairs by pattern: pronouns with their nouns, possessives with their owners,
words of two senses.

    python research/patterns.py

It writes patterns.tsv.xz (CC0) to xformer/training/data: English TAB Spanish TAB
“pattern”, after which a link may stand, the same lines for the same seed. A link is a
pronoun of the English sentence and the last word of the noun that it stands for, with
spaces between. All genders, numbers and verb forms stand in the lists below,
written by hand. What stands near a sentence that the page, a lesson or `xformer
evaluate demonstrations` shows is left out: a cosine of tf-idf above NEAR, on either
side.
"""

from __future__ import annotations

import json
import lzma
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

Pair = tuple[str, str]

SEED = 20261129
NEAR = 0.5  # the highest cosine of tf-idf to a sentence that is shown
HERE = Path(__file__).parent
OUT = HERE.parent / "xformer" / "training" / "data" / "patterns.tsv.xz"


class Person(NamedTuple):
    """Somebody: English, Spanish, whether a woman, and whether the English noun says so
    by itself."""

    en: str
    es: str
    woman: bool
    said: bool = True


class Thing(NamedTuple):
    """A thing: English, Spanish without article, whether feminine, whether plural."""

    en: str
    es: str
    feminine: bool = False
    many: bool = False


def things(lines: str, many: bool = False) -> list[Thing]:
    """Read `English=Spanish m` or `f`, one after another, divided by commas."""
    found = []
    for one in lines.replace("\n", " ").split(","):
        en, rest = one.strip().split("=")
        es, gender = rest.rsplit(" ", 1)
        found.append(Thing(en, es, {"m": False, "f": True}[gender], many))
    return found


KIN = [
    *(
        Person(f"my {en}", f"mi {es}", False)
        for en, es in [
            ("brother", "hermano"),
            ("uncle", "tío"),
            ("father", "padre"),
            ("grandfather", "abuelo"),
            ("son", "hijo"),
            ("nephew", "sobrino"),
        ]
    ),
    *(
        Person(f"my {en}", f"mi {es}", True)
        for en, es in [
            ("sister", "hermana"),
            ("aunt", "tía"),
            ("mother", "madre"),
            ("grandmother", "abuela"),
            ("daughter", "hija"),
            ("niece", "sobrina"),
        ]
    ),
    Person("the boy", "el niño", False),
    Person("the girl", "la niña", True),
    Person("the old man", "el anciano", False),
    Person("the old woman", "la anciana", True),
    Person("the waiter", "el camarero", False),
    Person("the waitress", "la camarera", True),
    Person("Pedro", "Pedro", False),
    Person("Elena", "Elena", True),
    Person("Carlos", "Carlos", False),
    Person("Laura", "Laura", True),
    Person("Miguel", "Miguel", False),
    Person("Carla", "Carla", True),
]
OF_EITHER = [
    ("my friend", "mi amigo", "mi amiga"),
    ("my neighbour", "mi vecino", "mi vecina"),
    ("my cousin", "mi primo", "mi prima"),
    ("the teacher", "el profesor", "la profesora"),
    ("the doctor", "el médico", "la médica"),
    ("the nurse", "el enfermero", "la enfermera"),
    ("the lawyer", "el abogado", "la abogada"),
    ("the singer", "el cantante", "la cantante"),
    ("the baker", "el panadero", "la panadera"),
    ("the student", "el estudiante", "la estudiante"),
    ("the artist", "el artista", "la artista"),
    ("the judge", "el juez", "la jueza"),
    ("the writer", "el escritor", "la escritora"),
    ("the cook", "el cocinero", "la cocinera"),
    ("the engineer", "el ingeniero", "la ingeniera"),
    ("the director", "el director", "la directora"),
    ("the gardener", "el jardinero", "la jardinera"),
    ("the photographer", "el fotógrafo", "la fotógrafa"),
    ("the tourist", "el turista", "la turista"),
    ("my boss", "mi jefe", "mi jefa"),
    ("my best friend", "mi mejor amigo", "mi mejor amiga"),
    ("the scientist", "el científico", "la científica"),
    ("the secretary", "el secretario", "la secretaria"),
]
EITHER = [
    Person(en, (he, she)[woman], woman, False)
    for en, he, she in OF_EITHER
    for woman in (False, True)
]
PEOPLE = [*KIN, *EITHER]
GROUPS = [
    ("my parents", "mis padres"),
    ("the neighbours", "los vecinos"),
    ("the children", "los niños"),
    ("the girls", "las niñas"),
    ("my friends", "mis amigos"),
    ("the students", "los estudiantes"),
    ("my grandparents", "mis abuelos"),
    ("the sisters", "las hermanas"),
    ("Pedro and Elena", "Pedro y Elena"),
    ("my aunt and my uncle", "mi tía y mi tío"),
    ("the teachers", "las profesoras"),
    ("my cousins", "mis primos"),
]

MACHINES = things("""washing machine=lavadora f, fridge=nevera f, motorbike=moto f, lamp=lámpara f, clock=reloj m,
    printer=impresora f, camera=cámara f, tractor=tractor m, coffee machine=cafetera f,
    sewing machine=máquina de coser f, van=furgoneta f, lorry=camión m, heater=calentador m,
    vacuum cleaner=aspiradora f, boat=barco m, bus=autobús m,
    dishwasher=lavavajillas m, fan=ventilador m, oven=horno m, typewriter=máquina de escribir f""")
GOODS = things("""lamp=lámpara f, table=mesa f, carpet=alfombra f, mirror=espejo m, sofa=sofá m, armchair=sillón m,
    chair=silla f, bicycle=bicicleta f, guitar=guitarra f, piano=piano m, coat=abrigo m, shirt=camisa f, skirt=falda f,
    dress=vestido m, jacket=chaqueta f, hat=sombrero m, umbrella=paraguas m, mattress=colchón m, blanket=manta f,
    cushion=cojín m, tent=tienda de campaña f, picture=cuadro m, ring=anillo m, necklace=collar m, vase=jarrón m,
    curtain=cortina f, bed=cama f, bookcase=estantería f, phone=teléfono m, tablecloth=mantel m, scarf=bufanda f""")
CLOTH = things("""coat=abrigo m, shirt=camisa f, skirt=falda f, dress=vestido m, jacket=chaqueta f, tablecloth=mantel m,
    blanket=manta f, towel=toalla f, carpet=alfombra f, sheet=sábana f, uniform=uniforme m, scarf=bufanda f,
    cushion=cojín m, curtain=cortina f, pullover=jersey m""")
HOLLOW = things("""box=caja f, drawer=cajón m, bag=bolsa f, suitcase=maleta f, wardrobe=armario m, basket=cesta f,
    bucket=cubo m, wallet=cartera f, fridge=nevera f, envelope=sobre m, bottle=botella f, jar=tarro m,
    rucksack=mochila f, chest=cofre m, cage=jaula f, teapot=tetera f""")
PLACES = things("""library=biblioteca f, museum=museo m, church=iglesia f, restaurant=restaurante m,
    pharmacy=farmacia f, market=mercado m, bakery=panadería f, theatre=teatro m, castle=castillo m,
    swimming pool=piscina f,
    office=oficina f, town hall=ayuntamiento m, post office=oficina de correos f, zoo=zoo m""")
FOODS = things("""rice=arroz m, meat=carne f, fish=pescado m, pizza=pizza f, omelette=tortilla f, stew=guiso m,
    chicken=pollo m, pasta=pasta f, cake=pastel m, sauce=salsa f, toast=pan tostado m, cabbage=repollo m""")
WORKS = things("""novel=novela f, book=libro m, letter=carta f, article=artículo m, poem=poema m, story=historia f,
    report=informe m, contract=contrato m, biography=biografía f, essay=ensayo m, speech=discurso m,
    message=mensaje m""")
SHOWS = things("""play=obra de teatro f, series=serie f, concert=concierto m, match=partido m, opera=ópera f,
    documentary=documental m, exhibition=exposición f, ballet=ballet m""")
SMALL = things("""key=llave f, ring=anillo m, book=libro m, letter=carta f, phone=teléfono m, wallet=cartera f,
    passport=pasaporte m, ticket=billete m, umbrella=paraguas m, photo=foto f, notebook=cuaderno m, map=mapa m,
    pen=bolígrafo m,
    knife=cuchillo m, spoon=cuchara f, cup=taza f, plate=plato m, bottle=botella f, hat=sombrero m, scarf=bufanda f,
    ball=pelota f, coin=moneda f, watch=reloj m, candle=vela f, lamp=lámpara f, basket=cesta f""")
LARGE = things("""box=caja f, suitcase=maleta f, trunk=baúl m, table=mesa f, wardrobe=armario m, bag=bolsa f,
    stone=piedra f, piano=piano m, mattress=colchón m, barrel=barril m, bookcase=estantería f, rucksack=mochila f,
    sack=saco m""")
BOUGHT = things(
    """shoes=zapatos m, boots=botas f, trousers=pantalones m, glasses=gafas f, gloves=guantes m,
    socks=calcetines m, shirts=camisas f, plates=platos m, cups=tazas f, chairs=sillas f, curtains=cortinas f,
    books=libros m, photos=fotos f, letters=cartas f, tools=herramientas f, toys=juguetes m, pillows=almohadas f,
    towels=toallas f""",
    many=True,
)
GROWN = things(
    """tomatoes=tomates m, apples=manzanas f, pears=peras f, lemons=limones m, strawberries=fresas f,
    cherries=cerezas f, onions=cebollas f, mushrooms=setas f, peaches=melocotones m, grapes=uvas f""",
    many=True,
)


def agreeing(word: str, feminine: bool, many: bool = False) -> str:
    """Make an adjective in -o agree."""
    return (
        word[:-1] + ("a" if feminine else "o") + ("s" if many else "")
        if word.endswith("o")
        else (word + ("s" if many else ""))
    )


def the(thing: Thing) -> str:
    return f"{('el', 'la', 'los', 'las')[thing.feminine + 2 * thing.many]} {thing.es}"


def a(thing: Thing) -> str:
    return f"{('un', 'una')[thing.feminine]} {thing.es}"


def article(noun: str) -> str:
    """An English noun with a or an."""
    return (
        f"{'an' if noun[0] in 'aeiou' and not noun.startswith('uni') else 'a'} {noun}"
    )


def it(thing: Thing) -> str:
    """The Spanish object pronoun of a thing."""
    return ("lo", "la", "los", "las")[thing.feminine + 2 * thing.many]


def written(en: str, es: str) -> Pair:
    """Begin both sides with a capital, and contract the Spanish articles."""
    es = re.sub(r"\b([Aa]) el\b", r"\1l", es)
    es = re.sub(r"\b([Dd])e el\b", r"\1el", es)
    first = re.search(r"\w", es)
    assert first
    return en[0].upper() + en[1:], es[: first.start()] + es[
        first.start() : first.end()
    ].upper() + es[first.end() :]


# by pair: a pronoun of the English sentence, and the last word of its noun
LINKS: dict[Pair, str] = {}


def linked(en: str, es: str, thing: Thing) -> Pair:
    """The same as `written`, noted as one in which it, they or them is this thing."""
    pair = written(en, es)
    pronoun = re.search(r"\b(it|they|them)\b", pair[0].rpartition(thing.en)[2])
    if pronoun:
        LINKS[pair] = f"{pronoun[0]} {thing.en.split()[-1]}"
    return pair


# Pronouns of things. {p}: a person, {n}: a thing, {a}: what it is; in Spanish {p}, {n}
# with its article, {a} agreeing

IT_IS: list[tuple[str, str, list[Thing], list[tuple[str, str]]]] = [
    (
        "{p} chose the {n} because it was {a}.",
        "{p} eligió {n} porque era {a}.",
        GOODS,
        [("beautiful", "bonito"), ("cheap", "barato"), ("new", "nuevo")],
    ),
    (
        "{p} did not buy the {n} because it was too {a}.",
        "{p} no compró {n} porque era demasiado {a}.",
        GOODS,
        [("expensive", "caro"), ("old", "viejo"), ("ugly", "feo")],
    ),
    (
        "{p} threw away the {n} because it was {a}.",
        "{p} tiró {n} porque estaba {a}.",
        GOODS,
        [("broken", "roto"), ("worn out", "gastado")],
    ),
    (
        "{p} took the {n} back to the shop because it was {a}.",
        "{p} devolvió {n} a la tienda porque estaba {a}.",
        GOODS,
        [("damaged", "dañado"), ("dirty", "sucio"), ("torn", "roto")],
    ),
    (
        "{p} washed the {n} twice, but it is still {a}.",
        "{p} lavó {n} dos veces, pero todavía está {a}.",
        CLOTH,
        [("dirty", "sucio"), ("stained", "manchado")],
    ),
    (
        "{p} left the {n} in the garden, and now it is {a}.",
        "{p} dejó {n} en el jardín y ahora está {a}.",
        CLOTH,
        [("wet", "mojado"), ("ruined", "estropeado")],
    ),
    (
        "{p} looked into the {n}, but it was {a}.",
        "{p} miró dentro de {n}, pero estaba {a}.",
        HOLLOW,
        [("empty", "vacío"), ("full of sand", "lleno de arena")],
    ),
    (
        "{p} wanted to go to the {n}, but it was {a}.",
        "{p} quería ir a {n}, pero estaba {a}.",
        PLACES,
        [("closed", "cerrado"), ("packed", "abarrotado")],
    ),
    (
        "{p} did not eat the {n} because it was {a}.",
        "{p} no se comió {n} porque estaba {a}.",
        FOODS,
        [("burnt", "quemado"), ("too salty", "demasiado salado"), ("raw", "crudo")],
    ),
    (
        "{p} read the {n} twice because it was so {a}.",
        "{p} leyó {n} dos veces porque era muy {a}.",
        WORKS,
        [("beautiful", "hermoso"), ("complicated", "complicado"), ("long", "largo")],
    ),
    (
        "{p} left before the end of the {n} because it was {a}.",
        "{p} se fue antes del final de {n} porque era {a}.",
        SHOWS,
        [("boring", "aburrido"), ("too long", "demasiado largo")],
    ),
    (
        "{p} could not lift the {n} because it was too {a}.",
        "{p} no pudo levantar {n} porque era demasiado {a}.",
        LARGE,
        [("heavy", "pesado")],
    ),
    (
        "{p} sold the {n} because it was {a}.",
        "{p} vendió {n} porque era {a}.",
        MACHINES,
        [
            ("too slow", "demasiado lento"),
            ("too noisy", "demasiado ruidoso"),
            ("old", "viejo"),
        ],
    ),
    (
        "{p} did not use the {n} because it was {a}.",
        "{p} no usó {n} porque estaba {a}.",
        MACHINES,
        [("broken", "averiado"), ("switched off", "apagado"), ("dirty", "sucio")],
    ),
    (
        "The mechanic told {p} that the {n} was running well again, although it was {a}.",
        "El mecánico le dijo a {p} que {n} volvía a funcionar bien, aunque era {a}.",
        MACHINES,
        [("old", "viejo"), ("so old", "tan viejo"), ("slow", "lento")],
    ),
    (
        "{p} asked me about the {n}, and I said that it was already {a}.",
        "{p} me preguntó por {n} y le dije que ya estaba {a}.",
        MACHINES,
        [("repaired", "reparado"), ("sold", "vendido")],
    ),
]
THEY_ARE: list[tuple[str, str, list[Thing], list[tuple[str, str]]]] = [
    (
        "{p} threw away the {n} because they were {a}.",
        "{p} tiró {n} porque estaban {a}.",
        BOUGHT,
        [("torn", "roto"), ("dirty", "sucio"), ("worn out", "gastado")],
    ),
    (
        "{p} did not buy the {n} because they were too {a}.",
        "{p} no compró {n} porque eran demasiado {a}.",
        BOUGHT,
        [("expensive", "caro"), ("old", "viejo")],
    ),
    (
        "{p} did not eat the {n} because they were not {a}.",
        "{p} no se comió {n} porque no estaban {a}.",
        GROWN,
        [("ripe", "maduro"), ("washed", "lavado"), ("fresh", "fresco")],
    ),
    (
        "{p} asked for the {n}, but they were already {a}.",
        "{p} preguntó por {n}, pero ya estaban {a}.",
        GROWN,
        [("sold", "vendido"), ("rotten", "podrido")],
    ),
]
HAND_IT: list[tuple[str, str, list[Thing]]] = [
    (
        "{p} bought {an} and put it in the kitchen.",
        "{p} compró {un} y {it} puso en la cocina.",
        GOODS,
    ),
    (
        "Where is the {n}? I left it on the table.",
        "¿Dónde está {n}? {It} dejé en la mesa.",
        SMALL,
    ),
    (
        "{p} found the {n} and gave it to {q}.",
        "{p} encontró {n} y se {it} dio a {q}.",
        SMALL,
    ),
    (
        "{p} broke the {n}, but {q} repaired it.",
        "{p} rompió {n}, pero {q} {it} arregló.",
        [*MACHINES, *GOODS[:9]],
    ),
    (
        "{p} has lost the {n} and is looking for it everywhere.",
        "{p} ha perdido {n} y {it} busca por todas partes.",
        SMALL,
    ),
    (
        "{p} took the {n} and hid it under the bed.",
        "{p} cogió {n} y {it} escondió debajo de la cama.",
        SMALL,
    ),
    (
        "This is my new {n}. Do you like it? It was given to me by {p}.",
        "{This} es mi {new} {bare}. ¿Te gusta? Me {it} regaló {p}.",
        [*GOODS, *SMALL],
    ),
    (
        "{p} wrote the {n} and then burned it.",
        "{p} escribió {n} y después {it} quemó.",
        WORKS,
    ),
    (
        "{p} painted the {n} and sold it to {q}.",
        "{p} pintó {n} y se {it} vendió a {q}.",
        [*LARGE, *GOODS[:7]],
    ),
    (
        "If you don't need the {n}, give it to {p}.",
        "Si no necesitas {n}, dáse{it} a {p}.",
        [*SMALL, *GOODS],
    ),
]
HAND_THEM: list[tuple[str, str, list[Thing]]] = [
    (
        "{p} washed the {n} and put them on the table.",
        "{p} lavó {n} y {it} puso en la mesa.",
        GROWN,
    ),
    (
        "Where are the {n}? I left them in the car.",
        "¿Dónde están {n}? {It} dejé en el coche.",
        BOUGHT,
    ),
    (
        "{p} bought the {n} and gave them to {q}.",
        "{p} compró {n} y se {it} dio a {q}.",
        [*BOUGHT, *GROWN],
    ),
    (
        "{p} has lost the {n} and cannot find them.",
        "{p} ha perdido {n} y no {it} encuentra.",
        BOUGHT,
    ),
]


def said_people(rng: random.Random) -> Person:
    return rng.choice(KIN)


def other(person: Person, rng: random.Random) -> Person:
    """Another person, mostly of the other sex, so that the sex of the person tells
    nothing of the thing."""
    return rng.choice(
        [
            one
            for one in KIN
            if one != person and (one.woman != person.woman or rng.random() < 0.3)
        ]
    )


def pronouns_of_things(rng: random.Random) -> Iterator[Pair]:
    """It and they with an adjective that agrees; it and them as objects."""
    for en, es, nouns, adjectives in [*IT_IS, *THEY_ARE]:
        for thing in nouns:
            for said, agrees in [
                *rng.sample(adjectives, min(2, len(adjectives))),
                *rng.sample(adjectives, 1),
            ]:
                person = said_people(rng)
                words = agrees.split(" ")
                at = next(
                    i
                    for i, word in enumerate(words)
                    if word not in ("demasiado", "tan", "muy")
                )
                words[at] = agreeing(words[at], thing.feminine, thing.many)
                yield linked(
                    en.format(p=person.en, n=thing.en, a=said),
                    es.format(p=person.es, n=the(thing), a=" ".join(words)),
                    thing,
                )
    for en, es, nouns in [*HAND_IT, *HAND_THEM]:
        for thing in nouns:
            person = said_people(rng)
            given = other(person, rng)
            yield linked(
                en.format(p=person.en, q=given.en, n=thing.en, an=article(thing.en)),
                es.format(
                    p=person.es,
                    q=given.es,
                    n=the(thing),
                    un=a(thing),
                    it=it(thing),
                    It=it(thing).capitalize(),
                    This=("este", "esta")[thing.feminine],
                    new=("nuevo", "nueva")[thing.feminine],
                    bare=thing.es,
                ),
                thing,
            )


# Two things, of which only the last word says which it is. {m}, {n}: the first and the
# second, each with what can be said of it alone

BEASTS = things("""dog=perro m, cow=vaca f, horse=caballo m, goat=cabra f, donkey=burro m, sheep=oveja f,
    mouse=ratón m, hen=gallina f, rabbit=conejo m, fox=zorro m, mule=mula f, bear=oso m, duck=pato m,
    turtle=tortuga f""")
RIVALS: list[
    tuple[
        str,
        str,
        list[Thing],
        list[tuple[str, str]],
        list[Thing],
        list[tuple[str, str]],
    ]
] = [
    (
        "The {m} did not go into the {n} because it was {a}.",
        "{m} no entró en {n} porque estaba {a}.",
        BEASTS,
        [("frightened", "asustado"), ("ill", "enfermo"), ("wounded", "herido")],
        things("""cave=cueva f, barn=granero m, tunnel=túnel m, cellar=sótano m, stable=establo m, kitchen=cocina f,
    cage=jaula f, yard=patio m"""),
        [
            ("dark", "oscuro"),
            ("flooded", "inundado"),
            ("full of smoke", "lleno de humo"),
        ],
    ),
    (
        "The {m} could not pull the {n} because it was too {a}.",
        "{m} no pudo tirar de {n} porque era demasiado {a}.",
        things(
            "horse=caballo m, mule=mula f, donkey=burro m, cow=vaca f, tractor=tractor m, mare=yegua f"
        ),
        [("old", "viejo"), ("slow", "lento")],
        things("""cart=carro m, coach=diligencia f, plough=arado m, sledge=trineo m, trailer=remolque m, boat=barca f,
    log=tronco m, stone=piedra f"""),
        [("heavy", "pesado"), ("wide", "ancho")],
    ),
    (
        "The {m} did not fit into the {n} because it was too {a}.",
        "{m} no cabía en {n} porque era demasiado {a}.",
        things("""piano=piano m, wardrobe=armario m, table=mesa f, sofa=sofá m, bed=cama f, mattress=colchón m,
    statue=estatua f, ladder=escalera f, picture=cuadro m"""),
        [("long", "largo"), ("high", "alto"), ("wide", "ancho")],
        things("""lift=ascensor m, van=furgoneta f, hall=vestíbulo m, garage=garaje m, room=habitación f, hut=cabaña f,
    lorry=camión m"""),
        [("small", "pequeño"), ("narrow", "estrecho"), ("low", "bajo")],
    ),
    (
        "The {m} did not jump over the {n} because it was too {a}.",
        "{m} no saltó {n} porque era demasiado {a}.",
        BEASTS,
        [("old", "viejo"), ("lazy", "perezoso"), ("clumsy", "torpe")],
        things(
            "fence=valla f, wall=muro m, ditch=zanja f, stream=arroyo m, hedge=seto m, gate=verja f"
        ),
        [("high", "alto"), ("wide", "ancho"), ("dangerous", "peligroso")],
    ),
    (
        "The {m} did not want the {n} because it was {a}.",
        "{m} no quiso {n} porque estaba {a}.",
        BEASTS,
        [("ill", "enfermo"), ("frightened", "asustado"), ("tired", "cansado")],
        things("""meat=carne f, bread=pan m, cheese=queso m, fish=pescado m, hay=heno m, apple=manzana f,
    lettuce=lechuga f, grass=hierba f"""),
        [("rotten", "podrido"), ("frozen", "congelado"), ("burnt", "quemado")],
    ),
    (
        "The {m} slid off the {n} because it was {a}.",
        "{m} resbaló de {n} porque estaba {a}.",
        things("""plate=plato m, cup=taza f, knife=cuchillo m, spoon=cuchara f, book=libro m, ball=pelota f,
    bottle=botella f, box=caja f"""),
        [("wet", "mojado"), ("greasy", "engrasado")],
        things(
            "table=mesa f, shelf=estante m, roof=tejado m, board=tabla f, bench=banco m, tray=bandeja f"
        ),
        [("crooked", "torcido"), ("slanting", "inclinado")],
    ),
    (
        "The {m} did not climb up the {n}, since it was so {a}.",
        "{m} no subió por {n} porque era muy {a}.",
        BEASTS,
        [("clumsy", "torpe"), ("old", "viejo"), ("lazy", "perezoso")],
        things(
            "hill=colina f, mountain=montaña f, slope=ladera f, path=sendero m, tree=árbol m, stairs=escalera f"
        )[:5],
        [("steep", "empinado"), ("high", "alto")],
    ),
]


def rivals(rng: random.Random) -> Iterator[Pair]:
    """It, of two things that differ in gender; the same sentence with what can be said
    of the first, and of the second."""
    for en, es, firsts, of_first, seconds, of_second in RIVALS:
        for first in firsts:
            others = [one for one in seconds if one.feminine != first.feminine]
            for second in rng.sample(others, min(3, len(others))):
                for thing, said in ((first, of_first), (second, of_second)):
                    word, agrees = rng.choice(said)
                    head, *rest = agrees.split(" ")
                    agrees = " ".join((agreeing(head, thing.feminine), *rest))
                    yield linked(
                        en.format(m=first.en, n=second.en, a=word),
                        es.format(m=the(first), n=the(second), a=agrees),
                        thing,
                    )


# A possession between a person and it: whose it is, and what it is like

OWNED = [
    *MACHINES,
    *GOODS[:18],
    *things("""house=casa f, garden=jardín m, farm=granja f, flat=piso m, shop=tienda f,
    workshop=taller m, piano=piano m, violin=violín m"""),
]
LIVED_IN = ("house", "garden", "farm", "flat", "shop", "workshop")
ASKED: list[tuple[str, str, list[tuple[str, str]]]] = [
    (
        "{p} spoke with {q} about {h} old {n} and asked if it was {a}.",
        "{p} habló con {q} sobre su {old} {n} y le preguntó si era {a}.",
        [
            ("expensive", "caro"),
            ("heavy", "pesado"),
            ("cheap", "barato"),
            ("noisy", "ruidoso"),
        ],
    ),
    (
        "I asked {q} about {h} {n}, and {s} told me that it was already {a}.",
        "Le pregunté a {q} por su {n} y me dijo que ya estaba {a}.",
        [("sold", "vendido"), ("repaired", "reparado"), ("paid for", "pagado")],
    ),
    (
        "{p} went to see {q} to find out whether {h} {n} was still {a}.",
        "{p} fue a ver a {q} para averiguar si su {n} seguía {a}.",
        [("damaged", "dañado"), ("broken", "roto"), ("dirty", "sucio")],
    ),
    (
        "{q} showed us {h} new {n}; it was very {a}.",
        "{q} nos enseñó su {new} {n}; era muy {a}.",
        [("beautiful", "bonito"), ("expensive", "caro"), ("modern", "moderno")],
    ),
]


def owners_of_things(rng: random.Random) -> Iterator[Pair]:
    """A thing, its owner, whose sex an article or noun says in Spanish, and what it is
    like."""
    for en, es, adjectives in ASKED:
        for thing in OWNED:
            for woman in (False, True, False, True):
                owner = rng.choice([one for one in PEOPLE if one.woman == woman])
                person = other(owner, rng)
                large = thing.en in LIVED_IN
                said, agrees = rng.choice(
                    [
                        one
                        for one in adjectives
                        if (thing in MACHINES or one[0] != "noisy")
                        and not (large and one[0] == "heavy")
                    ]
                )
                if large and said in ("broken", "repaired"):
                    said, agrees = (
                        ("dirty", "sucio") if said == "broken" else ("sold", "vendido")
                    )
                yield linked(
                    en.format(
                        p=person.en,
                        q=owner.en,
                        h=("his", "her")[woman],
                        s=("he", "she")[woman],
                        n=thing.en,
                        a=said,
                    ),
                    es.format(
                        p=person.es,
                        q=owner.es,
                        n=thing.es,
                        a=agreeing(agrees, thing.feminine),
                        old=agreeing("viejo", thing.feminine),
                        new=agreeing("nuevo", thing.feminine),
                    ),
                    thing,
                )


# Possessives. Verbs of one and of many owners; {h}: his, her or their

LOST = [
    "umbrella=paraguas",
    "passport=pasaporte",
    "wallet=cartera",
    "phone=teléfono",
    "hat=sombrero",
    "bag=bolso",
    "ticket=billete",
    "suitcase=maleta",
    "camera=cámara",
    "dog=perro",
    "notebook=cuaderno",
]
SOLD = [
    "house=casa",
    "motorbike=moto",
    "piano=piano",
    "guitar=guitarra",
    "boat=barco",
    "farm=granja",
    "flat=piso",
    "land=terreno",
    "bicycle=bicicleta",
    "stamp collection=colección de sellos",
    "shop=tienda",
]
FAMILY = [
    "mother=madre",
    "father=padre",
    "grandmother=abuela",
    "brother=hermano",
    "sister=hermana",
    "uncle=tío",
    "daughter=hija",
    "son=hijo",
    "best friend=mejor amigo",
    "neighbour=vecino",
    "aunt=tía",
]
TOLD = [
    "work=trabajo",
    "childhood=infancia",
    "journey=viaje",
    "plans=planes",
    "studies=estudios",
    "new book=nuevo libro",
    "problems=problemas",
    "family=familia",
    "country=país",
    "garden=jardín",
    "first job=primer trabajo",
]
POSSESSED: list[tuple[str, str, str, list[str]]] = [
    ("{p} lost {h} {o}.", "perdió {su} {o}", "perdieron {su} {o}", LOST),
    (
        "{p} cannot find {h} {o}.",
        "no encuentra {su} {o}",
        "no encuentran {su} {o}",
        LOST[:9],
    ),
    (
        "{p} left {h} {o} on the train.",
        "olvidó {su} {o} en el tren",
        "olvidaron {su} {o} en el tren",
        LOST,
    ),
    (
        "{p} is looking for {h} {o}.|{p} are looking for {h} {o}.",
        "está buscando {su} {o}",
        "están buscando {su} {o}",
        LOST[:9],
    ),
    (
        "{p} sold {h} {o} last year.",
        "vendió {su} {o} el año pasado",
        "vendieron {su} {o} el año pasado",
        SOLD,
    ),
    (
        "{p} had to sell {h} {o}.",
        "tuvo que vender {su} {o}",
        "tuvieron que vender {su} {o}",
        SOLD,
    ),
    (
        "{p} lent me {h} {o}.",
        "me prestó {su} {o}",
        "me prestaron {su} {o}",
        [*LOST[:1], *LOST[5:9], *SOLD[1:5]],
    ),
    (
        "{p} wrote a long letter to {h} {o}.",
        "le escribió una larga carta a {su} {o}",
        "le escribieron una larga carta a {su} {o}",
        FAMILY,
    ),
    (
        "{p} came to the party with {h} {o}.",
        "vino a la fiesta con {su} {o}",
        "vinieron a la fiesta con {su} {o}",
        FAMILY,
    ),
    (
        "{p} lives with {h} {o}.|{p} live with {h} {o}.",
        "vive con {su} {o}",
        "viven con {su} {o}",
        FAMILY,
    ),
    (
        "{p} talked for an hour about {h} {o}.",
        "habló una hora de {su} {o}",
        "hablaron una hora de {su} {o}",
        [*TOLD, *FAMILY],
    ),
    (
        "{p} never speaks about {h} {o}.|{p} never speak about {h} {o}.",
        "nunca habla de {su} {o}",
        "nunca hablan de {su} {o}",
        TOLD,
    ),
    (
        "{p} is very fond of {h} {o}.|{p} are very fond of {h} {o}.",
        "quiere mucho a {su} {o}",
        "quieren mucho a {su} {o}",
        FAMILY,
    ),
    (
        "{p} waited for {h} {o} at the station.",
        "esperó a {su} {o} en la estación",
        "esperaron a {su} {o} en la estación",
        FAMILY,
    ),
]
MET: list[tuple[str, str, list[str]]] = [
    (
        "I was talking to {p} about {h} {o}.",
        "Estaba hablando con {p} sobre {su} {o}.",
        [*TOLD, *SOLD],
    ),
    ("I asked {p} about {h} {o}.", "Le pregunté a {p} por {su} {o}.", [*TOLD, *FAMILY]),
    ("We saw {p} in front of {h} house.", "Vimos a {p} delante de su casa.", [""]),
    (
        "I met {p} and {h} {o} in the street.",
        "Me encontré con {p} y con {su} {o} en la calle.",
        FAMILY,
    ),
    (
        "{p} phoned; {h} {o} is ill.",
        "Ha llamado {p}; {su} {o} está enfermo.",
        ["father=padre", "son=hijo", "brother=hermano"],
    ),
    ("{p} is here with {h} {o}.", "Aquí está {p} con {su} {o}.", [*FAMILY, *LOST[:6]]),
    (
        "Yesterday I visited {p} in {h} new {o}.",
        "Ayer visité a {p} en su {new} {o}.",
        ["flat=piso", "house=casa", "office=oficina", "workshop=taller"],
    ),
]


def possessives(rng: random.Random) -> Iterator[Pair]:
    """Su and sus with an owner of either sex, or of many."""
    for en, one, many, owned in POSSESSED:
        for pair in owned:
            thing, cosa = pair.split("=")
            su = (
                "sus"
                if cosa.endswith(("es", "as", "os")) and thing.endswith("s")
                else "su"
            )
            singular, _, plural = en.partition("|")
            for woman in (False, True, False, True):
                owner = rng.choice(
                    [person for person in PEOPLE if person.woman == woman]
                )
                yield written(
                    singular.format(p=owner.en, h=("his", "her")[woman], o=thing),
                    f"{owner.es} {one.format(su=su, o=cosa)}.",
                )
            en_many, es_many = rng.choice(GROUPS)
            yield written(
                (plural or singular).format(p=en_many, h="their", o=thing),
                f"{es_many} {many.format(su=su, o=cosa)}.",
            )
    for en, es, owned in MET:
        for pair in owned:
            thing, _, cosa = pair.partition("=")
            su = (
                "sus"
                if cosa.endswith(("es", "as", "os")) and thing.endswith("s")
                else "su"
            )
            for woman in (False, True, False, True):
                owner = rng.choice(
                    [person for person in PEOPLE if person.woman == woman]
                )
                yield written(
                    en.format(p=owner.en, h=("his", "her")[woman], o=thing),
                    es.format(
                        p=owner.es,
                        su=su,
                        o=cosa,
                        new="nueva" if cosa in ("casa", "oficina") else "nuevo",
                    ),
                )


# Who is meant by he and she: a noun that English leaves open, an adjective that Spanish
# makes agree

FEELS = [
    ("tired", "cansado"),
    ("ill", "enfermo"),
    ("worried", "preocupado"),
    ("busy", "ocupado"),
    ("nervous", "nervioso"),
    ("angry", "enfadado"),
    ("exhausted", "agotado"),
    ("bored", "aburrido"),
    ("surprised", "sorprendido"),
]
HE_SHE = [
    (
        "{p} went home early because {s} was {a}.",
        "{p} se fue temprano a casa porque estaba {a}.",
    ),
    (
        "{p} did not come to work because {s} was {a}.",
        "{p} no vino al trabajo porque estaba {a}.",
    ),
    ("{p} told us that {s} was {a}.", "{p} nos dijo que estaba {a}."),
    ("When {p} arrived, {s} was {a}.", "Cuando llegó {p}, estaba {a}."),
    ("{p} sat down because {s} was {a}.", "{p} se sentó porque estaba {a}."),
    ("{p} thinks that {s} is {a}.", "{p} cree que está {a}."),
    ("{p} was {a}, and {s} wanted to sleep.", "{p} estaba {a} y quería dormir."),
    (
        "{p} explained to {q} that {s} was too {a} to help.",
        "{p} le explicó a {q} que estaba demasiado {a} para ayudar.",
    ),
]
NOBODY = [
    ("{S} was {a} and could not come.", "Estaba {a} y no pudo venir."),
    ("{S} is {a} because of the exam.", "Está {a} por el examen."),
    (
        "{S} was so {a} that {s} forgot everything.",
        "Estaba tan {a} que se olvidó de todo.",
    ),
    ("{S} has been {a} since Monday.", "Está {a} desde el lunes."),
    ("{S} looked {a} when we saw {o}.", "Parecía {a} cuando {it} vimos."),
    ("{S} always arrives {a} in the evening.", "Siempre llega {a} por la noche."),
]


def sexes(rng: random.Random) -> Iterator[Pair]:
    """He and she, with nouns that Spanish makes agree with them."""
    for en, es in HE_SHE:
        for person in PEOPLE:
            for said, agrees in rng.sample(FEELS, 1 if person.said else 2):
                given = other(person, rng)
                yield written(
                    en.format(
                        p=person.en, q=given.en, s=("he", "she")[person.woman], a=said
                    ),
                    es.format(
                        p=person.es, q=given.es, a=agreeing(agrees, person.woman)
                    ),
                )
    for en, es in NOBODY:
        for said, agrees in FEELS:
            for woman in (False, True):
                yield written(
                    en.format(
                        S=("he", "she")[woman],
                        s=("he", "she")[woman],
                        o=("him", "her")[woman],
                        a=said,
                    ),
                    es.format(a=agreeing(agrees, woman), it=("lo", "la")[woman]),
                )


# Words of two senses. Each line: English | Spanish; {p}: somebody, {t}: a time, {d}: a
# place

SENSES = """
{p} fished from the bank of the river. | {p} pescaba desde la orilla del río.
{p} walked along the bank as far as the bridge. | {p} caminó por la orilla hasta el puente.
{p} tied the boat to a tree on the bank. | {p} ató la barca a un árbol de la orilla.
{p} swam to the other bank. | {p} nadó hasta la otra orilla.
The banks of the river were covered with reeds {t}. | Las orillas del río estaban cubiertas de juncos {t}.
{p} saw ducks on the bank of the stream. | {p} vio patos en la orilla del arroyo.
{p} opened an account at the bank. | {p} abrió una cuenta en el banco.
The bank refused {p} a loan. | El banco le negó un préstamo a {p}.
{p} works in a bank {d}. | {p} trabaja en un banco {d}.
{p} took the money to the bank {t}. | {p} llevó el dinero al banco {t}.
{p} has to pay back what the bank lent. | {p} tiene que devolver lo que prestó el banco.
{p} sat down on the bench {d}. | {p} se sentó en el banco {d}.
The bench {d} is made of wood. | El banco {d} es de madera.
{p} fell asleep on a bench in the park. | {p} se quedó dormid{o} en un banco del parque.
{p} painted the bench in the garden green. | {p} pintó de verde el banco del jardín.
The bank manager called {p} {t}. | El director del banco llamó a {p} {t}.
{p} is running after the dog. | {p} está corriendo detrás del perro.
{p} was running across the field. | {p} estaba corriendo por el campo.
{p} was running to catch the bus. | {p} corría para alcanzar el autobús.
{p} is running faster than the others. | {p} está corriendo más rápido que los demás.
{p} goes running {d} every morning. | {p} sale a correr {d} todas las mañanas.
The engine of the boat was running {t}. | El motor del barco estaba funcionando {t}.
{p} left the engine running. | {p} dejó el motor en marcha.
The pump has been running since {p} came. | La bomba lleva funcionando desde que llegó {p}.
The old fridge is still running well. | La vieja nevera todavía funciona bien.
{p} says that the washing machine is running. | {p} dice que la lavadora está funcionando.
{p} heard that the machine was running. | {p} oyó que la máquina estaba funcionando.
The program is running on the computer {d}. | El programa se está ejecutando en el ordenador {d}.
{p} is running a small hotel {d}. | {p} dirige un pequeño hotel {d}.
{p} has been running the school for years. | {p} dirige la escuela desde hace años.
{p} is running for president. | {p} se presenta a presidente.
The water is running down the wall. | El agua corre por la pared.
{p} let the water run {t}. | {p} dejó correr el agua {t}.
{p} plants tomatoes in spring. | {p} planta tomates en primavera.
In spring {p} goes to the mountains. | En primavera {p} va a la montaña.
{p} was born on a spring day. | {p} nació un día de primavera.
Spring came early {d}. | La primavera llegó pronto {d}.
{p} replaced the spring of the lock. | {p} cambió el muelle de la cerradura.
The springs of the mattress are broken. | Los muelles del colchón están rotos.
{p} found the spring that had jumped out of the clock. | {p} encontró el muelle que había saltado del reloj.
{p} drank water from the spring in the forest. | {p} bebió agua del manantial del bosque.
The village gets its water from a spring. | El pueblo recibe el agua de un manantial.
{p} turned on the light {d}. | {p} encendió la luz {d}.
The light of the lamp hurt {p}. | La luz de la lámpara le molestaba a {p}.
{p} read by the light of a candle. | {p} leía a la luz de una vela.
There was no light in the house {t}. | No había luz en la casa {t}.
{p} carried the light suitcase, not the heavy one. | {p} llevó la maleta ligera, no la pesada.
{p} bought a light jacket for the summer. | {p} compró una chaqueta ligera para el verano.
{p} prefers a light dinner {t}. | {p} prefiere una cena ligera {t}.
The basket was so light that {p} carried it alone. | La cesta era tan ligera que {p} la llevó sin ayuda.
{p} wore a light blue shirt. | {p} llevaba una camisa azul claro.
{p} saw a bat in the cave. | {p} vio un murciélago en la cueva.
Bats sleep in the tower of the church. | Los murciélagos duermen en la torre de la iglesia.
A bat flew out of the cellar {t}. | Un murciélago salió volando del sótano {t}.
{p} hit the ball with a wooden bat. | {p} golpeó la pelota con un bate de madera.
{p} forgot the baseball bat {d}. | {p} olvidó el bate de béisbol {d}.
{p} lit the candle with a match. | {p} encendió la vela con una cerilla.
There is only one match left in the box. | Solo queda una cerilla en la caja.
{p} struck a match in the dark. | {p} encendió una cerilla en la oscuridad.
{p} watched the tennis match {t}. | {p} vio el partido de tenis {t}.
Our team lost the match {t}. | Nuestro equipo perdió el partido {t}.
{p} scored two goals in the match. | {p} marcó dos goles en el partido.
{p} received a letter from the mayor. | {p} recibió una carta del alcalde.
{p} put a stamp on the letter. | {p} puso un sello en la carta.
{p} wrote the first letter of the word. | {p} escribió la primera letra de la palabra.
The Spanish alphabet has twenty-seven letters. | El alfabeto español tiene veintisiete letras.
{p} can read the small letters on the label. | {p} puede leer las letras pequeñas de la etiqueta.
{p} hit the nail with a hammer. | {p} golpeó el clavo con un martillo.
{p} hung the picture on a nail. | {p} colgó el cuadro de un clavo.
{pf} painted her nails red. | {pf} se pintó las uñas de rojo.
{pm} bites his nails in the exam. | {pm} se muerde las uñas en el examen.
{p} opened the door with the key. | {p} abrió la puerta con la llave.
{p} lost the key of the cellar. | {p} perdió la llave del sótano.
{p} pressed the wrong key on the keyboard. | {p} pulsó la tecla equivocada del teclado.
The piano has a key that makes no sound. | El piano tiene una tecla que no suena.
{p} drank a glass of cold water. | {p} bebió un vaso de agua fría.
{p} wears glasses for reading. | {p} lleva gafas para leer.
{p} sat on the glasses and broke them. | {p} se sentó sobre las gafas y las rompió.
{p} washed the glasses and the plates. | {p} lavó los vasos y los platos.
The table is made of glass. | La mesa es de cristal.
{p} wrote the names on a sheet of paper. | {p} escribió los nombres en una hoja de papel.
{p} put clean sheets on the bed. | {p} puso sábanas limpias en la cama.
The bark of the old oak is thick. | La corteza del viejo roble es gruesa.
The dog barks when {p} comes home. | El perro ladra cuando {p} llega a casa.
{p} bought toys at the fair {t}. | {p} compró juguetes en la feria {t}.
{p} thinks that the rule is not fair. | {p} cree que la norma no es justa.
{p} wore a tie for the wedding. | {p} llevaba corbata en la boda.
The match ended in a tie {t}. | El partido terminó en empate {t}.
{p} looked at the watch {t}. | {p} miró el reloj {t}.
{p} watches the birds from the window. | {p} observa los pájaros desde la ventana.
{p} took the train at the station. | {p} cogió el tren en la estación.
Summer is the season that {p} likes best. | El verano es la estación que más le gusta a {p}.
{p} drank a glass of red wine. | {p} bebió una copa de vino tinto.
The wine that {p} brought is very good. | El vino que trajo {p} es muy bueno.
{p} came home late {t}. | {p} vino tarde a casa {t}.
Nobody came to see {p} {t}. | Nadie vino a ver a {p} {t}.
{p} asked the waiter for the bill. | {p} le pidió la cuenta al camarero.
{p} paid the bill and left. | {p} pagó la cuenta y se fue.
The little girl plays with her doll. | La niña juega con su muñeca.
{pm} broke his wrist skiing. | {pm} se rompió la muñeca esquiando.
{pf} broke her wrist skiing. | {pf} se rompió la muñeca esquiando.
{p} forgot to water the plants. | {p} olvidó regar las plantas.
The office is on the third floor. | La oficina está en la tercera planta.
The leaves of the tree fall in autumn. | Las hojas del árbol caen en otoño.
{p} tore a sheet out of the notebook. | {p} arrancó una hoja del cuaderno.
The priest lit the candles in the church. | El cura encendió las velas en la iglesia.
There is no cure for this illness. | No hay cura para esta enfermedad.
The sails of the ship were white. | Las velas del barco eran blancas.
{p} waited an hour in the queue. | {p} esperó una hora en la cola.
The fox has a bushy tail. | El zorro tiene una cola tupida.
{p} put the letter in an envelope. | {p} metió la carta en un sobre.
The book {d} is about the war. | El libro {d} trata sobre la guerra.
{p} called the doctor {t}. | {p} llamó al médico {t}.
The flame of the candle went out. | La llama de la vela se apagó.
{p} swims {d} every day. | {p} nada {d} todos los días.
{p} knows nothing about it. | {p} no sabe nada de eso.
There is too much salt in {p}'s soup. | Hay demasiada sal en la sopa de {p}.
{p} wore a grey suit at the meeting. | {p} llevaba un traje gris en la reunión.
I brought a present for {p}. | Traje un regalo para {p}.
{p} plays hockey with friends on Saturdays. | {p} juega al hockey con amigos los sábados.
Does {p} still play hockey? | ¿Todavía juega al hockey {p}?
{p} used to play hockey as a child. | {p} jugaba al hockey de {child}.
{p} wants to play hockey in a team. | {p} quiere jugar al hockey en un equipo.
{p} learned to play hockey {d}. | {p} aprendió a jugar al hockey {d}.
{p} plays tennis twice a week. | {p} juega al tenis dos veces por semana.
How often does {p} play volleyball? | ¿Con qué frecuencia juega {p} al voleibol?
How often does {p} play chess? | ¿Con qué frecuencia juega {p} al ajedrez?
Where does {p} play basketball? | ¿Dónde juega {p} al baloncesto?
{p} never plays golf {t}. | {p} nunca juega al golf {t}.
{p} plays the violin in an orchestra. | {p} toca el violín en una orquesta.
{p} plays the trumpet {t}. | {p} toca la trompeta {t}.
How often does {p} play the flute? | ¿Con qué frecuencia toca {p} la flauta?
{p} played the leading role in the film. | {p} interpretó el papel principal en la película.
{p} plays the role of a detective. | {p} interpreta el papel de un detective.
Water plays an important role in {p}'s life. | El agua desempeña un papel importante en la vida de {p}.
{p} puts curlers in before going to bed. | {p} se pone rulos antes de acostarse.
{pf} took the curlers out of her hair. | {pf} se quitó los rulos del pelo.
My grandmother sleeps with curlers. | Mi abuela duerme con rulos.
The hairdresser put curlers in {p}'s hair. | La peluquera le puso rulos en el pelo a {p}.
{pf} opened the door with curlers in her hair. | {pf} abrió la puerta con rulos en el pelo.
I have to find out who told {p}. | Tengo que averiguar quién se lo dijo a {p}.
{p} wants to find out where the money is. | {p} quiere averiguar dónde está el dinero.
The police found out that {p} was not at home. | La policía averiguó que {p} no estaba en casa.
{p} never found out why the shop had closed. | {p} nunca averiguó por qué había cerrado la tienda.
{p} asked everybody in order to find out the truth. | {p} preguntó a todo el mundo para averiguar la verdad.
{p} phoned to find out when the train leaves. | {p} llamó para averiguar cuándo sale el tren.
{p} looked into the cellar to find out if the heating was working. |\
 {p} miró en el sótano para averiguar si la calefacción funcionaba.
We will find out if the machine is still running. | Averiguaremos si la máquina sigue funcionando.
"""
TIMES_SAID = [
    ("yesterday", "ayer"),
    ("last night", "anoche"),
    ("this morning", "esta mañana"),
    ("on Sunday", "el domingo"),
    ("last week", "la semana pasada"),
    ("in the evening", "por la tarde"),
]
NOW_SAID = [
    ("in the evening", "por la noche"),
    ("on Sundays", "los domingos"),
    ("in summer", "en verano"),
]
PLACES_SAID = [
    ("in the village", "del pueblo"),
    ("in the park", "del parque"),
    ("in the square", "de la plaza"),
    ("in the garden", "del jardín"),
    ("in the harbour", "del puerto"),
]


def senses(rng: random.Random) -> Iterator[Pair]:
    """Words that the other words of their sentence decide."""
    for line in SENSES.strip().split("\n"):
        en, es = (side.strip() for side in line.split(" | "))
        slots = {*re.findall(r"\{(\w+)\}", en + es)}
        seen = set[Pair]()
        for _ in range(7 if slots else 1):
            person = said_people(rng)
            if "pf" in slots or " her " in en:
                person = rng.choice([one for one in KIN if one.woman])
            elif "pm" in slots or " his " in en:
                person = rng.choice([one for one in KIN if not one.woman])
            in_past = not re.search(r"\b(prefers|plays|prefiere|toca|juega)\b", en + es)
            time = rng.choice(TIMES_SAID if in_past else NOW_SAID)
            # a place of a noun says "del parque", one of a verb "en el parque"
            place = rng.choice(PLACES_SAID)
            where = place[1]
            if not re.search(r"(el banco|El banco|libro|ordenador|hotel) \{d\}", es):
                where = where.replace("del ", "en el ").replace("de la ", "en la ")
            names = {
                "p": person.en,
                "pf": person.en,
                "pm": person.en,
                "t": time[0],
                "d": place[0],
            }
            nombres = {
                "p": person.es,
                "pf": person.es,
                "pm": person.es,
                "t": time[1],
                "d": where,
                "o": "a" if person.woman else "o",
                "child": "pequeña" if person.woman else "pequeño",
            }
            pair = written(en.format(**names), es.format(**nombres))
            if pair not in seen:
                seen.add(pair)
                yield pair


# What two teachers' sentences need: a sport that is played, curlers, a possession that is
# spoken of, and she where only the ending says so

SPORTS = [
    ("hockey", "hockey"),
    ("ice hockey", "hockey sobre hielo"),
    ("handball", "balonmano"),
    ("rugby", "rugby"),
    ("volleyball", "voleibol"),
    ("badminton", "bádminton"),
    ("golf", "golf"),
    ("basketball", "baloncesto"),
]
INSTRUMENTS = [
    ("violin", "el violín"),
    ("flute", "la flauta"),
    ("drums", "la batería"),
    ("accordion", "el acordeón"),
    ("cello", "el violonchelo"),
]
NAMES = [
    *KIN,
    *(
        Person(name, name, woman)
        for name, woman in [
            ("Tom", False),
            ("Mary", True),
            ("John", False),
            ("Ana", True),
            ("Peter", False),
            ("Lucy", True),
        ]
    ),
]
# {p}: somebody; {s}: a sport; {t}: a time
PLAYED = """
How often does {p} play {s}? | ¿Con qué frecuencia juega {p} al {s}?
How often does {p} play {s} {t}? | ¿Con qué frecuencia juega {p} al {s} {t}?
How often do you play {s}? | ¿Con qué frecuencia juegas al {s}?
How often do they play {s}? | ¿Con qué frecuencia juegan al {s}?
How often do your friends play {s}? | ¿Con qué frecuencia juegan al {s} tus amigos?
How many times a week does {p} play {s}? | ¿Cuántas veces a la semana juega {p} al {s}?
How well does {p} play {s}? | ¿Qué tal juega {p} al {s}?
How long has {p} been playing {s}? | ¿Cuánto tiempo lleva {p} jugando al {s}?
Does {p} play {s} {t}? | ¿Juega {p} al {s} {t}?
When does {p} play {s}? | ¿Cuándo juega {p} al {s}?
Where does {p} play {s} {t}? | ¿Dónde juega {p} al {s} {t}?
Who does {p} play {s} with? | ¿Con quién juega {p} al {s}?
Why does {p} not play {s} any more? | ¿Por qué ya no juega {p} al {s}?
Did {p} play {s} yesterday? | ¿Jugó {p} al {s} ayer?
{p} plays {s} {t}. | {p} juega al {s} {t}.
{p} does not play {s}. | {p} no juega al {s}.
{p} often plays {s} {t}. | {p} juega a menudo al {s} {t}.
{p} played {s} all afternoon. | {p} jugó al {s} toda la tarde.
{p} is playing {s} in the park. | {p} está jugando al {s} en el parque.
{p} cannot play {s} today. | {p} no puede jugar al {s} hoy.
{p} will play {s} tomorrow. | {p} jugará al {s} mañana.
{p} likes playing {s}. | A {p} le gusta jugar al {s}.
I play {s} with {p} {t}. | Juego al {s} con {p} {t}.
We play {s} {t}, and {p} watches us. | Jugamos al {s} {t} y {p} nos mira.
They never play {s} {t}. | Nunca juegan al {s} {t}.
Do you want to play {s} with {p}? | ¿Quieres jugar al {s} con {p}?
"""
MUSIC = """
How often does {p} play the {i}? | ¿Con qué frecuencia toca {p} {e}?
How often do you play the {i}? | ¿Con qué frecuencia tocas {e}?
When does {p} play the {i}? | ¿Cuándo toca {p} {e}?
{p} plays the {i} {t}. | {p} toca {e} {t}.
Does {p} play the {i}? | ¿Toca {p} {e}?
"""
PLAY_TIMES = [
    ("on Saturdays", "los sábados"),
    ("in summer", "en verano"),
    ("in winter", "en invierno"),
    ("after school", "después de clase"),
    ("at the weekend", "el fin de semana"),
]
# {p}: a woman; {c}, {k}: what she has in her hair
HAIR = """
{p} put {c} in her hair. | {p} se puso {k} en el pelo.
{p} always wears {c} in her hair. | {p} siempre lleva {k} en el pelo.
{p} came to the door with {c} in her hair. | {p} salió a la puerta con {k} en el pelo.
Why does {p} have {c} in her hair? | ¿Por qué tiene {p} {k} en el pelo?
{p} does not like to have {c} in her hair. | A {p} no le gusta tener {k} en el pelo.
{p} still had {c} in her hair when we came. | {p} todavía tenía {k} en el pelo cuando llegamos.
{p} bought new {c} for her hair. | {p} compró {k} para el pelo.
{p} has {c} in her hair. | {p} tiene {k} en el pelo.
{p} is looking for {c}. | {p} está buscando {k}.
{p} lent me {c} for the party. | {p} me prestó {k} para la fiesta.
{p} keeps {c} in a box. | {p} guarda {k} en una caja.
There were {c} all over {p}'s hair. | Había {k} por todo el pelo de {p}.
We gave {p} {c}. | Le regalamos {k} a {p}.
With {c} in her hair, {p} opened the window. | Con {k} en el pelo, {p} abrió la ventana.
{p} slept all night with {c} in her hair. | {p} durmió toda la noche con {k} en el pelo.
"""
IN_HAIR = [
    ("curlers", "rulos"),
    ("big curlers", "rulos grandes"),
    ("pink curlers", "rulos de color rosa"),
    ("hair curlers", "rulos"),
    ("curlers", "rulos"),
    ("flowers", "flores"),
    ("hairpins", "horquillas"),
    ("ribbons", "cintas"),
]
# things that work: English, Spanish
RUNS = [
    *MACHINES,
    *things("""taxi=taxi m, truck=camión m, coach=autocar m, scooter=patinete m, bicycle=bicicleta f, engine=motor m,
    computer=ordenador m, radio=radio f, television=televisor m, phone=teléfono m, caravan=caravana f,
    jeep=todoterreno m, lift=ascensor m, piano=piano m, watch=reloj m"""),
]
SPOKEN = [
    (
        "I was talking to {q} about {h} {o} {n} to find out if it was {a}.",
        "Estaba hablando con {q} sobre su {v} {n} para averiguar si {w}.",
    ),
    (
        "I was speaking with {q} about {h} {o} {n} to see whether it was {a}.",
        "Estaba hablando con {q} de su {v} {n} para ver si {w}.",
    ),
    (
        "We talked to {q} about {h} {o} {n} because we wanted to know if it was {a}.",
        "Hablamos con {q} sobre su {v} {n} porque queríamos saber si {w}.",
    ),
    (
        "{p} was talking to {q} about {h} {o} {n} to find out whether it was {a}.",
        "{p} estaba hablando con {q} sobre su {v} {n} para saber si {w}.",
    ),
    (
        "I phoned {q} about {h} {o} {n} to ask if it was {a}.",
        "Llamé a {q} por su {v} {n} para preguntarle si {w}.",
    ),
    (
        "They asked {q} about {h} {o} {n} to find out if it was {a}.",
        "Le preguntaron a {q} por su {v} {n} para saber si {w}.",
    ),
    (
        "I wrote to {q} about {h} {o} {n}, but it was no longer {a}.",
        "Le escribí a {q} sobre su {v} {n}, pero ya no {w}.",
    ),
]
OLD = [("old", "viejo"), ("old", "viejo"), ("new", "nuevo")]
WORKING = [
    ("still running well", "todavía funcionaba bien"),
    ("still working", "todavía funcionaba"),
    ("running", "funcionaba"),
    ("still running without problems", "todavía funcionaba sin problemas"),
    ("still for sale", "todavía estaba en venta"),
    ("working again", "volvía a funcionar"),
]
ONCE = [
    ("running well", "funcionaba bien"),
    ("working", "funcionaba"),
    ("for sale", "estaba en venta"),
]
BUT = [
    ("Está {a}, pero trabaja mucho.", "{S} is {e}, but {s} works a lot."),
    ("Está {a}, pero tiene que trabajar.", "{S} is {e}, but {s} has to work."),
    ("Está {a}, pero no triste.", "{S} is {e}, but not sad."),
    ("Está {a}, pero está bien.", "{S} is {e}, but {s} is well."),
    ("Está {a} y se va a la cama.", "{S} is {e} and is going to bed."),
    ("Estaba {a}, pero era feliz.", "{S} was {e}, but {s} was happy."),
    ("Está muy {a}, pero es amable.", "{S} is very {e}, but {s} is kind."),
    ("Está {a} porque trabaja demasiado.", "{S} is {e} because {s} works too much."),
    ("Hoy está {a}, pero es valiente.", "{S} is {e} today, but {s} is brave."),
    ("No está {a}, pero quiere dormir.", "{S} is not {e}, but {s} wants to sleep."),
    ("Ya no está {a}.", "{S} is no longer {e}."),
    ("Creo que está {a}.", "I think {s} is {e}."),
    ("Siempre está {a}, pero es inteligente.", "{S} is always {e}, but {s} is clever."),
    ("¿Está {a}?", "Is {s} {e}?"),
    ("¿Por qué está tan {a}?", "Why is {s} so {e}?"),
    ("Es {b}, pero está {a}.", "{S} is {f}, but {s} is {e}."),
]
KINDS_OF = [
    ("tall", "alto"),
    ("rich", "rico"),
    ("thin", "delgado"),
    ("shy", "tímido"),
    ("famous", "famoso"),
]


def filled(lines: str) -> Iterator[tuple[str, str]]:
    """Both sides of each line."""
    for line in lines.strip().split("\n"):
        en, es = line.split(" | ")
        yield en, es


def plays(rng: random.Random) -> Iterator[Pair]:
    """A sport is *jugar al*, an instrument *tocar*."""
    for en, es in filled(PLAYED):
        for said, dicho in [*SPORTS, *SPORTS[:1] * 12]:
            person = rng.choice(NAMES)
            time = rng.choice(PLAY_TIMES)
            yield written(
                en.format(p=person.en, s=said, t=time[0]),
                es.format(p=person.es, s=dicho, t=time[1]),
            )
    for en, es in filled(MUSIC):
        for said, dicho in [*INSTRUMENTS, *INSTRUMENTS]:
            person = rng.choice(NAMES)
            time = rng.choice(PLAY_TIMES)
            yield written(
                en.format(p=person.en, i=said, t=time[0]),
                es.format(p=person.es, e=dicho, t=time[1]),
            )


def in_hair(rng: random.Random) -> Iterator[Pair]:
    """Curlers are *rulos*."""
    women = [one for one in NAMES if one.woman]
    for en, es in filled(HAIR):
        for said, dicho in [*IN_HAIR, *IN_HAIR[:5], *IN_HAIR[:1]]:
            person = rng.choice(women)
            yield written(
                en.format(p=person.en, c=said), es.format(p=person.es, k=dicho)
            )


def spoken_of(rng: random.Random) -> Iterator[Pair]:
    """A possession that is spoken of with its owner: whose it is, and whether it
    works."""
    for en, es in SPOKEN:
        for thing in RUNS:
            for woman in (False, True, True, False):
                owner = rng.choice([one for one in PEOPLE if one.woman == woman])
                person = other(owner, rng)
                said, dicho = rng.choice(ONCE if "no longer" in en else WORKING)
                old, viejo = rng.choice(OLD)
                yield linked(
                    en.format(
                        p=person.en,
                        q=owner.en,
                        h=("his", "her")[woman],
                        o=old,
                        n=thing.en,
                        a=said,
                    ),
                    es.format(
                        p=person.es,
                        q=owner.es,
                        v=agreeing(viejo, thing.feminine),
                        n=thing.es,
                        w=dicho,
                    ),
                    thing,
                )


def endings(rng: random.Random) -> Iterator[Pair]:
    """He and she where only an adjective's ending says which."""
    for es, en in BUT:
        for said, dicho in FEELS:
            for woman in (False, True):
                kind, clase = rng.choice(KINDS_OF)
                yield written(
                    en.format(
                        S=("he", "she")[woman],
                        s=("he", "she")[woman],
                        e=said,
                        f=kind,
                    ),
                    es.format(a=agreeing(dicho, woman), b=agreeing(clase, woman)),
                )


# What is left out


def shown() -> list[str]:
    """The sentences that the page, lessons, tests and the bar show, in either
    language."""
    assets = HERE.parent / "assets"
    parts = HERE.parent / "xformer" / "parts"
    texts: set[str] = set()

    def gather(value: object) -> None:
        if isinstance(value, str):
            texts.add(value)
        for one in (
            value.values()
            if isinstance(value, dict)
            else value
            if isinstance(value, list)
            else ()
        ):
            gather(one)

    for path in [
        assets / "examples.json",
        parts / "sentences" / "minimal_pairs.json",
        assets / "demonstrations.json",
        *(assets / "lessons").glob("*.json"),
    ]:
        if path.is_file():
            gather(json.loads(path.read_text(encoding="utf-8")))
    for path in [
        parts / "lecture" / "lecture20.tsv",
        assets / "moments.txt",
        parts / "vocabulary" / "contexts.txt",
        assets / "alignments.tsv",
        assets / "alignments_es.tsv",
        HERE.parent / "tests" / "everyday.tsv",
    ]:
        for line in path.read_text(encoding="utf-8").splitlines():
            texts.update(re.split(r"[\t|]", line)[:2])
    return [text for text in sorted(texts) if 3 <= len(text.split()) <= 30]


def far(pairs: list[Pair]) -> list[Pair]:
    """Those that stand near no sentence that is shown, on either side, with the weights
    of words in all that ships."""
    from xformer.parts.learned.ask import Index, shipped

    near = set[int]()
    for side in (0, 1):
        index = Index(
            shipped()
            + "".join("\t".join((*pair, "pattern")) + "\n" for pair in pairs).encode(),
            side,
        )
        for text in shown():
            # what ships comes before
            cosines = index.similarities(text)[-len(pairs) :]
            near.update(np.flatnonzero(cosines > NEAR).tolist())
    return [pair for i, pair in enumerate(pairs) if i not in near]


def main() -> None:
    rng = random.Random(SEED)
    made: list[Pair] = []
    for family in (
        pronouns_of_things,
        rivals,
        owners_of_things,
        possessives,
        sexes,
        senses,
        plays,
        in_hair,
        spoken_of,
        endings,
    ):
        found = [*dict.fromkeys(family(rng))]
        print(f"{family.__name__}: {len(found):,}")
        made += found
    kept = far([*dict.fromkeys(made)])
    rng.shuffle(kept)
    OUT.write_bytes(
        lzma.compress(
            "".join(
                f"{en}\t{es}\t{' '.join(['pattern', *LINKS.get((en, es), '').split()])}\n"
                for en, es in kept
            ).encode()
        )
    )
    print(
        f"{OUT}: {len(kept):,} pairs; {len(made) - len(kept):,} stood near a sentence that is shown, or twice"
    )


if __name__ == "__main__":
    main()
