"""Find, download and upload checkpoints on the Hugging Face Hub, by
owner/name[@revision].

A name is looked for as a folder, then among those that ship, then in the Hub's cache,
then on the Hub. `huggingface_hub` makes all requests and reads HF_TOKEN, HF_HOME,
HF_ENDPOINT and HF_HUB_OFFLINE; its errors become UserErrors of one sentence.
"""

import math
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from huggingface_hub import (
    HfApi,
    constants,
    errors,
    get_session,
    get_token,
    hf_hub_download,
    try_to_load_from_cache,
)
from huggingface_hub.hf_api import ModelInfo
from huggingface_hub.utils import logging, tqdm, validate_repo_id
from huggingface_hub.utils.sha import git_hash
from safetensors import SafetensorError

from xformer.hub import card, checkpoint, imported, transfer
from xformer.hub.folders import folder_of
from xformer.results import Message, UserError, refusing, write_whole

# an older client lets other letters and a newline pass
REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+", re.ASCII)
# a branch, a tag, a commit, or refs/pr/1
REVISION = re.compile(r"(?!.*\.\.)\w[\w.+-]*(/\w[\w.+-]*)*")
COMMIT = re.compile(r"[0-9a-f]{40}")
# seconds without a byte after which a connection is given up; the client's default is
# to wait for ever
PATIENCE = 60.0
WEIGHTS = "model.safetensors"
# who proposes safe weights, and under what title
CONVERTER = "SFconvertbot"
CONVERTED = "Adding `safetensors` variant"


class Access(NamedTuple):
    """How files are requested from the Hub, with the names of its own client; the
    defaults follow the environment."""

    token: str | None = None
    cache_dir: str | Path | None = None  # None: the client's own cache
    local_files_only: bool = False  # make no request
    force_download: bool = False  # download cached files again
    most: float = math.inf  # bytes of weights that are downloaded; see `TooLarge`


class TooLarge(UserError):
    """A repository announces weights of more bytes than are downloaded."""

    def __init__(self, size: int, said: Message) -> None:
        self.size = size
        super().__init__(said)


USUAL = Access()


class RepositoryName(NamedTuple):
    """A repository and a revision of it."""

    repository: str  # owner/name
    revision: str  # a branch, a tag or a commit

    def __str__(self) -> str:
        return (
            self.repository
            if self.revision == "main"
            else f"{self.repository}@{self.revision}"
        )


def parse_name(text: str) -> RepositoryName | None:
    """Parse owner/name[@revision]; None for a text that can only be a path. Raises
    UserError if it is neither."""
    repository, at, revision = text.partition("@")
    if repository.count("/") != 1 or repository[0] in "./~" or repository.endswith("/"):
        return None
    refusal = Message.of("hub_error_name", name=repr(text))
    if not REPOSITORY.fullmatch(repository):
        raise UserError(refusal)
    with refusing(errors.HFValidationError, refusal):
        validate_repo_id(repository)
    if at and not REVISION.fullmatch(revision):
        raise UserError(Message.of("hub_error_revision", name=repr(text)))
    return RepositoryName(repository, revision or constants.DEFAULT_REVISION)


def find(name: str | Path, access: Access = USUAL) -> Path:
    """Return the folder of a checkpoint: that folder, or that of one that ships, by its
    name, or owner/name[@revision] from the cache, or else from the Hub.

    A checkpoint in the cache is used without any request; `fetch` asks for a newer one.
    A path that is no folder is returned unchanged; `checkpoint.load` then raises the
    error. Raises UserError.
    """
    if isinstance(name, Path) or Path(name).is_dir():
        return Path(name)
    parsed = parse_name(name)
    if parsed is None:
        return folder_of(name)
    return (not access.force_download and cached(parsed, access)) or fetch(
        parsed, access
    )


def cached(name: RepositoryName, access: Access) -> Path | None:
    """Return the folder of a checkpoint in the Hub's cache; None if files are missing.
    Makes no request."""
    found = [
        try_to_load_from_cache(name.repository, file, access.cache_dir, name.revision)
        for file in checkpoint.FILES
    ]
    # else None, or a mark that the Hub has no such file
    paths = [path for path in found if isinstance(path, str)]
    return Path(paths[0]).parent if len(paths) == len(found) else None


