"""Fetching sentence pairs, from a server on this computer that fails in every way a
real one does."""

import errno
import io
import lzma
import os
import random
import socket
import sys
import threading
import zipfile
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from research.__main__ import main
from research.data import fetch
from xformer import __version__
from xformer.results import UserError
from xformer.training.data.corpora import read_marked_pairs, read_pairs

NOUNS = [
    (f"{a}{b}", f"{c}{b}")
    for a, c in (("red ", "rojo "), ("big ", "grande "), ("", ""), ("old ", "viejo "))
    for b in "abcdefghijklmnopqrstuvwxyz"
]
PAIRS = [(f"I see the {e}.", f"Veo el {s}.") for e, s in NOUNS]
WRITTEN = [
    ("Sea shells.", "Conchas marinas.", "written"),
    ("Good morning.", "Buenos días.", "in-test"),
    ("I see the red a.", "Ahí está.", "in-test"),
]
CREDIT = "CC-BY 2.0 (France) Attribution: tatoeba.org #1 (CK) & #2 (juan)"


def export(pairs):
    return "".join(f"{english}\t{spanish}\t{CREDIT}\n" for english, spanish in pairs)


def zipped(content, name="spa.txt", method=zipfile.ZIP_DEFLATED):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", method) as archive:
        archive.writestr("_about.txt", "About these files")
        archive.writestr(name, content)
    return packed.getvalue()


class Server(ThreadingHTTPServer):
    """Answers every request with `status`, `headers` and `body`; keeps the headers of
    the last request."""

    daemon_threads = True
    status = 200
    body = b""
    headers = {}
    asked = None

    def __init__(self):
        self.silent = threading.Event()  # set: no request stays without an answer
        self.silent.set()
        super().__init__(("127.0.0.1", 0), Answer)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/anki/spa-eng.zip"


class Answer(BaseHTTPRequestHandler):
    def do_GET(self):
        server = self.server
        server.asked = self.headers
        server.silent.wait(60)
        self.send_response(server.status)
        for name, value in {
            "Content-Length": str(len(server.body)),
            **server.headers,
        }.items():
            if value is not None:
                self.send_header(name, value)
        self.end_headers()
        self.wfile.write(server.body)

    def log_message(self, *args):
        pass


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    monkeypatch.setenv("no_proxy", "*")


@pytest.fixture(autouse=True)
def written(tmp_path_factory, monkeypatch):
    """Few pairs that come with the program, for speed; -> the paths of all."""
    few = tmp_path_factory.mktemp("written") / "written.tsv.xz"
    few.write_bytes(
        lzma.compress("".join("\t".join(row) + "\n" for row in WRITTEN).encode())
    )
    whole = fetch.WRITTEN
    monkeypatch.setattr(fetch, "WRITTEN", (few,))
    return whole


@pytest.fixture
def server():
    with Server() as server:
        thread = threading.Thread(
            target=server.serve_forever, kwargs={"poll_interval": 0.01}
        )
        thread.start()
        yield server
        server.silent.set()
        server.shutdown()
        thread.join()


@pytest.fixture
def call(server, tmp_path, capsys):
    """Runs the command with the server's address; returns (exit status, standard
    output, standard error)."""

    def run(*options, out=tmp_path / "data"):
        status = main(
            ["data", "translation", "--out", str(out), "--url", server.url, *options]
        )
        return status, *capsys.readouterr()

    return run


def refused(result, folder, *words):
    """The command said one sentence with these words and left the folder empty."""
    status, said, complaint = result
    assert (status, said) == (2, "")
    assert (
        complaint.count("\n") == 1
        and complaint.endswith(".\n")
        and "Traceback" not in complaint
    )
    for word in words:
        assert word in complaint
    assert not folder.is_dir() or list(folder.iterdir()) == []


def test_files_are_those_that_training_reads(server, call, tmp_path):
    server.body = zipped(export(PAIRS))
    status, said, complaint = call("--dev", "10")
    data = tmp_path / "data"
    assert (status, complaint) == (0, "")
    assert sorted(os.listdir(data)) == [
        "ATTRIBUTION.txt",
        "dev.tsv",
        "train.tsv.xz",
        "written.tsv.xz",
    ]
    train = read_pairs(data / "train.tsv.xz")
    dev = read_pairs(data / "dev.tsv")
    assert len(dev) == 10 and sorted(train + dev) == sorted(PAIRS)
    assert (data / "dev.tsv").read_bytes() == "".join(
        f"{e}\t{s}\n" for e, s in dev
    ).encode()
    assert f"{server.url}: 104 pairs" in said
    assert (
        "train.tsv.xz: 94 pairs\n" in said
        and "dev.tsv: 10 pairs of 10 English sentences\n" in said
    )


