"""``dc.plan_collection``: the number of people for an epsilon, or the smallest epsilon for a number of people."""

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
from ...spaces import Counts, Labels, Space, completed, is_space
from ...utility import transport_solver
from .guesses import Guess, read_guess
from .options import Option, options_for, round_up
from .plan import CollectionPlan, FamilyNeed
from .search import find
from .target import TargetError, current_target, read_target
from .trials import Surveys, SurveyTrial

#: Range of sample sizes the planner searches.
MIN_PEOPLE, MAX_PEOPLE = 10, 10**9

#: Numbers of people on the curve, as multiples of the plan's.
CURVE_FACTORS = (0.1, 0.3, 1.0, 3.0, 10.0)

#: Number of values above which estimates are slow, so that fewer surveys are simulated.
MANY_VALUES = 1500

#: Starting points for maps: number of people, and reach of the noise in cells.
FIRST_PEOPLE, FIRST_CELLS = 5000, 2

#: Share by which the error of a family for maps must be smaller for it to be recommended instead.
MIN_IMPROVEMENT = 0.05


def plan_collection(
    space: object,
    target_error: str | None = None,
    *,
    epsilon: Number | None = None,
    people: int | None = None,
    mechanism: str | Callable[..., Mechanism] | None = None,
    guess: object = None,
    notion: str | None = None,
    level: float = 0.95,
    surveys: int | None = None,
    seed: int = 0,
    wanted: str | None = None,
) -> CollectionPlan:
    """Find how many people a survey takes at an epsilon, or the smallest epsilon for the people there are.

    The Fisher information of one report gives a first answer. Surveys of that many people are then simulated and
    estimated as :func:`discreet.estimate` would, and the answer is corrected until the simulated error meets the
    target. All families for such values are compared, and the one that needs least is recommended.

    Parameters
    ----------
    space
        The true values: ``Counts(n)`` or n, ``Labels([...])`` or a list of labels, ``Grid(...)``, or another space.
    target_error
        "±2 points": the share of every value; "share of yes ±2 points", "share of 0..3 ±2 points": one share; "mean
        ±0.5": the mean count. ± is half the length of the interval that the estimate reports. "map 200 m": the mean
        Kantorovich distance of the estimated map from the population.
    epsilon, people
        Exactly one of them; the other one is computed.
    mechanism
        A family by name, or its function, such as ``"geometric"``; by default the recommended one.
    guess
        The assumption about the truth: None (all values equally frequent; on a map two centres), a number for each
        value, a mapping from values to numbers, an earlier estimate, or the path of a .csv or .json file of these.
    notion
        The notion of privacy: "central" (adjacent counts), "local" (any two values), "metric" (per unit of distance).
        By default what the named mechanism is proved for.
    level
        Coverage of the intervals.
    surveys, seed
        Number of simulated surveys that check the plan (by default 100, or 12 for more than 1,500 values), and seed of
        the simulation: the same seed gives the same plan.
    wanted
        Former name of ``target_error``, accepted with a warning until the next version.

    Examples
    --------
    >>> import discreet as dc
    >>> plan = dc.plan_collection(dc.Counts(20), "mean ±0.5", epsilon=1, mechanism="geometric")
    >>> 500 < plan.people < 700, abs(plan.check.error / 0.5 - 1) < 0.05
    (True, True)
    """
    values = _read_space(space)
    if (epsilon is None) == (people is None):
        raise InvalidInput(f"give exactly one of {arg('epsilon')} and {arg('people')}; the other one is computed.")
    given_epsilon = read_epsilon(epsilon) if epsilon is not None else None
    number = None if people is None else positive_integer(people, "people")
    if number is not None and not MIN_PEOPLE <= number <= MAX_PEOPLE:
        raise InvalidInput.must_be("people", f"between {MIN_PEOPLE} and {MAX_PEOPLE:,}", people)
    level = read_share(level, "level", inside=True)
    target = read_target(current_target(target_error, wanted), values)
    if target.kind == "map":
        transport_solver()  # refuse a missing solver before the surveys
    options, notion = options_for(values, mechanism, notion)
    if target.kind == "map":  # families that ignore distance cannot compete there
        options = [other for other in options if other.family.kind == "map"] or options
    effort = FULL_EFFORT if (values.size or 0) <= MANY_VALUES else REDUCED_EFFORT
    if surveys is not None:
        effort = replace(effort, final=positive_integer(surveys, "surveys"))
    study = _Study(target, read_guess(guess, values), level, effort, seed)
    option = options[0]
    needs: tuple[FamilyNeed, ...] = ()
    best: str | None = None
    if target.kind != "map":
        needs = tuple(study.need(other, given_epsilon, number) for other in options)
        best = _best(needs, given_epsilon is not None)
        if mechanism is None and best is not None:
            option = next(other for other in options if other.family.name == best)
    plan = study.plan(option, notion, given_epsilon, number)
    if target.kind == "map":
        needs = study.side_by_side(options, plan)
        best = min(needs, key=_error_of).family
        if best != option.family.name and plan.check.error * (1 - MIN_IMPROVEMENT) < min(map(_error_of, needs)):
            best = option.family.name
        elif best != option.family.name and mechanism is None:
            option = next(other for other in options if other.family.name == best)
            plan = study.plan(option, notion, given_epsilon, number)
            needs = study.side_by_side(options, plan)
    need = FamilyNeed(
        option.family.name, plan.people, plan.epsilon, bound_up(option.between_any_two(plan.epsilon)),
        plan.check.error if target.kind == "map" else None,
    )  # fmt: skip
    needs = tuple(need if other.family == need.family else other for other in needs)
    return replace(plan, families=needs, recommended=best or option.family.name)


