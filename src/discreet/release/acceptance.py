"""Acceptance criteria: the largest error and the largest risks that a release may have.

They are checked against the plan alone, before any row is read. They do not belong to the question: they change neither
its answer nor its key.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from ..errors import DiscreetError, InvalidInput, InWords, NotAccepted, UnreadableFile, WrongType, arg
from ..exact.integers import is_integer
from ..exact.rationals import as_fraction, float_up, text_down, text_up
from ..ledger.budget import short
from ..report import Finding, Json, Report, Result, Section, Terms
from ..sources.encodings import read_text_file
from ..spaces import LARGEST_INTEGER
from ..wording import nearest, percent
from .noise.accuracy import read_level

if TYPE_CHECKING:
    from .plan.plan import Plan

#: Criteria: a TOML file, or its content.
Accept: TypeAlias = str | Path | Mapping[str, object]

#: Keys of a criterion on a probability.
_RISK_KEYS = ("at_least", "probability")

_EXAMPLE = "Write for instance: largest_error = 10"


@dataclass(frozen=True)
class Criterion:
    """One criterion: its name and the largest accepted value, for a risk also the count that it is about."""

    name: str
    limit: Fraction
    at_least: int = 0


@dataclass(frozen=True)
class CriterionResult(Finding):
    """A criterion with the value of a plan.

    Attributes
    ----------
    value
        The value of the plan in the worst case, exact or an upper bound; None for an interval without an upper end.
    limit
        The largest accepted value.
    """

    value: Fraction | None
    limit: Fraction

    def to_json(self) -> dict[str, Json]:
        """Return plain JSON values; the value is rounded up."""
        value = None if self.value is None else float_up(self.value)
        return {"name": self.name, "holds": self.holds, "value": value, "limit": float(self.limit),
                "sentence": self.sentence}  # fmt: skip


@dataclass(frozen=True)
class Acceptance(Result):
    """The outcome of each criterion for a plan: :meth:`Plan.acceptance` returns it."""

    results: tuple[CriterionResult, ...]

    @property
    def passed(self) -> bool:
        """True if the plan meets every criterion."""
        return all(one.passed for one in self.results)

    def to_json(self) -> dict[str, Json]:
        """Return plain JSON values."""
        return {"passed": self.passed, "criteria": [one.to_json() for one in self.results]}

    def report(self) -> Report:
        """Report each criterion with its outcome."""
        pairs = tuple(("met" if one.holds else "NOT MET", f"{one.name}: {one.sentence}") for one in self.results)
        return Report("", sections=(Section("Acceptance criteria", (Terms(pairs),)),))


def accept_plan(plan: Plan, accept: Accept | None) -> None:
    """Raise an error if the plan does not meet the criteria; None accepts every plan."""
    if accept is None:
        return
    unmet = [one for one in check_plan(plan, accept).results if not one.holds]
    if unmet:
        where = "the criteria" if isinstance(accept, Mapping) else str(accept)
        epsilon = short(plan.cost.epsilon, up=True)
        raise NotAccepted(
            f"the plan does not meet {' '.join(f'{one.name}: {one.sentence}' for one in unmet)}",
            f"Nothing was spent. Plan with a larger {arg('epsilon')} than {epsilon}, or change {where}.",
            argument="accept",
        )


def check_plan(plan: Plan, accept: Accept) -> Acceptance:
    """Return the value of each criterion for a plan; no row is read."""
    criteria, level = read_criteria(accept)
    return Acceptance(tuple(_check(plan, one, plan.level if level is None else level) for one in criteria))


def _check(plan: Plan, criterion: Criterion, level: Fraction) -> CriterionResult:
    limit = criterion.limit
    value, sentence = _CRITERIA[criterion.name](plan, criterion.at_least, level)
    accepted = _percent(limit, text_down) if criterion.at_least else text_down(limit)
    return CriterionResult(
        criterion.name,
        value is not None and value <= limit,
        f"{sentence}; at most {accepted} is accepted.",
        value,
        limit,
    )


# ------------------------------------------------------------------------------------------------ values of a plan


def _largest_error(plan: Plan, at_least: int, level: Fraction) -> tuple[Fraction, str]:
    error = max(table.expected(level).half_width for table in plan.tables)
    return Fraction(error), f"the noise is at most ± {error:,}, {percent(level, 6)} of the time"


def _interval_width(plan: Plan, at_least: int, level: Fraction) -> tuple[Fraction | None, str]:
    widths = [table.widest_interval(level) for table in plan.tables]
    if None in widths:
        return None, "the interval of a count at the bound has no upper end (without a bound it has one)"
    width = max(one for one in widths if one is not None)
    return Fraction(width), f"an interval of {percent(level, 6)} coverage is at most {width:,} wide"


def _false_zeros(plan: Plan, at_least: int, level: Fraction) -> tuple[Fraction, str]:
    risk = max(table.false_zeros(at_least) for table in plan.tables)
    return risk, f"a true count of {at_least:,} or more is published as 0 or less with probability at most {_up(risk)}"


def _spurious_counts(plan: Plan, at_least: int, level: Fraction) -> tuple[Fraction, str]:
    risk = max(table.spurious_counts(at_least) for table in plan.tables)
    return risk, f"a true count of 0 is published as {at_least:,} or more with probability at most {_up(risk)}"


#: Criterion -> a function of the plan, the count of a risk and the coverage that returns the value, and a sentence.
_CRITERIA: Mapping[str, Callable[[Plan, int, Fraction], tuple[Fraction | None, str]]] = {
    "largest_error": _largest_error,
    "interval_width": _interval_width,
    "false_zeros": _false_zeros,
    "spurious_counts": _spurious_counts,
}

#: Criteria on a probability.
_RISKS = ("false_zeros", "spurious_counts")


def _up(share: Fraction) -> str:
    return _percent(share, text_up)


def _percent(share: Fraction, text: Callable[[Fraction, int], str]) -> str:
    return f"{text(100 * share, 3)}%"


# ------------------------------------------------------------------------------------------------ reading


def read_criteria(accept: Accept) -> tuple[tuple[Criterion, ...], Fraction | None]:
    """Read criteria, and the coverage that they name; None for that of the plan.

    >>> criteria, level = read_criteria({"largest_error": 10, "false_zeros": {"at_least": 5, "probability": "1%"}})
    >>> [(one.name, str(one.limit), one.at_least) for one in criteria], level
    ([('largest_error', '10', 0), ('false_zeros', '1/100', 5)], None)
    """
    if isinstance(accept, Mapping):
        return _read(accept)
    if not isinstance(accept, str | Path):
        raise WrongType.must_be("accept", "a TOML file with criteria, or a mapping", InWords(type(accept).__name__))
    try:
        return _read(tomllib.loads(read_text_file(accept, "accept"), parse_float=str))
    except tomllib.TOMLDecodeError as problem:
        raise UnreadableFile(f"{accept} is not TOML: {problem}.", _EXAMPLE, argument="accept") from None
    except UnreadableFile:
        raise
    except DiscreetError as problem:
        raise UnreadableFile.because(str(accept), problem) from None


def _read(content: Mapping[str, object]) -> tuple[tuple[Criterion, ...], Fraction | None]:
    _refuse_unknown(content, ("level", *_CRITERIA))
    criteria = tuple(_criterion(name, content[name]) for name in _CRITERIA if name in content)
    if not criteria:
        raise InvalidInput(
            "there are no criteria.", f"{_EXAMPLE}; or one of {', '.join(_CRITERIA)}.", argument="accept"
        )
    return criteria, read_level(content["level"]) if "level" in content else None


def _criterion(name: str, value: object) -> Criterion:
    if name not in _RISKS:
        limit = as_fraction(value, name)
        if limit < 0:
            raise InvalidInput.must_be(name, "0 or more", value)
        return Criterion(name, limit)
    if not isinstance(value, Mapping) or {*_RISK_KEYS} - {*value}:
        raise WrongType.must_be(name, "a table such as { at_least = 10, probability = 0.01 }", value)
    _refuse_unknown(value, _RISK_KEYS)
    least, limit = value["at_least"], as_fraction(value["probability"], "probability")
    if not is_integer(least) or not 1 <= least <= LARGEST_INTEGER:
        raise InvalidInput.must_be("at_least", "a whole number from 1 to 2**62", least)
    if not 0 <= limit <= 1:
        raise InvalidInput.must_be("probability", "between 0 and 1", value["probability"])
    return Criterion(name, limit, int(least))


def _refuse_unknown(content: Mapping[str, object], names: tuple[str, ...]) -> None:
    for name in content:
        if name not in names:
            near = nearest(str(name), names)
            suggestion = f"Did you mean {near}? " if near else ""
            raise InvalidInput(
                f"there is no criterion {name!r}.", f"{suggestion}They are {', '.join(names)}.", argument="accept"
            )
