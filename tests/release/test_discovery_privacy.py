"""Neighbouring tables whose groups are found: the exact law of all that is published, through the code that does it.

The groups of a table are found by the engine. Then every draw of the noise is tried, with its exact probability, and
what would be published is written down: the law of the release, in fractions. Between neighbouring tables, in both
directions, the hockey-stick divergence at e^epsilon must be at most delta. Faults that are planted must be caught.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet.release.tables.discovered as discovery_module
from discreet.engines.base import Discovering
from discreet.engines.sources import open_source
from discreet.exact.bits import Bits, SeededBits
from discreet.exact.rationals import exp_bounds
from discreet.mechanisms.gaussian import discrete_gaussian
from discreet.privacy.gaussian_thresholds import GaussianThreshold
from discreet.release.noise.cells import CellNoise
from discreet.release.noise.discovered import DiscoveredNoise, PersonDraws
from discreet.release.noise.naming import BoundedNaming, GaussianNaming, conditional_intervals, discovered_noise
from discreet.release.plan.plan import Plan
from discreet.release.plan.planning import plan_release
from discreet.release.tables.discovery import name_groups

KEY = bytes(16)
Law = dict[tuple[object, ...], Fraction]
Rows = list[tuple[str, str, str]]

#: Ann has rows in three groups, of which two are counted.
OTHERS: Rows = [("bob", "cook", "n"), ("cem", "cook", "s"), ("cem", "smith", "n")]
ANN: Rows = [("ann", "cook", "n"), ("ann", "nurse", "n"), ("ann", "smith", "n"), ("ann", "smith", "n")]
ELSE: Rows = [("ann", "judge", "n"), ("ann", "cook", "n")]


def plan_of(path: Path, **options: Any) -> Plan:
    asked = {"unit": "person", "max_groups": 2, "epsilon": 2, "delta": "3/10", "discover": "job", **options}
    sql = asked.pop("sql", "SELECT job, COUNT(*) FROM visits GROUP BY job")
    return plan_release(sql, data=path, **asked)


def write(folder: Path, rows: Rows) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "visits.csv"
    path.write_text("person,job,area\n" + "".join(",".join(row) + "\n" for row in rows))
    return path


def draws(noise: BoundedNaming, groups: int) -> Iterator[tuple[tuple[int, ...], Fraction]]:
    """Every draw of the naming noise, with its probability."""
    law = noise.law
    for z in itertools.product(range(law.low, law.high + 1), repeat=groups):
        yield z, math.prod((law.probability(one) for one in z), start=Fraction(1))


def law_of(path: Path, monkeypatch: pytest.MonkeyPatch, **options: Any) -> tuple[Plan, Law]:
    """The exact law of what a release of this table publishes."""
    plan = plan_of(path, **options).canonical
    (table,) = plan.tables
    noise, discovery = table.noise, table.discovery
    assert isinstance(noise, BoundedNaming) and discovery is not None
    found = open_source(path).discover(discovery.counting(table.question, table.groups, plan.protection, KEY))
    law: Law = {}
    for z, probability in draws(noise, len(found.counts)):
        monkeypatch.setattr(CellNoise, "draw", lambda self, counts, bits, z=z: counts + np.array(z, np.int64))
        named, counts = name_groups(discovery, table.question, table.groups, noise, found, SeededBits(0))
        outcome = tuple(zip(*(named.labels(k) for k in range(len(named.columns))), counts, strict=True))
        law[outcome] = law.get(outcome, Fraction(0)) + probability
    monkeypatch.undo()
    assert sum(law.values()) == 1
    return plan, law


def excess(one: Law, two: Law, epsilon: Fraction) -> Fraction:
    factor = exp_bounds(epsilon, 80)[1]
    return sum(
        (max(Fraction(0), p - factor * two.get(outcome, Fraction(0))) for outcome, p in one.items()), Fraction(0)
    )


def worst(folder: Path, monkeypatch: pytest.MonkeyPatch, pairs: list[tuple[Rows, Rows]], **options: Any) -> Fraction:
    """The largest divergence over pairs of neighbouring tables, both ways."""
    most = Fraction(0)
    for number, (first, second) in enumerate(pairs):
        plan, one = law_of(write(folder / f"{number}a", first), monkeypatch, **options)
        _, two = law_of(write(folder / f"{number}b", second), monkeypatch, **options)
        most = max(most, excess(one, two, plan.cost.epsilon), excess(two, one, plan.cost.epsilon))
    return most


ADDED = [(OTHERS + ANN, OTHERS), (ANN, []), (OTHERS, [*OTHERS, ("dan", "nurse", "n")])]
EXCHANGED: list[tuple[Rows, Rows]] = [
    ([*OTHERS[:1], ("ann", "nurse", "n")], [*OTHERS[:1], ("ann", "judge", "n")]),
    (OTHERS[:1] + ANN, OTHERS[:1] + ELSE),
]


def test_neighbouring_tables_differ_by_no_more_than_epsilon_and_delta(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = worst(tmp_path, monkeypatch, ADDED)
    plan = plan_of(write(tmp_path, OTHERS))
    assert plan.tables[0].noise.reach == 2 and plan.tables[0].sensitivity == 2  # type: ignore[attr-defined]
    # nothing is wasted: the least delta that was charged is reached, up to the digits of alpha
    assert plan.cost.delta * Fraction(999, 1000) < found <= plan.cost.delta <= Fraction(3, 10)


def test_one_person_in_place_of_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = {"relation": "substitution", "max_groups": 1, "epsilon": 3}
    found = worst(tmp_path, monkeypatch, EXCHANGED, **options)
    plan = plan_of(write(tmp_path, OTHERS), **options)
    assert plan.tables[0].sensitivity == 2
    assert 0 < found <= plan.cost.delta


def test_a_declared_column_beside_the_discovered_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every cell of (area, job) passes its own threshold."""
    options = {"sql": "SELECT area, job, COUNT(*) FROM visits GROUP BY area, job", "domain": {"area": ["s", "n"]}}
    found = worst(tmp_path, monkeypatch, ADDED[:2], **options)
    assert 0 < found <= plan_of(write(tmp_path, OTHERS), **options).cost.delta


