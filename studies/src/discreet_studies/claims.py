"""What a paper claims, what was measured, and the verdict."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """What became of a claim."""

    HOLDS = "holds"
    CORRECTED = "holds with correction"
    FAILS = "does not hold"


@dataclass(frozen=True)
class Claim:
    """A statement of a paper, judged.

    Attributes
    ----------
    key
        A name that stays, such as ``"figure 3: up to five times"``; unique in its study.
    place
        Where the paper says it: ``"[F] section 4.1, figure 3"``.
    statement
        What the paper says, in one sentence with its number.
    measured
        What was measured here, with its uncertainty: one sentence with numbers.
    verdict
        Whether it holds.
    why
        Why it does not hold, or what must be corrected, or under which conditions it holds.

    Examples
    --------
    >>> claim = Claim("pi", "[X] section 1", "Pi is 3.2.", "3.14159...", Verdict.FAILS, "Pi is irrational.")
    >>> claim.verdict.value
    'does not hold'
    """

    key: str
    place: str
    statement: str
    measured: str
    verdict: Verdict
    why: str = ""


def judged(holds: bool, *, corrected: bool = False) -> Verdict:
    """The verdict of a measurement: does not hold, or holds, with a correction where one was needed.

    >>> judged(True).value, judged(True, corrected=True).value, judged(False).value
    ('holds', 'holds with correction', 'does not hold')
    """
    if not holds:
        return Verdict.FAILS
    return Verdict.CORRECTED if corrected else Verdict.HOLDS
