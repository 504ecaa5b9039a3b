"""The pool of models: loaded once, given back, never lost under load; and which names
may be asked for."""

import gc
import json
import shutil
import subprocess
import sys
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import parse_qs

import gradio as gr
import pytest

from tests.fixtures import random_model
from tests.pages import laid_out, shown
from xformer.commands import app
from xformer.hub import checkpoint
from xformer.hub import repository as hub
from xformer.parts.translate import part as translation
from xformer.results import UserError
from xformer.search import Options
from xformer.serve import pool as models
from xformer.serve.limits import Guard
from xformer.serve.pool import Models, offered
from xformer.serve.translation import Service
from xformer.strings import ENGLISH, SPANISH
from xformer.ui import page
from xformer.ui.controls import LONGEST, in_steps
from xformer.ui.handlers import REFUSAL, Ask

PATIENCE = 60  # seconds; a test that hangs fails


@pytest.fixture(scope="module")
def copies(tiny_checkpoint, tmp_path_factory):
    """Four more folders with the model that knows eight sentences by heart, by name."""
    parent = tmp_path_factory.mktemp("copies")
    return {
        f"copy-{i}": shutil.copytree(tiny_checkpoint, parent / f"copy-{i}")
        for i in range(4)
    }


@pytest.fixture
def default(tiny_checkpoint):
    return Service.open(tiny_checkpoint, "cpu")


@pytest.fixture
def pool(default, copies, other_checkpoint):
    """Models as on a public page."""
    with closing(
        Models(default, {**copies, "other-shape": other_checkpoint}, "cpu")
    ) as running:
        yield running


@pytest.fixture
def open_pool(default):
    """Models of a page whose visitors may name any."""
    with closing(Models(default, {}, "cpu", any_name=True)) as running:
        yield running


@pytest.fixture
def opened(monkeypatch):
    """The names of the folders that are loaded, in order."""
    names = []
    real = Service.open

    def spy(folder, device=None, *more):
        names.append(Path(folder).name)
        return real(folder, device, *more)

    monkeypatch.setattr(Service, "open", spy)
    return names


def test_the_default_goes_by_no_name_and_by_its_own(pool, opened):
    for name in ("", "tiny-en-es", " tiny-en-es "):
        assert pool.known_as(name) == "" and pool.at_hand(name)
        with pool.lease(name) as service:
            assert service is pool.default
    assert not opened and pool.names[:2] == ["tiny-en-es", "copy-0"]


def test_a_model_is_loaded_when_it_is_first_asked_for_and_kept(pool, opened):
    assert not pool.at_hand("other-shape")
    for _ in range(3):
        with pool.lease("other-shape") as service:
            assert (service.info.norm, service.info.n_heads) == ("post", 6)
    assert opened == ["other-shape"] and pool.at_hand("other-shape")


def test_all_models_answer_in_the_precision_asked_for(tiny_checkpoint):
    default = Service.open(tiny_checkpoint, "cpu", "int8")
    with (
        closing(
            Models(default, {"again": tiny_checkpoint}, "cpu", precision="int8")
        ) as pool,
        pool.lease("again") as service,
    ):
        assert service is not pool.default and service.info.precision == "int8"


def test_who_asks_while_it_is_loaded_waits_and_nobody_else_does(
    pool, monkeypatch, learned_pairs
):
    began = threading.Event()
    go_on = threading.Event()
    real = Service.open
    calls = []

    def slow(folder, device=None, *more):
        calls.append(folder)
        began.set()
        assert go_on.wait(PATIENCE)
        return real(folder, device, *more)

    def use():
        with pool.lease("copy-0") as service:
            return service

    with pool.lease("copy-1"):
        pass
    monkeypatch.setattr(Service, "open", slow)
    with ThreadPoolExecutor(8) as threads:
        waiting = [threads.submit(use) for _ in range(8)]
        assert began.wait(PATIENCE)
        for name in ("", "copy-1"):  # others' models go on serving
            with pool.lease(name) as service:
                assert (
                    service.translate(learned_pairs[0][0]).best.text
                    == learned_pairs[0][1]
                )
        assert not pool.at_hand("copy-0") and not any(one.done() for one in waiting)
        go_on.set()
        assert len({id(one.result(PATIENCE)) for one in waiting}) == 1
    assert len(calls) == 1


