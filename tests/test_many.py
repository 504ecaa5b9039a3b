"""Tables of texts: what is read from which file, what a broken one is told, and what comes out."""

import csv
import io
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xformer.parts.judging import many as part
from xformer.parts.judging import many_draw as figure
from xformer.results import Judged, Message, UserError
from xformer.serve import many as texts
from xformer.serve.reviews import SentimentService
from xformer.strings import ENGLISH, SPANISH
from xformer.ui.handlers import OFF, ON, Ask, end


@pytest.fixture(scope="module")
def reader(tiny_classifier):
    return SentimentService.open(tiny_classifier, "cpu")


def pairs(sheet):
    return [(row.text, row.given) for row in sheet.texts()]


def judged(reader, sheet):
    return list(texts.judge(reader, sheet.texts()))[-1][1]


def refused(name, data):
    with pytest.raises(UserError) as error:
        texts.parse(name, data)
    return str(error.value)


def test_pasted_lines_are_texts():
    sheet = texts.paste("Good, very good.\r\n\n  \n\"Bad\" one\rand\u2028so on\n")
    assert pairs(sheet) == [("Good, very good.", None), ('"Bad" one', None), ("and\u2028so on", None)]


TABLES = [
    ("a.csv", "text,label\nGood one,1\n\"Bad, bad\",0\n", [("Good one", "positive"), ("Bad, bad", "negative")]),
    ("a.csv", "\ufefflabel,review\r\nnegative,\"It \"\"was\"\"\nbad\"\r\npos,Good\r\n",
     [('It "was"\nbad', "negative"), ("Good", "positive")]),
    ("a.csv", ",text,label\n0,Good,1\n1,Bad,0\n", [("Good", "positive"), ("Bad", "negative")]),  # as pandas writes
    ("a.csv", "id;Review text;stars\n1;Good, really;5\n2;Bad;1\n", [("Good, really", None), ("Bad", None)]),
    ("a.csv", "0,Bad film\n1,Good film\n", [("Bad film", "negative"), ("Good film", "positive")]),
    ("a.csv", "text\nGood, really\nBad\n", [("Good, really", None), ("Bad", None)]),
    ("a.csv", "Good film\nBad film\n", [("Good film", None), ("Bad film", None)]),
    ("a.csv", "helpful,text\n1,Good film\n0,Bad film\n", [("Good film", None), ("Bad film", None)]),
    ("a.csv", "title,opinion\nUp,Good film\nDown,Bad film\n", [("Good film", None), ("Bad film", None)]),
    ("a.csv", "text,label\nHe said \"no\" twice,0\n\"Fine\" film,1\n",
     [('He said "no" twice', "negative"), ("Fine film", "positive")]),
    ("a.csv", "text,label\nGood film,1,,\nno label\n", [("Good film", "positive"), ("no label", None)]),
    ("a.tsv", "1\t\"Good\" film\n0\tbad\"\n", [('"Good" film', "positive"), ('bad"', "negative")]),
    ("a.TSV", "text\tlabel\n\"Good \"\"film\"\"\"\tpositive\nBad\tneg\n",
     [('Good "film"', "positive"), ("Bad", "negative")]),
    ("a.tsv", "text\tlabel\n\"Good\nfilm\"\t1\n", [("Good\nfilm", "positive")]),
    ("a.txt", "label,1\n\nBad\n", [("label,1", None), ("Bad", None)]),
]


@pytest.mark.parametrize(("name", "content", "wanted"), TABLES)
def test_texts_and_labels_are_found(name, content, wanted):
    assert pairs(texts.parse(name, content.encode())) == wanted


def test_another_column_can_be_chosen():
    sheet = texts.parse("a.csv", b"title,text,label\nUp,Good film,1\nDown,Bad film,0\n")
    assert (sheet.columns, sheet.text, sheet.label) == (("title", "text", "label"), 1, 2)
    assert [row.text for row in sheet.texts(0)] == ["Up", "Down"]
    assert [row.given for row in sheet.texts(2)] == [None, None], "a label is not its own answer"


def test_a_row_of_other_cells_gets_a_reason_and_the_rest_are_read():
    rows = texts.parse("a.csv", b"text,label\nGood, really good,1\nBad,0\n").texts()
    assert rows[0].problem.say() == ("The row has 3 cells where the table has 2; put a text with a comma in quotation "
                                     "marks.")
    assert rows[1] == texts.Row("Bad", "negative")


