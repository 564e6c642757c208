"""The levels of a table with totals: the noise of each, its part of the budget, and what one unit can change in it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from ...errors import InvalidInput, InWords, arg
from ...exact.arrays import IntArray
from ...exact.bits import Bits
from ...exact.laws import Gaussian, GeometricTails
from ...exact.rationals import as_fraction, text_up
from ...mechanism import Mechanism
from ...questions.groups import Groups
from ...questions.levels import Levels, with_totals
from ...questions.question import Question, find_column
from ...report import Json
from ...wording import percent
from ..levels.combining import Combination
from ..levels.shape import Shape
from ..levels.splitting import best_split
from ..noise.accuracy import Expected
from ..noise.cells import CellNoise, takes_sigma2
from ..protection import Change, Protection
from .request import ReleaseRequest


@dataclass(frozen=True)
class LevelDraft:
    """A level before its noise is chosen: its part of the table's budget, and what one unit can change in it."""

    share: Fraction
    change: Change


@dataclass(frozen=True)
class LevelPlan:
    """A level of a table with totals: its noise, its part of the table's budget, and what one unit can change in it."""

    noise: CellNoise
    share: Fraction
    change: Change


def question_with_totals(question: Question, totals: Sequence[str] | None) -> Question:
    """The question with the totals that a request asks for beside it."""
    if totals is None:
        return question
    if question.levels:
        raise InvalidInput(
            "the question asks for totals by ROLLUP, CUBE or GROUPING SETS already.", f"Leave {arg('totals')} out."
        )
    if not question.by:
        raise InvalidInput("without GROUP BY the count is the total.", f"Leave {arg('totals')} out.")
    named = question.by if [name.casefold() for name in totals] == ["all"] else totals
    levels = with_totals(question.by, named, lambda name: find_column(name, question.by))
    return replace(question, levels=levels)


def refuse_with_totals(request: ReleaseRequest, questions: Sequence[Question]) -> None:
    """Refuse what does not go with totals, and a split of levels that are not there."""
    if not any(question.levels for question in questions):
        if request.level_split:
            raise InvalidInput.must_be(
                "split",
                "as many positive numbers as there are questions, 1",
                InWords(", ".join(map(str, request.level_split))),
            )
        return
    if request.suppress_below is not None:
        raise InvalidInput(
            "counts that add up would undo what is withheld.", f"Leave {arg('suppress_below')} or the totals out."
        )
    if request.counts not in (None, "signed"):
        raise InvalidInput(
            "totals are combined from unbiased counts, which may be negative.",
            f"Leave {arg('counts', request.counts)} out; the file of rounded counts has none below zero.",
        )
    if request.discover:
        raise InvalidInput(
            f"totals need groups that are declared, and {arg('discover')} finds them in the data.",
            f"Give {arg('domain')} or {arg('groups')} instead of it, or leave the totals out.",
        )
    if isinstance(request.mechanism, Mechanism) or request.designed or request.error is not None:
        raise InvalidInput(
            "with totals the noise of each level follows from its part of epsilon.",
            f"Give {arg('epsilon')}, with {arg('mechanism', 'geometric')} or {arg('mechanism', 'discrete-gaussian')}.",
        )
    if request.bound is not None:
        raise InvalidInput("counts with totals have no bound.", f"Leave {arg('bound')} out.")


def level_drafts(
    request: ReleaseRequest, question: Question, shape: Shape, changes: Sequence[Change], share: Fraction,
    sizes: IntArray | None,
) -> tuple[LevelDraft, ...]:  # fmt: skip
    """Return the parts of the levels: as given, or with a small largest error."""
    count = len(question.levels)
    if request.level_split:
        if len(request.level_split) != count:
            raise InvalidInput.must_be(
                "split",
                f"as many positive numbers as there are levels, {count}",
                InWords(", ".join(map(str, request.level_split))),
            )
        shares = request.level_split
    else:
        gaussian = takes_sigma2(request.mechanism)
        epsilon = float(request.epsilon or 1) * float(share)

        def variance(level: int, part: float) -> float:
            if gaussian:
                return changes[level].squared_l2 / part
            half = epsilon * part / changes[level].l1 / 2
            return 1 / (2 * math.sinh(min(half, 300.0)) ** 2)

        shares = best_split(shape, variance, None if sizes is None else sizes[:: len(question.aggregates)])
    return tuple(LevelDraft(*pair) for pair in zip(shares, changes, strict=True))


