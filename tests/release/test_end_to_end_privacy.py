"""Neighbouring tables through the whole path: an attacker who sees only releases cannot show more than the claim.

For an event E and its probabilities p, q under two neighbouring tables, epsilon is at least log(p / q). A thousand
seeded answers bound p from below and q from above (Clopper and Pearson, 99.9% each); the lower bound of epsilon must
stay below the claim. A wrong sensitivity, planted, must be caught: otherwise this test shows nothing.
"""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy.stats import beta

from discreet.engines.sources import open_source
from discreet.exact.bits import SeededBits
from discreet.release.counts import _answer, _Progress
from discreet.release.plan.planning import plan_release
from discreet.release.protection import Change, Protection

pytestmark = pytest.mark.full

#: Each release asks the same question of so many tables at once, each with its own noise and its own epsilon.
TABLES, RELEASES = 50, 20
RUNS = TABLES * RELEASES
KEY = bytes(16)
CONFIDENCE = 1e-3


def write(path, rows):
    path.write_text("person,site\n" + "".join(f"{person},{site}\n" for person, site in rows))
    return path


def reports(plan, source, seed):
    """What an attacker sees in many releases of the same table."""
    bits = SeededBits(seed)
    answers = (json.loads(_answer(plan, source, KEY, bits, _Progress())) for _ in range(RELEASES))
    return np.concatenate([answer["counts"] for answer in answers])


def proven_epsilon(first, second):
    """The largest lower bound of epsilon over simple events: sums of the moved cells at or above a threshold."""
    best = 0.0
    for cells in ([0], [1], [0, 1]):
        a, b = first[:, cells].sum(axis=1), second[:, cells].sum(axis=1)
        for threshold in range(-3, 12):
            for one, other in ((a >= threshold, b >= threshold), (a < threshold, b < threshold)):
                for p, q in ((one.sum(), other.sum()), (other.sum(), one.sum())):
                    low = beta.ppf(CONFIDENCE, p, RUNS - p + 1) if p else 0.0
                    high = beta.ppf(1 - CONFIDENCE, q + 1, RUNS - q) if q < RUNS else 1.0
                    best = max(best, math.log(low / high)) if low else best
    return best


@pytest.fixture
def neighbours(tmp_path):
    """Two tables that differ in one person, who was at three sites on many days."""
    others = [("ann", 1), ("bob", 2), ("cem", 3), ("cem", 3)]
    one = [("zoe", site) for site in (1, 2, 3)] * 5
    (tmp_path / "with").mkdir()
    (tmp_path / "without").mkdir()
    return write(tmp_path / "with" / "visits.csv", others + one), write(tmp_path / "without" / "visits.csv", others)


def ask(path, epsilon):
    question = "SELECT site, COUNT(*) FROM visits GROUP BY site"
    options = {"unit": "person", "domain": {"site": range(1, 3)}, "max_groups": 2, "counts": "signed"}
    return plan_release([question] * TABLES, data=path, epsilon=epsilon * TABLES, **options)


def test_an_attacker_cannot_show_more_than_the_claim(neighbours):
    first, second = (
        reports(ask(path, 1), open_source(path), seed) for path, seed in zip(neighbours, (1, 2), strict=True)
    )
    shown = proven_epsilon(first, second)
    assert 0.4 < shown < 1  # the attack is a strong one, and stays below the claim


def test_a_wrong_sensitivity_is_caught(neighbours, monkeypatch):
    """As if one person moved one cell: the release then has epsilon 2, and the attack shows more than 1."""
    monkeypatch.setattr(Protection, "change", lambda self, question, groups: Change(1, 1))
    first, second = (
        reports(ask(path, 1), open_source(path), seed) for path, seed in zip(neighbours, (1, 2), strict=True)
    )
    assert proven_epsilon(first, second) > 1
