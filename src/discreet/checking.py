"""``dc.check``: the properties and requirements of a mechanism or a matrix, and the worst violations of the others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from . import requirements
from .channels import Channel
from .errors import InvalidInput, Unsupported
from .properties import PATHOLOGIES, PROPERTIES, CheckResult, NoGaps, Property, find, split_codes
from .report import Check, Fact, Json, Prose, Report, Result, Section, TextTable, stamped
from .requirements import is_numbered
from .wide_noise import WideNoise, is_too_large
from .wording import first_of, listed

__all__ = ["Checks", "check", "pathologies"]


class Checks(dict[str, CheckResult], Check, Result):
    """The results of checks by code: whether each property holds, and where it fails worst.

    Examples
    --------
    >>> checks = check([["2/3", "1/3"], ["1/3", "2/3"]], "F+WH")
    >>> checks.holds, checks["WH"].name
    (True, 'weakly honest')
    >>> print(checks.describe().splitlines()[-1])
    decided exactly
    """

    @property
    def holds(self) -> bool:
        """True if all of them hold."""
        return all(result.holds for result in self.values())

    @property
    def tolerance(self) -> float:
        """The largest violation that was ignored."""
        return max(result.tolerance for result in self.values())

    def _headline(self) -> str:
        failing = [code for code, result in self.items() if not result.holds]
        return f"{len(self) - len(failing)} of {len(self)} properties hold" + (
            f", not {listed(failing)}" if failing else ""
        )

    def to_json(self) -> dict[str, Json]:
        """Return the results as plain JSON values, by code."""
        properties = {code: result.to_json() for code, result in self.items()}
        return stamped("checks", 1, {"holds": self.holds, "tolerance": self.tolerance, "properties": properties})

    def report(self) -> Report:
        """Return a line for each property."""
        exact = "decided exactly"
        how = exact if self.tolerance == 0 else f"checked within {self.tolerance:g}; a tolerance of 0 decides exactly"
        number = sum(result.holds for result in self.values())
        return Report(
            "Which properties hold",
            "Properties",
            (Fact(f"{number} of {len(self)}", "properties hold"),),
            (Section(parts=(self.table(), Prose(how))),),
        )

    def table(self) -> TextTable:
        """Return a table: code, name, whether it holds, and where it fails worst."""
        cells = (
            (code, r.name, "yes" if r.holds else "NO", "" if r.holds else r.where or "") for code, r in self.items()
        )
        return TextTable(("", "property", "holds", "where it fails worst"), tuple(cells), strong=(2,))


def check(
    mechanism: object,
    properties: str | Property | NoGaps | Iterable[str | Property | NoGaps] | None = None,
    *,
    tolerance: float | None = None,
) -> Checks:
    """Check which structural properties hold, and where the others fail worst.

    Parameters
    ----------
    mechanism
        A mechanism, an exact Table, or a matrix of probabilities whose rows are true values.
    properties
        Codes (S RH RM CH CM F WH, and "no gaps", "no spikes"), requirements with a number such as "bias<=1/2" (see
        :mod:`discreet.requirements`), or objects. By default, all of the seven that apply to the mechanism's values:
        labels and cells have no order, so RH, CH, F and WH there.
    tolerance
        The largest violation to ignore. By default 0 for mechanisms, exact tables and matrices of fractions, where
        integers decide, and 1e-9 for matrices of decimals, which are rounded numbers: the same in an array, a list, a
        file or a mechanism from :func:`discreet.from_matrix`.

    Returns
    -------
    Checks
        A dict from codes to :class:`CheckResult` with ``holds``, ``violation``, ``where`` and ``sentence``.

    Examples
    --------
    >>> check([[0.6, 0.4], [0.5, 0.5]])["F"].where
    'P(report 1 | truth 1) = 0.5 != P(report 0 | truth 0) = 0.6'
    >>> check([["2/3", "1/3"], ["1/3", "2/3"]], "F+bias<=1/2")["bias<=1/2"].holds
    True
    """
    channel = Channel.of(mechanism)
    noise = WideNoise.of(channel) if is_too_large(channel) else None
    if noise is None:
        channel.refuse_if_large()
    if tolerance is not None and not 0 <= tolerance < 1:
        raise InvalidInput.must_be("tolerance", "in [0, 1)", tolerance)
    if properties is None:
        selected: list[Any] = [p for p in PROPERTIES.values() if p.why_not(channel) is None]
        if not selected:
            raise Unsupported(f"no property applies here: {PROPERTIES['WH'].why_not(channel)}.", argument="mechanism")
    else:
        selected = [_find(item) for item in split_codes(properties)]
        for p in selected:
            reason = p.why_not(channel)
            if reason is not None:
                sensible = [code for code, q in PROPERTIES.items() if q.why_not(channel) is None]
                raise Unsupported(
                    f"{p.code} ({p.name}) does not apply here: {reason}.",
                    f"The properties that apply are {first_of(sensible)}.",
                    argument="properties",
                )
    if noise is not None:
        return Checks({p.code: noise.examine(p, channel, tolerance) for p in selected})
    return Checks({p.code: p.examine(channel, tolerance) for p in selected})


def _find(item: object) -> Any:
    """Return one subject of a check: a requirement with a number, one of the seven, or freedom from a pathology."""
    if isinstance(item, str) and is_numbered(item):
        return requirements.resolve([item])[0]
    forms = ", ".join(form.sign for form in requirements.REQUIREMENTS.values())
    return find(item, {**PROPERTIES, **PATHOLOGIES}, others=f", and with a number {forms}")


def pathologies(mechanism: object, *, tolerance: float | None = None) -> Checks:
    """Check that the mechanism is free of the flaws of [C] figure 1: reports that never occur (gaps), and spikes.

    Parameters
    ----------
    mechanism
        A mechanism, an exact Table, or a matrix of probabilities whose rows are true values.
    tolerance
        Maximum violation that is ignored, as for :func:`discreet.check`.

    Examples
    --------
    >>> import discreet as dc
    >>> checks = pathologies(dc.geometric(2, alpha="9/10"))
    >>> checks["no gaps"].holds, checks["no spikes"].where
    (True, '2 P(report 1 | truth 1) = 0.105263 < P(report 0 | truth 1) = 0.473684')
    """
    channel = Channel.of(mechanism)
    return check(channel, [p for p in PATHOLOGIES.values() if p.why_not(channel) is None], tolerance=tolerance)
