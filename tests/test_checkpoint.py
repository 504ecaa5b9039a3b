"""A checkpoint comes back as it was saved; a broken one is refused in a sentence that
names the file and a way out."""

import hashlib
import json
import math
import os
import pickle
import resource
import shutil
from pathlib import Path

import pytest
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file

from xformer.__main__ import main
from xformer.classifier import (
    ClassifierConfig,
    LanguageModel,
    LanguageModelConfig,
    TransformerClassifier,
)
from xformer.hub import card, checkpoint, shipped
from xformer.model import Transformer
from xformer.results import UserError, write_whole
from xformer.search import Options
from xformer.translator import translate_ids

ALL_FILES = ["config.json", "metrics.json", "model.safetensors", "tokenizer.model"]
FIX = "; download or copy the whole checkpoint again."


@pytest.fixture
def folder(tiny_checkpoint, tmp_path):
    """A copy of the taught checkpoint, to be broken."""
    return shutil.copytree(tiny_checkpoint, tmp_path / "en-es")


def refusal(folder):
    with pytest.raises(UserError) as error:
        checkpoint.load(folder)
    text = str(error.value)
    assert text.endswith(".") and "\n" not in text
    return text


def reconfigure(folder, **change):
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))


def names(folder):
    return sorted(path.name for path in folder.iterdir())


# There and back


def test_a_checkpoint_comes_back_in_half_precision(tiny_model, tokenizer, tmp_path):
    """An IEEE half has 11 bits: each weight is off by at most 1/2048 of itself."""
    checkpoint.save(
        tmp_path / "new" / "tiny",
        tiny_model,
        tokenizer,
        {"bleu": 12.5, "name": "¡Olé!"},
    )
    again = checkpoint.load(str(tmp_path / "new" / "tiny"))
    assert (again.name, again.metrics) == ("tiny", {"bleu": 12.5, "name": "¡Olé!"})
    assert again.model.config == tiny_model.config
    assert again.tokenizer.model == tokenizer.model
    loaded_weights = dict(again.model.named_parameters())
    assert loaded_weights.keys() == dict(tiny_model.named_parameters()).keys()
    for name, saved in tiny_model.named_parameters():
        loaded = loaded_weights[name]
        assert loaded.dtype == torch.float32
        assert torch.equal(loaded, saved.half().float())
        torch.testing.assert_close(loaded, saved, rtol=1 / 2048, atol=1e-7)


def test_a_loaded_model_is_ready_to_be_asked(tiny_checkpoint):
    model = checkpoint.load(tiny_checkpoint).model
    assert not model.training and not any(p.requires_grad for p in model.parameters())


def test_half_precision_translates_the_same(tiny_checkpoint, learned_pairs):
    loaded = checkpoint.load(tiny_checkpoint)
    for english, spanish in learned_pairs:
        ((found,),) = translate_ids(
            loaded.model, [loaded.tokenizer.encode(english)], Options(beam=1)
        )
        assert loaded.tokenizer.decode(found.tokens) == spanish


def test_a_checkpoint_holds_no_other_files(folder):
    assert names(folder) == ALL_FILES
    with safe_open(folder / "model.safetensors", "pt") as file:
        assert file.metadata() == {"format": "pt"}
        assert {file.get_tensor(name).dtype for name in file.keys()} == {torch.float16}  # noqa: SIM118
    assert json.loads((folder / "config.json").read_text())["d_model"] == 32


def test_the_identity_is_that_of_the_weights(folder):
    before = checkpoint.load(folder).identity
    assert (
        before
        == hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()[:12]
    )
    (folder / "metrics.json").write_text("{}")
    assert checkpoint.load(folder).identity == before
    weights = load_file(folder / "model.safetensors")
    weights["embedding.weight"][0, 0] += 1
    save_file(weights, folder / "model.safetensors")
    assert checkpoint.load(folder).identity != before


def test_a_checkpoint_without_metrics_is_loaded(folder):
    (folder / "metrics.json").unlink()
    assert checkpoint.load(folder).metrics == {}


def test_settings_of_a_later_version_are_passed_over(folder):
    reconfigure(folder, invented_next_year=True)
    assert checkpoint.load(folder).model.config.d_model == 32


def test_the_name_is_that_of_the_folder(folder, monkeypatch):
    monkeypatch.chdir(folder)
    assert checkpoint.load(".").name == "en-es"


