"""Additive attention on the page: against its formula and the model's own numbers."""

import numpy as np
import pytest

from tests.pages import laid_out, shown
from xformer.explain import principles as walkthrough
from xformer.figures.labels import sentence as figures_sentence
from xformer.parts.additive import part
from xformer.results import UserError
from xformer.serve.pool import Models


def test_the_trained_additive_attention_is_drawn_whatever_model_is_on_the_page(
    generations, learned_pairs
):
    pictures = laid_out(generations).pictures["additive"]
    trace = generations.default.explain(learned_pairs[1][0])
    drawn = shown(
        pictures, generations, trace=trace, additive_open=True, additive_step=99
    )["additive"]
    with generations.lease("gru-attention") as model:
        wanted = model.trace(trace.text, figures_sentence(trace.predicted))
        info = model.info
    np.testing.assert_allclose(drawn["probabilities"], wanted.cross[0, 0], atol=1e-5)
    assert drawn["step"] == len(wanted.predicted) - 1, (
        "the last, as there is no step 99"
    )
    assert (
        drawn["keys"][-1] == "</s>"
        and info.identity in drawn["model"]
        and len(drawn["q"][0]) == info.d_model
    )
    hidden = np.tanh(np.array(drawn["q"])[:, None] + np.array(drawn["k"]))
    np.testing.assert_allclose(
        walkthrough.softmax(hidden @ np.array(drawn["w"])),
        wanted.cross[0, 0],
        atol=1e-4,
    )


def test_where_the_checkpoint_is_not_there_one_sentence_says_so(running, learned_pairs):
    pictures = laid_out(running).pictures["additive"]
    trace = running.explain(learned_pairs[1][0])
    with pytest.raises(
        UserError,
        match="is that of the checkpoint gru-attention, which this page does not have",
    ):
        part.walk_additive(Models(running), trace)
    assert (
        shown(pictures, Models(running), trace=trace, additive_open=True)["additive"]
        is None
    )
