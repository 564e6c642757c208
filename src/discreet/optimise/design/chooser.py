"""``dc.choose``: a mechanism, the reasons, and the cost of each property, by the flowchart of [C] figure 5."""

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
from .design import design, read_request
from .report import report_of_design

#: The titles of answers of the linear program, by name; the other names are families.
PROGRAMS = {"WM": "the linear program's answer for WH, CH or CM", "LP": "the linear program's answer"}

#: Relative cost below which a property counts as free.
NO_COST = Fraction(1, 10**9)


@dataclass(frozen=True)
class Choice(Result):
    """The mechanism of a choice, the steps that led to it, and the cost of each property.

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
        For each required property, the expected loss if all others are required.

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
        """Return plain JSON values, as in ``schemas/choice.json``."""
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
        """Return the mechanism, the questions that led to it, and the cost of each property."""
        design_report = report_of_design(self.mechanism)
        first, *rest = design_report.sections
        reasons = [Section(f"Why {self.name}", (Bullets(self.why),))]
        if self.without:
            prices = tuple(self._price(code, cost) for code, cost in self.without.items())
            reasons.append(Section("What each property costs", (Bullets(prices),)))
        headline = Fact(self.name, _title(self.name))
        return replace(design_report, facts=(headline, *design_report.facts), sections=(first, *reasons, *rest))

    def _price(self, code: str, cost: Fraction) -> str:
        extra = self.cost - cost
        free = extra <= NO_COST * max(abs(self.cost), Fraction(1))
        return f"{code} costs {'nothing' if free else f'{float(extra):.4g}'} (without it {float(cost):.6g})"

    def __str__(self) -> str:
        return self.describe()


def _title(name: str) -> str:
    """Return the title of a choice, by its name."""
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
    """Choose the mechanism for these properties, with the reasons and the cost of each property.

    For L0 this is the flowchart of [C] figure 5: explicit fair if fairness is required, the geometric mechanism if it
    has the required properties, else the linear program. For other losses the questions are the same, and the linear
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
    """Return the expected loss a design was made for, from its certificate."""
    details = mechanism.certificate.details
    return Fraction(details["cost"]) if "cost" in details else as_fraction(details["cost_about"])


def _name(request: Request) -> str:
    closed = closed_form(request)
    if closed is not None:
        return closed.name
    return "WM" if request.loss == losses.L0 and set(request.codes) & {"WH", "CH", "CM"} else "LP"


def _steps(request: Request, name: str) -> tuple[str, ...]:
    """Return the questions of the flowchart, up to the one that decides."""
    codes, geometric = set(request.codes), geometric_codes(request.n, request.alpha)
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
        has_them = column <= geometric
        steps.append(
            f"Column properties ({', '.join(sorted(column))})? "
            + (
                f"Yes, and GM has them, since {'n = 1' if request.n == 1 else 'alpha <= 1/2'}."
                if has_them
                else f"Yes, and GM has them only for alpha <= 1/2; here {privacy_in_words(request)}: the linear "
                "program, which gives WH, RM and S at no extra cost."
            )
        )
        if not has_them:
            return tuple(steps)
    if "WH" in codes:
        least_n = 2 * request.alpha / (1 - request.alpha)
        honest = "WH" in geometric
        why = (
            "for n = 1 it always is."
            if request.n == 1
            else f"that takes n >= 2a/(1-a) = {float(least_n):.4g}, and n = {request.n}"
            + ("." if honest else ": the linear program, which gives RM and S at no extra cost.")
        )
        steps.append(f"Weakly honest? Yes, and GM {'is' if honest else 'is not'}: {why}")
        if not honest:
            return tuple(steps)
    steps.append("Nothing that GM does not have: GM, the one mechanism that reports the truth most often.")
    return tuple(steps)
