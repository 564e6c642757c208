"""Counts and raw reports: what could be either is read as counts, and the estimate says so."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from support.refusals import refused

RAW = [3, 5, 2, 4, 3, 1, 0, 6, 3, 2, 4, 5, 3, 1, 2, 3, 4, 2, 5, 3, 2]
M = dc.geometric(20, epsilon=1)


def ambiguous(estimate: dc.Estimate) -> list[str]:
    return [note for note in estimate.notes if "read as counts" in note]


@pytest.mark.parametrize("method", ["auto", "mle", "ibu", "empirical-bayes", "inverse", "smoothed"])
def test_twenty_one_raw_reports_do_not_silently_become_sixty_three_people(method):
    estimate = dc.estimate(RAW, M, method=method)
    assert estimate.people == 63
    (note,) = ambiguous(estimate)
    assert "63 people" in note and "21 people" in note and "reports=" in note
    assert "63 people" in " ".join(estimate.describe().split()) and note in estimate.to_json()["notes"]


def test_pairs_say_it_too():
    assert len(ambiguous(dc.estimate([(RAW, M), (RAW, dc.geometric(20, epsilon=2))]))) == 2


@pytest.mark.parametrize(
    "given",
    [
        {"reports": RAW},
        {"counts": dict(enumerate(RAW))},
        {"counts": pd.Series(RAW).value_counts()},
        {"counts": [30 * count for count in RAW]},
        {"counts": np.array([21] + 20 * [0])},
    ],
    ids=["raw", "mapping", "value counts", "many people", "more than the largest output"],
)
def test_what_can_only_be_one_of_them_needs_no_note(given):
    assert not ambiguous(dc.estimate(mechanism=M, **given))


def test_labels_that_are_not_numbers_cannot_be_counts():
    m = dc.randomized_response(["a", "b", "c"], epsilon=1)
    assert not ambiguous(dc.estimate([1, 2, 1], m))
    with refused(dc.errors.InvalidInput):
        dc.estimate(["a", "b", "c"], m)
