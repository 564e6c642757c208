"""The cost of weak honesty in closed form, reached by a mixture of the geometric and the explicit fair mechanism."""

from __future__ import annotations

import math
from fractions import Fraction

from discreet.checking import check
from discreet.exact.tables import Table
from discreet.mechanisms.fair import explicit_fair
from discreet.mechanisms.geometric import geometric
from discreet.optimise.design.chooser import cost_of
from discreet.optimise.design.closed import fair_diagonal, weakly_honest_cost, weakly_honest_share
from discreet.optimise.design.design import design
from discreet.plots.panels import Axis
from discreet.privacy.verify import verify
from discreet.report import Json

from ..claims import Claim, judge
from ..study import ExhibitResult, Setting
from ..tables import shortened
from .curves import curves_by_alpha

ALPHAS = (Fraction(2, 3), Fraction(19, 25), Fraction(9, 10), Fraction(19, 20))

#: The properties that the mixture has at no further cost.
ALSO = ("S", "RH", "RM", "WH")

_NAMES = {
    "geometric": "geometric (no property)",
    "weakly_honest": "weakly honest, closed form",
    "program": "weakly honest, linear program",
    "fair": "explicit fair (all seven)",
}


def mixture(n: int, alpha: Fraction) -> Table:
    """Return the share of the geometric mechanism, and the explicit fair one for the rest, as an exact table.

    >>> table = mixture(4, Fraction(9, 10))
    >>> table.probability(2, 2)
    Fraction(1, 5)
    """
    share = weakly_honest_share(n, alpha)
    one, two = geometric(n, alpha=alpha), explicit_fair(n, alpha=alpha)
    size = range(n + 1)
    rows = [
        [share * Fraction(one.probability(i, j)) + (1 - share) * Fraction(two.probability(i, j)) for j in size]
        for i in size
    ]
    scale = math.lcm(*(p.denominator for row in rows for p in row))
    return Table.from_rows([[int(p * scale) for p in row] for row in rows])


def draw(setting: Setting) -> ExhibitResult:
    """Draw the cost over n at three alphas."""
    sizes, solved = setting.pick((range(1, 31), (2, 5, 9)), (range(1, 61), (2, 3, 5, 8, 12, 20)))
    rows: list[dict[str, Json]] = []
    for alpha in setting.progress(ALPHAS, "alphas"):
        rows += [_row(n, alpha, n in solved) for n in sizes]
    chart = curves_by_alpha(
        rows,
        ALPHAS,
        _NAMES,
        Axis("L0 cost, rescaled"),
        "What weak honesty costs, in closed form",
        "The probability of a wrong report, times (n + 1)/n. Beyond n = 2 alpha/(1 - alpha) weak honesty is free.",
    )
    return ExhibitResult({"": chart}, {"": shortened(rows)}, _claims(rows, setting))


def _rescaled(cost: Fraction, n: int) -> float:
    return float(cost * Fraction(n + 1, n))


def _row(n: int, alpha: Fraction, solve: bool) -> dict[str, Json]:
    closed = weakly_honest_cost(n, alpha)
    solved = cost_of(design(n, alpha=alpha, properties="WH")) if solve else None
    return {
        "alpha": str(alpha), "n": n,
        "geometric": _rescaled(2 * alpha / (1 + alpha) * Fraction(n, n + 1), n),
        "weakly_honest": _rescaled(closed, n),
        "program": None if solved is None else _rescaled(solved, n),
        "program_agrees": None if solved is None else solved == closed,
        "fair": _rescaled(1 - fair_diagonal(n, alpha), n),
        "share_of_geometric": float(weakly_honest_share(n, alpha)),
    }  # fmt: skip


def _claims(rows: list[dict[str, Json]], setting: Setting) -> tuple[Claim, ...]:
    solved = [row["program_agrees"] for row in rows if row["program_agrees"] is not None]
    sizes = setting.pick((1, 2, 3, 4, 5, 8, 9), (*range(1, 25), 40, 41))
    cases = [(n, alpha) for n in sizes for alpha in (*ALPHAS, Fraction(1, 2), Fraction(99, 100))]
    reached = costless = private = 0
    for n, alpha in cases:
        table = mixture(n, alpha)
        wrong = 1 - sum((table.probability(i, i) for i in range(n + 1)), Fraction(0)) / (n + 1)
        reached += wrong == weakly_honest_cost(n, alpha)
        costless += all(check(table, ALSO).values())
        private += verify(table).ratio <= 1 / alpha
    return (
        Claim(
            "weak honesty: closed form", "[R] weak honesty",
            "The least L0 cost under weak honesty is the closed form.",
            f"The exact optimum of the linear program equals it, as a fraction, in {sum(map(bool, solved))} of "
            f"{len(solved)} cases.",
            judge(all(solved)),
        ),
        Claim(
            "weak honesty: a mixture reaches it", "[R] weak honesty",
            "A mixture of the geometric and the explicit fair mechanism has that cost and the privacy asked for.",
            f"Equal as fractions in {reached} of {len(cases)} cases, and private in {private}.",
            judge(reached == private == len(cases)),
        ),
        Claim(
            "weak honesty: three more properties", "[R] weak honesty",
            "Symmetry, row honesty and row monotonicity add no cost to weak honesty.",
            f"The mixture has all four in {costless} of {len(cases)} cases, decided exactly.",
            judge(costless == len(cases)),
        ),
    )  # fmt: skip
