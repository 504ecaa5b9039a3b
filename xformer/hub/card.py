"""Read, check and write a checkpoint's model card, README.md, and keep its metadata
true to the other files.

The metadata, which the Hub reads, is YAML before the text. Its scores, the
`model-index`, come from metrics.json, into which `python -m xformer evaluate … --save`
writes them.
"""

import json
from pathlib import Path
from typing import Any

from huggingface_hub import EvalResult, ModelCard, ModelCardData

from xformer.hub import checkpoint
from xformer.hub.checkpoint import ModelKind, Summary
from xformer.results import UserError, unread, write_whole
from xformer.strings import ASSETS

LANGUAGES = {"translation": ["en", "es"]}  # by the task; English for all others
# Test sets by their names in metrics.json: the data set on the Hub, and its split.
DATASETS = {
    "tatoeba-test-v2020-07-28": ("Helsinki-NLP/tatoeba_mt", "test"),
    "flores200-dev": ("facebook/flores", "dev"),
    "imdb-test": ("stanfordnlp/imdb", "test"),
    "imdb-validation": ("stanfordnlp/imdb", "train, held out"),
    "sst2-validation": ("stanfordnlp/sst2", "validation"),
}
METRICS = {"bleu": "BLEU", "chrf": "chrF", "accuracy": "Accuracy"}
# How a service of it is used from Python, by the task; of a kind that other models are
# trained from there is none.
USED = {
    "translation": ("Service", 'service.translate("Good night.").best.text'),
    "text-classification": (
        "SentimentService",
        'service.classify(["A fine film."])[0].label',
    ),
}
# metadata that a card must have
WANTED = ("language", "license", "library_name", "pipeline_tag", "tags")


