"""Models of others, imported: equal to what transformers makes of them, and refused in
one sentence."""

import base64
import io
import json
import os
import random
import shutil
from pathlib import Path

import hub_client
import hub_server
import numpy as np
import pytest
import sentencepiece
import torch
from safetensors.torch import load_file, save_file
from transformers import (
    M2M100Config,
    M2M100ForConditionalGeneration,
    M2M100Tokenizer,
    MarianConfig,
    MarianMTModel,
    MarianTokenizer,
    NllbTokenizer,
)

from tests.pages import laid_out
from xformer.explain import doubts
from xformer.figures.attention import Choice
from xformer.hub import checkpoint, imported, tokenizer_json
from xformer.hub.imported import TRIAL, Unusable, convert
from xformer.model import Trace
from xformer.parts.attention import part as attention
from xformer.parts.lecture import part as lecture
from xformer.parts.sentences.part import PRESETS, presets
from xformer.pieces import BOS, EOS, PAD, UNK
from xformer.results import Head, Options, UserError
from xformer.serve.translation import Service
from xformer.strings import ENGLISH, SPANISH
from xformer.tokenizer import JointTokenizer, listed
from xformer.translator import translate_ids
from xformer.ui.page import open_at
from xformer.ui.tabs import examples

pytestmark = pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses")
EVERYDAY = (Path(__file__).parent / "everyday.tsv").read_text(encoding="utf-8")
PAIRS = [line.split("\t")[:2] for line in EVERYDAY.splitlines() if "\t" in line]
ENGLISHES, SPANISHES = zip(*PAIRS, strict=True)
CODES = (">>spa<<", ">>fra<<")
# d_model, heads, layers of encoder and decoder, activation, row of </s>
SHAPES = [
    (32, 4, 2, 3, "swish", 0),
    (64, 8, 3, 2, "relu", 77),
    (48, 4, 2, 2, "gelu", 150),
]


def learned(lines, kind="unigram"):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        model_writer=model,
        vocab_size=250,
        minloglevel=2,
        model_type=kind,
    )
    return model.getvalue()


@pytest.fixture(scope="session")
def sides():
    return [learned([*ENGLISHES, *TRIAL]), learned(SPANISHES)]


def drawn(model):
    """Weights as far from what they began with as trained ones, but for the row of
    <pad>."""
    torch.manual_seed(0)
    for name, parameter in model.named_parameters():
        if parameter.dim() > 1 and "embed_positions" not in name:
            torch.nn.init.normal_(parameter, std=0.15)
        elif parameter.dim() == 1:
            torch.nn.init.normal_(
                parameter, mean=float("layer_norm.weight" in name), std=0.2
            )
    return model.eval()


def marian(
    folder,
    sides,
    width=32,
    heads=4,
    encoder=1,
    decoder=1,
    activation="swish",
    eos=0,
    codes=CODES,
):
    """Write a repository as Helsinki's; some pieces are not in vocab.json, as in
    theirs."""
    pieces = sorted({*listed(sides[0])[3:], *listed(sides[1])[3:]})
    random.Random(1).shuffle(pieces)
    pieces = [*pieces[3:], *codes]
    for row, piece in ((eos, "</s>"), (200, "<unk>"), (len(pieces) + 2, "<pad>")):
        pieces.insert(row, piece)
    ids = {piece: row for row, piece in enumerate(pieces)}
    model = drawn(
        MarianMTModel(
            MarianConfig(  # eager: it writes its maps down
                attn_implementation="eager",
                vocab_size=len(pieces),
                d_model=width,
                encoder_attention_heads=heads,
                decoder_attention_heads=heads,
                encoder_layers=encoder,
                decoder_layers=decoder,
                encoder_ffn_dim=4 * width,
                decoder_ffn_dim=4 * width,
                activation_function=activation,
                max_position_embeddings=128,
                scale_embedding=True,
                pad_token_id=ids["<pad>"],
                eos_token_id=eos,
                forced_eos_token_id=None,
                decoder_start_token_id=ids["<pad>"],
            )
        )
    )
    model.model.shared.weight.data[ids["<pad>"]] = 0
    model.final_logits_bias.normal_(std=0.5)
    model.final_logits_bias[0, ids["<pad>"]] = 0
    written(folder, sides, model, ids)
    return model


def written(folder, sides, model, ids):
    folder.mkdir(exist_ok=True)
    model.save_pretrained(folder)
    for name, content in (
        ("vocab.json", json.dumps(ids).encode()),
        ("source.spm", sides[0]),
        ("target.spm", sides[1]),
        ("tokenizer_config.json", b'{"source_lang": "eng", "target_lang": "spa"}'),
    ):
        (folder / name).write_bytes(content)


def both(folder, one, text, target):
    """A source and the beginning of a target, as rows of transformers and of ours."""
    theirs = MarianTokenizer.from_pretrained(folder)
    source = theirs(f">>spa<< {text}")["input_ids"]
    target_ids = theirs(text_target=target)["input_ids"][:-1]
    return (
        (torch.tensor([source]), torch.tensor([[theirs.pad_token_id, *target_ids]])),
        (
            torch.tensor([[*one.tokenizer.encode(text), EOS]]),
            torch.tensor([[BOS, *one.tokenizer.encode(target, target=True)]]),
        ),
    )


@pytest.fixture(scope="session", params=SHAPES, ids=lambda shape: shape[4])
def pair(request, sides, tmp_path_factory):
    folder = tmp_path_factory.mktemp("marian")
    model = marian(folder, sides, *request.param)
    return folder, model, convert(folder, target="spa")


