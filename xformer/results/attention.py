"""The attention maps of one pass."""

from base64 import b64encode
from dataclasses import dataclass, field
from html import escape
from itertools import count

import numpy as np

from xformer import offline_page
from xformer.results.messages import Message, UserError
from xformer.results.models import SIDES, STACKS, Head, ModelInfo
from xformer.strings import ENGLISH, Language

__all__ = ["AdditiveWalk", "Maps", "Origin", "Trace"]

# texts of models that are not known to translate, in place of others
OF_UNKNOWN = {"html_title": "html_title_any", "cross": "html_cross"}


@dataclass(frozen=True, eq=False)
class Maps:
    """The attention of one stack in one pass, from Q query pieces to K key pieces."""

    # Q query pieces: of the source in the encoder, in the decoder those it was given
    asks: tuple[str, ...]
    # Q pieces to predict at these positions; () in the encoder
    predicted: tuple[str, ...]
    seen: tuple[str, ...]  # K key pieces
    probabilities: np.ndarray  # (layers, H, Q, K) float32, rows sum to 1
    norms: np.ndarray  # (layers, H, K), as in `Trace`
    # a query was made before its piece was read, as a recurrent decoder makes it
    late: bool = False


@dataclass(frozen=True)
class Origin:
    """The model that a pass was recorded of, and what is known of its heads."""

    info: ModelInfo
    best_head: Head  # on which a picture opens
    # heads of the cross-attention that align the piece they were given
    given: frozenset[Head] = frozenset()


# every pass is its own: arrays have no single truth to compare
@dataclass(frozen=True, eq=False)
class Trace:
    """Every attention map of one teacher-forced pass: float32 arrays (layers, H, Q, K),
    rows sum to 1.

    The norms (layers, H, K) are ||v W_O||, the length of each key's value vector after
    the output projection: how much a head would take along from that key (Kobayashi et
    al. 2020). Of another program (`xformer.view`) there may be no norms, no
    log-probabilities and no pieces, and empty arrays of stacks that its model lacks.
    """

    source: tuple[str, ...]  # S pieces, the last of them </s>
    target: tuple[str, ...]  # T pieces that the decoder is given, the first of them <s>
    # T pieces to predict, one at each position: the target moved on by one; () if
    # unknown
    predicted: tuple[str, ...]
    log_probs: tuple[float, ...]  # of `predicted`
    encoder_self: np.ndarray  # (layers, H, S, S)
    decoder_self: np.ndarray  # (layers, H, T, T)
    cross: np.ndarray  # (layers, H, T, S)
    encoder_self_norms: np.ndarray  # (layers, H, S)
    decoder_self_norms: np.ndarray  # (layers, H, T)
    cross_norms: np.ndarray  # (layers, H, S)
    text: str  # the source as it was typed
    tokens: tuple[int, ...]  # of the target, without <s> and </s>
    origin: Origin | None = field(default=None, kw_only=True)  # where it is known
    # counts the traces of this process
    number: int = field(init=False, default_factory=count().__next__)

    def of(self, stack: str) -> Maps:
        """The attention of one of STACKS, with its pieces. Raises KeyError for another
        name."""
        asks, seen = (getattr(self, side) for side in SIDES[stack])
        predicted = () if stack == "encoder_self" else self.predicted
        return Maps(
            asks,
            predicted,
            seen,
            getattr(self, stack),
            getattr(self, f"{stack}_norms"),
            stack == "cross" and self.asks_late,
        )

    @property
    def asks_late(self) -> bool:
        """Whether the query of a row was made before the piece of the row was read:
        that of a recurrent decoder."""
        return (
            self.origin is not None and self.origin.info.architecture != "transformer"
        )

    def opening(self, head: Head | str | None = None) -> Head:
        """The head on which a picture opens: `head`, also as "cross.1.2", or the best
        of the model if not given.

        Where the model lacks its stack it is the first of one that it has. Raises
        UserError for what names no head, and where the model has none.
        """
        best = self.origin.best_head if self.origin else Head("cross", 1, 1)
        start = (
            best
            if head is None
            else Head.parse(head)
            if isinstance(head, str)
            else head
        )
        stacks = [stack for stack in STACKS if self.of(stack).probabilities.size]
        if not stacks:
            raise UserError(
                Message.of(
                    "html_no_heads", model=self.origin.info.name if self.origin else "?"
                )
            )
        return start if start.stack in stacks else Head(stacks[0], 1, 1)

    def page(self, head: Head | str | None = None, language: Language = ENGLISH) -> str:
        """Write a page of HTML that shows every head, opens without a server, and asks
        for nothing from outside.

        head: the one on which it opens, with the errors of `opening`.
        """
        start = self.opening(head)
        stacks = {stack: self.of(stack).probabilities for stack in STACKS}
        layers, heads = stacks[start.stack].shape[:2]
        data = {
            "source": self.source,
            "target": self.target,
            "predicted": self.predicted,
            "text": self.text,
            "model": self.origin.info.line(language) if self.origin else "",
            # rows named by the piece that was given
            "given": sorted(map(str, self.origin.given)) if self.origin else [],
            "late": self.asks_late,
            "start": {
                "stack": start.stack,
                "layer": min(start.layer, layers) - 1,
                "head": min(start.head, heads) - 1,
            },
            # exact, and quickly written and read
            **{
                stack: {
                    "shape": numbers.shape,
                    "data": b64encode(numbers.astype("<f4").tobytes()).decode("ascii"),
                }
                for stack, numbers in stacks.items()
            },
        }
        texts = {} if self.origin else OF_UNKNOWN
        if self.asks_late:
            texts = {**texts, "row_target": "row_target_late"}
        return offline_page.page(data, texts, language)

    def _repr_html_(self) -> str:
        """The page in a frame: how a notebook shows a trace that a cell ends with."""
        try:
            return offline_page.frame(self.page())
        except UserError as error:
            return f"<p>{escape(str(error))}</p>"

    def show(
        self, head: Head | str | None = None, language: Language = ENGLISH
    ) -> None:
        """Show every head: in the notebook where this runs in one, else in the browser,
        from a temporary file.

        head, language: as for `page`.
        """
        offline_page.show(self.page(head, language))


@dataclass(frozen=True, eq=False)
class AdditiveWalk:
    """Additive attention (Bahdanau et al. 2015, section A.1.2) of all T steps: scores =
    tanh(q + k) w + a bias."""

    queries: tuple[str, ...]  # T pieces given, the first of them <s>
    predicted: tuple[str, ...]  # T pieces
    keys: tuple[str, ...]  # S pieces of the source
    q: np.ndarray  # (T, D), W_q times the decoder's state before the step, and its bias
    k: np.ndarray  # (S, D), W_k times the encoder's state, and its bias
    w: np.ndarray  # (D,)
    scores: np.ndarray  # (T, S)
    probabilities: np.ndarray  # (T, S), the softmax of the scores
