"""`xformer.view`: what models of others attend to, in our pictures, with the numbers
that their tensors hold."""

import json
import os
import subprocess
import sys
import time

import numpy as np
import pytest
import torch
import transformers

import xformer
from tests.harness import ROOT
from tests.offline import asks_for_nothing, data_of, maps_of
from xformer import viewing
from xformer.explain import export
from xformer.results import STACKS, UserError
from xformer.strings import SPANISH

# source pieces, and pieces that the decoder is given
S = 7
T = 5
SOURCE = ("▁I", "▁was", "▁wait", "ing", "▁for", "▁Tom", "</s>")
TARGET = ("<pad>", "▁Esper", "aba", "▁a", "▁Tom")
SMALL = {
    "vocab_size": 40,
    "pad_token_id": 0,
    "eos_token_id": 1,
    "decoder_start_token_id": 0,
}
BART = {
    **SMALL,
    "d_model": 16,
    "encoder_layers": 2,
    "decoder_layers": 3,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 16,
    "decoder_ffn_dim": 16,
    "max_position_embeddings": 32,
    "bos_token_id": 0,
    "forced_eos_token_id": None,
}
BERT = {
    "vocab_size": 40,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 16,
}
GPT2 = {
    "vocab_size": 40,
    "n_embd": 16,
    "n_layer": 2,
    "n_head": 4,
    "n_positions": 32,
    "bos_token_id": 0,
    "eos_token_id": 39,
    "pad_token_id": 0,
}
T5 = {**SMALL, "d_model": 16, "d_kv": 8, "d_ff": 16, "num_layers": 2, "num_heads": 2}
WHISPER = {
    **BART,
    "num_mel_bins": 4,
    "max_source_positions": S,
    "max_target_positions": 32,
    "suppress_tokens": [],
    "begin_suppress_tokens": [],
}


def model(kind, sizes, attention="eager"):
    torch.manual_seed(0)
    config = getattr(
        transformers,
        kind.replace("MT", "")
        .replace("ForConditionalGeneration", "")
        .replace("Model", "")
        .replace("LMHead", "")
        + "Config",
    )(**sizes)
    config._attn_implementation = attention
    return getattr(transformers, kind)(config).eval()


def ids(count, texts=1, seed=0):
    return torch.randint(
        2, 39, (texts, count), generator=torch.Generator().manual_seed(seed)
    )


@torch.no_grad()
def attend(kind, sizes, **inputs):
    return model(kind, sizes)(**inputs, output_attentions=True)


@pytest.fixture(scope="module")
def marian():
    return attend(
        "MarianMTModel", BART, input_ids=ids(S), decoder_input_ids=ids(T, seed=1)
    )


def holds(trace, **stacks):
    """Whether a trace, and the page that it writes, hold these tuples of layers, of the
    first text, and no others."""
    page = trace.page()
    for stack in STACKS:
        layers = stacks.get(stack, ())
        wanted = (
            np.stack([layer[0].float().numpy() for layer in layers])
            if layers
            else np.empty((0, 0, 0, 0))
        )
        np.testing.assert_array_equal(trace.of(stack).probabilities, wanted)
        np.testing.assert_array_equal(maps_of(page, stack), wanted)
    return True


@pytest.mark.parametrize(
    ("kind", "sizes"),
    [
        ("MarianMTModel", BART),
        ("BartModel", BART),
        ("T5ForConditionalGeneration", T5),
        ("WhisperForConditionalGeneration", WHISPER),
    ],
)
def test_an_encoder_and_decoder_hold_what_their_tensors_hold(kind, sizes):
    heard = (
        {"input_features": torch.randn(1, 4, 2 * S)}
        if "Whisper" in kind
        else {"input_ids": ids(S)}
    )
    output = attend(kind, sizes, **heard, decoder_input_ids=ids(T, seed=1))
    trace = xformer.view(output, SOURCE, TARGET)
    assert holds(
        trace,
        encoder_self=output.encoder_attentions,
        decoder_self=output.decoder_attentions,
        cross=output.cross_attentions,
    )
    assert (trace.source, trace.target, trace.predicted, trace.origin) == (
        SOURCE,
        TARGET,
        (),
        None,
    )
    assert data_of(trace.page())["start"] == {"stack": "cross", "layer": 0, "head": 0}