def test_program_says_its_name_and_version(server, tmp_path):
    server.body = b"content"
    fetch.fetch_file(server.url, tmp_path / "file")
    assert server.asked["User-Agent"] == f"xformer/{__version__}"
    assert (tmp_path / "file").read_bytes() == b"content" and os.listdir(tmp_path) == [
        "file"
    ]


def test_attribution_names_source_licence_day_and_numbers(
    server, call, tmp_path, monkeypatch
):
    monkeypatch.setattr(fetch.time, "gmtime", lambda: (2025, 3, 14, 0, 0, 0, 4, 73, 0))
    server.body = zipped(export(PAIRS))
    call("--dev", "4")
    text = (tmp_path / "data" / "ATTRIBUTION.txt").read_text(encoding="utf-8")
    for words in (
        "https://tatoeba.org",
        "https://www.manythings.org/anki/",
        "CC-BY 2.0 FR",
        "2025-03-14",
        server.url,
        "104 in the archive; 100 in train.tsv.xz, 4 in dev.tsv",
    ):
        assert words in text


def test_same_seed_same_bytes_and_another_seed_another_dev(server, call, tmp_path):
    server.body = zipped(export(PAIRS))
    for folder, seed in (("a", "0"), ("b", "0"), ("c", "1")):
        assert call("--seed", seed, "--dev", "10", out=tmp_path / folder)[0] == 0
    for name in ("train.tsv.xz", "dev.tsv"):
        first, again, other = (
            (tmp_path / folder / name).read_bytes() for folder in "abc"
        )
        assert first == again != other


def test_call_replaces_what_an_earlier_one_wrote(server, call, tmp_path):
    server.body = zipped(export(PAIRS))
    call("--seed", "1")
    assert call("--seed", "2")[0] == 0
    expected = fetch.hold_out(PAIRS, 2, 2)
    data = tmp_path / "data"
    assert (read_pairs(data / "train.tsv.xz"), read_pairs(data / "dev.tsv")) == expected


def test_no_sentence_of_dev_is_in_train(server, call, tmp_path):
    # few sentences, many pairs: each has several translations on both sides
    rng = random.Random(0)
    vary = (
        str.upper,
        str.lower,
        lambda s: s.rstrip("."),
        lambda s: f"¡{s[:-1]}!",
        lambda s: s.replace(" ", "  "),
    )
    pairs = [
        (rng.choice(vary)(rng.choice(PAIRS)[0]), rng.choice(vary)(rng.choice(PAIRS)[1]))
        for _ in range(300)
    ]
    server.body = zipped(export(pairs))
    assert call("--dev", "5")[0] == 0
    train, dev = (
        read_pairs(tmp_path / "data" / name) for name in ("train.tsv.xz", "dev.tsv")
    )
    assert len({fetch.key(english) for english, _ in dev}) == 5 < len(dev)
    for side in (0, 1):
        assert not {fetch.key(pair[side]) for pair in train} & {
            fetch.key(pair[side]) for pair in dev
        }
    # some went because their Spanish is in dev
    assert 0 < len(train) < len(set(pairs)) - len(dev)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Go.", "go", True),
        ("Don't go!", "Don’t  go", True),
        ("¿Qué?", "qué", True),
        ("Qué", "Que\u0301", True),
        ("It's 5 p.m.", "its 5pm", True),
        ("a\u00a0b", "a b", True),
        ("Qué", "Que", False),
        ("Go.", "Goes.", False),
        ("...", "?!", False),
        ("…", "...", False),
    ],
)
def test_key_ignores_case_punctuation_and_spaces_only(one, other, same):
    assert (fetch.key(one) == fetch.key(other)) is same


def test_next_archive_gives_nearly_the_same_dev():
    _, dev = fetch.hold_out(PAIRS, 10, 0)
    _, later = fetch.hold_out([("A new one.", "Uno nuevo."), *PAIRS[1:]], 10, 0)
    assert len(set(dev) & set(later)) >= 9


def test_two_percent_of_a_small_archive_are_held_out(server, call, tmp_path):
    server.body = zipped(export(PAIRS))
    call()
    assert len(read_pairs(tmp_path / "data" / "dev.tsv")) == len(PAIRS) // 50 == 2