@torch.inference_mode()
def test_logits_and_all_maps_are_those_of_transformers(pair):
    folder, theirs, one = pair
    rows, _ = imported._rows(imported._read_transformers(folder))
    for text, target in PAIRS[:8]:
        (source, begun), ours = both(folder, one, text, target)
        wanted = theirs(
            input_ids=source, decoder_input_ids=begun, output_attentions=True
        )
        trace = Trace()
        logits = one.model(*ours, trace)
        wanted_logits = wanted.logits[:, :, rows]
        wanted_logits[..., BOS] = logits[..., BOS]  # which transformers does not have
        torch.testing.assert_close(logits, wanted_logits, atol=2e-5, rtol=0)
        for record, maps in (
            (trace.encoder_self, wanted.encoder_attentions),
            (trace.cross, wanted.cross_attentions),
            (trace.decoder_self, wanted.decoder_attentions),
        ):
            torch.testing.assert_close(
                torch.stack(record.probabilities), torch.stack(maps), atol=1e-5, rtol=0
            )


@torch.inference_mode()
def test_greedy_and_beam_write_what_transformers_writes(pair):
    folder, theirs, one = pair
    tokenizer = MarianTokenizer.from_pretrained(folder)
    equal = 0
    texts = sorted(ENGLISHES[:12], key=len)
    batch = tokenizer(
        [f">>spa<< {text}" for text in texts], return_tensors="pt", padding=True
    )
    for beam in (1, 4):
        stop = {"early_stopping": "never"} if beam > 1 else {}
        wanted = theirs.generate(
            **batch,
            num_beams=beam,
            do_sample=False,
            max_length=40,
            **stop,
            bad_words_ids=[[theirs.config.pad_token_id]],
        )
        found = translate_ids(
            one.model,
            [one.tokenizer.encode(text) for text in texts],
            Options(beam=beam, stop="bound"),
            max_lengths=[39] * len(texts),
        )
        for row, hypotheses in zip(wanted.tolist(), found, strict=True):
            pieces = [
                piece
                for piece in tokenizer.convert_ids_to_tokens(row)
                if piece != "<pad>"
            ]
            equal += pieces == one.tokenizer.pieces(hypotheses[0].tokens)
    assert equal == 2 * len(texts)


def test_pieces_are_those_of_marians_tokenizer(pair):
    folder, _, one = pair
    theirs = MarianTokenizer.from_pretrained(folder)
    odd = ["", "日本", "2024?", "a  b"]
    for texts, way in (((*ENGLISHES, *odd), False), ((*SPANISHES, *odd), True)):
        for text in texts:
            wanted = theirs(text_target=text) if way else theirs(f">>spa<<{text}")
            pieces = one.tokenizer.pieces(
                [*one.tokenizer.encode(text, target=way), EOS]
            )
            assert pieces == theirs.convert_ids_to_tokens(wanted["input_ids"])
            if way and UNK not in one.tokenizer.encode(text, target=True):
                assert one.tokenizer.decode(
                    one.tokenizer.encode(text, target=True)
                ) == theirs.decode(wanted["input_ids"], skip_special_tokens=True)


def test_a_translation_with_pieces_of_the_other_side_reads_as_marians_does(pair):
    """A copied name is often in pieces that only the source side has: no mark of a
    word's start stays in the text."""
    folder, _, one = pair
    tokenizer = one.tokenizer
    theirs = MarianTokenizer.from_pretrained(folder)
    assert tokenizer.decode(tokenizer.encode("The dog sleeps.")) == "The dog sleeps."
    draw = random.Random(0)
    rows = [
        row
        for row in range(4, len(tokenizer))
        if row not in map(tokenizer.id_of, CODES)
    ]
    for _ in range(100):
        ids = draw.sample(rows, 6)
        wanted = theirs.convert_tokens_to_ids(tokenizer.pieces(ids))
        assert tokenizer.decode(ids) == theirs.decode(
            wanted, clean_up_tokenization_spaces=False
        )


def test_a_vocabulary_of_two_sides_does_all_that_ours_does(pair):
    _, _, one = pair
    tokenizer = one.tokenizer
    assert tokenizer.codes == CODES and len(tokenizer) == one.model.config.vocab_size
    assert tokenizer.encode("Hi.")[0] == tokenizer.id_of(">>spa<<")
    assert (
        tokenizer.encode(">>fra<< Hi.")[1:]
        == tokenizer.encode(">>spa<< Hi.")[1:]
        == tokenizer.encode("Hi.")[1:]
    )
    with pytest.raises(UserError, match="no language >>xx<<; it has >>"):
        tokenizer.encode(">>xx<< Hi.")
    assert (
        tokenizer.id_of("nothing like it") is None and tokenizer.id_of("<pad>") == PAD
    )
    assert tokenizer.unknown("日本 Hi") == ["日本"]
    splits = tokenizer.splits("Good morning.", 3)
    assert (
        splits[0] == tokenizer.encode("Good morning.")
        and len({*map(tuple, splits)}) == 3
    )
    assert len(tokenizer.log_probs(splits[0])) == len(splits[0])
    assert len({tuple(tokenizer.encode("Good morning.", 0.1)) for _ in range(30)}) > 3
    assert (
        tokenizer.decode(
            [tokenizer.id_of(">>spa<<"), *tokenizer.encode("Buenas.", target=True)]
        )
        == "Buenas."
    )