def test_an_encoder_alone_is_an_encoder_and_a_decoder_alone_a_decoder():
    output = attend("BertModel", BERT, input_ids=ids(S))
    trace = xformer.view(output, SOURCE)
    assert (
        holds(trace, encoder_self=output.attentions)
        and trace.source == SOURCE
        and not trace.target
    )
    output = attend("GPT2LMHeadModel", GPT2, input_ids=ids(S))
    for trace in (
        xformer.view(output, SOURCE),
        xformer.view(output.attentions, target=SOURCE),
    ):
        assert (
            holds(trace, decoder_self=output.attentions)
            and trace.target == SOURCE
            and not trace.source
        )
    assert data_of(trace.page())["start"]["stack"] == "decoder_self"


def test_every_form_of_the_same_arrays_is_read(marian):
    layers = marian.cross_attentions
    stacked = torch.stack(layers)
    for form in (
        layers,
        list(layers),
        stacked,
        stacked.numpy(),
        stacked[:, 0].numpy().astype(np.float64),
        {"cross": stacked},
        {"cross_attentions": layers},
        stacked.tolist(),
        stacked[:, 0].numpy(),
    ):
        trace = xformer.view(form, SOURCE, TARGET)
        assert holds(trace, cross=layers)
    half = xformer.view(stacked.to(torch.bfloat16), SOURCE, TARGET)
    np.testing.assert_allclose(half.cross, stacked[:, 0], atol=4e-3)


def test_without_pieces_positions_are_numbers(marian):
    trace = xformer.view(marian)
    assert trace.source == trace.target == () and trace.page()
    assert trace._repr_html_().startswith("<iframe")


def test_the_page_names_no_languages_and_asks_for_nothing(marian):
    trace = xformer.view(marian, SOURCE, TARGET, text="I was </script> waiting")
    texts = data_of(trace.page())["texts"]
    assert (texts["html_title"], texts["cross"]) == (
        "Attention maps",
        "Cross-attention",
    )
    assert data_of(trace.page(language=SPANISH))["texts"]["cross"] == "Atención cruzada"
    assert asks_for_nothing(trace.page()) and trace.page().count("<script") == 2
    assert data_of(trace.page())["text"] == "I was </script> waiting"


@pytest.mark.parametrize(
    ("kind", "sizes"), [("MarianMTModel", BART), ("T5ForConditionalGeneration", T5)]
)
def test_the_steps_of_generate_are_one_pass(kind, sizes):
    """They are what one pass over the result gives; its last piece was only
    predicted."""
    translator = model(kind, sizes)
    made = translator.generate(
        ids(S),
        max_new_tokens=4,
        min_new_tokens=4,
        num_beams=1,
        do_sample=False,
        output_attentions=True,
        return_dict_in_generate=True,
    )
    spelled = [f"▁{token}" for token in made.sequences[0].tolist()]
    trace = xformer.view(made, SOURCE, spelled)
    with torch.no_grad():
        once = translator(
            input_ids=ids(S),
            decoder_input_ids=made.sequences[:, :-1],
            output_attentions=True,
        )
    assert (trace.target, trace.predicted) == (tuple(spelled[:-1]), tuple(spelled[1:]))
    for stack, layers in (
        ("encoder_self", once.encoder_attentions),
        ("decoder_self", once.decoder_attentions),
        ("cross", once.cross_attentions),
    ):
        np.testing.assert_allclose(
            getattr(trace, stack), torch.cat(layers).numpy(), atol=1e-5
        )


