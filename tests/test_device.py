"""The device and the threads to compute with."""

from contextlib import closing

import pytest
import torch

from xformer import device
from xformer.results import UserError
from xformer.serve.translation import Service


def test_a_device_that_is_not_there_is_named(tiny_checkpoint):
    with pytest.raises(
        UserError,
        match="The device cuda:99 is not available on this machine; choose cuda, mps or cpu",
    ):
        Service.open(tiny_checkpoint, "cuda:99")
    with pytest.raises(UserError, match="The device toaster is not available"):
        Service.open(tiny_checkpoint, "toaster")


def test_a_model_answers_in_the_precision_asked_for(tiny_checkpoint, learned_pairs):
    for precision, wanted in (
        ("auto", "float32"),
        ("float32", "float32"),
        ("int8", "int8"),
    ):
        with closing(Service.open(tiny_checkpoint, "cpu", precision)) as service:
            assert service.info.precision == wanted
            assert service.model.quick.product.quantised == (precision == "int8")
            for english, spanish in learned_pairs:
                assert service.translate(english).best.text == spanish


def test_8_bits_are_refused_where_they_cannot_be_multiplied(tiny_model, monkeypatch):
    with pytest.raises(
        UserError, match="int8 needs an x86 processor, and the model runs on meta"
    ):
        device.prepare(tiny_model, "meta", "int8")
    monkeypatch.setattr(device.fast, "multiplies_8_bits", lambda: False)
    with pytest.raises(
        UserError, match="choose --device cpu there, or leave out --precision"
    ):
        device.prepare(tiny_model, "cpu", "int8")


@pytest.mark.parametrize("name", [None, "", "auto"])
def test_the_best_device_is_chosen_where_none_is_named(monkeypatch, name):
    for cuda, mps, best in (
        (True, True, "cuda"),
        (False, True, "mps"),
        (False, False, "cpu"),
    ):
        monkeypatch.setattr(torch.cuda, "is_available", lambda cuda=cuda: cuda)
        monkeypatch.setattr(torch.backends.mps, "is_available", lambda mps=mps: mps)
        assert str(device.choose_device(name)) == best


def test_few_sequences_are_computed_by_one_thread(monkeypatch):
    threads = torch.get_num_threads()
    monkeypatch.setattr(device, "THREADS", 2)
    try:
        for rows, wanted in ((1, 1), (device.FEW_ROWS, 1), (device.FEW_ROWS + 1, 2)):
            device.use_threads(rows)
            assert torch.get_num_threads() == wanted
    finally:
        torch.set_num_threads(threads)
