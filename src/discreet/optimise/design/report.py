"""The report of a design: the request, the proof, the cost, and the kind of its table."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...mechanism import Mechanism
from ...report import Fact, Json, Report, Result, Section, Terms, stamped
from ...wording import listed, rounded

#: Maximum number of letters of an exact cost in a report; longer ones are only in the file.
MAX_COST_LETTERS = 40


@dataclass(frozen=True)
class Design(Result):
    """A mechanism that was designed or built by name, with the choice that led to it, if any."""

    mechanism: Mechanism
    choice: Result | None = None

    def to_json(self) -> dict[str, Json]:
        """Return plain JSON values, as in ``schemas/design.json``; ``save`` writes the mechanism itself."""
        content: dict[str, Json] = {
            "family": self.mechanism.family,
            "parameters": dict(self.mechanism.parameters),
            "certificate": self.mechanism.certificate.to_json(),
        }
        if self.choice is not None:
            content["choice"] = self.choice.to_json()
        return stamped("design", 1, content)

    def report(self) -> Report:
        """Return the report of the mechanism; with a choice, also the reasons and the cost of each property."""
        return report_of_design(self.mechanism) if self.choice is None else self.choice.report()


def report_of_design(mechanism: Mechanism) -> Report:
    """Return the report of a mechanism; for a designed one, also the request, the cost and the kind of proof.

    Examples
    --------
    >>> import discreet as dc
    >>> text = report_of_design(dc.design(4, alpha="10/11", properties=["WH", "CM"])).text()
    >>> print(text.splitlines()[2])
    asked      least expected L0 with WH and CM, uniform prior
    """
    report = mechanism.report()
    first, *rest = report.sections
    facts, lines = report.facts, [pair for part in first.parts if isinstance(part, Terms) for pair in part.pairs]
    if mechanism.family == "designed":
        details = mechanism.certificate.details
        exact = details.get("cost", "")
        also = f" = {exact}" if 0 < len(exact) <= MAX_COST_LETTERS else ""
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
    return replace(report, facts=facts, sections=(Section(first.title, (Terms(tuple(lines)),)), *rest))


def _loss_in_words(mechanism: Mechanism) -> str:
    loss, prior = mechanism.parameters["loss"], mechanism.parameters["prior"]
    return f"expected {loss} of the worst count" if prior == "worst case" else f"expected {loss}"


def _request_in_words(mechanism: Mechanism) -> str:
    """Return the objective and its conditions in words."""
    properties, prior = mechanism.parameters["properties"], mechanism.parameters["prior"]
    having = f" with {listed(properties)}" if properties else ""
    weights = {"worst case": "", "uniform": ", uniform prior"}.get(prior, ", the prior given")
    return f"least {_loss_in_words(mechanism)}{having}{weights}"
