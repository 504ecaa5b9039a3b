"""Fetching reviews and trees, from a server on this computer: what is written, and what
is never believed."""

import gzip
import hashlib
import io
import os
import tarfile
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from research.__main__ import main
from research.data import fetch, fetch_reviews
from research.data.fetch_reviews import phrases
from xformer.training.data.corpora import read_lines
from xformer.training.data.reviews import read_rows

TREES = {
    "train.txt": "(4 (2 A) (3 (3 (2 very) (3 good)) (2 film)))\n(2 (2 The) (2 end))\n"
    "(1 (1 -LRB-) (0 awful\\/sad))\n",
    "dev.txt": "(3 (2 Quite) (3 nice))\n(2 (2 So) (2 what))\n(1 (2 Not) (3 good))\n",
    "test.txt": "(0 (1 never) (1 read))\n",
}


def reviews():
    """Content of an archive: forty films with a good and a bad review each, and a few
    texts that stand twice."""
    files = {}
    for label, word in (("pos", "good"), ("neg", "bad")):
        for i in range(40):
            files[f"train/{label}/{i}_9.txt"] = (
                f"Film {i} is {word}.<br />Truly\t{word}.\n"
            )
            files[f"test/{label}/{i}_9.txt"] = f"Test {i} is {word}."
        files[f"train/urls_{label}.txt"] = "".join(
            f"http://films/{i}/usercomments\n" for i in range(42)
        )
    for i in range(10):
        files[f"train/unsup/{i}_0.txt"] = f"No label {i}."
    files |= {
        "train/pos/40_9.txt": "TEST 3 is good",
        "train/pos/41_9.txt": "Film 5 is good. Truly good!",
        "train/unsup/10_0.txt": "test 4 is bad.",
        "train/unsup/11_0.txt": "No label 1.",
    }
    return files


def tar(files, *members, mode="w:gz"):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode=mode) as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(f"aclImdb/{name}")
            info.size = len(content.encode())
            archive.addfile(info, io.BytesIO(content.encode()))
        for info, content in members:
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return packed.getvalue()


def trees(files=None):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in (TREES if files is None else files).items():
            archive.writestr(f"trees/{name}", content)
    return packed.getvalue()


class Answer(BaseHTTPRequestHandler):
    def do_GET(self):
        status, body = self.server.pages.get(self.path, (404, b""))
        self.server.asked.append(self.path)
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("no_proxy", "*")
    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        server.pages = {
            "/imdb.tar.gz": (200, tar(reviews())),
            "/sst.zip": (200, trees()),
        }
        server.asked = []
        server.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(
            target=server.serve_forever, kwargs={"poll_interval": 0.01}
        )
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def call(server, tmp_path, capsys):
    """Runs the command with the server's addresses; returns (exit status, standard
    output, standard error)."""

    def run(*options, out=tmp_path / "data"):
        status = main(
            [
                "data",
                "sentiment",
                "--out",
                str(out),
                "--url",
                f"{server.url}/imdb.tar.gz",
                f"{server.url}/sst.zip",
                *options,
            ]
        )
        return status, *capsys.readouterr()

    return run


def refused(result, folder, *said):
    status, out, err = result
    assert (
        (status, out) == (2, "")
        and err.count("\n") == 1
        and err.endswith(".\n")
        and "Traceback" not in err
    )
    for text in said:
        assert text in err
    assert not folder.is_dir() or list(folder.iterdir()) == []


def film(text):
    return text.split()[1]


def test_files_are_those_that_training_reads(call, tmp_path):
    status, said, complaint = call()
    data = tmp_path / "data"
    assert (status, complaint) == (0, "")
    assert sorted(os.listdir(data)) == ["ATTRIBUTION.txt", *sorted(fetch_reviews.FILES)]
    train, validation, test = (
        read_rows(data / f"imdb-{name}.tsv.xz")
        for name in ("train", "validation", "test")
    )
    # the two that stand elsewhere too are left out
    assert len(train) + len(validation) == 80 and len(test) == 80
    assert (1, "Film 7 is good.<br />Truly good.") in train + validation
    assert 2 <= len(validation) <= 20 and not {film(t) for _, t in train} & {
        film(t) for _, t in validation
    }
    assert sorted(
        text for text in read_lines(data / "imdb-unlabelled.txt.xz") if text
    ) == [f"No label {i}." for i in range(10)]
    assert sorted(read_rows(data / "sst2-train-phrases.tsv")) == [
        (0, "("),
        (0, "( awful/sad"),
        (0, "awful/sad"),
        (1, "A very good film"),
        (1, "good"),
        (1, "very good"),
        (1, "very good film"),
    ]
    assert sorted(read_rows(data / "sst2-validation.tsv")) == [
        (0, "Not good"),
        (1, "Quite nice"),
    ]
    assert (
        f"{data / 'imdb-test.tsv.xz'}: 80 texts" in said
        and f"{data / 'sst2-validation.tsv'}: 2 texts" in said
    )


