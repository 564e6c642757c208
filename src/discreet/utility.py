"""Utility of reports: cost, bias, variance, tails, and the distance between two distributions.

Every answer is a float, or a Fraction with ``exact=True`` if the mechanism and the loss are exact. "Per true value"
means one number for every truth, in the order of the mechanism's inputs.

>>> import discreet as dc
>>> m = dc.geometric(2, alpha="1/2")
>>> dc.utility.cost(m, "L1", exact=True), dc.utility.bias(m, exact=True)[0]
(Fraction(5, 9), Fraction(1, 2))

[C] is Cormode, Kulkarni, Srivastava, *Constrained Differential Privacy for Count Data*.
"""

from __future__ import annotations

import math
import warnings
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Literal, overload

import numpy as np

from . import losses
from .channels import Channel
from .errors import DiscreetError, InvalidInput, InWords, MissingExtra, Unsupported, WrongType, arg
from .exact.arrays import Array, FloatArray, as_floats
from .exact.rationals import Number, as_fraction
from .losses import Loss
from .spaces import Space, completed, is_space
from .wide_noise import WideNoise, is_too_large

__all__ = ["bias", "cost", "expected_loss", "kantorovich", "probability_of_truth", "tail", "variance"]


#: Largest error of the sum of a distribution in floats.
TOLERANCE = 1e-9

#: Largest mass, so that sums are finite.
MAX_MASS = 1e200

#: Largest error of a matrix times its inverse; beyond it the matrix counts as singular.
INVERSE_TOLERANCE = 1e-3


# ------------------------------------------------------------------------------------------------ reading distributions


def _read_masses(values: object, size: int, what: str) -> FloatArray:
    """Read finite, nonnegative numbers, one for every value; fractions may be text, "1/3"."""
    try:
        masses = as_floats(values)
    except (TypeError, ValueError):
        items = values.tolist() if isinstance(values, np.ndarray) else values
        if not isinstance(items, list | tuple) or not any(isinstance(value, str) for value in items):
            raise WrongType.must_be(what, "a list of numbers", InWords(type(values).__name__)) from None
        masses = as_floats([as_fraction(value, f"every number of {what}") for value in items])
    if masses.shape != (size,):
        raise InvalidInput.must_be(what, f"one number for each of the {size} values", InWords(f"shape {masses.shape}"))
    wrong = ~((masses >= 0) & (masses <= MAX_MASS))
    if isinstance(values, np.ma.MaskedArray) or wrong.any():
        k = int(wrong.argmax())
        raise InvalidInput(
            f"{what} must hold finite numbers that are not negative; number {k} is {masses[k]}.",
            "Give weights from 0 on.",
        )
    return masses


def _is_uniform(prior: object) -> bool:
    return prior is None or (isinstance(prior, str) and prior == "uniform")


def prior_of_values(prior: object, space: Space) -> object:
    """Return a prior in the order of the values: of a mapping from values, or of counts, divided by their sum.

    >>> from discreet.spaces import Counts
    >>> [str(w) for w in prior_of_values({2: 3, 0: 1}, Counts(2))]
    ['1/4', '0', '3/4']
    >>> [str(w) for w in prior_of_values([2, 1, 1], Counts(2))]
    ['1/2', '1/4', '1/4']
    >>> prior_of_values("uniform", Counts(2)), prior_of_values([0.5, 0.5, 0], Counts(2))
    ('uniform', [0.5, 0.5, 0])
    """
    size = space.size or 0
    if isinstance(prior, Mapping):
        weights = [Fraction(0)] * size
        for value, weight in prior.items():
            weights[space.index(value)] += as_fraction(weight, "a weight of the prior")
        return _shares(weights)
    values = prior.to_numpy() if hasattr(prior, "to_numpy") else prior
    if isinstance(values, list | tuple | np.ndarray):
        array = np.asarray(values)
        if array.dtype.kind in "iu" and array.shape == (size,) and array.sum() > 1:
            return _shares([Fraction(int(count)) for count in array])
    return values


