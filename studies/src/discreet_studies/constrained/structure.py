"""Figures 3 and 4 of [C]: the structure of GM and of EM, entry by entry."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from fractions import Fraction

from discreet.checking import check
from discreet.mechanism import Mechanism
from discreet.mechanisms.fair import explicit_fair
from discreet.mechanisms.geometric import geometric
from discreet.plots import heatmap
from discreet.wording import listed, rounded

from ..claims import Claim, judge
from ..study import ExhibitResult, Row, Setting
from ..tables import significant
from .charts import grid
from .named import designed, entry, fractions, rescaled, solved

#: Where structure is checked in exact arithmetic.
ALPHAS = fractions(["1/10", "1/3", "1/2", "2/3", "3/4", "9/10", "10/11", "99/100"])


def _sizes(setting: Setting) -> range:
    return range(1, setting.pick(13, 41))


# ------------------------------------------------------------------------------------------------ figure 3


@dataclass(frozen=True)
class GeometricCheck:
    """GM for one n and alpha, held to figure 3; the linear program's cost is None where it was not solved."""

    n: int
    alpha: str
    x: float
    y: float
    as_printed: bool
    only_best: bool
    symmetric: bool
    row_monotone: bool
    cost: float
    cost_as_stated: bool
    cost_of_program: float | None
    cost_is_the_programs: bool | None


def geometric_structure(setting: Setting) -> ExhibitResult:
    """Draw figure 3: the entries of GM, that it is the only best mechanism under L0, and what it costs."""
    rows: list[GeometricCheck] = []
    solved_sizes = range(1, setting.pick(6, 13))
    for n in setting.progress(_sizes(setting), "structure of GM"):
        for alpha in ALPHAS:
            mechanism = geometric(n, alpha=alpha)
            held = check(mechanism, "S+RM")
            program = solved(n, alpha).cost * Fraction(n + 1, n) if n in solved_sizes else None
            rows.append(
                GeometricCheck(
                    n=n,
                    alpha=str(alpha),
                    x=significant(entry(mechanism, 0, 0)),
                    y=significant(_inner(mechanism, n, alpha)),
                    as_printed=_as_printed(mechanism, n, alpha),
                    only_best=is_the_only_best(mechanism, n, alpha),
                    symmetric=bool(held["S"]),
                    row_monotone=bool(held["RM"]),
                    cost=significant(rescaled(mechanism)),
                    cost_as_stated=rescaled(mechanism) == 2 * alpha / (1 + alpha),
                    cost_of_program=None if program is None else significant(program),
                    cost_is_the_programs=None if program is None else program == rescaled(mechanism),
                )
            )
    settings = f"{len(rows)} settings (n = 1 to {_sizes(setting)[-1]}, {len(ALPHAS)} alphas from 1/10 to 99/100)"
    compared = [row for row in rows if row.cost_is_the_programs is not None]
    printed, only = sum(row.as_printed for row in rows), sum(row.only_best for row in rows)
    total = sum(row.cost_as_stated for row in rows)
    symmetric, monotone = sum(row.symmetric for row in rows), sum(row.row_monotone for row in rows)

    claims = (
        Claim(
            "figure 3: entries", "[C] figure 3, definition 4",
            "Reports 0 and n have probability x a^d, all others y a^d, with x = 1/(1+a), y = (1-a)/(1+a) and d the "
            "distance from the truth.",
            f"Equal as fractions in {printed} of {settings}.",
            judge(printed == len(rows)),
        ),
        Claim(
            "theorem 3: the only best mechanism", "[C] theorem 3",
            "GM is the only best mechanism under L0 and privacy alone.",
            f"The conditions of a proof hold exactly in {only} of {settings}: GM[i, j] = a^d GM[j, j] "
            "with a positive diagonal, so a private mechanism whose diagonal has the same sum has the same diagonal, "
            "and then the same entries. The linear program, solved without closed forms, has the cost of GM in "
            f"{sum(bool(row.cost_is_the_programs) for row in compared)} of {len(compared)} settings.",
            judge(only == len(rows) and all(row.cost_is_the_programs for row in compared)),
        ),
        Claim(
            "section IV-B: the cost of GM", "[C] section IV-B",
            "The rescaled L0 cost of GM is 2a/(1+a), whatever n.",
            f"Equal as fractions in {total} of {settings}.",
            judge(total == len(rows)),
        ),
        Claim(
            "section IV-B: symmetric and row monotone", "[C] section IV-B",
            "GM is always symmetric and row monotone.",
            f"Symmetric in {symmetric} and row monotone in {monotone} of {settings}.",
            judge(symmetric == monotone == len(rows)),
        ),
    )  # fmt: skip
    chart = heatmap(
        geometric(7, alpha="3/4"), False, "GM falls by the same factor in every step, but piles up at the ends"
    )
    return ExhibitResult(
        {"": chart},
        {"": [asdict(row) for row in rows]},
        claims,
        ("The picture has n = 7 and alpha = 3/4; the figure is in letters.",),
    )