def test_two_thousand_sentences_of_a_large_archive_are_held_out(
    server, call, tmp_path, monkeypatch
):
    assert fetch.DEV == 2000
    monkeypatch.setattr(fetch, "DEV", 1)  # as large as the archive is beside it
    server.body = zipped(export(PAIRS))
    assert call()[0] == 0
    assert len(read_pairs(tmp_path / "data" / "dev.tsv")) == 1


def test_text_is_normalised_and_duplicates_go(server, call, tmp_path):
    text = export(
        [
            ("He's  here.", "Él  está aqui\u0301."),
            ("He's here.", "Él está aquí."),
            ("He's here.", "Está."),
        ]
    )
    server.body = zipped(
        "\ufeff"
        + text.replace("\n", "\r\n")
        + "\nno pair\nhalf a pair\t\n"
        + export(PAIRS)
    )
    status, said, _ = call("--dev", "1")
    pairs = [
        p
        for n in ("train.tsv.xz", "dev.tsv")
        for p in read_pairs(tmp_path / "data" / n)
    ]
    assert status == 0 and len(pairs) == len(PAIRS) + 2
    assert {("He's here.", "Él está aquí."), ("He's here.", "Está.")} <= set(pairs)
    assert "2 lines that are no pairs, 1 duplicates" in said


def test_line_ends_in_two_column_exports_do_not_stay(server, call, tmp_path):
    server.body = zipped(
        "\r\n".join(f"{e}\t{s}" for e, s in PAIRS).encode(), name="spa-eng/spa.txt"
    )
    assert call("--dev", "1")[0] == 0
    assert b"\r" not in lzma.decompress(
        (tmp_path / "data" / "train.tsv.xz").read_bytes()
    )


def test_test_pairs_stay_out_on_both_sides(server, call, tmp_path):
    (tmp_path / "english.tsv").write_text("i see the A\tOtra cosa.\n", encoding="utf-8")
    (tmp_path / "spanish.tsv").write_text(
        "Something else.\t¡Veo el b!\n", encoding="utf-8"
    )
    server.body = zipped(export(PAIRS))
    status, said, _ = call(
        "--exclude",
        str(tmp_path / "english.tsv"),
        "--exclude",
        str(tmp_path / "spanish.tsv"),
    )
    pairs = [
        p
        for n in ("train.tsv.xz", "dev.tsv")
        for p in read_pairs(tmp_path / "data" / n)
    ]
    assert status == 0 and "2 pairs that share a sentence with test pairs" in said
    assert set(PAIRS) - set(pairs) == {
        ("I see the a.", "Veo el a."),
        ("I see the b.", "Veo el b."),
    }
    assert "test sets (2 given)" in (tmp_path / "data" / "ATTRIBUTION.txt").read_text(
        encoding="utf-8"
    )


def test_pairs_written_for_training_come_along_but_for_what_is_held_out(
    server, call, tmp_path
):
    server.body = zipped(export(PAIRS))
    test = tmp_path / "test.tsv"
    test.write_text("Good morning.\tBuenas.\nShells.\tConchas marinas\n")
    written = tmp_path / "data" / "written.tsv.xz"

    def rows():
        return [
            tuple(row.split("\t"))
            for row in lzma.decompress(written.read_bytes()).decode().splitlines()
        ]

    for seed in range(20):  # of which some hold out what is written too
        _, said, _ = call("--dev", "50", "--seed", str(seed))
        held_out = WRITTEN[2][0] in dict(read_pairs(tmp_path / "data" / "dev.tsv"))
        assert rows() == WRITTEN[: 2 if held_out else 3]
        assert f"written.tsv.xz: {len(rows())} pairs written for this project\n" in said
        if held_out:
            break
    else:
        raise AssertionError("never held out")
    call("--dev", "1", "--exclude", str(test))
    assert WRITTEN[0] not in rows(), "it shares its Spanish with a test"
    assert WRITTEN[1] in rows(), (
        "known to stand in a test: scores are given with it and without"
    )


def test_all_pairs_written_for_training_come_with_the_program(written):
    first, *others = map(read_marked_pairs, written)
    assert [len(rows) for rows in (first, *others)] == [94_217, 16_749, 18_102, 17_312]
    assert {row[2] for rows in others for row in rows} == {"written"}
    assert (
        len({row[:2] for rows in (first, *others) for row in rows})
        == 94_217 + 16_749 + 18_102 + 17_312
    )
    assert Counter(row[2] for row in first) == {
        "written": 56_352,
        "entry": 37_766,
        "in-test": 99,
    }


