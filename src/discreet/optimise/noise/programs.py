"""The linear programs of bounded noise: the least true delta, the largest stay, for all counts or for large ones.

Each count below ``shared`` has a noise law, and all counts from there on share one. For adjacent counts n and n' the
true delta is ``sum_y (P(y|n) - E P(y|n'))+``; each positive part is a variable, so that it is linear in the
probabilities, in delta and in the stay probability.

Floats find the vertex, integers compute it (:mod:`discreet.optimise.lp.refinement`), and it is rounded to a law whose
stay probability and zero bias are exact (:func:`exact_law`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from ...errors import Unsupported
from ...exact.laws import Finite
from ...mechanisms.bounded import growth, growth_gap, moment
from ..lp.refinement import ExactProgram, ExactSolution, InfeasibleProgram

#: Relative difference of deltas that is ignored.
_SAME_DELTA = Fraction(1, 2**60)

#: Relative gap between delta and its proved lower bound at which the search ends.
_CLOSE_TO_BOUND = Fraction(1, 10**6)


#: Absolute gap between delta and its proved lower bound at which the search ends.
_NEGLIGIBLE_DELTA = Fraction(1, 10**12)

#: Relative margin of the variance below its limit, so that rounding to exact laws does not exceed it.
_VARIANCE_ROOM = Fraction(1, 2**60)


@dataclass(frozen=True)
class NoiseRequirements:
    """The requirements of the noise.

    Attributes
    ----------
    epsilon, reach
        The privacy parameter at which delta is measured, and the largest error D.
    first, shared
        The least count, and the count from which on all counts have the same law.
    largest
        True if ``shared`` is the largest count of all, so that no law is shared.
    ceiling
        The largest report; None allows any.
    stay
        The probability of the truth, for every count that may be published unchanged; None leaves it free.
    at_least
        True if ``stay`` is only a lower bound, so that it may differ between counts.
    variance
        The largest mean square of the error; None leaves it free.
    js
        Reports 1..js never occur.
    single_event
        True for a delta over one report at a time, as in [S] (7)-(8), instead of sets of reports.
    symmetric
        True if the shared law must be symmetric. If not, the program is over all laws, and a symmetric one is chosen if
        it is as good.
    """

    epsilon: Fraction
    reach: int
    first: int
    shared: int
    stay: Fraction | None = None
    at_least: bool = False
    variance: Fraction | None = None
    js: int = 0
    largest: bool = False
    ceiling: int | None = None
    single_event: bool = False
    symmetric: bool = False

    def errors(self, count: int) -> list[int]:
        """Return the errors that a report of this count may have."""
        high = self.reach if self.ceiling is None else min(self.reach, self.ceiling - count)
        return [z for z in range(-min(count, self.reach), high + 1) if not 1 <= count + z <= self.js]

    def unbiased(self, count: int) -> bool:
        """Return whether this count must have zero bias: one that can only move up, or only down, cannot."""
        errors = self.errors(count)
        return min(errors) < 0 < max(errors)

    @property
    def counts(self) -> range:
        return range(self.first, self.shared + 1)


class NoiseProgram:
    """The program: its variables and constraints, and the laws of a solution."""

    def __init__(
        self, requirements: NoiseRequirements, delta: Fraction | None = None, rough: float | None = None
    ) -> None:
        self.requirements = requirements
        self._program = ExactProgram()
        self._E = growth(requirements.epsilon)
        self._e = float(self._E)
        self._rough = rough or self._rough_delta()
        self.delta = self._program.variable(self._rough)
        self.stay = self._program.variable(float(requirements.stay or Fraction(1, 2)))
        self._p = {
            (n, z): self._program.variable(max(self._e ** -abs(z), 1e-30))
            for n in requirements.counts
            for z in requirements.errors(n)
        }
        for n in requirements.counts:
            self._distribution(n)
        if requirements.symmetric and not requirements.largest:
            for z in range(1, requirements.reach + 1):
                self._program.equal({self._p[requirements.shared, z]: 1, self._p[requirements.shared, -z]: -1})
        for n in requirements.counts[:-1] if requirements.largest else requirements.counts:
            self._neighbours(n, n + 1)
            self._neighbours(n + 1, n)
        if requirements.stay is not None:
            self._program.equal({self.stay: 1}, requirements.stay)
        if delta is not None:
            self._program.at_most({self.delta: 1}, delta)

    def _rough_delta(self) -> float:
        """Return the size of delta, for the solver: that of a truncated geometric law."""
        w, e = self.requirements, self._e
        stay = float(w.stay) if w.stay is not None else 0.5
        tail = (e - 1) / (math.exp(min(float(w.epsilon) * w.reach, 600)) - 1)
        return max((1 - stay) / 2 * tail, stay - (e - 1) * (1 - stay) / 2, 1e-30)

    def _distribution(self, n: int) -> None:
        w, program = self.requirements, self._program
        places = {z: self._p[n, z] for z in w.errors(n)}
        program.equal(dict.fromkeys(places.values(), 1), 1)
        if w.unbiased(n):
            program.equal({j: z for z, j in places.items()})
        if 0 in places:
            if w.at_least:
                program.at_most({self.stay: 1, places[0]: -1})
            else:
                program.equal({self.stay: 1, places[0]: -1})
        if w.variance is not None:
            squares = {j: z * z for z, j in places.items()}
            program.at_most(squares, w.variance * (1 - _VARIANCE_ROOM), loosest=w.variance)

    def _place(self, n: int, y: int) -> int | None:
        """Return the variable of P(y | n)."""
        w = self.requirements
        return self._p.get((min(n, w.shared), y - n))

    def _neighbours(self, n: int, other: int) -> None:
        """Add sum_y (P(y|n) - E P(y|other))+ <= delta."""
        w, program, E = self.requirements, self._program, self._E
        escaping: dict[int, int] = {}
        for y in range(max(n - w.reach, 0), n + w.reach + 1):
            here, there = self._place(n, y), self._place(other, y)
            if here is None:
                continue
            if w.single_event:
                row = {here: Fraction(1), self.delta: Fraction(-1)}
                program.at_most(row if there is None else row | {there: -E})
                continue
            if there is None:
                escaping[here] = 1
                continue
            excess = program.variable(min(max(self._e ** -abs(y - n), 1e-30), self._rough))
            program.at_most({here: 1, there: -E, excess: -1})
            escaping[excess] = 1
        if escaping:
            program.at_most(escaping | {self.delta: -1})

    def place(self, n: int, z: int) -> int:
        """Return the variable of the error z of a count n."""
        return self._p[n, z]

    def tables(self) -> tuple[list[dict[int, Fraction]], list[Fraction], list[bool]]:
        """Return the rows, all equalities, their right sides, and a mask of the variables that are probabilities."""
        rows, sides, size = self._program.equations()
        probabilities = set(self._p.values())
        return rows, sides, [j in probabilities for j in range(size)]

    # ---------------------------------------------------------------- solving

    def least_delta(self) -> ExactSolution:
        self._program.minimise({self.delta: 1})
        return self._program.solve()

    def steadiest(self, best: Fraction) -> ExactSolution | None:
        """Return the solution with the least variance among those with the least delta, or None.

        A small enough price on the variance does not move the optimum away from the least delta: prices are tried from
        large to small, and the first that does not change delta is used.
        """
        unit = Fraction(self._rough).limit_denominator(10**40)
        for price in (Fraction(1, 10**3), Fraction(1, 10**5), Fraction(1, 10**7)):
            self._program.minimise({self.delta: 1} | {j: price * unit * z * z for (_, z), j in self._p.items()})
            try:
                solution = self._program.solve()
            except Unsupported:
                return None
            if solution.values[self.delta] <= best * (1 + _SAME_DELTA):
                return solution
        return None

    def largest_stay(self) -> ExactSolution:
        self._program.minimise({self.stay: -1})
        return self._program.solve()

    def laws(self, solution: ExactSolution) -> list[Finite] | None:
        """Return the exact law of each count; None if the solution is too inaccurate for one."""
        w = self.requirements
        size = max(float(solution.values[self.delta]), 1e-60)
        bits = 96 - math.floor(math.log2(size))
        denominator = 1 if w.stay is None or w.at_least else w.stay.denominator
        laws = self.laws_on(solution, denominator << bits)
        if w.variance is None or laws is None or all(moment(law, 2) <= w.variance for law in laws):
            return laws
        # a law of two errors a < 0 < b with exactly this variance has zero bias only on a total that b - a divides
        return self.laws_on(solution, math.lcm(*range(1, 2 * w.reach + 1)) * denominator << bits)

    def laws_on(self, solution: ExactSolution, total: int) -> list[Finite] | None:
        """Return the law of each count in whole multiples of 1/total; None if rounding makes a weight negative."""
        w, laws = self.requirements, []
        for n in w.counts:
            row = {z: solution.values[self._p[n, z]] for z in w.errors(n)}
            symmetric = w.symmetric and not w.largest and n == w.shared
            symmetric = symmetric or w.errors(n) == [-1, 0, 1]
            law = exact_law(
                row, None if w.at_least else w.stay, floor=w.stay or Fraction(0), total=total,
                unbiased=w.unbiased(n), symmetric=symmetric,
            )  # fmt: skip
            if law is None:
                return None

            laws.append(law)
        return laws


def exact_law(
    row: Mapping[int, Fraction], stay: Fraction | None, *, floor: Fraction, total: int, unbiased: bool, symmetric: bool
) -> Finite | None:
    """Round probabilities to a law with exactly this stay probability and, if required, zero bias.

    All weights are rounded; the remaining errors of the total and of the mean, a few units, are corrected by
    :func:`_balance`.
    """
    weights = {z: math.floor(p * total + Fraction(1, 2)) for z, p in row.items()}
    if 0 in weights:
        weights[0] = int(stay * total) if stay is not None else max(weights[0], math.ceil(floor * total))
        weights[0] += (total - weights[0]) % 2  # so that the rest can be halved
    if symmetric:
        for z in [z for z in weights if z < 0]:
            weights[z] = weights[-z]
        missing = (total - sum(weights.values())) // 2
        nearest = max((z for z in weights if z > 0), key=weights.__getitem__)
        weights[nearest] += missing
        weights[-nearest] += missing
    elif not unbiased:
        largest = max((z for z in weights if z), key=weights.__getitem__)
        weights[largest] += total - sum(weights.values())
    else:
        _balance(weights, total)
    return Finite(min(weights), _dense(weights)) if min(weights.values()) >= 0 else None


def _balance(weights: dict[int, int], total: int) -> None:
    """Make the weights add up to the total with zero mean, in place, without touching the weight of no error.

    The most likely error below zero, a, and the one above, b, have enough weight. Units moved between them change the
    mean by multiples of b - a; a few units (fewer than b - a) added to one more error c correct the rest, as some c
    next to a or b has c - a without a divisor in common with b - a. That c may have no weight yet: a law with two
    errors, such as -1 and 2, cannot be balanced otherwise on a total that 3 does not divide.
    """
    missing, bias = total - sum(weights.values()), sum(z * w for z, w in weights.items())
    if not missing and not bias:
        return
    a = max((z for z in weights if z < 0), key=weights.__getitem__)
    b = max((z for z in weights if z > 0), key=weights.__getitem__)
    others = sorted((z for z in weights if z not in (a, 0, b)), key=weights.__getitem__, reverse=True)
    for units in range(b - a):
        for c in others or [a]:
            rest, upper = missing - units, -bias - units * c
            share, remainder = divmod(upper - a * rest, b - a)
            if remainder:
                continue
            weights[c] += units
            weights[b] += share
            weights[a] += rest - share
            return


def _dense(weights: Mapping[int, int]) -> list[int]:
    return [weights.get(z, 0) for z in range(min(weights), max(weights) + 1)]


@dataclass(frozen=True)
class NoiseLaws:
    """Exact laws for the least delta.

    Attributes
    ----------
    laws
        The law of each count; the last is shared by all counts from there on.
    value
        Their delta, at the rational E of the program.
    bound
        A proved lower bound of the delta of all laws that meet the requirements, at e^epsilon itself.
    """

    laws: tuple[Finite, ...]
    value: Fraction
    bound: Fraction


def least_delta(requirements: NoiseRequirements) -> NoiseLaws:
    """Return the laws with the least delta, with a symmetric shared law if it is as good.

    Raises
    ------
    InfeasibleProgram
        When no noise meets the requirements.
    """
    if (
        requirements.first == requirements.shared
    ):  # one law: it and its mirror image are equally good, and so is their mean
        requirements = replace(requirements, symmetric=True)
    best: NoiseLaws | None = None
    problem = Unsupported("the linear program was not solved to enough digits.", "Try a smaller reach.")
    for rough in (None, 1e-3, 1e-6):  # units of delta: in each of them the solver fails on some programs
        try:
            program = NoiseProgram(requirements, rough=rough)
            solution = program.least_delta()
        except InfeasibleProgram:
            raise
        except Unsupported as failure:
            problem = failure
            continue
        bound = max(solution.bound - growth_gap(requirements.epsilon), best.bound if best else Fraction(0))
        program, solution = _as_good_and_symmetric(program, solution, rough) or (program, solution)
        for one in (program.steadiest(solution.cost), solution):
            laws = None if one is None else program.laws(one)
            if laws is None:
                continue
            value = delta_of(laws, requirements)
            if best is None or value < best.value * (1 - _SAME_DELTA):
                best = NoiseLaws(tuple(laws), value, bound)
        if best is not None:
            best = replace(best, bound=bound)
            if best.value - bound <= max(_CLOSE_TO_BOUND * best.value, _NEGLIGIBLE_DELTA):
                break
    if best is None:
        raise problem
    return best


def _as_good_and_symmetric(
    program: NoiseProgram, solution: ExactSolution, rough: float | None
) -> tuple[NoiseProgram, ExactSolution] | None:
    """Return the program for a symmetric shared law and its solution, if that costs no delta."""
    requirements = program.requirements
    if requirements.symmetric or requirements.largest:
        return None
    try:
        even = NoiseProgram(replace(requirements, symmetric=True), rough=rough)
        answer = even.least_delta()
    except Unsupported:  # infeasible, or not solved
        return None
    return (even, answer) if answer.cost <= solution.cost * (1 + _SAME_DELTA) else None


def delta_of(laws: Sequence[Finite], requirements: NoiseRequirements) -> Fraction:
    """Return the delta of these laws at the rational E of the program, exactly."""
    E, last = growth(requirements.epsilon), len(laws) - 1
    worst = Fraction(0)
    for k in range(last if requirements.largest else last + 1):
        first, second = laws[k], laws[min(k + 1, last)]
        for a, b, shift in ((first, second, -1), (second, first, 1)):
            excess = [a.probability(z) - E * b.probability(z + shift) for z in range(a.low, a.high + 1)]
            positive = [x for x in excess if x > 0]
            worst = max(
                worst, max(positive, default=worst) if requirements.single_event else sum(positive, Fraction(0))
            )
    return worst


def largest_stay(requirements: NoiseRequirements, delta: Fraction) -> Fraction:
    """Return the largest stay probability with delta at most this, to many digits.

    Raises
    ------
    InfeasibleProgram
        When no noise meets the requirements.
    """
    problem = Unsupported("the linear program was not solved.")
    for rough in (float(delta), None, 1e-3, 1e-6):
        try:
            return -NoiseProgram(requirements, delta, rough).largest_stay().cost
        except InfeasibleProgram:
            raise
        except Unsupported as failure:
            problem = failure
    if least_delta(requirements).value > delta:  # for every stay
        raise InfeasibleProgram()
    raise problem