def _read_space(space: object) -> Space:
    if is_space(space):
        return completed(space)
    if isinstance(space, list | tuple):
        return Labels(space)
    if is_integer(space):
        return Counts(int(space))  # type: ignore[call-overload]
    raise WrongType.must_be("space", "Counts(n), Labels([...]) or Grid(...)", space)


def _best(needs: tuple[FamilyNeed, ...], by_people: bool) -> str | None:
    """Return the family that needs fewest people, or the smallest epsilon; None if none is known to suffice."""
    amounts = [(pair.people if by_people else pair.epsilon, pair.family) for pair in needs]
    possible = [(need, family) for need, family in amounts if need is not None]
    return min(possible, key=lambda pair: pair[0])[1] if possible else None


def _error_of(need: FamilyNeed) -> float:
    return math.inf if need.error is None else need.error


@dataclass(frozen=True)
class Effort:
    """Numbers of simulated surveys.

    In each step of the search, in the final check, in the part of the check that measures the default estimate (which
    can take a hundred times as long as an interval), and for each dot of the curve.
    """

    search: int
    final: int
    default: int
    curve: int


FULL_EFFORT, REDUCED_EFFORT = Effort(24, 100, 12, 12), Effort(8, 12, 2, 3)


@dataclass(frozen=True)
class _Study:
    """One target error under one guess: the formula, the search and the check."""

    target: TargetError
    guess: Guess
    level: float
    effort: Effort
    seed: int

    @property
    def _quantile(self) -> float:
        from scipy.special import ndtri

        return float(ndtri((1 + self.level) / 2))

    def _surveys(self, option: Option, epsilon: Fraction) -> Surveys:
        return Surveys(option.build(epsilon), self.guess.distribution, self.target, self.level)

    # ------------------------------------------------------------------------------------------------ the formula

    def _people_by_formula(self, surveys: Surveys) -> float:
        return self._quantile**2 * surveys.variance / self.target.error**2

    def _epsilon_by_formula(self, option: Option, people: int) -> float | None:
        """Return the smallest epsilon for this number of people by the formula; None if no epsilon suffices."""
        low, high = map(float, option.range)
        need = cache(lambda epsilon: self._people_by_formula(self._surveys(option, round_up(epsilon))))
        if need(high) > people:
            return None
        while high > low * 1.005:
            middle = math.sqrt(low * high)
            low, high = (low, middle) if need(middle) <= people else (middle, high)
        return high

    def need(self, option: Option, epsilon: Fraction | None, people: int | None) -> FamilyNeed:
        """Return the need of a family by the formula."""
        name = option.family.name
        if epsilon is not None:
            number = self._people_by_formula(self._surveys(option, epsilon))
            is_possible = number <= MAX_PEOPLE
            bound = bound_up(option.between_any_two(epsilon))
            return FamilyNeed(name, max(MIN_PEOPLE, _round_people(number)) if is_possible else None, epsilon, bound)
        assert people is not None
        least = self._epsilon_by_formula(option, people)
        if least is None:
            return FamilyNeed(name, people, None, None)
        return FamilyNeed(name, people, round_up(least), bound_up(option.between_any_two(round_up(least))))

    # ------------------------------------------------------------------------------------------------ the plan

    def plan(self, option: Option, notion: str, epsilon: Fraction | None, people: int | None) -> CollectionPlan:
        """Return the number of people or the epsilon, corrected and checked by simulation."""
        if epsilon is not None:
            surveys = self._surveys(option, epsilon)
            number, check = self._people(surveys)
        else:
            assert people is not None
            number = people
            epsilon, surveys, check = self._epsilon(option, people)
        formula = None
        if self.target.kind != "map" and math.isfinite(surveys.variance):
            formula = self._quantile * math.sqrt(surveys.variance / number)
        return CollectionPlan(
            self.target, "people" if people is None else "epsilon", number, epsilon, notion, surveys.mechanism,
            self.level, self.guess.origin, formula, check, (), "", self._curve(surveys, number, check),
        )  # fmt: skip

    def _people(self, surveys: Surveys) -> tuple[int, SurveyTrial]:
        start: float = FIRST_PEOPLE
        if self.target.kind != "map" and math.isfinite(surveys.variance):
            start = self._people_by_formula(surveys)
        rough = cache(lambda number: surveys.simulate(number, self.effort.search, self.seed))
        fine = cache(
            lambda number: surveys.simulate(number, self.effort.final, self.seed + 1, by_default=self.effort.default)
        )
        trials = (lambda x: rough(_round_people(x)), lambda x: fine(_round_people(x)))
        people = self._meet(trials, start, (MIN_PEOPLE, MAX_PEOPLE), -0.5)
        if people is None:
            raise InvalidInput(
                f"{self.target.text} is out of reach: it takes more than {MAX_PEOPLE:,} people here.",
                "Ask for a larger error, a larger epsilon or another mechanism.",
                argument="target_error",
            )
        return _round_people(people), fine(_round_people(people))

    def _meet(
        self, trials: tuple[Callable[[float], SurveyTrial], ...], start: float, ends: tuple[float, float], slope: float
    ) -> float | None:
        """Return where the error meets the target, by ever finer trials; None if it is too large up to the end."""
        x: float | None = start
        for trial in trials:
            if x is not None:
                x = find(_error(trial), x, self.target.error, ends, slope)
        return x

    def _epsilon(self, option: Option, people: int) -> tuple[Fraction, Surveys, SurveyTrial]:
        low, high = map(float, option.range)
        at = cache(lambda epsilon: self._surveys(option, epsilon))
        rough = cache(lambda epsilon: at(epsilon).simulate(people, self.effort.search, self.seed))
        fine = cache(
            lambda epsilon: at(epsilon).simulate(
                people, self.effort.final, self.seed + 1, by_default=self.effort.default
            )
        )
        trials = (lambda x: rough(round_up(x)), lambda x: fine(round_up(x)))
        least = self._meet(trials, self._start(option, people, low, high), (low, high), -1.0)
        if least is None:
            error = self.target.show(rough(round_up(high)).error)
            raise InvalidInput(
                f"{people:,} people are too few for {self.target.text}: even at epsilon {text_up(high, 3)} the error "
                f"is {error}.",
                "Ask more people, or for a larger error.",
                argument="people",
            )
        return round_up(least), at(round_up(least)), fine(round_up(least))

    def _start(self, option: Option, people: int, low: float, high: float) -> float:
        """Return the start of the search for an epsilon; refuse too few people for any epsilon."""
        if self.target.kind == "map":
            return FIRST_CELLS / float(option.space.unit) / float(option.factor)
        least = self._quantile**2 * self._surveys(option, round_up(high)).sampling_variance() / self.target.error**2
        if least > people:
            error = self.target.error * math.sqrt(least / people)
            raise InvalidInput(
                f"{people:,} people are too few for {self.target.text}: without any noise the error is "
                f"{self.target.show(error)}.",
                f"Ask at least {_round_people(least):,} people.",
                argument="people",
            )
        guess = self._epsilon_by_formula(option, people)
        return math.sqrt(low * high) if guess is None else guess

    def _curve(self, surveys: Surveys, people: int, check: SurveyTrial) -> tuple[SurveyTrial, ...]:
        numbers = sorted({min(MAX_PEOPLE, max(MIN_PEOPLE, round(people * factor))) for factor in CURVE_FACTORS})
        return tuple(
            check if number == people else surveys.simulate(number, self.effort.curve, self.seed + 2)
            for number in numbers
        )

    def side_by_side(self, options: list[Option], plan: CollectionPlan) -> tuple[FamilyNeed, ...]:
        """Return the simulated errors of the families for maps at the people and the epsilon of a plan."""
        needs = []
        for option in options:
            is_planned = option.family.name == plan.family
            surveys = self._surveys(option, plan.epsilon)
            check = plan.check if is_planned else surveys.simulate(plan.people, self.effort.final, self.seed + 1)
            bound = bound_up(option.between_any_two(plan.epsilon))
            needs.append(FamilyNeed(option.family.name, plan.people, plan.epsilon, bound, check.error))
        return tuple(needs)


def _error(trial: Callable[[float], SurveyTrial]) -> Callable[[float], float]:
    return lambda x: trial(x).error


def _round_people(number: float) -> int:
    """Return a number of people with three digits, rounded up.

    >>> _round_people(16234.2), _round_people(87)
    (16300, 87)
    """
    whole = math.ceil(number)
    unit: int = 10 ** max(0, len(str(whole)) - 3)
    return -(-whole // unit) * unit
