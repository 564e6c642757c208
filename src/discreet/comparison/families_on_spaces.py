"""The families that a comparison builds by name, on a line of counts or on any space."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from ..errors import InvalidInput, Unsupported
from ..exact.rationals import alpha_from_epsilon, float_down, log_bounds
from ..mechanism import Mechanism
from ..mechanisms.build import build_for_counts
from ..mechanisms.families import Family
from ..mechanisms.geometric import geometric
from ..mechanisms.matrices import exponential
from ..mechanisms.response import randomized_response
from ..optimise.families import FAMILIES
from ..spaces import Space


def families_on(space: Space, alpha: Fraction, selected: list[Family] | None) -> dict[str, Mechanism]:
    """Return the mechanisms of these families on a space.

    Epsilon is between adjacent counts, or per unit of distance. Randomised response treats any two values alike, so its
    epsilon is that of the nearest two.
    """
    if space.is_line:
        families = FAMILIES.offered("compare") if selected is None else selected
        return {family.short: build_for_counts(family, (space.size or 0) - 1, alpha) for family in families}
    nearest = alpha_from_epsilon(log_bounds(1 / alpha)[0] * space.unit)
    makers: dict[Family, Callable[[], Mechanism]] = {
        FAMILIES["geometric"]: lambda: geometric(space, alpha=alpha),
        FAMILIES["exponential"]: lambda: exponential(space, epsilon=float_down(log_bounds(1 / alpha)[0])),
        FAMILIES["randomized_response"]: lambda: randomized_response(space, alpha=nearest),
    }
    stray = next((family for family in selected or () if family not in makers), None)
    if stray is not None:
        raise InvalidInput(
            f"{stray.title} is for counts, and these are values of {space!r}.",
            f"Choose from {', '.join(family.short for family in makers)}.",
            argument="families",
        )
    mechanisms: dict[str, Mechanism] = {}
    for family in selected or makers:
        try:
            mechanisms[family.short] = makers[family]()
        except Unsupported:  # the geometric mechanism does not exist on every space
            if selected is not None:
                raise
    return mechanisms