@pytest.fixture
def held(monkeypatch):
    """Loading waits until this is set, and is counted in `held.began`."""
    real = Service.open
    go_on = threading.Event()
    go_on.began = threading.Semaphore(0)

    def slow(folder, device=None, *more):
        go_on.began.release()
        assert go_on.wait(PATIENCE)
        return real(folder, device, *more)

    monkeypatch.setattr(Service, "open", slow)
    yield go_on
    go_on.set()


def ready(pool, name):
    """Wait until a model is at hand."""
    for thread in threading.enumerate():
        if thread.name == f"load {name}":
            thread.join(PATIENCE)
    assert pool.at_hand(name)


def test_a_model_that_takes_long_keeps_nobody_and_can_be_had_later(
    pool, held, monkeypatch, learned_pairs
):
    pool.guard = Guard(seconds=0.05)
    with (
        pytest.raises(
            UserError,
            match="copy-0 is not ready after 0 seconds; it is still being fetched and loaded: "
            "ask for it again in a minute",
        ),
        pool.lease("copy-0"),
    ):
        pass
    assert held.began.acquire(timeout=PATIENCE) and not pool.guard.inside
    monkeypatch.setattr(models, "PATIENCE", 0.0)
    pool.guard = Guard(seconds=None)
    with pytest.raises(UserError, match="copy-0 is not ready"), pool.lease("copy-0"):
        pass  # at once: others do not wait as long as the first
    held.set()
    ready(pool, "copy-0")
    with pool.lease("copy-0") as service:
        assert service.translate(learned_pairs[0][0]).best.text == learned_pairs[0][1]
    assert not held.began.acquire(blocking=False), "it was loaded twice"


def test_who_hangs_up_while_a_model_is_loaded_is_not_waited_with(pool, held):
    pool.guard = Guard(asker=lambda: lambda: False)
    with (
        pytest.raises(
            UserError, match="The page or program that asked for this answer is gone"
        ),
        pool.lease("copy-0"),
    ):
        pass
    held.set()
    ready(pool, "copy-0")


def test_no_more_models_are_loaded_at_once_than_may(pool, held, monkeypatch):
    monkeypatch.setattr(models, "MOST_LOADING", 2)
    pool.guard = Guard(seconds=0.0)
    for name in ("copy-0", "copy-1"):
        with pytest.raises(UserError, match=f"{name} is not ready"), pool.lease(name):
            pass
    with (
        pytest.raises(
            UserError,
            match="2 models are being fetched and loaded already, the most allowed at once; ask "
            "for copy-2 again in a minute",
        ),
        pool.lease("copy-2"),
    ):
        pass
    with pool.lease() as service:
        assert service is pool.default
    held.set()
    ready(pool, "copy-0")
    ready(pool, "copy-1")
    pool.guard = Guard()
    with pool.lease("copy-0"), pool.lease("copy-2"):
        pass


def test_a_pool_that_is_closed_while_it_loads_closes_what_it_loaded(
    default, copies, held, monkeypatch
):
    closed = threading.Event()
    pool = Models(default, copies, "cpu")
    pool.guard = Guard(seconds=0.0)
    with pytest.raises(UserError), pool.lease("copy-0"):
        pass
    monkeypatch.setattr(
        Service,
        "close",
        lambda service: closed.set() if service is not default else None,
    )
    pool.close()
    assert not closed.is_set()
    held.set()
    assert closed.wait(PATIENCE)
    default.close()


@pytest.mark.slow
def test_the_one_used_longest_ago_is_given_back_and_none_that_is_in_use(
    pool, opened, copies
):
    alive = {}
    pool.most = 2 * checkpoint.memory(copies["copy-0"])

    def use(name):
        with pool.lease(name) as service:
            alive[name] = weakref.ref(service.model)

    with pool.lease("copy-0") as held:
        for name in ("copy-1", "copy-2", "copy-3"):
            use(name)
        # the thread that loaded a model may be about to let go of it
        until = time.monotonic() + PATIENCE
        while [name for name in alive if alive[name]() is not None] != ["copy-3"]:
            gc.collect()
            assert time.monotonic() < until
        assert held.translate("The cat sleeps.").best.text == "El gato duerme."
    use("copy-3")
    use("copy-1")
    gc.collect()
    assert not pool.at_hand("copy-0") and alive["copy-3"]() is not None
    with pool.lease() as service:
        assert service.translate("The cat sleeps.").best.text == "El gato duerme."
    assert opened == ["copy-0", "copy-1", "copy-2", "copy-3", "copy-1"]


