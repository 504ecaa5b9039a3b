"""The whole pass in one picture: its numbers are those of the pass, whatever the
model."""

import base64
import json
import math
import re
from contextlib import closing

import numpy as np
import pytest
import torch

from tests.pages import laid_out, shown
from xformer.parts.whole_pass import draw as figure
from xformer.parts.whole_pass import part
from xformer.pieces import BOS, EOS
from xformer.results import STACKS, EmbedSource, Follow, Force
from xformer.serve.translation import Service

GRAIN = 1 / 65_535


def packed(service, trace, how="mean", step=1):
    passed = {
        side: service.ask(Follow(trace.text, trace.tokens, side))
        for side in figure.SIDES
    }
    embedded = service.ask(EmbedSource(trace.text))
    forced = service.ask(Force(trace.text, trace.tokens))
    return figure.payload(trace, passed, embedded, forced, how, step)


def read(data, kind, *shape):
    return np.frombuffer(base64.b64decode(data), kind).reshape(shape)


def strip(column, rows):
    """The strips of a column as numbers."""
    return read(column["data"], np.int8, rows, column["cells"]) / 127 * column["reach"]


def means(states):
    return np.stack(
        [part.mean(axis=1) for part in np.array_split(states, 28, axis=1)], axis=1
    )


@pytest.fixture(scope="module", params=["pre", "post"])
def service(request, tiny_checkpoint, other_checkpoint):
    """A model of each order of normalisation; the second has three and one layers."""
    with closing(
        Service.open(
            {"pre": tiny_checkpoint, "post": other_checkpoint}[request.param], "cpu"
        )
    ) as running:
        yield running


@pytest.fixture(scope="module")
def trace(service):
    return service.trace("The cat sleeps.", "El gato duerme.")


def test_flows_are_the_attention_of_the_trace(service, trace):
    mean = packed(service, trace)
    strongest = packed(service, trace, "strongest")
    for stack in STACKS:
        maps = trace.of(stack).probabilities
        layers, _, queries, keys = maps.shape
        np.testing.assert_allclose(
            read(mean["attention"][stack], "<u2", layers, queries, keys) * GRAIN,
            maps.mean(axis=1),
            atol=GRAIN,
        )
        found = (
            read(strongest["attention"][stack], "<u2", layers, queries, keys) * GRAIN
        )
        for layer in range(layers):
            for query in range(queries):
                head = strongest["heads"][stack][layer][query] - 1
                assert maps[layer, :, query].max() == maps[layer, head, query].max()
                np.testing.assert_allclose(
                    found[layer, query], maps[layer, head, query], atol=GRAIN
                )
    assert mean["heads"] == dict.fromkeys(STACKS)


@torch.inference_mode()
def test_strips_are_the_states_of_the_model(service, trace):
    model = service.model
    strips = packed(service, trace)["strips"]
    source = torch.tensor([[*service.tokenizer.encode(trace.text), EOS]])
    given = torch.tensor([[BOS, *trace.tokens]])
    x = model.embedding(source)
    mask = torch.ones(1, 1, 1, source.shape[1], dtype=torch.bool)
    states = [x]
    for layer in model.encoder.layers:
        x = layer(x, mask)
        states.append(x)
    memory = model.encode(source)[0]
    assert len(strips["encoder"]) == len(states) == service.info.n_layers + 1
    for column, state in [
        *zip(strips["encoder"], states, strict=True),
        (strips["memory"], memory),
    ]:
        wanted = np.clip(means(state[0].numpy()), -column["reach"], column["reach"])
        np.testing.assert_allclose(
            strip(column, source.shape[1]), wanted, atol=column["reach"] / 250
        )
    both = strip(strips["embedding"], source.shape[1]) + strip(
        strips["position"], source.shape[1]
    )
    inside = (
        np.abs(strip(strips["embedding"], source.shape[1]))
        < 0.99 * strips["embedding"]["reach"]
    ) & (
        np.abs(strip(strips["position"], source.shape[1]))
        < 0.99 * strips["position"]["reach"]
    )
    np.testing.assert_allclose(
        both[inside],
        means(states[0][0].numpy())[inside],
        atol=0.02 * np.abs(both).max(),
    )
    # What the decoder hands out gives the probabilities that stand beside it.
    output = torch.from_numpy(
        service.ask(Follow(trace.text, trace.tokens, "decoder")).output
    )
    logits = model(source, given)[0]
    torch.testing.assert_close(model.logits(output), logits, atol=1e-4, rtol=1e-4)
    wanted = np.clip(
        means(output.numpy()), -strips["output"]["reach"], strips["output"]["reach"]
    )
    np.testing.assert_allclose(
        strip(strips["output"], len(trace.target)),
        wanted,
        atol=strips["output"]["reach"] / 250,
    )
    assert len(strips["decoder"]) == service.info.n_decoder_layers + 1


