"""What the verb ``design`` says of a mechanism: what was proved, what it costs, and how the table was found."""

from __future__ import annotations

from typing import Any

from ...mechanism import Mechanism
from ...report import Fact, Report, Result, Section, Terms, stamped
from ...wording import rounded

#: Exact costs with more letters than this are left to the file.
LONGEST_COST = 40


def report_of_design(mechanism: Mechanism) -> Report:
    """What was proved of a mechanism; of one that was designed, also its cost and how its table was found.

    Examples
    --------
    >>> import discreet as dc
    >>> text = report_of_design(dc.design(4, alpha="10/11", properties=["WH", "CM"])).text()
    >>> print(text.splitlines()[2].split(",")[0])
    cost       0.7752 = 969/1250
    """
    certificate = mechanism.certificate
    terms: tuple[tuple[str, str], ...] = (("proved", str(certificate)),)
    facts: tuple[Fact, ...] = ()
    if mechanism.family == "designed":
        details = certificate.details
        exact = details.get("cost", "")
        also = f" = {exact}" if 0 < len(exact) <= LONGEST_COST else ""
        gap = f"at most {details['gap']:.2g} from the least possible" if details["gap"] else "the least possible"
        worst = "largest " if mechanism.parameters["prior"] == "worst case" else ""
        loss = f"{worst}expected loss ({mechanism.parameters['loss']})"
        facts = (Fact(rounded(details["cost_about"]), f"{loss}, {gap}"),)
        terms += (("cost", f"{details['cost_about']:.10g}{also}, {gap}"), ("certified", str(details["certified"])))
    return Report(repr(mechanism), "Mechanism", facts, (Section(parts=(Terms(terms),)),))


def json_of_design(mechanism: Mechanism, choice: Result | None = None) -> dict[str, Any]:
    """The same as plain JSON values, as in ``schemas/design.json``, with the choice if there was one."""
    content: dict[str, Any] = {
        "family": mechanism.family,
        "parameters": dict(mechanism.parameters),
        "certificate": mechanism.certificate.to_json(),
    }
    return stamped("design", 1, content if choice is None else {**content, "choice": choice.to_json()})