# Broken ones


def test_a_missing_folder_is_refused(tmp_path):
    text = refusal(tmp_path / "nowhere")
    assert text == (
        f"There is no checkpoint folder at {tmp_path / 'nowhere'}; check the path, or train one with "
        f"“python -m xformer train translation”."
    )


def test_a_file_is_no_folder(tiny_checkpoint):
    assert refusal(tiny_checkpoint / "config.json").startswith(
        "There is no checkpoint folder at "
    )


@pytest.mark.parametrize(
    "name", ["config.json", "model.safetensors", "tokenizer.model"]
)
def test_a_missing_file_is_named(folder, name):
    (folder / name).unlink()
    assert refusal(folder) == f"The checkpoint {folder} lacks {name}" + FIX


def test_all_missing_files_are_named(tmp_path):
    assert (
        refusal(tmp_path)
        == f"The checkpoint {tmp_path} lacks config.json, model.safetensors, tokenizer.model"
        + FIX
    )


class Trap:
    """A pickle that runs code when it is read."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (self.path, "w"))


@pytest.mark.parametrize(
    "name", ["pytorch_model.bin", "model.pt", "model.pth", "weights.pkl", "last.ckpt"]
)
def test_a_pickle_is_not_read(folder, name):
    (folder / "model.safetensors").unlink()
    (folder / name).write_bytes(pickle.dumps(Trap(str(folder / "ran"))))
    assert refusal(folder) == (
        f"The checkpoint {folder} offers {name}, which can run code when it is read; only model.safetensors is loaded: "
        f"convert the weights with the safetensors package."
    )
    assert not (folder / "ran").exists()


def test_a_pickle_under_another_name_is_not_read(folder):
    (folder / "model.safetensors").write_bytes(pickle.dumps(Trap(str(folder / "ran"))))
    assert "not in safetensors format" in refusal(folder)
    assert not (folder / "ran").exists()


def test_the_state_of_a_run_is_no_offer_of_weights(folder):
    (folder / "model.safetensors").rename(folder / "state.pt")
    assert refusal(folder) == f"The checkpoint {folder} lacks model.safetensors" + FIX


@pytest.mark.parametrize("share", [0, 0.01, 0.5, 0.999])
def test_truncated_weights_are_refused(folder, share):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    assert (
        refusal(folder)
        == f"The file {path} is truncated or not in safetensors format" + FIX
    )


@pytest.mark.parametrize(
    "content", [b"{", b"", b'{"d_model": \xff}', b"[1, 2", b"nonsense"]
)
@pytest.mark.parametrize("name", ["config.json", "metrics.json"])
def test_broken_json_is_refused(folder, name, content):
    (folder / name).write_bytes(content)
    assert refusal(folder) == f"The file {folder / name} is not readable as JSON" + FIX


@pytest.mark.parametrize("name", ["config.json", "metrics.json"])
@pytest.mark.parametrize("content", ["[]", "3", '"pre"', "null"])
def test_json_of_another_kind_is_refused(folder, name, content):
    (folder / name).write_text(content)
    assert (
        refusal(folder) == f"The file {folder / name} does not hold a JSON object" + FIX
    )


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"d_model": 0}, "d_model is 0; it must be a whole number of at least 1"),
        (
            {"n_heads": 5},
            "d_model is 32, which 5 heads cannot share equally; choose n_heads that divides d_model",
        ),
        ({"norm": "none"}, "norm is 'none'; choose one of pre, post"),
        (
            {"source": '"><b>'},
            """source is '"><b>'; it must be a language's code of two or three small letters, as en""",
        ),
        (
            {"vocab_size": "150"},
            "vocab_size is '150'; it must be a whole number of at least 1",
        ),
    ],
)
def test_a_configuration_of_no_model_is_refused(folder, change, text):
    reconfigure(folder, **change)
    assert (
        refusal(folder)
        == f"The file {folder / 'config.json'} describes no model: {text}."
    )


@pytest.mark.parametrize(
    "change", [{"dropout": "much"}, {"dropout": None}, {"position_base": []}]
)
def test_a_configuration_of_the_wrong_type_is_refused(folder, change):
    reconfigure(folder, **change)
    assert refusal(folder).startswith(
        f"The file {folder / 'config.json'} describes no model: "
    )


