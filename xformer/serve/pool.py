"""A pool of translation models: each is loaded on first use, shared by all clients, and
closed when another needs its memory and it is the one used longest ago.
"""

import logging
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from xformer.hub import checkpoint
from xformer.hub import repository as hub
from xformer.results import Message, UserError
from xformer.serve.lent_gpu import open_service
from xformer.serve.limits import Guard, Wait
from xformer.serve.protocol import ModelPool
from xformer.serve.translation import Service

log = logging.getLogger(__name__)
GB = 10**9
MOST_MEMORY = 2.0  # GB of models besides the default, which is never closed
MOST_LOADING = 4  # at the same time
# seconds from the start of loading that clients other than the first wait for a model
PATIENCE = 10.0
LONGEST_NAME = 400  # characters


@dataclass
class _Loaded:
    """A model that is loaded or being loaded, and how many threads use it, wait for it
    or load it."""

    service: Future[Service] = field(default_factory=Future)
    users: int = 0
    bytes: int = 0  # of memory that it takes, once that is known
    began: float = field(default_factory=time.perf_counter)


class Models(ModelPool):
    """Services by name, loaded on first use."""

    default: Service

    def __init__(
        self,
        default: Service,
        offered: Mapping[str, Path] | None = None,
        device: str | None = None,
        any_name: bool = False,
        precision: str = "auto",
        most_memory: float = MOST_MEMORY,
    ) -> None:
        """Begin with one loaded model.

        offered: folders of other models, by the names that every visitor may choose.
        any_name: whether visitors may also choose any folder of this machine and any
        repository on the Hub. most_memory: GB of models besides it.
        """
        self.most = most_memory * GB
        self.default = default
        self.any_name = any_name
        self._device = device
        self._precision = precision
        self._offered = dict(offered or {})
        self._loaded: dict[str, _Loaded] = {}  # the model used longest ago comes first
        self._lock = threading.Lock()

    @property
    def guard(self) -> Guard:
        return self.default.guard

    @guard.setter
    def guard(self, guard: Guard) -> None:
        self.default.guard = guard

    @property
    def names(self) -> list[str]:
        return [self.default.info.name, *self._offered]

    def reading(self, language: str) -> str | None:
        if self.default.info.source == language:
            return ""
        return next(
            (
                name
                for name, folder in self._offered.items()
                if checkpoint.languages(folder)[0] == language
            ),
            None,
        )

    def translating(self, source: str, target: str) -> list[str]:
        info = self.default.info
        wanted = (source, target)
        return [
            *([info.name] if (info.source, info.target) == wanted else []),
            *(
                name
                for name, folder in self._offered.items()
                if checkpoint.languages(folder) == wanted
            ),
        ]

    def known_as(self, name: str) -> str:
        # neither the disk nor the Hub is read: a refusal does not reveal what is on
        # this machine
        name = name.strip()
        if name in ("", self.default.info.name):
            return ""
        if name in self._offered or (self.any_name and len(name) <= LONGEST_NAME):
            return name
        if self.any_name:
            raise UserError(Message.of("hub_error_name", name=f"{name[:40]}…"))
        raise UserError(
            Message.of(
                "model_unknown", name=name[:LONGEST_NAME], names=", ".join(self.names)
            )
        )

    def needs(self, name: str) -> float | None:
        try:
            folder = self._offered.get(name) or hub.find(
                name, hub.Access(local_files_only=True)
            )
            return checkpoint.memory(folder) / GB
        except UserError:
            return None

    def at_hand(self, name: str) -> bool:
        try:
            name = self.known_as(name)
        except UserError:
            return True
        with self._lock:
            return not name or (
                name in self._loaded and self._loaded[name].service.done()
            )

    @contextmanager
    def lease(self, name: str = "") -> Iterator[Service]:
        # The first client that asks for a model starts its loading, and waits as long
        # as the guard lets a request take. Later clients wait until PATIENCE seconds
        # after that start. Loading goes on when no client waits any more.
        name = self.known_as(name)
        if not name:
            yield self.default
            return
        wanted, first = self._join(name)
        try:
            now = time.perf_counter()
            seconds = self.guard.seconds
            if not first:
                seconds = max(0.0, wanted.began + PATIENCE - now)
            late = Message.of(
                "model_unready",
                name=name,
                seconds=round(now + (seconds or 0.0) - wanted.began),
            )
            Wait(seconds, self.guard.asker(), now, late).until_done(wanted.service)
            yield wanted.service.result()
        finally:
            self._leave(wanted)

    def close(self) -> None:
        """Close all services, the default too."""
        with self._lock:
            loaded = self._loaded
            self._loaded = {}
        self.default.close()
        for other in loaded.values():
            other.service.add_done_callback(_close)

    def _join(self, name: str) -> tuple[_Loaded, bool]:
        """Become a user of a model, and start loading it if this is the first; return
        it and whether this was so."""
        with self._lock:
            first = name not in self._loaded
            if (
                first
                and (
                    count := sum(
                        not other.service.done() for other in self._loaded.values()
                    )
                )
                >= MOST_LOADING
            ):
                raise UserError(Message.of("model_queue", count=count, name=name))
            # now the last in the order
            wanted = self._loaded[name] = _Loaded() if first else self._loaded.pop(name)
            wanted.users += 1 + first
        if first:
            threading.Thread(
                target=self._load, args=(name, wanted), name=f"load {name}", daemon=True
            ).start()
        return wanted, first

    def _leave(self, wanted: _Loaded) -> None:
        """Cease to be a user of a model."""
        with self._lock:
            wanted.users -= 1
        self._close_surplus()

    def _close_surplus(self) -> None:
        """Close unused models as long as all take too much memory, those used longest
        ago first."""
        surplus = []
        with self._lock:
            over = sum(loaded.bytes for loaded in self._loaded.values()) - self.most
            for name in [
                name for name, loaded in self._loaded.items() if not loaded.users
            ]:
                if over > 0:
                    surplus.append(self._loaded.pop(name))
                    over -= surplus[-1].bytes
        for loaded in surplus:
            _close(loaded.service)

    def _load(self, name: str, wanted: _Loaded) -> None:
        """Load a model for all clients that wait for it; after a failure, the next
        client's request tries again."""
        try:
            wanted.service.set_result(self._open(name, wanted))
        except BaseException as error:
            with self._lock:
                if self._loaded.get(name) is wanted:
                    del self._loaded[name]
            wanted.service.set_exception(error)
        self._leave(wanted)

    def _open(self, name: str, wanted: _Loaded) -> Service:
        try:
            folder = self._offered.get(name) or hub.find(
                name, hub.Access(most=self.most / (1 + checkpoint.COPIES))
            )
            checkpoint.require(folder)
            wanted.bytes = checkpoint.memory(folder)
            if wanted.bytes <= self.most:
                self._close_surplus()
                service = open_service(Service, folder, self._device, self._precision)
                service.guard = self.guard
                return service
        except hub.TooLarge as error:
            # in float32 it takes no fewer bytes than are stored
            wanted.bytes = round(error.size * (1 + checkpoint.COPIES))
        except Exception as error:
            if self.any_name and isinstance(error, UserError):
                raise
            if self.any_name and isinstance(error, OSError) and error.strerror:
                raise UserError(
                    Message.of(
                        "hub_error_file",
                        file=error.filename or name,
                        reason=error.strerror,
                    )
                ) from error
            # The reason is for the operator's log only: it may name folders of this
            # machine.
            log.exception("the model %s cannot be loaded", name)
            raise UserError(Message.of("model_failed", name=name)) from error
        needs = f"{wanted.bytes / GB:.1f}"
        most = f"{self.most / GB:g}"
        raise UserError(Message.of("model_large", name=name, needs=needs, most=most))


