"""The formulas and figures of the papers, exactly, for those who check them or draw them again.

Bounded, unbiased noise on counts ([S], Sadeghi, Asoodeh, Calmon, *Differentially Private Mechanisms for Count
Queries*): its closed forms, and the numbers of its figures 1 to 4 with what the paper leaves out beside them. Each
figure is a function that gives rows of plain numbers, for the figure's own parameters or for others.

>>> import discreet as dc
>>> formulas = dc.papers.paper_formulas("2.18", "0.8", 6)
>>> round(float(formulas.deltas[2]), 12), len(dc.papers.figure_1())
(0.004947821638, 7)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from discreet.errors import InvalidInput
from discreet.exact.integers import positive_integer
from discreet.exact.laws import Finite
from discreet.exact.rationals import Number, as_fraction
from discreet.mechanisms.bounded import PaperFormulas, law_of, moment, paper_formulas, read_stay
from discreet.mechanisms.gaussian import discrete_gaussian
from discreet.optimise.noise.tradeoff import POINTS
from discreet.privacy.verify import verify

__all__ = [
    "PaperFormulas",
    "figure_1",
    "figure_2",
    "figure_3",
    "figure_4",
    "mixture_law",
    "paper_formulas",
    "two_point_law",
    "two_point_shares",
]

Row = dict[str, Any]

#: The grids of the figures, read off their axes.
EPSILONS = tuple(Fraction(k, 10) for k in range(2, 31))
STAYS = tuple(Fraction(k, 100) for k in range(5, 96, 5))


# ------------------------------------------------------------------------------------------------ Proposition 1


def two_point_law(stay: Number, down: int, up: int) -> Finite:
    """Return the simplest noise with P1-P3: ``-down``, 0 or ``up``, balanced.

    ``P(-down) = (1 - eta) up/(up + down)``, ``P(0) = eta``, ``P(up) = (1 - eta) down/(up + down)``.

    References
    ----------
    [S] Proposition 1, eq. (2).

    Examples
    --------
    Example 1 of [S], the second law of eq. (4):

    >>> law = two_point_law("1/2", 1, 2)
    >>> [str(law.probability(z)) for z in (-1, 0, 1, 2)]
    ['1/3', '1/2', '0', '1/6']
    """
    eta = read_stay(stay)
    below, above = positive_integer(down, "down", least=1), positive_integer(up, "up", least=1)
    share = (1 - eta) / (below + above)
    return law_of({-below: share * above, 0: eta, above: share * below})


def mixture_law(stay: Number, shares: Mapping[tuple[int, int], object]) -> Finite:
    """Return a convex combination of two-point laws: every noise with P1-P3 is one.

    ``p(z) = sum over (i1, i2) of alpha_(i1, i2) p^(i1, i2)(z)``.

    Parameters
    ----------
    stay
        The probability eta of reporting the truth.
    shares
        ``(i1, i2) -> alpha`` with i1 < 0 < i2 as in the paper; the alphas are not negative and add up to one.

    References
    ----------
    [S] eq. (3).

    Examples
    --------
    Example 1 of [S] for n = 1, with both shares one half, eq. (5):

    >>> law = mixture_law("1/2", {(-1, 1): "1/2", (-1, 2): "1/2"})
    >>> [str(law.probability(z)) for z in (-1, 0, 1, 2)]
    ['7/24', '1/2', '1/8', '1/12']
    """
    eta = read_stay(stay)
    parts = {pair: as_fraction(share, "a share") for pair, share in shares.items()}
    if not parts or min(parts.values()) < 0 or sum(parts.values()) != 1:
        raise InvalidInput("the shares of a mixture must not be negative and must add up to one.", argument="shares")
    if any(len(pair) != 2 or not pair[0] < 0 < pair[1] for pair in parts):
        raise InvalidInput(
            "each share belongs to a pair (i1, i2) of a negative and a positive error.", argument="shares"
        )
    probabilities: dict[int, Fraction] = {}
    for (below, above), share in parts.items():
        law = two_point_law(eta, -below, above)
        for z in (below, 0, above):
            probabilities[z] = probabilities.get(z, Fraction(0)) + share * law.probability(z)
    return law_of(probabilities)


def two_point_shares(law: Finite) -> dict[tuple[int, int], Fraction]:
    """Return shares with which two-point laws give this unbiased law: the inverse of :func:`mixture_law`.

    Zero bias means that the moments below and above zero balance; the moment of each error below is matched with errors
    above, from the outside in. Other shares may give the same law.

    Examples
    --------
    >>> {pair: str(share) for pair, share in two_point_shares(two_point_law("1/2", 1, 2)).items()}
    {(-1, 2): '1'}
    """
    if moment(law, 1) != 0 or law.low == law.high:
        raise InvalidInput("only unbiased noise is a mixture of balanced two-point laws.", argument="law")
    rest = 1 - law.probability(0)
    moments = {z: abs(z) * law.probability(z) for z in range(law.low, law.high + 1) if z and law.probability(z)}
    shares: dict[tuple[int, int], Fraction] = {}
    below, above = sorted(z for z in moments if z < 0), sorted((z for z in moments if z > 0), reverse=True)
    while below and above:
        a, b = below[0], above[0]
        part = min(moments[a], moments[b])
        shares[a, b] = part * (Fraction(1, -a) + Fraction(1, b)) / rest
        moments[a] -= part
        moments[b] -= part
        if not moments[a]:
            below.pop(0)
        if not moments[b]:
            above.pop(0)
    return shares


# ------------------------------------------------------------------------------------------------ figures 1 to 4


def figure_1(epsilon: Number = "2.18", stay: Number = "0.8", reach: int = 6) -> list[Row]:
    """Return the noise at z = 0..D: the paper's, and the discrete Gaussian as the paper matched it and truly matched.

    >>> row = figure_1()[1]
    >>> round(row["paper"], 5), round(row["gaussian_sigma2"], 5)
    (0.08987, 0.11685)
    """
    paper = paper_formulas(epsilon, stay, reach)
    printed, matched = discrete_gaussian(sigma2=paper.variance), discrete_gaussian(variance=paper.variance)
    return [
        {
            "z": z,
            "paper": float(paper.law.probability(z)),
            "gaussian_sigma2": float(printed.probability(0, z)),
            "gaussian_variance": float(matched.probability(0, z)),
        }
        for z in range(reach + 1)
    ]


def figure_2(
    stay: Number = "0.5", reaches: Iterable[int] = (4, 6, 8, 10), epsilons: Iterable[Number] = EPSILONS
) -> list[Row]:
    """Return delta over epsilon: delta*, the paper's (2D+1) delta*, the noise's true delta, the least possible.

    >>> row = figure_2(reaches=[6], epsilons=[2])[0]
    >>> [float(f"{row[name]:.3g}") for name in ("delta_star", "bound", "true_delta", "least_delta")]
    [8.49e-06, 0.00011, 5.09e-05, 9.81e-06]
    """
    return [_point(epsilon, stay, reach) for reach in reaches for epsilon in epsilons]


def figure_3(
    epsilons: Iterable[Number] = ("1.1", "2.2"), reaches: Iterable[int] = (4, 6, 8, 10), stays: Iterable[Number] = STAYS
) -> list[Row]:
    """Return the same deltas over the stay probability, at two epsilons.

    >>> [row["theorem3_holds"] for row in figure_3(["1.1"], [4], ["0.1", "0.5"])]
    [False, True]
    """
    where = [(epsilon, reach) for epsilon in epsilons for reach in reaches]
    return [_point(epsilon, stay, reach) for epsilon, reach in where for stay in stays]


def _point(epsilon: Number, stay: Number, reach: int) -> Row:
    paper = paper_formulas(epsilon, stay, reach)
    eps, eta = paper.epsilon, paper.stay
    true, variance = POINTS["sadeghi"](eps, eta, reach)
    return {
        "epsilon": float(eps),
        "stay": float(eta),
        "reach": reach,
        "k": paper.k,
        "delta_star": float(paper.printed_delta_star),
        "delta_star_corrected": float(paper.delta_star),
        "theorem3_holds": paper.theorem3_holds,
        "bound": float(paper.bound),
        "true_delta": float(true),
        "least_delta": float(POINTS["optimal"](eps, eta, reach)[0]),
        "variance": float(variance),
    }


def figure_4(stay: Number = "0.5", reach: int = 6, epsilons: Iterable[Number] = EPSILONS) -> list[Row]:
    """Compare with the discrete Gaussian: its exact delta with sigma2 = the variance (eq. 45), or equal variances.

    >>> row = figure_4(epsilons=["0.5"])[0]
    >>> round(row["true_delta"], 3), round(row["gaussian_variance"], 3)     # the claim reverses at high delta
    (0.338, 0.296)
    """
    rows = []
    for epsilon in epsilons:
        row = _point(epsilon, stay, reach)
        spread = paper_formulas(epsilon, stay, reach).variance
        eps = as_fraction(epsilon, "epsilon")
        row["gaussian_sigma2"] = verify(discrete_gaussian(sigma2=spread)).delta(eps)
        row["gaussian_variance"] = verify(discrete_gaussian(variance=spread)).delta(eps)
        rows.append(row)
    return rows