@pytest.mark.parametrize(
    ("joint", "said"),
    [
        ([], "no list of pieces"),
        ({"pieces": ["a"]}, "must begin with <pad>"),
        ({"pieces": ["<pad>", "<unk>", "<s>", "</s>", "a", "a"]}, "each stand once"),
        (
            {"pieces": ["<pad>", "<unk>", "<s>", "</s>"], "opening": ">>xx<<"},
            "no language's code",
        ),
    ],
)
def test_a_list_of_pieces_that_is_none_is_refused(sides, joint, said):
    with pytest.raises(ValueError, match=said):
        JointTokenizer(sides, joint)


def test_half_precision_and_a_checkpoint_in_our_form(pair, tmp_path):
    folder, _, one = pair
    for half in (False, True):
        new = tmp_path / str(half)
        new.mkdir()
        imported.write(new, one, folder, "someone/opus", "0" * 40, half)
        again = checkpoint.load(new)
        state = one.model.state_dict()
        same = all(
            torch.equal(tensor, state[name])
            for name, tensor in again.model.state_dict().items()
        )
        assert same is not half and again.tokenizer.encode(
            "Hi."
        ) == one.tokenizer.encode("Hi.")
        info = again.info("cpu", "float32")
        assert (info.source, info.target, info.codes, info.origin) == (
            "en",
            "es",
            CODES,
            "someone/opus",
        )