def test_archive_fetched_by_hand_is_read_from_disk(tmp_path, capsys):
    archive = tmp_path / "spa-eng.zip"
    archive.write_bytes(zipped(export(PAIRS)))
    assert (
        main(
            [
                "data",
                "translation",
                "--out",
                str(tmp_path / "data"),
                "--url",
                archive.as_uri(),
            ]
        )
        == 0
    )
    assert archive.is_file() and len(os.listdir(tmp_path / "data")) == 4


def test_bar_counts_bytes_in_a_terminal(server, tmp_path, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    server.body = bytes(300_000)
    monkeypatch.setattr(sys, "stderr", Terminal())
    fetch.fetch_file(server.url, tmp_path / "file")
    assert (
        "spa-eng.zip: 100%" in sys.stderr.getvalue()
        and "300k/300k" in sys.stderr.getvalue()
    )


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (
            404,
            "(HTTP 404); look at the address in a browser, and give the right one with --url.",
        ),
        (
            406,
            "refuses to hand it out (HTTP 406); check the address, or download it in a browser",
        ),
        (500, "is overloaded or out of order (HTTP 500); try again later"),
        (503, "is overloaded or out of order (HTTP 503); try again later"),
    ],
)
def test_server_refuses(server, call, tmp_path, status, words):
    server.status = status
    server.body = b"<html>no</html>"
    refused(call(), tmp_path / "data", server.url, words)


def test_nobody_answers(tmp_path, capsys):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/spa-eng.zip"
        status = main(
            ["data", "translation", "--out", str(tmp_path / "data"), "--url", url]
        )
    refused(
        (status, *capsys.readouterr()),
        tmp_path / "data",
        f"{url} cannot be reached (",
        "refused",
        "check the connection and the address, or download it in a browser and give that file with --url file:",
    )


def test_host_has_no_address(tmp_path, capsys, monkeypatch):
    def unknown(*args, **kwargs):
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    url = "http://nowhere.invalid/spa-eng.zip"
    status = main(
        ["data", "translation", "--out", str(tmp_path / "data"), "--url", url]
    )
    refused(
        (status, *capsys.readouterr()),
        tmp_path / "data",
        f"{url} cannot be reached",
        "Name or service not known",
    )


@pytest.mark.parametrize(
    "url", ["spa-eng.zip", "/home/spa-eng.zip", "http://127.0.0.1/ñ.zip"]
)
def test_no_address(tmp_path, capsys, url):
    status = main(
        ["data", "translation", "--out", str(tmp_path / "data"), "--url", url]
    )
    refused(
        (status, *capsys.readouterr()),
        tmp_path / "data",
        f"“{url}” is not an address",
        "begins with https://",
    )


@pytest.mark.parametrize(
    "url",
    [
        "gopher://127.0.0.1/a",
        "http://127.0.0.1:port/a",
        "http://127.0.0.1/a b",
        "file:///-",
    ],
)
def test_address_that_leads_nowhere(tmp_path, capsys, url):
    status = main(
        ["data", "translation", "--out", str(tmp_path / "data"), "--url", url]
    )
    refused(
        (status, *capsys.readouterr()),
        tmp_path / "data",
        f"{url} cannot be reached (",
        "check the connection",
    )


def test_server_that_says_nothing(server, tmp_path):
    server.silent.clear()
    with pytest.raises(
        UserError,
        match=r"spa-eng\.zip was reached, but no answer came for 0\.05 s; try again later",
    ):
        fetch.fetch_file(server.url, tmp_path / "file", timeout=0.05)