BROKEN = [
    ("a.csv", b"", "a.csv holds no text"),
    ("a.csv", b"\n , \n", "a.csv holds no text"),
    ("a.xlsx", b"PK\x03\x04", "a.xlsx is of a kind that is not read; save it as one of .csv, .tsv, .txt"),
    ("a.csv", b"PK\x03\x04\x14\0\x06\0", "a.csv is not a text file, whatever its name says, but looks like XLSX"),
    ("a.csv", b"\xff\xfet\0e\0x\0t\0", "a.csv is not in UTF-8: its byte 1"),
    ("a.csv", "text\nCafé\n".encode("latin-1"), "a.csv is not in UTF-8: its byte 9 does not belong there"),
    ("a.csv", b"\xef\xbb\xbfab\xe9", "its byte 6 does not belong there"),
    ("a.txt", b"good\0bad", "a.txt is not a text file: its byte 5 is zero"),
    ("a.csv", b"text,label\nGood,1\n\"Bad,0\nGood,1\n", "a quotation mark opens a cell in line 3 and is never closed"),
    ("a.csv", b"x" * 5_000_001, "a.csv has 5.0 MB; at most 5 MB"),
    ("a.txt", b"good\n" * 10_001, "a.txt has more than 10,000 rows"),
    ("a.csv", b"text\n" + b"good\n" * 10_001, "a.csv has more than 10,000 rows"),
    ("a.tsv", b"1\tgood\n" * 20_000, "a.tsv has more than 10,000 rows")]


@pytest.mark.parametrize(("name", "data", "said"), BROKEN)
def test_a_broken_file_gets_one_sentence(name, data, said):
    sentence = refused(name, data)
    assert said in sentence and "\n" not in sentence


def test_limits_are_reached_but_not_passed():
    assert len(texts.parse("a.csv", b"text\n" + b"good\n" * 10_000).rows) == 10_000
    with pytest.raises(UserError, match="more than 10,000 lines"):
        texts.paste("good\n" * 10_001)
    with pytest.raises(UserError, match="has 5.0 MB"):
        texts.paste("é" * 2_500_001)
    with pytest.raises(UserError, match="paste texts, one per line"):
        texts.paste(" \n")


def test_a_large_file_is_refused_unread(tmp_path, monkeypatch):
    path = tmp_path / "large.csv"
    path.write_bytes(b"x" * 5_000_001)
    monkeypatch.setattr(type(path), "read_bytes", lambda self: pytest.fail("it was read"))
    with pytest.raises(UserError, match="large.csv has 5.0 MB"):
        texts.load(path)


@given(st.sampled_from(["a.csv", "a.tsv", "a.txt"]),
       st.one_of(st.binary(max_size=200), st.text(max_size=200).map(lambda s: s.encode("utf-8", "replace")),
                 st.text(alphabet="a1,;\t\n\r\"' ", max_size=200).map(str.encode)))
def test_any_bytes_give_rows_or_one_sentence(name, data):
    try:
        sheet = texts.parse(name, data)
    except UserError as error:
        assert error.say(SPANISH) and error.say(ENGLISH)
        return
    assert sheet.rows and 0 <= sheet.text < len(sheet.columns) and sheet.label != sheet.text
    for column in range(len(sheet.columns)):
        assert len(sheet.texts(column)) == len(sheet.rows)


def test_answers_stand_in_the_order_of_the_rows_and_agree_with_one_at_a_time(reader, reviews, monkeypatch):
    monkeypatch.setattr(texts, "CHUNK", 100)
    sheet = texts.parse("a.tsv", "".join(f"{label}\t{review}\n" for label, review in reviews).encode())
    steps = list(texts.judge(reader, sheet.texts()))
    assert len(steps) > 2, "read in several chunks"
    done = [count for count, _ in steps]
    assert done == sorted(done) and done[-1] == len(reviews)
    for count, found in steps:
        assert sum(row.label is not None for row in found) == count
    for (label, review), row in zip(reviews, steps[-1][1], strict=True):
        one, = reader.classify([review])
        assert (row.text, row.given, row.label) == (review, ("negative", "positive")[label], one.label)
        assert row.probability == pytest.approx(one.probability, abs=1e-5)
    assert figure.summary(steps[-1][1])[2] == "Accuracy: 100.0 %, 12 of the 12 texts that have a label."


