"""The command line: what it prints, and the one sentence and exit status 2 that bad
input gets."""

import argparse
import io
import json
import os
import shutil
import subprocess
import sys
from dataclasses import MISSING, fields
from pathlib import Path

import pytest

from research.__main__ import parser as of_research
from research.options import (
    GenerationRuns,
    NearestRun,
    PretrainingRuns,
    SentimentDownload,
    StudyRuns,
    TranslationDownload,
)
from tests.harness import ROOT
from xformer.__main__ import main, parser
from xformer.commands.arguments import Within, record
from xformer.hub import checkpoint
from xformer.training.options import (
    MOST_POSITIONS,
    LanguageModelRun,
    SentimentRun,
    TranslationRun,
)


def run(capsys, *argv):
    status = main([str(a) for a in argv])
    out, err = capsys.readouterr()
    return status, out, err


def test_translates_a_text(capsys, tiny_checkpoint, learned_pairs):
    english, spanish = learned_pairs[0]
    assert run(capsys, "translate", english, "--checkpoint", tiny_checkpoint) == (
        0,
        spanish + "\n",
        "",
    )


def test_json_is_one_object_a_line_with_the_promised_keys(
    capsys, tiny_checkpoint, learned_pairs
):
    status, out, _ = run(
        capsys,
        "translate",
        learned_pairs[0][0],
        "--checkpoint",
        tiny_checkpoint,
        "--json",
        "--beam",
        4,
        "--n-best",
        3,
    )
    found = json.loads(out)
    assert status == 0 and out.count("\n") == 1
    assert list(found) == [
        "text",
        "score",
        "pieces",
        "log_probs",
        "alternatives",
        "n_best",
        "warnings",
    ]
    assert found["text"] == learned_pairs[0][1] == found["n_best"][0]["text"]
    assert len(found["n_best"]) == 3 and len(found["pieces"]) == len(found["log_probs"])
    assert found["alternatives"][0][0] == {
        "piece": found["pieces"][0],
        "log_prob": pytest.approx(found["log_probs"][0], abs=1e-5),
    }


def test_lines_of_standard_input_come_out_one_a_line_in_order(
    capsys, tiny_checkpoint, learned_pairs, monkeypatch
):
    monkeypatch.setattr(
        "sys.stdin", io.StringIO("\n".join(english for english, _ in learned_pairs))
    )
    status, out, err = run(capsys, "translate", "--checkpoint", tiny_checkpoint)
    assert (status, err) == (0, "")
    assert out.splitlines() == [spanish for _, spanish in learned_pairs]


def test_a_bad_line_keeps_its_place_and_the_others_are_translated(
    capsys, tiny_checkpoint, learned_pairs, monkeypatch
):
    lines = [learned_pairs[0][0], "", learned_pairs[1][0]]
    for flags, middle in (([], ""), (["--json"], None)):
        monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(lines)))
        status, out, err = run(
            capsys, "translate", "--checkpoint", tiny_checkpoint, *flags
        )
        first, second, third = out.split("\n")[:3]
        assert status == 2
        assert (
            err
            == "Line 2: There is nothing to translate: type a sentence in English.\n"
        )
        if middle is None:
            assert json.loads(second) == {
                "error": "There is nothing to translate: type a sentence in English."
            }
        else:
            assert [first, second, third] == [
                learned_pairs[0][1],
                "",
                learned_pairs[1][1],
            ]


@pytest.mark.parametrize("bad", ["\ufffd", "\u2581"])
def test_a_line_of_no_piece_is_a_bad_line(
    capsys, tiny_checkpoint, learned_pairs, monkeypatch, bad
):
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{learned_pairs[0][0]}\n{bad}\n"))
    status, out, err = run(capsys, "translate", "--checkpoint", tiny_checkpoint)
    assert (status, out) == (2, f"{learned_pairs[0][1]}\n\n")
    assert err == "Line 2: There is nothing to translate: type a sentence in English.\n"


