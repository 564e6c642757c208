"""The geometric mechanism of a finite metric space."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import reduce

import numpy as np

from ..errors import Unsupported, arg
from ..exact.arrays import FloatArray, IntArray
from ..exact.rationals import Number, alpha_from_epsilon, log_bounds, read_alpha, read_epsilon
from ..exact.tables import Table, refuse_large
from ..mechanism import Mechanism, finish
from ..privacy.verify import Verdict, evidence_for
from ..spaces import ProductSpace, Space
from ..spaces.metric import whole_roots
from .response import read_finite_space
from .weighting import NoWeighting, TooLarge, weighting

#: Maximum number of bits of the probabilities of an exact table.
_MAX_BITS = 40_000

#: Shares by which epsilon is lowered where probabilities are rounded, so that the epsilon asked for holds.
_SLACKS = (2.0**-30, 2.0**-20, 2.0**-10)

#: Weights above minus this, relative to the largest, are zero but for rounding.
_ROUNDED_ZERO = 1e-9


def metric_geometric(space: object, *, epsilon: Number | None = None, alpha: Number | None = None) -> Mechanism:
    """Return the geometric mechanism of a finite metric space: every constraint of privacy is tight.

    ``P(y | x) = mu_y e^(-epsilon d(x, y))`` with weights mu >= 0 for which every row adds up to one. On counts it is
    the truncated geometric mechanism, on a ring all weights are equal. It exists where such weights do.

    Parameters
    ----------
    space
        A finite space with a distance, such as ``MetricSpace``, ``Graph``, ``Ring``, ``Tree``, ``Range``, or a
        ``ProductSpace`` with a norm.
    epsilon, alpha
        Exactly one of them, per unit of distance; alpha = e^-epsilon.

    Raises
    ------
    Unsupported
        When no weights exist; the message says what to use instead.

    Notes
    -----
    Distances that are whole multiples of a unit are treated exactly, in rational numbers. Others are irrational or have
    too many digits: there the table is rounded and the certificate states the epsilon that was judged, which is at most
    the one asked for.

    Examples
    --------
    >>> from discreet.spaces import Ring
    >>> m = metric_geometric(Ring(4), alpha="1/2")
    >>> [str(m.probability(0, y)) for y in range(4)], round(m.certificate.epsilon, 6)
    (['4/9', '2/9', '1/9', '2/9'], 0.693147)
    """
    values = read_metric_space(space)
    refuse_large(values.size or 0, values.size or 0)
    eps = log_bounds(1 / read_alpha(alpha, None))[0] if epsilon is None else read_epsilon(epsilon)
    if epsilon is not None:
        read_alpha(alpha, epsilon)  # refuses both
    step = _alpha_of_step(values, eps, None if alpha is None else read_alpha(alpha, None))
    try:
        mu, steps = _exact_weights(values, step)
        kernel = _table(mu, steps, step)
        parameters: dict[str, object] = {"alpha": str(step), "step": str(values.unit)}
        made = finish("metric_geometric", values, values, kernel, parameters, notion="metric")
    except TooLarge:
        made = _rounded(values, eps)
    except NoWeighting as missing:
        raise _refusal(values, eps, missing.place) from None
    return made


def read_metric_space(space: object) -> Space:
    """Return a finite space with distances, or a list of labels; refuses anything else."""
    values = read_finite_space(space)
    values.squared_distance(np.array([0]), np.array([1]))  # a product without a norm has no distance
    return values


def squares_of(space: Space) -> IntArray:
    """Return all squared distances of a finite space, in squared units."""
    here = np.arange(space.size or 0)
    return np.asarray(space.squared_distance(here[:, None], here[None, :]))


def _alpha_of_step(space: Space, epsilon: Fraction, alpha: Fraction | None) -> Fraction:
    """Return the ratio of one unit of the space: exact where alpha is given and the unit is whole, else rounded up."""
    if alpha is not None and space.unit.denominator == 1 and space.unit <= 1000:
        return alpha ** int(space.unit)
    return alpha_from_epsilon(epsilon * space.unit)


def _exact_weights(space: Space, a: Fraction) -> tuple[list[Fraction], IntArray]:
    """Return the weights, and all distances in units; those of an l1 product are products of those of its parts."""
    steps = whole_roots(squares_of(space))
    if steps is None or int(steps.max()) * max(a.denominator.bit_length(), 1) > _MAX_BITS:
        raise TooLarge("the distances are irrational or have too many digits")
    if isinstance(space, ProductSpace) and space.norm == "l1":
        try:
            parts = [_exact_weights(one, a ** int(one.unit / space.unit))[0] for one in space.parts]
        except NoWeighting:
            raise NoWeighting from None  # the place is one of a part
        return reduce(lambda left, right: [x * y for x in left for y in right], parts), steps
    return weighting(steps, a), steps


def _table(mu: list[Fraction], steps: IntArray, a: Fraction) -> Table:
    """Return the table with the weights mu[y] a^steps[x, y], as integers."""
    common = math.lcm(*(weight.denominator for weight in mu))
    whole = [int(weight * common) for weight in mu]
    distinct_mu = sorted(set(whole))
    number = {weight: k for k, weight in enumerate(distinct_mu)}
    distinct, codes = np.unique(steps, return_inverse=True)
    largest = int(distinct[-1])
    powers = [a.numerator**k * a.denominator ** (largest - k) for k in distinct.tolist()]
    pairs = codes.reshape(steps.shape) * len(distinct_mu) + np.array([number[weight] for weight in whole])[None, :]
    present, places = np.unique(pairs, return_inverse=True)
    palette = [powers[pair // len(distinct_mu)] * distinct_mu[pair % len(distinct_mu)] for pair in present.tolist()]
    divisor = math.gcd(*palette)
    return Table.from_codes([weight // divisor for weight in palette], places.reshape(steps.shape))


def _rounded(space: Space, epsilon: Fraction) -> Mechanism:
    """Return the mechanism with probabilities in doubles, which the judge takes as the rational numbers they are."""
    for slack in _SLACKS:
        mu, similarity = float_weights(space, float(epsilon) * (1 - slack))
        if mu.min() < -_ROUNDED_ZERO * mu.max():
            raise _refusal(space, epsilon, int(mu.argmin()))
        kernel = table_of_doubles(np.maximum(mu, 0)[None, :] * similarity)
        verdict = Verdict("metric", space, True, evidence_for(kernel, space, "metric"))
        if verdict.holds(epsilon):
            parameters = {"epsilon": str(epsilon)}
            return finish(
                "metric_geometric",
                space,
                space,
                kernel,
                parameters,
                notion="metric",
                epsilon=epsilon,
                details={"lowered_for_rounding": slack},
            )
    raise Unsupported(
        f"the geometric mechanism of {space!r} cannot be rounded to a private table: its smallest distance is too "
        f"small for epsilon {float(epsilon):.6g}.",
        f"Use dc.exponential(space, {arg('epsilon', float(epsilon))}), or a larger unit of distance.",
    )


def float_weights(space: Space, epsilon: float) -> tuple[FloatArray, FloatArray]:
    """Return weights in doubles, refined once, and the similarities e^(-epsilon d)."""
    similarity = np.exp(-epsilon * float(space.unit) * np.sqrt(squares_of(space).astype(float)))
    ones = np.ones(len(similarity))
    try:
        mu = np.linalg.solve(similarity, ones)
        mu += np.linalg.solve(similarity, ones - similarity @ mu)
    except np.linalg.LinAlgError:
        mu = np.linalg.lstsq(similarity, ones, rcond=None)[0]
    return mu, similarity


def table_of_doubles(weights: FloatArray) -> Table:
    """Return a table whose rows are these doubles, exactly, each divided by its sum."""
    distinct, codes = np.unique(weights, return_inverse=True)
    fractions = [Fraction(weight) for weight in distinct.tolist()]
    common = math.lcm(*(weight.denominator for weight in fractions))
    return Table.from_codes([int(weight * common) for weight in fractions], codes.reshape(weights.shape))


def _refusal(space: Space, epsilon: Fraction, place: int | None) -> Unsupported:
    """Return the refusal where no weights exist: an epsilon at which they do, and what to use instead."""
    shown = f"{float(epsilon):.6g}"
    where = "" if place is None else f": {space.value(place)!r} would have a negative probability"
    larger = _enough(space, float(epsilon))
    advice = "" if larger is None else f" It exists at epsilon {larger:.4g}."
    return Unsupported(
        f"the geometric mechanism of {space!r} does not exist at epsilon {shown}{where}.{advice}",
        f"Use dc.design(space, {arg('epsilon', float(epsilon))}), which is optimal, or "
        f"dc.exponential(space, {arg('epsilon', float(epsilon))}), which is quick.",
    )


def _enough(space: Space, epsilon: float) -> float | None:
    """Return an epsilon near the least at which the weights are positive, as far as doubles tell; None without one."""
    low, high = epsilon, epsilon
    for _ in range(12):
        high *= 2
        if float_weights(space, high)[0].min() >= 0:
            break
    else:
        return None
    for _ in range(12):
        middle = (low + high) / 2
        low, high = (low, middle) if float_weights(space, middle)[0].min() >= 0 else (middle, high)
    return math.ceil(high * 1000) / 1000
