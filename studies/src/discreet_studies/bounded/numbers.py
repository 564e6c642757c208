"""The numbers that [S] prints in its text, each computed again."""

from __future__ import annotations

import math
from dataclasses import dataclass

from discreet.mechanisms.bounded import PaperFormulas, paper_formulas
from discreet.report import Json
from discreet.wording import rounded

from .. import papers
from ..claims import Claim, judge
from ..study import ExhibitResult, Setting
from ..tables import shortened
from .wording import prints_as

#: The example of figure 1: epsilon, eta and D.
EXAMPLE = ("2.18", "0.8", 6)

#: "About" is within one part in a hundred.
ABOUT = 0.01

_FIGURE_1 = "[S] section III-B, text of figure 1"
_SECTION_4 = "[S] section IV"


def draw(setting: Setting) -> ExhibitResult:
    """Compute every number of the text, as printed and as computed, with its place."""
    paper = paper_formulas(*EXAMPLE)
    printed_claims = (*_of_the_noise(paper), *_of_the_gaussian(paper), *_of_section_4())
    rows: list[dict[str, Json]] = [
        {"claim": one.claim.key, "place": one.claim.place, "printed": printed, "computed": float(computed)}
        for one in printed_claims
        for printed, computed in one.numbers
    ]
    choices = (
        "The probability 0.9945 is printed without D; D = 8, of the sentence before it, is the one that gives it.",
    )
    return ExhibitResult({}, {"": shortened(rows)}, tuple(one.claim for one in printed_claims), choices)


@dataclass(frozen=True)
class JudgedNumbers:
    """A claim, and its numbers: as printed, and as computed."""

    claim: Claim
    numbers: tuple[tuple[str, float], ...]


def _printed(key: str, place: str, statement: str, *numbers: tuple[str, float], why: str = "") -> JudgedNumbers:
    """Return a claim that numbers are these: each is judged by the digits that are printed."""
    measured = ", ".join(rounded(value, 6) for _, value in numbers) + ", exact to the digits shown."
    agree = all(prints_as(text, value) for text, value in numbers)
    return JudgedNumbers(Claim(f"numbers: {key}", place, statement, measured, judge(agree), why), numbers)


def _of_the_noise(paper: PaperFormulas) -> tuple[JudgedNumbers, ...]:
    first, second = float(paper.side[0]), float(paper.side[1])
    widest = max(i for i, p in enumerate(paper.side, 1) if p > 0)
    crossings = [("7.8867", float(paper.crossovers[2])), ("8.1229", float(paper.crossovers[1]))]
    ratio = float(paper.side[0] / paper.side[1])
    return (
        _printed(
            "E and C", _FIGURE_1, "At epsilon 2.18 and eta 0.8, E is 8.8463 and C is 8.",
            ("8.8463", float(paper.factor)), ("8", float(paper.odds)),
        ),
        _printed("crossovers", _FIGURE_1, "C lies between C_3 = 7.8867 and C_2 = 8.1229.", *crossings),
        _printed(
            "delta 0.0049", _FIGURE_1, "The largest delta_k is delta_3 = 0.0049.",
            ("3", paper.k), ("0.0049", float(paper.delta_star)),
            why="It bounds single reports only; figure 1 has the delta over sets of reports.",
        ),
        JudgedNumbers(
            Claim(
                "numbers: support", _FIGURE_1, "The noise stays within 3 although D = 6 was allowed.",
                f"The furthest error with a positive probability is {widest}, exactly.", judge(widest == 3),
            ),
            (("3", widest),),
        ),
        _printed(
            "0.08987 and 0.00960", _FIGURE_1, "The noise is +1 with probability 0.08987, and +2 with 0.00960.",
            ("0.08987", first), ("0.00960", second),
        ),
        _printed("9.3617", _FIGURE_1, "The first of these is 9.3617 times the second.", ("9.3617", ratio)),
    )  # fmt: skip


def _of_the_gaussian(paper: PaperFormulas) -> tuple[JudgedNumbers, ...]:
    one, two = papers.figure_1(*EXAMPLE)[1:3]
    first, second = one["gaussian_sigma2"], two["gaussian_sigma2"]
    ratio, truly = first / second, one["gaussian_variance"] / two["gaussian_variance"]
    delta = float(paper.delta_star)
    needed = math.log((first - delta) / second)
    matched = math.log((one["gaussian_variance"] - delta) / two["gaussian_variance"])
    return (
        _printed(
            "0.11685 and 0.000416", _FIGURE_1,
            "The discrete Gaussian is +1 with probability 0.11685, and +2 with 0.000416.",
            ("0.11685", first), ("0.000416", second),
        ),
        JudgedNumbers(
            Claim(
                "numbers: 282", _FIGURE_1, "Under the discrete Gaussian it is about 282 times.",
                f"{rounded(ratio, 5)} as the paper sets the Gaussian, {rounded(truly, 5)} with equal variances; exact "
                "to the digits shown.",
                judge(abs(ratio / 282 - 1) < ABOUT, corrected=not prints_as("282", ratio)),
                f"It is exp(3/(2 sigma^2)); the paper's own digits give {rounded(0.11685 / 0.000416)}.",
            ),
            (("282", ratio),),
        ),
        JudgedNumbers(
            Claim(
                "numbers: 5.6", _FIGURE_1,
                "At delta 0.0049 the discrete Gaussian needs epsilon 5.6 for this report; the noise of the paper 2.18.",
                f"{rounded(needed, 4)} as the paper sets the Gaussian, {rounded(matched, 4)} with equal variances; "
                "exact to the digits shown.",
                judge(prints_as("5.6", needed), corrected=not prints_as("5.6", matched)),
                "The paper uses the noise's variance as the Gaussian's parameter sigma^2, which makes the Gaussian "
                "narrower.",
            ),
            (("5.6", needed),),
        ),
    )  # fmt: skip


def _of_section_4() -> tuple[JudgedNumbers, ...]:
    curious = paper_formulas("1.5", "0.5", 8)
    within = float(curious.stay + (1 - curious.stay) * sum(curious.alphas[:3]))
    return (
        _printed(
            "0.9945", f"{_SECTION_4}, text of figure 2",
            "At epsilon 1.5 and eta 0.5, reports are within 3 of the truth with probability 0.9945.",
            ("0.9945", within),
        ),
        _guarantee("1.1", "0.5", 1e-3, "(1.1, 1e-3)"),
        _guarantee("2.2", "0.8", 5e-7, "(2.2, 5e-7)"),
    )  # fmt: skip


def _guarantee(epsilon: str, stay: str, delta: float, key: str) -> JudgedNumbers:
    """Return a stated guarantee, held against the paper's own bound and against the true delta."""
    row = papers.figure_3([epsilon], [8], [stay])[0]
    measured = (
        f"The paper's bound is {rounded(row['bound'])}, the true delta {rounded(row['true_delta'])}, the least "
        f"possible one {rounded(row['least_delta'])}; exact to the digits shown."
    )
    claim = Claim(
        f"numbers: {key}", f"{_SECTION_4}, text of figure 3",
        f"With D = 8 and eta = {stay} the mechanism is ({epsilon}, {delta:g})-differentially private.",
        measured, judge(row["true_delta"] <= row["bound"] <= delta),
        "For counts from 8 on only: smaller counts need noise of their own.",
    )  # fmt: skip
    return JudgedNumbers(claim, ((f"{delta:g}", row["bound"]),))
