"""Figure 1 of [S]: its noise compared with the discrete Gaussian, and with the noise with the least true delta."""

from __future__ import annotations

from discreet.mechanisms.bounded import PaperFormulas, least_delta, moment, paper_formulas, truncated_geometric_law
from discreet.mechanisms.gaussian import discrete_gaussian, law_variance
from discreet.plots.panels import Axis, panels
from discreet.privacy.verify import verify
from discreet.report import Json
from discreet.wording import rounded

from .. import papers
from ..claims import Claim, judge
from ..study import ExhibitResult, Setting
from ..tables import shortened
from .numbers import EXAMPLE
from .wording import times

_PLACE = "[S] section III, figure 1"

#: Variances this close, relatively, are called the same.
_SAME_VARIANCE = 0.01

_NAMES = {
    "paper": "the paper's noise",
    "optimal": "noise with the least true delta",
    "gaussian_sigma2": "discrete Gaussian, sigma^2 = the variance (paper)",
    "gaussian_variance": "discrete Gaussian of the same variance",
}

#: Probabilities below this are not drawn.
_FLOOR = 1e-8


def draw(setting: Setting) -> ExhibitResult:
    """Draw the noise at 0..6, on a logarithmic axis."""
    paper = paper_formulas(*EXAMPLE)
    optimal = truncated_geometric_law(paper.epsilon, paper.stay, paper.reach)
    rows: list[dict[str, Json]] = [
        {**row, "optimal": float(optimal.probability(row["z"]))} for row in papers.figure_1(*EXAMPLE)
    ]
    points = [{"name": name, "x": row["z"], "y": row[column]} for column, name in _NAMES.items() for row in rows]
    chart = panels(
        {"": points},
        Axis("error z (symmetric)", (0, paper.reach), values=range(paper.reach + 1)),
        Axis("probability", (_FLOOR, 1), log=True),
        "Noise that falls gently gives less away",
        "Epsilon 2.18, truth with probability 0.8, D = 6. The paper's noise ends at 3; the discrete Gaussian falls "
        "ever more steeply, and the steepest fall is what tells two counts apart.",
        columns=1,
        with_dots=True,
    )
    return ExhibitResult({"": chart}, {"": shortened(rows)}, _claims(paper))


def _claims(paper: PaperFormulas) -> tuple[Claim, ...]:
    variance = float(paper.variance)
    printed, matched = discrete_gaussian(sigma2=paper.variance), discrete_gaussian(variance=paper.variance)
    deltas = {
        "the paper's noise": _true_delta(paper),
        "the Gaussian as the paper sets it": verify(printed).delta(paper.epsilon),
        "the Gaussian of the same variance": verify(matched).delta(paper.epsilon),
        "the least possible": float(least_delta(paper.epsilon, paper.stay, paper.reach)),
    }
    ours = deltas["the paper's noise"]
    rows = papers.figure_1(*EXAMPLE)
    apart = sum((1 if row["z"] else 0.5) * abs(row["paper"] - row["gaussian_variance"]) for row in rows)
    heavier = rows[3]["paper"] / rows[3]["gaussian_variance"]
    # beyond D each term is less than half of the one before it
    beyond = 4 * float(matched.probability(0, paper.reach + 1))
    spread = law_variance(variance)
    total = paper.stay + paper.stay * sum(paper.alphas)
    single = float(paper.delta_star)
    least = truncated_geometric_law(paper.epsilon, paper.stay, paper.reach)
    return (
        Claim(
            "figure 1: the same variance", _PLACE, "The discrete Gaussian there has the identical variance.",
            f"The noise has variance {rounded(variance, 5)}, the Gaussian {rounded(spread, 5)}; exact to the digits "
            "shown.",
            judge(abs(spread / variance - 1) < _SAME_VARIANCE),
            "The variance was used as the Gaussian's parameter sigma^2. The variance of a discrete Gaussian is "
            "smaller than its parameter, by much where it is small.",
        ),
        Claim(
            "figure 1: a slightly heavier tail", "[S] section I and figure 1",
            "The noise is similar to the discrete Gaussian, with a slightly heavier tail.",
            f"They differ by {rounded(apart)} in total variation. An error of 3 is {times(heavier)} times as likely as "
            "under the Gaussian of the same variance; one of 4 is impossible, and has probability "
            f"{rounded(rows[4]['gaussian_variance'])} there.",
            judge(heavier > 1, vague=True),
            "The tail is heavier up to 3 and ends there. “Similar” and “slightly” have no number.",
        ),
        Claim(
            "figure 1: nothing outside", _PLACE,
            "What the discrete Gaussian has outside [-D, D] is negligible.",
            f"At most {beyond:.1g}, rounded up.", judge(beyond < 1e-12),
        ),
        Claim(
            "figure 1: a gentle fall", _PLACE,
            "The gentler fall from z = 1 to z = 2 makes the noise more private than the discrete Gaussian.",
            "True delta at epsilon 2.18: "
            + ", ".join(f"{name} {rounded(delta, 4)}" for name, delta in deltas.items())
            + "; rounded up from exact values.",
            judge(ours < deltas["the Gaussian of the same variance"]),
        ),
        Claim(
            "figure 1: delta over sets of reports", "[S] remark 1 and theorem 3",
            "At epsilon 2.18 the noise has delta* = 0.0049.",
            f"For one report at a time {rounded(single, 4)}; over sets of reports, as differential privacy asks, "
            f"{rounded(ours, 4)}. Both are exact to the digits shown.",
            judge(True, corrected=ours > single * (1 + 1e-9)),
            "The paper says so in remark 2; the numbers printed with figure 1 compare single reports.",
        ),
        Claim(
            "figure 1: equations 14 and 15", "[S] proposition 3, (14) and (15)",
            "The error is i with probability alpha_i eta/2, and -i likewise.",
            f"These probabilities add up to {rounded(total)} at eta = 0.8; with (1 - eta)/2 they add up to "
            f"{rounded(paper.stay + 2 * paper.mass * sum(paper.alphas))}, exactly.",
            judge(paper.stay + 2 * paper.mass * sum(paper.alphas) == 1, corrected=total != 1),
            "The mass of a side is (1 - eta)/2, as (16) has it.",
        ),
        Claim(
            "figure 1: the best coefficients", "[S] section III-B, after theorem 3",
            "The coefficients of definition 2 are the optimal ones.",
            f"The noise reaches the true delta {rounded(ours, 4)}; the least possible is "
            f"{rounded(deltas['the least possible'], 4)}, of a law with variance {rounded(moment(least, 2))}.",
            judge(ours <= deltas["the least possible"] * (1 + 1e-6)),
            "Here they are, beyond the knee. Before it they are optimal for single reports only: figure 2.",
        ),
    )  # fmt: skip


def _true_delta(paper: PaperFormulas) -> float:
    """Return the true delta of the paper's noise for counts from D on."""
    return float(papers.figure_3([paper.epsilon], [paper.reach], [paper.stay])[0]["true_delta"])
