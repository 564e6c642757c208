"""The explicit fair mechanism reports the truth most often in the worst case, under any further properties."""

from __future__ import annotations

from fractions import Fraction

from discreet.mechanisms.fair import explicit_fair
from discreet.mechanisms.geometric import geometric
from discreet.optimise.design.closed import fair_diagonal
from discreet.optimise.design.design import read_request
from discreet.optimise.improve.structure import derivable
from discreet.optimise.lp.search import search
from discreet.plots.panels import Axis
from discreet.report import Json
from discreet.utility import cost
from discreet.wording import rounded

from ..claims import Claim, judge
from ..study import ExhibitResult, Setting
from ..tables import number, shortened
from .curves import curves_by_alpha

ALPHAS = (Fraction(1, 2), Fraction(3, 4), Fraction(9, 10), Fraction(19, 20))

_NAMES = {
    "geometric": "geometric",
    "explicit_fair": "explicit fair",
    "program": "linear program, no property",
    "uniform": "uniform",
}


def draw(setting: Setting) -> ExhibitResult:
    """Draw the worst probability of a wrong report over n."""
    sizes, solved = setting.pick((range(1, 21), (1, 2, 4, 7)), (range(1, 41), (1, 2, 3, 4, 6, 9, 12, 16)))
    rows: list[dict[str, Json]] = []
    for alpha in setting.progress(ALPHAS, "alphas"):
        rows += [_row(n, alpha, n in solved) for n in sizes]
    chart = curves_by_alpha(
        rows,
        ALPHAS,
        _NAMES,
        Axis("worst probability of a wrong report", (0.3, 1)),
        "No mechanism is right more often in its worst case than the explicit fair one",
        "Lower is better. The dots are the exact optimum over all mechanisms of this privacy, with no property asked "
        "for.",
    )
    return ExhibitResult({"": chart}, {"": shortened(rows)}, _claims(rows))


def least_worst_case(n: int, alpha: Fraction) -> Fraction:
    """Return the least worst-case L0 cost of all private mechanisms, by the linear program (no closed form is used).

    >>> least_worst_case(2, Fraction(1, 2))
    Fraction(1, 2)
    """
    request, program = read_request(
        n, alpha=alpha, epsilon=None, delta=0, loss="L0", properties=(), prior=None, worst_case=True
    )
    table = search(request, program).certified.table
    return max(1 - table.probability(i, i) for i in range(n + 1))


def _row(n: int, alpha: Fraction, solve: bool) -> dict[str, Json]:
    fair = 1 - fair_diagonal(n, alpha)
    best = least_worst_case(n, alpha) if solve else None
    table = cost(explicit_fair(n, alpha=alpha), "L0", worst_case=True, exact=True)
    return {
        "alpha": str(alpha), "n": n,
        "geometric": float(cost(geometric(n, alpha=alpha), "L0", worst_case=True, exact=True)),
        "explicit_fair": float(table),
        "formula_agrees": table == fair,
        "program": None if best is None else float(best),
        "program_agrees": None if best is None else best == fair,
        "uniform": n / (n + 1),
        "derivable": n < 2 or bool(derivable(explicit_fair(n, alpha=alpha))),
    }  # fmt: skip


def _claims(rows: list[dict[str, Json]]) -> tuple[Claim, ...]:
    solved = [bool(row["program_agrees"]) for row in rows if row["program_agrees"] is not None]
    formula = [bool(row["formula_agrees"]) for row in rows]
    apart = [bool(row["derivable"]) for row in rows if int(number(row, "n")) >= 2]
    ratios = [number(row, "geometric") / number(row, "explicit_fair") for row in rows]
    return (
        Claim(
            "minimax: explicit fair", "[R] minimax",
            "The explicit fair mechanism has the least worst-case L0 cost of all mechanisms with its epsilon.",
            "The exact optimum of the linear program without any property equals its cost, as a fraction, in "
            f"{sum(solved)} of {len(solved)} cases; the formula is the table's own cost in {sum(formula)} of "
            f"{len(formula)}.",
            judge(all(solved) and all(formula)),
        ),
        Claim(
            "minimax: the geometric mechanism is worse", "[R] minimax",
            "The geometric mechanism, best on average, is worse in its worst case.",
            f"Its worst probability of a wrong report is {rounded(min(ratios))} to {rounded(max(ratios))} times as "
            "large.",
            judge(min(ratios) >= 1),
        ),
        Claim(
            "minimax: not from the geometric mechanism", "[R] minimax",
            "For n of at least 2 the explicit fair mechanism is not a post-processing of the geometric one.",
            f"It is derivable in {sum(apart)} of {len(apart)} cases, decided exactly.", judge(not any(apart)),
            "Some post-processing of the geometric mechanism has the same worst case (Gupte and Sundararajan 2010), "
            "without fairness.",
        ),
    )  # fmt: skip
