"""Priors in every form people have them: a mapping from values, an array of probabilities, counts."""

from __future__ import annotations

from fractions import Fraction

from ...spaces import Space
from ...utility import prior_of_values
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
    """
    return exact_weights(prior_of_values(prior, space), space.size or 0)
