"""Several answers of one person together: margins, conditional shares, and how one answer goes with another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ...errors import InvalidInput, Unsupported
from ...exact.arrays import FloatArray
from ...exact.integers import is_integer
from ...spaces import ProductSpace
from ..statistics import Reconstruction, indicator, numbers, read_share, read_weights
from .questions import Answers, Interval

#: A part by its number, and one or several values of it: the people who gave that answer.
Event = tuple[int, object]


@dataclass(frozen=True, eq=False)
class Margin(Reconstruction):
    """The distribution of one answer, over all values of the others. Its intervals come from all reports together.

    Attributes
    ----------
    space, distribution, people
        As of an estimate, for this part alone.
    part
        Its number.

    Examples
    --------
    >>> import discreet as dc
    >>> both = dc.randomized_response(["yes", "no"], epsilon=2) * dc.randomized_response(3, epsilon=2)
    >>> e = dc.estimate([[60, 50, 40], [30, 20, 100]], both)
    >>> answers = e.margin(0)
    >>> answers.distribution.round(2).tolist(), round(e.margin(1).mean(), 2)
    ([0.5, 0.5], 1.24)
    >>> answers.interval(("cell", "yes")).statistic
    'P(yes)'
    """

    part: int
    _joint: Joint = field(repr=False, default=None)  # type: ignore[assignment]

    def interval(self, statistic: object = "mean", level: float = 0.95) -> Interval:
        """Return an interval for something that follows from this distribution.

        Parameters
        ----------
        statistic
            "mean", ("cdf", x), ("range", a, b), ("cell", value), ("among", [values]), or weights, one number for each
            value, for the sum of f_i p_i.
        level
            How often such intervals are meant to contain the true value.
        """
        if isinstance(statistic, str):
            if statistic != "mean":
                raise Unsupported(
                    f"{statistic!r} has no interval in a margin.",
                    "Ask for 'mean', or for weights.",
                    argument="statistic",
                )
            weights, words = numbers(self.space, "an interval for the mean"), "mean"
        elif isinstance(statistic, tuple) and statistic and isinstance(statistic[0], str):
            weights = indicator(self.space, statistic)
            words = f"P({', '.join(map(str, statistic))})" if statistic[0] != "cell" else f"P({statistic[1]})"
        else:
            weights, words = read_weights(statistic, self.space.size or 0), "weighted sum"  # type: ignore[arg-type]
        return replace(self._joint.interval(self._joint.lifted(self.part, weights), level), statistic=words)


class Joint:
    """The joint distribution of several answers of one person.

    Parameters
    ----------
    estimate
        An estimate from reports of a product of mechanisms.

    Examples
    --------
    >>> import discreet as dc
    >>> smoking = dc.randomized_response(["smokes", "does not"], epsilon=2)
    >>> both = smoking * dc.randomized_response(["ill", "well"], epsilon=2)
    >>> e = dc.estimate([[460, 540], [500, 1500]], both)
    >>> e.joint.table.round(2).tolist()
    [[0.15, 0.13], [0.11, 0.61]]
    >>> print(e.joint.difference((1, "ill"), given=(0, "smokes"), against=(0, "does not")))
    P(ill | smokes) - P(ill | does not): 0.3981, 95% interval 0.3284 to 0.4671
    """

    def __init__(self, estimate: Answers) -> None:
        if not isinstance(estimate.space, ProductSpace):
            raise Unsupported(
                "there is one answer of each person only.",
                "Several need a product of mechanisms: dc.estimate(..., m1 * m2).",
            )
        self._estimate, self._space = estimate, estimate.space

    @property
    def table(self) -> FloatArray:
        """The probability of each combination, an axis for each part."""
        return self._estimate.distribution.reshape(self._space.shape)

    def interval(self, weights: FloatArray, level: float) -> Interval:
        """Return an interval of a weighted sum of the probabilities of all combinations."""
        return self._estimate.interval(weights, level)

    def lifted(self, part: int, weights: FloatArray) -> FloatArray:
        """Return weights of the values of one part as weights of all combinations."""
        shape = [1] * len(self._space.shape)
        shape[part] = -1
        return np.broadcast_to(weights.reshape(shape), self._space.shape).ravel()

    def margin(self, part: int) -> Margin:
        """Return the distribution of one answer alone."""
        number = self._number(part)
        others = tuple(k for k in range(len(self._space.parts)) if k != number)
        distribution = self.table.sum(axis=others)
        distribution.flags.writeable = False
        return Margin(self._space.parts[number], distribution, self._estimate.people, number, self)

    def _number(self, part: object) -> int:
        last = len(self._space.parts) - 1
        number = int(part) if is_integer(part) else -1  # type: ignore[call-overload]
        if not 0 <= number <= last:
            raise InvalidInput.must_be("part", f"the number of a part, 0 to {last}", part)
        return int(number)

    # ------------------------------------------------------------------------------------------------ association

    def conditional(self, of: Event, given: Event, level: float = 0.95) -> Interval:
        """Return an interval for the share of those with one answer among those with another: P(of | given).

        Parameters
        ----------
        of, given
            The number of a part and a value of it, or a list of values: ``(1, "ill")``.
        level
            How often such intervals are meant to contain the true value.

        Notes
        -----
        A conditional share is a ratio P(both) / P(given). Its interval is that of its linear part at the estimate,
        ``(1[both] - r 1[given]) / P(given)``; where P(given) may be 0 by its own interval, it is from 0 to 1.
        """
        level = read_share(level, "level", inside=True)
        share, weights = self._linear(of, given, level)
        words = f"P({_words(of)} | {_words(given)})"
        return self._around(share, weights, level, (0.0, 1.0), words)

    def difference(self, of: Event, given: Event, against: Event, level: float = 0.95) -> Interval:
        """Return an interval for how much more frequent an answer is in one group than in another.

        ``P(of | given) - P(of | against)``, where perturbed answers define the groups too. An interval without 0
        shows that both answers go together.

        Parameters
        ----------
        of, given, against
            The number of a part and a value of it, or a list of values: ``(1, "ill")``, ``(0, "smokes")``.
        level
            How often such intervals are meant to contain the true value.
        """
        level = read_share(level, "level", inside=True)
        first, one = self._linear(of, given, level)
        second, other = self._linear(of, against, level)
        weights = None if one is None or other is None else one - other
        words = f"P({_words(of)} | {_words(given)}) - P({_words(of)} | {_words(against)})"
        return self._around(first - second, weights, level, (-1.0, 1.0), words)

    def _linear(self, of: Event, given: Event, level: float) -> tuple[float, FloatArray | None]:
        """Return a conditional share and its linear part; None where nobody may have the condition."""
        inside, condition = self._members(of), self._members(given)
        group = self.interval(condition, level)
        if group.estimate <= 0:
            return 0.0, None
        share = self.interval(inside * condition, level).estimate / group.estimate
        return share, (inside - share) * condition / group.estimate if group.low > 0 else None

    def _members(self, event: Event) -> FloatArray:
        if not isinstance(event, tuple) or len(event) != 2:
            raise InvalidInput.must_be("an answer", 'a part and a value, such as (1, "ill")', event)
        part, values = self._number(event[0]), event[1]
        listed = list(values) if isinstance(values, list | range | set | frozenset) else [values]
        return self.lifted(part, indicator(self._space.parts[part], ("among", listed)))

    def _around(
        self, value: float, weights: FloatArray | None, level: float, possible: tuple[float, float], words: str
    ) -> Interval:
        if weights is None:
            return Interval(*possible, value, level, words, "nothing: the group may be empty")
        interval = self.interval(weights, level)  # of a sum that is 0 at the maximum of the likelihood
        low, high = (min(max(value + end - interval.estimate, possible[0]), possible[1]) for end in interval)
        return Interval(low, high, value, level, words, f"{interval.by}, linearised")


def _words(event: Event) -> str:
    """Describe an answer in words."""
    values = event[1]
    shown: Sequence[object] = list(values) if isinstance(values, list | range) else [values]
    return " or ".join(map(str, shown))
