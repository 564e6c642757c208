"""Requirements beyond the seven properties: limits on bias, error and reach.

Each is a :class:`~discreet.properties.Property` like the seven: labelled linear rows, a check with the worst violation
and its location, and a sentence. They are used like properties: ``dc.design(..., properties=["CM", "bias<=0"])``,
``dc.check(m, dc.requirements.bias(0))``.

==================  ======================================================================
``"bias<=1/2"``      the mean error is at most 1/2 either way, for every truth (0: unbiased)
``"mse<=4"``         the mean squared error is at most 4, for every truth
``"support<=3"``     no report further than 3 from the truth
``"truth>=1/5"``     the truth is reported with probability at least 1/5
``"truth=1/5"``      ... exactly 1/5
``"steps>=1/2"``     neighbouring reports differ in probability by a factor of at most 2
==================  ======================================================================

and :func:`zeros` for single entries. To add one, write its builder and add one entry to :data:`REQUIREMENTS`.

>>> import discreet as dc
>>> unbiased = dc.requirements.bias(0)
>>> unbiased.code, dc.check(dc.geometric(4, alpha="1/2"), unbiased)["bias<=0"].holds
('bias<=0', False)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from . import properties
from .errors import InvalidInput, InWords, WrongType, arg
from .exact.arrays import IntArray
from .exact.integers import is_integer
from .exact.rationals import Number, as_fraction
from .lists import read_list
from .properties import Property, Rows

__all__ = ["REQUIREMENTS", "bias", "mean_squared_error", "resolve", "steps", "support", "truth", "zeros"]


_ALONE = np.array([1])


def _nonnegative(value: object, what: str) -> Fraction:
    number = as_fraction(value, what)
    if number < 0:
        raise InvalidInput.must_be(what, "0 or more", value)
    return number


def _whole(value: object) -> int:
    number = as_fraction(value, "the largest error")
    if number.denominator != 1:
        raise InvalidInput.must_be("the largest error", "a whole number, 0 or more", value)
    return int(number)


def _every_truth(truths: int, reports: int) -> tuple[IntArray, IntArray]:
    """Return all places, one row per truth, and the signed distance of each report from the truth."""
    places = np.arange(truths * reports).reshape(truths, reports)
    return places, np.arange(reports)[None, :] - np.arange(truths)[:, None]


@dataclass(frozen=True)
class _BiasRows:
    """The rows of a bounded bias; an object and not a closure, so that it can be pickled."""

    limit: Fraction

    def __call__(self, truths: int, reports: int) -> Rows:
        places, above = _every_truth(truths, reports)
        if self.limit == 0:
            return Rows(places, above, "==")
        return Rows(np.concatenate([places, places]), np.concatenate([above, -above]), ">=", -self.limit)


def bias(most: Number) -> Property:
    """Require a mean error of at most ``most`` in size, for every truth: ``|sum_j (j - i) P[i, j]| <= most``.

    Examples
    --------
    >>> print(bias("1/2").sentence)
    The mean error of every truth is at most 1/2, either way.
    """
    limit = _nonnegative(most, "the largest bias")

    sentence = f"The mean error of every truth is at most {limit}, either way."
    return Property(f"bias<={limit}", "bias", sentence, "zero bias: [S] P3", _BiasRows(limit), ordered=True)


@dataclass(frozen=True)
class _SquaredErrorRows:
    """The rows of a bounded mean squared error."""

    limit: Fraction

    def __call__(self, truths: int, reports: int) -> Rows:
        places, above = _every_truth(truths, reports)
        return Rows(places, -(above**2), ">=", -self.limit)


def mean_squared_error(most: Number) -> Property:
    """Require a mean squared error of at most ``most``, for every truth: sum_j (j - i)^2 P[i, j] <= most.

    Examples
    --------
    >>> mean_squared_error(4).code
    'mse<=4'
    """
    limit = _nonnegative(most, "the largest mean squared error")

    sentence = f"The mean squared error of every truth is at most {limit}."
    return Property(
        f"mse<={limit}",
        "mean squared error",
        sentence,
        "variance of the noise: [S] section IV",
        _SquaredErrorRows(limit),
        ordered=True,
    )


@dataclass(frozen=True)
class _SupportRows:
    """The rows of a bounded error."""

    reach: int

    def __call__(self, truths: int, reports: int) -> Rows:
        places, above = _every_truth(truths, reports)
        far = places[np.abs(above) > self.reach][:, None]
        # if every report is near enough, rows that always hold: a table of rows is never empty
        return Rows(far, _ALONE, "==") if len(far) else Rows(places[[0, -1], [0, -1]][:, None], _ALONE, ">=")


def support(within: int) -> Property:
    """Require reports within ``within`` of the truth: ``P[i, j] = 0`` for ``|i - j| > within``.

    With delta = 0 a report that is possible for one truth is possible for all, so ``within`` must reach half the range.

    Examples
    --------
    >>> support(1).rows(2).places.tolist()
    [[2], [6]]
    """
    if not is_integer(within) or int(within) < 0:
        raise InvalidInput.must_be("the largest error", "a whole number, 0 or more", within)
    reach = int(within)

    sentence = f"No report is further than {reach} from the truth."
    return Property(
        f"support<={reach}", "support", sentence, "bounded noise: [S] P1", _SupportRows(reach), ordered=True
    )


@dataclass(frozen=True)
class _TruthRows:
    """The rows of a probability of truth."""

    share: Fraction
    exactly: bool

    def __call__(self, truths: int, reports: int) -> Rows:
        diagonal = (np.arange(truths) * (reports + 1))[:, None]
        return Rows(diagonal, _ALONE, "==" if self.exactly else ">=", self.share)


def truth(at_least: Number | None = None, *, exactly: Number | None = None) -> Property:
    """Require the truth to be reported with at least, or exactly, this probability.

    Examples
    --------
    >>> truth("1/5").code, truth(exactly="1/5").code
    ('truth>=1/5', 'truth=1/5')
    """
    if (at_least is None) == (exactly is None):
        raise InvalidInput(f"give the least probability of truth, or {arg('exactly')}; one of them.")
    share = as_fraction(at_least if exactly is None else exactly, "a probability of truth")
    if not 0 <= share <= 1:
        raise InvalidInput.must_be("a probability of truth", "between 0 and 1", InWords(share))

    how, mark = ("at least", ">=") if exactly is None else ("exactly", "=")
    sentence = f"Every truth is reported truly with probability {how} {share}."
    return Property(
        f"truth{mark}{share}", "probability of truth", sentence, "[S] P2", _TruthRows(share, exactly is not None)
    )


@dataclass(frozen=True)
class _StepRows:
    """The rows of similar neighbouring reports."""

    least: Fraction

    def __call__(self, truths: int, reports: int) -> Rows:
        places, _ = _every_truth(truths, reports)
        pairs = np.stack([places[:, :-1].ravel(), places[:, 1:].ravel()], axis=1)
        both = np.concatenate([pairs, pairs[:, ::-1]])
        return Rows(both, np.array([self.least.denominator, -self.least.numerator]), ">=")


def steps(ratio: Number) -> Property:
    """Require similar neighbouring reports: P[i, j] >= ratio P[i, j+1] and the reverse, in every row of the matrix.

    Differential privacy requires this of neighbouring truths; this requires it of reports ("column DP" in [C]).

    Examples
    --------
    >>> steps("1/2").rows(1).coefficients.tolist()
    [2, -1]
    """
    least = as_fraction(ratio, "the least ratio between neighbouring reports")
    if not 0 < least <= 1:
        raise InvalidInput.must_be("the least ratio between neighbouring reports", "in (0, 1]", ratio)

    sentence = f"Of two neighbouring reports neither is more than {1 / least} times as likely as the other."
    return Property(
        f"steps>={least}", "alike steps", sentence, "column DP: [C] section VI", _StepRows(least), ordered=True
    )


@dataclass(frozen=True)
class _ZeroRows:
    """The rows of structural zeros."""

    pairs: tuple[tuple[int, int], ...]

    def __call__(self, truths: int, reports: int) -> Rows:
        outside = next(((i, j) for i, j in self.pairs if i >= truths or j >= reports), None)
        if outside is not None:
            raise InvalidInput(
                f"the structural zero {outside} lies outside the counts 0..{reports - 1}.", argument="places"
            )
        return Rows(np.array([[i * reports + j] for i, j in self.pairs]), _ALONE, "==")


def zeros(places: Iterable[tuple[int, int]]) -> Property:
    """Require that these (truth, report) pairs never occur: structural zeros.

    Examples
    --------
    >>> zeros([(0, 4), (4, 0)]).code
    'zeros[0-4 4-0]'
    """
    pairs = tuple(sorted({_read_pair(place) for place in read_list(places, "places", "pairs (truth, report)")}))
    if not pairs or min(min(pair) for pair in pairs) < 0:
        raise InvalidInput(
            "structural zeros are pairs (truth, report) of counts, at least one; got none, or negative ones.",
            argument="places",
        )

    code = f"zeros[{' '.join(f'{i}-{j}' for i, j in pairs)}]"
    return Property(
        code, "structural zeros", f"{len(pairs)} given pairs of truth and report never happen.", "", _ZeroRows(pairs)
    )


def _read_pair(place: object) -> tuple[int, int]:
    pair = read_list(place, "a structural zero", "two counts (truth, report)", "places")
    if len(pair) != 2 or not all(is_integer(number) for number in pair):
        raise WrongType.must_be("a structural zero", "a pair of counts (truth, report)", place, argument="places")
    return int(pair[0]), int(pair[1])


@dataclass(frozen=True)
class Form:
    """The text form of a requirement: its sign, and the function that makes it from the number."""

    sign: str
    make: Callable[[Any], Property]
    #: The kind of the number, for messages.
    number: str


#: Every requirement with a number, by name and sign.
REQUIREMENTS: dict[tuple[str, str], Form] = {
    ("bias", "<="): Form("bias<=B", bias, "a number of at least 0"),
    ("mse", "<="): Form("mse<=V", mean_squared_error, "a number of at least 0"),
    ("support", "<="): Form("support<=D", lambda d: support(_whole(d)), "a whole number"),
    ("truth", ">="): Form("truth>=P", truth, "a probability"),
    ("truth", "="): Form("truth=P", lambda p: truth(exactly=p), "a probability"),
    ("steps", ">="): Form("steps>=R", steps, "a ratio in (0, 1]"),
}


def resolve(items: str | Property | Iterable[str | Property] | None) -> tuple[Property, ...]:
    """Return properties and requirements from codes, "bias<=0" and the like, or objects.

    Examples
    --------
    >>> [p.code for p in resolve("WH+bias<=1/2")]
    ['WH', 'bias<=1/2']
    """
    if items is None or (isinstance(items, str) and not items.strip()):
        return ()
    return tuple(_one(item) for item in properties.split_codes(items))


_WITH_A_NUMBER = re.compile(r"([A-Za-z]+)\s*(<=|>=|=)\s*(\S+)")
_ZEROS = re.compile(r"zeros\[((?:\d+-\d+ ?)+)\]")


def is_numbered(text: str) -> bool:
    """Return whether this has the form of a requirement with numbers, such as "bias<=0" or "zeros[0-4]"."""
    return bool(_WITH_A_NUMBER.fullmatch(text) or _ZEROS.fullmatch(text))


def _one(item: Any) -> Property:
    match = _WITH_A_NUMBER.fullmatch(item) if isinstance(item, str) else None
    if match is None:
        places = _ZEROS.fullmatch(item) if isinstance(item, str) else None
        if places is not None:
            return zeros([(int(i), int(j)) for i, j in (pair.split("-") for pair in places[1].split())])
        return properties.resolve([item])[0]
    form = REQUIREMENTS.get((match[1].lower(), match[2]))
    if form is None:
        forms = ", ".join(f.sign for f in REQUIREMENTS.values())
        raise InvalidInput(
            f"{item!r} is not a requirement.", f"What can be asked with a number is {forms}.", argument="properties"
        )
    try:
        return form.make(match[3])
    except ValueError as problem:
        raise InvalidInput(f"{form.sign} needs {form.number}: {problem}", argument="properties") from None