def _inner(mechanism: Mechanism, n: int, alpha: Fraction) -> Fraction:
    """Return the inner diagonal entry y; for n = 1, which has none, return the formula's value."""
    return entry(mechanism, 1, 1) if n > 1 else (1 - alpha) / (1 + alpha)


def _as_printed(mechanism: Mechanism, n: int, alpha: Fraction) -> bool:
    """Return True if every entry is that of figure 3."""
    x, y = 1 / (1 + alpha), (1 - alpha) / (1 + alpha)
    return all(
        mechanism.probability(i, j) == (x if j in (0, n) else y) * alpha ** abs(i - j)
        for i in range(n + 1)
        for j in range(n + 1)
    )


def is_the_only_best(mechanism: Mechanism, n: int, alpha: Fraction) -> bool:
    """Return True if the conditions of a proof hold that no other private mechanism has as large a diagonal.

    Privacy gives P[i, j] >= a^|i-j| P[j, j] for any private P, so its diagonal d has K d <= 1, K[i, j] = a^|i-j|. If GM
    has G[i, j] = a^|i-j| g[j] with g > 0, then K g = 1, and sum d = (K g)'d = g'(K d) <= sum g, with equality only
    where K d = 1 = K g. K is regular, so d = g, and as rows add up to one P = G.
    """
    diagonal = [mechanism.probability(j, j) for j in range(n + 1)]
    return all(g > 0 for g in diagonal) and all(
        mechanism.probability(i, j) == alpha ** abs(i - j) * diagonal[j] for i in range(n + 1) for j in range(n + 1)
    )


# ------------------------------------------------------------------------------------------------ figure 4