@pytest.mark.parametrize(
    "environment",
    [
        {"LC_ALL": "C"},
        {"LC_ALL": "POSIX"},
        {"LC_ALL": "C.UTF-8"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    ],
)
@pytest.mark.slow
def test_standard_input_is_utf_8_whatever_the_locale(environment):
    code = (
        "from xformer.commands.lines import answer\n"
        "from xformer.results import UserError\n"
        "class Echo(str):\n    warnings = ()\n"
        "try:\n    answer([], lambda lines: [Echo(line.strip()) for line in lines], ascii, False)\n"
        "except UserError as error:\n    print(error)"
    )
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("LC_", "LANG", "PYTHON"))
    }
    refusal = "Standard input is not UTF-8 text (invalid continuation byte); convert it first.\n"
    for sent, out in (("café\n".encode(), "'caf\\xe9'\n"), (b"caf\xe9\n", refusal)):
        done = subprocess.run(
            [sys.executable, "-c", code],
            input=sent,
            capture_output=True,
            check=True,
            cwd=ROOT,
            env={**kept, **environment},
        )
        assert (done.stdout.decode(), done.stderr) == (out, b"")


@pytest.mark.slow
@pytest.mark.parametrize("command", ["translate", "classify"])
def test_other_bytes_than_utf_8_are_refused_in_the_c_locale(
    tiny_checkpoint, tiny_classifier, command
):
    folder = tiny_checkpoint if command == "translate" else tiny_classifier
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("LC_", "LANG", "PYTHON"))
    }
    done = subprocess.run(
        [sys.executable, "-m", "xformer", command, "--checkpoint", folder],
        input=b"caf\xe9\n",
        capture_output=True,
        check=False,
        cwd=ROOT,
        env={**kept, "LC_ALL": "C"},
    )
    assert (done.returncode, done.stdout) == (2, b"")
    assert (
        done.stderr.startswith(b"Standard input is not UTF-8 text (")
        and done.stderr.count(b"\n") == 1
    )


def test_two_dashes_end_the_options(capsys, tiny_checkpoint):
    status, out, _ = run(
        capsys, "translate", "--checkpoint", tiny_checkpoint, "--", "--json"
    )
    assert status == 0 and not out.startswith("{")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "There is nothing to translate"),
        ("  \n ", "There is nothing to translate"),
        ("\x07", "There is nothing to translate"),
        ("word " * 10_000, "(10,000 words); at most 5,000 characters"),
        ("🙂", "never seen these characters: 🙂"),
        ("你好", "never seen these characters: 你好"),
    ],
)
def test_bad_text_gets_one_sentence_and_status_2(capsys, tiny_checkpoint, text, said):
    status, out, err = run(
        capsys, "translate", "--checkpoint", tiny_checkpoint, "--json", "--", text
    )
    assert (status, out) == (2, "")
    assert said in err and err.count("\n") == 1


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (
            ["--beam", 0],
            "--beam is 0; it must be a whole number, at least 1 and at most 32.",
        ),
        (["--beam", 3, "--n-best", 5], "n_best is 5, but a beam of 3"),
        (["--device", "cuda:99"], "The device cuda:99 is not available"),
        (
            ["--checkpoint", "no/such/folder"],
            "There is no checkpoint folder at no/such/folder",
        ),
    ],
)
def test_bad_options_get_one_sentence_and_status_2(
    capsys, tiny_checkpoint, flags, said
):
    status, out, err = run(
        capsys, "translate", "The cat sleeps.", "--checkpoint", tiny_checkpoint, *flags
    )
    assert (status, out) == (2, "")
    assert said in err and err.count("\n") == 1