def test_unreadable_rows_cost_the_others_nothing(reader):
    rows = ["The actors are great.", "", "你好", "a" * 30_001, "\u0007", "\ufffd \u2581"]
    sheet = texts.Sheet("a.csv", ("text",), tuple((row,) for row in rows), 0, None)
    found = judged(reader, sheet)
    assert [row.label for row in found] == ["positive", None, None, None, None, None]
    said = [row.notes[0].say() for row in found[1:]]
    assert "nothing to judge" in said[0] and "never seen these characters: 你好" in said[1]
    assert "30,001 characters" in said[2]
    assert "nothing to judge" in said[3] and "nothing to judge" in said[4]


def test_nothing_is_computed_for_whoever_stops(reader, monkeypatch):
    monkeypatch.setattr(texts, "CHUNK", 1)
    read = []
    answer = reader.classify
    monkeypatch.setattr(reader, "classify", lambda some: read.extend(some) or answer(some))
    steps = texts.judge(reader, texts.paste("Good.\nVery good.\nVery, very good.").texts())
    done, found = next(steps)
    steps.close()
    assert (done, read) == (1, ["Good."])
    assert [row.label is None for row in found] == [False, True, True]
    assert found[2].notes[0].say() == "not read"


def test_what_was_read_before_a_refusal_is_shown_and_can_be_saved(reader, monkeypatch):
    monkeypatch.setattr(texts, "CHUNK", 1)
    answer, asked = reader.classify, []

    def busy(some):
        asked.append(some)
        if len(asked) > 1:
            raise UserError(Message.of("error_busy", people=128))
        return answer(some)

    monkeypatch.setattr(reader, "classify", busy)
    seen = {}
    with pytest.raises(UserError, match="serves 128 people at once"):
        for shown in part.run(reader, ENGLISH, block="Good.\nVery good.", sheet=None, column=None):
            seen |= shown
    assert "Good." in seen["result"] and seen["keep"]["interactive"]
    assert [row.label is None for row in seen["judged"]] == [False, True]
    last = Ask.always(reader, ENGLISH).answer(part.run, block="Good.\nVery good.", sheet=None, column=None)
    assert "serves 128 people at once" in last["problem"] and not last["stop"]["interactive"]


def test_who_stops_keeps_what_was_read(reader, reviews, monkeypatch):
    monkeypatch.setattr(texts, "CHUNK", 300)
    ask, lines = Ask.always(reader, ENGLISH), "\n".join(review for _, review in reviews) + "\n"
    said = {}
    for answer in ask.answers(part.run, block=lines * 30, sheet=None, column=None):
        said |= answer
        if said["halt"] is not None and said["judged"]:
            assert ask.answer(end, halt=said["halt"])["stop"] == OFF
    read = sum(row.label is not None for row in said["judged"])
    assert 0 < read < 360 and (said["stop"], said["keep"], said["halt"]) == (OFF, ON, None)
    assert ENGLISH.html("texts_stopped") in said["result"]
    assert ENGLISH.say("texts_unread", count=360 - read, of=360) in said["result"]
    assert ENGLISH.say("texts_shown", shown=300, of=360) in said["result"]


def test_a_file_goes_before_what_is_pasted_until_it_is_forgotten(reader):
    ask, sheet = Ask.always(reader, ENGLISH), texts.parse("a.csv", b"title,text\nUp,Good film\nDown,Bad film\n")
    of_file = ask.answer(part.run, block="Good.", sheet=sheet, column=0)
    assert [row.text for row in of_file["judged"]] == ["Up", "Down"] and of_file["problem"] == ""
    forgotten = ask.answer(part.forget)
    assert forgotten["sheet"] is None and not forgotten["chosen"]["visible"] and forgotten["description"] == ""
    pasted = ask.answer(part.run, block="Good.", sheet=None, column=None)
    assert [row.text for row in pasted["judged"]] == ["Good."]
    nothing = ask.answer(part.run, block=" ", sheet=None, column=None)
    assert ENGLISH.say("error_texts_empty_pasted") in nothing["problem"] and nothing["stop"] == OFF


