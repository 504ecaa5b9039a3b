"""Look at a checkpoint, fetch it from the Hub, upload it."""

import argparse
import json
from contextlib import closing
from pathlib import Path

from xformer.commands.arguments import Within, add_part
from xformer.hub.folders import folder_of
from xformer.hub.shipped import TRANSLATION
from xformer.results import Options, UserError


def add_arguments(p: argparse.ArgumentParser) -> None:
    kinds = p.add_subparsers(dest="what", required=True)
    q = add_part(kinds, push, "upload a folder to the Hub")
    q.add_argument("folder", metavar="DIR")
    q.add_argument("repository", metavar="owner/name")
    q.add_argument(
        "--private",
        action="store_true",
        default=None,
        help="make the repository private, if it is new",
    )
    q.add_argument(
        "--message", default="Upload checkpoint", help="message of the commit"
    )
    q.add_argument(
        "--branch",
        metavar="NAME",
        help="upload to this branch; it is made if it does not exist",
    )
    q.add_argument(
        "--pull-request",
        action="store_true",
        help="only propose the commit, as a pull request",
    )
    q.add_argument(
        "--license",
        metavar="ID",
        help="if the checkpoint has no card, write one with this licence: cc-by-4.0 …",
    )
    q.add_argument(
        "--base-model",
        metavar="owner/name",
        help="for that card: the model from which this one was fine-tuned",
    )

    q = add_part(kinds, pull, "fetch from the Hub")
    q.add_argument("checkpoint", metavar="owner/name[@revision]")
    q.add_argument("folder", metavar="DIR", nargs="?", help="empty or not there yet")
    q.add_argument(
        "--cache-dir", metavar="DIR", help="keep files here, not in the Hub's cache"
    )
    q.add_argument("--local-files-only", action="store_true", help="make no request")
    q.add_argument(
        "--force-download",
        action="store_true",
        help="fetch files again that are in the cache",
    )

    q = add_part(
        kinds,
        import_,
        "make one of a translation model of others, as opus-mt-en-es",
        name="import",
    )
    q.add_argument(
        "name",
        metavar="owner/name[@revision]",
        nargs="?",
        help="a model on the Hugging Face Hub",
    )
    q.add_argument(
        "folder", metavar="DIR", help="of the new checkpoint; empty or not there yet"
    )
    q.add_argument(
        "--local",
        metavar="FOLDER",
        help="with the files of a model that you have, in place of a name",
    )
    q.add_argument(
        "--source",
        default="",
        metavar="CODE",
        help="language that it reads, where its files do not tell",
    )
    q.add_argument(
        "--target",
        default="",
        metavar="CODE",
        help="language to write, of a model that writes several",
    )
    q.add_argument(
        "--float16",
        action="store_true",
        help="store half as much; probabilities change in the third digit",
    )

    q = add_part(kinds, info, "what a checkpoint is")
    q.add_argument("checkpoint", metavar="NAME", nargs="?", help=TRANSLATION.help)
    q.add_argument("--json", action="store_true", help="one JSON object")

    q = add_part(kinds, average, "make one of several runs of the same model")
    q.add_argument("folders", metavar="DIR", nargs="+")
    q.add_argument(
        "--shares",
        type=float,
        action=Within,
        above=0,
        nargs="+",
        metavar="X",
        help="one weight for each DIR; if not given, all are equal",
    )
    q.add_argument("--out", metavar="DIR", required=True, help="empty or not there yet")

    q = add_part(kinds, extend, "make one whose vocabulary spells every character")
    q.add_argument("folder", metavar="DIR")
    q.add_argument("--out", metavar="DIR", required=True, help="empty or not there yet")

    q = add_part(kinds, film, "make the film of a training that the page plays")
    q.add_argument(
        "folder", metavar="DIR", help="of a run with --moments and --film, whole"
    )
    q.add_argument("--out", metavar="FILE", required=True, help="of the film, .npz")

    q = add_part(kinds, verify, "whether a checkpoint is whole and its card true")
    q.add_argument("checkpoint", metavar="NAME", nargs="?", help=TRANSLATION.help)