@pytest.mark.parametrize(
    "content", [b"", b"nonsense", None], ids=["empty", "nonsense", "truncated"]
)
def test_a_broken_vocabulary_is_refused(folder, content):
    path = folder / "tokenizer.model"
    path.write_bytes(path.read_bytes()[:-1000] if content is None else content)
    text = refusal(folder)
    assert text.startswith(f"The file {path} cannot be used: it") and text.endswith(FIX)


def test_a_vocabulary_of_another_size_is_refused(folder):
    reconfigure(folder, vocab_size=151)
    assert refusal(folder) == (
        f"The checkpoint {folder} does not fit together: config.json says 151 pieces, "
        f"tokenizer.model holds 150" + FIX
    )


@pytest.mark.parametrize(
    ("change", "name", "found", "wanted"),
    [
        ({"d_ff": 128}, "decoder.layers.0.feed_forward.inner.bias", "(64,)", "(128,)"),
        (
            {"n_decoder_layers": 3},
            "decoder.layers.2.cross_attention.in_proj.bias",
            "missing",
            "(96,)",
        ),
        (
            {"n_decoder_layers": 1},
            "decoder.layers.1.cross_attention.in_proj.bias",
            "(96,)",
            "nothing of that name",
        ),
        ({"norm": "post"}, "decoder.norm.bias", "(32,)", "nothing of that name"),
    ],
)
def test_weights_of_another_shape_are_refused(folder, change, name, found, wanted):
    reconfigure(folder, **change)
    assert refusal(folder) == (
        f"The weights in {folder / 'model.safetensors'} are of another shape than config.json "
        f"says: {name} is {found}, wanted {wanted}" + FIX
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"n_layers": 10**9}, "numbers, wanted more than"),
        ({"n_decoder_layers": 10**9}, "numbers, wanted more than"),
        ({"d_ff": 10**12}, "numbers, wanted more than"),
        ({"d_model": 10**9}, "numbers, wanted more than"),
        (
            {"max_length": 10**12},
            "max_length is 1000000000000; it must be at most 65536.",
        ),
    ],
)
def test_a_configuration_far_larger_than_its_weights_is_refused_before_it_is_made(
    folder, change, said
):
    reconfigure(folder, **change)
    assert said in refusal(folder)


@pytest.mark.parametrize("name", ["config.json", "metrics.json"])
@pytest.mark.parametrize("opening", ['{"a":', "["])
def test_json_of_a_hundred_thousand_brackets_is_refused(folder, name, opening):
    (folder / name).write_text(200_000 * opening)
    assert refusal(folder) == f"The file {folder / name} is not readable as JSON" + FIX


@pytest.mark.parametrize(
    "number", ["Infinity", "-Infinity", "NaN", "1e999", "1" + 400 * "0"]
)
@pytest.mark.parametrize(
    "content",
    ['{"alignment": {"best": {"layer": %s, "head": 1}}}', '{"scores": [{"bleu": %s}]}'],
)
def test_metrics_that_are_not_finite_are_refused(folder, number, content):
    (folder / "metrics.json").write_text(content % number)
    text = (
        f"The file {folder / 'metrics.json'} holds a number that is NaN or infinite; remove it, and measure "
        f"again with “python -m xformer evaluate … --save”."
    )
    assert refusal(folder) == text
    with pytest.raises(UserError) as error:
        checkpoint.examine(folder)
    assert str(error.value) == text


@pytest.mark.parametrize("number", ["Infinity", "NaN", "1e999"])
def test_positions_without_an_end_are_refused(folder, number):
    path = folder / "config.json"
    path.write_text(
        path.read_text().replace(
            '"position_base": 10000.0', f'"position_base": {number}'
        )
    )
    assert "describes no model: position_base is " in refusal(folder)


def retype(folder, old, new):
    """Say in the header of a file of weights that its numbers are of another type."""
    path = folder / "model.safetensors"
    content = path.read_bytes()
    end = 8 + int.from_bytes(content[:8], "little")
    header = content[8:end].replace(f'"{old}"'.encode(), f'"{new}"'.encode())
    path.write_bytes(len(header).to_bytes(8, "little") + header + content[end:])


