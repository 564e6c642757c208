"""Intervals of combined margins: the weights of the noises, half-widths against exact laws, and coverage."""

from __future__ import annotations

from fractions import Fraction
from math import lcm

import numpy as np
import pytest

from discreet.exact.arrays import Array, FloatArray
from discreet.exact.laws import Gaussian, GeometricTails, Law
from discreet.release.marginals.combine import CombinedTable, MarginLeastSquares
from discreet.release.marginals.intervals import MarginErrors
from discreet.release.marginals.shares import margin_share_interval
from discreet.release.marginals.signed import Columns, Margins
from discreet.release.noise.many_terms import WeightedNoises
from discreet.release.noise.weighted import WeightedTerms, half_width, law_variance

from .test_marginals import SMALL, brute_force

MISS = Fraction(1, 20)


def errors_of(margins: Margins, laws: dict[Columns, Law]) -> MarginErrors:
    return MarginErrors(MarginLeastSquares(margins, {one: law_variance(law) for one, law in laws.items()}), laws)


def geometric_laws(margins: Margins, seed: int = 1) -> dict[Columns, Law]:
    random = np.random.default_rng(seed)
    return {one: GeometricTails.two_sided(Fraction(int(random.integers(3, 10)), 11)) for one in margins.residuals}


def cell_of(margins: Margins, table: Columns, number: int) -> dict[Columns, Array]:
    cell = np.zeros([margins.sizes[j] for j in table], np.int64)
    cell.reshape(-1)[number] = 1
    return {table: cell}


def exact_weights(errors: MarginErrors, table: Columns) -> list[dict[Law, list[Fraction]]]:
    """Return, for each cell, the sizes of the weights of the noises of each law, by brute force."""
    variances = {one: law_variance(law) for one, law in errors.laws.items()}
    parts, _ = brute_force(errors.solver.margins, variances, table)
    cells: list[dict[Law, list[Fraction]]] = []
    for number in range(errors.solver.margins.cells(table)):
        by_law: dict[Law, list[Fraction]] = {}
        for one, weights in parts.items():
            by_law.setdefault(errors.laws[one], []).extend(abs(w) for w in weights[number] if w)
        cells.append({law: sorted(weights) for law, weights in by_law.items() if weights})
    return cells


@pytest.mark.parametrize("margins", SMALL, ids=str)
def test_the_weights_of_the_noises_are_those_of_brute_force_and_the_same_for_all_cells(margins: Margins) -> None:
    errors = errors_of(margins, geometric_laws(margins))
    different = tuple(dict.fromkeys(errors.laws.values()))
    for table in margins.tables:
        exact = exact_weights(errors, table)
        assert all(cell == exact[0] for cell in exact), "all cells have errors with one law"
        for number in (0, len(exact) - 1):
            terms = errors.noise_weights([cell_of(margins, table, number)])
            for k, law in enumerate(different):
                mine = terms.law == k
                ours = np.sort(np.abs(np.repeat(terms.weights[0, mine], terms.counts[mine])))
                theirs = [float(weight) for weight in exact[0].get(law, [])]
                assert np.allclose(ours[ours.size - len(theirs) :], theirs, rtol=1e-12, atol=0)
                assert (ours[: ours.size - len(theirs)] < 1e-15).all()


def exact_tail(weights: dict[Law, list[Fraction]]) -> tuple[FloatArray, FloatArray]:
    """Return the values of the size of a weighted sum of noises, and how often it is larger than each."""
    unit = lcm(*(w.denominator for each in weights.values() for w in each))
    total = np.ones(1)
    for law, each in weights.items():
        listed = law.floats(-60, 60)
        for weight in each:
            steps = int(weight * unit)
            spread = np.zeros(120 * steps + 1)
            spread[::steps] = listed
            total = np.convolve(total, spread)
    middle = total.size // 2
    sizes = np.concatenate([total[middle : middle + 1], 2 * total[middle + 1 :]])
    return np.arange(sizes.size) / unit, np.cumsum(sizes[::-1])[::-1] - sizes


@pytest.mark.parametrize("kind", ["geometric", "gaussian"])
def test_half_widths_are_valid_and_nearly_the_shortest(kind: str) -> None:
    margins = Margins.up_to(2, (2, 3))
    law = GeometricTails.two_sided(Fraction(2, 3)) if kind == "geometric" else Gaussian(Fraction(8))
    errors = errors_of(margins, dict.fromkeys(margins.residuals, law))
    for table in margins.tables:
        values, exceeding = exact_tail(exact_weights(errors, table)[0])
        for miss in (Fraction(1, 20), Fraction(1, 1000)):
            width = errors.half_width(table, miss)
            within = values <= width
            assert exceeding[within][-1] <= miss + 1e-9
            shortest = values[np.flatnonzero(exceeding <= miss)[0]]
            assert width <= 1.02 * shortest + values[1] + 0.03 * float(errors.solver.variance(table)) ** 0.5


def test_a_sum_of_many_terms_has_the_half_width_of_a_series_that_leaves_nothing_out() -> None:
    random = np.random.default_rng(4)
    for kind in ("geometric", "gaussian", "both"):
        ratios = [GeometricTails.two_sided(Fraction(int(p), 100)) for p in random.integers(5, 99, 40)]
        widths = [Gaussian(Fraction(int(p), 4)) for p in random.integers(1, 999, 40)]
        laws = tuple({"geometric": ratios, "gaussian": widths, "both": ratios + widths}[kind])
        weights, counts = random.random(len(laws)), random.integers(1, 9, len(laws))
        ours = WeightedNoises.of(laws, np.arange(len(laws)), weights, counts)
        every = tuple(map(WeightedTerms, laws, weights.tolist(), counts.tolist()))
        assert ours.half_width(MISS) == pytest.approx(half_width(every, MISS), rel=2e-3)


