"""What [A] says without an experiment: its epsilons under a uniform prior, k-RR's optimality, LDP and DP, remapping."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import numpy as np

from discreet.exact.arrays import FloatArray
from discreet.mechanism import Mechanism
from discreet.mechanisms.geometric import geometric
from discreet.mechanisms.response import randomized_response
from discreet.privacy.verify import verify
from discreet.wording import listed, rounded

from ..claims import Claim, judge
from ..study import ExhibitResult, Row, Setting
from ..tables import number, significant
from .mechanisms import DISTANCE, NAMES, PRINTED, RESPONSE, at_epsilon, distances_by_cell
from .square import GRID

#: Two values of a linear program or a sum this close are the same.
SAME = 1e-9


# ------------------------------------------------------------------------------------------------ a uniform prior


def draw_uniform_prior(setting: Setting) -> ExhibitResult:
    """Compute the expected distance at the printed epsilons if all cells are equally likely."""
    metres = {name: float(distances_by_cell(at_epsilon(name, PRINTED[name])).mean()) for name in NAMES}
    rows: list[Row] = [
        {"mechanism": name, "printed_epsilon": PRINTED[name], "metres_with_a_uniform_prior": significant(value)}
        for name, value in metres.items()
    ]
    off = max(abs(value - DISTANCE) for value in metres.values())
    claim = Claim(
        "uniform prior: the printed epsilons", "[A] section III, (2), and section VI",
        f"The printed epsilons give an expected distance of {DISTANCE} m.",
        f"With the same probability for all {GRID.size} cells the expected distance at the printed epsilons is "
        + listed([f"{value:.0f} m ({name})" for name, value in metres.items()], "and")
        + f", within {rounded(off, 2)} m of {DISTANCE} m.",
        judge(off < 0.5),
        "(2) weighs cells by the check-ins; a uniform prior nearly explains the epsilons, and the check-ins of the "
        "square do not (exhibit “calibration”).",
    )  # fmt: skip
    return ExhibitResult({}, {"": rows}, (claim,))


# ------------------------------------------------------------------------------------------------ section V, [29]


def subset_information(k: int, chosen: int, epsilon: float) -> float:
    """Return the mutual information, in nats, between a uniform value of k and a random subset of ``chosen`` values.

    Reports are the subsets S of ``chosen`` values, e^epsilon times as likely if they have the truth: k-RR is
    ``chosen = 1``. With c = chosen and E = e^epsilon it is (c E/(c E + k - c)) epsilon + log(k/(c E + k - c)).

    >>> round(subset_information(2, 1, math.log(3)), 6)     # log 2 minus the entropy of (3/4, 1/4)
    0.130812
    """
    inside = chosen * math.exp(epsilon)
    return inside / (inside + k - chosen) * epsilon + math.log(k / (inside + k - chosen))


def best_information(prior: Sequence[float], epsilon: float) -> float:
    """Return the largest mutual information of a value with a report over all epsilon-LDP mechanisms.

    The columns of some best mechanism have two levels, 1 and e^epsilon times some factor (Kairouz, Oh and Viswanath
    2016), so that a linear program over all 2^k patterns has the optimum.
    """
    from scipy.optimize import linprog

    patterns = np.array(list(product((1.0, math.exp(epsilon)), repeat=len(prior))))
    weights = np.array(prior)
    mean = patterns @ weights
    gain = (weights * patterns * np.log(patterns / mean[:, None])).sum(axis=1)
    solution = linprog(-gain, A_eq=patterns.T, b_eq=np.ones(len(prior)), method="highs")
    return -float(solution.fun)


def response_information(prior: Sequence[float], epsilon: float) -> float:
    """Return the mutual information of a value with its report by k-RR."""
    k, weights = len(prior), np.array(prior)
    matrix = np.full((k, k), 1.0)
    np.fill_diagonal(matrix, math.exp(epsilon))
    matrix /= k - 1 + math.exp(epsilon)
    return float((weights[:, None] * matrix * np.log(matrix / (weights @ matrix))).sum())


def least_epsilon(k: int) -> float:
    """Return the epsilon from which k-RR has the most information of all LDP mechanisms about a uniform value."""
    low, high = 1e-6, 30.0
    for _ in range(60):
        middle = (low + high) / 2
        best = max(subset_information(k, chosen, middle) for chosen in range(2, max(3, k)))
        low, high = (low, middle) if subset_information(k, 1, middle) >= best else (middle, high)
    return high


def _optimality(setting: Setting) -> tuple[Claim, list[Row]]:
    sizes = (3, 4, 10, 100, GRID.size)
    rows: list[Row] = [
        {"values": k, "k_rr_has_the_most_information_from_epsilon": float(f"{least_epsilon(k):.6g}")} for k in sizes
    ]
    rng = setting.generator("priors")
    tried = [(k, rng.dirichlet(np.full(k, 3.0)).tolist()) for k in (2, 3, 4, 5) for _ in range(setting.pick(2, 10))]
    weak = [response_information(prior, 8.0) >= best_information(prior, 8.0) - SAME * math.log(k) for k, prior in tried]
    strong = [
        response_information(prior, 0.2) >= best_information(prior, 0.2) - SAME * math.log(k) for k, prior in tried
    ]
    printed = PRINTED[RESPONSE]
    best = max(range(1, GRID.size), key=lambda chosen: subset_information(GRID.size, chosen, printed))
    starts = listed(
        [f"{_from(row)} (k = {row['values']})" for row in rows],
        "and",
    )
    claim = Claim(
        "remarks: k-RR is optimal", "[A] section V, after Kairouz, Bonawitz and Ramage",
        "In the low privacy regime k-RR is optimal for a large class of information theoretic utility functions.",
        f"For mutual information and a uniform prior it is, from epsilon {starts} on; at the printed {printed:g} with "
        f"{GRID.size} cells subsets of {best} values have more. For {len(tried)} random priors on 2 to 5 values it "
        f"reaches the optimum of a linear program over all LDP mechanisms in {sum(weak)} at epsilon 8 and in "
        f"{sum(strong)} at epsilon 0.2.",
        judge(all(weak), corrected=best != 1),
        "The printed epsilon lies just below that regime. Mutual information does not know how far values are "
        "apart: this says nothing about the Kantorovich distance.",
    )  # fmt: skip
    return claim, rows


def _from(row: Row) -> str:
    """Return the least epsilon of a row; below a thousandth it is 0."""
    epsilon = number(row, "k_rr_has_the_most_information_from_epsilon")
    return f"{epsilon:.3g}" if epsilon > 1e-3 else "0"


# ------------------------------------------------------------------------------------------------ LDP implies DP


def collection_ratio(matrix: Sequence[Sequence[Fraction]], people: int, *, histogram: bool = False) -> Fraction:
    """Return the largest likelihood ratio between two collections that differ in one record, each perturbed by itself.

    All collections and all reports are gone through, in fractions; with ``histogram`` only how often each value was
    reported is published.
    """
    values, reports = range(len(matrix)), range(len(matrix[0]))

    def law(collection: tuple[int, ...]) -> dict[tuple[int, ...], Fraction]:
        chances: dict[tuple[int, ...], Fraction] = {}
        for answer in product(reports, repeat=people):
            key = tuple(sorted(answer)) if histogram else answer
            chance = math.prod((matrix[x][y] for x, y in zip(collection, answer, strict=True)), start=Fraction(1))
            chances[key] = chances.get(key, Fraction(0)) + chance
        return chances

    laws = {collection: law(collection) for collection in product(values, repeat=people)}
    return max(
        here[key] / laws[other][key]
        for collection, here in laws.items()
        for who in range(people)
        for value in values
        if (other := (*collection[:who], value, *collection[who + 1 :])) != collection
        for key in here
    )


def _fractions(mechanism: Mechanism, size: int) -> list[list[Fraction]]:
    return [[Fraction(mechanism.probability(x, y)) for y in range(size)] for x in range(size)]


def _ldp_and_dp() -> tuple[Claim, list[Row]]:
    made = {
        "k-RR, 3 values": randomized_response(3, alpha="1/2"),
        "geometric, 0 to 2": geometric(2, alpha="2/3"),
    }
    rows: list[Row] = []
    kept = []
    for name, mechanism in made.items():
        local = verify(mechanism, "local").ratio
        assert local is not None, "neither mechanism has a delta"
        matrix = _fractions(mechanism, 3)
        whole, counted = (collection_ratio(matrix, 3, histogram=histogram) for histogram in (False, True))
        kept.append(whole == local and counted <= local)
        rows.append(
            {"mechanism": name, "ratio_local": str(local), "ratio_reports": str(whole), "ratio_histogram": str(counted)}
        )
    claim = Claim(
        "remarks: LDP implies DP", "[A] section I",
        "LDP implies DP on the collected data.",
        "For collections of 3 records, over all pairs that differ in one and all reports, the largest ratio is that of "
        "one record: "
        + "; ".join(
            f"{row['mechanism']} {row['ratio_reports']}, and {row['ratio_histogram']} for the histogram" for row in rows
        )
        + ", exactly.",
        judge(all(kept)),
        "For one record a person, and collections whose size is public.",
    )  # fmt: skip
    return claim, rows


# ------------------------------------------------------------------------------------------------ footnote 2


def _apart() -> FloatArray:
    """Return the distances between the centres of all cells, in metres."""
    row, column = np.divmod(np.arange(GRID.size), GRID.cols)
    steps = np.hypot(row[:, None] - row[None, :], column[:, None] - column[None, :])
    return np.asarray(steps * float(GRID.unit))


def _footnote_2() -> tuple[Claim, list[Row]]:
    apart = _apart()
    rows: list[Row] = []
    for name in NAMES:
        matrix = at_epsilon(name, PRINTED[name]).matrix
        likeliest = np.isclose(matrix.max(axis=0), matrix.diagonal(), rtol=SAME)
        costs = matrix.T @ apart  # of guessing each cell after each report, all cells alike
        rows.append(
            {
                "mechanism": name, "reports_that_are_likeliest": int(likeliest.sum()), "reports": GRID.size,
                "metres_as_reported": significant(float(costs.diagonal().sum()) / GRID.size, 8),
                "metres_with_the_best_guess": significant(float(costs.min(axis=1).sum()) / GRID.size, 8),
            }
        )  # fmt: skip
    gains = {
        str(row["mechanism"]): 1 - number(row, "metres_with_the_best_guess") / number(row, "metres_as_reported")
        for row in rows
    }
    claim = Claim(
        "remarks: footnote 2", "[A] section III, footnote 2",
        "Without a prior the most likely location is always the reported one, so that remapping is not needed.",
        f"With a uniform prior and the printed epsilons the reported cell is the most likely one for all {GRID.size} "
        "reports of "
        + listed([n for n in gains if all(r["reports_that_are_likeliest"] == r["reports"] for r in rows
                                          if r["mechanism"] == n)], "and")
        + ". The cell that is nearest on average is another one for some: guessing it brings an attacker nearer by "
        + listed([f"{100 * gain:.2g}% ({name})" for name, gain in gains.items()], "and")
        + ".",
        judge(
            all(row["reports_that_are_likeliest"] == row["reports"] for row in rows),
            corrected=max(gains.values()) > SAME,
        ),
        "The definition measures distance, and near the border the best guess lies further inside.",
    )  # fmt: skip
    return claim, rows


def draw_remarks(setting: Setting) -> ExhibitResult:
    """Judge k-RR's optimality, LDP and DP, and footnote 2: by linear programs, in fractions, and over all reports."""
    optimal, epsilons = _optimality(setting)
    implied, ratios = _ldp_and_dp()
    remapped, guesses = _footnote_2()
    return ExhibitResult({}, {"": epsilons, "ldp": ratios, "footnote-2": guesses}, (optimal, implied, remapped))