def push(args: argparse.Namespace) -> None:
    """Check a checkpoint and its model card (README.md) and upload them as one commit
    to a repository of the Hugging Face Hub, made if it is not there. Needs HF_TOKEN, or
    a login by “hf auth login”."""
    from xformer.hub import card, checkpoint, repository

    folder = folder_of(args.folder)
    if args.license and not (folder / "README.md").is_file():
        card.draft(folder, checkpoint.examine(folder), args.license, args.base_model)
    print(
        repository.push(
            folder,
            args.repository,
            private=args.private,
            commit_message=args.message,
            branch=args.branch,
            create_pr=args.pull_request,
        )
    )


def pull(args: argparse.Namespace) -> None:
    """Fetch a checkpoint from the Hugging Face Hub into its cache, what is new of it,
    and check it; with DIR, copy it there."""
    from xformer.hub import repository

    access = repository.Access(
        None, args.cache_dir, args.local_files_only, args.force_download
    )
    print(
        repository.pull(
            args.checkpoint, Path(args.folder) if args.folder else None, access
        )
    )


def import_(args: argparse.Namespace) -> None:
    """Make a checkpoint of a translation model that was trained elsewhere: Marian's, as
    Helsinki-NLP/opus-mt-en-es, M2M-100, SMaLL-100 or NLLB. Its numbers stay what they
    are. Only safetensors, or with --local Marian's own .npz, is read, which runs no
    code."""
    from xformer.hub import checkpoint, imported, repository
    from xformer.serve.translation import Service

    if bool(args.name) == bool(args.local):
        raise UserError(
            "Name a model on the Hub, or a folder by --local, and then the folder of the new checkpoint."
        )
    origin = args.name or Path(args.local).resolve().name
    with repository.made(Path(args.folder)) as new:
        found = (
            Path(args.local)
            if args.local
            else repository.fetch(repository.named(args.name), foreign=True)
        )
        commit = "" if args.local else found.name
        one = imported.convert(found, args.source, args.target)
        imported.write(new, one, found, origin, commit, args.float16)
        with closing(Service.open(new, "cpu")) as service:

            def pieces_of(text: str) -> tuple[int, ...]:
                return service.translate(text, Options(beam=1)).best.tokens

            imported.try_out(pieces_of)
        size = sum(checkpoint.sizes(new).values())
    for warning in one.warnings:
        print(f"Note: {warning}")
    print(
        f"{args.folder}: {one.model.parameter_count():,} parameters, {size:,} bytes, "
        f"{one.model.config.source} → {one.model.config.target}"
    )


def info(args: argparse.Namespace) -> None:
    """Say what a checkpoint is."""
    from xformer.hub import card, checkpoint

    folder = TRANSLATION.find(args.checkpoint)
    summary = checkpoint.examine(folder)
    sizes = checkpoint.sizes(folder)
    kind = summary.kind
    config = summary.config
    metadata = card.read(folder / "README.md").data if "README.md" in sizes else None
    scores = card.results(kind, summary.metrics)
    if args.json:
        print(
            json.dumps(
                {
                    "name": summary.name,
                    "folder": str(folder),
                    "kind": kind.name,
                    "identity": summary.identity,
                    "parameters": summary.parameters,
                    "config": config.to_dict(),
                    "files": sizes,
                    "license": metadata and metadata.get("license"),
                    "scores": [
                        {
                            "set": s.dataset_name,
                            "metric": s.metric_name,
                            "value": s.metric_value,
                        }
                        for s in scores
                    ],
                }
            )
        )
        return
    layers = (
        f"{config.n_layers} + {config.decoder_layers}"
        if kind.task == "translation"
        else config.n_layers
    )
    shape = (
        f"d_model {config.d_model}, {config.n_heads} heads, {layers} layers, d_ff {config.d_ff}, "
        f"{config.norm}-norm, at most {config.max_length:,} pieces"
    )
    if config.architecture.startswith("gru"):
        shape = f"{config.architecture}, d_model {config.d_model}, {layers} layers"
    licence = (
        "no README.md" if metadata is None else metadata.get("license") or "not said"
    )
    rows = [
        ("name", summary.name),
        ("folder", folder),
        ("kind", kind.name),
        ("identity", summary.identity),
        ("parameters", f"{summary.parameters:,}"),
        ("vocabulary", f"{config.vocab_size:,} pieces"),
        ("shape", shape),
        ("files", ", ".join(f"{name} {size:,} bytes" for name, size in sizes.items())),
        ("licence", licence),
        *(
            ("score", f"{s.dataset_name}: {s.metric_name} {s.metric_value}")
            for s in scores
        ),
    ]
    for label, value in rows:
        print(f"{label:<12}{value}")