def _close(loaded: Future[Service]) -> None:
    """Close a service if it was loaded."""
    if loaded.exception() is None:
        loaded.result().close()


def offered(default: Path, names: Iterable[str], beside: Path) -> dict[str, Path]:
    """List the models of a menu, without the default: the checkpoints in `names`, then
    others in the folder `beside`.

    Returns folders by name: a folder's own name, or owner/name on the Hub as it was
    given. Raises UserError if one of `names` does not exist or holds no translation
    model.
    """
    own = checkpoint.name_of(default)
    folders = {own: default}
    for name in names:
        folder = hub.find(name)
        _translates(folder)
        short = folder.resolve().name if Path(name).is_dir() else name
        folders[name if folders.get(short, folder) != folder else short] = folder
    known = {folder.resolve() for folder in folders.values()}
    for folder in sorted(beside.iterdir()) if beside.is_dir() else []:
        try:
            _translates(folder)
        except UserError:
            # another kind of model, or an incomplete one, still in training
            continue
        if folder.resolve() not in known:
            folders.setdefault(folder.name, folder)
    del folders[own]
    return folders


def _translates(folder: Path) -> None:
    """Raise UserError if a folder holds no translation model."""
    checkpoint.require(folder)
    checkpoint.read_config(folder, checkpoint.translator_type(folder))
