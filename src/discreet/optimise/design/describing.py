"""What a design says of itself: what was proved and asked for, what it costs, and how its table was found."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...mechanism import Mechanism
from ...report import Fact, Json, Report, Result, Section, Terms, stamped
from ...wording import listed, rounded

#: Exact costs with more letters than this are left to the file.
LONGEST_COST = 40


@dataclass(frozen=True)
class Design(Result):
    """A mechanism that was designed or made by name, with the choice that led to it if one was asked for."""

    mechanism: Mechanism
    choice: Result | None = None

    def to_json(self) -> dict[str, Json]:
        """Plain JSON values, as in ``schemas/design.json``; the mechanism itself is what ``save`` writes."""
        content: dict[str, Json] = {
            "family": self.mechanism.family,
            "parameters": dict(self.mechanism.parameters),
            "certificate": self.mechanism.certificate.to_json(),
        }
        if self.choice is not None:
            content["choice"] = self.choice.to_json()
        return stamped("design", 1, content)

    def report(self) -> Report:
        """What was proved, asked for and found; with the choice, also why, and what each property costs."""
        return report_of_design(self.mechanism) if self.choice is None else self.choice.report()


def report_of_design(mechanism: Mechanism) -> Report:
    """What a mechanism says, and of one that was designed also what was asked for, its cost and how it was found.

    Examples
    --------
    >>> import discreet as dc
    >>> text = report_of_design(dc.design(4, alpha="10/11", properties=["WH", "CM"])).text()
    >>> print(text.splitlines()[2])
    asked      least expected L0 with WH and CM, uniform prior
    """
    made = mechanism.report()
    first, *rest = made.sections
    facts, lines = made.facts, [pair for part in first.parts if isinstance(part, Terms) for pair in part.pairs]
    if mechanism.family == "designed":
        details = mechanism.certificate.details
        exact = details.get("cost", "")
        also = f" = {exact}" if 0 < len(exact) <= LONGEST_COST else ""
        gap = f"at most {details['gap']:.2g} from the least possible" if details["gap"] else "the least possible"
        if "gap" in mechanism.certificate.unproved:
            gap = f"which the file says is {gap} (not proved)"
        facts += (Fact(rounded(details["cost_about"]), f"{_loss_in_words(mechanism)}: {gap}"),)
        lines += [
            ("asked", _request_in_words(mechanism)),
            ("cost", f"{details['cost_about']:.10g}{also}, {gap}"),
            ("certified", str(details["certified"])),
        ]
    else:
        lines.append(("made by", repr(mechanism)))
    return replace(made, facts=facts, sections=(Section(first.title, (Terms(tuple(lines)),)), *rest))


def _loss_in_words(mechanism: Mechanism) -> str:
    loss, prior = mechanism.parameters["loss"], mechanism.parameters["prior"]
    return f"expected {loss} of the worst count" if prior == "worst case" else f"expected {loss}"


def _request_in_words(mechanism: Mechanism) -> str:
    """What was minimised, and under which conditions."""
    properties, prior = mechanism.parameters["properties"], mechanism.parameters["prior"]
    having = f" with {listed(properties)}" if properties else ""
    weights = {"worst case": "", "uniform": ", uniform prior"}.get(prior, ", the prior given")
    return f"least {_loss_in_words(mechanism)}{having}{weights}"
