"""Figure 3 of [S]: delta over the probability of the truth, and the knee."""

from __future__ import annotations

from fractions import Fraction

from discreet.mechanisms.bounded import PaperFormulas, paper_formulas
from discreet.optimise.noise.tradeoff import knee_of
from discreet.plots.panels import Axis, panels
from discreet.wording import rounded

from .. import papers
from ..claims import Claim, judge
from ..papers import Row
from ..study import ExhibitResult, Setting
from ..tables import shortened
from .wording import CURVES, READ_OFF, times

EPSILONS = ("1.1", "2.2")
REACHES = (4, 6, 8, 10)

#: Theorem 3 at a small eta, and the delta* that a linear program finds there: epsilon, eta and D.
COUNTEREXAMPLE = ("0.5", "0.1", 4)

_Rows = list[Row]


def draw(setting: Setting) -> ExhibitResult:
    """Draw delta over the stay probability at two epsilons."""
    stays = [Fraction(k, 100) for k in ((2, *range(5, 100, 5)) if setting.quick else range(2, 99, 2))]
    rows: _Rows = []
    for epsilon in setting.progress(EPSILONS, "epsilons"):
        rows += [row for reach in REACHES for stay in stays for row in papers.figure_4(stay, reach, [epsilon])]
    curves = {
        f"epsilon {epsilon}, D = {reach}": [
            {"name": name, "x": row["stay"], "y": row[column]}
            for column, name in CURVES.items()
            for row in rows
            if row["epsilon"] == float(epsilon) and row["reach"] == reach
        ]
        for reach in (4, 8)
        for epsilon in EPSILONS
    }
    chart = panels(
        curves,
        Axis("probability of the truth", (0, 1), values=(0, 0.2, 0.4, 0.6, 0.8, 1)),
        Axis("delta", (1e-9, 1), log=True),
        "Up to the knee, more truth costs no delta",
        "Counts from D on. Lower is better. At the left end the paper's bound does not hold: its noise gives away "
        "more than it states.",
    )
    knees = [
        {"epsilon": float(epsilon), "reach": reach, "kind": kind, "stay": float(knee_of(kind, epsilon, reach))}
        for epsilon in EPSILONS
        for reach in REACHES
        for kind in ("sadeghi", "optimal")
    ]
    tables = {"": shortened(rows), "knees": shortened(knees)}
    return ExhibitResult({"": chart}, tables, (*_knees(rows), *_theorem_3(rows), _lemma_3()), (READ_OFF,))


def _knees(rows: _Rows) -> tuple[Claim, ...]:
    place = "[S] section IV, figure 3"
    printed = {"1.1": Fraction(1, 2), "2.2": Fraction(4, 5)}
    knees = {epsilon: knee_of("sadeghi", epsilon, 8) for epsilon in printed}
    best = {epsilon: knee_of("optimal", epsilon, 8) for epsilon in printed}
    growth = []
    before = []
    for epsilon in EPSILONS:
        curve = [row for row in rows if row["epsilon"] == float(epsilon) and row["reach"] == 8]
        growth.append(curve[-1]["bound"])
        calm = [row["bound"] for row in curve if row["theorem3_holds"] and row["stay"] <= knees[epsilon]]
        before.append(max(calm) / min(calm))
    return (
        Claim(
            "figure 3: the knee", place, "Beyond a threshold of eta, (2D + 1) delta* grows fast to one.",
            f"With D = 8 it is {rounded(min(growth))} or more at eta = {rows[-1]['stay']:g}, at both values of "
            "epsilon; exact to the digits shown.",
            judge(min(growth) >= 1),
        ),
        Claim(
            "figure 3: where the knees are", place,
            "With D = 8 the knee comes slightly after eta = 0.5 at epsilon 1.1, and after 0.8 at 2.2.",
            f"It is at {rounded(knees['1.1'], 4)} and at {rounded(knees['2.2'], 4)}; of the noise with the least true "
            f"delta at {rounded(best['1.1'], 4)} and {rounded(best['2.2'], 4)}. Exact to the digits shown.",
            judge(all(eta <= knees[epsilon] for epsilon, eta in printed.items())),
            "“Slightly” has no number; that they come after is judged.",
        ),
        Claim(
            "figure 3: more truth before the knee", "[S] section I",
            "Up to the threshold, reporting the truth more often hardly changes delta.",
            f"With D = 8 the bound changes by a factor of at most {rounded(max(before))} up to the knee (where theorem "
            "3 holds), and falls.",
            judge(True, vague=True),
            "“Hardly” has no number. It falls in proportion to 1 - eta: more truth even helps.",
        ),
    )  # fmt: skip