@pytest.mark.parametrize("kind", ["I16", "U16", "BF16"])
def test_weights_of_another_type_are_refused(folder, kind):
    """Their bits would be read as other numbers, and every translation be empty."""
    retype(folder, "F16", kind)
    text = (
        f"The weights in {folder / 'model.safetensors'} are of a type that is not read: "
        f"decoder.layers.0.cross_attention.in_proj.bias is {kind}, wanted F16 or F32; convert them with the "
        f"safetensors package" + FIX.replace("; ", ", or ")
    )
    assert refusal(folder) == text
    with pytest.raises(UserError) as error:
        checkpoint.examine(folder)
    assert str(error.value) == text


@pytest.mark.parametrize("kind", [torch.float64, torch.bfloat16, torch.int64])
def test_true_weights_of_another_type_are_refused_too(folder, kind):
    path = folder / "model.safetensors"
    save_file({name: tensor.to(kind) for name, tensor in load_file(path).items()}, path)
    assert "of a type that is not read" in refusal(folder)


def test_weights_in_full_precision_are_read(folder):
    path = folder / "model.safetensors"
    full = {name: tensor.float() + 1e-5 for name, tensor in load_file(path).items()}
    save_file(full, path)
    assert torch.equal(
        checkpoint.load(folder).model.embedding.weight, full["embedding.weight"]
    )


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_weights_that_are_no_numbers_are_refused(folder, value):
    path = folder / "model.safetensors"
    weights = load_file(path)
    weights["encoder.norm.bias"][0] = value
    save_file(weights, path)
    assert (
        refusal(folder)
        == f"Some weights in {path} are not numbers: encoder.norm.bias holds NaN or infinity"
        + FIX
    )


@pytest.mark.parametrize("name", ["config.json", "metrics.json", "tokenizer.model"])
def test_a_file_far_larger_than_any_is_not_read(folder, name):
    os.truncate(folder / name, 200 << 30)
    assert (
        refusal(folder)
        == f"The file {folder / name} has 214,748,364,800 bytes; it must have at most 67,108,864: "
        + FIX.removeprefix("; ")
    )


@pytest.mark.parametrize("name", ["tokenizer.model", "target.model", "pieces.json"])
def test_no_file_of_a_vocabulary_is_read_that_is_large_or_a_device(folder, name):
    (folder / name).unlink(missing_ok=True)
    (folder / name).touch()
    os.truncate(folder / name, checkpoint.MOST_BYTES + 1)
    assert refusal(folder) == (
        f"The file {folder / name} has 67,108,865 bytes; it must have at most 67,108,864: "
        f"download or copy the whole checkpoint again."
    )
    (folder / name).unlink()
    (folder / name).symlink_to("/dev/zero")
    assert name in refusal(folder)


def test_a_list_of_pieces_of_a_hundred_thousand_brackets_is_refused(folder):
    (folder / "pieces.json").write_text("[" * 100_000)
    assert f"The file {folder / 'tokenizer.model'} cannot be used" in refusal(folder)


def test_a_card_without_an_end_is_not_read(folder):
    (folder / "README.md").symlink_to("/dev/zero")
    with pytest.raises(UserError, match=r"cannot be read \(it is no regular file\)"):
        card.read(folder / "README.md")


def test_weights_larger_than_the_memory_are_refused(folder):
    """A file of 200 GB, nearly all of it a hole, in a process that may use 12 GB more
    than it does."""
    path = folder / "model.safetensors"
    size = 200 << 30
    tensor = {"dtype": "F16", "shape": [size // 2], "data_offsets": [0, size]}
    header = json.dumps({"embedding.weight": tensor}).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header)
    os.truncate(path, 8 + len(header) + size)
    before = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (12 << 30), before[1]))
    try:
        text = refusal(folder)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
    assert text == (
        f"The weights in {path} ({8 + len(header) + size:,} bytes) need more memory than there is; use a "
        f"machine with more, or another checkpoint."
    )


@pytest.mark.slow
def test_the_identity_of_a_file_is_made_a_piece_at_a_time(tmp_path):
    """In 128 MB more than the process has, of a file of 512 MB."""
    path = tmp_path / "large"
    path.touch()
    os.truncate(path, 512 << 20)
    before = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (128 << 20), before[1]))
    try:
        assert len(checkpoint.digest(path)) == 64
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


# Kinds