TRANSLATION = ("train", "translation", "--data", "no", "--out", "no", "--steps", 1)
SENTIMENT = ("train", "sentiment", "--data", "no", "--out", "no", "--steps", 1)
PAIRS = ("evaluate", "translation", "--pairs", "no")


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (
            (*TRANSLATION, "--dev-limit", 0),
            "--dev-limit is 0; it must be a whole number, at least 1.",
        ),
        (
            (*TRANSLATION, "--dev-limit", -39),
            "--dev-limit is -39; it must be a whole number, at least 1.",
        ),
        (
            (*TRANSLATION, "--peak", "nan"),
            "--peak is nan; it must be a number, at least 0.",
        ),
        (
            (*TRANSLATION, "--minutes", "nan"),
            "--minutes is nan; it must be a number, at least 0.",
        ),
        (
            (*TRANSLATION, "--minutes", "inf"),
            "--minutes is inf; it must be a number, at least 0.",
        ),
        (
            (*TRANSLATION, "--extra-weight", 2),
            "--extra-weight is 2.0; it must be a number, at least 0 and at most 1.",
        ),
        (
            (*TRANSLATION, "--smoothing", 2),
            "--smoothing is 2.0; it must be a number, at least 0 and below 1.",
        ),
        (
            (*TRANSLATION, "--sampled", 7),
            "--sampled is 7.0; it must be a number, at least 0 and at most 1.",
        ),
        (
            (*TRANSLATION, "--batch-tokens", -5),
            "--batch-tokens is -5; it must be a whole number, at least 1.",
        ),
        (
            (*TRANSLATION, "--threads", -1),
            "--threads is -1; it must be a whole number, at least 1 and at most 1,024.",
        ),
        (
            (*SENTIMENT, "--labels", 0),
            "--labels is 0.0; it must be a number, above 0 and at most 1.",
        ),
        (
            (*SENTIMENT, "--dev-limit", -1),
            "--dev-limit is -1; it must be a whole number, at least 0.",
        ),
        (
            (*SENTIMENT, "--max-length", 2),
            "--max-length is 2; it must be a whole number, at least 3 and at most 65,536.",
        ),
        (
            (*PAIRS, "--limit", -5),
            "--limit is -5; it must be a whole number, at least 0.",
        ),
        (
            ("evaluate", "sentiment", "--rows", "no", "--limit", -5),
            "--limit is -5; it must be a whole number, at least 0.",
        ),
        (
            (*PAIRS, "--length-penalty", "nan"),
            "--length-penalty is nan; it must be a number, at least 0 and at most 5.",
        ),
    ],
)
def test_a_number_out_of_its_range_gets_one_sentence(capsys, argv, said):
    assert run(capsys, *argv) == (2, "", said + "\n")


def numbers(p):
    """The options of a parser and of those below it that are numbers."""
    for action in p._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield from numbers(below)
        elif action.type in (int, float):
            yield action


def test_every_number_has_a_range_and_its_default_is_in_it():
    options = [*numbers(parser()), *numbers(of_research())]
    assert len(options) > 60
    for option in options:
        assert isinstance(option, Within) and option.limits, option.option_strings
        if option.default is not None:
            option(None, argparse.Namespace(), option.default, option.option_strings[0])


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("train translation --data here --out there", TranslationRun),
        ("train language-model --data here --out there", LanguageModelRun),
        ("train sentiment --data here --out there", SentimentRun),
        ("data translation --out there", TranslationDownload),
        ("data sentiment --out there", SentimentDownload),
        ("data nearest --data here --checkpoint one", NearestRun),
        ("study runs --data here", StudyRuns),
        ("study pretraining --data here", PretrainingRuns),
        ("study generations --data here --out there --vocabulary one", GenerationRuns),
    ],
)
def test_the_command_line_has_the_defaults_of_the_record(line, kind):
    given = {
        "data": Path("here"),
        "out": Path("there"),
        "checkpoint": "one",
        "vocabulary": "one",
    }
    required = {f.name: given[f.name] for f in fields(kind) if f.default is MISSING}
    parsing = parser if line.startswith("train") else of_research
    assert record(kind, parsing().parse_args(line.split())) == kind(**required)


def test_a_flag_that_switches_off_what_is_on_by_default_reaches_the_record():
    args = parser().parse_args(
        [
            "train",
            "translation",
            "--data",
            "a",
            "--out",
            "b",
            "--no-roughening",
            "--seed",
            "3",
        ]
    )
    assert record(TranslationRun, args) == TranslationRun(
        Path("a"), Path("b"), roughening=False, seed=3
    )


