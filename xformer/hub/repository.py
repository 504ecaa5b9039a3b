"""Find, download and upload checkpoints on the Hugging Face Hub, by owner/name[@revision].

A name is looked for as a folder, then in the Hub's cache, then on the Hub. `huggingface_hub` makes all requests and
reads HF_TOKEN, HF_HOME, HF_ENDPOINT and HF_HUB_OFFLINE; its errors become UserErrors of one sentence.
"""

import hashlib
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from huggingface_hub import (
    CommitOperationAdd,
    CommitOperationDelete,
    HfApi,
    constants,
    errors,
    get_token,
    hf_hub_download,
    try_to_load_from_cache,
)
from huggingface_hub.hf_api import RepoSibling
from huggingface_hub.utils import logging, validate_repo_id

from xformer.hub import card, checkpoint, transfer
from xformer.results import Message, UserError

REVISION = re.compile(r"\w[\w.+-]*(/\w[\w.+-]*)*")  # a branch, a tag, a commit, or refs/pr/1
COMMIT = re.compile(r"[0-9a-f]{40}")


class Access(NamedTuple):
    """How files are requested from the Hub, with the names of its own client; the defaults follow the environment."""

    token: str | None = None
    cache_dir: str | Path | None = None  # None: the client's own cache
    local_files_only: bool = False  # make no request
    force_download: bool = False  # download cached files again


USUAL = Access()


class RepositoryName(NamedTuple):
    """A repository and a revision of it."""

    repository: str  # owner/name
    revision: str  # a branch, a tag or a commit

    def __str__(self) -> str:
        return self.repository if self.revision == "main" else f"{self.repository}@{self.revision}"


def parse_name(text: str) -> RepositoryName | None:
    """Parse owner/name[@revision]; None for a text that can only be a path. Raises UserError if it is neither."""
    repository, at, revision = text.partition("@")
    if repository.count("/") != 1 or repository[0] in "./~" or repository.endswith("/"):
        return None
    try:
        validate_repo_id(repository)
    except errors.HFValidationError as error:
        raise UserError(Message.of("hub_error_name", name=repr(text))) from error
    if at and (not REVISION.fullmatch(revision) or ".." in revision):
        raise UserError(Message.of("hub_error_revision", name=repr(text)))
    return RepositoryName(repository, revision or constants.DEFAULT_REVISION)


def find(name: str | Path, access: Access = USUAL) -> Path:
    """Return the folder of a checkpoint: that folder, or owner/name[@revision] from the cache, or else from the Hub.

    A checkpoint in the cache is used without any request; `fetch` asks for a newer one. A path that is no folder is
    returned unchanged; `checkpoint.load` then raises the error. Raises UserError.
    """
    if isinstance(name, Path) or Path(name).is_dir():
        return Path(name)
    parsed = parse_name(name)
    if parsed is None:
        return Path(name)
    return (not access.force_download and cached(parsed, access)) or fetch(parsed, access)


def cached(name: RepositoryName, access: Access = USUAL) -> Path | None:
    """Return the folder of a checkpoint in the Hub's cache; None if files are missing. Makes no request."""
    folder = None
    for file in checkpoint.FILES:
        path = try_to_load_from_cache(name.repository, file, access.cache_dir, name.revision)
        if not isinstance(path, str):  # None, or a mark that the Hub has no such file
            return None
        folder = Path(path).parent
    return folder


def fetch(name: RepositoryName, access: Access = USUAL) -> Path:
    """Download the new files of a checkpoint into the Hub's cache; return the folder. Raises UserError.

    All files are of one commit, each is checked against its digest, and the weights come last: a revision in the cache
    always leads to a complete checkpoint, the new one or the previous one. A download that stalls is given up.
    """
    there = None if access.force_download else cached(name, access)
    if there and (COMMIT.fullmatch(name.revision) or constants.HF_HUB_OFFLINE or access.local_files_only):
        return there
    if access.local_files_only:
        raise UserError(Message.of("hub_error_not_cached", name=str(name),
                                   cache=str(access.cache_dir or constants.HF_HUB_CACHE)))
    try:
        return transfer.watched(lambda: _fetch(name, access))
    except transfer.Stalled as stalled:
        raise UserError(Message.of("hub_error_slow", name=str(name), hub=constants.ENDPOINT, bytes=stalled.brought,
                                   seconds=round(transfer.WINDOW), least=transfer.LEAST)) from None
    except transfer.TooMany:
        raise UserError(Message.of("hub_error_many", name=str(name), most=transfer.MOST)) from None


