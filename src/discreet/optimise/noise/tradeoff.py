"""``dc.noise_tradeoff``: the trade-off of bounded noise as data: stay probability, reach, epsilon, delta, variance."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ...errors import InvalidInput
from ...exact.rationals import Number, as_fraction, read_epsilon, text_up
from ...lists import read_list
from ...mechanisms import bounded as closed
from ...mechanisms.bounded import PaperFormulas, moment, read_reach, read_stay, truncated_geometric_law
from ...report import Fact, Json, Picture, Prose, Report, Result, Section, TextTable, stamped
from ...tabular import Columns, Tabular
from ...wording import find_name, percent, rounded
from .bounded import MAX_PROGRAM_REACH
from .programs import NoiseProgram, NoiseRequirements, delta_of, largest_stay, least_delta

KINDS = ("optimal", "sadeghi", "all-counts")

#: The stay probabilities by default.
STAYS = tuple(Fraction(k, 40) for k in range(2, 39))

#: Maximum number of knees at the top of a report.
MAX_FACTS = 4


@dataclass(frozen=True)
class NoiseTradeoff(Tabular, Result):
    """The trade-off of bounded noise.

    Attributes
    ----------
    kind
        "optimal", "sadeghi" or "all-counts".
    rows
        A row for each epsilon, reach and stay: ``epsilon``, ``reach``, ``stay``, ``delta`` (true), ``variance`` (of
        large counts).
    knees
        A knee for each epsilon and reach: the ``stay`` up to which more truth costs no delta, and the ``delta`` there.

    Examples
    --------
    >>> data = noise_tradeoff(2.2, [4, 8], stays=[0.5, 0.8, 0.85])
    >>> [(row["reach"], row["stay"], float(f"{row['delta']:.2g}")) for row in data.rows][:3]
    [(4, 0.5, 0.0003), (4, 0.8, 0.00012), (4, 0.85, 0.25)]
    >>> [(knee["reach"], round(knee["stay"], 3)) for knee in data.knees]
    [(4, 0.801), (8, 0.8)]
    """

    kind: str
    rows: tuple[dict[str, Any], ...]
    knees: tuple[dict[str, Any], ...]

    def data_columns(self) -> Columns:
        """Return a row for each epsilon, reach and stay: delta and variance."""
        return {name: [row[name] for row in self.rows] for name in self.rows[0]}

    def _headline(self) -> str:
        return f"{self.kind} noise, {len(self.rows)} points"

    def to_json(self) -> dict[str, Json]:
        """Return plain JSON values, as in ``schemas/noise-tradeoff.json``."""
        content: dict[str, Json] = {
            "kind": self.kind,
            "rows": [dict(row) for row in self.rows],
            "knees": [dict(k) for k in self.knees],
        }
        return stamped("noise-tradeoff", 1, content)

    def report(self) -> Report:
        """Return the knees, every point, and a picture."""
        facts = [
            Fact(
                percent(knee["stay"]),
                f"probability of the truth at the knee, epsilon {knee['epsilon']:g} and noise up to {knee['reach']}",
            )
            for knee in self.knees[:MAX_FACTS]
        ]
        knees = TextTable(
            ("epsilon", "reach", "truth published", "delta"),
            tuple((*_cells(knee), text_up(knee["delta"], 3)) for knee in self.knees),
            (0, 1, 2, 3),
        )
        points = TextTable(
            ("epsilon", "reach", "truth published", "delta", "variance"),
            tuple((*_cells(row), text_up(row["delta"], 3), rounded(row["variance"])) for row in self.rows),
            (0, 1, 2, 3, 4),
        )
        caption = "Lower is better. A mark on each curve shows its knee."
        picture = Picture("noise trade-off", {"data": self}, caption)
        lead = Prose("Beyond it delta grows quickly.", "Up to the knee, publishing more truth costs no delta.", "lead")
        return Report(
            f"What more truth costs: bounded noise, {self.kind}",
            "Noise trade-off",
            tuple(facts),
            (Section("Knees", (lead, picture, knees)), Section("All points", (points,))),
        )


def _cells(row: dict[str, Any]) -> tuple[str, str, str]:
    return f"{row['epsilon']:g}", str(row["reach"]), percent(row["stay"])


def noise_tradeoff(
    epsilon: Number, reach: Number, stays: Iterable[object] | None = None, kind: str = "optimal"
) -> NoiseTradeoff:
    """Return delta and variance of bounded noise over stay probabilities, for one or several epsilons and reaches.

    Parameters
    ----------
    epsilon, reach
        One of each, or lists.
    stays
        The stay probabilities; from 0.05 to 0.95 by default.
    kind
        "optimal" or "sadeghi" (counts from D on; closed forms, quick) or "all-counts" (a linear program for each).

    Returns
    -------
    NoiseTradeoff
        The data; ``plots.tradeoff(data)`` draws it with the knees marked.

    Examples
    --------
    >>> best = noise_tradeoff(2.2, 4, [0.8], kind="optimal").rows[0]
    >>> paper = noise_tradeoff(2.2, 4, [0.8], kind="sadeghi").rows[0]
    >>> best["delta"] <= paper["delta"]
    True
    """
    kind = find_name(kind, KINDS, "a kind of bounded noise", argument="kind")
    epsilons = [read_epsilon(e) for e in _listed(epsilon, "epsilon")]
    reaches = [read_reach(d) for d in _listed(reach, "reach")]
    if kind == "all-counts" and max(reaches) > MAX_PROGRAM_REACH:
        raise InvalidInput.must_be("reach", f"at most {MAX_PROGRAM_REACH} for 'all-counts'", max(reaches))
    etas = list(STAYS) if stays is None else [read_stay(s) for s in read_list(stays, "stays", "probabilities")]
    rows, knees = [], []
    for eps in epsilons:
        for D in reaches:
            for eta in etas:
                delta, variance = POINTS[kind](eps, eta, D)
                rows.append(_row(eps, D, eta, delta) | {"variance": float(variance)})
            best = knee_of(kind, eps, D)
            knees.append(_row(eps, D, best, POINTS[kind](eps, best, D)[0]))
    return NoiseTradeoff(kind, tuple(rows), tuple(knees))


def _listed(value: Any, what: str) -> list[Any]:
    if isinstance(value, str | int | float | Fraction):
        return [value]
    values = read_list(value, what, "numbers")
    if not values:
        raise InvalidInput("there is nothing to look at.", "Give at least one epsilon and one reach.")
    return values


def _row(epsilon: Fraction, reach: int, stay: Fraction, delta: Fraction) -> dict[str, Any]:
    return {"epsilon": float(epsilon), "reach": reach, "stay": float(stay), "delta": float(delta)}


# ------------------------------------------------------------------------------------------------ one point


def _optimal(epsilon: Fraction, stay: Fraction, reach: int) -> tuple[Fraction, Fraction]:
    if closed.closed_form_holds(epsilon, stay, reach):
        law = truncated_geometric_law(epsilon, stay, reach)
        return closed.least_delta(epsilon, stay, reach), moment(law, 2)
    solution = least_delta(NoiseRequirements(epsilon, reach, reach, reach, stay))
    return solution.value, moment(solution.laws[-1], 2)


def _paper(epsilon: Fraction, stay: Fraction, reach: int) -> tuple[Fraction, Fraction]:
    law = PaperFormulas(epsilon, stay, reach).law
    return delta_of([law], NoiseRequirements(epsilon, reach, reach, reach, stay)), moment(law, 2)


def _all_counts(epsilon: Fraction, stay: Fraction, reach: int) -> tuple[Fraction, Fraction]:
    solution = least_delta(NoiseRequirements(epsilon, reach, 0, 2 * reach, stay))
    return solution.value, moment(solution.laws[-1], 2)


#: The true delta and the variance of each kind.
POINTS: dict[str, Callable[[Fraction, Fraction, int], tuple[Fraction, Fraction]]] = {
    "optimal": _optimal,
    "sadeghi": _paper,
    "all-counts": _all_counts,
}


def knee_of(kind: str, epsilon: Number, reach: int) -> Fraction:
    """Return the stay probability up to which more truth costs no delta.

    For counts n >= D it is where the two terms of the least delta meet; for "sadeghi" where the paper's index k leaves
    D + 1, C = C_D; for all counts it is the largest stay with the least delta of all.
    """
    eps = as_fraction(epsilon, "epsilon")
    if kind == "optimal":
        return closed.knee(eps, reach)
    if kind == "sadeghi":
        crossing = PaperFormulas(eps, Fraction(1, 2), reach).crossovers[-1]
        return crossing / (2 + crossing)
    free = NoiseRequirements(eps, reach, 0, 2 * reach)
    least = NoiseProgram(free).least_delta().cost
    return largest_stay(free, least * (1 + Fraction(1, 10**6))).limit_denominator(10**9)