def test_as_many_positions_can_be_asked_for_as_a_checkpoint_may_have():
    assert MOST_POSITIONS == checkpoint.MOST_POSITIONS


@pytest.mark.parametrize("port", ["abc", "", "-1", "70000"])
def test_a_wrong_port_in_the_environment_gets_one_sentence(port):
    done = subprocess.run(
        [sys.executable, ROOT / "app.py", "--help"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "GRADIO_SERVER_PORT": port},
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        done.stderr
        == f"GRADIO_SERVER_PORT is {port!r}, which is no port; write a number from 0 to 65535.\n"
    )


def test_the_environment_names_a_checkpoint(
    capsys, tiny_checkpoint, learned_pairs, monkeypatch
):
    monkeypatch.setenv("XFORMER_CHECKPOINT", str(tiny_checkpoint))
    assert (
        run(capsys, "translate", learned_pairs[0][0])[1] == learned_pairs[0][1] + "\n"
    )


def test_evaluate_scores_with_signatures(
    capsys, tiny_checkpoint, learned_pairs, tmp_path
):
    file = tmp_path / "pairs.tsv"
    file.write_text(
        "".join(f"{english}\t{spanish}\n" for english, spanish in learned_pairs),
        encoding="utf-8",
    )
    status, out, _ = run(
        capsys,
        "evaluate",
        "translation",
        "--pairs",
        file,
        "--checkpoint",
        tiny_checkpoint,
        "--json",
    )
    scores = json.loads(out)
    assert status == 0
    assert (scores["bleu"], scores["chrf"], scores["sentences"]) == (
        100.0,
        100.0,
        len(learned_pairs),
    )
    assert (
        "tok:13a|smooth:exp" in scores["bleu_signature"]
        and "case:mixed" in scores["bleu_signature"]
    )
    status, out, _ = run(
        capsys,
        "evaluate",
        "translation",
        "--pairs",
        file,
        "--checkpoint",
        tiny_checkpoint,
        "--limit",
        3,
        "--beam",
        1,
    )
    assert status == 0 and "BLEU 100.0" in out and "3 sentences" in out


def test_translates_in_8_bits_and_keeps_no_scores_of_them(
    capsys, tiny_checkpoint, learned_pairs, tmp_path
):
    english, spanish = learned_pairs[0]
    assert run(
        capsys,
        "translate",
        english,
        "--checkpoint",
        tiny_checkpoint,
        "--device",
        "cpu",
        "--precision",
        "int8",
    ) == (0, spanish + "\n", "")
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text(f"{english}\t{spanish}\n", encoding="utf-8")
    assert run(
        capsys,
        "evaluate",
        "translation",
        "--pairs",
        pairs,
        "--checkpoint",
        tiny_checkpoint,
        "--precision",
        "int8",
        "--save",
    ) == (
        2,
        "",
        "--save keeps the scores of the weights as they are; leave out --save, or "
        "--precision int8.\n",
    )


def test_evaluate_plain_lowers_the_english_and_takes_its_stop_away(
    capsys, tiny_checkpoint, tmp_path, monkeypatch
):
    from xformer.serve.translation import Service

    seen = []
    translate = Service.translate_many
    monkeypatch.setattr(
        Service,
        "translate_many",
        lambda self, texts, *a, **k: (
            seen.extend(texts) or translate(self, texts, *a, **k)
        ),
    )
    file = tmp_path / "pairs.tsv"
    file.write_text("The Cat sleeps.\tEl gato duerme.\n", encoding="utf-8")
    status, out, _ = run(
        capsys,
        "evaluate",
        "translation",
        "--pairs",
        file,
        "--checkpoint",
        tiny_checkpoint,
        "--plain",
        "--lowercase",
    )
    assert status == 0 and seen == ["the cat sleeps"] and "case:lc" in out


def pairs_file(path, pairs):
    path.write_text("".join("\t".join(pair) + "\n" for pair in pairs), encoding="utf-8")
    return path