def exponent(truth: int, report: int, n: int) -> int:
    """Return the power of alpha in EM as [C] (16) prints it: what the mechanism is held to.

    >>> [exponent(0, report, 7) for report in range(8)]
    [0, 1, 1, 2, 2, 3, 3, 4]
    """
    distance, inner = abs(truth - report), min(truth, n - truth)
    return distance if distance <= inner else -(-(distance + inner) // 2)


def printed_diagonal(n: int, alpha: Fraction) -> float:
    """Return y as [C] (15) prints it, for even and odd n alike."""
    a = float(alpha)
    power = math.pow(a, n / 2 + 1)
    return (1 - a) / (1 + a - 2 * power)


@dataclass(frozen=True)
class FairCheck:
    """EM for one n and alpha, held to figure 4 and (15); the program's cost is None where it was not solved."""

    n: int
    alpha: str
    y: float
    y_as_printed: float
    y_is_printed: bool
    as_printed: bool
    largest_step: int
    permuted: bool
    all_seven: bool
    private: bool
    y_is_the_bound: bool
    cost: float
    cost_as_stated: bool
    larger_inside: bool
    smaller_at_ends: bool
    cost_of_program: float | None
    cost_is_the_programs: bool | None


def is_printed_diagonal(y: Fraction, n: int, alpha: Fraction) -> bool:
    """Return True if a diagonal entry is exactly what [C] (15) says; squared, so that odd n need no root.

    >>> is_printed_diagonal(Fraction(1, 2), 2, Fraction(1, 2)), is_printed_diagonal(Fraction(2, 3), 1, Fraction(1, 2))
    (True, False)
    """
    return ((1 + alpha - (1 - alpha) / y) / 2) ** 2 == alpha ** (n + 2)


def fair_structure(setting: Setting) -> ExhibitResult:
    """Draw figure 4: the entries of EM, that it has all seven properties, and that no fair mechanism is better."""
    rows: list[FairCheck] = []
    solved_sizes = range(2, setting.pick(6, 13))
    for n in setting.progress(_sizes(setting), "structure of EM"):
        for alpha in ALPHAS:
            mechanism, other = explicit_fair(n, alpha=alpha), geometric(n, alpha=alpha)
            y = entry(mechanism, 0, 0)
            program = solved(n, alpha, ("F",)).cost * Fraction(n + 1, n) if n in solved_sizes else None
            bound = 1 / max(sum(alpha ** abs(i - j) for j in range(n + 1)) for i in range(n + 1))
            rows.append(
                FairCheck(
                    n=n,
                    alpha=str(alpha),
                    y=significant(y),
                    y_as_printed=significant(printed_diagonal(n, alpha)),
                    y_is_printed=is_printed_diagonal(y, n, alpha),
                    as_printed=_is_printed_fair(mechanism, n, alpha),
                    largest_step=_largest_step(n),
                    permuted=_has_permuted_rows(n),
                    all_seven=check(mechanism).holds,
                    private=mechanism.certificate.ratio == 1 / alpha,
                    y_is_the_bound=y == bound,
                    cost=significant(rescaled(mechanism)),
                    cost_as_stated=rescaled(mechanism) == Fraction(n + 1, n) * (1 - y),
                    larger_inside=n == 1 or y > entry(other, 1, 1),
                    smaller_at_ends=n == 1 or y < entry(other, 0, 0),
                    cost_of_program=None if program is None else significant(program),
                    cost_is_the_programs=None if program is None else program == rescaled(mechanism),
                )
            )
    even, odd = ([row for row in rows if row.n % 2 == part] for part in (0, 1))
    right = {"even": sum(row.y_is_printed for row in even), "odd": sum(row.y_is_printed for row in odd)}
    settings = f"{len(rows)} settings (n = 1 to {_sizes(setting)[-1]}, {len(ALPHAS)} alphas from 1/10 to 99/100)"
    compared = [row for row in rows if row.cost_is_the_programs is not None]

    alpha = Fraction(10, 11)
    seven_row = sum(alpha ** exponent(0, j, 7) for j in range(8))
    excess = printed_diagonal(7, alpha) * float(seven_row)
    claims = (
        Claim(
            "figure 4: entries", "[C] (16), figure 4",
            "Every column of EM holds the same powers of alpha in another order, and neighbours in a row differ by at "
            "most one power.",
            f"True for every n from 1 to {_sizes(setting)[-1]}; the entries are those of (16) in {settings}.",
            judge(all(row.as_printed and row.permuted and row.private and row.largest_step <= 1 for row in rows)),
        ),
        Claim(
            "(15): the diagonal of EM", "[C] (15) and (16), lemma 4",
            "The diagonal of EM, and the largest of any fair mechanism, is y = (1-a)/(1+a-2a^(n/2+1)).",
            f"Right for {right['even']} of {len(even)} settings with even n and for {right['odd']} of {len(odd)} with "
            f"odd n. With the printed y at n = 7, alpha = 10/11 the probabilities of a row add up to {excess:.5f}.",
            judge(
                right["even"] == len(even) and all(row.y_is_the_bound for row in rows),
                corrected=right["odd"] < len(odd),
            ),
            "The formula is for even n. For odd n it is y = (1-a)/((1+a)(1-a^((n+1)/2))); in both cases one over the "
            "largest row sum of a^|i-j|, which no fair private mechanism exceeds.",
        ),
        Claim(
            "theorem 4: all seven, and best", "[C] theorem 4",
            "EM has all seven properties and the least L0 cost of all fair mechanisms, (n+1)/n (1-y).",
            f"All seven, checked exactly, in {sum(row.all_seven for row in rows)} of {settings}; the linear "
            "program with F, solved without closed forms, has the cost of EM in "
            f"{sum(bool(row.cost_is_the_programs) for row in compared)} of {len(compared)}.",
            judge(
                all(row.all_seven and row.cost_as_stated for row in rows)
                and all(row.cost_is_the_programs for row in compared)
            ),
        ),
        Claim(
            "section IV-C: the diagonal beside GM", "[C] section IV-C",
            "Beside GM the diagonal of EM is a little larger, except at the two corners, where it is smaller.",
            f"For n from 2 on, larger inside and smaller at the corners in "
            f"{sum(row.larger_inside and row.smaller_at_ends for row in rows if row.n > 1)} of "
            f"{sum(row.n > 1 for row in rows)} settings.",
            judge(all(row.larger_inside and row.smaller_at_ends for row in rows)),
        ),
        _large_n(setting),
        Claim(
            "section IV-C: not all privacy inequalities tight", "[C] section IV-C",
            "No fair mechanism has all its privacy inequalities tight.",
            f"It would be y a^|i-j|; its row sums differ for every n from 2 to {_sizes(setting)[-1]} and every alpha, "
            "so no y makes all of them 1.",
            judge(
                all(
                    len({sum(a ** abs(i - j) for j in range(n + 1)) for i in range(n + 1)}) > 1
                    for n in _sizes(setting)
                    for a in ALPHAS
                    if n > 1
                ),
            ),
            "For n = 1 the row sums agree: randomised response is fair, with all inequalities tight.",
        ),
    )  # fmt: skip
    cells: list[Row] = [
        {"truth": i, "report": j, "exponent": exponent(i, j, 7), "text": _power(exponent(i, j, 7))}
        for i in range(8)
        for j in range(8)
    ]
    chart = grid(
        cells, x="report", y="truth", colour="exponent", text="text", domain=(0, 4), x_title="reported count",
        y_title="true count", title="EM for n = 7: every row has the same powers of alpha in its own order",
        sentences=("y is the probability of the truth, the same for every truth; a is alpha. Near the truth the power "
                   "grows with every step, beyond the nearer end of the range with every other.",),
        step=(54, 34),
    )  # fmt: skip
    return ExhibitResult({"": chart}, {"": [asdict(row) for row in rows], "entries": cells}, claims)


def _power(power: int) -> str:
    return "y" if power == 0 else "y a" if power == 1 else f"y a^{power}"


def _is_printed_fair(mechanism: Mechanism, n: int, alpha: Fraction) -> bool:
    y = mechanism.probability(0, 0)
    return all(
        mechanism.probability(i, j) == y * alpha ** exponent(i, j, n) for i in range(n + 1) for j in range(n + 1)
    )


def _largest_step(n: int) -> int:
    """Return how much the power changes at most between neighbouring truths."""
    return max(abs(exponent(i, j, n) - exponent(i + 1, j, n)) for i in range(n) for j in range(n + 1))


def _has_permuted_rows(n: int) -> bool:
    return len({tuple(sorted(exponent(i, j, n) for j in range(n + 1))) for i in range(n + 1)}) == 1


def _large_n(setting: Setting) -> Claim:
    """Judge that for large n the diagonal of EM is about that of GM inside."""
    sizes = (10, 40, setting.pick(80, 160))
    alphas = fractions(["1/2", "3/4", "9/10"])
    limit = {a: (1 - a) / (1 + a) for a in alphas}
    off = {n: max(float(designed(n, a, ("F",)).probability(0, 0) / limit[a] - 1) for a in alphas) for n in sizes}
    return Claim(
        "lemma 4: large n", "[C] lemma 4",
        "For large n, y is about (1-a)/(1+a).",
        "It is larger by at most "
        + listed([f"{rounded(100 * off[n])}% at n = {n}" for n in sizes])
        + " for alphas 1/2, 3/4 and 9/10.",
        judge(off[sizes[0]] > off[sizes[1]] > off[sizes[2]] and off[sizes[2]] < 0.05),
    )  # fmt: skip
