"""The linear program of a design, in exact numbers: its probabilities, its inequalities and its cost.

All numbers here are rational: coefficients are small integers and powers of alpha. Floats enter only in the solver
(:mod:`.solver`), which gets the program scaled: with ``P = a^|i-j| R`` the privacy inequalities become
``R[far] >= R[near]`` and ``R[near] >= a^2 R[far]``, however far from the diagonal, where the probabilities themselves
vanish below any tolerance.

Three reductions make it small. Probabilities that must be equal are one variable (symmetry, fairness); a problem that
equals its mirror image gets symmetry without loss ([C] theorem 1, for symmetric weights and losses); inequalities that
follow from others are left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from ...exact.arrays import Array, BoolArray, IntArray
from ...losses import Loss
from ...properties import Property, Rows, is_of_the_seven
from ...spaces import Counts

#: The label of the inequalities of differential privacy.
PRIVACY = "privacy"

#: Probability that does not affect any sum of doubles near one.
NEGLIGIBLE = 1e-15

#: Least scale alpha^|i-j| of a variable; the solver drops coefficients below a tenth of it.
SMALLEST_SCALE = 1e-11

#: The requirements that follow from each requirement; their rows are left out.
IMPLIED = {"RM": ("RH", "inward privacy"), "CM": ("CH", "WH"), "CH": ("WH",)}


@dataclass(frozen=True)
class Request:
    """The request of a design, in exact numbers. ``weights`` is the prior, or None for the worst case over truths."""

    n: int
    alpha: Fraction
    loss: Loss
    weights: tuple[Fraction, ...] | None
    requirements: tuple[Property, ...] = ()
    delta: Fraction = Fraction(0)
    #: The privacy as the user typed it, such as "epsilon = 0.5"; empty for a request without a user.
    privacy_given: str = ""

    @property
    def codes(self) -> tuple[str, ...]:
        return tuple(p.code for p in self.requirements)

    @property
    def uniform(self) -> bool:
        return self.weights is not None and len(set(self.weights)) == 1

    @property
    def mirrored(self) -> bool:
        """True if the problem equals its mirror image, so that averaging with the mirror image costs nothing."""
        even = self.weights is None or self.weights == self.weights[::-1]
        return even and self.loss.symmetric and all(_is_mirrored(p, self.n) for p in self.requirements)


@dataclass(frozen=True, eq=False)
class Pairs:
    """Inequalities (or equalities) of two probabilities: ``P[first] >= factor * alpha^power * P[second]``, by place."""

    label: str
    first: IntArray
    second: IntArray
    factor: Fraction
    power: int
    sense: Literal[">=", "=="] = ">="
    #: True if this is not required, only preferred among the best.
    preferred: bool = False

    def __len__(self) -> int:
        return len(self.first)


@dataclass(frozen=True, eq=False)
class ConstraintRow:
    """Any other constraint: ``sum_k coefficients[k] P[places[k]]  sense  right``.

    Places beyond the last probability are auxiliary variables.
    """

    label: str
    places: IntArray
    coefficients: tuple[int, ...]
    sense: Literal[">=", "=="]
    right: Fraction = Fraction(0)


@dataclass(frozen=True, eq=False)
class Program:
    """The linear program that minimises ``cost @ P / cost_scale`` over P >= 0 under the pairs and the rows.

    Pairs and rows contain *places*: ``truth * (n+1) + report``, then the auxiliary variables. The solver's variables
    are fewer: ``P[p] = alpha^exponent[p] * x[variable[p]]``, with exponent 0 for auxiliary ones.
    """

    request: Request
    variable: IntArray
    exponent: IntArray
    #: The number of variables.
    count: int
    pairs: tuple[Pairs, ...]
    rows: tuple[ConstraintRow, ...]
    cost: Array = field(repr=False)
    cost_scale: int
    #: Variables that must be zero.
    zero: BoolArray = field(repr=False)
    #: True if a mechanism and its mirror image share their variables.
    mirrored: bool
    #: The largest value of each auxiliary variable at an optimum.
    auxiliary_size: tuple[float, ...] = ()
    #: The distance from the truth beyond which probabilities are tied to their neighbours.
    reach: int = 0
    #: The difference between the true cost and the objective.
    offset: Fraction = Fraction(0)
    #: True if variables are divided by alpha^|i-j|.
    scaled: bool = True

    @property
    def size(self) -> int:
        """The number of truths."""
        return self.request.n + 1

    @property
    def log_alpha(self) -> float:
        return log_of(self.request.alpha)

    def powers(self, block: Pairs) -> IntArray:
        """Return the power of alpha between the two variables of each pair."""
        return block.power + self.exponent[block.second] - self.exponent[block.first]


def log_of(x: Fraction) -> float:
    """Return the logarithm of a positive rational of any size."""
    return math.log(x.numerator) - math.log(x.denominator)


# ------------------------------------------------------------------------------------------------ building


def program_of(
    request: Request,
    *,
    negligible: float = NEGLIGIBLE,
    private: bool = True,
    preferred: tuple[Property, ...] = (),
    scaled: bool = True,
) -> Program:
    """Return the linear program of a request.

    Parameters
    ----------
    negligible
        Tie probabilities below this to their neighbours, with a ratio of exactly alpha per step. That is almost always
        possible, and makes the program small for small alpha; the bound of :mod:`.bounds` does not assume it. With 0
        all are free.
    private
        False to leave out privacy, for finding the requirements that clash.
    preferred
        Properties for choosing among the best.
    scaled
        True to divide variables by alpha^|i-j|. If probabilities cannot fall with the distance, scaled variables exceed
        the solver's range.
    """
    return _Builder(request, negligible, private, preferred, scaled).program()


class _Builder:
    def __init__(
        self, request: Request, negligible: float, private: bool, preferred: tuple[Property, ...], scaled: bool
    ) -> None:
        self.request = request
        self.private = private
        self.preferred = tuple(p for p in preferred if p.code not in request.codes)
        self.scaled = scaled
        self.size = request.n + 1
        self.places = self.size**2
        self.truth, self.report = np.divmod(np.arange(self.places), self.size)
        self.apart = np.abs(self.truth - self.report)
        skipped = {implied for code in request.codes for implied in IMPLIED.get(code, ())}
        self.skips_inward = "inward privacy" in skipped
        self.required = [(p, p.rows(request.n)) for p in request.requirements if p.code not in skipped]
        self.mirrored = request.mirrored or "S" in request.codes
        log_alpha = log_of(request.alpha)
        fall = self._fall(log_alpha)
        self.reach = request.n
        if negligible and not request.delta and private and fall == 1:  # a tied tail falls by alpha per step
            self.reach = min(request.n, max(2, math.ceil(math.log(negligible) / log_alpha)))
        floor = max(SMALLEST_SCALE, float(request.delta) / 64)
        scale_reach = min(request.n, max(1, math.floor(math.log(floor) / log_alpha))) if scaled else 0
        self.scale = np.minimum(np.floor(self.apart * fall + 1e-9), scale_reach).astype(np.int64)
        self.variable, self.exponent = self._merge()
        self.count = int(self.variable.max()) + 1
        self.auxiliary: list[float] = []
        self.pairs: list[Pairs] = []
        self.rows: list[ConstraintRow] = []
        self.zero: set[int] = set()
        self.seen_rows: set[tuple[Any, ...]] = set()
        self.offset = Fraction(0)

    def program(self) -> Program:
        if self.private and self.request.delta:
            self._approximate_privacy()
        elif self.private:
            self._privacy()
        for prop, rows in self.required:
            self._property(prop.code, rows)
        required = len(self.pairs)
        for prop in self.preferred:
            self._property(prop.code, prop.rows(self.request.n))
        self.pairs[required:] = [replace(block, preferred=True) for block in self.pairs[required:]]
        for i in range(self.size):
            self._row("total", self._truth(i), [1] * self.size, "==", Fraction(1))
        cost, scale = self._objective()
        extra = len(self.auxiliary)
        variable = np.concatenate([self.variable, np.arange(self.count, self.count + extra)])
        zero = np.zeros(self.count + extra, dtype=bool)
        zero[list(self.zero)] = True
        return Program(
            self.request, variable, np.concatenate([self.exponent, np.zeros(extra, dtype=np.int64)]),
            self.count + extra, tuple(self.pairs), tuple(self.rows), cost, scale, zero, self.mirrored,
            tuple(self.auxiliary), self.reach, self.offset, self.scaled,
        )  # fmt: skip

    def _truth(self, i: int) -> IntArray:
        return np.arange(i * self.size, (i + 1) * self.size)

    def _new(self, size: float) -> int:
        """Return the place of a new auxiliary variable."""
        self.auxiliary.append(size)
        return self.places + len(self.auxiliary) - 1

    def _merge(self) -> tuple[IntArray, IntArray]:
        """Return the variable and the exponent of each place: places that must be equal, and tied tails, share one."""
        exponent = self.scale
        beyond = self.apart - self.reach
        nearer = self.truth + np.sign(self.report - self.truth) * np.maximum(beyond, 0)
        label = nearer * self.size + self.report
        exponent = np.where(beyond > 0, exponent[label] + beyond, exponent)
        if self.mirrored:
            label = np.minimum(label, self.places - 1 - label)
        equal = [r.places for _, r in self.required if _is_equality(r)]
        while equal:
            before = label.copy()
            for places in equal:
                one, other = places[self._alike(places)].T
                least = np.minimum(label[one], label[other])
                np.minimum.at(label, one, least)
                np.minimum.at(label, other, least)
            label = label[label]
            if np.array_equal(label, before):
                break
        return np.unique(label, return_inverse=True)[1].reshape(-1), exponent

    def _fall(self, log_alpha: float) -> float:
        """Return the fastest fall of probabilities per step away from the truth, as a power of alpha: at most one.

        Privacy lets them fall by alpha. A requirement that neighbouring reports are alike, ``P[i, j+1] >= f P[i, j]``
        on the way out from the truth, lets them fall by f only, and what is scaled by alpha would grow out of the
        solver's range.
        """
        slowest = self.request.alpha
        for _, rows in self.required:
            factor = self._outward_factor(rows)
            if factor is not None:
                slowest = max(slowest, factor)
        return min(1.0, log_of(slowest) / log_alpha) if slowest > self.request.alpha else 1.0

    def _outward_factor(self, rows: Rows) -> Fraction | None:
        """Return f if the rows are ``P[i, next report outward] >= f P[i, j]`` for every place; else None."""
        if rows.places.shape[1] != 2 or rows.coefficients.ndim != 1 or rows.right != 0:
            return None
        further_factor, nearer_factor = rows.coefficients.tolist()
        if not further_factor > 0 > nearer_factor:
            return None
        further, nearer = rows.places.T
        outward = (
            (self.truth[further] == self.truth[nearer])
            & (np.abs(self.report[further] - self.report[nearer]) == 1)
            & (self.apart[further] == self.apart[nearer] + 1)
        )
        everywhere = len(np.unique(further[outward])) == self.places - self.size
        return Fraction(-nearer_factor, further_factor) if everywhere else None

    def _alike(self, places: IntArray) -> BoolArray:
        """Return a mask of the pairs of places at equal distances from their truths, which can share a variable."""
        return np.asarray(self.apart[places[:, 0]] == self.apart[places[:, 1]])

    def _privacy(self) -> None:
        """Add P[far] >= a P[near], and P[near] >= a P[far] unless row monotonicity implies it."""
        away = self.apart > 0
        far = np.flatnonzero(away)
        near = (self.truth + np.sign(self.report - self.truth))[away] * self.size + self.report[away]
        self._pairs(PRIVACY, far, near, Fraction(1), 1)
        if not self.skips_inward:
            self._pairs(PRIVACY, near, far, Fraction(1), 1)

    def _approximate_privacy(self) -> None:
        """Limit the hockey-stick divergence between neighbours: sum_j max(0, P[i, j] - P[k, j] / a) <= delta.

        Each positive part has an auxiliary variable. In a mirrored problem one direction is the other's image.
        """
        alpha, delta, size = self.request.alpha, self.request.delta, self.size
        p, q = alpha.numerator, alpha.denominator
        for i in range(size - 1):
            for one, other in ((i, i + 1),) if self.mirrored else ((i, i + 1), (i + 1, i)):
                excess = []
                for here, there in zip(self._truth(one).tolist(), self._truth(other).tolist(), strict=True):
                    if self.variable[here] != self.variable[there]:
                        excess.append(self._new(float(delta)))
                        self.rows.append(ConstraintRow(PRIVACY, np.array([excess[-1], here, there]), (p, -p, q), ">="))
                self.rows.append(ConstraintRow(PRIVACY, np.array(excess), (-1,) * len(excess), ">=", -delta))

    def _property(self, code: str, rows: Rows) -> None:
        width = rows.places.shape[1]
        shared = rows.coefficients.ndim == 1
        if _is_equality(rows):
            one, other = rows.places[~self._alike(rows.places)].T
            self._pairs(code, one, other, Fraction(1), 0, "==")
        elif width == 1 and shared and rows.right == 0 and rows.sense == "==":
            self.zero.update(self.variable[rows.places[:, 0]].tolist())
        elif width == 2 and shared and rows.right == 0 and rows.coefficients[0] > 0 > rows.coefficients[1]:
            factor = Fraction(-int(rows.coefficients[1]), int(rows.coefficients[0]))
            self._pairs(code, rows.places[:, 0], rows.places[:, 1], factor, 0, rows.sense)
        else:
            factors = np.broadcast_to(rows.coefficients, rows.places.shape)
            for places, coefficients in zip(rows.places, factors.tolist(), strict=True):
                self._row(code, places, coefficients, rows.sense, rows.right)

    def _pairs(
        self,
        label: str,
        first: IntArray,
        second: IntArray,
        factor: Fraction,
        power: int,
        sense: Literal[">=", "=="] = ">=",
    ) -> None:
        """Add pairs of places, one of each kind."""
        one, other = self.variable[first], self.variable[second]
        between = power + self.exponent[second] - self.exponent[first]
        if (one == other).any():
            for k in np.unique(between[one == other]).tolist():
                ratio = factor * self.request.alpha**k
                if ratio > 1 or (sense == "==" and ratio != 1):
                    self.zero.update(one[(one == other) & (between == k)].tolist())
        key = np.stack([one, other, between], axis=1)[one != other]
        _, first_index = np.unique(key, axis=0, return_index=True)
        distinct = np.flatnonzero(one != other)[first_index]
        if len(distinct):
            self.pairs.append(Pairs(label, first[distinct], second[distinct], factor, power, sense))

    def _row(
        self, label: str, places: IntArray, coefficients: Sequence[int], sense: Literal[">=", "=="], right: Fraction
    ) -> None:
        """Add one row, unless an equal one exists already."""
        factors: dict[tuple[int, int], int] = {}
        for p, a in zip(places.tolist(), coefficients, strict=True):
            key = (int(self.variable[p]), int(self.exponent[p])) if p < self.places else (p, -1)
            factors[key] = factors.get(key, 0) + a
        signature = (sense, right, *sorted((k, a) for k, a in factors.items() if a))
        if signature not in self.seen_rows:
            self.seen_rows.add(signature)
            self.rows.append(ConstraintRow(label, places, tuple(coefficients), sense, right))

    def _objective(self) -> tuple[Array, int]:
        request = self.request
        space = Counts(request.n)
        loss_values, codes = request.loss.levels(space, space)
        values = [v if isinstance(v, Fraction) else Fraction(v) for v in loss_values]
        common = math.lcm(*(v.denominator for v in values))
        losses = np.array([int(v * common) for v in values], dtype=object)[codes]
        if request.weights is None:
            # variables cannot be negative, but the worst loss can: it is counted from the least loss
            self.offset = min(*values, Fraction(0))
            losses = losses - int(self.offset * common)
            worst = self._new(float(max(values) - self.offset) or 1.0)
            for i in range(self.size):
                places = np.append(self._truth(i), worst)
                self._row("worst case", places, [*(-v for v in losses[i]), common], ">=", Fraction(0))
            cost = np.zeros(self.places + len(self.auxiliary), dtype=object)
            cost[worst] = 1
            return cost, 1
        denominator = math.lcm(*(w.denominator for w in request.weights))
        weights = np.array([int(w * denominator) for w in request.weights], dtype=object)
        cost = np.zeros(self.places + len(self.auxiliary), dtype=object)
        cost[: self.places] = (weights[:, None] * losses).ravel()
        return cost, common * denominator


def _is_equality(rows: Rows) -> bool:
    return rows.sense == "==" and rows.right == 0 and rows.coefficients.tolist() in ([1, -1], [-1, 1])


def _is_mirrored(prop: Property, n: int) -> bool:
    """Return whether the property's rows equal their mirror image."""
    if is_of_the_seven(prop):
        return True
    rows = prop.rows(n)
    factors = np.broadcast_to(rows.coefficients, rows.places.shape)

    def listed(places: IntArray) -> Iterable[tuple[tuple[int, int], ...]]:
        pairs = zip(places.tolist(), factors.tolist(), strict=True)
        return (tuple(sorted(zip(p, f, strict=True))) for p, f in pairs)

    return set(listed(rows.places)) == set(listed((n + 1) ** 2 - 1 - rows.places))
