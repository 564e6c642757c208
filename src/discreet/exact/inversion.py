"""Exact sampling by inverting a cumulative distribution that is known by rational bounds.

The first 16 random bits nearly always decide the outcome. If they do not, 64 more bits are compared; if even those do
not decide, further bits are drawn and compared with ever narrower bounds of the exact threshold. The outcome follows
exactly the given law, not a rounded one. (Knuth and Yao 1976; Devroye 1986, II.2.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .arrays import BoolArray, IntArray
from .bits import Bits, SecureBits
from .laws import Interval

_WORDS: dict[int, type[np.unsignedinteger[Any]]] = {2: np.uint16, 4: np.uint32, 8: np.uint64}

#: The outcome in the lookup of a 16-bit word that does not decide.
UNDECIDED = -32768


def one_word(bits: Bits, size: int) -> int:
    """Return one integer of ``size`` bytes from the main stream."""
    if isinstance(bits, SecureBits):
        return bits.integer(size)
    return int(bits.main(1, _WORDS[size])[0])


def is_below(value: int, known_bits: int, threshold: Callable[[int], Interval], bits: Bits) -> tuple[bool, int, int]:
    """Return whether a uniform number lies below an exact threshold; draw more of its bits if necessary.

    Parameters
    ----------
    value, known
        The first ``known`` bits of the number, as an integer: it lies in [value, value + 1) / 2^known.
    threshold
        ``threshold(b)`` gives integer bounds of 2^b times the threshold.

    Returns
    -------
    below, value, known
        The answer, and the bits of the number known now.
    """
    while True:
        low, high = threshold(known_bits + 128)
        if (value + 1) << 128 <= low:
            return True, value, known_bits
        if value << 128 >= high:
            return False, value, known_bits
        value, known_bits = (value << 64) | bits.deep(), known_bits + 64


class Inversion:
    """Outcomes 0, 1, 2, ... by inverting exact cumulative probabilities.

    Parameters
    ----------
    cumulative
        ``cumulative(k, b)`` gives integer bounds of ``2**b P(outcome <= k)``.
    outcomes
        The number of outcomes; None for an unbounded law, whose tail is extended when it is drawn.
    """

    def __init__(self, cumulative: Callable[[int, int], Interval], outcomes: int | None) -> None:
        self._cumulative = cumulative
        self._outcomes = outcomes
        thresholds: list[int] = []
        while outcomes is None or len(thresholds) < outcomes - 1:
            thresholds.append(min(self._floor(len(thresholds)), 2**64 - 1))
            if outcomes is None and thresholds[-1] == 2**64 - 1:
                break  # less than 2^-64 is left
        #: floor(2^64 P(outcome <= k)); a last threshold of exactly 1 is stored as 2^64 - 1 and decided as a tie.
        self.thresholds = np.array(thresholds, dtype=np.uint64)
        self.lookup = self._make_lookup()

    def _floor(self, k: int) -> int:
        """Return floor(2^64 P(outcome <= k)), from bounds refined until both ends agree."""
        bits = 128
        while True:
            low, high = self._cumulative(k, bits)
            if low >> (bits - 64) == high >> (bits - 64):
                return low >> (bits - 64)
            if low >> (bits - 64) == 2**64 - 1:
                return 2**64 - 1  # 2^64 is stored as this too, and a tie with it is decided by closer bounds
            bits *= 2
            if bits > 1 << 16:  # pragma: no cover - a dyadic probability known by bounds only; laws give those exactly
                raise ArithmeticError("the bounds of a threshold do not close")

    def _make_lookup(self) -> NDArray[np.int16]:
        """Return the outcome for each value of the first 16 bits, or UNDECIDED.

        The word c stands for numbers in [c, c + 1) 2^-16. It decides when no threshold can lie inside. A threshold
        whose floor equals c 2^48 may, since it is known only to lie in [floor, floor + 1] 2^-64.
        """
        first = np.arange(1 << 16, dtype=np.uint64) << np.uint64(48)
        passed_before = np.searchsorted(self.thresholds, first, side="left")
        passed_after = np.searchsorted(self.thresholds, first + np.uint64(2**48 - 1), side="right")
        decided = (passed_before == passed_after) & (passed_before < 32768)
        if self._outcomes is None:
            decided &= passed_before < len(self.thresholds)
        return np.where(decided, passed_before, UNDECIDED).astype(np.int16)

    def decide(self, words: NDArray[np.uint16], rest: NDArray[np.uint64], bits: Bits) -> IntArray:
        """Return the outcomes for words that the lookup does not decide, given 64 more bits for each."""
        outcome, tied = self.compare(words, rest)
        for k in np.flatnonzero(tied).tolist():
            outcome[k] = self.decide_exactly(int(words[k]), int(rest[k]), bits)
        return outcome

    def compare(self, words: NDArray[np.uint16], rest: NDArray[np.uint64]) -> tuple[IntArray, BoolArray]:
        """Return the outcomes by the first 64 bits, and a mask of those that these bits do not decide."""
        value = (words.astype(np.uint64) << np.uint64(48)) | (rest >> np.uint64(16))
        outcome = np.searchsorted(self.thresholds, value, side="right").astype(np.int64)
        tied = np.searchsorted(self.thresholds, value, side="left") != outcome
        if self._outcomes is None:
            tied |= outcome == len(self.thresholds)
        return outcome, tied

    def decide_exactly(self, word: int, rest: int, bits: Bits) -> int:
        """Return the outcome for 16 + 64 bits that tie with a threshold, with as many more bits as necessary."""
        value, known_bits = (word << 64) | rest, 80
        k = int(np.searchsorted(self.thresholds, np.uint64(value >> 16), side="left"))
        while self._outcomes is None or k < self._outcomes - 1:
            below, value, known_bits = is_below(value, known_bits, lambda b, k=k: self._cumulative(k, b), bits)  # type: ignore[misc]
            if below:
                return k
            k += 1
        return k


def draw_independent(inversions: Sequence[Inversion], size: int, bits: Bits) -> IntArray:
    """Return ``size`` rows of independent outcomes, one column per inversion.

    The words of one row are adjacent in the main stream, and undecided outcomes are settled row by row, so that the
    result does not depend on the number of rows drawn at a time.
    """
    words = bits.main(size * len(inversions), np.uint16).reshape(size, len(inversions))
    outcomes = np.empty(words.shape, np.int64)
    for k, inversion in enumerate(inversions):
        outcomes[:, k] = inversion.lookup[words[:, k]]
    rows, columns = np.nonzero(outcomes == UNDECIDED)
    if rows.size:
        unsettled, rest = words[rows, columns], bits.extra(rows.size)
        settled, tied = np.empty(rows.size, np.int64), np.zeros(rows.size, bool)
        for k, inversion in enumerate(inversions):
            here = columns == k
            settled[here], tied[here] = inversion.compare(unsettled[here], rest[here])
        for k in np.flatnonzero(tied).tolist():
            settled[k] = inversions[int(columns[k])].decide_exactly(int(unsettled[k]), int(rest[k]), bits)
        outcomes[rows, columns] = settled
    return outcomes
