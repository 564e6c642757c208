"""The least true delta of bounded noise in closed form, compared with linear programs over all laws."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from discreet.mechanisms import bounded
from discreet.optimise.noise.programs import NoiseProgram, NoiseRequirements
from discreet.optimise.noise.tradeoff import POINTS
from discreet.plots.panels import Axis, panels
from discreet.report import Json
from discreet.wording import rounded

from ..claims import Claim, judge
from ..study import ExhibitResult, Setting
from ..tables import number, shortened
from .changing_laws import least_delta_of_changing_laws

#: Epsilon and reach of each panel.
PANELS = ((Fraction(1, 2), 4), (Fraction(11, 10), 4), (Fraction(3, 2), 4), (Fraction(22, 10), 4))

#: Two numbers this close, relatively, are the same: programs are solved in rational numbers, with E just below e^eps.
SAME = 1e-9

#: A setting with small counts where the best shared law is not symmetric: epsilon, stay and reach.
LEANING = NoiseRequirements(Fraction(18, 100), 3, 0, 6, Fraction(26, 100))

#: Setting of laws that change with the count (epsilon, eta and D), and numbers of counts.
CHANGING, NUMBERS = (Fraction(11, 10), Fraction(1, 2), 4), (2, 4, 8, 16)

_NAMES = {
    "closed_form": "closed form",
    "least_of_all": "linear program, counts from D on, any law",
    "every_count": "linear program, every count from 0 on",
    "paper": "noise of Sadeghi et al., counts from D on",
}


def draw(setting: Setting) -> ExhibitResult:
    """Draw the least delta over the probability of the truth."""
    stays = [Fraction(k, 100) for k in (range(10, 100, 10) if setting.quick else range(5, 100, 5))]
    rows: list[dict[str, Json]] = []
    for epsilon, reach in setting.progress(PANELS, "settings"):
        rows += [_row(epsilon, stay, reach) for stay in stays]
    curves = {
        f"epsilon {float(epsilon):g}, D = {reach}": [
            {"name": name, "x": row["stay"], "y": row[column]}
            for column, name in _NAMES.items()
            for row in rows
            if row["epsilon"] == float(epsilon) and row["reach"] == reach
        ]
        for epsilon, reach in PANELS
    }
    chart = panels(
        curves,
        Axis("probability of the truth", (0, 1), values=(0, 0.2, 0.4, 0.6, 0.8, 1)),
        Axis("true delta", (1e-5, 1), log=True),
        "The least delta of bounded noise has a closed form",
        "Counts from D on: the closed form is the optimum over all laws; at the left end, where p(1) > E eta, a lower "
        "bound. Noise for every count costs more.",
        columns=2,
        dots=(_NAMES["least_of_all"], _NAMES["every_count"]),
    )
    return ExhibitResult({"": chart}, {"": shortened(rows)}, _claims(rows))


def _program(epsilon: Fraction, stay: Fraction, reach: int, symmetric: bool) -> float:
    """Return the optimum for counts from D on."""
    requirements = NoiseRequirements(epsilon, reach, reach, reach, stay, symmetric=symmetric)
    return float(NoiseProgram(requirements).least_delta().cost)


def _row(epsilon: Fraction, stay: Fraction, reach: int) -> dict[str, Json]:
    return {
        "epsilon": float(epsilon), "stay": float(stay), "reach": reach,
        "closed_form": float(bounded.least_delta(epsilon, stay, reach)),
        "closed_form_holds": bounded.closed_form_holds(epsilon, stay, reach),
        "least_of_all": _program(epsilon, stay, reach, symmetric=False),
        "least_of_symmetric": _program(epsilon, stay, reach, symmetric=True),
        "every_count": float(POINTS["all-counts"](epsilon, stay, reach)[0]),
        "paper": float(POINTS["sadeghi"](epsilon, stay, reach)[0]),
    }  # fmt: skip


def _numbers(rows: list[dict[str, Json]], *columns: str) -> list[tuple[float, ...]]:
    return [tuple(number(row, column) for column in columns) for row in rows]


def _claims(rows: list[dict[str, Json]]) -> tuple[Claim, ...]:
    inside = [row for row in rows if row["closed_form_holds"]]
    outside = [row for row in rows if not row["closed_form_holds"]]
    away = max(abs(least / closed - 1) for closed, least in _numbers(inside, "closed_form", "least_of_all"))
    lean = max(abs(even / least - 1) for even, least in _numbers(rows, "least_of_symmetric", "least_of_all"))
    above = [least / closed for closed, least in _numbers(outside, "closed_form", "least_of_all")]
    small = [every / least for every, least in _numbers(rows, "every_count", "least_of_all")]
    gain = [theirs / closed for theirs, closed in _numbers(inside, "paper", "closed_form")]
    any_law, even_law = (
        float(NoiseProgram(replace(LEANING, symmetric=symmetric)).least_delta().cost) for symmetric in (False, True)
    )
    return (
        Claim(
            "least delta: closed form", "[R] least delta",
            "While p(1) <= E eta, the least true delta for all counts from D on, without a largest one, is "
            "s max(C - (E - 1), (E - 1)/(E^D - 1)).",
            f"A linear program over all laws, symmetric or not, agrees at {len(inside)} settings to within "
            f"{max(away, 1e-15):.1g} of it.",
            judge(away < SAME),
        ),
        Claim(
            "least delta: symmetric laws suffice", "[R] least delta",
            "For counts from D on, no asymmetric law has a smaller delta than the best symmetric one.",
            f"Programs with and without symmetry agree at all {len(rows)} settings to within {max(lean, 1e-15):.1g} of "
            "the optimum.",
            judge(lean < SAME),
        ),
        Claim(
            "least delta: a lower bound always", "[R] least delta",
            "Where p(1) > E eta, the formula is below the least delta.",
            f"The optimum is {rounded(min(above))} to {rounded(max(above))} times the formula at {len(outside)} "
            "settings.",
            judge(min(above) > 1),
        ),
        _few_counts(),
        Claim(
            "least delta: every count", "[R] least delta",
            "Noise that serves every count from 0 on has a larger delta.",
            f"It is {rounded(min(small))} to {rounded(max(small))} times that for counts from D on. At epsilon 0.18, "
            f"eta 0.26 and D = 3 its shared law is best not symmetric: {rounded(any_law, 7)} instead of "
            f"{rounded(even_law, 7)}.",
            judge(min(small) > 1 - SAME and any_law < even_law),
        ),
        Claim(
            "least delta: against the paper's noise", "[R] least delta",
            "The noise has a true delta no larger than that of Sadeghi et al. at the same epsilon, eta and D.",
            f"Theirs is {rounded(min(gain))} to {rounded(max(gain))} times it.", judge(min(gain) > 1 - SAME),
        ),
    )  # fmt: skip


def _few_counts() -> Claim:
    """Judge laws that change with the count, among few counts."""
    one_law = float(bounded.least_delta(*CHANGING))
    deltas_by_bias = {
        unbiased: [
            least_delta_of_changing_laws(math.exp(CHANGING[0]), float(CHANGING[1]), CHANGING[2], k, unbiased=unbiased)
            for k in NUMBERS
        ]
        for unbiased in (False, True)
    }
    texts = {
        unbiased: ", ".join(f"{rounded(delta)} with {k}" for k, delta in zip(NUMBERS, deltas, strict=True))
        for unbiased, deltas in deltas_by_bias.items()
    }
    rising = all(deltas == sorted(deltas) for deltas in deltas_by_bias.values())
    reached = all(abs(deltas[-1] / one_law - 1) < SAME for deltas in deltas_by_bias.values())
    return Claim(
        "least delta: few counts", "[R] least delta",
        "The closed form is the least delta if counts have no upper end; among few counts, laws that change with the "
        "count can have a smaller one.",
        f"At epsilon 1.1, eta 0.5 and D = 4 it is {rounded(one_law)}. By linear programs with a law for each count the "
        f"least is {texts[False]} counts, and {texts[True]} if every law has zero bias.",
        judge(rising and reached and deltas_by_bias[False][2] < one_law),
    )  # fmt: skip
