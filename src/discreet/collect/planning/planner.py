"""``dc.plan_collection``: how many people for an epsilon, or which epsilon for so many people."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache

from ...errors import InvalidInput, WrongType, arg
from ...estimation.statistics import read_share
from ...exact.integers import is_integer, positive_integer
from ...exact.rationals import Number, bound_up, read_epsilon, text_up
from ...mechanism import Mechanism
from ...spaces import Counts, Grid, Labels, Space
from ...utility import transport_solver
from .guesses import Guess, read_guess
from .options import Option, options_for, typed
from .plan import CollectionPlan, FamilyNeed
from .search import find
from .trials import Surveys, Trial
from .wanted import Wanted, read_wanted

#: Fewer people than this are no survey, and more there are not.
FEWEST, MOST_PEOPLE = 10, 10**9

#: The numbers of people in the picture, as multiples of the plan's.
PICTURE = (0.1, 0.3, 1.0, 3.0, 10.0)

#: With more values than this an estimate takes long, and fewer surveys are simulated.
MANY_VALUES = 1500

#: A map is first tried with so many people, and with an epsilon at which noise reaches about so many cells.
FIRST_PEOPLE, FIRST_CELLS = 5000, 2

#: A family for maps is recommended in place of another if its error is smaller by this share.
CLEARLY = 0.05


def plan_collection(
    space: object,
    wanted: str,
    *,
    epsilon: Number | None = None,
    people: int | None = None,
    mechanism: str | Callable[..., Mechanism] | None = None,
    guess: object = None,
    notion: str | None = None,
    level: float = 0.95,
    surveys: int | None = None,
    seed: int = 0,
) -> CollectionPlan:
    """Find how many people a survey takes at an epsilon, or the smallest epsilon for the people there are.

    The Fisher information of one report gives a first answer. Surveys of that many people are then simulated and
    estimated as :func:`discreet.estimate` would, and the answer is corrected until the simulated error is the one
    wished for. All families for such values are compared, and the one that needs least is recommended.

    Parameters
    ----------
    space
        The true values: ``Counts(n)`` or n, ``Labels([...])`` or a list of labels, ``Grid(...)``.
    wanted
        "±2 points": the share of every value; "share of yes ±2 points", "share of 0..3 ±2 points": one share; "mean
        ±0.5": the mean count. ± is half the length of the interval that the estimate reports. "map 200 m": the mean
        Kantorovich distance of the estimated map from the population.
    epsilon, people
        Exactly one of them; the other one is found.
    mechanism
        A family by name, or its function, such as ``"geometric"``; by default the recommended one.
    guess
        What to assume about the truth: None (all values equally frequent; on a map two centres), a number for each
        value, a mapping from values to numbers, an earlier estimate, or the path of a .csv or .json file of these.
    notion
        What epsilon is between: "central" (adjacent counts), "local" (any two values), "metric" (per unit of distance).
        By default what the named mechanism is proved for.
    level
        Of the intervals.
    surveys, seed
        How many surveys check the plan (by default 100, or 12 where there are more than 1,500 values), and where the
        simulation starts: the same seed gives the same plan.

    Examples
    --------
    >>> import discreet as dc
    >>> plan = dc.plan_collection(dc.Counts(20), "mean ±0.5", epsilon=1, mechanism="geometric")
    >>> 500 < plan.people < 700, abs(plan.check.error / 0.5 - 1) < 0.05
    (True, True)
    """
    values = _read_space(space)
    if (epsilon is None) == (people is None):
        raise InvalidInput(f"give exactly one of {arg('epsilon')} and {arg('people')}; the other one is found.")
    asked = read_epsilon(epsilon) if epsilon is not None else None
    number = None if people is None else positive_integer(people, "people")
    if number is not None and not FEWEST <= number <= MOST_PEOPLE:
        raise InvalidInput.must_be("people", f"between {FEWEST} and {MOST_PEOPLE:,}", people)
    level = read_share(level, "level", inside=True)
    wish = read_wanted(wanted, values)
    if wish.kind == "map":
        transport_solver()  # missing, it should be missed before the surveys
    options, notion = options_for(values, mechanism, notion)
    if wish.kind == "map":  # families without a sense of distance are no rivals there
        options = [one for one in options if one.family.kind == "map"] or options
    effort = FEW_VALUES if (values.size or 0) <= MANY_VALUES else MORE_VALUES
    if surveys is not None:
        effort = replace(effort, checked=positive_integer(surveys, "surveys"))
    study = _Study(wish, read_guess(guess, values), level, effort, seed)
    chosen = options[0]
    needs: tuple[FamilyNeed, ...] = ()
    best: str | None = None
    if wish.kind != "map":
        needs = tuple(study.need(one, asked, number) for one in options)
        best = _best(needs, asked is not None)
        if mechanism is None and best is not None:
            chosen = next(one for one in options if one.family.name == best)
    plan = study.plan(chosen, notion, asked, number)
    if wish.kind == "map":
        needs = study.side_by_side(options, plan)
        best = min(needs, key=_error_of).family
        if best != chosen.family.name and plan.check.error * (1 - CLEARLY) < min(map(_error_of, needs)):
            best = chosen.family.name
        elif best != chosen.family.name and mechanism is None:
            chosen = next(one for one in options if one.family.name == best)
            plan = study.plan(chosen, notion, asked, number)
            needs = study.side_by_side(options, plan)
    found = FamilyNeed(
        chosen.family.name, plan.people, plan.epsilon, bound_up(chosen.between_any_two(plan.epsilon)),
        plan.check.error if wish.kind == "map" else None,
    )  # fmt: skip
    needs = tuple(found if one.family == found.family else one for one in needs)
    return replace(plan, families=needs, recommended=best or chosen.family.name)


def _read_space(space: object) -> Space:
    if isinstance(space, Counts | Labels | Grid):
        return space
    if isinstance(space, list | tuple):
        return Labels(space)
    if is_integer(space):
        return Counts(int(space))  # type: ignore[call-overload]
    raise WrongType.must_be("space", "Counts(n), Labels([...]) or Grid(...)", space)


def _best(needs: tuple[FamilyNeed, ...], by_people: bool) -> str | None:
    """The family that needs fewest people, or the smallest epsilon; None where none is known to do."""
    known = [(one.people if by_people else one.epsilon, one.family) for one in needs]
    reached = [(need, family) for need, family in known if need is not None]
    return min(reached, key=lambda one: one[0])[1] if reached else None


def _error_of(need: FamilyNeed) -> float:
    return math.inf if need.error is None else need.error


@dataclass(frozen=True)
class Effort:
    """How many surveys are simulated.

    In each step of the search, to check its end, of these with an estimate by the default method (which can take a
    hundred times as long as an interval), and for each dot of the picture.
    """

    searched: int
    checked: int
    shown: int
    drawn: int


FEW_VALUES, MORE_VALUES = Effort(24, 100, 12, 12), Effort(8, 12, 2, 3)


@dataclass(frozen=True)
class _Study:
    """One wish under one guess: the formula, the search and the check."""

    wanted: Wanted
    guess: Guess
    level: float
    effort: Effort
    seed: int

    @property
    def _quantile(self) -> float:
        from scipy.special import ndtri

        return float(ndtri((1 + self.level) / 2))

    def _surveys(self, option: Option, epsilon: Fraction) -> Surveys:
        return Surveys(option.build(epsilon), self.guess.distribution, self.wanted, self.level)

    # ------------------------------------------------------------------------------------------------ the formula

    def _people_by_formula(self, surveys: Surveys) -> float:
        return self._quantile**2 * surveys.variance / self.wanted.error**2

    def _epsilon_by_formula(self, option: Option, people: int) -> float | None:
        """The smallest epsilon for so many people by the formula; None where there is none."""
        low, high = map(float, option.range)
        need = cache(lambda epsilon: self._people_by_formula(self._surveys(option, typed(epsilon))))
        if need(high) > people:
            return None
        while high > low * 1.005:
            middle = math.sqrt(low * high)
            low, high = (low, middle) if need(middle) <= people else (middle, high)
        return high

    def need(self, option: Option, epsilon: Fraction | None, people: int | None) -> FamilyNeed:
        """What a family needs, by the formula."""
        name = option.family.name
        if epsilon is not None:
            number = self._people_by_formula(self._surveys(option, epsilon))
            reached = number <= MOST_PEOPLE
            bound = bound_up(option.between_any_two(epsilon))
            return FamilyNeed(name, max(FEWEST, _round_up(number)) if reached else None, epsilon, bound)
        assert people is not None
        found = self._epsilon_by_formula(option, people)
        if found is None:
            return FamilyNeed(name, people, None, None)
        return FamilyNeed(name, people, typed(found), bound_up(option.between_any_two(typed(found))))

    # ------------------------------------------------------------------------------------------------ the plan

    def plan(self, option: Option, notion: str, epsilon: Fraction | None, people: int | None) -> CollectionPlan:
        """The number of people or the epsilon, corrected and checked by simulation."""
        if epsilon is not None:
            surveys = self._surveys(option, epsilon)
            number, check = self._people(surveys)
        else:
            assert people is not None
            number = people
            epsilon, surveys, check = self._epsilon(option, people)
        formula = None
        if self.wanted.kind != "map" and math.isfinite(surveys.variance):
            formula = self._quantile * math.sqrt(surveys.variance / number)
        return CollectionPlan(
            self.wanted, "people" if people is None else "epsilon", number, epsilon, notion, surveys.mechanism,
            self.level, self.guess.origin, formula, check, (), "", self._curve(surveys, number, check),
        )  # fmt: skip

    def _people(self, surveys: Surveys) -> tuple[int, Trial]:
        start: float = FIRST_PEOPLE
        if self.wanted.kind != "map" and math.isfinite(surveys.variance):
            start = self._people_by_formula(surveys)
        rough = cache(lambda number: surveys.simulate(number, self.effort.searched, self.seed))
        fine = cache(
            lambda number: surveys.simulate(number, self.effort.checked, self.seed + 1, by_default=self.effort.shown)
        )
        trials = (lambda x: rough(_round_up(x)), lambda x: fine(_round_up(x)))
        found = self._meet(trials, start, (FEWEST, MOST_PEOPLE), -0.5)
        if found is None:
            raise InvalidInput(
                f"{self.wanted.text} is out of reach: it takes more than {MOST_PEOPLE:,} people here.",
                "Ask for a larger error, a larger epsilon or another mechanism.",
                argument="wanted",
            )
        return _round_up(found), fine(_round_up(found))

    def _meet(
        self, trials: tuple[Callable[[float], Trial], ...], start: float, ends: tuple[float, float], slope: float
    ) -> float | None:
        """Where the error is the one wished for, by ever finer trials; None where it is too large to the very end."""
        found: float | None = start
        for trial in trials:
            if found is not None:
                found = find(_error(trial), found, self.wanted.error, ends, slope)
        return found

    def _epsilon(self, option: Option, people: int) -> tuple[Fraction, Surveys, Trial]:
        low, high = map(float, option.range)
        at = cache(lambda epsilon: self._surveys(option, epsilon))
        rough = cache(lambda epsilon: at(epsilon).simulate(people, self.effort.searched, self.seed))
        fine = cache(
            lambda epsilon: at(epsilon).simulate(
                people, self.effort.checked, self.seed + 1, by_default=self.effort.shown
            )
        )
        trials = (lambda x: rough(typed(x)), lambda x: fine(typed(x)))
        found = self._meet(trials, self._start(option, people, low, high), (low, high), -1.0)
        if found is None:
            error = self.wanted.show(rough(typed(high)).error)
            raise InvalidInput(
                f"{people:,} people are too few for {self.wanted.text}: even at epsilon {text_up(high, 3)} the error "
                f"is {error}.",
                "Ask more people, or for a larger error.",
                argument="people",
            )
        return typed(found), at(typed(found)), fine(typed(found))

    def _start(self, option: Option, people: int, low: float, high: float) -> float:
        """Where the search for an epsilon begins. Refused where people are too few even without noise."""
        if self.wanted.kind == "map":
            return FIRST_CELLS / float(option.space.unit) / float(option.factor)
        least = self._quantile**2 * self._surveys(option, typed(high)).sampling_variance() / self.wanted.error**2
        if least > people:
            error = self.wanted.error * math.sqrt(least / people)
            raise InvalidInput(
                f"{people:,} people are too few for {self.wanted.text}: without any noise the error is "
                f"{self.wanted.show(error)}.",
                f"Ask at least {_round_up(least):,} people.",
                argument="people",
            )
        found = self._epsilon_by_formula(option, people)
        return math.sqrt(low * high) if found is None else found

    def _curve(self, surveys: Surveys, people: int, check: Trial) -> tuple[Trial, ...]:
        numbers = sorted({min(MOST_PEOPLE, max(FEWEST, round(people * factor))) for factor in PICTURE})
        return tuple(
            check if number == people else surveys.simulate(number, self.effort.drawn, self.seed + 2)
            for number in numbers
        )

    def side_by_side(self, options: list[Option], plan: CollectionPlan) -> tuple[FamilyNeed, ...]:
        """The families for maps with the people and the epsilon of a plan: their errors, by simulation."""
        found = []
        for one in options:
            own = one.family.name == plan.family
            surveys = self._surveys(one, plan.epsilon)
            error = plan.check.error if own else surveys.simulate(plan.people, self.effort.checked, self.seed + 1).error
            bound = bound_up(one.between_any_two(plan.epsilon))
            found.append(FamilyNeed(one.family.name, plan.people, plan.epsilon, bound, error))
        return tuple(found)


def _error(trial: Callable[[float], Trial]) -> Callable[[float], float]:
    return lambda x: trial(x).error


def _round_up(number: float) -> int:
    """A number of people with three digits, rounded up.

    >>> _round_up(16234.2), _round_up(87)
    (16300, 87)
    """
    whole = math.ceil(number)
    unit: int = 10 ** max(0, len(str(whole)) - 3)
    return -(-whole // unit) * unit