def test_a_test_may_be_scored_without_what_was_trained_on(
    capsys, tiny_checkpoint, learned_pairs, tmp_path
):
    """Of eight pairs three share a sentence with the file, in English, in Spanish, in
    both, whatever its lines are marked. The score that is kept says so, beside that of
    the whole set."""
    folder = shutil.copytree(tiny_checkpoint, tmp_path / "copy")
    test = pairs_file(tmp_path / "test.tsv", learned_pairs)
    file = pairs_file(
        tmp_path / "written.tsv",
        [
            (learned_pairs[0][0].upper(), "Otra cosa.", "in-test"),
            ("Something else.", learned_pairs[1][1], "written"),
            (*learned_pairs[2], "in-test"),
        ],
    )
    command = [
        "evaluate",
        "translation",
        "--pairs",
        test,
        "--checkpoint",
        folder,
        "--save",
    ]
    status, out, _ = run(capsys, *command, "--without", file)
    assert status == 0 and out.startswith(
        f"3 pairs left out that share a sentence with {file}\nBLEU 100.0"
    )
    assert "5 sentences in" in out
    assert run(capsys, *command)[0] == 0
    scores = json.loads((folder / "metrics.json").read_text())["scores"]
    assert [(score["set"], score["sentences"]) for score in scores] == [
        ("test without written", 5),
        ("test", 8),
    ]
    status, out, _ = run(capsys, *command, "--without", file, "--json")
    assert status == 0 and {
        key: json.loads(out)[key] for key in ("set", "left_out", "sentences", "bleu")
    } == {"set": "test without written", "left_out": 3, "sentences": 5, "bleu": 100.0}


def test_a_test_without_any_pair_is_refused(
    capsys, tiny_checkpoint, learned_pairs, tmp_path
):
    test = pairs_file(tmp_path / "test.tsv", learned_pairs)
    status, out, err = run(
        capsys,
        "evaluate",
        "translation",
        "--pairs",
        test,
        "--checkpoint",
        tiny_checkpoint,
        "--without",
        test,
    )
    assert (status, out) == (2, "") and err == (
        f"Every pair of {test} shares a sentence with {test}, and none is left to score; name another file with "
        f"--without.\n"
    )
    status, out, err = run(
        capsys,
        "evaluate",
        "translation",
        "--pairs",
        test,
        "--checkpoint",
        tiny_checkpoint,
        "--without",
        tmp_path / "nowhere.tsv",
    )
    assert (status, out) == (2, "") and err.startswith(
        f"There is no file {tmp_path / 'nowhere.tsv'}; name a .tsv"
    )


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "There is no file"),
        ("", "holds no sentence pairs"),
        ("only English\n", "line 1 of"),
    ],
)
def test_a_bad_file_of_pairs_gets_one_sentence(
    capsys, tiny_checkpoint, tmp_path, content, said
):
    file = tmp_path / "pairs.tsv"
    if content is not None:
        file.write_text(content, encoding="utf-8")
    status, out, err = run(
        capsys,
        "evaluate",
        "translation",
        "--pairs",
        file,
        "--checkpoint",
        tiny_checkpoint,
    )
    assert (status, out) == (2, "") and said in err and err.count("\n") == 1


@pytest.mark.parametrize(
    "argv",
    [
        ("evaluate", "translation", "--pairs", "."),
        ("evaluate", "sentiment", "--rows", "."),
        ("evaluate", "alignment", "--gold", "."),
        ("translate", "A cat.", "--checkpoint", "x" * 300),
    ],
)
def test_what_is_no_file_gets_one_sentence(
    capsys, tiny_checkpoint, tiny_classifier, argv
):
    kind = tiny_classifier if "sentiment" in argv else tiny_checkpoint
    status, out, err = run(
        capsys, *argv, *([] if "--checkpoint" in argv else ["--checkpoint", kind])
    )
    assert (
        (status, out) == (2, "")
        and "cannot be read or written (" in err
        and err.count("\n") == 1
    )