def in_marians_form(folder, new):
    """Write the same model as Marian does, in a folder as in the zips of OPUS-MT."""
    config = json.loads((folder / "config.json").read_text())
    ids = json.loads((folder / "vocab.json").read_text())
    assert ids["<pad>"] == len(ids) - 1
    arrays = {}
    weights = load_file(folder / "model.safetensors")
    names = {theirs: ours for ours, theirs in imported.MARIAN.items()}
    for name, tensor in weights.items():
        parts = name.split(".")
        if parts[2:3] == ["layers"]:
            mine = names[".".join(parts[4:])]
            matrix = tensor.dim() == 2
            arrays[f"{parts[1]}_l{int(parts[3]) + 1}_{mine}"] = (
                tensor.t() if matrix else tensor[None]
            ).numpy()
    arrays["Wemb"] = weights["model.shared.weight"][:-1].numpy()
    arrays["decoder_ff_logit_out_b"] = weights["final_logits_bias"][:, :-1].numpy()
    settings = {
        "type": "transformer",
        "tied-embeddings-all": "true",
        "dim-emb": config["d_model"],
        "enc-depth": config["encoder_layers"],
        "dec-depth": config["decoder_layers"],
        "transformer-heads": config["encoder_attention_heads"],
        "transformer-dim-ffn": config["encoder_ffn_dim"],
        "transformer-ffn-activation": '"swish"',
        "transformer-preprocess": '""',
        "transformer-postprocess": "dan",
    }
    text = "\n".join(f"{key}: {value}" for key, value in settings.items())
    arrays["special:model.yml"] = np.frombuffer(text.encode(), dtype=np.int8)
    new.mkdir()
    np.savez(
        new / "opus.npz",
        **{name: np.ascontiguousarray(array) for name, array in arrays.items()},
    )
    lines = [
        f"{json.dumps(piece, ensure_ascii=False)}: {row}"
        for piece, row in ids.items()
        if piece != "<pad>"
    ]
    (new / "opus.vocab.yml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for name in ("source.spm", "target.spm"):
        shutil.copy(folder / name, new / name)
    return new


def test_marians_own_file_gives_the_same_bits(sides, tmp_path):
    marian(tmp_path / "one", sides)
    one = convert(tmp_path / "one", "en", "spa")
    other = convert(in_marians_form(tmp_path / "one", tmp_path / "other"), "en", "spa")
    assert (
        other.model.config.max_length == 512
        and other.tokenizer.files == one.tokenizer.files
    )
    for name, tensor in one.model.state_dict().items():
        assert torch.equal(tensor, other.model.state_dict()[name]), name


def test_lines_of_marians_vocabulary():
    assert imported._lines(
        '"▁a\\"b": 0\n\'it\'\'s\': 1\n▁:: 2\n"\\x85": 3\n"\\N\\_": 4\nplain: 5\n'.encode()
    ) == [
        ('▁a"b', 0),
        ("it's", 1),
        ("▁:", 2),
        ("\x85", 3),
        ("\x85\xa0", 4),
        ("plain", 5),
    ]


@torch.inference_mode()
@pytest.mark.parametrize("family", ["m2m", "small", "nllb"])
def test_m2m_100_is_read_too(sides, tmp_path, family):
    small = family == "small"
    pieces = ["<s>", "<pad>", "</s>", "<unk>", *listed(sides[0])[3:]]
    languages = (
        ["eng_Latn", "fra_Latn", "spa_Latn"]
        if family == "nllb"
        else ["__en__", "__fr__", "__es__"]
    )
    theirs = drawn(
        M2M100ForConditionalGeneration(
            M2M100Config(
                vocab_size=len(pieces) + len(languages) + 8,
                d_model=32,
                encoder_layers=2,
                decoder_layers=2,
                encoder_attention_heads=4,
                decoder_attention_heads=4,
                encoder_ffn_dim=64,
                decoder_ffn_dim=64,
                max_position_embeddings=100,
            )
        )
    )
    theirs.save_pretrained(tmp_path)
    for name, content in (
        ("vocab.json", {piece: row for row, piece in enumerate(pieces)}),
        ("special_tokens_map.json", {"additional_special_tokens": languages}),
        (
            "tokenizer_config.json",
            {"tokenizer_class": "SMALL100Tokenizer"} if small else {},
        ),
    ):
        if not (family == "nllb" and name == "vocab.json"):  # which NLLB does not have
            (tmp_path / name).write_text(json.dumps(content))
    (tmp_path / "sentencepiece.bpe.model").write_bytes(sides[0])
    one = convert(tmp_path, target="es")
    tokenizer = one.tokenizer
    assert (one.model.config.source, one.model.config.target) == ("en", "es")
    text = "Good morning."
    source = tokenizer.encode(text)
    forced = tokenizer.forced(text)
    codes = [f">>{language.strip('_')}<<" for language in languages]
    assert tokenizer.pieces([source[0], *forced]) == (
        codes[2:] if small else [codes[0], codes[2]]
    )
    rows = {piece: row for row, piece in enumerate([*pieces, *codes])}
    back = [
        [rows[piece] for piece in tokenizer.pieces(ids)]
        for ids in ([*source, EOS], forced)
    ]
    wanted = theirs(
        torch.tensor([back[0]]),
        decoder_input_ids=torch.tensor([[2, *back[1], *back[0][1:-1]]]),
    ).logits
    logits = one.model(
        torch.tensor([[*source, EOS]]), torch.tensor([[BOS, *forced, *source[1:]]])
    )
    order, _ = imported._rows(imported._read_transformers(tmp_path))
    wanted = wanted[..., order]
    wanted[..., BOS] = logits[..., BOS]
    torch.testing.assert_close(logits, wanted, atol=2e-5, rtol=0)
    if family == "m2m":
        assert tokenizer.pieces(tokenizer.forced(">>fr<< Hi")) == [">>fr<<"]
        assert tokenizer.pieces(tokenizer.encode(">>fr<< Hi"))[0] == ">>en<<"
        with pytest.raises(
            UserError,
            match="writes several languages; name one with --target: en, fr, es",
        ):
            convert(tmp_path)


@pytest.fixture(scope="module")
def pairs():
    """A SentencePiece model of byte-pair merges, as M2M-100's and NLLB's are."""
    return learned([*ENGLISHES, *SPANISHES, *TRIAL], "bpe")


def saved(folder, pairs, family):
    """Write a folder as transformers 5 saves it, of a model of some weights; -> its
    tokenizer."""
    pieces = ["<s>", "<pad>", "</s>", "<unk>", *listed(pairs)[3:]]
    rows = {piece: row for row, piece in enumerate(pieces)}
    if family == "nllb":
        halves = [
            (piece[:at], piece[at:])
            for piece in pieces[4:]
            for at in range(1, len(piece))
        ]
        tokenizer = NllbTokenizer(
            rows,
            [pair for pair in halves if {*pair} <= {*rows}],
            src_lang="eng_Latn",
            extra_special_tokens=["eng_Latn", "fra_Latn", "spa_Latn"],
        )
    else:
        (folder / "old").mkdir(parents=True)
        (folder / "old" / "vocab.json").write_text(json.dumps(rows))
        (folder / "old" / "sentencepiece.bpe.model").write_bytes(pairs)
        files = [
            str(folder / "old" / name)
            for name in ("vocab.json", "sentencepiece.bpe.model")
        ]
        names = [*M2M100Tokenizer(*files).lang_code_to_token.values()]
        (folder / "old" / "special_tokens_map.json").write_text(
            json.dumps({"additional_special_tokens": names})
        )
        tokenizer = M2M100Tokenizer.from_pretrained(folder / "old", src_lang="en")
    tokenizer.save_pretrained(folder)
    drawn(
        M2M100ForConditionalGeneration(
            M2M100Config(
                vocab_size=len(pieces) + 110,
                d_model=32,
                encoder_layers=1,
                decoder_layers=1,
                encoder_attention_heads=4,
                decoder_attention_heads=4,
                encoder_ffn_dim=64,
                decoder_ffn_dim=64,
                max_position_embeddings=100,
            )
        )
    ).save_pretrained(folder)
    return tokenizer


@pytest.mark.parametrize(("family", "code"), [("m2m", "__{}__"), ("nllb", "{}_Latn")])
def test_a_folder_that_transformers_5_saved_is_read(pairs, tmp_path, family, code):
    theirs = saved(tmp_path, pairs, family)
    here = {path.name for path in tmp_path.iterdir()}
    assert "special_tokens_map.json" not in here and (
        "sentencepiece.bpe.model" in here
    ) is (family == "m2m")
    one = convert(tmp_path, target="es")
    rows, _ = imported._rows(imported._read_transformers(tmp_path))
    row = (
        theirs.convert_tokens_to_ids("spa_Latn")
        if family == "nllb"
        else theirs.get_lang_id("es")
    )
    assert [rows[i] for i in one.tokenizer.forced("Hi")] == [row]
    reader = sentencepiece.SentencePieceProcessor(model_proto=pairs)
    for text in (*ENGLISHES, *SPANISHES, "Zoë, 25 € – 日本!"):
        ours = one.tokenizer.encode(text)
        assert [rows[i] for i in [*ours, EOS]] == theirs(text)["input_ids"], text
        if not {*text} - {*"".join(ENGLISHES)}:
            assert one.tokenizer.pieces(ours)[1:] == reader.encode(text, out_type=str)
            assert one.tokenizer.decode(ours[1:]) == text


def test_merges_keep_the_characters_that_sentencepiece_puts_for_others(pairs):
    """Of a tokenizer.json that was made of NLLB's own file: full-width letters are read
    as usual ones."""
    rows = {
        piece: row
        for row, piece in enumerate(
            ["<s>", "<pad>", "</s>", "<unk>", *listed(pairs)[3:]]
        )
    }
    content = pairs
    at = pairs.index(b"nmt_nfkc") + len(b"nmt_nfkc")
    assert content[at] == 0x12, "precompiled_charsmap is the field after the name"
    size = (
        content[at + 1] & 0x7F | (content[at + 2] & 0x7F) << 7 | content[at + 3] << 14
    )
    charsmap = base64.b64encode(content[at + 4 : at + 4 + size]).decode()
    found = tokenizer_json.read(
        {
            "model": {"type": "BPE", "vocab": rows, "merges": ["H i"]},
            "normalizer": {
                "type": "Sequence",
                "normalizers": [
                    {"type": "Precompiled", "precompiled_charsmap": charsmap}
                ],
            },
            "added_tokens": [{"content": "spa_Latn", "id": len(rows)}],
        }
    )
    reader = sentencepiece.SentencePieceProcessor(model_proto=found.model)
    assert found.languages == ["spa_Latn"] and found.ids["spa_Latn"] == len(rows)
    assert reader.normalize("Ｔｏｍ  ﬁ") == "▁Tom▁fi"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda table: table.update(model={"type": "Unigram"}),
            "it holds 'Unigram', and only 'BPE' is read",
        ),
        (lambda table: table.pop("model"), "tokenizer.json is none of NLLB's"),
        (
            lambda table: table.update(added_tokens=[1]),
            "tokenizer.json is none of NLLB's",
        ),
        (
            lambda table: table.update(normalizer=["x"]),
            "tokenizer.json is none of NLLB's",
        ),
        (
            lambda table: table["model"].update(merges=[3]),
            "tokenizer.json is none of NLLB's",
        ),
        (
            lambda table: table["model"]["vocab"].update(a=99999),
            "tokenizer.json does not number its pieces",
        ),
        (
            lambda table: table.update(added_tokens=table["added_tokens"][:4]),
            "names its languages",
        ),
    ],
)
def test_another_tokenizer_json_is_refused_in_a_sentence(pairs, tmp_path, change, said):
    saved(tmp_path, pairs, "nllb")
    table = json.loads((tmp_path / "tokenizer.json").read_text())
    change(table)
    (tmp_path / "tokenizer.json").write_text(json.dumps(table))
    with pytest.raises(Unusable) as found:
        convert(tmp_path, target="es")
    assert said in str(found.value)