def average(args: argparse.Namespace) -> None:
    """Make a checkpoint whose weights are the mean of those of several runs, which
    began with the same weights; measure it before you use it."""
    from xformer.hub import checkpoint, repository

    shares = args.shares or [1.0] * len(args.folders)
    if len(args.folders) < 2 or len(shares) != len(args.folders):
        raise UserError(
            f"There are {len(args.folders)} folders and {len(shares)} shares; name two folders or more, "
            f"and a share for each or none."
        )
    with repository.made(Path(args.out)) as new:
        checkpoint.average(
            [
                (folder_of(folder), share)
                for folder, share in zip(args.folders, shares, strict=True)
            ],
            new,
        )
    print(args.out)


def extend(args: argparse.Namespace) -> None:
    """Make a checkpoint of a translation model whose vocabulary also has the letters
    and signs of Latin scripts, and bytes for all other characters; train on from it
    before you use it."""
    from xformer.hub import checkpoint, repository

    with repository.made(Path(args.out)) as new:
        checkpoint.extend(folder_of(args.folder), new)
    print(args.out)


def film(args: argparse.Namespace) -> None:
    """Make one small file of the weights of a transformer at moments of its training,
    and of its loss; the page plays what ships beside the part “Watch it form”."""
    from safetensors.numpy import load_file

    from xformer.explain import film as films
    from xformer.hub import checkpoint, recorded
    from xformer.model import Transformer

    folder = folder_of(args.folder)
    moments = recorded.read_moments(folder)
    history = recorded.read_history(folder)
    paths = [
        folder / films.WEIGHTS / f"{moment.step}.safetensors"
        for moment in (moments.moments if moments else ())
    ]
    if moments is None or history is None or not all(map(Path.is_file, paths)):
        raise UserError(
            f"The folder {folder} has not the weights of each moment; train with --moments 12 --film."
        )
    tokenizer, model = checkpoint.build(folder, Transformer)
    films.write(
        Path(args.out),
        films.Reel(
            model.config,
            tokenizer,
            moments.moments,
            tuple(zip(history.step, history.loss, strict=True)),
            moments.errors,
            **films.kept([load_file(path) for path in paths]),
        ),
    )
    print(f"{args.out}: {len(paths)} moments, {Path(args.out).stat().st_size:,} bytes")


def verify(args: argparse.Namespace) -> None:
    """Check that the files of a checkpoint are there and fit together, that its weights
    are numbers, that they are what the Hub sent, and that its model card has the
    metadata the Hub wants and the scores of these weights."""
    from xformer.hub import card, checkpoint, repository

    folder = TRANSLATION.find(args.checkpoint)
    summary = checkpoint.examine(folder)
    checkpoint.load(folder, summary.kind.model)
    print(
        f"files       {', '.join(checkpoint.FILES)} fit together: a {summary.kind.name} of {summary.parameters:,} "
        f"parameters, {summary.config.vocab_size:,} pieces"
    )
    if damaged := list(repository.damaged(folder)):
        raise UserError(
            f"The file {folder / damaged[0]} is not what the Hub sent; delete it and fetch it again with "
            f"“python -m xformer checkpoint pull {summary.name}”."
        )
    print(f"identity    {summary.identity}")
    metadata = card.check(folder).data
    print(
        f"card        {metadata['license']}, {metadata['pipeline_tag']}, {len(metadata.get('eval_results', []))} "
        f"scores of these weights"
    )
