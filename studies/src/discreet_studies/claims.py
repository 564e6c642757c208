"""Claims of a paper, with what was measured and a verdict."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """The verdict on a claim."""

    HOLDS = "holds"
    CORRECTED = "holds with correction"
    FAILS = "does not hold"


@dataclass(frozen=True)
class Claim:
    """A statement of a paper, judged.

    Attributes
    ----------
    key
        A permanent name, such as ``"figure 3: up to five times"``; unique in its study.
    place
        The place in the paper: ``"[F] section 4.1, figure 3"``.
    statement
        The claim in one sentence with its number.
    measured
        The measurement with its uncertainty, in one sentence.
    verdict
        The verdict.
    why
        The reason why it fails, the correction, or the conditions under which it holds.

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


def judge(holds: bool, *, corrected: bool = False) -> Verdict:
    """Return the verdict of a measurement: does not hold, or holds, with a correction where one was needed.

    >>> judge(True).value, judge(True, corrected=True).value, judge(False).value
    ('holds', 'holds with correction', 'does not hold')
    """
    if not holds:
        return Verdict.FAILS
    return Verdict.CORRECTED if corrected else Verdict.HOLDS
