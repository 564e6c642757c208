"""Priors by name and from files: the probability of each count."""

from __future__ import annotations

import math
import os
import re
from fractions import Fraction

from ...errors import InvalidInput, UnreadableFile
from ...exact.rationals import as_fraction
from ...sources.encodings import read_text_file
from ...wording import plain

#: The weight of count j of 0..n, up to a factor, by name.
NAMES = {
    "uniform": lambda n, j: Fraction(1),
    "triangular": lambda n, j: Fraction(min(j, n - j) + 1),
    "binomial": lambda n, j: Fraction(math.comb(n, j)),
    "halving": lambda n, j: Fraction(1, 2**j),
}


def named_prior(name: str, n: int) -> list[Fraction] | None:
    """Return the prior of this name on 0..n, or None.

    >>> named_prior("triangular", 2)
    [Fraction(1, 4), Fraction(1, 2), Fraction(1, 4)]
    """
    name = plain(name)
    if name not in NAMES:
        return None
    weights = [NAMES[name](n, j) for j in range(n + 1)]
    total = sum(weights)
    return [w / total for w in weights]


def read_prior_file(path: str, n: int) -> list[Fraction]:
    """Read a prior from a file: one number for each count 0..n, separated by space, commas or lines.

    The numbers are divided by their sum.
    """
    if not os.path.exists(path):
        names = ", ".join(NAMES)
        raise UnreadableFile(f"{path!r} is neither the name of a prior ({names}) nor a file.", argument="prior")
    text = read_text_file(path, "prior")
    weights = [as_fraction(word, "a weight of the prior") for word in re.split(r"[\s,;]+", text.strip()) if word]
    if len(weights) != n + 1 or min(weights) < 0 or not any(weights):
        raise InvalidInput(
            f"{path} must hold {n + 1} numbers that are not negative, one for each count 0..{n}; it holds "
            f"{len(weights)}.",
            argument="prior",
        )
    total = sum(weights)
    return [w / total for w in weights]


def read_named_prior(text: str, n: int) -> list[Fraction]:
    """Return the prior of a name, or that in a file.

    >>> read_named_prior("uniform", 1)
    [Fraction(1, 2), Fraction(1, 2)]
    """
    return named_prior(text, n) or read_prior_file(text, n)