def test_the_steps_of_a_decoder_alone_are_one_pass():
    writer = model("GPT2LMHeadModel", GPT2)
    made = writer.generate(
        ids(S),
        attention_mask=torch.ones(1, S),
        max_new_tokens=3,
        min_new_tokens=3,
        do_sample=False,
        output_attentions=True,
        return_dict_in_generate=True,
    )
    spelled = [f"Ġ{token}" for token in made.sequences[0].tolist()]
    trace = xformer.view(made, spelled)
    with torch.no_grad():
        once = writer(made.sequences[:, :-1], output_attentions=True)
    assert (trace.target, trace.predicted) == (
        tuple(spelled[:-1]),
        tuple(spelled[1:]),
    ) and not trace.source
    np.testing.assert_allclose(
        trace.decoder_self, torch.cat(once.attentions).numpy(), atol=1e-5
    )


@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_is_cut_on_the_side_that_is_named(side):
    """Of a batch of two texts, the second is shorter; its maps are those that it has
    alone."""
    short = ids(4, seed=2)
    for kind, sizes, stack in (
        ("BertModel", BERT, "encoder_self"),
        ("GPT2LMHeadModel", GPT2, "decoder_self"),
    ):
        filler = torch.zeros(1, S - 4, dtype=torch.long)
        second = torch.cat(
            [short, filler] if side == "right" else [filler, short], dim=1
        )
        mask = torch.cat([torch.ones(1, S), (second != 0).float()]).long()
        places = (mask.cumsum(-1) - 1).clamp(min=0)
        batch = attend(
            kind,
            sizes,
            input_ids=torch.cat([ids(S), second]),
            attention_mask=mask,
            position_ids=places,
        )
        alone = attend(kind, sizes, input_ids=short)
        trace = xformer.view(batch, SOURCE[:4], batch=1, padding=side)
        np.testing.assert_allclose(
            getattr(trace, stack), torch.cat(alone.attentions).numpy(), atol=1e-5
        )
        with pytest.raises(UserError, match="coder_self has 7 queries for 4 pieces"):
            xformer.view(batch, SOURCE[:4], batch=1)


def test_the_json_of_a_pass_comes_back(running, learned_pairs, tmp_path):
    trace = running.explain(learned_pairs[0][0])
    path = tmp_path / "maps.json"
    path.write_bytes(export.encode(trace, running.info, ".json"))
    for form in (path, str(path), json.loads(path.read_text(encoding="utf-8"))):
        back = xformer.view(form)
        assert (back.source, back.target, back.predicted) == (
            trace.source,
            trace.target,
            trace.predicted,
        )
        for stack in STACKS:
            np.testing.assert_array_equal(
                maps_of(back.page(), stack), trace.of(stack).probabilities
            )


def test_arrays_of_numpy_need_no_torch(tmp_path):
    code = """
import sys
import numpy as np
import xformer
maps = np.full((2, 3, 4, 4), 0.25)
xformer.view(maps, ["[CLS]", "play", "##ing", "[SEP]"]).page()
print("torch" in sys.modules, "transformers" in sys.modules, callable(xformer.view), xformer.view.__name__)"""
    ran = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.split() == ["False", "False", "True", "view"]


UNIFORM = np.full((2, 3, 4, 4), 0.25, np.float32)


def broken(value, row=slice(None)):
    maps = UNIFORM.copy()
    maps[1, 2, row, 0] = value
    return maps