def test_server_that_stops_half_way(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as listening:
        held = []

        def answer():
            held.append(listening.accept()[0])
            held[0].sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\nPK")

        thread = threading.Thread(target=answer)
        thread.start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/a.zip"
        with pytest.raises(
            UserError,
            match="The connection to .*a.zip broke off after 0 of 5,000 bytes; run the",
        ):
            fetch.fetch_file(url, tmp_path / "file", timeout=0.2)
        thread.join()
        held[0].close()


def test_connection_drops_half_way(server, call, tmp_path):
    server.body = zipped(export(PAIRS))[:700]
    server.headers = {"Content-Length": "90000"}
    refused(
        call(),
        tmp_path / "data",
        f"The connection to {server.url} broke off after 700 of 90,000 bytes; run the",
    )


def test_connection_drops_half_way_without_a_length(server, call, tmp_path):
    server.body = b"400\r\nPK"
    server.headers = {"Content-Length": None, "Transfer-Encoding": "chunked"}
    server.RequestHandlerClass = type(
        "Newer",
        (Answer,),
        {
            "protocol_version": "HTTP/1.1",
            "close_connection": True,
            "handle": lambda self: self.handle_one_request(),
        },
    )
    refused(
        call(),
        tmp_path / "data",
        f"The connection to {server.url} broke off after 0 bytes; run the command",
    )


@pytest.mark.parametrize("headers", [{}, {"Content-Length": None}])
def test_download_without_end(server, call, tmp_path, monkeypatch, headers):
    monkeypatch.setattr(fetch, "LARGEST", 100_000)
    server.body = bytes(200_000)
    server.headers = headers
    refused(
        call(),
        tmp_path / "data",
        f"What {server.url} sends is larger than the 100,000 bytes that are read; look",
    )


@pytest.mark.parametrize(
    "body",
    [b"<!DOCTYPE html><title>Not here</title>", b"", zipped(export(PAIRS))[:700]],
)
def test_no_zip(server, call, tmp_path, body):
    server.body = body
    refused(
        call(),
        tmp_path / "data",
        f"What {server.url} sent is not a zip archive, or not the whole of one; look at",
    )


def test_zip_without_the_sentences(server, call, tmp_path):
    server.body = zipped(export(PAIRS), name="fra.txt")
    refused(
        call(),
        tmp_path / "data",
        f"The archive from {server.url} holds no spa.txt; look at the address",
    )


def test_sentences_are_damaged(server, call, tmp_path):
    stored = zipped(export(PAIRS), method=zipfile.ZIP_STORED)
    server.body = stored.replace(b"red a.", b"rad a.")
    refused(
        call(),
        tmp_path / "data",
        f"spa.txt in the archive from {server.url} is damaged",
        "Bad CRC-32",
        "run the command again, or download it in a browser",
    )


def test_sentences_are_packed_in_an_unknown_way(server, call, tmp_path):
    server.body = zipped(export(PAIRS), method=zipfile.ZIP_BZIP2)
    refused(
        call(),
        tmp_path / "data",
        "packed in an unknown way (compression method 12); run the command again",
    )


def test_any_damage_is_one_sentence(tmp_path):
    whole = zipped(export(PAIRS))
    rng = random.Random(0)
    archive = tmp_path / "a.zip"
    good = export(PAIRS)
    for _ in range(200):
        broken = bytearray(whole)
        for _ in range(rng.randint(1, 3)):
            broken[rng.randrange(len(broken))] = rng.randrange(256)
        archive.write_bytes(broken)
        try:
            # the damage was elsewhere
            assert fetch.unzip(archive, "spa.txt", "here") == good
        except UserError as error:
            assert "here" in str(error)


def test_zip_bomb(server, call, tmp_path, monkeypatch):
    monkeypatch.setattr(fetch, "LARGEST", 1_000_000)
    server.body = zipped(bytes(1_000_001))
    refused(
        call(),
        tmp_path / "data",
        f"spa.txt in the archive from {server.url} would be 1,000,001 bytes large, more "
        f"than the 1,000,000 that are read",
    )


def test_zip_bomb_that_lies_about_its_size(server, call, tmp_path):
    size = (1_000_000).to_bytes(4, "little")
    lie = (1000).to_bytes(4, "little")
    server.body = zipped(bytes(1_000_000)).replace(size, lie)
    refused(call(), tmp_path / "data", "is damaged", "Bad CRC-32")


def test_no_utf8(server, call, tmp_path):
    before = export(PAIRS[:1]).encode() + b"Go.\tV"
    server.body = zipped(before + "ámonos.\n".encode("latin-1"))
    refused(
        call(),
        tmp_path / "data",
        f"spa.txt in the archive from {server.url} is not UTF-8 text (",
        f"at byte {len(before)}); look at the address",
    )


@pytest.mark.parametrize(
    "text", ["", "\n\n", "English only\nand again\n", "\tSpanish only\n"]
)
def test_no_pairs(server, call, tmp_path, text):
    server.body = zipped(text)
    refused(
        call(),
        tmp_path / "data",
        f"spa.txt in the archive from {server.url} has no line of English, a tab, Spanish; look at the address",
    )


def test_too_few_pairs(server, call, tmp_path):
    server.body = zipped(export([("Go.", "Ve."), ("Go!", "Vete.")]))
    refused(
        call(),
        tmp_path / "data",
        "has too few sentences to hold any out, 2 pairs beside the excluded ones",
    )


def test_everything_excluded(server, call, tmp_path):
    (tmp_path / "test.tsv").write_text(export(PAIRS), encoding="utf-8")
    server.body = zipped(export(PAIRS))
    refused(
        call("--exclude", str(tmp_path / "test.tsv")),
        tmp_path / "data",
        "0 pairs beside the excluded ones",
    )


@pytest.mark.parametrize(
    ("dev", "words"),
    [
        (
            "53",
            "--dev 53 is more than half of the 104 English sentences there are; give at most 52.",
        ),
        ("-1", "--dev is -1; it must be a whole number, at least 0"),
    ],
)
def test_dev_is_too_large_or_negative(server, call, tmp_path, dev, words):
    server.body = zipped(export(PAIRS))
    refused(call("--dev", dev), tmp_path / "data", words)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "No such file"),
        (b"no pair\n", "line 1 of"),
        (b"a\t\xff\n", "UTF-8"),
        (b"", "holds no sentence pairs"),
    ],
)
def test_test_pairs_cannot_be_read(server, call, tmp_path, content, words):
    test = tmp_path / "test.tsv"
    if content is not None:
        test.write_bytes(content)
    refused(
        call("--exclude", str(test)),
        tmp_path / "data",
        f"The test pairs {test} cannot be excluded",
        words,
        "give --exclude a .tsv file of English, a tab, Spanish.",
    )
    assert server.asked is None  # said before the download


