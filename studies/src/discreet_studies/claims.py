"""Claims of a paper, with what was measured and a verdict."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """The verdict on a claim."""

    HOLDS = "holds"
    CORRECTED = "holds with correction"
    FAILS = "does not hold"
    UNDECIDABLE = "undecidable as worded"


class Basis(StrEnum):
    """The evidence for a verdict."""

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
        The reason why it fails, the correction, the conditions under which it holds, or the word that has no number.
    basis
        The evidence for the verdict; None for that of its exhibit.

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


def judge(holds: bool, *, corrected: bool = False, vague: bool = False) -> Verdict:
    """Return the verdict of a measurement: does not hold, or holds, with a correction where one was needed.

    Words of degree next to an order ("much lower") are judged by the order. A degree alone ("similar", "negligible")
    has no verdict unless the paper gives a number: a threshold would be ours.

    Parameters
    ----------
    holds
        True if everything that can be tested in the claim holds.
    corrected
        True if something in it must be corrected.
    vague
        True if the rest is a degree without a number.

    >>> judge(True).value, judge(True, corrected=True).value, judge(False).value
    ('holds', 'holds with correction', 'does not hold')
    >>> judge(True, vague=True).value, judge(False, vague=True).value
    ('undecidable as worded', 'does not hold')
    """
    if not holds:
        return Verdict.FAILS
    if vague:
        return Verdict.UNDECIDABLE
    return Verdict.CORRECTED if corrected else Verdict.HOLDS