def combination_of(groups: Groups, levels: Levels, plans: Sequence[LevelPlan]) -> Combination:
    """How the measurements of these levels are combined."""
    laws = [level.noise.shift_law for level in plans]
    return Combination(Shape(groups, levels), tuple(law for law in laws if law is not None))


def measure(shape: Shape, levels: Sequence[LevelPlan], counts: IntArray, bits: Bits) -> IntArray:
    """The noisy sums of every level, for true counts with a row for each group: level after level, in one row."""
    sums = shape.sums(counts)
    return np.concatenate([level.noise.draw(own.reshape(-1), bits) for level, own in zip(levels, sums, strict=True)])


def levels_json(levels: Sequence[LevelPlan]) -> dict[str, Json]:
    """The levels in a request; the noise of the first one is that of the table."""
    return {
        "shares": [str(level.share) for level in levels],
        "noises": [level.noise.to_json() for level in levels[1:]],
    }


def levels_from_json(
    content: Mapping[str, Any] | None, first: CellNoise, changes: Sequence[Change], withheld: int | None
) -> tuple[LevelPlan, ...]:
    """The levels that a request describes, judged again."""
    problem = "the levels of this request do not fit its question."
    if not isinstance(content, Mapping) or len(changes) < 2 or set(content) != {"shares", "noises"}:
        raise InvalidInput(problem, argument="request")
    shares = [as_fraction(share) for share in content["shares"]]
    noises = [first, *(CellNoise.from_json(noise) for noise in content["noises"])]
    if not len(shares) == len(noises) == len(changes) or min(shares) <= 0 or sum(shares) != 1 or withheld is not None:
        raise InvalidInput(problem, argument="request")
    levels = tuple(LevelPlan(*level) for level in zip(noises, shares, changes, strict=True))
    for level in levels:
        refuse_unsuited(level.noise)
    return levels


def refuse_unsuited(noise: CellNoise) -> None:
    """Refuse noise that totals cannot be combined from: it must be signed and have one known law for every count."""
    law = noise.shift_law
    if noise.output != "signed" or noise.high is not None or not isinstance(law, GeometricTails | Gaussian):
        raise InvalidInput(
            "totals need noise that is signed, unbounded and symmetric.", "Use geometric or discrete-gaussian."
        )


class ExpectedLevels(Expected):
    """The worst case over all counts that were combined from several levels."""

    def __str__(self) -> str:
        return (
            f"combined counts ± {self.half_width:,} or less, {percent(self.level, 6)} of the time, standard deviation "
            f"at most {text_up(self.sd, 3)}, unbiased"
        )


def expected_levels(combination: Combination, level: Fraction) -> Expected:
    """The error of combined counts in the worst case, before any row is read."""
    width = max(float(one.max()) for one in combination.half_widths(level))
    sd = max(float(one.max()) for one in combination.standard_errors)
    return ExpectedLevels(level, math.ceil(width), sd, 0.0, 0.0, 0.0)


def totals_in_words(protection: Protection) -> tuple[str, ...]:
    """What totals mean."""
    said = "A total is the sum of the counts of its declared groups. Rows outside these are in no total."
    if protection.max_groups == 1:
        return (said,)
    who = protection.who
    they = "they are" if who.is_person else "it is"
    return (
        said,
        f"A total counts {who.a} once for each group {they} counted in: it counts {who.several} times groups, not "
        f"{who.several}.",
    )
