"""The plan of a survey: number of people, epsilon, mechanism, and the simulations that check them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from ...errors import warn_renamed
from ...exact.rationals import bound_up, text_up
from ...mechanism import Mechanism
from ...optimise.families import FAMILIES
from ...plots import Chart
from ...plots.surveys import errors_by_people
from ...privacy.notions import BETWEEN
from ...report import Fact, Json, Picture, Prose, Report, Result, Section, Terms, TextTable, stamped
from ...wording import percent, plural
from .options import epsilon_text
from .target import TargetError
from .trials import SurveyTrial

#: Share of the target error above which the root mean square error of the estimate is noted; a 95% interval implies
#: about half.
NOTE_RATIO = 0.75


@dataclass(frozen=True)
class FamilyNeed:
    """The need of one family for the same target error.

    Attributes
    ----------
    family
        Its name.
    people, epsilon
        Number of people and epsilon by the formula; None where unknown or out of reach.
    between_any_two
        A bound on epsilon between any two true values.
    error
        For maps: the simulated error with the people and the epsilon of the plan.
    """

    family: str
    people: int | None
    epsilon: Fraction | None
    between_any_two: float | None
    error: float | None = None


@dataclass(frozen=True, eq=False)
class CollectionPlan(Result):
    """The number of people a survey takes, or the smallest epsilon for the people there are.

    Made by :func:`discreet.plan_collection`.

    Attributes
    ----------
    target
        The statistic and its target error.
    solved_for
        "people" or "epsilon": the one that was computed.
    people, epsilon
        The plan; the computed number is rounded up to three digits.
    notion
        The notion of privacy: the values between which epsilon holds.
    mechanism
        The mechanism at that epsilon, with its certificate.
    level
        Coverage of the intervals.
    guess
        The assumption about the truth, in words.
    formula
        The error by the Fisher information for this number of people; None for a map.
    check
        The simulated surveys of this number of people.
    families
        The needs of all families.
    recommended
        The family that needs fewest people, or the smallest epsilon.
    curve
        Simulated surveys of fewer and of more people.

    Examples
    --------
    >>> import discreet as dc
    >>> plan = dc.plan_collection(dc.Labels(["yes", "no"]), "±3 points", epsilon=1)
    >>> plan.recommended, 4500 < plan.people < 5500
    ('randomized_response', True)
    """

    target: TargetError
    solved_for: Literal["people", "epsilon"]
    people: int
    epsilon: Fraction
    notion: str
    mechanism: Mechanism = field(repr=False)
    level: float
    guess: str
    formula: float | None
    check: SurveyTrial
    families: tuple[FamilyNeed, ...]
    recommended: str
    curve: tuple[SurveyTrial, ...] = field(repr=False)

    @property
    def wanted(self) -> TargetError:
        """The target error under its former name."""
        warn_renamed("wanted", "target")
        return self.target

    @property
    def family(self) -> str:
        """The family that the plan is for."""
        return self.mechanism.family

    def __str__(self) -> str:
        return self.describe()

    def to_json(self) -> dict[str, Json]:
        """Return plain JSON values, as in ``schemas/collection-plan.json``."""
        content: dict[str, Json] = {
            "wanted": self.target.text,
            "error": self.target.error,
            "meaning": self.target.meaning(self.level),
            "solved_for": self.solved_for,
            "people": self.people,
            "epsilon": bound_up(self.epsilon),
            "notion": self.notion,
            "family": self.family,
            "level": self.level,
            "guess": self.guess,
            "formula": self.formula,
            "check": _trial_json(self.check),
            "families": [
                {
                    "family": one.family,
                    "people": one.people,
                    "epsilon": None if one.epsilon is None else bound_up(one.epsilon),
                    "epsilon_between_any_two_at_most": one.between_any_two,
                    "error": one.error,
                }
                for one in self.families
            ],
            "recommended": self.recommended,
            "curve": [_trial_json(one) for one in self.curve],
            "certificate": self.mechanism.certificate.to_json(),
            "notes": list(self.notes),
        }
        return stamped("collection-plan", 1, content)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the reader of this plan."""
        notes = []
        need = next(one for one in self.families if one.family == self.family)
        if self.notion != "local" and need.between_any_two is not None and need.between_any_two > float(self.epsilon):
            notes.append(
                f"Epsilon {epsilon_text(self.epsilon)} is {BETWEEN[self.notion]}. Between the two values that "
                f"are furthest apart it is up to {text_up(need.between_any_two, 3)}. The table compares families at "
                "equal epsilon in this sense; ask for notion local to compare them at equal epsilon between any two "
                "values."
            )
        notes.append(f"The plan assumes that {self.guess}. Other populations need more people or fewer.")
        if self.recommended != self.family:
            notes.append(f"{self._title(self.recommended)} needs less for the same: see the table.")
        if self.check.off is not None and self.check.off > NOTE_RATIO * self.target.error:
            notes.append(
                f"The root mean square error of the estimate itself is {self._off}, which is more than its interval "
                "implies: with this many values, read the interval and not the estimate alone."
            )
        return tuple(notes)

    @property
    def _off(self) -> str:
        """The error of the estimate itself, which has no sign."""
        return "" if self.check.off is None else self.target.show(self.check.off).removeprefix("±")

    @staticmethod
    def _title(family: str) -> str:
        title = FAMILIES.title(family)
        return title[:1].upper() + title[1:]

    def report(self) -> Report:
        """Return the numbers, the check, the families compared, a chart, and the meaning of the error."""
        privacy = epsilon_text(self.epsilon)
        check = self.check
        plan_lines = [
            ("people", f"{self.people:,}" + " (the fewest that meet the target)" * (self.solved_for == "people")),
            ("epsilon", f"{privacy} {BETWEEN[self.notion]}" + ", the smallest" * (self.solved_for == "epsilon")),
            ("mechanism", self.mechanism.title),
            ("target error", self.target.text),
        ]
        if self.formula is not None:
            plan_lines.append(("formula", f"{self.target.show(self.formula)}, by the Fisher information"))
        surveys = plural(check.surveys, "simulated survey")
        plan_lines.append(("simulated", f"{self.target.show(check.error)} on average in {surveys} of as many people"))
        if check.covered is not None:
            plan_lines.append(("", f"{percent(check.covered)} of the intervals contained the truth"))
        if check.off is not None:
            plan_lines.append(("", f"the root mean square error of the estimates was {self._off}"))
        request = f"{self.target.text} at epsilon {privacy}" if self.solved_for == "people" else self.target.text
        title = f"{plural(self.people, 'person', 'people')} for {request}"
        if self.solved_for == "epsilon":
            title = f"Epsilon {privacy} for {request} from {plural(self.people, 'person', 'people')}"
        return Report(
            title,
            "Survey plan",
            (
                Fact(f"{self.people:,}", "people"),
                Fact(f"ε = {privacy}", BETWEEN[self.notion]),
                Fact(self.target.show(check.error), f"error in simulated surveys; target: {self.target.text}"),
            ),
            (
                Section(parts=(Terms(tuple(plan_lines)),)),
                Section("Families", (self._table(),)),
                Section("Error against the number of people", (Picture("plot", {"of": self}),), "pages"),
                Section("What the error is", (Prose(self.target.meaning(self.level)),)),
            ),
            self.notes,
        )

    def _table(self) -> TextTable:
        headings = ["family", "people", "epsilon", "between any two values, at most"]
        of_maps = any(one.error is not None for one in self.families)
        rows = []
        for one in self.families:
            mark = " (recommended)" * (one.family == self.recommended)
            cells = [
                f"{FAMILIES.title(one.family)}{mark}",
                "out of reach" if one.people is None else f"{one.people:,}",
                "out of reach" if one.epsilon is None else epsilon_text(one.epsilon),
                "" if one.between_any_two is None else text_up(one.between_any_two, 3),
            ]
            rows.append((*cells, "" if one.error is None else self.target.show(one.error)) if of_maps else tuple(cells))
        if of_maps:
            headings.append("error")
        return TextTable(tuple(headings), tuple(rows), tuple(range(1, len(headings))), compact=True)

    def plot(self) -> Chart:
        """Return the error against the number of people, by the formula and simulated."""
        points = [(one.people, self._axis_value(one.error)) for one in self.curve]
        line = []
        if self.formula is not None:
            line = [(n, self._axis_value(self.formula * math.sqrt(self.people / n))) for n, _ in points]
        caption = f"The dashed line is the target error; {plural(self.people, 'person', 'people')} meet it."
        title = f"{self._title(self.family)}, epsilon {epsilon_text(self.epsilon)}"
        return errors_by_people(line, points, self._axis_value(self.target.error), self.target.axis, title, caption)

    def _axis_value(self, error: float) -> float:
        return 100 * error if self.target.kind == "share" else error


def _trial_json(trial: SurveyTrial) -> dict[str, Json]:
    error = None if math.isnan(trial.standard_error) else trial.standard_error
    return {
        "people": trial.people,
        "error": trial.error,
        "standard_error": error,
        "surveys": trial.surveys,
        "intervals_with_the_truth": trial.covered,
        "root_mean_square_error": trial.off,
    }
