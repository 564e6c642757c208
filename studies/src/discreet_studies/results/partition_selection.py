"""Which groups may be named at all: bounded noise and a threshold keep as many as any private rule can.

With a = e^-epsilon and Z truncated geometric on [-D, D], P(z) = c a^|z|, a count n is reported as n + Z if that is
above D, and its group is not named otherwise.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction

from discreet.plots.panels import Axis, panels
from discreet.privacy.partition_selection import (
    keep_probabilities,
    most_that_privacy_allows,
    naming_delta,
    truncated_law,
)
from discreet.report import Json
from discreet.wording import rounded

from ..claims import Claim, judge
from ..study import ExhibitResult, Setting
from ..tables import number, shortened

#: alpha and D of each panel.
PANELS = ((Fraction(1, 2), 10), (Fraction(9, 10), 50))

#: Where everything is compared as fractions.
CASES = ((Fraction(1, 3), 4), (Fraction(1, 2), 10), (Fraction(3, 4), 7), (Fraction(9, 10), 50), (Fraction(1, 2), 1))

#: Where two groups of one person are worked out over all pairs of counts.
JOINT = ((Fraction(1, 3), 2), (Fraction(1, 2), 3))

#: About half the maximum number of dots of a curve.
MOST_DOTS = 13

#: What may be reported: a count, or that the group is not named.
_Reports = dict[int | None, Fraction]


def thresholded_geometric(alpha: Fraction, delta: Fraction, counts: int) -> list[Fraction]:
    """Return the usual rule at the same epsilon and delta: geometric noise, and the least threshold that delta allows.

    A group of one person is named if its noise is at least T, with probability a^T/(1 + a).
    """
    threshold = 1
    while alpha**threshold / (1 + alpha) > delta:
        threshold += 1

    def at_least(z: int) -> Fraction:
        return alpha**z / (1 + alpha) if z > 0 else 1 - alpha ** (1 - z) / (1 + alpha)

    return [Fraction(0), *(at_least(threshold - n + 1) for n in range(1, counts))]


def reports(alpha: Fraction, reach: int, count: int) -> _Reports:
    """Return the law of what is published of a group: a count above D, or None if it is not named."""
    law = truncated_law(alpha, reach)
    chances: _Reports = {None: Fraction(0)}
    for z in range(-reach, reach + 1):
        key = count + z if count + z > reach else None
        chances[key] = chances.get(key, Fraction(0)) + law.probability(z)
    return chances


def excess(one: Sequence[_Reports], two: Sequence[_Reports], factor: Fraction) -> Fraction:
    """Sum over all published results of several groups of (P(y | one) - factor P(y | two))+."""
    total = Fraction(0)
    for published in itertools.product(*one):
        here, there = Fraction(1), factor
        for key, first, second in zip(published, one, two, strict=True):
            here *= first[key]
            there *= second.get(key, Fraction(0))
        total += max(Fraction(0), here - there)
    return total


def true_delta(alpha: Fraction, reach: int, groups: int = 1) -> Fraction:
    """Return delta at ``groups`` times epsilon for a person in that many groups, over all neighbouring counts."""
    laws = [reports(alpha, reach, n) for n in range(2 * reach + 2)]
    steps = [(a, b) for n in range(len(laws) - 1) for a, b in ((laws[n], laws[n + 1]), (laws[n + 1], laws[n]))]
    return max(
        excess([a for a, _ in choices], [b for _, b in choices], alpha**-groups)
        for choices in itertools.combinations_with_replacement(steps, groups)
    )


def draw(setting: Setting) -> ExhibitResult:
    """Return how likely a group is named, over the number of its people."""
    rows: list[dict[str, Json]] = []
    for alpha, reach in PANELS:
        delta = naming_delta(alpha, reach)
        ours = keep_probabilities(alpha, reach)
        most = most_that_privacy_allows(alpha, delta, len(ours))
        usual = thresholded_geometric(alpha, delta, len(ours))
        rows += [
            {
                "alpha": str(alpha), "reach": reach, "delta": float(delta), "people": n, "truncated": float(a),
                "most_possible": float(b), "thresholded": float(c),
            }
            for n, (a, b, c) in enumerate(zip(ours, most, usual, strict=True))
        ]  # fmt: skip
    names = {
        "most_possible": "the most that privacy allows",
        "truncated": "truncated geometric noise, threshold D",
        "thresholded": "geometric noise without end, least threshold",
    }
    curves = {
        f"alpha = {float(alpha):g}, D = {reach}, delta = {rounded(naming_delta(alpha, reach))}": [
            {"name": name, "x": row["people"], "y": row[column]}
            for column, name in names.items()
            for row in rows
            if row["alpha"] == str(alpha) and row["reach"] == reach
            if column != "truncated" or int(number(row, "people")) % -(-reach // MOST_DOTS) == 0
        ]
        for alpha, reach in PANELS
    }
    chart = panels(
        curves,
        Axis("people in the group"),
        Axis("probability that the group is named", (0, 1)),
        "One group for each person: bounded noise names groups as often as any private rule",
        "The dots lie on the line: one draw of truncated noise decides whether a group is named and gives its count.",
        dots=(names["truncated"],),
    )
    return ExhibitResult({"": chart}, {"": shortened(rows)}, _claims())


def _claims() -> tuple[Claim, ...]:
    deltas = [naming_delta(alpha, reach) for alpha, reach in CASES]
    optimal = sum(
        keep_probabilities(alpha, reach) == most_that_privacy_allows(alpha, delta, 2 * reach + 2)
        for (alpha, reach), delta in zip(CASES, deltas, strict=True)
    )
    exact = sum(true_delta(alpha, reach) == delta for (alpha, reach), delta in zip(CASES, deltas, strict=True))
    formula = sum(
        delta == alpha**reach * (1 - alpha) / (1 + alpha - 2 * alpha ** (reach + 1))
        for (alpha, reach), delta in zip(CASES, deltas, strict=True)
    )
    together = [(true_delta(alpha, reach, 2), 1 - (1 - naming_delta(alpha, reach)) ** 2) for alpha, reach in JOINT]
    cases = len(CASES)
    return (
        Claim(
            "partition selection: optimal", "[R] partition selection",
            "With one group for each person, a group of n is named with the largest probability that its delta allows.",
            f"Equal to the optimal recursion, as fractions, at every n in {optimal} of {cases} settings.",
            judge(optimal == cases),
        ),
        Claim(
            "partition selection: delta", "[R] partition selection",
            "What is published, count included, has delta = c a^D exactly.",
            f"Equal as fractions over all neighbouring counts in {exact} of {cases} settings; c is the formula in "
            f"{formula}.",
            judge(exact == formula == cases),
        ),
        Claim(
            "partition selection: two groups", "[R] partition selection",
            "A person in two groups has delta 1 - (1 - delta)^2 at twice the epsilon, and no less.",
            "Over all pairs of neighbouring counts "
            + ", ".join(f"{rounded(float(value), 6)} for {rounded(float(bound), 6)}" for value, bound in together)
            + ", exactly.",
            judge(all(value == bound for value, bound in together)),
        ),
    )  # fmt: skip
