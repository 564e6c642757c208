"""The mechanisms that [C] names by two letters, what they cost, and what a linear program says without closed forms."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from discreet import utility
from discreet.mechanism import Mechanism
from discreet.mechanisms.fair import explicit_fair
from discreet.mechanisms.geometric import geometric
from discreet.mechanisms.response import uniform
from discreet.optimise.design.design import design, exact_cost, read_request
from discreet.optimise.lp.search import search
from discreet.properties import PROPERTIES

#: The seven properties of the paper, by their codes.
SEVEN = tuple(PROPERTIES)

#: What WM stands for in the paper's experiments (section V-A), and in its figure 7.
WEAK_WITH_COLUMNS = ("WH", "RM", "CM")
WEAK_ALONE = ("WH",)

#: The names of section IV-D in words, for charts and sentences.
IN_WORDS = {
    "GM": "geometric (GM)",
    "WH": "weakly honest (WH alone)",
    "WM": "weakly honest (WH, RM, CM)",
    "EM": "explicit fair (EM)",
    "UM": "uniform (UM)",
}


def fractions(texts: Iterable[str]) -> tuple[Fraction, ...]:
    """Return alphas as the paper writes them, exactly.

    >>> fractions(["10/11", "0.76"])
    (Fraction(10, 11), Fraction(19, 25))
    """
    return tuple(Fraction(text) for text in texts)


@lru_cache(maxsize=8192)
def designed(n: int, alpha: Fraction, codes: tuple[str, ...] = (), loss: str = "L0") -> Mechanism:
    """Return the best mechanism with these properties, made once."""
    return design(n, alpha=alpha, loss=loss, properties=codes)


def named(name: str, n: int, alpha: Fraction) -> Mechanism:
    """Return a mechanism by the paper's letters; "WH" is the answer to weak honesty alone, "WM" that of section V-A."""
    match name:
        case "GM":
            return geometric(n, alpha=alpha)
        case "EM":
            return explicit_fair(n, alpha=alpha)
        case "UM":
            return uniform(n)
        case "WH":
            return designed(n, alpha, WEAK_ALONE)
        case _:
            return designed(n, alpha, WEAK_WITH_COLUMNS)


def entry(mechanism: Mechanism, truth: int, report: int) -> Fraction:
    """Return a probability of an exact mechanism."""
    return Fraction(mechanism.probability(truth, report))


def rescaled(mechanism: Mechanism) -> Fraction:
    """Return the L0 cost as [C] (1) scales it: guessing costs 1."""
    return utility.cost(mechanism, "L0", exact=True, rescaled=True)


def raw(mechanism: Mechanism) -> Fraction:
    """Return the L0 cost itself: the probability of a wrong report, all truths alike."""
    return utility.cost(mechanism, "L0", exact=True)


def weakly_honest_from(alpha: Fraction) -> Fraction:
    """Return the n from which GM is weakly honest, [C] lemma 2: 2a/(1-a)."""
    return 2 * alpha / (1 - alpha)


@dataclass(frozen=True)
class ProgramAnswer:
    """What the linear program says: an exact cost that is attained, and a bound that nothing undercuts."""

    cost: Fraction
    bound: float

    @property
    def gap(self) -> float:
        """How far the two are apart."""
        return max(0.0, float(self.cost) - self.bound)


@lru_cache(maxsize=8192)
def solved(n: int, alpha: Fraction, codes: tuple[str, ...] = (), loss: str = "L0") -> ProgramAnswer:
    """Return the linear program's answer, also where a theorem knows it: theorems are judged by it."""
    request, program = read_request(
        n, alpha=alpha, epsilon=None, delta=0, loss=loss, properties=codes, prior=None, worst_case=False
    )
    answer = search(request, program)
    return ProgramAnswer(exact_cost(answer.certified.table, request), answer.bound)