@pytest.mark.parametrize("below", ["", "deeper", "deeper/still"])
def test_out_is_a_file(server, call, tmp_path, below):
    file = tmp_path / "file"
    file.write_bytes(b"mine")
    refused(
        call(out=file / below),
        file,
        "is a file, or lies beneath one; give a folder with --out.",
    )
    assert file.read_bytes() == b"mine" and server.asked is None


def test_out_is_not_writable(server, call, tmp_path):
    folder = tmp_path / "data"
    folder.mkdir(mode=0o500)
    if os.access(folder, os.W_OK):
        pytest.skip("this user may write everywhere")
    refused(
        call(),
        folder,
        f"The folder {folder} cannot be written to (Permission denied); make room, or give another",
    )
    assert server.asked is None


def test_disk_is_full(server, call, tmp_path, monkeypatch):
    def full(*args):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    server.body = zipped(export(PAIRS))
    refused(
        call(),
        tmp_path / "data",
        "cannot be written to (No space left on device); make room, or give another",
    )


@pytest.mark.parametrize("name", ["train.tsv", "dev.tsv.xz", "written.tsv"])
def test_file_of_another_kind_would_be_mixed_in(server, call, tmp_path, name):
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / name).write_bytes(b"mine")
    status, _, complaint = call()
    assert (
        status == 2
        and f"{folder / name} is there already, and training would mix it" in complaint
    )
    assert os.listdir(folder) == [name] and server.asked is None


def test_earlier_files_outlive_a_failure(server, call, tmp_path):
    server.body = zipped(export(PAIRS))
    call()
    before = {path.name: path.read_bytes() for path in (tmp_path / "data").iterdir()}
    server.status = 500
    assert call("--seed", "1")[0] == 2
    assert {
        path.name: path.read_bytes() for path in (tmp_path / "data").iterdir()
    } == before


def test_new_files_never_lie_beside_old_ones(server, call, tmp_path, monkeypatch):
    server.body = zipped(export(PAIRS))
    call("--seed", "1")
    replace = os.replace

    def failing(old, new):
        if Path(new) == tmp_path / "data" / "train.tsv.xz":
            raise OSError(errno.EIO, "Input/output error")
        replace(old, new)

    monkeypatch.setattr(os, "replace", failing)
    status, _, complaint = call("--seed", "2")
    assert status == 2 and "cannot be written to (Input/output error)" in complaint
    assert not (tmp_path / "data" / "train.tsv.xz").exists()  # so training asks for it


def test_stopping_leaves_nothing(server, call, tmp_path, monkeypatch):
    def stopped(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(fetch, "unzip", stopped)
    server.body = zipped(export(PAIRS))
    assert call() == (130, "", "")
    assert list((tmp_path / "data").iterdir()) == []