def _shares(weights: list[Fraction]) -> list[Fraction]:
    total = sum(weights)
    if min(weights) < 0 or not total:
        raise InvalidInput.must_be("prior", "made of weights from 0 on, not all 0", InWords("others"))
    return [weight / total for weight in weights]


def refuse_prior_for_worst_case(worst_case: bool, prior: object) -> None:
    """Refuse a prior for the worst case, which is over all truths."""
    if worst_case and prior is not None:
        raise InvalidInput(
            "the worst case over all truths needs no prior.",
            f"Give either {arg('prior')} or {arg('worst_case', True)}.",
        )


def read_prior(prior: object, size: int) -> FloatArray:
    """Read the probability of each truth, as floats; uniform if None."""
    if _is_uniform(prior):
        return np.full(size, 1 / size)
    weights = _read_masses(prior, size, "a prior")
    if abs(weights.sum() - 1) > TOLERANCE:
        raise InvalidInput(
            f"a prior must add up to 1 (within {TOLERANCE}); it adds up to {weights.sum():.12g}.",
            "Divide it by its sum, if that is what you mean.",
            argument="prior",
        )
    return weights


def read_exact_prior(prior: object, size: int) -> list[Fraction]:
    """Read the exact probability of each truth; a float stands for the simplest rational that rounds to it."""
    if _is_uniform(prior):
        return [Fraction(1, size)] * size
    read_prior(prior, size)
    weights = [as_fraction(w, "a prior probability") for w in prior]  # type: ignore[attr-defined]
    if sum(weights) != 1:
        raise InvalidInput(
            f"an exact cost needs a prior that adds up to exactly 1; it misses by {float(sum(weights) - 1):.3g}.",
            "Give Fractions, or ask without exact=True.",
            argument="prior",
        )
    return weights


# ------------------------------------------------------------------------------------------------ expected losses


