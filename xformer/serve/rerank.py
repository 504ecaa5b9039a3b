"""Let a model of the other direction choose among the hypotheses of a beam: which of
them says all of the source."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from xformer.explain import passes
from xformer.pieces import EOS
from xformer.results import Candidate, Options, Translation, UserError
from xformer.serve.translation import Service

# of the other model's mean log-probability; on `dev` all of 0.1 to 0.4 gain as much
WEIGHT = 0.2


class Reranked:
    """A service whose hypotheses y of a source x are ranked by their score + WEIGHT log
    p(x | y) / |x|, with p of a model of the other direction: the noisy channel of Yee,
    Dauphin and Auli (2019) without their language model.

    All else is the service's own. Raises UserError where the other model is not of the
    other direction.
    """

    def __init__(self, service: Service, other: Service) -> None:
        one = service.info
        two = other.info
        if (one.source, one.target) != (two.target, two.source):
            raise UserError(
                f"The model {two.name} translates {two.source} to {two.target} and cannot rank what "
                f"{one.name} writes; name one that translates {one.target} to {one.source}."
            )
        self.service = service
        self.other = other

    def __getattr__(self, name: str) -> Any:
        return getattr(self.service, name)

    def translate_many(
        self, texts: Sequence[str], options: Options | None = None, **more: Any
    ) -> list[Translation]:
        """Translate as `Service.translate_many` does, the best of all that the beam
        keeps first. Raises UserError."""
        options = options or Options()
        wide = replace(options, n_best=options.beam, quality=False)
        return [
            self._ranked(one, options)
            for one in self.service.translate_many(texts, wide, **more)
        ]

    @torch.inference_mode()
    def _ranked(self, found: Translation, options: Options) -> Translation:
        target, _ = self.other.typed(found.source)
        sources = [
            [*self.other.tokenizer.encode(one.text), EOS] for one in found.n_best
        ]
        back = (
            passes.log_probs(self.other.model, sources, passes.Pair.of([], target))
            .mean(dim=1)
            .tolist()
        )

        def cost(one: tuple[Candidate, float]) -> float:
            return -one[0].score - WEIGHT * one[1]

        ranked = sorted(
            zip(found.n_best, back, strict=True),
            key=cost,
        )
        return replace(
            found,
            n_best=tuple(one for one, _ in ranked[: options.n_best]),
            options=options,
        )
