"""The targets of a calibration: a bound on an expected loss, or on a likelihood ratio.

A target decides by floats with an error bound, and in rational numbers if the floats cannot decide. If a value is
irrational (distances on a map), a target that is too close to call counts as missed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Protocol

import numpy as np

from ... import losses
from ...channels import Channel
from ...errors import InvalidInput, Unsupported, WrongType, arg, meant, named
from ...exact.arrays import FloatArray, IntArray
from ...exact.rationals import as_fraction, log_up
from ...losses import Loss
from ...mechanisms.projective import share_variance
from ...utility import cost, expected_loss, prior_of_values, read_prior

#: Maximum number of log ratios in memory at a time.
LOG_RATIOS_PER_BLOCK = 1 << 21


class Target(Protocol):
    """A limit on the error or on the privacy loss, which a mechanism meets or misses."""

    @property
    def sentence(self) -> str:
        """The target, in words."""

    @property
    def bounds_privacy(self) -> bool:
        """True if small epsilons meet it; false if it bounds the error, so that large ones do."""

    def is_met(self, channel: Channel) -> bool:
        """Return whether this mechanism meets it."""

    def value(self, channel: Channel) -> Fraction | float:
        """Return the value of this mechanism: a Fraction if it is rational."""


# ------------------------------------------------------------------------------------------------ priors


def exact_weights(prior: object, size: int) -> tuple[Fraction, ...]:
    """Return a prior as Fractions that add up to exactly 1; floats are read as simple rationals, divided by the sum."""
    if prior is None or (isinstance(prior, str) and prior == "uniform"):
        return (Fraction(1, size),) * size
    values = [as_fraction(w, "a prior probability") for w in prior] if isinstance(prior, list | tuple) else prior
    read_prior(values, size)
    weights = [as_fraction(w, "a prior probability") for w in values]  # type: ignore[attr-defined]
    total = sum(weights)
    return tuple(w / total for w in weights)


# ------------------------------------------------------------------------------------------------ expected losses


@dataclass(frozen=True)
class LossTarget:
    """An expected loss of at most ``limit``, averaged with ``weights`` or (None) for the worst truth."""

    sentence: str
    loss: Loss
    limit: Fraction
    weights: tuple[Fraction, ...] | None = field(repr=False)
    #: True if people see one minus the loss: the probability of a hit instead of a miss.
    complement: bool = False
    bounds_privacy: bool = False

    def _float(self, channel: Channel) -> tuple[float, float]:
        """Return the loss and an error bound: probabilities err by 2^-42 relatively, sums add a unit per term."""
        rows = expected_loss(channel, self.loss)
        value = float(rows.max() if self.weights is None else np.array([float(w) for w in self.weights]) @ rows)
        return value, value * (sum(channel.shape) + 1024) * 2.0**-52 + 1e-300

    def _exact(self, channel: Channel) -> Fraction | None:
        try:
            if self.weights is None:
                return max(expected_loss(channel, self.loss, exact=True))
            exact = cost(channel, self.loss, prior=self.weights, exact=True)
        except Unsupported:  # irrational distances or probabilities
            return None
        assert isinstance(exact, Fraction)
        return exact

    def is_met(self, channel: Channel) -> bool:
        value, error = self._float(channel)
        if value + error <= self.limit:
            return True
        if value - error > self.limit:
            return False
        exact = self._exact(channel)
        return exact is not None and exact <= self.limit

    def value(self, channel: Channel) -> Fraction | float:
        exact = self._exact(channel)
        value = self._float(channel)[0] if exact is None else exact
        return 1 - value if self.complement else value


# ------------------------------------------------------------------------------------------------ likelihood ratios


@dataclass(frozen=True)
class RatioTarget:
    sentence: str
    limit: Fraction
    first: IntArray = field(repr=False)
    second: IntArray = field(repr=False)
    bounds_privacy: bool = True

    def _log_ratios(self, logs: FloatArray) -> Iterator[tuple[IntArray, IntArray, FloatArray]]:
        step = max(1, LOG_RATIOS_PER_BLOCK // logs.shape[1])
        for start in range(0, len(self.first), step):
            a, b = self.first[start : start + step], self.second[start : start + step]
            with np.errstate(invalid="ignore"):
                gap = np.abs(logs[a] - logs[b])
            yield a, b, np.where(np.isnan(gap), 0.0, gap)  # a report that neither truth gives

    @staticmethod
    def _logs(channel: Channel) -> tuple[FloatArray, float]:
        """Return the logarithms of all probabilities, and a bound of the error of a difference of two of them."""
        table = channel.table
        if table is None:
            with np.errstate(divide="ignore"):
                return np.asarray(np.log(channel.matrix)), 2.0**-40
        totals = np.array([[math.log(t)] for t in table.totals])
        return np.asarray(table.log_weights()[table.codes] - totals), float(totals.max() + 1) * 2.0**-48

    def _largest(self, logs: FloatArray) -> float:
        return max(float(gap.max()) for _, _, gap in self._log_ratios(logs))

    def _exact(self, channel: Channel, logs: FloatArray, floor: float) -> Fraction | None:
        """Return the exact largest ratio, among the entries where floats allow it; each kind is checked once."""
        table = channel.table
        if table is None:
            return None
        totals = list(dict.fromkeys(table.totals))
        number = {total: k for k, total in enumerate(totals)}
        kinds = table.codes * np.int64(len(totals)) + np.array([[number[total]] for total in table.totals])
        candidates = [np.empty((0, 2), np.int64)]
        for a, b, gap in self._log_ratios(logs):
            pair, report = np.nonzero(gap >= floor)
            candidates.append(np.unique(np.stack([kinds[a[pair], report], kinds[b[pair], report]], axis=1), axis=0))

        def probability(kind: int) -> Fraction:
            code, total = divmod(kind, len(totals))
            return Fraction(table.palette[code], totals[total])

        ratios = (probability(p) / probability(q) for p, q in np.unique(np.concatenate(candidates), axis=0).tolist())
        return max(max(ratio, 1 / ratio) for ratio in ratios)

    def is_met(self, channel: Channel) -> bool:
        logs, error = self._logs(channel)
        largest, goal = self._largest(logs), log_up(self.limit)
        if abs(largest - goal) > error + 1e-15 * goal:
            return largest < goal
        exact = self._exact(channel, logs, largest - 2 * error)
        return exact is not None and exact <= self.limit

    def value(self, channel: Channel) -> Fraction | float:
        logs, error = self._logs(channel)
        largest = self._largest(logs)
        if math.isinf(largest):
            return math.inf
        exact = self._exact(channel, logs, largest - 2 * error)
        return math.exp(largest) if exact is None else exact


# ------------------------------------------------------------------------------------------------ surveys


@dataclass(frozen=True)
class ShareTarget:
    sentence: str
    limit: Fraction
    bounds_privacy: bool = False

    def is_met(self, channel: Channel) -> bool:
        return self.value(channel) <= self.limit

    def value(self, channel: Channel) -> Fraction:
        return share_variance(channel.source)


# ------------------------------------------------------------------------------------------------ reading


def read_target(channel: Channel, limits: dict[str, object], within: object, prior: object) -> Target:
    """Return the one target among these limits, for mechanisms of this shape."""
    names = [name for name, limit in limits.items() if limit is not None]
    if within is not None and "likelihood_ratio" not in names:
        names.append("within")
    if len(names) != 1:
        raise InvalidInput(
            f"give exactly one target: {arg('distance')}, {arg('mean_error')}, {arg('truth')}, "
            f"{arg('within', '(d, p)', 'D:P')}, {arg('share_variance')}, or {arg('likelihood_ratio')} (with "
            "within=radius); "
            f"got {', '.join(names) or 'none'}."
        )
    name = names[0]
    if name == "likelihood_ratio":
        return _ratio_target(channel, limits[name], within, prior)
    if name == "share_variance":
        return _share_target(limits[name], prior)
    _refuse_points(channel)
    worst = prior is None and name != "distance"
    weights = None if worst else exact_weights(prior_of_values(prior, channel.inputs), channel.shape[0])
    uniform = prior is None or isinstance(prior, str)
    whom = "whatever the truth" if worst else f"on average over {'a uniform' if uniform else 'the given'} prior"
    if name in ("distance", "mean_error"):
        limit = _positive(limits[name], name)
        noun = "expected distance between truth and report" if name == "distance" else "mean absolute error"
        return LossTarget(f"{noun} at most {_shown(limit)}, {whom}", losses.L1, limit, weights)
    if name == "truth":
        p = _probability(limits[name], "truth")
        sentence = f"the truth reported with probability at least {_shown(p)}, {whom}"
        return LossTarget(sentence, losses.L0, 1 - p, weights, True)
    d, p = _read_within(within)
    sentence = f"a report within {_shown(d)} of the truth with probability at least {_shown(p)}, {whom}"
    return LossTarget(sentence, losses.beyond(d), 1 - p, weights, True)


def _share_target(value: object, prior: object) -> ShareTarget:
    if prior is not None:
        raise InvalidInput(f"the share is that of a rare value, so it needs no prior; drop {arg('prior')}")
    limit = as_fraction(value, "share_variance")
    if limit <= 0:
        raise InvalidInput.must_be("share_variance", "above 0", value)
    sentence = f"a variance of an estimated share of at most {_shown(limit)} over the number of people"
    return ShareTarget(sentence, limit)


def _refuse_points(channel: Channel) -> None:
    """Refuse reports that are points of a projective space: they have no distance from a truth."""
    if channel.reports_are_sets:
        raise Unsupported(
            "reports of projective response are not values, so they have no distance from the truth. Ask for "
            f"{arg('share_variance')} or {arg('likelihood_ratio')} instead."
        )


def _ratio_target(channel: Channel, value: object, within: object, prior: object) -> RatioTarget:
    if prior is not None:
        raise InvalidInput(
            "a likelihood ratio bounds every truth and report, so it needs no prior.", f"Drop {arg('prior')}"
        )
    limit = as_fraction(value, "likelihood_ratio")
    if limit <= 1:
        raise InvalidInput.must_be("likelihood_ratio", "above 1 (1 would let nothing through)", value)
    space, size = channel.inputs, channel.shape[0]
    squares = space.squared_distance(np.arange(size)[:, None], np.arange(size)[None, :])
    near, whom = np.ones_like(squares, dtype=bool), "any two truths"
    if within is not None:
        if isinstance(within, tuple | list):
            raise WrongType.must_be("within", f"one radius with {named('likelihood_ratio')}", within)
        radius = _positive(within, meant("within", "the radius"))
        near, whom = squares <= math.floor((radius / space.unit) ** 2), f"truths within {_shown(radius)} of each other"
    first, second = np.nonzero(np.triu(near, 1))
    if not len(first):
        raise InvalidInput(
            f"no two truths lie within {_shown(radius)} of each other; the nearest are {_shown(space.unit)} apart.",
            "Give a larger radius.",
            argument="within",
        )
    return RatioTarget(f"a likelihood ratio of at most {_shown(limit)} between {whom}", limit, first, second)


def _read_within(within: object) -> tuple[Fraction, Fraction]:
    if not isinstance(within, tuple | list) or len(within) != 2:
        raise WrongType.must_be(
            "within",
            f"a distance and a probability, such as {arg('within', '(2, 0.95)', '2:0.95')}",
            within,
            f"One number alone is a radius, which goes with {arg('likelihood_ratio')}",
        )
    d = as_fraction(within[0], meant("within", "the distance"))
    if d < 0:
        raise InvalidInput.must_be("within", "0 or more", within[0], meaning="the distance")
    return d, _probability(within[1], meant("within", "the probability"))


def _probability(value: object, what: str) -> Fraction:
    p = as_fraction(value, what)
    if not 0 < p <= 1:
        raise InvalidInput.must_be(what, "a probability above 0 and at most 1", value)
    return p


def _positive(value: object, what: str) -> Fraction:
    number = as_fraction(value, what)
    if number < 0:
        raise InvalidInput.must_be(what, "0 or more", value)
    return number


def _shown(value: Fraction) -> str:
    return str(value) if value.denominator == 1 else f"{float(value):.15g}"
