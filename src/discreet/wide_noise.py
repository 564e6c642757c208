"""Costs and checks of truncated geometric noise in any range, in closed form: no table is written out.

For the truth i on the counts 0..n, with a = e^-epsilon and a loss f of the distance, summation by parts gives

    E_i = f(0) + G(i) + G(n - i),    G(k) = sum_{d=1..k} (f(d) - f(d-1)) a^d / (1 + a),

as the noise is at least d in one direction with probability a^d / (1 + a), and clamping ends each sum. An average over
truths is one polynomial in a, whose value is an exact fraction.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np

from .channels import Channel
from .errors import Unsupported
from .exact.arrays import FloatArray
from .exact.base import Kernel
from .exact.laws import float_log
from .exact.tables import MAX_TABLE_ENTRIES
from .losses import Loss
from .properties import SPIKE_RATIO, CheckResult, NoGaps, Property, Rows, violation_words

#: Relative error of floats that compare two steps of the expected loss, generously.
_STEP_ERROR = 1e-9


@dataclass(frozen=True)
class WideNoise:
    """Truncated geometric noise on the counts 0..n, n >= 2.

    Examples
    --------
    >>> from .losses import L0, L1
    >>> noise = WideNoise(10**5, Fraction(1, 2))
    >>> noise.mean_loss(L0)
    Fraction(200000, 300003)
    >>> noise.losses_by_truth(L1)[[0, 50_000]].round(6).tolist()
    [0.666667, 1.333333]
    """

    n: int
    alpha: Fraction

    @classmethod
    def of(cls, channel: Channel) -> WideNoise | None:
        """Return the noise of a channel, if it is truncated geometric noise; None for others."""
        kernel: Kernel | None = getattr(channel.source, "kernel", None)
        alpha = None if kernel is None else kernel.geometric_ratio
        noise = None if kernel is None else kernel.noise
        n = channel.shape[0] - 1
        if (
            alpha is None
            or noise is None
            or n < 2
            or not (channel.inputs.is_line and channel.inputs == channel.outputs)
        ):
            return None
        return cls(n, alpha) if noise.clamp == noise.truths == channel.inputs.ends else None

    # ------------------------------------------------------------------------------------------------ losses

    def losses_by_truth(self, loss: Loss) -> FloatArray:
        """Return the expected loss of every truth, in floats."""
        steps = np.array([float(step) for step in self._steps(loss)])
        tails = np.exp(np.arange(1, self.n + 1) * float_log(self.alpha)) / float(1 + self.alpha)
        sums = np.concatenate([[0.0], np.cumsum(steps * tails)])
        return np.asarray(float(self._at_zero(loss)) + sums + sums[::-1])

    def mean_loss(self, loss: Loss, weights: Sequence[Fraction] | None = None) -> Fraction:
        """Return the exact expected loss over a prior; uniform by default."""
        steps = self._exact_steps(loss)
        if weights is None:
            share = Fraction(2, self.n + 1)
            coefficients = [share * (self.n + 1 - d) * step for d, step in enumerate(steps, 1)]
        else:
            below = np.cumsum(np.array([Fraction(0), *weights], dtype=object)).tolist()  # of the truths below each
            coefficients = [step * (below[-1] - below[d] + below[self.n + 1 - d]) for d, step in enumerate(steps, 1)]
        return self._at_zero(loss) + self._polynomial(coefficients)

    def worst_loss(self, loss: Loss) -> Fraction:
        """Return the exact expected loss of the truth at which it is largest."""
        steps = self._exact_steps(loss)
        truths = self._peaks(steps)
        return self._at_zero(loss) + max(
            self._polynomial([step * ((d <= i) + (d <= self.n - i)) for d, step in enumerate(steps, 1)]) for i in truths
        )

    def _peaks(self, steps: Sequence[Fraction]) -> list[int]:
        """Return truths up to the middle, one of which has the largest expected loss.

        From i to i + 1 it grows by ``(s(i+1) a^(i+1) - s(n-i) a^(n-i)) / (1+a)`` with the steps s of the loss. Where
        floats cannot tell whether that is positive, both truths are kept.
        """
        with np.errstate(divide="ignore"):
            logs = np.log(np.array([float(step) for step in steps]))
        middle = self.n // 2
        i = np.arange(middle)
        rise, fall = logs[i], logs[self.n - 1 - i] + (self.n - 2 * i - 1) * float_log(self.alpha)
        with np.errstate(invalid="ignore"):
            gap = rise - fall
        unsure = np.abs(gap) <= _STEP_ERROR * (1 + np.abs(rise) + np.abs(fall))
        flat = np.isneginf(rise) & np.isneginf(fall)
        peaks: list[int] = []
        rising = True
        for k in np.flatnonzero(~flat).tolist():
            if unsure[k] or (rising and gap[k] < 0):
                peaks.append(k)
            rising = bool(unsure[k] or gap[k] > 0)
        return [*peaks, middle] if rising else peaks

    def _steps(self, loss: Loss) -> list[Fraction | float]:
        values = loss.by_distance(self.n)
        if values is None:
            raise Unsupported(
                f"the loss {loss.name} depends on more than the distance, and a table of {self.n + 1:,} x "
                f"{self.n + 1:,} probabilities is too large to write out.",
                "Use L0, L1, L2, losses.power(p) or losses.beyond(d).",
                argument="loss",
            )
        return [after - before for before, after in pairwise(values)]

    def _exact_steps(self, loss: Loss) -> list[Fraction]:
        steps = self._steps(loss)
        exact = [step for step in steps if isinstance(step, Fraction)]
        if len(exact) < len(steps):
            raise Unsupported(
                f"the loss {loss.name} has irrational values, so there is no exact answer.", "Ask without exact=True."
            )
        return exact

    @staticmethod
    def _at_zero(loss: Loss) -> Fraction:
        return loss.exact(0, 0)

    def _polynomial(self, coefficients: Sequence[Fraction]) -> Fraction:
        """Return ``sum_d c_d a^d / (1 + a)`` over d = 1, 2, ..., by halves: few products of long numbers."""
        last = max((d for d, c in enumerate(coefficients, 1) if c), default=0)
        if not last:
            return Fraction(0)
        scale = math.lcm(*(c.denominator for c in coefficients[:last]))
        whole = [0, *(c.numerator * (scale // c.denominator) for c in coefficients[:last])]
        p, q = self.alpha.numerator, self.alpha.denominator
        powers: dict[int, tuple[int, int]] = {}

        def value(low: int, high: int) -> int:
            """Return q^(high - low - 1) times the sum of c_d a^(d - low) over low <= d < high."""
            if high - low == 1:
                return whole[low]
            middle = (low + high) // 2
            left, right = middle - low, high - middle
            for length in (left, right):
                if length not in powers:
                    powers[length] = p**length, q**length
            return value(low, middle) * powers[right][1] + powers[left][0] * value(middle, high)

        return Fraction(value(0, last + 1), scale * q**last) / (1 + self.alpha)

    # ------------------------------------------------------------------------------------------------ properties

    def examine(self, prop: Property | NoGaps, channel: Channel, tolerance: float | None = None) -> CheckResult:
        """Return whether a property holds and its worst violation, exactly, as the table would show it.

        Probabilities fall by the same factor with every step from the truth but the last one, where a whole tail lies:
        of each property the row at truth 1 next to the end is violated first, or none is.
        """
        rows = _worst_row(prop, self.n)
        allowed = 0.0 if tolerance is None else tolerance
        if rows is None:
            return _result(prop, Fraction(0), None, (), allowed)
        truths_and_reports = [divmod(place, self.n + 1) for place in rows.places[0].tolist()]
        kernel: Kernel = channel.source.kernel
        side = -rows.right
        for factor, (i, j) in zip(rows.coefficients.tolist(), truths_and_reports, strict=True):
            side += factor * kernel.probability(i, j)
        worst = max(Fraction(0), abs(side) if rows.sense == "==" else -side)
        places = tuple(truths_and_reports) if worst else ()
        where = violation_words(rows, 0, channel, places, worst) if worst else None
        return _result(prop, worst, where, places, allowed)


def _result(
    prop: Property | NoGaps, worst: Fraction, where: str | None, places: tuple[tuple[int, int], ...], allowed: float
) -> CheckResult:
    return CheckResult(
        name=prop.name, holds=worst <= allowed, sentence=prop.sentence, code=prop.code, violation=worst, where=where,
        places=places, tolerance=allowed,
    )  # fmt: skip


def is_too_large(channel: Channel) -> bool:
    """Return whether the table of a channel is too large to write out."""
    truths, reports = channel.shape
    return truths * reports > MAX_TABLE_ENTRIES


def _worst_row(prop: Property | NoGaps, n: int) -> Rows | None:
    """Return the row of a property that geometric noise violates most, if it violates any; None where it never does."""
    first, second, before = 0, n + 2, n + 1  # (0, 0), (1, 1) and (1, 0)
    difference, alone = np.array([1, -1]), np.array([1])
    if prop.code in ("S", "RH", "RM", "no gaps"):
        return None
    if prop.code in ("CH", "CM"):
        return Rows(np.array([[second, before]]), difference, ">=")
    if prop.code == "no spikes":
        return Rows(np.array([[second, before]]), np.array([SPIKE_RATIO, -1]), ">=")
    if prop.code == "F":
        return Rows(np.array([[second, first]]), difference, "==")
    if prop.code == "WH":
        return Rows(np.array([[second]]), alone, ">=", Fraction(1, n + 1))
    raise Unsupported(
        f"{prop.code} needs the table of {n + 1:,} x {n + 1:,} probabilities, which is too large to write out.",
        "Check a smaller range, or the seven properties.",
        argument="properties",
    )