def test_a_model_too_large_is_refused_before_it_is_loaded(pool, opened, copies):
    needs = checkpoint.memory(copies["copy-0"])
    assert (
        pool.needs("copy-0") == needs / 1e9
        and pool.needs("no/such") is None
        and pool.needs("nowhere") is None
    )
    pool.most = needs - 1
    with (
        pytest.raises(
            UserError, match=r"copy-0 needs about 0\.\d GB of memory.* --most-memory"
        ),
        pool.lease("copy-0"),
    ):
        pass
    assert opened == []


@pytest.mark.parametrize(
    ("file", "size", "said"),
    [
        (
            "model.safetensors",
            3_000_000_000,
            "someone/large needs about 9.0 GB of memory, and this page keeps at most 2",
        ),
        (
            "README.md",
            70_000_000,
            "README.md of someone/large has 70,000,000 bytes, and at most 67,108,864 are",
        ),
    ],
)
def test_a_model_that_announces_to_be_too_large_is_not_downloaded(
    open_pool, monkeypatch, file, size, said
):
    sizes = {**dict.fromkeys(checkpoint.ALL_FILES, 100), file: size}
    offer = SimpleNamespace(
        sha="a" * 40,
        siblings=[
            SimpleNamespace(rfilename=name, size=size, lfs=None, blob_id=None)
            for name, size in sizes.items()
        ],
    )
    fetched = []
    monkeypatch.setattr(
        hub, "HfApi", lambda token: SimpleNamespace(model_info=lambda *_, **__: offer)
    )
    monkeypatch.setattr(hub, "hf_hub_download", lambda *_, **__: fetched.append(1))
    monkeypatch.setattr(hub, "cached", lambda *_: None)
    with pytest.raises(UserError, match=said), open_pool.lease("someone/large"):
        pass
    assert not fetched