def _exact_rows(channel: Channel, loss: Loss) -> tuple[list[int], int]:
    """Return integers s[i] and a common d, with expected loss s[i] / (d * totals[i]) for truth i."""
    if channel.table is None:
        raise Unsupported(
            "a float matrix has no exact answer.", "Give a mechanism or an exact Table, or drop exact=True."
        )
    values, loss_codes_by_truth = loss.exact_levels(channel.inputs, channel.outputs)
    denominator = math.lcm(*(v.denominator for v in values))
    scaled = [int(v * denominator) for v in values]
    palette, sums = channel.table.palette, []
    width = len(palette)
    for loss_codes, weight_codes in zip(loss_codes_by_truth, channel.table.codes, strict=True):
        # Entries of one row with the same weight and the same loss are multiplied once.
        pairs, times = np.unique(loss_codes * width + weight_codes, return_counts=True)
        terms = zip(pairs.tolist(), times.tolist(), strict=True)
        sums.append(sum(scaled[k // width] * t * palette[k % width] for k, t in terms))
    return sums, denominator


@overload
def expected_loss(mechanism: object, loss: object = "L0", *, exact: Literal[False] = False) -> FloatArray: ...
@overload
def expected_loss(mechanism: object, loss: object = "L0", *, exact: Literal[True]) -> tuple[Fraction, ...]: ...
@overload
def expected_loss(mechanism: object, loss: object = "L0", *, exact: bool) -> FloatArray | tuple[Fraction, ...]: ...
def expected_loss(mechanism: object, loss: object = "L0", *, exact: bool = False) -> FloatArray | tuple[Fraction, ...]:
    """Return the expected loss of each true value: sum_j loss(i, j) P[i, j].

    Parameters
    ----------
    mechanism
        A mechanism, an exact Table, or a matrix of probabilities whose rows are true values.
    loss
        "L0", "L1", "L2", a :class:`~discreet.losses.Loss`, or a matrix of losses.
    exact
        Answer in Fractions.

    Examples
    --------
    >>> expected_loss([[0.75, 0.25], [0.5, 0.5]], "L1").tolist()
    [0.25, 0.5]
    """
    channel, loss_object = Channel.of(mechanism), losses.resolve(loss)
    noise = WideNoise.of(channel) if is_too_large(channel) and not exact else None
    if noise is not None:
        return noise.losses_by_truth(loss_object)
    channel.refuse_if_large()
    if not exact:
        rows: FloatArray = np.einsum("ij,ij->i", loss_object.of(channel.inputs, channel.outputs), channel.matrix)
        return rows
    sums, denominator = _exact_rows(channel, loss_object)
    assert channel.table is not None
    return tuple(Fraction(s, denominator * t) for s, t in zip(sums, channel.table.totals, strict=True))


@overload
def cost(
    mechanism: object,
    loss: object = "L0",
    prior: object = None,
    worst_case: bool = False,
    *,
    exact: Literal[False] = False,
    rescaled: bool = False,
) -> float: ...
@overload
def cost(
    mechanism: object,
    loss: object = "L0",
    prior: object = None,
    worst_case: bool = False,
    *,
    exact: Literal[True],
    rescaled: bool = False,
) -> Fraction: ...
def cost(
    mechanism: object,
    loss: object = "L0",
    prior: object = None,
    worst_case: bool = False,
    *,
    exact: bool = False,
    rescaled: bool = False,
) -> float | Fraction:
    """Return the expected loss: sum_i w_i sum_j loss(i, j) P[i, j], [C] definition 3.

    Parameters
    ----------
    mechanism
        A mechanism, an exact Table, or a matrix of probabilities whose rows are true values.
    loss
        "L0" (wrong or not), "L1" (absolute error), "L2" (squared error), a :class:`~discreet.losses.Loss`, or a matrix.
    prior
        w, the probability of each truth: numbers that add up to 1 ("1/3" may be text), counts, a mapping from truths to
        weights, or "uniform", the default.
    worst_case
        The largest expected loss of any truth instead, max_i sum_j loss(i, j) P[i, j]; this needs no prior.
    exact
        Answer with a Fraction. Needs an exact mechanism and a rational loss.
    rescaled
        Multiply by (n+1)/n as [C] (1) does for L0 and ``beyond(d)``, so that guessing uniformly costs 1 under L0.

    Examples
    --------
    >>> cost([[0.75, 0.25], [0.25, 0.75]])
    0.25
    """
    channel, loss_object = Channel.of(mechanism), losses.resolve(loss)
    noise = WideNoise.of(channel) if is_too_large(channel) else None
    if noise is None:
        channel.refuse_if_large()
    truths, reports = channel.shape
    factor = Fraction(1)
    if rescaled:
        if not loss_object.name.startswith("L0"):
            raise InvalidInput(
                f"only L0 and beyond(d) are rescaled in [C]; got {loss_object.name}.",
                "Drop rescaled=True.",
                argument="rescaled",
            )
        factor = Fraction(reports, reports - 1)
    refuse_prior_for_worst_case(worst_case, prior)
    prior = prior_of_values(prior, channel.inputs)
    if exact and noise is not None:
        if worst_case:
            return factor * noise.worst_loss(loss_object)
        return factor * noise.mean_loss(loss_object, None if _is_uniform(prior) else read_exact_prior(prior, truths))
    if worst_case:
        worst = max(expected_loss(channel, loss_object, exact=exact))
        return factor * worst if isinstance(worst, Fraction) else float(factor) * float(worst)
    if not exact:
        return float(factor) * float(read_prior(prior, truths) @ expected_loss(channel, loss_object))
    weights = read_exact_prior(prior, truths)
    sums, denominator = _exact_rows(channel, loss_object)
    assert channel.table is not None
    # One division for each distinct total: reducing a fraction of ten thousand bits is what takes the time.
    common = math.lcm(*(w.denominator for w in weights))
    by_total: dict[int, int] = defaultdict(int)
    for weight, s, total in zip(weights, sums, channel.table.totals, strict=True):
        by_total[total] += int(weight * common) * s
    return factor * sum((Fraction(s, total * denominator * common) for total, s in by_total.items()), Fraction(0))


# ------------------------------------------------------------------------------------------------ per true value


def tail(mechanism: object, d: Number, *, exact: bool = False) -> FloatArray | tuple[Fraction, ...]:
    """Return P(\\|report - truth\\| > d) for each true value.

    Parameters
    ----------
    mechanism
        A mechanism, an exact Table, or a matrix of probabilities whose rows are true values.
    d
        The largest error that is not counted, 0 or more; on a grid in the unit of its cells.
    exact
        Answer in Fractions.

    Examples
    --------
    >>> import discreet as dc
    >>> tail(dc.geometric(2, alpha="1/2"), 1, exact=True)
    (Fraction(1, 6), Fraction(0, 1), Fraction(1, 6))
    """
    return expected_loss(mechanism, losses.beyond(d), exact=exact)


def probability_of_truth(mechanism: object, *, exact: bool = False) -> FloatArray | tuple[Fraction, ...]:
    """Return P(report = truth) for each true value: the diagonal of the matrix.

    Parameters
    ----------
    mechanism
        A mechanism, an exact Table, or a matrix of probabilities whose rows are true values.
    exact
        Answer in Fractions.

    Examples
    --------
    >>> import discreet as dc
    >>> probability_of_truth(dc.geometric(2, alpha="1/2"), exact=True)
    (Fraction(2, 3), Fraction(1, 3), Fraction(2, 3))
    """
    channel = Channel.of(mechanism).refuse_if_large()
    truth = (losses.squared_distances(channel.inputs, channel.outputs) == 0).astype(np.int64)
    return expected_loss(channel, losses.matrix(truth), exact=exact)


def share_variances(mechanism: object, prior: object = None) -> FloatArray:
    """Return, for each true value, the variance of its estimated share from reports, times the number of people.

    With A the mechanism, p the prior and u = p A the distribution of reports, this is the bound of Cramer and Rao,
    ``(J^-1)_xx - p_x^2`` with the Fisher information ``J = A diag(1/u) A'`` of one report. It is infinite if reports
    do not determine the shares.

    Examples
    --------
    >>> import discreet as dc
    >>> share_variances(dc.randomized_response(2, alpha="1/3")).round(6).tolist()    # (1/4) / (3/4 - 1/4)^2
    [1.0, 1.0]
    """
    channel = Channel.of(mechanism).refuse_if_large()
    p = read_prior(prior_of_values(prior, channel.inputs), channel.shape[0])
    A = channel.matrix[:, channel.matrix.max(axis=0) > 0]
    information = (A / np.maximum(p @ A, 1e-300)) @ A.T
    try:
        inverse = np.linalg.inv(information)
    except np.linalg.LinAlgError:
        return np.full(len(p), math.inf)
    if not np.allclose(inverse @ information, np.eye(len(p)), atol=INVERSE_TOLERANCE):
        return np.full(len(p), math.inf)
    return np.asarray(np.diag(inverse) - p**2)


def _errors(channel: Channel) -> Loss:
    """Return the signed error, report minus truth, as a loss."""
    if not (channel.inputs.is_line and channel.outputs.is_line):
        raise Unsupported(
            f"bias and variance are for counts; these values are {channel.inputs.noun}s, which have no difference.",
            "Use expected_loss(m, 'L1') for the expected distance.",
        )
    truths, reports = channel.shape
    return losses.matrix(np.arange(reports)[None, :] - np.arange(truths)[:, None])


def bias(mechanism: object, *, exact: bool = False) -> FloatArray | tuple[Fraction, ...]:
    """Return the expected error E[report - truth] for each true value.

    Parameters
    ----------
    mechanism
        A mechanism, an exact Table, or a matrix of probabilities whose rows are true values.
    exact
        Answer in Fractions.

    Examples
    --------
    >>> import discreet as dc
    >>> bias(dc.geometric(2, alpha="1/2"), exact=True)
    (Fraction(1, 2), Fraction(0, 1), Fraction(-1, 2))
    """
    channel = Channel.of(mechanism).refuse_if_large()
    return expected_loss(channel, _errors(channel), exact=exact)


def variance(mechanism: object, *, exact: bool = False) -> FloatArray | tuple[Fraction, ...]:
    """Return the variance of the report for each true value: E[(report - truth)^2] - bias^2.

    Parameters
    ----------
    mechanism
        A mechanism, an exact Table, or a matrix of probabilities whose rows are true values.
    exact
        Answer in Fractions.

    Examples
    --------
    >>> import discreet as dc
    >>> variance(dc.geometric(2, alpha="1/2"), exact=True)
    (Fraction(7, 12), Fraction(2, 3), Fraction(7, 12))
    """
    channel = Channel.of(mechanism).refuse_if_large()
    errors = _errors(channel)
    if exact:
        pairs = zip(expected_loss(channel, "L2", exact=True), expected_loss(channel, errors, exact=True), strict=True)
        return tuple(square - mean * mean for square, mean in pairs)
    return np.maximum(expected_loss(channel, "L2") - expected_loss(channel, errors) ** 2, 0.0)


# ------------------------------------------------------------------------------------------------ Kantorovich


def kantorovich(p: Sequence[float] | Array, q: Sequence[float] | Array, space: Space) -> float:
    """Return the earth mover's distance: the least mass times distance that turns p into q.

    On counts, the sum of the differences of the cumulative sums. On labels, where any two are at distance 1, the
    total variation. On a grid, an exact optimal transport between centres (POT's network simplex) of what p and q do
    not share, in the unit of the cells; this needs the extra ``transport``: ``pip install 'discreet[transport]'``.

    Parameters
    ----------
    p, q
        Distributions (or counts with one total) over the values of the space.
    space
        ``Counts``, ``Grid`` or ``Labels``.

    Examples
    --------
    >>> import discreet as dc
    >>> kantorovich([1, 0, 0], [0, 0, 1], dc.Counts(2))
    2.0
    """
    if not is_space(space):
        raise WrongType.must_be("space", "Counts(n), Grid(rows, cols, cell) or Labels([...])", space)
    if space.size is None:
        raise Unsupported(
            "a distribution over all integers cannot be listed.", "Give Counts(n) as the space.", argument="space"
        )
    first, second = _read_masses(p, space.size, "p"), _read_masses(q, space.size, "q")
    total = max(float(first.sum()), float(second.sum()))
    if abs(first.sum() - second.sum()) > TOLERANCE * max(1.0, total):
        raise InvalidInput(
            f"p and q must hold the same mass; they hold {first.sum():.12g} and {second.sum():.12g}.",
            "Divide each by its sum.",
        )
    surplus = first - second
    cost = completed(space).transport_cost(surplus)
    return _transport(surplus, space) if cost is None else cost


def transport_solver() -> Callable[..., Any]:
    """Return the solver of optimal transport on maps, which is an extra.

    Raises
    ------
    MissingExtra
        With the command that installs it.
    """
    try:
        from ot import emd2  # slow to import, and needed here only
    except ImportError:
        raise MissingExtra("pot", "transport") from None
    return emd2  # type: ignore[no-any-return]


def _transport(surplus: FloatArray, space: Space) -> float:
    """Return the least cost of moving the surplus where it is positive to where it is negative."""
    sources, targets = np.flatnonzero(surplus > 0), np.flatnonzero(surplus < 0)
    if not len(sources) or not len(targets):
        return 0.0
    emd2 = transport_solver()
    give, take = surplus[sources], -surplus[targets]
    costs = np.sqrt(space.squared_distance(sources[:, None], targets[None, :])) * float(space.unit)
    with warnings.catch_warnings():  # the outcome is read from the log instead
        warnings.simplefilter("ignore")
        value, log = emd2(give / give.sum(), take / take.sum(), costs, numItermax=100_000_000, log=True)
    if log["warning"] is not None or not math.isfinite(value):
        raise DiscreetError(
            f"the optimal transport did not finish: {log['warning']}. Report this with p and q, please."
        )
    return float(value) * float(give.sum() + take.sum()) / 2