@torch.inference_mode()
def test_each_step_has_the_likeliest_pieces_of_the_model(service, trace):
    steps = packed(service, trace)["steps"]
    source = [*service.tokenizer.encode(trace.text), EOS]
    given = [BOS, *trace.tokens]
    best = (
        service.model(torch.tensor([source]), torch.tensor([given]))[0]
        .softmax(dim=-1)
        .topk(5)
    )
    assert [one["p"] for one in steps] == pytest.approx(
        [math.exp(value) for value in trace.log_probs], abs=1e-5
    )
    for one, values in zip(steps, best.values.tolist(), strict=True):
        assert [p for _, p in one["likeliest"]] == pytest.approx(values, abs=1e-5)
        if one["rank"]:
            assert one["likeliest"][one["rank"] - 1] == [
                one["wanted"],
                pytest.approx(one["p"], abs=1e-5),
            ]
        else:
            assert one["p"] <= one["likeliest"][-1][1] + 1e-6
    assert steps[-1]["so_far"] == "El gato duerme." and steps[0]["so_far"] != ""


def test_sixty_pieces_are_small(running):
    trace = running.trace(
        " ".join(["The cat sleeps."] * 9), " ".join(["El gato duerme."] * 9)
    )
    rows = len(trace.source)
    columns = len(trace.target)
    assert rows > 60 < columns
    found = packed(running, trace)
    # two layers each
    cells = 2 * rows * rows + 2 * columns * columns + 2 * columns * rows
    numbers = 2 * cells + 28 * (5 * rows + 4 * columns)
    assert len(json.dumps(found)) < 4 / 3 * numbers + 400 * columns + 9_000
    assert packed(running, trace, step=999)["step"] == columns


@pytest.mark.parametrize("side", figure.SIDES)
def test_a_layer_opens_into_its_numbers(service, trace, side):
    passed = {
        one: service.ask(Follow(trace.text, trace.tokens, one)) for one in figure.SIDES
    }
    drawn = figure.block(trace, passed, f"{side}.1", 2)
    after = passed[side].of_layer(1)[-1].after[2]
    numbers = [
        float(one.replace("−", "-")) for one in re.findall("<li>([−\\d.]+)</li>", drawn)
    ]
    assert numbers == pytest.approx(after.tolist(), abs=0.0051)
    shares = [
        np.linalg.norm(one.added[2]) / np.linalg.norm(one.state[2])
        for one in passed[side].of_layer(1)
    ]
    assert all(f"{share:.3f}" in drawn for share in shares)
    for stack in figure.SIDES[side]:
        rows = trace.of(stack).probabilities[0, :, 2]
        head, seen = np.unravel_index(rows.argmax(), rows.shape)
        assert f"({rows.max():.2f}, layer 1, head {head + 1})" in drawn
        assert (
            figure.shown(trace.of(stack).seen[seen])
            .replace("<", "&lt;")
            .replace(">", "&gt;")
            in drawn
        )
        assert f"&quot;stack&quot;: &quot;{stack}&quot;" in drawn


def test_what_opens_elsewhere_is_an_address_that_the_page_reads(running):
    page = laid_out(running)
    opens = packed(running, running.trace("The cat.", "El gato."))["opens"]
    for address in opens.values():
        query = json.loads(address.replace("{step}", "2"))
        values, problems = page.controls.read(running, query)
        assert not problems and {*query} <= {*page.controls}
        assert {key: str(values[key]) for key in query} == query


def test_text_is_text(running):
    trace = running.trace("<img src=x>", "<b>")
    passed = {
        side: running.ask(Follow(trace.text, trace.tokens, side))
        for side in figure.SIDES
    }
    drawn = figure.block(trace, passed, "encoder.1", 0) + figure.block(
        trace, passed, "decoder.1", 1
    )
    assert not re.search("<(img|b)[ >]", drawn)


def test_the_part_is_drawn_once_a_pair_and_the_open_layer_follows(running):
    pair = ("The cat sleeps.", "El gato duerme.")
    pictures = laid_out(running).pictures[part.ID]
    made = {}
    trace = running.trace(*pair)
    held = {**pictures.controls.defaults(running), "trace": trace}
    first = shown(pictures, running, made=made, **held)
    assert first["picture"]["step"] == 1 and first["block"] == ""
    answer = shown(
        pictures,
        running,
        made=made,
        **{**held, "whole_step": 3, "whole_block": "encoder.2", "lock": "-en1"},
    )
    assert (
        "picture" not in answer
        and f"Encoder, layer 2 · {figure.shown(trace.source[1])}" in answer["block"]
    )
    answer = shown(
        pictures,
        running,
        made=made,
        **{**held, "whole_step": 3, "whole_block": "decoder.1"},
    )
    assert (
        "picture" not in answer
        and f"Decoder, layer 1 · {figure.shown(trace.target[2])}" in answer["block"]
    )
    assert (
        shown(pictures, running, made=made, **{**held, "whole_block": "encoder.9"})[
            "block"
        ]
        == ""
    )
    again = shown(
        pictures,
        running,
        made=made,
        **{**held, "trace": running.trace(*pair), "whole_step": 3},
    )
    # another pair begins at its first step
    assert again["whole_step"] == 1 and again["picture"]["step"] == 1


def test_a_recurrent_model_says_what_it_lacks(generation_checkpoints):
    with closing(
        Service.open(generation_checkpoints["gru-attention"], "cpu")
    ) as service:
        answer = shown(
            laid_out(service).pictures[part.ID],
            service,
            trace=service.trace("The cat.", "El gato."),
        )
    assert "recurrent model, without heads, layers" in answer["refusal"]
    assert answer["picture"] is None and answer["block"] == ""