SHAPE = {
    "vocab_size": 150,
    "d_model": 16,
    "n_heads": 2,
    "n_layers": 1,
    "d_ff": 32,
    "max_length": 16,
}


def test_a_classifier_comes_back_with_all_it_was(tokenizer, tmp_path):
    config = ClassifierConfig(
        **SHAPE,
        labels=("bad", "so so", "good"),
        pooling="mean",
        causal=True,
        temperature=1.7,
    )
    model = TransformerClassifier(config)
    checkpoint.save(tmp_path, model, tokenizer, {"accuracy": 0.9})
    again = checkpoint.load(tmp_path, TransformerClassifier)
    assert again.model.config == config and again.metrics == {"accuracy": 0.9}
    assert torch.equal(again.model.head.weight, model.head.weight.half().float())
    assert json.loads((tmp_path / "config.json").read_text())["kind"] == "classifier"


@pytest.mark.parametrize(
    ("wanted", "need", "train"),
    [
        (Transformer, "translation model", "translation"),
        (TransformerClassifier, "text classifier", "sentiment"),
    ],
)
def test_a_checkpoint_of_another_kind_is_refused(
    tokenizer, tmp_path, wanted, need, train
):
    checkpoint.save(
        tmp_path, LanguageModel(LanguageModelConfig(**SHAPE)), tokenizer, {}
    )
    with pytest.raises(UserError) as error:
        checkpoint.load(tmp_path, wanted)
    assert str(error.value) == (
        f"The checkpoint {tmp_path} holds a language model, but a {need} is needed; name "
        f"another folder, or train one with “python -m xformer train {train}”."
    )


@pytest.mark.parametrize("kind", ["poet", 3, ["translation"], None])
def test_an_unknown_kind_is_refused(folder, kind):
    reconfigure(folder, kind=kind)
    assert refusal(folder) == (
        f"The file {folder / 'config.json'} is of the unknown kind {kind!r}; it must be one of "
        f"translation, recurrent_translation, language_model, classifier."
    )


def test_a_missing_classifier_says_how_to_train_one(tmp_path):
    with pytest.raises(
        UserError, match="or train one with “python -m xformer train sentiment”.$"
    ):
        checkpoint.load(tmp_path / "nowhere", TransformerClassifier)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (
            {"labels": ["one"]},
            "labels are ['one']; they must be two or more different names",
        ),
        (
            {"labels": ["a", "a"]},
            "labels are ['a', 'a']; they must be two or more different names",
        ),
        ({"labels": "ab"}, "labels are 'ab'; they must be two or more different names"),
        ({"pooling": "sum"}, "pooling is 'sum'; choose one of attention, mean, max"),
        ({"causal": 1}, "causal is 1; it must be true or false"),
        ({"temperature": 0}, "temperature is 0; it must be a number greater than 0"),
        (
            {"temperature": "2"},
            "temperature is '2'; it must be a number greater than 0",
        ),
    ],
)
def test_a_wrong_classifier_is_refused(tiny_classifier, tmp_path, change, text):
    copy = shutil.copytree(tiny_classifier, tmp_path / "copy")
    reconfigure(copy, **change)
    with pytest.raises(UserError) as error:
        checkpoint.load(copy, TransformerClassifier)
    assert (
        str(error.value)
        == f"The file {copy / 'config.json'} describes no model: {text}."
    )


# Writing


def test_nothing_half_written_remains(folder, tokenizer):
    """Saving over a checkpoint replaces it, and leaves no other file."""
    torch.manual_seed(5)
    model = Transformer(checkpoint.load(folder).model.config)
    checkpoint.save(folder, model, tokenizer, {"step": 1})
    assert names(folder) == ALL_FILES
    again = checkpoint.load(folder)
    assert again.metrics == {"step": 1}
    assert torch.equal(
        again.model.embedding.weight, model.embedding.weight.half().float()
    )


def half_written(tensors, path, metadata=None):
    path.write_bytes(b"half")
    raise KeyboardInterrupt


def test_a_save_that_is_stopped_leaves_the_checkpoint_before(
    folder, tokenizer, monkeypatch
):
    before = checkpoint.load(folder)
    monkeypatch.setattr(checkpoint, "save_file", half_written)
    with pytest.raises(KeyboardInterrupt):
        checkpoint.save(
            folder, Transformer(before.model.config), tokenizer, {"step": 999}
        )
    after = checkpoint.load(folder)
    assert (after.identity, after.metrics) == (before.identity, before.metrics)