def _fetch(name: RepositoryName, access: Access) -> Path:
    with _plainly(name, access.token):
        info = HfApi(token=access.token).model_info(name.repository, revision=name.revision, files_metadata=True,
                                  timeout=constants.HF_HUB_ETAG_TIMEOUT)
        offered = {file.rfilename: file for file in info.siblings or ()}
        _check_offer(name, offered)
        for file in checkpoint.ALL_FILES:
            if file in offered:
                path = Path(hf_hub_download(name.repository, file, revision=info.sha, token=access.token,
                                            cache_dir=access.cache_dir, force_download=access.force_download,
                                            etag_timeout=constants.HF_HUB_ETAG_TIMEOUT,
                                            tqdm_class=transfer.bars()))
                _check_download(name, path, offered[file])
        reference = path.parents[2] / "refs" / name.revision
        if not COMMIT.fullmatch(name.revision):
            reference.parent.mkdir(parents=True, exist_ok=True)
            checkpoint.write(reference, str(info.sha).encode())
    return path.parent


def pull(name: str, folder: Path | None = None, access: Access = USUAL) -> Path:
    """Fetch a checkpoint, check that it can be loaded, and copy it to a folder if one is given. Raises UserError."""
    wanted = _hub_name(name)
    if folder is not None and (folder.is_file() or (folder.is_dir() and any(folder.iterdir()))):
        raise UserError(f"The folder {folder} is not empty, or it is a file; name a folder that is empty or does not "
                        f"exist yet.")
    cache = fetch(wanted, access)
    checkpoint.examine(cache)
    if folder is None:
        return cache
    copy(cache, folder)
    return folder


def pinned(name: str) -> tuple[Path, RepositoryName]:
    """Fetch a checkpoint; return its folder, and its name with the commit as revision, which never changes.

    Raises UserError.
    """
    wanted = _hub_name(name)
    folder = fetch(wanted)
    return folder, RepositoryName(wanted.repository, folder.name)


def _hub_name(text: str) -> RepositoryName:
    """Parse a name on the Hub. Raises UserError for a text that can only be a path."""
    name = parse_name(text)
    if name is None:
        raise UserError(f"{text!r} is no name on the Hub: write owner/name or owner/name@revision.")
    return name


def copy(source: Path, folder: Path) -> None:
    """Copy the files of a checkpoint, all of them or none. Raises UserError if they cannot be written."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}.") as temporary:
            new = Path(temporary) / "new"
            new.mkdir()
            for file in checkpoint.ALL_FILES:
                if (source / file).is_file():
                    shutil.copyfile(source / file, new / file)
            if folder.is_dir():
                folder.rmdir()
            new.rename(folder)
    except OSError as error:
        raise UserError(f"The checkpoint cannot be written to {folder} ({error.strerror}); name a folder that is empty "
                        f"or not there yet.") from error


def push(folder: Path, repository: str, *, private: bool | None = None, token: str | None = None,
         commit_message: str = "Upload checkpoint", branch: str | None = None, create_pr: bool = False) -> str:
    """Check a checkpoint and its card, and upload its files as one commit; return the address of the commit.

    private: for a repository that is created now; None: the owner's default. branch: created if it does not exist;
    None: main. create_pr: propose the commit as a pull request. Raises UserError.
    """
    if branch is not None and (not REVISION.fullmatch(branch) or ".." in branch):
        raise UserError(f"{branch!r} is no name for a branch; write letters, digits, dots and dashes.")
    name = _target_name(repository)
    card.check(folder)
    _may_write(name, token)
    with _plainly(name, token):
        api = HfApi(token=token)
        api.create_repo(name.repository, private=private, exist_ok=True)
        if branch:
            api.create_branch(name.repository, branch=branch, exist_ok=True)
        return str(api.upload_folder(folder_path=folder, repo_id=name.repository, commit_message=commit_message,
                                     revision=branch, create_pr=create_pr, allow_patterns=list(checkpoint.ALL_FILES)))


def push_space(repository: str, files: Mapping[str, Path | bytes], folders: Iterable[str],
               variables: Mapping[str, str | None], *, private: bool | None = None,
               commit_message: str = "Upload the page") -> str:
    """Upload files, by their paths in a Space, as one commit to it; return the address of its page.

    The Space is created if it does not exist. Files in its `folders` that are not among `files` are deleted.
    variables: of the Space's environment; one whose value is None is removed. private: for a Space that is created now.
    Raises UserError.
    """
    name = _target_name(repository)
    _may_write(name)
    kind = constants.REPO_TYPE_SPACE
    with _plainly(name):
        api = HfApi()
        api.create_repo(name.repository, repo_type=kind, space_sdk="gradio", private=private, exist_ok=True)
        there = api.get_space_variables(name.repository)
        for key, value in variables.items():  # before the commit, which restarts the Space
            if value is not None and (key not in there or there[key].value != value):
                api.add_space_variable(name.repository, key, value)
            elif value is None and key in there:
                api.delete_space_variable(name.repository, key)
        stale = [path for path in api.list_repo_files(name.repository, repo_type=kind)
                 if path not in files and path.split("/")[0] in {*folders}]
        api.create_commit(name.repository, repo_type=kind, commit_message=commit_message, operations=[
            *(CommitOperationAdd(path, content) for path, content in files.items()),
            *(CommitOperationDelete(path) for path in stale)])
    return f"{constants.ENDPOINT}/spaces/{name.repository}"


def _target_name(text: str) -> RepositoryName:
    """Parse the name of a repository to upload to. Raises UserError if it is none, or has a revision."""
    name = parse_name(text)
    if name is None or "@" in text:
        raise UserError(f"{text!r} is no repository to upload to: write owner/name.")
    return name


def _may_write(name: RepositoryName, token: str | None = None) -> None:
    """Raise UserError if there is no token to upload with."""
    if not (token or get_token()):
        raise UserError(f"Uploading to {name} needs a token that may write: set HF_TOKEN to one made at "
                        f"{constants.ENDPOINT}/settings/tokens, or log in with “hf auth login”.")


def damaged(folder: Path) -> Iterator[str]:
    """Yield the files of a checkpoint in the Hub's cache that differ from the files that the Hub sent.

    The cache names each file by its digest; outside the cache there is no digest to compare with.
    """
    for file in checkpoint.ALL_FILES:
        path = (folder / file).resolve()
        if path.is_file() and path.parent.name == "blobs" and _digest(path, path.name) != path.name:
            yield file


def _digest(path: Path, like: str) -> str:
    """Return the digest of a file, of the same kind as `like`: SHA-256 (64 digits), or git's SHA-1 of a blob."""
    if len(like) == 64:
        return checkpoint.digest(path)
    content = path.read_bytes()
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def _check_download(name: RepositoryName, path: Path, file: RepoSibling) -> None:
    """Raise UserError, and remove the file from the cache, if it is not the one that the Hub announced."""
    wanted = file.lfs.sha256 if file.lfs else file.blob_id
    if wanted and _digest(path, wanted) != wanted:
        path.resolve().unlink()
        path.unlink(missing_ok=True)
        raise UserError(Message.of("hub_error_damaged", file=file.rfilename, name=str(name)))


