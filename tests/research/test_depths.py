"""The gradients of untrained translators by depth: one model a depth, order and seed."""

import json

from research.options import StudyRuns
from research.studies import depths as study


def test_untrained_models_are_measured_on_the_pairs_they_would_learn_from(
    tmp_path, monkeypatch
):
    for name, value in {
        "LAYERS": (1, 2),
        "SEEDS": (0, 1),
        "BATCHES": 2,
        "ROWS": 4,
    }.items():
        monkeypatch.setattr(study, name, value)
    pairs = [(f"The cat {i} sleeps.", f"El gato {i} duerme.") for i in range(20)]
    options = StudyRuns(d_model=8, vocabulary=34, words=5, pairs=20)
    lines = [*study.record(options, pairs, tmp_path / "depths.json")]
    kept = json.loads((tmp_path / "depths.json").read_text())
    assert len(lines) == len(kept["runs"]) == 2 * 2 * 2
    assert {len(one["norms"]) for one in kept["runs"]} == {2, 4}
    assert kept["about"]["pairs"] == 8
    first, second, *_ = kept["runs"]
    assert (first["seed"], second["seed"]) == (0, 1)
    assert first["norms"] != second["norms"]