# ------------------------------------------------------------------------------------------------ planted


def reported_at_the_threshold(self: DiscoveredNoise, counts: Any, bits: Bits) -> tuple[Any, Any]:
    """Reports that are equal to D are published: the fault of opendp#2922."""
    first = CellNoise((self.naming,)).draw(counts[:, 0], bits)
    named = np.flatnonzero(first >= self.reach)
    return named, first[named].reshape(-1, 1)


def every_group_that_is_there(self: DiscoveredNoise, counts: Any, bits: Bits) -> tuple[Any, Any]:
    """All groups are named, whatever their noisy count."""
    first = CellNoise((self.naming,)).draw(counts[:, 0], bits)
    return np.arange(len(first)), first.reshape(-1, 1)


@pytest.mark.parametrize("fault", [reported_at_the_threshold, every_group_that_is_there])
def test_a_wrong_threshold_is_caught(fault: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.MonkeyPatch.context() as planted:
        planted.setattr(DiscoveredNoise, "name_groups", fault)
        assert worst(tmp_path, monkeypatch, ADDED) > Fraction(3, 10)


def test_people_without_a_bound_are_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = Discovering.__init__

    def unbounded(self: Discovering, *arguments: Any, **fields: Any) -> None:
        plain(self, *arguments[:3], 1000, *arguments[4:], **fields)

    with pytest.MonkeyPatch.context() as planted:
        planted.setattr(Discovering, "__init__", unbounded)
        assert worst(tmp_path, monkeypatch, [(ANN, [])], max_groups=1, epsilon=1, delta="1/10") > Fraction(1, 10)
    assert worst(tmp_path, monkeypatch, [(ANN, [])], max_groups=1, epsilon=1, delta="1/10") <= Fraction(1, 10)


def test_a_delta_for_each_draw_instead_of_all_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if a person made one draw that may name a group, however many groups they are in."""
    options = {"epsilon": 2, "delta": "1/10"}
    with pytest.MonkeyPatch.context() as planted:
        planted.setattr(discovery_module, "person_draws", lambda questions, protection: PersonDraws((1,)))
        assert worst(tmp_path, monkeypatch, ADDED[:2], **options) > Fraction(1, 10)
    assert worst(tmp_path, monkeypatch, ADDED[:2], **options) <= Fraction(1, 10)


# ------------------------------------------------------------------------------------------------ coverage


@pytest.mark.parametrize(
    ("epsilon", "delta", "level"), [("1", "1e-3", "19/20"), ("1/2", "1/100", "4/5"), ("2", "1e-6", "99/100")]
)
def test_intervals_cover_given_that_the_group_is_named(epsilon: str, delta: str, level: str) -> None:
    """Exactly, for every true count: at the level, given that it is published, and always for the certain ones."""
    noise = discovered_noise(Fraction(epsilon), Fraction(delta), draws=1, measures=1)
    law, reach, share = noise.law, noise.reach, Fraction(level)
    unselected, expected = Fraction(0), noise.expected(share)
    assert (expected.half_width, expected.bias_low, expected.bias_high, expected.exact) == (reach, 0, reach, 0)
    for n in range(1, 4 * reach + 4):
        reports = [y for y in range(n - reach, n + reach + 1) if y > reach]
        accuracy = noise.accuracy(np.array(reports), share)
        assert (accuracy.certain_low <= n).all() and (n <= accuracy.certain_high).all()
        assert (accuracy.certain_low >= 1).all() and (accuracy.low >= accuracy.certain_low).all()
        assert (accuracy.high <= accuracy.certain_high).all()
        weights = [law.probability(y - n) for y in reports]
        held = [low <= n <= high for low, high in zip(accuracy.low.tolist(), accuracy.high.tolist(), strict=True)]
        covered = sum((w for w, h in zip(weights, held, strict=True) if h), Fraction(0))
        assert covered >= share * sum(weights), n
        bias = sum((w * (y - n) for w, y in zip(weights, reports, strict=True)), Fraction(0)) / sum(weights)
        assert 0 <= bias <= reach and (n != 1 or bias == reach) and (n <= 2 * reach or bias == 0)
        assert all(abs(y - n) <= expected.half_width for y in reports)
        half = expected.half_width_when_unbiased
        plain = sum((w for w, y in zip(weights, reports, strict=True) if abs(y - n) <= half), Fraction(0))
        assert n <= 2 * reach or plain >= share
        unselected = max(unselected, share - plain / sum(weights))
        spread = sum((w * (y - n - bias) ** 2 for w, y in zip(weights, reports, strict=True)), Fraction(0))
        assert spread / sum(weights) <= Fraction(expected.sd) ** 2 * (1 + Fraction(1, 10**9))
    assert unselected > 0  # the interval of the noise alone would not cover: selection matters


# ------------------------------------------------------------------------------------------------ discrete Gaussian

#: Noise of variance about one half that names groups from a noisy count of 4 on.
GAUSSIAN = GaussianNaming((discrete_gaussian(sigma2="1/2"),), None, "clamped", 0, None, False, 1, 4)


def gaussian_law(noise: GaussianNaming, counts: list[int]) -> dict[tuple[object, ...], float]:
    """The law of the named groups and their reports, through the code that draws them."""
    law: dict[tuple[object, ...], float] = {}
    masses = noise.law.floats(-6, 6)
    truths = np.array([[count] for count in counts], np.int64)
    for z in itertools.product(range(-6, 7), repeat=len(counts)):
        with pytest.MonkeyPatch.context() as fixed:
            fixed.setattr(CellNoise, "draw", lambda self, counts, bits, z=z: counts + np.array(z, np.int64))
            groups, reports = noise.name_groups(truths, SeededBits(0))
        outcome = (tuple(groups.tolist()), tuple(reports[:, 0].tolist()))
        law[outcome] = law.get(outcome, 0.0) + math.prod(masses[k + 6] for k in z)
    return law


def worst_gaussian(noise: GaussianNaming, epsilon: float) -> float:
    """The largest divergence where a person in two groups comes or leaves: new, small and large groups."""
    most = 0.0
    for one, two in [(0, 0), (0, 3), (0, 50), (2, 3), (50, 50)]:
        more, less = gaussian_law(noise, [one + 1, two + 1]), gaussian_law(noise, [one, two])
        for here, there in ((more, less), (less, more)):
            most = max(most, sum(max(0.0, p - math.exp(epsilon) * there.get(y, 0.0)) for y, p in here.items()))
    return most


@pytest.mark.parametrize("epsilon", [2, 5])
def test_gaussian_naming_has_no_more_than_the_proved_delta(epsilon: int) -> None:
    judged = GaussianThreshold(GAUSSIAN.law.sigma2, GAUSSIAN.threshold, (1, 1))
    bound = float(judged.delta_up(Fraction(epsilon)))
    assert bound * 0.99 <= worst_gaussian(GAUSSIAN, epsilon) <= bound


def test_a_gaussian_threshold_that_is_one_too_low_is_caught() -> None:
    def one_too_low(self: DiscoveredNoise, counts: Any, bits: Bits) -> tuple[Any, Any]:
        first = CellNoise((self.naming,)).draw(counts[:, 0], bits)
        named = np.flatnonzero((first >= self.reach) & (counts[:, 0] > 0))
        return named, first[named].reshape(-1, 1)

    judged = GaussianThreshold(GAUSSIAN.law.sigma2, GAUSSIAN.threshold, (1, 1))
    with pytest.MonkeyPatch.context() as planted:
        planted.setattr(DiscoveredNoise, "name_groups", one_too_low)
        assert worst_gaussian(GAUSSIAN, 9) > 2 * float(judged.delta_up(Fraction(9)))


@pytest.mark.parametrize("level", ["19/20", "4/5", "9999/10000"])
def test_intervals_of_gaussian_counts_cover_given_that_the_group_is_named(level: str) -> None:
    noise = GaussianNaming((discrete_gaussian(sigma2=20),), None, "clamped", 0, None, False, 1, 26)
    share, reach = Fraction(level), 60
    expected = noise.expected(share)
    for n in [*range(1, 40), 60, 100, 400]:
        reports = np.arange(max(noise.threshold, n - reach), n + reach + 1)
        accuracy, weights = (
            noise.accuracy(reports, share),
            noise.law.floats(-3 * reach, 3 * reach)[reports - n + 3 * reach],
        )
        weights = weights / weights.sum()
        assert weights[(accuracy.low <= n) & (n <= accuracy.high)].sum() >= float(share) * (1 - 1e-9)
        assert (accuracy.certain_low == 1).all()
        bias = float(weights @ (reports - n))
        assert -1e-9 <= bias <= expected.bias_high * (1 + 1e-12)
        assert n > 1 or bias >= expected.bias_high - 1e-3
        assert float(weights @ (reports - n - bias) ** 2) <= expected.sd**2 * (1 + 1e-9)
        assert weights[np.abs(reports - n) <= expected.half_width].sum() >= float(share) * (1 - 1e-9)


def test_the_interval_of_a_large_count_is_that_of_the_noise() -> None:
    noise = discovered_noise(Fraction(1), Fraction(1, 10**8), draws=1, measures=1)
    accuracy = noise.accuracy(np.array([5000]), Fraction(19, 20))
    half = noise.expected().half_width_when_unbiased
    assert (accuracy.low[0], accuracy.high[0]) == (5000 - half, 5000 + half)
    low, high = conditional_intervals(noise.law, Fraction(19, 20))
    assert low[0] == 1 and (np.diff(low) >= 0).all() and (np.diff(high) >= 0).all()


def test_further_measures_are_drawn_for_named_groups_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    noise = discovered_noise(Fraction(1), Fraction(1, 10**3), draws=1, measures=3)
    sizes: list[tuple[int, ...]] = []
    plain = CellNoise.draw

    def watched(self: CellNoise, counts: Any, bits: Bits) -> Any:
        sizes.append(np.shape(counts))
        return plain(self, counts, bits)

    monkeypatch.setattr(CellNoise, "draw", watched)
    counts = np.array([[1000, 900, 0], [0, 0, 0], [2000, 5, 7]])
    named, reports = noise.name_groups(counts, SeededBits(3))
    assert named.tolist() == [0, 2] and sizes == [(3,), (2, 2)] and reports.shape == (2, 3)
    assert (reports >= 0).all() and abs(reports[0, 1] - 900) < 60