def fetch(name: RepositoryName, access: Access = USUAL, foreign: bool = False) -> Path:
    """Download the new files of a checkpoint into the Hub's cache; return the folder.
    Raises UserError.

    foreign: the files of a model of others, see `imported`, in place of a checkpoint's.

    All files are of one commit, each is checked against its digest, and the weights
    come last: a revision in the cache always leads to a complete checkpoint, the new
    one or the previous one. A download that stalls is given up.
    """
    there = None if access.force_download or foreign else cached(name, access)
    if there and (
        COMMIT.fullmatch(name.revision)
        or constants.HF_HUB_OFFLINE
        or access.local_files_only
    ):
        return there
    if access.local_files_only:
        raise UserError(
            Message.of(
                "hub_error_not_cached",
                name=str(name),
                cache=str(access.cache_dir or constants.HF_HUB_CACHE),
            )
        )
    try:
        return transfer.watched(lambda bar: _fetch(name, access, foreign, bar))
    except transfer.Stalled as stalled:
        raise UserError(
            Message.of(
                "hub_error_slow",
                name=str(name),
                hub=constants.ENDPOINT,
                bytes=stalled.brought,
                seconds=round(transfer.WINDOW),
                least=transfer.LEAST,
            )
        ) from None
    except transfer.TooMany:
        raise UserError(
            Message.of("hub_error_many", name=str(name), most=transfer.MOST)
        ) from None


def _fetch(
    name: RepositoryName, access: Access, foreign: bool, bar: type[tqdm]
) -> Path:
    if foreign:
        name = _with_safe_weights(name, access)
    with _plainly(name):
        info = HfApi(token=access.token).model_info(
            name.repository,
            revision=name.revision,
            files_metadata=True,
            timeout=constants.HF_HUB_ETAG_TIMEOUT,
        )
        offered = {file.rfilename: file for file in info.siblings or ()}
        if not foreign:
            _check_offer(name, offered)
        wanted = [
            file
            for file in (imported.FILES if foreign else checkpoint.ALL_FILES)
            if file in offered
        ]
        _check_sizes(
            name,
            {file: offered[file].size or 0 for file in wanted},
            min(access.most, 8 * imported.MOST_NUMBERS if foreign else math.inf),
        )
        # One after the other: `snapshot_download` has threads of its own, which the
        # bar that gives a stalled download up cannot end.
        for file in wanted:
            path = Path(
                hf_hub_download(
                    name.repository,
                    file,
                    revision=info.sha,
                    token=access.token,
                    cache_dir=access.cache_dir,
                    force_download=access.force_download,
                    etag_timeout=constants.HF_HUB_ETAG_TIMEOUT,
                    tqdm_class=bar,
                )
            )
        for file in damaged(path.parent):
            (path.parent / file).resolve().unlink()
            (path.parent / file).unlink()
            raise UserError(Message.of("hub_error_damaged", file=file, name=str(name)))
        reference = path.parents[2] / "refs" / name.revision
        if not COMMIT.fullmatch(name.revision):
            reference.parent.mkdir(parents=True, exist_ok=True)
            write_whole(reference, str(info.sha).encode())
    return path.parent


def _with_safe_weights(name: RepositoryName, access: Access) -> RepositoryName:
    """The revision asked for if it has model.safetensors, else the Hub's own proposal
    of one, pinned to its commit."""
    with _plainly(name):
        api = HfApi(token=access.token)

        def there(revision: str) -> ModelInfo | None:
            info = api.model_info(
                name.repository,
                revision=revision,
                timeout=constants.HF_HUB_ETAG_TIMEOUT,
            )
            return (
                info
                if any(file.rfilename == WEIGHTS for file in info.siblings or ())
                else None
            )

        if there(name.revision):
            return name
        for proposal in api.get_repo_discussions(
            name.repository,
            author=CONVERTER,
            discussion_type="pull_request",
            discussion_status="open",
        ):
            if proposal.title.startswith(CONVERTED) and (
                info := there(f"refs/pr/{proposal.num}")
            ):
                return RepositoryName(name.repository, str(info.sha))
    raise UserError(
        f"The repository {name} has no {WEIGHTS}, and {CONVERTER} has proposed none: its other files of "
        f"weights can run code when they are read. Name another revision, or give your own files by "
        f"--local."
    )