@pytest.mark.parametrize("scores", [3, [{}], ["x"]])
def test_scores_that_are_none_get_one_sentence(
    capsys, tiny_checkpoint, tmp_path, scores
):
    folder = shutil.copytree(tiny_checkpoint, tmp_path / "copy")
    (folder / "metrics.json").write_text(json.dumps({"scores": scores}))
    status, out, err = run(capsys, "checkpoint", "info", folder)
    assert (status, out) == (2, "") and err.count("\n") == 1
    assert err.startswith(
        (
            "The scores in metrics.json are not as",
            f"The file {folder / 'metrics.json'} has a value of the wrong form",
        )
    )


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (
            lambda d: (d / "model.safetensors").write_bytes(
                (d / "model.safetensors").read_bytes()[:1000]
            ),
            "truncated",
        ),
        (lambda d: (d / "config.json").write_text("{"), "not readable as JSON"),
        (lambda d: (d / "tokenizer.model").unlink(), "lacks tokenizer.model"),
        (
            lambda d: (d / "model.safetensors").rename(d / "pytorch_model.bin"),
            "pytorch_model.bin, which can run code",
        ),
        (
            lambda d: (d / "config.json").write_text(
                (d / "config.json").read_text().replace('"d_ff": 64', '"d_ff": 80')
            ),
            "of another shape",
        ),
    ],
)
def test_a_broken_checkpoint_gets_one_sentence_here_and_from_the_app(
    capsys, tiny_checkpoint, tmp_path, spoil, said
):
    folder = tmp_path / "broken"
    shutil.copytree(tiny_checkpoint, folder)
    spoil(folder)
    status, out, err = run(
        capsys, "translate", "The cat sleeps.", "--checkpoint", folder
    )
    assert (status, out) == (2, "") and said in err and err.count("\n") == 1

    import app

    sys_argv = sys.argv
    sys.argv = ["app.py", "--checkpoint", str(folder)]
    try:
        assert app.main() == 2
    finally:
        sys.argv = sys_argv
    assert said in capsys.readouterr().err


@pytest.mark.slow
def test_a_reader_that_goes_away_is_no_stack_trace(tiny_checkpoint, learned_pairs):
    lines = "\n".join(english for english, _ in learned_pairs) * 40
    command = [
        sys.executable,
        "-m",
        "xformer",
        "translate",
        "--checkpoint",
        str(tiny_checkpoint),
        "--beam",
        "1",
    ]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        process.stdout.close()
        err = _feed(process, lines)
    assert "Traceback" not in err


def _feed(process, lines):
    try:
        process.stdin.write(lines)
        process.stdin.close()
    except BrokenPipeError:
        pass
    return process.stderr.read()


@pytest.mark.slow
@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["--help"],
        ["translate", "--help"],
        ["train", "translation", "--help"],
        ["evaluate", "translation", "--help"],
        ["classify", "--help"],
        ["checkpoint", "push", "--help"],
        ["train", "sentiment", "--help"],
        ["train", "language-model", "--help"],
    ],
)
def test_help_needs_no_torch(argv):
    code = (
        "import sys\nfrom xformer.__main__ import main\n"
        "try:\n    main(sys.argv[1:])\nexcept SystemExit:\n    pass\n"
        "sys.exit('torch' in sys.modules)"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", code, *argv], capture_output=True, check=False
        ).returncode
        == 0
    )


def test_translate_prints_the_tree_of_a_beam(tiny_checkpoint, learned_pairs, capsys):
    english, spanish = learned_pairs[1]
    command = [
        "translate",
        english,
        "--tree",
        "--beam",
        "2",
        "--checkpoint",
        str(tiny_checkpoint),
        "--device",
        "cpu",
    ]
    assert main(command) == 0
    first, *lines, last = capsys.readouterr().out.splitlines()
    assert first == "step 1" and last == spanish
    kinds = {line.split()[0] for line in lines}
    assert kinds == {"step", "kept", "ended", "dropped"}
    assert main([*command, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["tree"][0].keys() == {
        "piece",
        "parent",
        "step",
        "token",
        "log_prob",
        "total",
        "score",
        "fate",
    }
    assert len(answer["tree"]) == sum(not line.startswith("step") for line in lines)
