"""What a person asks for: settings of a search, other positions, other weights of
attention."""

from dataclasses import dataclass

from xformer.results.models import Head

__all__ = [
    "ANSWERS_IN", "BASES", "BUGS", "GREEDY", "MOST_SHIFT", "OWN", "POSITION_KINDS",
    "SCOPES", "STOPS", "WEIGHINGS", "Options", "Positions", "Weighing",
]  # fmt: skip

STOPS = ("lookahead", "bound", "k_finished")  # of a beam
# precisions that a model may be asked to answer in
ANSWERS_IN = ("auto", "float32", "int8")


@dataclass(frozen=True)
class Options:
    """Search settings: beam search, or sampling where the temperature is above 0."""

    beam: int = 5
    n_best: int = 1
    # alpha: hypotheses are ranked by log-probability / length^alpha
    length_penalty: float = 1.0
    temperature: float = 0.0
    top_k: int = 0  # sample among the k likeliest; 0: all
    # sample among the fewest pieces that hold this probability (Holtzman et al. 2020)
    top_p: float = 1.0
    # of the samples; each text draws its own, so that they do not depend on what else
    # is translated
    seed: int = 0
    # when a beam of 2 and more ends: one of STOPS, explained in `search.searching`
    stop: str = "lookahead"
    alternatives: int = 5  # likeliest pieces to keep of each step
    quality: bool = False  # say how far the translation can be trusted

    def __post_init__(self) -> None:
        limits = {
            "beam": (1, 32),
            "n_best": (1, 32),
            "length_penalty": (0, 5),
            "temperature": (0, 10),
            "top_k": (0, 100_000),
            "top_p": (0, 1),
            "alternatives": (0, 32),
        }
        for name, (low, high) in limits.items():
            value = getattr(self, name)
            if not isinstance(value, (int, float)) or not low <= value <= high:
                raise ValueError(
                    f"{name} is {value}; it must be between {low} and {high}"
                )
        if not self.sampling and self.n_best > self.beam:
            raise ValueError(
                f"n_best is {self.n_best}, but a beam of {self.beam} ends with {self.beam} hypotheses; "
                f"raise beam or lower n_best"
            )
        if self.stop not in STOPS:
            raise ValueError(f"stop is {self.stop!r}; choose one of {', '.join(STOPS)}")
        if self.top_p == 0:
            raise ValueError(
                "top_p is 0; it must be above 0 to leave a piece to choose"
            )

    @property
    def sampling(self) -> bool:
        """Whether pieces are drawn at random."""
        return self.temperature > 0


GREEDY = Options(beam=1)

POSITION_KINDS = ("own", "none", "shift", "base")
MOST_SHIFT = 1_000  # greatest shift of positions
BASES = (2.0, 1_000_000.0)  # least and greatest base of sinusoids


@dataclass(frozen=True)
class Positions:
    """The positions that a pass adds to its embeddings: the model's own, or others for
    that pass alone."""

    kind: str = "own"  # of POSITION_KINDS; "none": zeros instead of positions
    # "shift": how far all are moved on; "base": the base of the sinusoids
    value: float = 0


OWN = Positions()  # the model's

# mistakes, made in `parts.bugs.ask`
BUGS = ("after", "queries", "future", "zeroed", "positions", "unmixed")
WEIGHINGS = ("beta", "unscaled", "after", "queries", "zeroed")
SCOPES = ("stack", "layer", "head")


@dataclass(frozen=True)
class Weighing:
    """Attention that makes weights of scores otherwise than equation 1: in one head, in
    its layer, or in its stack.

    Kinds: "beta", softmax(beta q k^T / sqrt(d)); "unscaled", softmax(q k^T); "after",
    softmax(q k^T) / sqrt(d); "queries", the softmax over the queries, so that columns
    sum to 1; "zeroed", what the future mask hides gets a score of 0 and a value of 0 in
    place of a score of minus infinity.
    """

    head: Head
    scope: str = "stack"  # of SCOPES
    kind: str = "beta"  # of WEIGHINGS
    # of "beta": from 0, where all weights are alike, to infinity, where the largest
    # takes all
    beta: float = 1.0
