"""A family in one file: its function and its description. What follows from that, ``test_adding_a_family.py`` says."""

from __future__ import annotations

from typing import Any

from discreet.exact.kernels import Response
from discreet.exact.rationals import read_alpha
from discreet.mechanism import Mechanism, finish, read_count
from discreet.mechanisms.families import Family
from discreet.spaces import Counts


def lottery(n: Any, *, epsilon: Any = None, alpha: Any = None) -> Mechanism:
    """The true count has 1/alpha times as many tickets as each of the others on 0..n."""
    space = Counts(read_count(n))
    a = read_alpha(alpha, epsilon)
    kernel = Response(space.size, a.denominator, a.numerator)
    return finish("lottery", space, space, kernel, {"n": space.n, "alpha": str(a)}, ratio=1 / a, closed_form=True)


LOTTERY = Family(
    "lottery", "lottery among the counts", "response", "support.toy_family:lottery", ("n", "privacy"),
    ("design", "known", "compare", "calibrate", "release", "reconstruct"),
    short="LM", aliases=("raffle",), saved=("n", "alpha"),
)  # fmt: skip
