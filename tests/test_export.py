"""What is written to a file is what the model computed, and it is whole or not
there."""

import json
import re
import shutil

import numpy as np
import pytest

from tests.offline import asks_for_nothing, data_of, maps_of
from xformer import offline_page
from xformer.__main__ import main
from xformer.explain import export
from xformer.results import STACKS, Head, UserError
from xformer.strings import ENGLISH, SPANISH


@pytest.fixture(scope="module")
def trace(running, learned_pairs):
    return running.explain(learned_pairs[0][0])


def explain(tiny_checkpoint, *argv):
    return main(["explain", "--checkpoint", str(tiny_checkpoint), *map(str, argv)])


def test_three_lines_of_python_give_every_map(trace, learned_pairs):
    assert (
        "".join(trace.predicted[:-1]).replace("▁", " ").strip() == learned_pairs[0][1]
    )
    assert trace.cross.shape == (2, 4, len(trace.predicted), len(trace.source))


def test_json_holds_arrays_tokens_and_the_identity(
    trace, running, tiny_checkpoint, learned_pairs, tmp_path
):
    assert (
        explain(tiny_checkpoint, learned_pairs[0][0], "--out", tmp_path / "maps.json")
        == 0
    )
    found = json.loads((tmp_path / "maps.json").read_text(encoding="utf-8"))
    assert found["checkpoint"] == {
        "name": "tiny-en-es",
        "identity": running.info.identity,
    }
    assert (found["source"], found["target"]) == (
        list(trace.source),
        list(trace.target),
    )
    for stack in STACKS:
        for name in (stack, f"{stack}_norms"):
            np.testing.assert_allclose(
                np.array(found[name], dtype=np.float32), getattr(trace, name), atol=1e-6
            )


def test_npz_holds_float32_arrays_of_layers_heads_query_key(
    trace, tiny_checkpoint, learned_pairs, tmp_path
):
    english, spanish = learned_pairs[0]
    assert (
        explain(
            tiny_checkpoint,
            english,
            "--target",
            spanish,
            "--out",
            tmp_path / "maps.npz",
        )
        == 0
    )
    with np.load(tmp_path / "maps.npz") as found:
        for stack in STACKS:
            assert found[stack].dtype == np.float32 and found[stack].ndim == 4
            np.testing.assert_allclose(found[stack].sum(axis=-1), 1, atol=1e-5)
        assert list(found["source"]) == list(trace.source)
        assert found["checkpoint"][0] == "tiny-en-es"


def test_html_asks_for_nothing_and_holds_markup_as_text(running):
    trace = running.explain("The cat </script><script>alert(1)</script>", "El gato")
    page = export.encode(trace, running.info, ".html")
    page = page.decode()
    assert asks_for_nothing(page)
    assert page.count("<script") == 2, "the data and the page's own script"
    np.testing.assert_array_equal(maps_of(page, "cross"), trace.cross)
    assert not [name for name in data_of(page) if name.endswith("_norms")], (
        "which the page does not draw"
    )


def test_a_page_speaks_its_language_and_opens_on_what_was_seen(trace, running):
    for language, said, model in (
        (ENGLISH, "Attention maps of one translation", "2 + 2 layers × 4 heads"),
        (SPANISH, "Mapas de atención de una traducción", "2 + 2 capas × 4 cabezas"),
    ):
        page = export.encode(
            trace, running.info, ".html", Head("decoder_self", 2, 3), language
        ).decode()
        data = data_of(page)
        assert (
            f'<html lang="{language.code}">' in page
            and data["texts"]["html_title"] == said
        )
        assert running.info.identity in data["model"] and model in data["model"]
        assert data["start"] == {"stack": "decoder_self", "layer": 1, "head": 2}
        used = set(re.findall(r"""(?:data-text="|say\('|[^.]texts\.)(\w+)""", page))
        assert used <= set(offline_page.TEXTS) == set(data["texts"])
    beyond = export.encode(trace, running.info, ".html", Head("cross", 6, 8)).decode()
    assert data_of(beyond)["start"] == {"stack": "cross", "layer": 1, "head": 3}, (
        "the last that this model has"
    )


def test_the_command_opens_its_page_on_the_best_aligned_head(
    tiny_checkpoint, learned_pairs, tmp_path
):
    folder = tmp_path / "measured"
    shutil.copytree(tiny_checkpoint, folder)
    (folder / "metrics.json").write_text(
        json.dumps({"alignment": {"best": {"layer": 1, "head": 2}}})
    )
    assert explain(folder, learned_pairs[0][0], "--out", tmp_path / "maps.html") == 0
    data = data_of((tmp_path / "maps.html").read_text(encoding="utf-8"))
    assert data["start"] == {"stack": "cross", "layer": 0, "head": 1}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("maps.txt", "of an unknown kind; end its name with one of .json"),
        ("no/such/maps.json", "There is no folder"),
    ],
)
def test_a_path_that_will_not_do_is_refused_first(
    tiny_checkpoint, tmp_path, capsys, name, said
):
    assert explain(tiny_checkpoint, "The cat sleeps.", "--out", tmp_path / name) == 2
    err = capsys.readouterr().err
    assert said in err and err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_bad_text_writes_nothing(tiny_checkpoint, tmp_path, capsys):
    assert explain(tiny_checkpoint, "", "--out", tmp_path / "maps.json") == 2
    assert "nothing to translate" in capsys.readouterr().err and not list(
        tmp_path.iterdir()
    )


def test_an_unknown_kind_is_named(trace, running):
    with pytest.raises(UserError, match="The kind of file .xml is unknown"):
        export.encode(trace, running.info, ".xml")