def test_a_file_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "metrics.json"
    write_whole(path, b"old")
    with monkeypatch.context() as patch, pytest.raises(OSError, match="disk full"):

        def full(self, content):
            with self.open("wb") as file:
                file.write(content[:1])
            raise OSError("disk full")

        patch.setattr(type(path), "write_bytes", full)
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    write_whole(path, b"new")
    assert path.read_bytes() == b"new" and names(tmp_path) == ["metrics.json"]


def test_the_average_of_two_runs_holds_the_mean_of_their_weights(
    folder, tmp_path, capsys
):
    other = tmp_path / "other"
    shutil.copytree(folder, other)
    doubled = {
        name: 2 * tensor
        for name, tensor in load_file(folder / "model.safetensors").items()
    }
    save_file(doubled, other / "model.safetensors", metadata={"format": "pt"})
    # trained on with another share dropped
    settings = json.loads((other / "config.json").read_text())
    (other / "config.json").write_text(json.dumps({**settings, "dropout": 0.25}))
    (other / "metrics.json").write_text('{"taught_heads": [[2, 6], [1, 3]]}')
    assert (
        main(
            [
                "checkpoint",
                "average",
                str(folder),
                str(other),
                "--shares",
                "3",
                "1",
                "--out",
                str(tmp_path / "mean"),
            ]
        )
        == 0
    )
    mean = load_file(tmp_path / "mean/model.safetensors")
    for name, tensor in load_file(folder / "model.safetensors").items():
        torch.testing.assert_close(
            mean[name].float(), 1.25 * tensor.float(), rtol=2e-3, atol=1e-4
        )
    metrics = checkpoint.read_metrics(tmp_path / "mean")
    assert [part["share"] for part in metrics["averaged"]] == [0.75, 0.25]
    assert metrics["taught_heads"] == [[1, 3], [2, 6]]
    capsys.readouterr()
    assert (
        main(
            [
                "checkpoint",
                "average",
                str(folder),
                str(other),
                "--out",
                str(tmp_path / "mean"),
            ]
        )
        == 2
    )
    assert "is not empty" in capsys.readouterr().err


@pytest.mark.parametrize("how", [["average", "FOLDER", "FOLDER"], ["extend", "FOLDER"]])
def test_of_a_checkpoint_that_the_disk_has_no_room_for_nothing_is_left(
    folder, tmp_path, capsys, monkeypatch, how
):
    def full(*_, **__):
        raise SafetensorError(
            "Error while serializing: I/O error: No space left on device (os error 28)"
        )

    monkeypatch.setattr(checkpoint, "save_file", full)
    out = tmp_path / "new"
    assert (
        main(
            [
                "checkpoint",
                *(str(folder) if word == "FOLDER" else word for word in how),
                "--out",
                str(out),
            ]
        )
        == 2
    )
    said = capsys.readouterr().err
    assert (
        f"The checkpoint cannot be written to {out} (" in said
        and "No space left" in said
        and said.count("\n") == 1
    )
    assert names(tmp_path) == [folder.name]


def test_what_cannot_be_averaged_is_refused(folder, tmp_path, capsys):
    other = tmp_path / "other"
    shutil.copytree(folder, other)
    settings = json.loads((other / "config.json").read_text())
    other_norm = {"pre": "post", "post": "pre"}[settings["norm"]]
    (other / "config.json").write_text(json.dumps({**settings, "norm": other_norm}))
    cases = (
        ([folder], "1 folders"),
        (
            [folder, other, "--shares", "1", "-1"],
            "--shares is -1.0; it must be a number, above 0",
        ),
        ([folder, other], "of another shape"),
    )
    for flags, said in cases:
        assert (
            main(
                [
                    "checkpoint",
                    "average",
                    *map(str, flags),
                    "--out",
                    str(tmp_path / "mean"),
                ]
            )
            == 2
        )
        assert said in capsys.readouterr().err
    assert not (tmp_path / "mean").exists()


# A longer vocabulary