def changed(**values):
    def change(folder):
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps({**config, **values}))

    return change


def weights(change):
    def changed_weights(folder):
        state = load_file(folder / "model.safetensors")
        change(state)
        save_file(state, folder / "model.safetensors")

    return changed_weights


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            changed(model_type="bart"),
            "it is of the type 'bart'; read are marian, m2m_100",
        ),
        (
            changed(normalize_before=True),
            "config.json says normalize_before True, and only False is read",
        ),
        (
            changed(share_encoder_decoder_embeddings=False),
            "share_encoder_decoder_embeddings False, and only True",
        ),
        (changed(scale_embedding=False), "scale_embedding False, and only True"),
        (
            changed(decoder_attention_heads=2),
            "encoder and its decoder differ in attention_heads",
        ),
        (
            changed(activation_function="tanh"),
            "its activation is 'tanh'; read are relu, gelu, swish",
        ),
        (changed(d_model="x"), "config.json describes no model"),
        (changed(d_model=64), "its embeddings are 32 wide where config.json says 64"),
        (
            changed(eos_token_id=5),
            "config.json says that eos_token_id is 5, and the vocabulary 0",
        ),
        (
            weights(lambda w: w.pop("model.encoder.layers.0.fc1.bias")),
            "its weights lack model.encoder.layers.0.fc1.bias",
        ),
        (
            weights(lambda w: w.pop("model.shared.weight")),
            "its weights have none of model.shared.weight",
        ),
        (
            weights(lambda w: w["model.encoder.layers.0.fc1.bias"].fill_(torch.nan)),
            "fc1.bias holds NaN or infinity",
        ),
        (
            weights(lambda w: w["model.shared.weight"][-1].fill_(1.0)),
            "with which a translation begins, is not zero",
        ),
        (
            weights(
                lambda w: w.update(
                    {"model.encoder.embed_positions.weight": torch.zeros(128, 32)}
                )
            ),
            "the positions of its encoder are no sines",
        ),
        (
            lambda d: (d / "model.safetensors").write_bytes(b"PK" * 100),
            "model.safetensors is truncated",
        ),
        (
            lambda d: (d / "model.safetensors").rename(d / "pytorch_model.bin"),
            "no model.safetensors, and pytorch_model.bin can run code",
        ),
        (
            lambda d: (d / "vocab.json").write_text('{"a": 0, "b": 2}'),
            "does not number its pieces",
        ),
        (
            lambda d: (d / "vocab.json").write_text('{"a": 0, "b": 1}'),
            "lacks one of <pad>, <unk>, </s>",
        ),
        (
            lambda d: (d / "vocab.json").write_text("["),
            "vocab.json is not readable as JSON",
        ),
        (lambda d: (d / "source.spm").unlink(), "it lacks source.spm"),
    ],
)
def test_what_does_not_fit_is_refused_in_a_sentence(sides, tmp_path, change, said):
    marian(tmp_path, sides)
    state = load_file(tmp_path / "model.safetensors")
    save_file(
        {name: state[name] for name in state if "embed_positions" not in name},
        tmp_path / "model.safetensors",
    )
    convert(tmp_path, target="spa")  # until something changes
    change(tmp_path)
    with pytest.raises(Unusable, match="^This model cannot be imported: ") as found:
        convert(tmp_path, target="spa")
    assert said in str(found.value)