def test_the_labels_are_no_order_of_the_rows(call, tmp_path):
    call()
    labels = [label for label, _ in read_rows(tmp_path / "data" / "imdb-test.tsv.xz")]
    assert labels not in (sorted(labels), sorted(labels, reverse=True))


def test_same_seed_same_bytes_and_another_seed_other_films(call, tmp_path):
    for folder, seed in (("a", "0"), ("b", "0"), ("c", "1")):
        assert call("--seed", seed, out=tmp_path / folder)[0] == 0
    for name in ("imdb-train.tsv.xz", "imdb-validation.tsv.xz"):
        first, again, other = (
            (tmp_path / folder / name).read_bytes() for folder in "abc"
        )
        assert first == again != other


def test_attribution_names_sources_terms_and_digests(server, call, tmp_path):
    call()
    text = (tmp_path / "data" / "ATTRIBUTION.txt").read_text(encoding="utf-8")
    digest = hashlib.sha256(server.pages["/imdb.tar.gz"][1]).hexdigest()
    for said in (
        "Maas et al. 2011",
        "Socher et al. 2013",
        digest,
        f"{server.url}/sst.zip",
        "for research",
    ):
        assert said in text


@pytest.mark.parametrize(
    ("tree", "found"),
    [
        ("(2 word)", [(2, "word")]),
        ("", []),
        ("no tree", []),
        ("(3 (2 It) (4 great", [(2, "It")]),
        ("(1 (2 -LRB-) (2 a\\/b))", [(2, "("), (2, "a/b"), (1, "( a/b")]),
        (")))(2 x)", [(2, "x")]),
    ],
)
def test_phrases_of_a_tree(tree, found):
    assert list(phrases(tree)) == found


def test_no_phrase_of_train_is_a_sentence_of_dev(server, call, tmp_path):
    server.pages["/sst.zip"] = (
        200,
        trees({**TREES, "train.txt": "(3 (3 (2 quite) (3 NICE)) (2 !))\n(1 bad)\n"}),
    )
    call()
    assert sorted(read_rows(tmp_path / "data" / "sst2-train-phrases.tsv")) == [
        (0, "bad"),
        (1, "NICE"),
    ]


# What is never believed


def test_nothing_is_written_where_an_archive_says(server, call, tmp_path):
    """Paths that lead out, links, devices: none is followed, and all that is written is
    what the command names."""
    outside = tmp_path / "outside.txt"
    outside.write_text("secret")
    odd = []
    for name in (
        "../../evil.txt",
        "/tmp/evil-of-xformer.txt",
        "aclImdb/train/pos/../../../evil.txt",
    ):
        odd.append((tarfile.TarInfo(name), b"evil"))
    device = tarfile.TarInfo("aclImdb/device")
    device.type = tarfile.CHRTYPE
    server.pages["/imdb.tar.gz"] = (200, tar(reviews(), *odd, (device, b"")))
    assert call()[0] == 0
    assert sorted(os.listdir(tmp_path)) == ["data", "outside.txt"]
    assert sorted(os.listdir(tmp_path / "data")) == [
        "ATTRIBUTION.txt",
        *sorted(fetch_reviews.FILES),
    ]
    assert not os.path.exists("/tmp/evil-of-xformer.txt")
    assert "evil" not in str(read_lines(tmp_path / "data" / "imdb-train.tsv.xz"))


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE])
def test_a_link_in_place_of_a_review_is_not_followed(server, call, tmp_path, kind):
    link = tarfile.TarInfo("aclImdb/train/pos/77_9.txt")
    link.type = kind
    link.linkname = "/etc/passwd"
    server.pages["/imdb.tar.gz"] = (200, tar(reviews(), (link, b"")))
    refused(
        call(),
        tmp_path / "data",
        "aclImdb/train/pos/77_9.txt is no file of at most 10,000,000 bytes",
    )


def test_an_archive_that_unpacks_to_too_much(server, call, tmp_path, monkeypatch):
    monkeypatch.setattr(fetch_reviews, "LARGEST", 20_000)
    server.pages["/imdb.tar.gz"] = (
        200,
        tar(reviews(), (tarfile.TarInfo("aclImdb/zeros"), bytes(20_000))),
    )
    refused(
        call(),
        tmp_path / "data",
        "would unpack to more than the 20,000 bytes that are read",
    )