def test_a_sum_over_tables_has_one_law_with_what_they_share() -> None:
    margins = Margins.up_to(2, (3, 2, 4))
    errors = errors_of(margins, geometric_laws(margins))
    row = np.array([[1, 1], [0, 0], [0, 0]])
    assert errors.form_half_width({(0, 1): row}, MISS) == errors.half_width((0,), MISS)
    same = {(0, 1): row, (0, 2): -np.array([[1] * 4, [0] * 4, [0] * 4])}
    assert errors.form_half_width(same, MISS) < 1e-9, "tables agree, so that this difference has no error"
    assert errors.form_half_width({(0,): np.ones(3)}, MISS) == errors.half_width((), MISS)


def draw(law: Law, shape: tuple[int, ...], random: np.random.Generator) -> Array:
    values = np.arange(-400, 401)
    chances = law.floats(-400, 400)
    return random.choice(values, size=shape, p=chances / chances.sum())


@pytest.mark.parametrize("kind", ["geometric", "gaussian"])
def test_intervals_of_cells_cover_in_a_thousand_releases_and_shorter_ones_do_not(kind: str) -> None:
    margins, random = Margins.up_to(2, (3, 2, 3)), np.random.default_rng(7)
    laws = geometric_laws(margins) if kind == "geometric" else dict.fromkeys(margins.residuals, Gaussian(Fraction(30)))
    errors, releases = errors_of(margins, laws), 1000
    counts = random.integers(0, 60, margins.sizes)
    noises = {one: draw(laws[one], (releases, *margins.shape(one)), random) for one in margins.residuals}
    true = {one: margins.signed(counts, one) for one in margins.residuals}
    exact = errors.solver.combine(true)
    cells = [(table, number) for table in margins.tables for number in (0, margins.cells(table) - 1)]
    inside, inside_shorter = np.zeros(len(cells)), np.zeros(len(cells))
    widths = {table: errors.half_width(table, MISS) for table in margins.tables}
    for release in range(releases):
        combined = errors.solver.combine({one: true[one] + noises[one][release] for one in true})
        for k, (table, number) in enumerate(cells):
            noisy, truth = combined[table], exact[table]
            error = abs(
                Fraction(noisy.numerators.reshape(-1)[number], noisy.denominator)
                - Fraction(truth.numerators.reshape(-1)[number], truth.denominator)
            )
            inside[k] += error <= widths[table]
            inside_shorter[k] += error <= 0.8 * widths[table]
    slack = 4 * (0.95 * 0.05 / releases) ** 0.5
    assert (inside / releases >= 0.95 - slack).all() and (inside / releases).mean() < 0.975
    assert (inside_shorter / releases).mean() < 0.95 - slack, "the test would notice intervals that are too short"


def test_shares_across_tables_cover_in_a_thousand_releases_and_are_shorter_than_from_two_intervals() -> None:
    margins, random = Margins.up_to(2, (3, 2, 4)), np.random.default_rng(11)
    law = Gaussian(Fraction(40))
    errors, releases = errors_of(margins, dict.fromkeys(margins.residuals, law)), 1000
    counts = random.integers(10, 40, margins.sizes)
    true = {one: margins.signed(counts, one) for one in margins.residuals}
    exact = errors.solver.combine(true)
    forms = {(0, 1): np.array([[1, 0], [0, 0], [0, 0]])}, {(0, 2): np.array([[1] * 4, [0] * 4, [1] * 4])}

    def totals(combined: dict[Columns, CombinedTable]) -> tuple[Fraction, Fraction]:
        some, every = (
            sum((Fraction(int((weights * combined[table].numerators).sum()), combined[table].denominator)
                 for table, weights in form.items()), Fraction(0))
            for form in forms
        )  # fmt: skip
        return some, every

    part, whole = totals(exact)
    share, terms = part / whole, errors.noise_weights(forms)
    drawn = draw(law, (releases, int(terms.counts.sum())), random) @ np.repeat(terms.weights, terms.counts, axis=1).T
    balance = np.abs(drawn[:, 0] - float(share) * drawn[:, 1])
    width = errors.noises(terms, np.array([1.0, -float(share)])).half_width(MISS)
    assert 0.93 < (balance <= width).mean() < 0.97
    assert (balance <= 0.8 * width).mean() < 0.92, "the test would notice intervals that are too short"
    boxes = [Fraction(errors.form_half_width(form, MISS / 2)) for form in forms]
    lengths = []
    for error, distance in zip(drawn[:25], balance, strict=False):
        some, every = part + Fraction(error[0]), whole + Fraction(error[1])
        low, high = margin_share_interval(errors, forms, (some, every), MISS)
        assert low <= share <= high or distance > width, "the interval has every share that the test accepts"
        boxed = (some + boxes[0]) / (every - boxes[1]) - (some - boxes[0]) / (every + boxes[1])
        lengths.append(float((high - low) / boxed))
    assert np.mean(lengths) < 0.8


def test_a_share_of_all_is_all_and_of_nothing_is_nothing() -> None:
    margins = Margins.up_to(2, (3, 2))
    errors = errors_of(margins, geometric_laws(margins))
    every, none = {(0,): np.ones(3, np.int64)}, {(0,): np.zeros(3, np.int64)}
    assert margin_share_interval(errors, (every, every), (Fraction(500), Fraction(500)), MISS)[1] == 1
    assert margin_share_interval(errors, (none, every), (Fraction(0), Fraction(500)), MISS)[0] == 0
