"""Figures 2 and 4 of [S]: delta over epsilon, for several reaches, and for the discrete Gaussian."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

from discreet.mechanisms.bounded import zeros_bound
from discreet.mechanisms.gaussian import law_variance
from discreet.optimise.noise.tradeoff import POINTS
from discreet.plots.panels import Axis, panels
from discreet.wording import rounded

from .. import papers
from ..claims import Claim, judge
from ..papers import EPSILONS, Row
from ..study import ExhibitResult, Setting
from ..tables import shortened
from .wording import CURVES, READ_OFF, times

REACHES = (4, 6, 8, 10)

#: Both figures have the truth half of the time.
STAY = Fraction(1, 2)

#: Where the paper says that both mechanisms are poor below.
POOR_BELOW = 1.1

#: Figure 4 has noise up to 6.
FIGURE_4_REACH = 6

#: Largest delta at which other parameters are compared: above it delta is of no use.
HIGH_DELTA = 0.01

#: Epsilons at which the noise for every count is compared with that for large counts: a linear program each.
SMALL_COUNTS_AT = ("1.1", "1.5", "2.2")

_Rows = list[Row]


def _epsilons(setting: Setting) -> tuple[Fraction, ...]:
    """Return a grid that has 1.1, 1.5 and 2.2; finer for a full run."""
    return EPSILONS if setting.quick else tuple(sorted({*EPSILONS, *(Fraction(k, 20) for k in range(4, 61))}))


def _points(rows: _Rows) -> _Rows:
    return [{"name": name, "x": row["epsilon"], "y": row[column]} for column, name in CURVES.items() for row in rows]


# ------------------------------------------------------------------------------------------------ figure 2


def draw_figure_2(setting: Setting) -> ExhibitResult:
    """Draw delta over epsilon for four reaches."""
    epsilons = _epsilons(setting)
    by_reach: dict[int, _Rows] = {}
    for reach in setting.progress(REACHES, "reaches"):
        by_reach[reach] = papers.figure_4(STAY, reach, epsilons)
    chart = panels(
        {f"D = {reach}": _points(rows) for reach, rows in by_reach.items()},
        Axis("epsilon", (0.2, 3), values=(0.5, 1, 1.5, 2, 2.5, 3)),
        Axis("delta", (1e-13, 1), log=True),
        "The stated delta is a loose bound, and less is possible",
        "Truth with probability 0.5, counts from D on. Lower is better. The paper states the upper curve for its "
        "noise.",
    )
    claims = (*_claims_of_the_bound(by_reach), _small_counts(by_reach))
    rows = [row for curve in by_reach.values() for row in curve]
    return ExhibitResult({"": chart}, {"": shortened(rows)}, claims, (READ_OFF,))


def _claims_of_the_bound(by_reach: dict[int, _Rows]) -> tuple[Claim, ...]:
    place = "[S] section IV, figure 2"
    every = [row for rows in by_reach.values() for row in rows]
    late = [row for row in by_reach[8] if row["epsilon"] > POOR_BELOW]
    largest = max(row["bound"] for row in late)
    steps = [
        later["bound"] <= earlier["bound"] * (1 + 1e-12)
        for rows in by_reach.values()
        for earlier, later in pairwise(rows)
    ]
    wider = {
        narrow["epsilon"]: wide["bound"] / narrow["bound"]
        for narrow, wide in zip(by_reach[4], by_reach[6], strict=True)
    }
    beyond = [ratio for epsilon, ratio in wider.items() if epsilon >= POOR_BELOW]
    worse = [epsilon for epsilon, ratio in wider.items() if ratio > 1]
    loose = [row["bound"] / row["true_delta"] for row in every]
    better = [row["true_delta"] / row["least_delta"] for row in every]
    words = "exact to the digits shown, at the points of the grid"
    return (
        Claim(
            "figure 2: at most 0.001", place, "For D = 8 and epsilon above 1.1, (2D + 1) delta* is at most 0.001.",
            f"At most {rounded(largest)}, over {len(late)} values of epsilon from {late[0]['epsilon']:g} on; {words}.",
            judge(largest <= 1e-3),
        ),
        Claim(
            "figure 2: less delta at larger epsilon", "[S] section I and figure 2",
            "With the reach and the error probability fixed, a larger epsilon has a smaller delta.",
            f"It falls at {sum(steps)} of {len(steps)} steps of the grid.", judge(all(steps)),
        ),
        Claim(
            "figure 2: a little more reach", "[S] section I and figure 2",
            "From 2D + 1 = 9 to 13 values of the noise, delta becomes significantly smaller.",
            f"From epsilon {POOR_BELOW} on it is multiplied by {rounded(min(beyond))} to {rounded(max(beyond))}; below "
            f"epsilon {max(worse, default=0):g} the stated bound grows, by up to {rounded(max(wider.values()))}; "
            f"{words}.",
            judge(max(beyond) < 1, corrected=bool(worse)),
            "At small epsilon a longer reach does not help, and the factor 2D + 1 grows.",
        ),
        Claim(
            "figure 2: the bound over sets of reports", "[S] remark 2",
            "The delta of the mechanism is at most (2D + 1) delta*.",
            f"It holds at all {len(every)} points, and the bound is {rounded(min(loose))} to {rounded(max(loose))} "
            f"times the true delta; {words}.",
            judge(min(loose) >= 1, corrected=max(loose) > 1.5),
            "The excess of every report is counted as the largest one, on all 2D + 1 reports.",
        ),
        Claim(
            "figure 2: the optimal noise", "[S] section III-B and figure 2",
            "The coefficients of definition 2 are the optimal ones.",
            f"The true delta of the paper's noise is {rounded(min(better))} to {rounded(max(better))} times the least "
            f"possible; {words}.",
            judge(max(better) < 1 + 1e-6),
            "They are optimal for single reports. An atom at 0 and a geometric law cut off at D has the least true "
            "delta.",
        ),
    )  # fmt: skip


def _small_counts(by_reach: dict[int, _Rows]) -> Claim:
    """Judge the assumption n >= D: the least delta of noise for every count, and for large ones."""
    reach = 4
    large = {row["epsilon"]: row["least_delta"] for row in by_reach[reach]}
    deltas = {text: float(POINTS["all-counts"](Fraction(text), STAY, reach)[0]) for text in SMALL_COUNTS_AT}
    parts = [f"{rounded(delta)} instead of {rounded(large[float(text)])} at {text}" for text, delta in deltas.items()]
    untouched = float(zeros_bound(STAY, 8))
    return Claim(
        "figure 2: counts below D", "[S] section III and footnote 2",
        "To assume that counts are at least D is mild; zero is left aside.",
        f"With D = {reach}, noise for every count from 0 on has at least the delta {', '.join(parts)} (epsilon). Zeros "
        f"that are published untouched alone make delta {rounded(untouched)} or more at D = 8, at every epsilon. Exact "
        "to the digits shown.",
        judge(True, corrected=any(delta > 1.01 * large[float(text)] for text, delta in deltas.items())),
        "The noise may not be chosen because the true count is large, as that choice shows the count. It takes a "
        "public lower bound, or noise of their own for small counts.",
    )  # fmt: skip


# ------------------------------------------------------------------------------------------------ figure 4


def draw_figure_4(setting: Setting) -> ExhibitResult:
    """Draw delta over epsilon, with that of the discrete Gaussian."""
    rows = papers.figure_4(STAY, FIGURE_4_REACH, _epsilons(setting))
    for row in rows:
        row["gaussian_law_variance"] = law_variance(row["variance"])
    printed = "discrete Gaussian by (45), sigma^2 = the variance"
    points = _points(rows) + [{"name": printed, "x": row["epsilon"], "y": row["gaussian_sigma2"]} for row in rows[::3]]
    chart = panels(
        {"": points},
        Axis("epsilon", (0.2, 3), values=(0.5, 1, 1.5, 2, 2.5, 3)),
        Axis("delta", (1e-9, 1), log=True),
        "Bounded noise beats the discrete Gaussian where delta is small",
        "Truth with probability 0.5, D = 6. To the left of epsilon 1, where both are poor, the Gaussian is the better "
        "one.",
        columns=1,
        dots=(printed,),
    )
    return ExhibitResult({"": chart}, {"": shortened(rows)}, _claims_of_figure_4(rows), (READ_OFF,))


def _claims_of_figure_4(rows: _Rows) -> tuple[Claim, ...]:
    place = "[S] section IV, figure 4"
    late = [row for row in rows if row["epsilon"] >= POOR_BELOW]
    early = [row for row in rows if row["epsilon"] < POOR_BELOW]
    wins = [row for row in late if row["true_delta"] < row["gaussian_variance"]]
    better = [row for row in late if row["bound"] < row["gaussian_sigma2"]]
    loses = [row for row in rows if row["true_delta"] > row["gaussian_variance"]]
    best = max(row["gaussian_variance"] / row["true_delta"] for row in late)
    worst = max(loses, key=lambda row: row["true_delta"] / row["gaussian_variance"], default=rows[0])
    lowest = min(min(row["true_delta"], row["gaussian_variance"]) for row in early)
    wrong = max(abs(equation_45(row["variance"], row["epsilon"]) / row["gaussian_sigma2"] - 1) for row in rows)
    apart = max(abs(row["gaussian_law_variance"] / row["variance"] - 1) for row in rows)
    words = "exact to the digits shown, at the points of the grid"
    return (
        Claim(
            "figure 4: better than the discrete Gaussian", place,
            "For a wide range of parameters the noise is more private than the discrete Gaussian of the same variance.",
            f"With equal variances its true delta is smaller at {len(wins)} of {len(late)} values of epsilon from "
            f"{POOR_BELOW} on, by a factor of up to {times(best)}, and its stated bound at {len(better)}. It is larger "
            f"up to epsilon {max((row['epsilon'] for row in loses), default=0):g}, at {worst['epsilon']:g} it is "
            f"{rounded(worst['true_delta'])} against {rounded(worst['gaussian_variance'])}; {words}.",
            judge(len(wins) == len(late), corrected=bool(loses)),
            "At small epsilon, where delta is large, the Gaussian is the better one.",
        ),
        Claim(
            "figure 4: both poor below 1.1", place, "Below epsilon 1.1 both have a quite high delta.",
            f"Both true deltas are at least {rounded(lowest)} there; {words}.", judge(lowest > 0, vague=True),
            "“Quite high” has no number.",
        ),
        Claim(
            "figure 4: equation 45", "[S] (45), after Canonne, Kamath and Steinke",
            "(45) is the delta of the discrete Gaussian.",
            f"It agrees with the judge's exact delta to within {max(wrong, 1e-12):.0e} at {len(rows)} points.",
            judge(wrong < 1e-9),
        ),
        _other_parameters(),
        Claim(
            "figure 4: the same variance", place, "Both mechanisms have the same variance.",
            f"The Gaussian's variance differs by up to {rounded(100 * apart)}% over the grid; {words}.",
            judge(True, corrected=apart > 1e-9),
            "sigma^2 of (45) is the parameter of the discrete Gaussian; at these variances the difference hardly "
            "matters.",
        ),
    )  # fmt: skip


def equation_45(sigma2: float, epsilon: float) -> float:
    """Return delta of the discrete Gaussian by [S] (45): P(Z > eps sigma^2 - 1/2) - e^eps P(Z > eps sigma^2 + 1/2).

    >>> round(equation_45(1.0, 1.0), 6)
    0.141351
    """
    reach = range(-60, 61)
    weights = {z: math.exp(-z * z / (2 * sigma2)) for z in reach}
    first, second = (
        sum(weights[z] for z in reach if z > epsilon * sigma2 + half) / sum(weights.values()) for half in (-0.5, 0.5)
    )
    return first - math.exp(epsilon) * second


def _other_parameters() -> Claim:
    """Judge the same comparison elsewhere, where delta is small enough to be of use."""
    rows = [
        row
        for stay in ("0.3", "0.65", "0.8")
        for reach in (4, 8, 10)
        for row in papers.figure_4(stay, reach, ["0.5", "1", "1.5", "2", "2.5", "3"])
    ]
    useful = [row for row in rows if row["true_delta"] < HIGH_DELTA]
    wins = [row for row in useful if row["true_delta"] < row["gaussian_variance"]]
    others = [row for row in rows if row["true_delta"] >= HIGH_DELTA]
    lost = [row for row in others if row["true_delta"] > row["gaussian_variance"]]
    return Claim(
        "figure 4: other parameters", "[S] section IV, after figure 4",
        "Other experiments show the same trend.",
        "Over eta 0.3, 0.65, 0.8, D = 4, 8, 10 and six values of epsilon: better than the Gaussian of the same "
        f"variance at {len(wins)} of {len(useful)} points with a delta below {HIGH_DELTA}, worse at {len(lost)} of the "
        f"other {len(others)}.",
        judge(len(wins) == len(useful), corrected=bool(lost)),
        "At a large delta the Gaussian is sometimes the better one.",
    )  # fmt: skip