@pytest.fixture(scope="session")
def usual(sides, tmp_path_factory):
    """The files of a model that can be imported."""
    folder = tmp_path_factory.mktemp("usual")
    marian(folder, sides)
    state = load_file(folder / "model.safetensors")
    save_file(
        {name: state[name] for name in state if "embed_positions" not in name},
        folder / "model.safetensors",
    )
    convert(folder, target="spa")
    return folder


def numbered(change):
    def changed_numbers(folder):
        ids = json.loads((folder / "vocab.json").read_text())
        change(ids, next(piece for piece in ids if ids[piece] == 5))
        (folder / "vocab.json").write_text(json.dumps(ids))

    return changed_numbers


def endless(name):
    def changed_file(folder):
        (folder / name).unlink()
        os.mkfifo(folder / name)

    return changed_file


def device(name):
    def changed_file(folder):
        (folder / name).unlink()
        (folder / name).symlink_to("/dev/zero")

    return changed_file


def large(name, size=300_000_000):
    return lambda folder: os.truncate(folder / name, size)


def content(name, change):
    return lambda folder: (folder / name).write_bytes(
        change((folder / name).read_bytes())
    )


def reshaped(name, *shape):
    return weights(lambda stored: stored.update({name: torch.zeros(shape)}))


LAYER = "model.encoder.layers.0."
EIGHT_BITS = torch.float8_e4m3fn


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (changed(model_type=["marian"]), "it is of the type \"['marian']\""),
        (changed(model_type={}), "of the type '{}'"),
        (changed(activation_function=[]), "its activation is '[]'"),
        (changed(activation_function={}), "is '{}'"),
        *(
            (changed(decoder_start_token_id=start), "which is no row of its")
            for start in ("a", [1], None, 10**9, -1, True)
        ),
        (
            changed(max_position_embeddings=10**9),
            "1000000000; it must be at most 65536",
        ),
        (changed(max_position_embeddings=2**20), "1048576; it must be at most 65536"),
        (changed(max_position_embeddings=10**30), "it must be at most 65536"),
        (changed(max_position_embeddings="a"), "describes no model"),
        (changed(d_model=10**30), "its embeddings are 32 wide"),
        (
            changed(encoder_ffn_dim=10**12, decoder_ffn_dim=10**12),
            "fc1.weight is (128, 32) where config.json says (10000",
        ),
        (changed(encoder_layers=10**12), "its weights lack model.encoder.layers.1"),
        (changed(encoder_layers=[]), "describes no model"),
        (changed(encoder_layers=None), "describes no model"),
        *(
            (
                numbered(lambda ids, piece, row=row: ids.update({piece: row})),
                "does not number its pieces",
            )
            for row in ("5", None, 5.0, True, 6, -1, [])
        ),
        (
            numbered(lambda ids, piece: ids.update({"\ud800": ids.pop(piece)})),
            "half a character",
        ),
        (
            numbered(
                lambda ids, piece: ids.update(
                    {
                        "<s>": ids.pop(piece),
                        "<s> ": ids.pop(next(one for one in ids if ids[one] == 6)),
                    }
                )
            ),
            "each stand once",
        ),
        *(
            (content(side, change), "it is not a SentencePiece model")
            for side in ("source.spm", "target.spm")
            for change in (
                lambda model: b"",
                lambda model: b"\xff" * 999,
                lambda model: model[: len(model) // 2],
                lambda model: b"a text",
            )
        ),
        *(
            (endless(name), f"{name} is no regular file")
            for name in ("config.json", "source.spm", "vocab.json")
        ),
        (endless("model.safetensors"), "model.safetensors is no regular file"),
        *(
            (device(name), f"{name} is no regular file")
            for name in ("config.json", "target.spm", "model.safetensors")
        ),
        *(
            (large(name), f"{name} has 300,000,000 bytes")
            for name in ("config.json", "vocab.json", "source.spm")
        ),
        (reshaped("model.shared.weight", 5), "its embeddings have 1 dimensions"),
        (reshaped("model.shared.weight"), "its embeddings have 0 dimensions"),
        (
            reshaped(f"{LAYER}self_attn.q_proj.weight", 32, 31),
            "q_proj.weight is (32, 31) where config.json says (32, 32)",
        ),
        (reshaped(f"{LAYER}self_attn.k_proj.bias", 31), "k_proj.bias is (31,)"),
        (
            reshaped(f"{LAYER}self_attn_layer_norm.weight", 64),
            "layer_norm.weight is (64,) where config.json says (32,)",
        ),
        (reshaped(f"{LAYER}fc2.bias"), "fc2.bias is ()"),
        (reshaped("final_logits_bias"), "its final_logits_bias 1 rows"),
        *(
            (
                reshaped("model.encoder.embed_positions.weight", *shape),
                "embed_positions.weight is (",
            )
            for shape in ((), (128,), (128, 31), (66_000, 32))
        ),
        (
            weights(lambda stored: stored.update(extra=torch.zeros(9).to(EIGHT_BITS))),
            "extra is stored as F8_E4M3; read",
        ),
        (
            content("vocab.json", lambda text: b"[" * 99_999),
            "vocab.json is not readable as JSON",
        ),
    ],
)
def test_a_hostile_folder_is_refused_in_a_sentence(usual, tmp_path, change, said):
    folder = shutil.copytree(usual, tmp_path / "model")
    change(folder)
    with pytest.raises(Unusable, match="^This model cannot be imported: ") as found:
        convert(folder, target="spa")
    assert said in str(found.value) and "\n" not in str(found.value)