def kept_scores(metrics: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the scores in metrics.json. Raises UserError if they are not a list of
    records."""
    scores = metrics.get("scores", [])
    if not (
        isinstance(scores, list)
        and all(isinstance(score, dict) and "set" in score for score in scores)
    ):
        raise UserError(
            "The scores in metrics.json are not as “python -m xformer evaluate … --save” writes them: a "
            "list of records, each with the set it was measured on; remove them, and measure again."
        )
    return scores


def results(kind: ModelKind, metrics: dict[str, Any]) -> list[EvalResult]:
    """Convert the kept scores of a checkpoint to the Hub's form: one result for each
    metric of each score."""
    converted = []
    for score in sorted(kept_scores(metrics), key=lambda score: str(score["set"])):
        ways = [f"beam {score['beam']}"] if "beam" in score else []
        ways += [
            way
            for key, way in (("plain", "typed roughly"), ("lowercase", "in lower case"))
            if score.get(key)
        ]
        dataset, split = DATASETS.get(score["set"], (score["set"], None))
        converted += [
            EvalResult(
                task_type=kind.task,
                dataset_type=dataset,
                dataset_split=split,
                dataset_name=score["set"],
                metric_type=key,
                metric_value=score[key],
                metric_name=", ".join([name, *ways]),
                metric_args={"signature": signature}
                if (signature := score.get(f"{key}_signature"))
                else None,
            )
            for key, name in METRICS.items()
            if key in score
        ]
    return converted


def keep(folder: Path, score: dict[str, Any]) -> None:
    """Put a score into metrics.json, and into the card if there is one. Raises
    UserError, OSError.

    It replaces an earlier score on the same set, measured in the same way.
    """
    summary = checkpoint.examine(folder)
    way = ("set", "beam", "plain", "lowercase")
    others = [
        old
        for old in kept_scores(summary.metrics)
        if any(old.get(key) != score.get(key) for key in way)
    ]
    metrics = {**summary.metrics, "scores": [*others, score]}
    checkpoint.write_metrics(folder, metrics)
    path = folder / "README.md"
    if path.is_file():
        card = read(path)
        card.data["model_name"] = card.data.get("model_name", folder.resolve().name)
        card.data["eval_results"] = results(summary.kind, metrics) or None
        write_whole(path, str(card).encode())


def read(path: Path) -> ModelCard:
    """Read a model card. Raises UserError if there is none, or its metadata cannot be
    read."""
    try:
        if fault := unread(path, checkpoint.MOST_BYTES):
            raise ValueError(f"it {fault}")
        return ModelCard(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise UserError(
            f"The checkpoint {path.parent} lacks README.md, its model card; write one, or have “python -m "
            f"xformer checkpoint push” write it with --license."
        ) from error
    except Exception as error:
        # a wrong encoding, or one of the many errors of the YAML parser
        raise UserError(
            f"The metadata of {path} cannot be read ({str(error).splitlines()[0]}); it stands between two "
            f"lines of “---” at the beginning, in YAML."
        ) from error


def check(folder: Path) -> ModelCard:
    """Read the card of a checkpoint. Raises UserError if it lacks metadata or does not
    fit the files beside it."""
    path = folder / "README.md"
    summary = checkpoint.examine(folder)
    card = read(path)
    if missing := [key for key in WANTED if not card.data.get(key)]:
        raise UserError(
            f"The metadata of {path} lacks {', '.join(missing)}; add it at its beginning."
        )
    if card.data["pipeline_tag"] != summary.kind.task:
        raise UserError(
            f"The metadata of {path} says “pipeline_tag: {card.data['pipeline_tag']}”, but a "
            f"{summary.kind.name} needs “pipeline_tag: {summary.kind.task}”; change it."
        )
    if summary.identity not in card.text:
        raise UserError(
            f"{path} does not name these weights, {summary.identity}, so it was written for other weights; "
            f"bring it up to date."
        )
    stale = [
        score["set"]
        for score in kept_scores(summary.metrics)
        if score.get("identity") != summary.identity
    ]
    if stale or (card.data.get("eval_results") or []) != results(
        summary.kind, summary.metrics
    ):
        raise UserError(
            f"The scores in {path} or metrics.json were not measured on these weights, {summary.identity}; "
            f"measure them again with “python -m xformer evaluate … --save”."
        )
    return card


def credit(
    folder: Path, summary: Summary, about: dict[str, str], theirs: str, half: bool
) -> None:
    """Write the card of an imported model, see `imported.write`. theirs: the text of
    the card that it had."""
    config = summary.config
    origin = about["origin"]
    data = ModelCardData(
        language=[config.source, config.target],
        license=about["licence"],
        library_name="xformer",
        base_model=origin.partition("@")[0] if about["commit"] else None,
        pipeline_tag=summary.kind.task,
        tags=[config.architecture, "attention", "interpretability"],
        model_name=folder.resolve().name,
    )
    _write(
        folder,
        data,
        "imported.md",
        **about,
        identity=summary.identity,
        theirs=theirs.strip(),
        half=half,
    )


def draft(folder: Path, summary: Summary, license: str, base_model: str | None) -> None:
    """Write a card for a checkpoint that has none, from its other files."""
    kind = summary.kind
    name = folder.resolve().name
    scores = results(summary.kind, summary.metrics)
    data = ModelCardData(
        language=LANGUAGES.get(kind.task, ["en"]),
        license=license,
        base_model=base_model,
        library_name="xformer",
        pipeline_tag=kind.task,
        tags=[summary.config.architecture, "attention", "interpretability"],
        metrics=sorted({score.metric_type for score in scores}) or None,
        model_name=name,
        eval_results=scores or None,
    )
    service, ask = USED.get(kind.task, ("", ""))
    _write(
        folder,
        data,
        "trained.md",
        **summary._asdict() | {"name": name},
        service=service,
        ask=ask,
        shape=json.dumps(summary.config.to_dict(), indent=2),
        options=json.dumps(summary.metrics.get("options", {}), indent=2),
    )


def _write(folder: Path, data: ModelCardData, template: str, **values: Any) -> None:
    """Write a card by a template of assets/cards."""
    card = ModelCard.from_template(data, str(ASSETS / "cards" / template), **values)
    write_whole(folder / "README.md", f"{card}\n".encode())