def _theorem_3(rows: _Rows) -> tuple[Claim, ...]:
    wrong = [row for row in rows if not row["theorem3_holds"]]
    ratio = max((row["delta_star_corrected"] / row["delta_star"] for row in wrong), default=1.0)
    largest = max((row["stay"] for row in wrong), default=0.0)
    example = paper_formulas(*COUNTEREXAMPLE)
    broken = [row for row in rows if row["true_delta"] > row["bound"] * (1 + 1e-9)]
    excess = max((row["true_delta"] / row["bound"] for row in broken), default=1.0)
    last = max((row["stay"] for row in broken), default=0.0)
    loose = [row["bound"] / row["true_delta"] for row in rows if row not in broken]
    return (
        Claim(
            "figure 3: theorem 3 at small eta", "[S] theorem 3",
            "delta* is the largest of the lower bounds delta_1, ..., delta_(D+1).",
            f"At epsilon 0.5, eta 0.1 and D = 4 it prints {rounded(example.printed_delta_star, 5)}; the least is "
            f"{rounded(example.delta_star, 5)}. On the grid of figure 3 it is too small at {len(wrong)} of {len(rows)} "
            f"points, all with eta up to {largest:g}, by a factor of up to {rounded(ratio)}. Exact to the digits "
            "shown.",
            judge(not wrong and example.theorem3_holds),
            "Proposition 4 leaves out p(1) <= E eta + delta. A third kind of lower bounds mends it.",
        ),
        Claim(
            "figure 3: the bound over sets of reports", "[S] remark 2",
            "The delta of the mechanism is at most (2D + 1) delta*.",
            f"The true delta is above it at {len(broken)} of {len(rows)} points, all with eta up to {last:g}, by a "
            f"factor of up to {times(excess)}. Elsewhere it is {rounded(min(loose))} to {rounded(max(loose))} times "
            "the true delta. Exact to the digits shown.",
            judge(not broken),
            "The noise of definition 2 rises too steeply from eta to p(1) where theorem 3 does not hold.",
        ),
    )  # fmt: skip


def printed_last_crossover(paper: PaperFormulas) -> Fraction:
    """Return C_D as the proof of lemma 3 ends: the numerator stops at D - 1."""
    E, D = paper.factor, paper.reach
    powers = [E**j for j in range(D)]
    return sum(powers, Fraction(0)) / sum((p * (D - j) for j, p in enumerate(powers)), Fraction(0))


def _lemma_3() -> Claim:
    """Return where delta_D meets delta_(D+1): at C_D of (34), not at the C_D that the proof ends with."""
    start = paper_formulas("1.1", "0.5", 8)
    printed, right = printed_last_crossover(start), start.crossovers[-1]

    def apart(crossing: Fraction) -> Fraction:
        at = PaperFormulas(start.epsilon, crossing / (2 + crossing), start.reach)
        return at.deltas[-2] - at.deltas[-1]

    return Claim(
        "figure 3: the last crossover", "[S] lemma 3, end of the proof",
        "delta_D and delta_(D+1) are equal at C_D, a quotient whose numerator stops at E^(D-1).",
        f"At that C = {rounded(printed, 4)} they differ by {rounded(float(apart(printed)))}; at C_D of (34), "
        f"{rounded(right, 4)}, by {rounded(float(apart(right)))}, exactly.",
        judge(apart(right) == 0, corrected=apart(printed) != 0),
        "The numerator runs to E^D, as in (34).",
    )  # fmt: skip