def _check_offer(name: RepositoryName, files: Iterable[str]) -> None:
    """Raise UserError if a repository lacks files of a checkpoint or offers files that could run code."""
    pickles = sorted(file for file in files if Path(file).suffix in checkpoint.PICKLES)
    if pickles:
        raise UserError(Message.of("hub_error_pickle", name=str(name), file=pickles[0]))
    missing = [file for file in checkpoint.FILES if file not in files]
    if missing:
        raise UserError(Message.of("hub_error_lacks", name=str(name), files=", ".join(missing)))


@contextmanager
def _plainly(name: RepositoryName, token: str | None = None) -> Iterator[None]:
    """Turn any error of the Hub's client into a UserError, and silence the client's warnings. token: as it was given.
    """
    verbosity = logging.get_verbosity()
    logging.set_verbosity_error()
    try:
        yield
    except UserError:
        raise
    except Exception as error:  # of the client, of its storage back end, or of a server that is no Hub
        raise UserError(_sentence(name, error, token)) from error
    finally:
        logging.set_verbosity(verbosity)


def _sentence(name: RepositoryName, error: BaseException, token: str | None = None) -> Message:
    """Say what went wrong between this program and the Hub, and what to do."""
    if isinstance(error, (errors.LocalEntryNotFoundError, RuntimeError)) and error.__cause__:
        error = error.__cause__
    about = {"name": str(name), "repository": name.repository, "hub": constants.ENDPOINT}
    if isinstance(error, errors.OfflineModeIsEnabled):
        return Message.of("hub_error_offline", cache=constants.HF_HUB_CACHE, **about)
    if isinstance(error, errors.GatedRepoError):
        return Message.of("hub_error_gated", **about)
    if isinstance(error, errors.RepositoryNotFoundError):
        return Message.of("hub_error_forbidden" if token or get_token() else "hub_error_unseen", **about)
    if isinstance(error, errors.RevisionNotFoundError):
        return Message.of("hub_error_no_revision", revision=name.revision, **about)
    if isinstance(error, errors.HfHubHTTPError):
        status = error.response.status_code
        return Message.of("hub_error_token" if status in (401, 403) else "hub_error_status", status=status, **about)
    if isinstance(error, errors.HTTPError):
        return Message.of("hub_error_unreachable", reason=_reason(error), **about)
    if isinstance(error, OSError) and "Consistency check failed" in str(error):
        return Message.of("hub_error_incomplete", **about)
    if isinstance(error, OSError) and error.strerror:
        return Message.of("hub_error_file", file=error.filename or constants.HF_HUB_CACHE, reason=error.strerror)
    return Message.of("hub_error_failed", reason=_reason(error), **about)


def _reason(error: BaseException) -> str:
    """Return the first line of an error's text, or else the name of its class."""
    return next(iter(str(error).splitlines()), "") or type(error).__name__