# In a process of its own: in this one other tests have told the allocator to keep what
# it has.
SWITCHES = """
import gc, os, sys
from pathlib import Path
from xformer.serve.pool import Models
from xformer.serve.translation import Service

pool = Models(Service.open(sys.argv[1], "cpu"), {path: Path(path) for path in sys.argv[2:]}, "cpu")
for times in (3, 10):
    for i in range(times):
        with pool.lease(sys.argv[2 + i % 3]) as service:
            service.translate("The cat sleeps.", max_length=3)
    gc.collect()
    print(int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE"))
pool.close()
"""


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_ten_switches_do_not_make_the_process_grow(
    tiny_checkpoint, tokenizer, tmp_path
):
    model = random_model("pre", tokenizer, d_model=192, n_layers=4, d_ff=768)
    size = 4 * model.parameter_count()
    names = {f"large-{i}": tmp_path / f"large-{i}" for i in range(3)}
    for folder in names.values():
        checkpoint.save(folder, model, tokenizer, {})

    ran = subprocess.run(
        [
            sys.executable,
            "-c",
            SWITCHES,
            str(tiny_checkpoint),
            *map(str, names.values()),
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    before, after = map(int, ran.stdout.split())
    assert after - before < 3 * size, "as if models were kept"


@pytest.mark.slow
def test_ten_switches_under_load_lose_no_request(pool, learned_pairs):
    """Through the page's own handlers: four visitors translate while a fifth goes from
    model to model."""
    ask = Ask(pool.lease, ENGLISH)
    switching = threading.Event()
    built = laid_out(pool)

    def visitor(name):
        answers = []
        while not (switching.is_set() and len(answers) >= 8):
            english, spanish = learned_pairs[len(answers) % 8]
            said = ask.answer(
                translation.run,
                name,
                sentence=english,
                former=None,
                beam=5,
                n_best=3,
                length_penalty=1.0,
                longest=64,
            )
            answers.append(
                said["problem"] == ""
                and said["translation"].best.text == spanish
                and said["trace"].text == english
            )
        return answers

    with ThreadPoolExecutor(4) as threads:
        visitors = [
            threads.submit(visitor, name)
            for name in ("", "copy-0", "copy-1", "other-shape")
        ]
        try:
            said = [
                choose(built, f"copy-{i % 4}", search="?tab=attention")
                for i in range(10)
            ]
        finally:
            switching.set()
        known, *others, unlearned = (one.result(PATIENCE) for one in visitors)
    assert all(json.loads(last["go"])["query"] for *_, last in said)
    assert all(known) and all(map(all, others)) and len(unlearned) >= 8


def test_a_failure_is_told_to_all_who_wait_and_tried_again(
    open_pool, tiny_checkpoint, tmp_path
):
    folder = tmp_path / "broken"
    for _ in range(2):
        with (
            pytest.raises(UserError, match="There is no checkpoint folder at"),
            open_pool.lease(str(folder)),
        ):
            pass
    shutil.copytree(tiny_checkpoint, folder)
    with open_pool.lease(str(folder)) as service:
        assert service.info.name == "broken"


def test_a_name_may_be_a_folder_or_on_the_hub(open_pool, other_checkpoint, monkeypatch):
    asked = []
    monkeypatch.setattr(
        hub, "find", lambda name, access: asked.append(name) or other_checkpoint
    )
    with open_pool.lease("me/en-es@v1") as service:
        assert service.info.n_heads == 6
    assert asked == ["me/en-es@v1"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("/", "The checkpoint / lacks config.json"),
        ("no-such-folder", "There is no checkpoint folder at no-such-folder"),
        ("a/b/c", "There is no checkpoint folder at a/b/c"),
        ("\0", "There is no checkpoint folder"),
        ("me/en es", "'me/en es' is no folder here, and no name on the Hub either"),
        ("x" * 300, "File name too long"),
        ("x" * 9000, "is no folder here, and no name on the Hub either"),
    ],
)
def test_a_model_that_cannot_be_had_gets_one_sentence(open_pool, name, said):
    with pytest.raises(UserError) as refused, open_pool.lease(name):
        pass
    assert (
        said in str(refused.value)
        and len(str(refused.value)) < 600
        and "\n" not in str(refused.value)
    )


def test_a_classifier_and_broken_weights_get_one_sentence(
    open_pool, tiny_classifier, tiny_checkpoint, tmp_path
):
    with pytest.raises(
        UserError, match="holds a text classifier, but a translation model is needed"
    ):
        open_pool.lease(str(tiny_classifier)).__enter__()
    broken = shutil.copytree(tiny_checkpoint, tmp_path / "broken")
    (broken / "model.safetensors").write_bytes(b"x" * 100)
    with pytest.raises(UserError, match="truncated or not in safetensors format"):
        open_pool.lease(str(broken)).__enter__()


def test_a_public_page_looks_at_no_folder_and_asks_no_hub(
    pool, tiny_classifier, monkeypatch
):
    def look(*_):
        raise AssertionError("something was looked at")

    monkeypatch.setattr(hub, "find", look)
    monkeypatch.setattr(checkpoint, "load", look)
    names = [
        str(tiny_classifier),
        str(tiny_classifier) + "-not",
        "owner/name",
        "/etc",
        "../",
        "~",
        "copy-9",
    ]
    said = set()
    for name in names:
        with pytest.raises(UserError) as refused, pool.lease(name):
            pass
        said.add(str(refused.value).replace(name, "NAME", 1))
        assert pool.at_hand(name), "a refusal is not waited for"
    assert said == {
        "NAME is none of the models of this page; choose one of tiny-en-es, "
        "copy-0, copy-1, copy-2, copy-3, other-shape."
    }


def test_a_public_page_does_not_say_where_its_broken_models_lie(
    default, tmp_path, caplog
):
    with (
        closing(Models(default, {"gone": tmp_path / "gone"}, "cpu")) as pool,
        pytest.raises(UserError) as refused,
        pool.lease("gone"),
    ):
        pass
    assert str(refused.value).startswith("The model gone cannot be loaded") and str(
        tmp_path
    ) not in str(refused.value)
    assert str(tmp_path) in caplog.text, "the operator is not told"


def test_the_menu_has_what_was_named_and_the_translators_beside_the_default(
    tmp_path, tiny_checkpoint, other_checkpoint, tiny_classifier
):
    beside = tmp_path / "checkpoints"
    for name, folder in (
        ("own", tiny_checkpoint),
        ("second", tiny_checkpoint),
        ("reviews", tiny_classifier),
    ):
        shutil.copytree(folder, beside / name)
    (beside / "empty").mkdir()
    found = offered(beside / "own", [str(other_checkpoint)], beside)
    assert found == {"other-shape": other_checkpoint, "second": beside / "second"}
    assert offered(tiny_checkpoint, [], tmp_path / "none") == {}
    again = offered(
        other_checkpoint,
        [str(shutil.copytree(tiny_checkpoint, tmp_path / "other-shape"))],
        beside,
    )
    assert list(again) == [str(tmp_path / "other-shape"), "own", "second"], (
        "two folders of one name are told apart"
    )
    with pytest.raises(UserError, match="a translation model is needed"):
        offered(beside / "own", [str(tiny_classifier)], beside)


@pytest.mark.parametrize(
    ("name", "share", "environment", "private"),
    [
        (None, None, {}, True),
        ("127.0.0.1", None, {}, True),
        ("::1", None, {}, True),
        ("localhost", False, {}, True),
        ("0.0.0.0", None, {}, False),
        ("192.168.0.2", None, {}, False),
        (None, True, {}, False),
        (None, None, {"GRADIO_SERVER_NAME": "0.0.0.0"}, False),
        (None, None, {"GRADIO_SHARE": "True"}, False),
        ("127.0.0.1", None, {"GRADIO_SERVER_NAME": "0.0.0.0"}, True),
    ],
)
def test_only_a_page_for_this_machine_alone_lets_visitors_name_models(
    name, share, environment, private, monkeypatch
):
    for key in ("GRADIO_SERVER_NAME", "GRADIO_SHARE"):
        monkeypatch.delenv(key, raising=False)
    for key, value in environment.items():
        monkeypatch.setenv(key, value)
    assert app.private(name, share) is private


def test_a_refusal_inside_a_handler_is_a_notice_and_changes_nothing(pool):
    with pytest.warns(UserWarning, match="&lt;b&gt; is none of the models"):
        assert [
            *Ask(pool.lease, ENGLISH, gr.Textbox())(
                translation.run,
                dict.fromkeys(
                    (
                        "sentence",
                        "former",
                        "beam",
                        "n_best",
                        "length_penalty",
                        "longest",
                    )
                ),
                {"shown": gr.HTML()},
            )["fn"]("<b>", "Hello.", None, 5, 3, 1.0, 64)
        ] == [gr.skip()]


def choose(built, chosen, name="", sentence="The cat sleeps.", search=""):
    """All that is answered where a model is chosen from the menu."""
    ask = Ask.always(built.models, ENGLISH)
    return [
        *ask.answers(
            page.choose,
            chosen=chosen,
            name=name,
            sentence=sentence,
            search=search,
            page=built,
        )
    ]


@pytest.fixture
def built(pool):
    return laid_out(pool)


def test_the_address_goes_to_the_other_model_but_for_what_it_lacks(built):
    search = "?tab=attention&layer=2&head=3&heads=2.1&compare=cross+2+4&first_head=2&__theme=dark&model=copy-1"
    first, last = choose(built, "other-shape", "copy-1", "A & b?", search)
    assert "other-shape is being fetched" in first["problem"] and first["go"] == ""
    assert json.loads(last["go"]) == {
        "name": "other-shape",
        "query": "tab=attention&head=3&first_head=2&__theme=dark&"
        "model=other-shape&text=A+%26+b%3F",
    }
    *_, back = choose(built, "tiny-en-es", "other-shape", search="?model=other-shape")
    assert json.loads(back["go"])["query"] == "text=The+cat+sleeps."


def test_nothing_happens_where_the_model_is_there_already_or_cannot_be_had(built):
    for there in ("tiny-en-es", None):
        assert choose(built, there) == [{"problem": "", "go": ""}]
    (said,) = choose(built, "<script>")
    assert (
        "&lt;script&gt; is none of the models" in said["problem"] and said["go"] == ""
    )
    (said,) = choose(built, "copy-0", sentence="x" * (LONGEST + 1))
    assert (
        "2,001 characters; at most 2,000 are taken along" in said["problem"]
        and said["go"] == ""
    )


def test_a_link_to_a_model_that_cannot_be_had_opens_the_default_and_says_only_that(
    pool,
):
    built = laid_out(pool, language=SPANISH)
    said, updates = page.open_at(
        built, {"model": "gone", "head": "6", "text": "Hi.", "tab": "model"}
    )
    assert "gone no es ninguno de los modelos" in said and said.count("<p>") == 1
    assert [
        updates[one]["value"] for one in (built.sentence, built.tab, built.model)
    ] == ["Hi.", "model", ""]


def test_a_refused_link_tells_nothing_of_this_machine(built, tiny_classifier):
    said = {
        page.open_at(built, {"model": name})[0].replace(name, "NAME", 1)
        for name in (str(tiny_classifier), f"{tiny_classifier}-not", "owner/name")
    }
    assert len(said) == 1 and "NAME is none of the models of this page" in said.pop()


@pytest.mark.parametrize("any_name", [False, True])
def test_only_where_any_model_may_be_named_the_menu_takes_what_is_typed(
    default, other_checkpoint, any_name
):
    with closing(
        Models(default, {"other-shape": other_checkpoint}, "cpu", any_name=any_name)
    ) as running:
        menu = laid_out(running).views["models"].component
        assert menu.allow_custom_value == any_name == (menu.info is not None)


def test_a_folder_that_is_typed_goes_into_the_address_and_the_menu(
    open_pool, other_checkpoint
):
    built = laid_out(open_pool)
    folder = str(other_checkpoint)
    *_, last = choose(built, f" {folder} ")
    assert parse_qs(json.loads(last["go"])["query"])["model"] == [folder]
    _, updates = page.open_at(built, {"model": folder})
    menu = updates[built.views["models"].component]
    assert menu["value"] == folder and menu["choices"] == ["tiny-en-es", folder]


@pytest.mark.parametrize(
    ("name", "lacks"),
    [
        ("other-shape", set()),
        *(
            (gru, {"positions.sentence", "principles", "whole", "bugs", "meanings"})
            for gru in ("gru", "gru-attention")
        ),
    ],
)
def test_another_model_draws_each_picture_of_each_tab_or_says_what_it_lacks(
    default, other_checkpoint, generation_checkpoints, name, lacks
):
    """What nobody foresaw is raised here, or said in the sentence that is looked
    for."""
    with (
        closing(
            Models(
                default,
                {"other-shape": other_checkpoint, **generation_checkpoints},
                "cpu",
            )
        ) as running,
        running.lease(name) as service,
    ):
        made = laid_out(running)
        translation, trace = service.translate_and_trace(
            "The cat sleeps.", Options(beam=2)
        )
        refused = set()
        failed = set()
        for part, drawn in made.pictures.items():
            if drawn.ask is not made.ask:
                continue  # of another model than the page's
            there = {one: component.value for one, component in drawn.inputs.items()}
            given = {
                **there,
                **dict.fromkeys(drawn.flags, True),
                "trace": trace,
                "translation": translation,
            }
            for late in (False, True):
                said = shown(drawn, service, late=late, **given).get(REFUSAL)
                if said == ENGLISH.say("error_recurrent", model=name):
                    refused.add(part)
                elif said is not None:
                    failed.add((part, said))
        assert refused == lacks
        assert not failed


def test_sizes_and_towers_are_those_of_the_other_model(built):
    _, updates = page.open_at(built, {"model": "other-shape"})
    assert updates[built.controls["d_model"].component]["value"] == 48
    towers = updates[built.views["model.architecture.towers"].component]
    assert [
        towers.count(f'data-stack="{stack}"') for stack in ("cross", "encoder_self")
    ] == [1, 3]


def test_choices_come_before_what_is_chosen(built):
    _, updates = page.open_at(
        built,
        {"model": "other-shape", "layer": "1", "d_model": "16", "dimensions": "0,15"},
    )
    choices, values = in_steps(updates)
    assert not [step for step in choices.values() if "value" in step]
    both = [
        (step["choices"], values[one])
        for one, step in choices.items()
        if "choices" in step
    ]
    assert len(both) > 6
    for offered_now, value in both:
        known = {one[1] if isinstance(one, tuple) else one for one in offered_now}
        assert known >= set(value if isinstance(value, list) else [value])
    assert [0, 15] in values.values() and "other-shape" in values.values()


def test_waiting_is_not_broken_by_what_loading_raises(pool, monkeypatch):
    monkeypatch.setattr(models.Service, "open", lambda *_: 1 / 0)
    with (
        pytest.raises(UserError, match="The model copy-2 cannot be loaded"),
        pool.lease("copy-2"),
    ):
        pass
    monkeypatch.undo()
    with pool.lease("copy-2") as service:
        assert service.info.name == "copy-2"