def test_a_review_that_is_too_large(server, call, tmp_path, monkeypatch):
    monkeypatch.setattr(fetch_reviews, "LARGEST_FILE", 5_000)
    server.pages["/imdb.tar.gz"] = (
        200,
        tar({**reviews(), "test/pos/99_1.txt": "x" * 5_001}),
    )
    refused(
        call(),
        tmp_path / "data",
        "aclImdb/test/pos/99_1.txt is no file of at most 5,000 bytes",
    )


# What cannot be done


@pytest.mark.parametrize(
    "body",
    [
        b"<html>no</html>",
        b"",
        tar(reviews())[:900],
        tar(reviews(), mode="w"),
        tar(reviews())[:1500] + b"\0" * 50 + tar(reviews())[1550:],
        gzip.compress(
            tar(reviews(), mode="w").replace(b"aclImdb/test/pos/7", b"\0" * 18)
        ),
        tar(reviews())[:-6] + b"\0" * 6,
    ],
)
def test_no_archive_or_a_broken_one(server, call, tmp_path, body):
    server.pages["/imdb.tar.gz"] = (200, body)
    refused(
        call(),
        tmp_path / "data",
        f"What {server.url}/imdb.tar.gz sent is no tar.gz archive of UTF-8 texts",
        "or not the whole of one",
        "run the command again, or download it in a browser",
    )


def test_a_review_that_is_not_utf8(server, call, tmp_path):
    server.pages["/imdb.tar.gz"] = (
        200,
        tar(reviews(), (tarfile.TarInfo("aclImdb/test/pos/9_9.txt"), b"caf\xe9")),
    )
    refused(call(), tmp_path / "data", "is no tar.gz archive of UTF-8 texts")


@pytest.mark.parametrize("folder", ["train/pos", "train/unsup", "test/neg"])
def test_an_archive_without_a_folder(server, call, tmp_path, folder):
    server.pages["/imdb.tar.gz"] = (
        200,
        tar({n: t for n, t in reviews().items() if not n.startswith(folder)}),
    )
    refused(
        call(),
        tmp_path / "data",
        f"holds no reviews in aclImdb/{folder}; look at the address",
    )


def test_too_few_films(server, call, tmp_path):
    few = {
        n: t
        for n, t in reviews().items()
        if not n.startswith(("train/pos", "train/neg"))
    }
    few |= {"train/pos/0_9.txt": "Good.", "train/neg/0_1.txt": "Bad."}
    server.pages["/imdb.tar.gz"] = (200, tar(few))
    refused(call(), tmp_path / "data", "has too few films to hold any out")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"no zip", "is not a zip archive, or not the whole of one"),
        (trees({"train.txt": "(3 a)"}), "holds no dev.txt"),
        (
            trees({"train.txt": "nothing\n", "dev.txt": "here\n"}),
            "holds no labelled trees in train.txt and dev.txt",
        ),
    ],
)
def test_no_trees(server, call, tmp_path, body, said):
    server.pages["/sst.zip"] = (200, body)
    refused(call(), tmp_path / "data", f"{server.url}/sst.zip", said)


@pytest.mark.parametrize("path", ["/imdb.tar.gz", "/sst.zip"])
def test_a_missing_download(server, call, tmp_path, path):
    del server.pages[path]
    refused(
        call(),
        tmp_path / "data",
        f"There is no {server.url}{path} any more (HTTP 404)",
        "right one with --url",
    )


def test_files_of_another_kind_would_be_mixed_in(server, call, tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "sst2-validation.tsv.xz").write_bytes(b"mine")
    status, _, complaint = call()
    assert (
        status == 2
        and f"{folder / 'sst2-validation.tsv.xz'} is there already" in complaint
    )
    assert os.listdir(folder) == ["sst2-validation.tsv.xz"] and server.asked == []


def test_archives_fetched_by_hand_are_read_from_disk(tmp_path, capsys):
    (tmp_path / "imdb.tar.gz").write_bytes(tar(reviews()))
    (tmp_path / "sst.zip").write_bytes(trees())
    assert (
        main(
            [
                "data",
                "sentiment",
                "--out",
                str(tmp_path / "data"),
                "--url",
                (tmp_path / "imdb.tar.gz").as_uri(),
                (tmp_path / "sst.zip").as_uri(),
            ]
        )
        == 0
    )
    assert len(os.listdir(tmp_path / "data")) == 7 and fetch.LARGEST == 500_000_000