def test_a_file_that_is_uploaded_is_read_and_deleted_even_if_it_is_broken(tmp_path):
    ask, good, broken = Ask.always(None, ENGLISH), tmp_path / "good.csv", tmp_path / "broken.csv"
    good.write_text("text,label\nGood film,1\n", encoding="utf-8")
    broken.write_bytes(b"PK\x03\x04")
    answer = ask.answer(part.upload, file=str(good))
    assert answer["problem"] == "" and answer["file"] is None and pairs(answer["sheet"]) == [("Good film", "positive")]
    assert "Labels are in column “label”" in answer["description"] and answer["chosen"]["visible"]
    assert answer["column"]["choices"] == [("text · Good film", 0), ("label · 1", 1)] and answer["column"]["visible"]
    answer = ask.answer(part.upload, file=str(broken))
    assert "broken.csv is not a text file" in answer.pop("problem") and answer == {"file": None}
    assert not [*tmp_path.iterdir()]


FOUND = [Judged("=HYPERLINK(1)", "positive", "positive", 0.9, ()),
         Judged("+1, \"quoted\"\nand more", "positive", "negative", 0.6, (Message.of("warning_control", count=2),)),
         Judged("<b>bold</b>", None, None, None, (Message.of("error_review_empty"),))]


def test_the_file_holds_every_row_whole_and_no_formula():
    content = texts.as_csv([*FOUND, Judged("x" * 500, None, "negative", 0.98765, ())])
    assert content.startswith(b"\xef\xbb\xbf")
    rows = list(csv.reader(io.StringIO(content.decode("utf-8-sig"), newline="")))
    assert rows == [["row", "text", "label", "probability", "given", "note"],
                    ["1", "'=HYPERLINK(1)", "positive", "0.9000", "positive", ""],
                    ["2", "'+1, \"quoted\"\nand more", "negative", "0.6000", "positive",
                     "2 control characters were left out."],
                    ["3", "<b>bold</b>", "", "", "", "There is nothing to judge: type or paste an English review."],
                    ["4", "x" * 500, "negative", "0.9877", "", ""]]


@given(st.text())
def test_no_cell_of_the_file_begins_like_a_formula(text):
    content = texts.as_csv([Judged(text, None, "positive", 0.5, ())]).decode("utf-8-sig")
    cell = list(csv.reader(io.StringIO(content.replace("\0", ""), newline="")))[1][1]
    assert cell[:1] not in ("=", "+", "-", "@", "＝", "＋", "－", "＠", "\t", "\r")


@pytest.mark.parametrize("sign", "=+-@＝＋－＠")
def test_a_sign_of_a_formula_gets_an_apostrophe_in_any_width(sign):
    assert f",'{sign}HYPERLINK," in texts.as_csv([Judged(f"{sign}HYPERLINK", None, None, None, ())]).decode()


@pytest.mark.parametrize(("name", "separator"), [("wide.csv", ","), ("wide.tsv", "\t")])
def test_a_table_has_so_many_columns_at_most(name, separator):
    def table(columns, body=separator):
        return (body.join(["a"] * (columns - 1) + ["text"]) + "\n" + body.join(["good"] * columns)).encode()
    assert len(texts.parse(name, table(texts.MAX_COLUMNS)).columns) == texts.MAX_COLUMNS == 1_000
    sentence = (f"{name} has more than 1,000 cells in row 1, the most that are read: leave out the columns that hold "
                "no texts.")
    assert refused(name, table(texts.MAX_COLUMNS + 1)) == sentence
    began = time.perf_counter()
    assert refused(name, table(400_000)) == sentence
    assert time.perf_counter() - began < 5


def test_the_summary_counts_and_says_what_was_not_read():
    assert figure.summary(FOUND) == [
        "positive: 1 of 2 (50.0 %), probability 90.0 % on average.",
        "negative: 1 of 2 (50.0 %), probability 60.0 % on average.",
        "Accuracy: 50.0 %, 1 of the 2 texts that have a label.",
        "1 of 3 rows were not read; the notes say why."]
    assert figure.summary(FOUND, SPANISH)[0] == "positiva: 1 de 2 (50.0 %), con una probabilidad media del 90.0 %."


def test_the_table_shows_text_as_text_cut_and_the_first_rows_only():
    shown = figure.results(FOUND)
    assert "&lt;b&gt;bold&lt;/b&gt;" in shown and "<b>" not in shown
    assert 'class="differs"' in shown and 'class="unread"' in shown
    many = figure.results([Judged("word " * 500, None, "positive", 0.9, ())] * 301)
    assert many.count("<tr>") == 301, "a head and 300 rows"
    assert "The first 300 of 301 rows are shown" in many and "word …</td>" in many and len(many) < 100_000
