"""``dc.compose``: the privacy of several releases together.

All releases must be planned before the first report is seen: the mechanisms, their parameters and their number. Their
inputs may depend on earlier reports (the bounds hold for such adaptive inputs). To decide along the way *whether* or
*how accurately* to ask again, use a privacy filter such as the ledger of a release: it adds up epsilons and deltas, or
rho, and refuses releases that exceed the budget.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from ..errors import InvalidInput, Unsupported, arg
from ..exact.rationals import Number, as_fraction, bound_up, text_up
from ..report import Fact, Json, NoTruthValue, Prose, Report, Result, Section, TextTable, plain, question, stamped
from ..wording import plural
from .bounds import (
    MAX_IDENTICAL,
    Basic,
    Best,
    Bound,
    Concentrated,
    Identical,
    Numerical,
    pure_rho,
    some_secret_lost,
)
from .dominating_pairs import Pair, curve_points, pair_of_curve, pair_of_guarantee
from .loss_sums import Slack, sum_of_losses
from .notions import NOTIONS, unless_central
from .plan import ComposedRelease, CompositionPlan, common_notion, judge, read_plan

METHODS = ("best", "basic", "optimal", "numerical", "zcdp")

#: Maximum number of looks at curves in a plan, over all its distinct mechanisms.
_MAX_LOOKS = 4000

#: Largest sigma2 of a discrete Gaussian that is composed numerically: wider exact tails take too much memory.
_MAX_SIGMA2 = 10**8

_PLAN = (
    "This is for a plan: which mechanisms are used, and how often, is fixed before the first report; the values they "
    "are applied to may depend on earlier reports. To decide as you go, use a privacy filter (the ledger)."
)


@dataclass(frozen=True, repr=False)
class Composition(NoTruthValue, Result):
    """The privacy of several planned releases together: an upper bound of delta for every epsilon.

    Attributes
    ----------
    notion
        "central", "local" or "metric": the one notion of all releases.
    releases
        The number of releases.
    method
        "best", "basic", "optimal", "numerical" or "zcdp".
    methods
        The methods whose least bound "best" takes; else the one method.

    Examples
    --------
    >>> import discreet as dc
    >>> plan = compose([(dc.geometric(100, epsilon="0.1"), 100)])
    >>> plan.delta(10), round(plan.epsilon(1e-6), 3)     # 100 times 0.1, and much less
    (0.0, 4.775)
    >>> plan.holds(epsilon=5, delta=1e-6), plan.holds(epsilon=4, delta=1e-6)
    (True, False)
    """

    _instead: ClassVar[str] = "Write .holds(epsilon=..., delta=...)."

    notion: str
    releases: int
    method: str
    methods: tuple[str, ...]
    bound: Bound = field(repr=False)

    @property
    def slack(self) -> Slack:
        """The largest numerical excess of the bound over the delta of the dominating pairs.

        ``slack.relative`` and ``slack.delta`` come from rounding and cutting off tails, ``slack.epsilon`` from the
        grid. All are included in the bound.
        """
        return self.bound.slack

    def delta(self, epsilon: Number) -> float:
        """Return a delta with which this epsilon holds for all releases together, rounded up."""
        return bound_up(self.bound.delta_at(_read_epsilon(epsilon)))

    def epsilon(self, delta: Number) -> float:
        """Return the least epsilon for which the bound proves this delta, rounded up; infinite if none does."""
        target = _read_delta(delta)
        if self._reached(0.0, target):
            return 0.0
        low, high = 0.0, self._start(target)
        if math.isinf(high):
            return high
        for _ in range(100):
            middle = (low + high) / 2
            if not low < middle < high or high - low <= 2.0**-44 * high:
                break
            if self._reached(middle, target):
                high = middle
            else:
                low = middle
        return high

    def _start(self, target: Fraction) -> float:
        """Return an epsilon that holds; the sum of the epsilons if that one does."""
        for bound in self.bound.bounds if isinstance(self.bound, Best) else [self.bound]:
            if isinstance(bound, Basic) and bound.delta <= target:
                return bound_up(bound.epsilon)
        epsilon = 2.0**-10
        while not self._reached(epsilon, target):
            epsilon *= 2
            if epsilon > 2.0**40:
                return math.inf
        return epsilon

    def _reached(self, epsilon: float, target: Fraction) -> bool:
        return self.bound.delta_at(as_fraction(epsilon)) <= target

    @question
    def holds(self, epsilon: Number, delta: Number = 0) -> bool:
        """Return whether this bound proves (epsilon, delta) for all releases together."""
        return self.bound.delta_at(_read_epsilon(epsilon)) <= _read_delta(delta)

    @cached_property
    def guarantees(self) -> tuple[tuple[float, float], ...]:
        """Some deltas, and the least epsilon that was proved with each."""
        return tuple((float(delta), self.epsilon(delta)) for delta in (0, Fraction(1, 10**9), Fraction(1, 10**6)))

    @cached_property
    def sentence(self) -> str:
        """The guarantee in plain words."""
        per = unless_central(self.notion)
        clauses: list[str] = []
        for delta, epsilon in self.guarantees:
            clause = f"epsilon = {text_up(epsilon)}{per} with delta = {text_up(delta)}"
            if epsilon < math.inf and (not clauses or clause.split(" with")[0] != clauses[-1].split(" with")[0]):
                clauses.append(clause)
        number = "1 release has" if self.releases == 1 else f"{self.releases} releases together have"
        what = "; ".join(clauses) or f"no finite epsilon{per} up to delta = 1e-06"
        how = "the best of " * (len(self.methods) > 1) + ", ".join(self.methods)
        return f"{number} {self.notion} privacy: {what} (composition: {how}). {_PLAN}"

    def to_json(self) -> dict[str, Json]:
        """Return the bound and its method as plain JSON values."""
        content: dict[str, Json] = {
            "notion": self.notion,
            "releases": self.releases,
            "method": self.method,
            "methods": list(self.methods),
            "slack": self.slack._asdict(),
            "guarantees": [{"delta": delta, "epsilon": plain(epsilon)} for delta, epsilon in self.guarantees],
            "sentence": self.sentence,
        }
        return stamped("composition", 1, content)

    def report(self) -> Report:
        """Return the guarantee of all releases together, at some deltas."""
        rows = [(text_up(delta), text_up(epsilon)) for delta, epsilon in self.guarantees]
        return Report(
            f"{plural(self.releases, 'release')} together",
            "Composition",
            tuple(Fact(f"ε = {epsilon}", f"with δ = {delta}") for delta, epsilon in rows if epsilon != "infinity"),
            (
                Section(parts=(Prose(self.sentence),)),
                Section(parts=(TextTable(("delta", "epsilon"), tuple(rows), numbers=(0, 1), compact=True),)),
            ),
        )

    def __str__(self) -> str:
        return self.sentence

    def __repr__(self) -> str:
        return f"<Composition of {self.releases} releases, {self.notion} privacy, method {self.method}>"


def compose(releases: Iterable[object], *, method: str = "best", notion: str | None = None) -> Composition:
    """Return the privacy of several releases together, planned in advance.

    Parameters
    ----------
    releases
        Mechanisms, verdicts, certificates or ``Privacy(epsilon, delta)``, or pairs ``(one of these, times)``.
    method
        - "basic": epsilons and deltas add up;
        - "optimal": the best that follows from the epsilon and delta of each release (Kairouz, Oh, Viswanath 2015;
          Murtagh, Vadhan 2016): in closed form where all epsilons are equal, numerically otherwise;
        - "numerical": from the whole curve delta(epsilon) of each mechanism, over all pairs of truths and both
          directions, by dominating pairs (Zhu, Dong, Wang 2022);
        - "zcdp": zero-concentrated privacy, for discrete Gaussian and pure releases (Bun, Steinke 2016);
        - "best": at each epsilon the least of all that apply.
    notion
        "central" or "local" ("metric": basic only). Mechanisms are judged under it; certificates and verdicts must be
        of this notion. By default it is the one that all releases were certified for.

    Returns
    -------
    Composition
        ``delta(epsilon)``, ``epsilon(delta)`` (both rounded up), ``holds(epsilon, delta)``, ``slack``, ``sentence``.

    Notes
    -----
    The plan must be declared in advance: see :mod:`discreet.privacy.compose`. The same person may be in the data of
    every release, with other neighbouring truths each time.

    Examples
    --------
    >>> import discreet as dc
    >>> plan = compose([dc.geometric(100, epsilon=1), (dc.Privacy(epsilon="0.1", delta=1e-9), 20)])
    >>> plan.releases, plan.notion, round(plan.epsilon(1e-6), 3)
    (21, 'central', 2.781)
    >>> compose([dc.Privacy(1), dc.Privacy(1)], method="basic").epsilon(0)
    2.0
    """
    if method not in METHODS:
        raise InvalidInput.must_be("method", f"one of {', '.join(METHODS)}", method)
    if notion is not None and notion not in NOTIONS:
        raise InvalidInput.must_be("notion", f"one of {', '.join(NOTIONS)}", notion)
    entries = read_plan(releases)
    notion = common_notion([item for item, _ in entries], notion)
    plan = [(judge(item, notion), times) for item, times in entries]
    number = sum(times for _, times in plan)
    if notion == "metric" and method not in ("best", "basic"):
        raise Unsupported(
            f"{arg('method', method)} composes at one epsilon for all pairs of truths; under the metric notion "
            "epsilon grows with distance.",
            f"Ask for {arg('method', 'basic')}, which adds up epsilons per unit of distance.",
        )
    if notion == "metric":
        return Composition(notion, number, method, ("basic",), _basic(plan, metric=True))
    if method != "best":
        return Composition(notion, number, method, (method,), _BUILDERS[method](plan))
    bounds = _all_bounds(plan)
    return Composition(notion, number, "best", tuple(dict.fromkeys(bound.name for bound in bounds)), Best(bounds))


# ------------------------------------------------------------------------------------------------ the methods


def _basic(plan: CompositionPlan, metric: bool = False) -> Bound:
    epsilon = sum((_epsilon(release, "basic") * times for release, times in plan), Fraction(0))
    return Basic(epsilon, sum((release.delta * times for release, times in plan), Fraction(0)), metric)


def _epsilon(release: ComposedRelease, method: str) -> Fraction:
    if release.epsilon is None:
        other = "method='numerical'" + (" or 'zcdp'" if release.sigma2 else "")
        have = f"Use {other}" if release.evidence is not None else "Give the mechanism itself"
        raise Unsupported(
            f"a finite epsilon is needed for every release (method={method!r}), and {release.name} has none with "
            f"delta = {float(release.delta):g}.",
            f"{have}, or state a Privacy(epsilon, delta) that dc.verify confirms.",
        )
    return release.epsilon


def _optimal(plan: CompositionPlan) -> Bound:
    pure = [(_epsilon(release, "optimal"), release.delta, times) for release, times in plan]
    epsilons = {epsilon for epsilon, _, _ in pure if epsilon}
    number = sum(times for epsilon, _, times in pure if epsilon)
    if not epsilons:
        return Basic(Fraction(0), some_secret_lost((delta, times) for _, delta, times in pure), name="optimal")
    if len(epsilons) == 1 and number <= MAX_IDENTICAL:
        return Identical(epsilons.pop(), number, some_secret_lost((delta, times) for _, delta, times in pure))
    pairs = [(pair_of_guarantee(epsilon, delta), times) for epsilon, delta, times in pure]
    return Best((_basic(plan), Numerical(sum_of_losses(pairs))), "optimal")  # the grid must not cost pure privacy


def _numerical(plan: CompositionPlan) -> Bound:
    looks = max(8, _MAX_LOOKS // max(1, sum(release.evidence is not None for release, _ in plan)))
    return Numerical(sum_of_losses([(_pair(release, min(looks, 400)), times) for release, times in plan]))


def _pair(release: ComposedRelease, looks: int) -> Pair:
    if release.evidence is None:
        return pair_of_guarantee(_epsilon(release, "numerical"), release.delta)
    if release.sigma2 is not None and release.sigma2 > _MAX_SIGMA2:
        raise Unsupported(
            f"{arg('method', 'numerical')} works up to sigma2 = 1e8.",
            f"Use {arg('method', 'zcdp')}, which loses little there.",
        )
    return pair_of_curve(curve_points(release.evidence, looks))


def _zcdp(plan: CompositionPlan) -> Bound:
    rho = Fraction(0)
    for release, times in plan:
        rhos = [1 / (2 * release.sigma2)] if release.sigma2 is not None else []
        if release.epsilon is not None or not rhos:
            rhos.append(pure_rho(_epsilon(release, "zcdp")))
        rho += times * min(rhos)
    return Concentrated(rho, some_secret_lost((release.delta, times) for release, times in plan))


_BUILDERS: dict[str, Callable[[CompositionPlan], Bound]] = {
    "basic": _basic,
    "optimal": _optimal,
    "numerical": _numerical,
    "zcdp": _zcdp,
}


def _all_bounds(plan: CompositionPlan) -> list[Bound]:
    """Return every bound that applies. The numerical bound replaces a numerical optimal one: it is lower."""
    bounds: list[Bound] = []
    problems: list[Unsupported] = []
    for build in (_basic, _zcdp, _optimal, _numerical):
        if build is _optimal and not _closed(plan):
            continue
        if build is _numerical and all(release.evidence is None for release, _ in plan) and _closed(plan):
            continue
        try:
            bounds.append(build(plan))
        except Unsupported as problem:
            problems.append(problem)
    if not bounds:
        raise problems[-1]
    return bounds


def _closed(plan: CompositionPlan) -> bool:
    """Return whether the optimal bound has a closed form."""
    finite = all(release.epsilon is not None for release, _ in plan)
    number = sum(times for release, times in plan if release.epsilon)
    return finite and len({release.epsilon for release, _ in plan if release.epsilon}) <= 1 and number <= MAX_IDENTICAL


# ------------------------------------------------------------------------------------------------ numbers


def _read_epsilon(epsilon: Number) -> Fraction:
    value = as_fraction(epsilon, "epsilon")
    if value < 0:
        raise InvalidInput.must_be("epsilon", "0 or more", epsilon)
    return value


def _read_delta(delta: Number) -> Fraction:
    value = as_fraction(delta, "delta")
    if not 0 <= value <= 1:
        raise InvalidInput.must_be("delta", "a probability, between 0 and 1", delta)
    return value