@pytest.mark.parametrize(
    ("attentions", "options", "said"),
    [
        (
            broken(np.nan),
            {},
            "encoder_self, layer 2, head 3, has a number that is not finite",
        ),
        (broken(-0.25), {}, "encoder_self, layer 2, head 3, has a negative number"),
        (
            broken(0.28, 1),
            {},
            "encoder_self, layer 2, head 3, has a row that does not sum to 1: call model.eval()",
        ),
        (UNIFORM, {"tokens": list("abcde")}, "encoder_self has 4 queries for 5 pieces"),
        (
            UNIFORM,
            {"tokens": list("abc")},
            'encoder_self has 4 queries for 3 pieces; .* padding="right"',
        ),
        (
            UNIFORM,
            {"tokens": list("abc"), "padding": "right"},
            "does not sum to 1: call model.eval.*, and cut no key off",
        ),
        (UNIFORM, {"tokens": "abcd"}, "tokens must be pieces of text"),
        (UNIFORM, {"tokens": [4, 5, 6, 7]}, r"convert_ids_to_tokens\(ids\) gives them"),
        (UNIFORM[0, 0], {}, r"a layer has the shape \(4,\)"),
        (UNIFORM[None, None], {}, r"a layer has the shape \(1, 2, 3, 4, 4\)"),
        (
            UNIFORM[None],
            {"batch": 2},
            r"the shape \(2, 3, 4, 4\), and batch, from 0, is 2",
        ),
        (
            [UNIFORM[0], UNIFORM[1, :2]],
            {},
            "attentions cannot be read as layers of one shape",
        ),
        ([["a"]], {}, "could not convert string to float"),
        ([["a" * 100_000]], {}, "could not convert string to float: 'a{160,170}[.]$"),
        ({"cross": 3}, {}, "cross cannot be read as layers of one shape"),
        ({"cross": [[]]}, {}, "cross cannot be read as layers of one shape"),
        ({"cross": {"a": 1}}, {}, "cross cannot be read as layers of one shape"),
        ({"attentions": UNIFORM, "source": 3}, {}, "tokens must be pieces of text"),
        ({}, {}, 'There are no attentions in this output; .*"eager"'),
        (
            {"encoder_attentions": (None, None), "attentions": None},
            {},
            "output_attentions=True",
        ),
        (
            {"cross": np.broadcast_to(np.float32(0.001), (4, 10, 500, 1000))},
            {},
            "20,000,000 numbers",
        ),
    ],
)
def test_what_cannot_be_shown_is_refused_in_a_sentence(attentions, options, said):
    with pytest.raises(UserError, match=said) as error:
        xformer.view(attentions, **options)
    assert str(error.value).endswith(".") and "\n" not in str(error.value)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[1",
        b"\xff",
        b"[" * 1_000_000,
        b"1" * 5_000,
        "pipe",
        "device",
        "large",
        "folder",
        "nothing",
    ],
)
def test_a_file_of_no_attentions_is_refused_in_a_sentence(tmp_path, content):
    path = tmp_path / "a.json"
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content == "large":
        path.touch()
        os.truncate(path, viewing.MOST_BYTES + 1)
    else:
        {
            "pipe": lambda: os.mkfifo(path),
            "device": lambda: path.symlink_to("/dev/zero"),
            "folder": path.mkdir,
            "nothing": str,
        }[content]()
    with pytest.raises(
        UserError, match="a.json cannot be read as the JSON that"
    ) as error:
        xformer.view(path)
    assert (
        str(error.value).endswith(".")
        and "\n" not in str(error.value)
        and len(str(error.value)) < 500
    )


@torch.no_grad()
def test_fused_attention_and_beams_are_refused():
    translator = model("MarianMTModel", BART, "sdpa")
    with pytest.raises(UserError, match="attn_implementation"):
        xformer.view(translator(input_ids=ids(S), decoder_input_ids=ids(T)))
    made = model("MarianMTModel", BART).generate(
        ids(S),
        max_new_tokens=4,
        num_beams=2,
        output_attentions=True,
        return_dict_in_generate=True,
    )
    with pytest.raises(
        UserError, match="Each step of a beam search is of other hypotheses"
    ):
        xformer.view(made, SOURCE)


def test_96_heads_of_100_pieces_are_a_page_before_one_notices():
    maps = (
        np.random.default_rng(0)
        .dirichlet(np.ones(100), (12, 8, 100))
        .astype(np.float32)
    )
    pieces = [f"Ġw{i}" for i in range(100)]
    xformer.view(maps, pieces)  # what is loaded once is loaded
    took = []
    for _ in range(5):
        began = time.perf_counter()
        xformer.view(maps, pieces).page()
        took.append(time.perf_counter() - began)
    assert min(took) < 0.5