def pull(name: str, folder: Path | None = None, access: Access = USUAL) -> Path:
    """Fetch a checkpoint, check that it can be loaded, and copy it to a folder if one
    is given. Raises UserError."""
    wanted = named(name)
    if folder is not None:
        checkpoint.vacant(folder)
    cache = fetch(wanted, access)
    checkpoint.examine(cache)
    if folder is None:
        return cache
    copy(cache, folder)
    return folder


def pinned(name: str) -> tuple[Path, RepositoryName]:
    """Fetch a checkpoint; return its folder, and its name with the commit as revision,
    which never changes. Raises UserError."""
    wanted = named(name)
    folder = fetch(wanted)
    return folder, RepositoryName(wanted.repository, folder.name)


def named(text: str) -> RepositoryName:
    """Parse a name on the Hub. Raises UserError for a text that can only be a path."""
    name = parse_name(text)
    if name is None:
        raise UserError(
            f"{text!r} is no name on the Hub: write owner/name or owner/name@revision."
        )
    return name


def copy(source: Path, folder: Path) -> None:
    """Copy the files of a checkpoint, all of them or none. Raises UserError if they
    cannot be written."""
    with made(folder) as new:
        for file in checkpoint.ALL_FILES:
            if (source / file).is_file():
                shutil.copyfile(source / file, new / file)


@contextmanager
def made(folder: Path) -> Iterator[Path]:
    """Make a checkpoint: what is written to the folder that is yielded stands in
    `folder` at the end, or nothing does.

    Raises UserError if it cannot be written, or is there already.
    """
    checkpoint.vacant(folder)

    def said(error: Exception) -> str:
        return (
            f"The checkpoint cannot be written to {folder} ({getattr(error, 'strerror', None) or error}); make room or "
            f"name a folder that is empty or not there yet."
        )

    with refusing(
        (OSError, SafetensorError),
        said,
    ):
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(
            dir=folder.parent, prefix=f".{folder.name}."
        ) as temporary:
            new = Path(temporary) / folder.name
            new.mkdir()
            yield new
            if folder.is_dir():
                folder.rmdir()
            new.rename(folder)


def push(
    folder: Path,
    repository: str,
    *,
    private: bool | None = None,
    token: str | None = None,
    commit_message: str = "Upload checkpoint",
    branch: str | None = None,
    create_pr: bool = False,
) -> str:
    """Check a checkpoint and its card, and upload its files as one commit; return the
    address of the commit.

    private: for a repository that is created now; None: the owner's default. branch:
    created if it does not exist;
    None: main. create_pr: propose the commit as a pull request. Raises UserError.
    """
    if branch is not None and not REVISION.fullmatch(branch):
        raise UserError(
            f"{branch!r} is no name for a branch; write letters, digits, dots and dashes."
        )
    card.check(folder)
    name = _target(repository, token)
    with _plainly(name):
        api = HfApi(token=token)
        api.create_repo(name.repository, private=private, exist_ok=True)
        if branch:
            api.create_branch(name.repository, branch=branch, exist_ok=True)
        return str(
            api.upload_folder(
                folder_path=folder,
                repo_id=name.repository,
                commit_message=commit_message,
                revision=branch,
                create_pr=create_pr,
                allow_patterns=list(checkpoint.ALL_FILES),
            )
        )


def push_space(
    repository: str,
    content: Path,
    folders: Iterable[str],
    variables: Mapping[str, str | None],
    *,
    private: bool | None,
    commit_message: str,
) -> str:
    """Upload the files of a folder as one commit to a Space; return the address of its
    page.

    The Space is created if it does not exist. Files in its `folders` that are not among
    those that are uploaded are deleted.
    variables: of the Space's environment; one whose value is None is removed. private:
    for a Space that is created now. Raises UserError.
    """
    name = _target(repository)
    kind = constants.REPO_TYPE_SPACE
    with _plainly(name):
        api = HfApi()
        api.create_repo(
            name.repository,
            repo_type=kind,
            space_sdk="gradio",
            private=private,
            exist_ok=True,
        )
        there = api.get_space_variables(name.repository)
        # before the commit, which restarts the Space
        for key, value in variables.items():
            if value is not None and (key not in there or there[key].value != value):
                api.add_space_variable(name.repository, key, value)
            elif value is None and key in there:
                api.delete_space_variable(name.repository, key)
        api.upload_folder(
            repo_id=name.repository,
            repo_type=kind,
            folder_path=content,
            commit_message=commit_message,
            delete_patterns=[f"{folder}/*" for folder in folders],
        )
    return f"{constants.ENDPOINT}/spaces/{name.repository}"


