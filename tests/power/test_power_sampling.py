"""Every sampler against its law at a million seeded draws, and against a law a few per cent off, which must fail.

The exact tests of ``tests/exact`` are stronger; this is what an outsider would try first.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from scipy import stats

from discreet.exact.bits import SeededBits
from discreet.exact.kernels import Noise, Response
from discreet.exact.laws import Finite, Gaussian, GeometricTails
from discreet.exact.tables import Table
from support.grids import every_case

F = Fraction
DRAWS = 1_000_000
CHUNK = 1 << 14


def draw(kernel, truth: int, seed: int, draws: int = DRAWS) -> np.ndarray:
    sampler, bits = kernel.sampler(), SeededBits(seed)
    pieces = [sampler.draw(np.full(min(CHUNK, draws - k), truth), bits) for k in range(0, draws, CHUNK)]
    return np.concatenate(pieces).astype(np.int64)


def p_value(counts: np.ndarray, probabilities: np.ndarray) -> float:
    """The chi-square test, with neighbouring cells pooled until about 20 are expected in each."""
    assert abs(probabilities.sum() - 1) < 1e-9
    if counts[probabilities <= 0].any():
        return 0.0
    groups = np.floor(np.cumsum(probabilities) * counts.sum() / 20).astype(int)
    _, group = np.unique(groups, return_inverse=True)
    seen, expected = np.bincount(group, counts), np.bincount(group, probabilities) * counts.sum()
    keep = expected > 5
    seen, expected = np.append(seen[keep], seen[~keep].sum()), np.append(expected[keep], expected[~keep].sum())
    seen, expected = seen[expected > 0], expected[expected > 0]
    statistic = ((seen - expected) ** 2 / expected).sum()
    return float(stats.chi2.sf(statistic, len(seen) - 1))


def p_values(kernel, other, truth: int, seed: int, bins: int) -> tuple[float, float]:
    """The p-values of a sample of ``kernel`` under its own law and under that of ``other``."""
    if isinstance(kernel, Noise) and kernel.clamp == (None, None):
        noise = draw(kernel, truth, seed) - truth
        reach = int(np.abs(noise).max()) + 1
        places = np.arange(-reach, reach + 1) // bins
        places -= places[0]
        counts = np.bincount(noise + reach, minlength=2 * reach + 1)

        starts = np.flatnonzero(np.diff(places)) + 1 - reach

        def law(k: Noise) -> np.ndarray:
            """Return the probabilities of the bins, the tails with the first and the last."""
            below = np.array([0.0, *(1 - k.law.float_tail(int(start)) for start in starts), 1.0])
            return np.diff(below)

        counts = np.bincount(places, counts)
        return tuple(p_value(counts, law(k)) for k in (kernel, other))
    rows = [np.asarray(k.matrix()[truth]) for k in (kernel, other)]
    counts = np.bincount(draw(kernel, truth, seed), minlength=len(rows[0]))
    return tuple(p_value(counts, row) for row in rows)


def geometric(alpha: Fraction, n: int | None = None, own: tuple[Finite, ...] = ()) -> Noise:
    ends = (0, n) if n is not None else (None, None)
    return Noise(GeometricTails.two_sided(alpha), ends, ends, own)


def table(columns: int, off: float = 1.0) -> Table:
    """Two rows with weights that rise and fall; ``off`` changes one weight in three."""
    weights = np.arange(1, 2 * columns + 1).reshape(2, columns) % 97 + 3
    return Table.from_array(
        np.where(np.arange(columns) % 3 == 0, np.rint(1000 * off * weights), 1000 * weights).astype(np.int64)
    )


ROOT = GeometricTails.laplace(F(9, 10))
CASES = {
    # sampler, the same with parameters 3 to 10 per cent off, truth, width of the bins
    "truncated geometric": (geometric(F(9, 10), 40), geometric(F(91, 100), 40), 10, 1),
    "truncated geometric, at the end": (geometric(F(9, 10), 40), geometric(F(91, 100), 40), 0, 1),
    "two-sided geometric": (geometric(F(10, 11)), geometric(F(100, 109)), 7, 1),
    "two-sided geometric, dyadic": (geometric(F(1, 2)), geometric(F(52, 100)), -3, 1),
    "geometric by digits": (geometric(F(999, 1000)), geometric(F(10_300 - 10, 10_300)), 0, 50),
    "geometric by many digits": (geometric(1 - F(1, 10**6)), geometric(1 - F(1, 1_030_000)), 5, 50_000),
    "rounded Laplace": (Noise(ROOT), Noise(GeometricTails.laplace(F(897, 1000))), 0, 1),
    "discrete Gaussian": (Noise(Gaussian(F(25))), Noise(Gaussian(F(26))), 0, 1),
    "narrow Gaussian": (Noise(Gaussian(F(1, 4))), Noise(Gaussian(F(26, 100))), 0, 1),
    "wide Gaussian": (Noise(Gaussian(F(10**6))), Noise(Gaussian(F(103 * 10**4))), 0, 30),
    "finite": (Noise(Finite(-3, [1, 5, 0, 9, 2])), Noise(Finite(-3, [100, 515, 0, 900, 200])), 0, 1),
    "own law": (
        geometric(F(9, 10), 40, (Finite(0, [30, 50, 20]),)),
        geometric(F(9, 10), 40, (Finite(0, [31, 50, 19]),)),
        0,
        1,
    ),
    "beside an own law": (
        geometric(F(9, 10), 40, (Finite(0, [30, 50, 20]),)),
        geometric(F(91, 100), 40, (Finite(0, [30, 50, 20]),)),
        1,
        1,
    ),
    "alias, 32 bits": (table(37), table(37, 1.04), 1, 1),
    "alias, 64 bits": (table(5000), table(5000, 1.1), 1, 1),
    "response": (Response(50, 30, 1), Response(50, 31, 1), 20, 1),
    "uniform": (Response(50, 1, 1), Response(50, 2, 1), 20, 1),
    "response, two values": (Response(2, 3, 1), Response(2, 31, 10), 0, 1),
}


@every_case("case", CASES)
def test_samples_follow_the_law_and_not_one_that_is_a_little_off(case):
    kernel, other, truth, bins = CASES[case]
    right, wrong = p_values(kernel, other, truth, 20_240, bins)
    assert right > 1e-4
    assert wrong < 1e-9


@every_case("case", ["truncated geometric", "alias, 32 bits", "response", "discrete Gaussian"])
def test_p_values_are_spread_out(case):
    """Accepted for many seeds, and not because the test accepts everything: small p-values occur, too."""
    kernel, other, truth, bins = CASES[case]
    values = sorted(p_values(kernel, other, truth, seed, bins)[0] for seed in range(12))
    assert 1e-4 < values[0] < 0.5 < values[-1]


def test_draws_in_a_row_are_independent():
    """Pairs of neighbours in one sample, against the product of their laws; one copy in fifty must be noticed."""
    kernel = geometric(F(1, 2), 4)
    row = kernel.matrix()[2]
    reports = draw(kernel, 2, 77)
    first, second = reports[::2], reports[1::2]
    both = np.outer(row, row).ravel()
    assert p_value(np.bincount(first * 5 + second, minlength=25), both) > 1e-4
    second = np.where(np.arange(len(first)) % 50 == 0, first, second)
    assert p_value(np.bincount(first * 5 + second, minlength=25), both) < 1e-9
