"""``dc.choose``: which mechanism, why, and what each property costs. The flowchart of [C] figure 5, for any request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from ... import losses
from ...exact.rationals import Number, as_fraction
from ...mechanism import Mechanism
from ...properties import is_of_the_seven
from ...report import Bullets, Fact, Json, Report, Result, Section, stamped
from ..families import FAMILIES
from ..lp.program import Request
from .closed import closed_form, geometric_codes
from .conflicts import privacy_in_words
from .describing import report_of_design
from .designing import design, read_request

#: What the names of answers of the linear program stand for; the others are families.
PROGRAMS = {"WM": "the linear program's answer for WH, CH or CM", "LP": "the linear program's answer"}

#: A property that costs less than this, relatively, costs nothing.
NO_COST = Fraction(1, 10**9)


@dataclass(frozen=True)
class Choice(Result):
    """The mechanism chosen, the steps that led to it, and what each property costs.

    Attributes
    ----------
    name
        "GM" (truncated geometric), "EM" (explicit fair), "GM remapped", "WM" ([C]'s name for the linear program's
        answer under WH, CH or CM) or "LP".
    why
        The questions of the flowchart and their answers.
    cost
        The expected loss.
    without
        For each property asked for, the expected loss if it alone were not.

    Examples
    --------
    >>> import discreet as dc
    >>> choice = dc.choose(4, alpha="10/11", properties=["WH", "CM"])
    >>> choice.name, choice.cost, choice.without["CM"]
    ('WM', Fraction(969, 1250), Fraction(484, 625))
    >>> print(choice.why[0])
    Fair? No: F is not asked for.
    """

    name: str
    mechanism: Mechanism
    why: tuple[str, ...]
    cost: Fraction
    without: Mapping[str, Fraction]

    def to_json(self) -> dict[str, Json]:
        """Plain JSON values, as in ``schemas/choice.json``."""
        content: dict[str, Json] = {
            "name": self.name,
            "why": list(self.why),
            "cost": float(self.cost),
            "without": {code: float(cost) for code, cost in self.without.items()},
            "costs_extra": {code: float(self.cost - cost) for code, cost in self.without.items()},
            "certificate": self.mechanism.certificate.to_json(),
        }
        return stamped("choice", 1, content)

    def report(self) -> Report:
        """The mechanism, the questions that led to it, and what each property costs."""
        made = report_of_design(self.mechanism)
        first, *rest = made.sections
        reasons = [Section(f"Why {self.name}", (Bullets(self.why),))]
        if self.without:
            prices = tuple(self._price(code, cost) for code, cost in self.without.items())
            reasons.append(Section("What each property costs", (Bullets(prices),)))
        chosen = Fact(self.name, _title(self.name))
        return replace(made, facts=(chosen, *made.facts), sections=(first, *reasons, *rest))

    def _price(self, code: str, cost: Fraction) -> str:
        extra = self.cost - cost
        free = extra <= NO_COST * max(abs(self.cost), Fraction(1))
        return f"{code} costs {'nothing' if free else f'{float(extra):.4g}'} (without it {float(cost):.6g})"

    def __str__(self) -> str:
        return self.describe()


def _title(name: str) -> str:
    """What the name of a choice stands for."""
    if name in PROGRAMS:
        return PROGRAMS[name]
    short, _, remapped = name.partition(" ")
    title = FAMILIES.find(short, "compare", "the name of a mechanism").title
    return f"{title}, with each report replaced by the best guess" if remapped else title


def choose(
    n: object,
    *,
    alpha: Number | None = None,
    epsilon: Number | None = None,
    delta: Number = 0,
    loss: object = "L0",
    properties: object = (),
    prior: object = None,
    worst_case: bool = False,
) -> Choice:
    """Which mechanism to use for these properties, why, and what each of them costs.

    For L0 this is the flowchart of [C] figure 5: explicit fair if fairness is asked for, the geometric mechanism if it
    happens to have what is asked for, else the linear program. For other losses the same questions are asked and the
    program answers most of them.

    Parameters
    ----------
    n, alpha, epsilon, delta, loss, properties, prior, worst_case
        As in :func:`discreet.design`, which makes the mechanism.

    References
    ----------
    [C] figures 5 and 6, section IV-D.

    Examples
    --------
    >>> choose(20, alpha="1/2", properties=["CM"]).name
    'GM'
    """
    options: dict[str, Any] = {
        "alpha": alpha, "epsilon": epsilon, "delta": delta, "loss": loss, "prior": prior, "worst_case": worst_case
    }  # fmt: skip
    request, _ = read_request(n, properties=properties, **options)
    mechanism = design(n, properties=request.requirements, **options)
    without = {}
    for prop in request.requirements:
        fewer = tuple(p for p in request.requirements if p is not prop)
        without[prop.code] = cost_of(design(n, properties=fewer, **options))
    name = _name(request)
    return Choice(name, mechanism, _steps(request, name), cost_of(mechanism), MappingProxyType(without))


def cost_of(mechanism: Mechanism) -> Fraction:
    """The expected loss a design was made for, from its certificate."""
    details = mechanism.certificate.details
    return Fraction(details["cost"]) if "cost" in details else as_fraction(details["cost_about"])


def _name(request: Request) -> str:
    closed = closed_form(request)
    if closed is not None:
        return closed.name
    return "WM" if request.loss == losses.L0 and set(request.codes) & {"WH", "CH", "CM"} else "LP"


def _steps(request: Request, name: str) -> tuple[str, ...]:
    """The flowchart's questions, as far as they were asked."""
    codes, has = set(request.codes), geometric_codes(request.n, request.alpha)
    steps = []
    if request.delta or not all(map(is_of_the_seven, request.requirements)):
        steps.append("Only the seven properties and pure privacy? No: the linear program decides.")
        return tuple(steps)
    if request.weights is None:
        steps.append(
            "The worst truth under L0? Yes: EM is best, whichever of the seven properties are required."
            if name == "EM"
            else "The worst truth: the linear program decides."
        )
        return tuple(steps)
    if request.loss != losses.L0 or not request.uniform:
        steps.append("L0 with all truths alike? No: only the general answers apply.")
        if name == "GM remapped":
            steps.append("No properties, and a loss that grows with the error: remap the reports of GM.")
        elif name == "EM":
            steps.append("Fair under L0: EM, for every prior.")
        else:
            steps.append(f"Properties {', '.join(request.codes)}: the linear program decides.")
        return tuple(steps)
    if name == "EM":
        return ("Fair? Yes: EM, which has all seven.",)
    steps.append("Fair? Yes, and for n = 1 GM is fair." if "F" in codes else "Fair? No: F is not asked for.")
    column = codes & {"CH", "CM"}
    if column:
        met = column <= has
        steps.append(
            f"Column properties ({', '.join(sorted(column))})? "
            + (
                f"Yes, and GM has them, since {'n = 1' if request.n == 1 else 'alpha <= 1/2'}."
                if met
                else f"Yes, and GM has them only for alpha <= 1/2; here {privacy_in_words(request)}: the linear "
                "program, which gives WH, RM and S at no extra cost."
            )
        )
        if not met:
            return tuple(steps)
    if "WH" in codes:
        needed = 2 * request.alpha / (1 - request.alpha)
        met = "WH" in has
        why = (
            "for n = 1 it always is."
            if request.n == 1
            else f"that takes n >= 2a/(1-a) = {float(needed):.4g}, and n = {request.n}"
            + ("." if met else ": the linear program, which gives RM and S at no extra cost.")
        )
        steps.append(f"Weakly honest? Yes, and GM {'is' if met else 'is not'}: {why}")
        if not met:
            return tuple(steps)
    steps.append("Nothing that GM does not have: GM, the one mechanism that reports the truth most often.")
    return tuple(steps)