def test_an_extended_checkpoint_keeps_its_rows_and_spells_every_character(
    folder, tmp_path, capsys
):
    assert (
        main(["checkpoint", "extend", str(folder), "--out", str(tmp_path / "more")])
        == 0
    )
    assert capsys.readouterr().out == f"{tmp_path / 'more'}\n"
    old = checkpoint.load(folder)
    new = checkpoint.load(tmp_path / "more")
    count = len(old.tokenizer)
    rows = new.model.embedding.weight
    assert len(new.tokenizer) == new.model.config.vocab_size == len(rows) > count + 256
    assert torch.equal(rows[:count], old.model.embedding.weight)
    mean = old.model.embedding.weight.mean(0).expand_as(rows[count:])
    torch.testing.assert_close(rows[count:], mean, atol=1e-3, rtol=0)
    assert new.tokenizer.unknown("Müller 😀") == []
    assert new.metrics["extended"] == {"name": old.name, "identity": old.identity}


@pytest.mark.parametrize("again", [False, True])
def test_what_cannot_be_extended_is_refused(folder, tmp_path, capsys, again):
    assert (
        main(["checkpoint", "extend", str(folder), "--out", str(tmp_path / "more")])
        == 0
    )
    source, out = (
        (tmp_path / "more", tmp_path / "again")
        if again
        else (folder, tmp_path / "more")
    )
    assert main(["checkpoint", "extend", str(source), "--out", str(out)]) == 2
    assert (
        "has bytes for every character already" if again else "is not empty"
    ) in capsys.readouterr().err


@pytest.mark.parametrize(
    ("metrics", "said"),
    [
        ({"bleu": [1]}, "bleu is '[1]' in place of a number"),
        ({"scores": 3}, "scores is '3' in place of a list"),
        (
            {"scores": [{"set": "a", "bleu": {}}]},
            "scores.bleu is '{}' in place of a number",
        ),
        ({"lengths": []}, "lengths is '[]' in place of a record"),
        (
            {"lengths": {"buckets": [{"first": "1", "last": None}]}},
            "lengths.buckets.first is '1' in place of a number",
        ),
        ({"calibration": {"temperature": [1]}}, "calibration.temperature is '[1]'"),
        (
            {"calibration": {"bins": [{"count": None}]}},
            "calibration.bins.count is 'None'",
        ),
        ({"poolings": [{"imdb": "x"}]}, "poolings.imdb is 'x'"),
        ({"poolings": [3]}, "poolings is '[3]'"),
        (
            {"poolings": [{"imdb": 1.5}]},
            "poolings.imdb is '1.5' in place of a share from 0 to 1",
        ),
        (
            {"poolings": [{"pooling": "last"}]},
            "poolings.pooling is 'last' in place of attention or mean or max",
        ),
        (
            {"calibration": {"bins": [{"count": -1}]}},
            "calibration.bins.count is '-1' in place of a count of at least 0",
        ),
        (
            {"calibration": {"bins": [{"accuracy": -0.1}]}},
            "calibration.bins.accuracy is '-0.1'",
        ),
        (
            {"scores": [{"set": "imdb-validation", "rows": -1}]},
            "scores.rows is '-1' in place of a count",
        ),
        ({"scores": [{"set": []}]}, "scores.set is '[]' in place of a text"),
        (
            {"alignment": {"sides": None}},
            "alignment.sides is 'None' in place of a share",
        ),
        (
            {"alignment": {"sentences": "all"}},
            "alignment.sentences is 'all' in place of a count",
        ),
        (
            {"referring": {"right": 1}},
            "referring is \"{'right': 1}\" in place of counts of pronouns, said, right",
        ),
        (
            {"referring": {"pronouns": 3, "said": 2, "right": None}},
            "in place of counts of pronouns, said, right, none larger than the one before",
        ),
        (
            {"referring": {"pronouns": 3, "said": 1, "right": 2}},
            "pronouns, said, right, none larger than the one before",
        ),
    ],
)
def test_metrics_of_another_form_are_one_sentence_that_names_the_file(
    tmp_path, metrics, said
):
    (tmp_path / "metrics.json").write_text(json.dumps(metrics))
    with pytest.raises(UserError) as refused:
        checkpoint.read_metrics(tmp_path)
    assert said in str(refused.value) and "metrics.json" in str(refused.value)


def test_the_metrics_that_ship_are_whole():
    for path in shipped.ROOT.glob("checkpoints/*/metrics.json"):
        assert checkpoint.read_metrics(path.parent), path