def test_what_nobody_thought_of_is_refused_in_a_sentence_too(
    usual, tmp_path, monkeypatch
):
    def fail(*_):
        raise MemoryError("of 8 GB\nand more")

    monkeypatch.setattr(imported, "_matrix", fail)
    with pytest.raises(
        Unusable, match=r"its files do not fit together \(MemoryError: of 8 GB\)\.$"
    ):
        convert(usual, target="spa")


def test_weights_of_too_many_numbers_are_not_read(usual, tmp_path, monkeypatch):
    monkeypatch.setattr(imported, "MOST_NUMBERS", 30_000)
    with pytest.raises(
        Unusable, match=r"its weights are [\d,]+ numbers; at most 30,000 are read"
    ):
        convert(usual, target="spa")
    path = tmp_path / "model.npz"
    np.savez_compressed(path, weights=np.zeros(40_000, dtype=np.float32))
    assert path.stat().st_size < 2_000
    with pytest.raises(Unusable, match=r"its weights are [\d,]+ numbers"):
        convert(tmp_path)


def test_a_language_that_the_model_lacks_is_refused(sides, tmp_path):
    marian(tmp_path, sides)
    with pytest.raises(Unusable, match="it has no language 'de'; name one of spa, fra"):
        convert(tmp_path, target="de")
    with pytest.raises(Unusable, match="name one with --target: spa, fra"):
        convert(tmp_path)
    assert convert(tmp_path, target="es").model.config.target == "es"


def test_languages_have_names_in_both_languages():
    class Info:
        source = "fi"
        target = "mul"

    assert ENGLISH.of(Info).say("error_unknown", characters="x").count("Finnish") == 2
    assert "finés" in SPANISH.of(Info).say("error_unknown", characters="x")


# On a Hub, by the command


@pytest.fixture(scope="session")
def trained(sides, tmp_path_factory):
    """The files of a Marian model that knows a few sentences by heart, among them those
    of the trial."""
    folder = tmp_path_factory.mktemp("trained")
    model = marian(folder, sides, width=64)
    tokenizer = MarianTokenizer.from_pretrained(folder)
    texts = [*TRIAL, "Good afternoon."]
    batch = tokenizer(
        [f">>spa<< {text}" for text in texts],
        text_target=[*SPANISHES[1:4], SPANISHES[0]],
        padding=True,
        return_tensors="pt",
    )
    batch["labels"][batch["labels"] == tokenizer.pad_token_id] = -100
    drawn = torch.optim.Adam(model.parameters(), 3e-3)
    model.train()
    for _ in range(120):
        loss = model(**batch).loss
        drawn.zero_grad()
        loss.backward()
        model.model.shared.weight.grad[tokenizer.pad_token_id] = 0
        drawn.step()
    model.eval()
    assert loss < 0.2
    written(folder, sides, model, json.loads((folder / "vocab.json").read_text()))
    (folder / "README.md").write_text(
        "---\nlicense: apache-2.0\nlanguage: [en, es]\n---\n\n# opus, by somebody\n"
    )
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def hub():
    server = hub_server.Hub()
    yield server
    server.stop()


@pytest.fixture
def client(tmp_path, hub):
    return hub_client.Client(tmp_path / "home", hub.url)


def without_weights(files):
    return {
        **{
            name: content
            for name, content in files.items()
            if name != "model.safetensors"
        },
        "pytorch_model.bin": b"a pickle",
        "tf_model.h5": b"HDF5",
    }


def test_the_proposal_of_safe_weights_is_found_and_pinned(
    hub, client, trained, tmp_path
):
    name = "Helsinki-NLP/opus-mt-en-es"
    hub.add(name, without_weights(trained))
    repository = hub.repositories[name]
    repository.branches["refs/pr/1"] = repository.branches["refs/pr/2"] = (
        repository.branches["main"]
    )
    bad = repository.commit({"model.safetensors": b"not they"}, "refs/pr/1")
    good = repository.commit(
        {"model.safetensors": trained["model.safetensors"]}, "refs/pr/2"
    )
    repository.proposals += [
        (1, "mallory", "Adding `safetensors` variant of this model"),
        (2, "SFconvertbot", "Adding `safetensors` variant of this model"),
    ]
    ran = client("checkpoint", "import", name, tmp_path / "opus", "--target", "spa")
    assert ran.status == 0, ran.err
    assert "parameters" in ran.out and ran.out.rstrip().endswith("en → es")
    asked = [line for line in hub.requests() if "/resolve/" in line]
    assert (
        asked
        and all(good in line for line in asked)
        and not any(bad in line for line in asked)
    )
    assert not any(suffix in line for line in asked for suffix in (".bin", ".h5"))
    info = client("checkpoint", "verify", tmp_path / "opus")
    assert info.status == 0 and "apache-2.0, translation" in info.out
    card = (tmp_path / "opus" / "README.md").read_text()
    assert (
        good in card and "opus, by somebody" in card and f"base_model: {name}" in card
    )
    service = Service.open(tmp_path / "opus", "cpu")
    try:
        best = service.translate("Good afternoon.", Options(beam=1)).best
        assert best.text == SPANISHES[0]
        assert service.info.licence == "apache-2.0" and service.best_head.layer == 1
        trace = service.trace("Good afternoon.", best.tokens)
        assert trace.source[0] == ">>spa<<" and trace.source[-1] == "</s>"
        with pytest.raises(UserError, match="no language >>xx<<"):
            service.translate(">>xx<< Good afternoon.")
    finally:
        service.close()


