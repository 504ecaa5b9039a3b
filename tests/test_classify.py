"""`classify --file`: what is read from which file, what a broken one is told, and what
comes out."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.test_command_line import run
from xformer.commands import classify
from xformer.results import UserError


def kept(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


TABLES = [
    (
        "a.csv",
        'text,label\nGood one,1\n"Bad, bad",0\n',
        "text",
        ["Good one", "Bad, bad"],
    ),
    (
        "a.csv",
        '\ufefflabel,review\r\nneg,"It ""was""\nbad"\r\npos,Good\r\n',
        "review",
        ['It "was"\nbad', "Good"],
    ),
    (
        "a.csv",
        "id;Review text;stars\n1;Good, really;5\n2;Bad;1\n",
        "2",
        ["Good, really", "Bad"],
    ),
    ("a.csv", "0,Bad film\n1,Good film\n", "2", ["Bad film", "Good film"]),
    ("a.csv", "text\nGood film\nBad film\n", "text", ["Good film", "Bad film"]),
    ("a.csv", "Good film\n\n , \nBad film\n", None, ["Good film", "Bad film"]),
    ("a.csv", "title,text\nUp,Good film\nDown\n", "text", ["Good film", ""]),
    (
        "a.TSV",
        "text\tlabel\nGood, really, good\t1\nBad, really\t0\n",
        "text",
        ["Good, really, good", "Bad, really"],
    ),
    (
        "a.txt",
        'label,1\r\n\n  \n"Bad" one\rand\u2028so on',
        None,
        ["label,1", '"Bad" one', "and\u2028so on"],
    ),
]


@pytest.mark.parametrize(("name", "content", "column", "wanted"), TABLES)
def test_texts_of_a_file_are_found(tmp_path, name, content, column, wanted):
    assert classify.read(kept(tmp_path, name, content), column) == wanted


BROKEN = [
    (
        "a.xlsx",
        b"PK\x03\x04",
        None,
        "a.xlsx is of a kind that is not read; save it as .csv, .tsv or .txt, in UTF-8.",
    ),
    (
        "a.csv",
        b"\xff\xfet\0e\0x\0t\0",
        None,
        "is not in UTF-8: its byte 1 does not belong there; save it in UTF-8.",
    ),
    (
        "a.csv",
        "text\nCafé\n".encode("latin-1"),
        None,
        "its byte 9 does not belong there",
    ),
    (
        "a.csv",
        b'text,label\nGood,1\n"Bad,0\nGood,1\n',
        "text",
        "is no table: unexpected end of data in line 4; put",
    ),
    (
        "a.csv",
        b"x" * 5_000_001,
        None,
        "a.csv has 5,000,001 bytes; at most 5,000,000 are read: split it.",
    ),
    (
        "a.csv",
        "title,text\nUp,Good\n",
        None,
        "has several columns; name one by --column, or its number: title, text.",
    ),
    (
        "a.csv",
        "title,text\nUp,Good\n",
        "review",
        "no column review; name one by --column, or its number: title, text.",
    ),
    ("a.csv", "title,text\nUp,Good\n", "3", "has no column 3;"),
    ("a.txt", "Good\n", "text", "has no column text;"),
]


@pytest.mark.parametrize(("name", "content", "column", "said"), BROKEN)
def test_a_broken_file_gets_one_sentence(tmp_path, name, content, column, said):
    with pytest.raises(UserError) as refused:
        classify.read(kept(tmp_path, name, content), column)
    sentence = str(refused.value)
    assert said in sentence and sentence.endswith(".") and "\n" not in sentence


@given(
    st.sampled_from(["a.csv", "a.tsv", "a.txt"]),
    st.sampled_from([None, "1", "a"]),
    st.one_of(
        st.binary(max_size=200),
        st.text(max_size=200).map(lambda s: s.encode("utf-8", "replace")),
        st.text(alphabet="a1,;\t\n\r\"' ", max_size=200).map(str.encode),
    ),
)
def test_any_bytes_give_texts_or_one_sentence(tmp_path_factory, name, column, data):
    try:
        texts = classify.read(kept(tmp_path_factory.getbasetemp(), name, data), column)
    except UserError as refused:
        assert str(refused).endswith(".")
        return
    assert all(isinstance(text, str) for text in texts)


def test_a_table_of_the_rows_comes_out_and_why_one_has_no_label(
    capsys, tmp_path, tiny_classifier, reviews
):
    # more than are computed at once
    rows = [*reviews * 6, (0, "你好"), (1, f"=1+1 {reviews[0][1]}")]
    out = io.StringIO()
    csv.writer(out).writerows([("label", "review"), *rows])
    path = kept(tmp_path, "reviews.csv", out.getvalue())
    status, said, errors = run(
        capsys,
        "classify",
        "--file",
        path,
        "--column",
        "review",
        "--checkpoint",
        tiny_classifier,
    )
    head, *found = csv.reader(io.StringIO(said))
    assert head == ["row", "text", "label", "probability"] and len(found) == 74
    for number, (row, (label, text)) in enumerate(
        zip(found[:72], rows, strict=False), 1
    ):
        assert (
            row[:3] == [str(number), text, ("negative", "positive")[label]]
            and 0.5 < float(row[3]) <= 1
        )
    assert (
        found[72] == ["73", "你好", "", ""] and found[73][1] == f"'=1+1 {reviews[0][1]}"
    )
    assert status == 2 and errors.startswith("Row 73: ") and errors.count("\n") == 1


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--column", "text"], "--column a column of it"),
        (["--file", "a.csv", "Good."], "neither goes with TEXT"),
        (["--file", "a.csv", "--json"], "or --json"),
        (["--file", "none.csv"], "none.csv cannot be read"),
        (["--file", "empty.txt"], "empty.txt holds no text; write one in each row."),
    ],
)
def test_what_does_not_go_together_is_one_sentence(
    capsys, tmp_path, monkeypatch, more, said
):
    monkeypatch.chdir(tmp_path)
    kept(tmp_path, "empty.txt", " \n")
    status, out, err = run(capsys, "classify", *more)
    assert status == 2 and not out and said in err and err.count("\n") == 1


@given(st.text())
def test_no_cell_of_the_table_begins_like_a_formula(text):
    cell = classify.safe(text)
    assert (
        cell[:1] not in ("=", "+", "-", "@", "＝", "＋", "－", "＠", "\t", "\r")
        and "\0" not in cell
    )
    assert cell.removeprefix("'") == text.replace("\0", "\ufffd").removeprefix("'")


@pytest.mark.parametrize("sign", "=+-@＝＋－＠")
def test_a_sign_of_a_formula_gets_an_apostrophe_in_any_width(sign):
    assert classify.safe(f"{sign}HYPERLINK") == f"'{sign}HYPERLINK"
