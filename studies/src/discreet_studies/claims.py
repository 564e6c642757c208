"""What a paper claims, what was measured, and the verdict."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """What became of a claim."""

    HOLDS = "holds"
    CORRECTED = "holds with correction"
    FAILS = "does not hold"
    UNDECIDABLE = "undecidable as worded"


class Basis(StrEnum):
    """What a verdict rests on."""

    MATHEMATICS = "no data"
    THEIRS = "the paper's data"
    DRAWN = "data drawn as the paper describes"
    OURS = "data of ours"


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
        Why it does not hold, or what must be corrected, or under which conditions it holds, or which word has no
        number.
    basis
        What the verdict rests on; None where it is what its exhibit rests on.

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
    basis: Basis | None = None


def judged(holds: bool, *, corrected: bool = False, vague: bool = False) -> Verdict:
    """Return the verdict of a measurement: does not hold, or holds, with a correction where one was needed.

    Words of degree beside an order ("much lower") are judged by the order. What is a degree alone ("similar",
    "negligible") has no verdict unless the paper gives a number: a threshold would be ours.

    Parameters
    ----------
    holds
        Whether what can be tested of the claim holds.
    corrected
        Whether something in it must be corrected.
    vague
        Whether the rest is a degree without a number.

    >>> judged(True).value, judged(True, corrected=True).value, judged(False).value
    ('holds', 'holds with correction', 'does not hold')
    >>> judged(True, vague=True).value, judged(False, vague=True).value
    ('undecidable as worded', 'does not hold')
    """
    if not holds:
        return Verdict.FAILS
    if vague:
        return Verdict.UNDECIDABLE
    return Verdict.CORRECTED if corrected else Verdict.HOLDS