def _target(text: str, token: str | None = None) -> RepositoryName:
    """Parse the name of a repository to upload to. Raises UserError if it is none, has
    a revision, or there is no token to upload with."""
    name = parse_name(text)
    if name is None or "@" in text:
        raise UserError(f"{text!r} is no repository to upload to: write owner/name.")
    if not (token or get_token()):
        raise UserError(
            f"Uploading to {name} needs a token that may write: set HF_TOKEN to one made at "
            f"{constants.ENDPOINT}/settings/tokens, or log in with “hf auth login”."
        )
    return name


def damaged(folder: Path) -> Iterator[str]:
    """Yield the files of a checkpoint in the Hub's cache that differ from the files
    that the Hub sent.

    The cache names each file by its digest: SHA-256 (64 digits), or git's SHA-1 of a
    blob. Outside the cache there is no digest to compare with.
    """
    for file in (*checkpoint.ALL_FILES, *imported.FILES):
        path = (folder / file).resolve()
        if path.is_file() and path.parent.name == "blobs":
            is_large = len(path.name) == 64
            found = checkpoint.digest(path) if is_large else git_hash(path.read_bytes())
            if found != path.name:
                yield file


def _check_offer(name: RepositoryName, files: Iterable[str]) -> None:
    """Raise UserError if a repository lacks files of a checkpoint or offers files that
    could run code."""
    if pickles := sorted(
        file for file in files if Path(file).suffix in checkpoint.PICKLES
    ):
        raise UserError(Message.of("hub_error_pickle", name=str(name), file=pickles[0]))
    if missing := [file for file in checkpoint.FILES if file not in files]:
        raise UserError(
            Message.of("hub_error_lacks", name=str(name), files=", ".join(missing))
        )


def _check_sizes(name: RepositoryName, sizes: Mapping[str, int], most: float) -> None:
    """Raise UserError if a file of those that would be downloaded is announced to be
    larger than is read, or TooLarge if the weights have more bytes than `most`."""
    for file, size in sizes.items():
        limit = most if file == WEIGHTS else checkpoint.MOST_BYTES
        if size > limit:
            said = Message.of(
                "hub_error_large",
                name=str(name),
                file=file,
                size=f"{size:,}",
                most=f"{math.floor(limit):,}",
            )
            raise TooLarge(size, said) if file == WEIGHTS else UserError(said)


@contextmanager
def _plainly(name: RepositoryName) -> Iterator[None]:
    """Turn any error of the Hub's client into a UserError, give it PATIENCE, and
    silence its warnings."""
    verbosity = logging.get_verbosity()
    logging.set_verbosity_error()
    # errors are of the client, of its storage back end, or of a server that is no Hub
    try:
        with refusing(Exception, lambda error: _sentence(name, error)):
            # not a program's own, with a patience of its own
            if (session := get_session()).timeout.read is None:
                session.timeout = PATIENCE
            yield
    finally:
        logging.set_verbosity(verbosity)


def _sentence(name: RepositoryName, error: BaseException) -> Message:
    """Say what went wrong between this program and the Hub, and what to do."""
    if (
        isinstance(error, (errors.LocalEntryNotFoundError, RuntimeError))
        and error.__cause__
    ):
        error = error.__cause__
    status = (
        error.response.status_code if isinstance(error, errors.HfHubHTTPError) else 0
    )
    about = {
        "name": str(name),
        "repository": name.repository,
        "revision": name.revision,
        "hub": constants.ENDPOINT,
        "cache": constants.HF_HUB_CACHE,
        "status": status,
        "reason": next(iter(str(error).splitlines()), "") or type(error).__name__,
    }
    for kind, key in (
        (errors.OfflineModeIsEnabled, "hub_error_not_cached"),
        (errors.GatedRepoError, "hub_error_gated"),
        (errors.RepositoryNotFoundError, "hub_error_unseen"),
        (errors.RevisionNotFoundError, "hub_error_no_revision"),
        (errors.HfHubHTTPError, "hub_error_status"),
        (errors.HTTPError, "hub_error_unreachable"),
        (BaseException, "hub_error_failed"),
    ):
        if isinstance(error, kind):
            return Message.of(key, **about)
    raise error
