"""What the page may ask of services: the protocols, what fits them, and that none of it
loads torch."""

import inspect
import subprocess
import sys

import pytest

import xformer
from tests.harness import ROOT
from xformer.serve import pool, protocol, reviews, study, translation, writer

TORCH_FREE = (
    "results",
    "strings",
    "pieces",
    "serve",
    "serve.protocol",
    "serve.limits",
    "serve.text",
    "serve.bleu",
    "explain.positions",
    "explain.maps",
    "explain.export",
    "explain.principles",
    "parts.attention.roles",
    "parts.store.records",
    "parts.attribution_methods.methods",
    "parts.positions.draw",
)
FITS = {
    protocol.TranslationService: translation.Service,
    protocol.ReviewService: reviews.SentimentService,
    protocol.WriterService: writer.Writer,
    protocol.StudyService: study.Study,
    protocol.ModelPool: pool.Models,
}


@pytest.mark.slow
def test_what_the_page_needs_loads_no_torch():
    code = f"""
import importlib, sys
for name in {TORCH_FREE}:
    importlib.import_module(f"xformer.{{name}}")
    assert not {{"torch", "sentencepiece", "gradio"}} & {{*sys.modules}}, name
"""
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


@pytest.mark.parametrize(("wanted", "real"), FITS.items())
def test_a_service_has_what_its_protocol_says(wanted, real):
    methods = [
        name for name, one in protocol.public(wanted).items() if inspect.isfunction(one)
    ]
    assert methods
    for name in methods:
        assert getattr(real, name) is not getattr(wanted, name), (
            f"{name} is only described"
        )
        mine, theirs = (
            inspect.signature(getattr(cls, name)).parameters for cls in (wanted, real)
        )
        assert {key: (one.kind, one.default) for key, one in mine.items()} == {
            key: (one.kind, one.default) for key, one in theirs.items()
        }, name


def test_a_loaded_service_has_the_values_that_its_protocol_says(
    running, reader, tiny_writer
):
    for wanted, real in (
        (protocol.TranslationService, running),
        (protocol.ReviewService, reader),
        (protocol.WriterService, writer.Writer.open(tiny_writer, "cpu")),
        (protocol.StudyService, study.Study()),
        (protocol.ModelPool, pool.Models(running)),
    ):
        assert [
            name
            for name in (*protocol.public(wanted), "guard")
            if not hasattr(real, name)
        ] == []


def test_the_services_are_had_from_the_package_too():
    assert (
        xformer.Service is translation.Service
        and xformer.SentimentService is reviews.SentimentService
    )
    assert xformer.Writer is writer.Writer
    with pytest.raises(
        AttributeError, match="module 'xformer' has no attribute 'Nothing'"
    ):
        _ = xformer.Nothing
