"""Priors in every form people have them: a mapping from values, an array of probabilities, counts."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from ...errors import InvalidInput, InWords, arg
from ...exact.rationals import as_fraction
from ...spaces import Space
from ..improve.targets import exact_weights


def read_weights(prior: object, space: Space) -> tuple[Fraction, ...]:
    """Return a prior as Fractions that add up to 1.

    Parameters
    ----------
    prior
        None or "uniform"; a mapping from values to weights, where missing values have none; counts, which are whole
        numbers with a sum above 1; or probabilities, a number for each value. Mappings and counts are divided by their
        sum.

    Examples
    --------
    >>> from discreet.spaces import Labels
    >>> [str(w) for w in read_weights({"b": 3, "a": 1}, Labels(["a", "b", "c"]))]
    ['1/4', '3/4', '0']
    >>> [str(w) for w in read_weights([2, 1, 1], Labels(["a", "b", "c"]))]
    ['1/2', '1/4', '1/4']
    """
    size = space.size or 0
    if isinstance(prior, Mapping):
        weights = [Fraction(0)] * size
        for value, weight in prior.items():
            weights[space.index(value)] += as_fraction(weight, "a weight of the prior")
        return _divided(weights)
    values = prior.to_numpy() if hasattr(prior, "to_numpy") else prior
    if isinstance(values, list | tuple | np.ndarray):
        array = np.asarray(values)
        if array.dtype.kind in "iu" and array.shape == (size,) and array.sum() > 1:
            return _divided([Fraction(int(count)) for count in array])
    return exact_weights(values, size)


def refuse_prior_for_worst_case(worst_case: bool, prior: object) -> None:
    """Refuse a prior beside the worst case, which is over all truths."""
    if worst_case and prior is not None:
        raise InvalidInput(
            "the worst case over all truths needs no prior.",
            f"Give either {arg('prior')} or {arg('worst_case', True)}.",
        )


def _divided(weights: list[Fraction]) -> tuple[Fraction, ...]:
    total = sum(weights)
    if min(weights) < 0 or not total:
        raise InvalidInput.must_be("prior", "made of weights from 0 on, not all 0", InWords("others"))
    return tuple(weight / total for weight in weights)