def test_faults_of_repositories_are_sentences(hub, client, trained, tmp_path):
    hub.add("someone/pickles", without_weights(trained))
    hub.add(
        "someone/short",
        {
            name: content[:-999] if name == "model.safetensors" else content
            for name, content in trained.items()
        },
    )
    hub.add(
        "someone/babble",
        {
            **trained,
            "model.safetensors": _babbling(trained["model.safetensors"], tmp_path),
        },
    )
    for name, said in (
        (
            "someone/pickles",
            "has no model.safetensors, and SFconvertbot has proposed none",
        ),
        ("someone/short", "model.safetensors is truncated"),
        ("someone/babble", "it babbles or says nothing"),
        ("someone/nothing", "nothing"),
        ("no name at all", "is no name on the Hub"),
    ):
        ran = client("checkpoint", "import", name, tmp_path / "new", "--target", "spa")
        assert ran.status == 2 and said in ran.said
        assert not [
            path
            for path in tmp_path.iterdir()
            if path.name.lstrip(".").startswith("new")
        ]
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "a").touch()
    assert (
        "is not empty"
        in client("checkpoint", "import", "someone/short", tmp_path / "full").said
    )
    assert (
        "Name a model on the Hub"
        in client("checkpoint", "import", tmp_path / "new").said
    )


def _babbling(content, tmp_path):
    path = tmp_path / "weights"
    path.write_bytes(content)
    state = load_file(path)
    state["final_logits_bias"][0, 0] = -1e3  # it never ends
    save_file(state, path)
    babbling = path.read_bytes()
    path.unlink()
    return babbling


def test_ones_own_files_and_an_lm_head_that_differs(client, trained, tmp_path):
    folder = tmp_path / "files"
    folder.mkdir()
    for name, content in trained.items():
        (folder / name).write_bytes(content)
    state = load_file(folder / "model.safetensors")
    state["lm_head.weight"] = torch.randn_like(state["model.shared.weight"])
    save_file(state, folder / "model.safetensors")
    ran = client(
        "checkpoint",
        "import",
        "--local",
        folder,
        tmp_path / "new",
        "--target",
        "spa",
        "--float16",
    )
    assert ran.status == 0, ran.err
    assert "lm_head differs" in ran.out
    said = client("translate", "--checkpoint", tmp_path / "new", "Good afternoon.")
    assert said.out.strip() == SPANISHES[0]


# On the page


@pytest.fixture(scope="module")
def foreign(pair_of_one, tmp_path_factory):
    """Services of imported models: from Hebrew to Chinese, and one that writes two
    languages."""
    folder, one = pair_of_one
    parent = tmp_path_factory.mktemp("foreign")
    services = []
    for name, languages in (("opus-he-zh", ("he", "zh")), ("opus-en-es", ("en", "es"))):
        imported.write(parent / name, one, folder, "someone/opus", "", False)
        path = parent / name / "config.json"
        path.write_text(
            json.dumps(
                {
                    **json.loads(path.read_text()),
                    "source": languages[0],
                    "target": languages[1],
                }
            )
        )
        services.append(Service.open(parent / name, "cpu"))
    yield services
    for service in services:
        service.close()


@pytest.fixture(scope="module")
def pair_of_one(sides, tmp_path_factory):
    folder = tmp_path_factory.mktemp("one")
    marian(folder, sides, decoder=2)
    return folder, convert(folder, target="spa")


def test_a_page_of_another_pair_is_in_its_languages(foreign):
    hebrew, _ = foreign
    page = laid_out(hebrew, language=SPANISH)
    assert (
        page.sentence.value == examples(hebrew)[0]
        and page.sentence.label == "Frase en hebreo"
    )
    said, updates = open_at(page, {})
    about = updates[page.views["about"].component]
    assert said == "" and "de someone/opus, licencia unknown" in about
    ((name, pair),) = presets(hebrew).items()
    assert pair["texts"] == examples(hebrew)[:2] and name == len(PRESETS)
    with pytest.raises(UserError, match="does not translate English to Spanish"):
        next(lecture.translate(hebrew, progress=None))
    language = ENGLISH.of(hebrew.info)
    assert (language.reads, language.writes) == ('lang="he" dir="rtl"', 'lang="zh"')
    assert not doubts.looks_foreign("זה לא אנגלית וגם לא ספרדית בכלל", "he")


def test_a_model_that_writes_several_languages_has_a_menu_of_them(foreign, running):
    _, several = foreign
    page = laid_out(several)
    _, updates = open_at(page, {})
    menu = updates[page.views["codes"].component]
    assert (
        menu["visible"]
        and [code for _, code in menu["choices"]] == [*CODES]
        and menu["value"] == CODES[0]
    )
    _, updates = open_at(laid_out(running), {})
    assert [
        one
        for one in updates.values()
        if isinstance(one, dict) and one.get("choices") == [("", ">><<")]
    ][0]["visible"] is False


def test_the_head_that_marian_trains_to_align_is_said_to_be(foreign):
    _, several = foreign
    trace = several.trace("Good afternoon.", "Buenas tardes.")
    for head, said in (
        (Head("cross", 2, 1), True),
        (Head("cross", 2, 2), False),
        (Head("cross", 1, 1), False),
    ):
        text = attention._alignment(several, Choice(*head), ENGLISH)
        assert ("Marian trains this head" in text) is said
    assert several.best_head == Head("cross", 2, 1) and trace.cross.shape[0] == 2
