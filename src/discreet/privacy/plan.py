"""The plan of a composition: its releases, the number of times each is made, and their common notion."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ..errors import InvalidInput, InWords, Unsupported, WrongType, arg
from ..exact.integers import is_integer
from ..exact.rationals import as_fraction, claimed, log_bounds
from ..lists import read_list
from .certificate import Certificate, Privacy
from .gaussian import GaussianEvidence
from .notions import usual_notion
from .pairs import Evidence
from .verify import Verdict, verify

#: What a list of releases may hold.
_RELEASES = "mechanisms, verdicts, certificates, Privacy(...) or pairs (one of these, times)"


def read_plan(releases: Iterable[Any]) -> list[tuple[Any, int]]:
    """Return each distinct release and the number of times it is made."""
    if isinstance(releases, Privacy | Certificate | Verdict) or hasattr(releases, "kernel"):
        raise WrongType.must_be(
            "releases", f"a list of {_RELEASES}", InWords(type(releases).__name__), "Write compose([(it, times)])."
        )
    counts: dict[Any, tuple[Any, int]] = {}
    for position, entry in enumerate(read_list(releases, "releases", _RELEASES)):
        item, times = entry if isinstance(entry, tuple) and len(entry) == 2 else (entry, 1)
        if not is_integer(times) or times < 1:
            raise InvalidInput.must_be(
                f"release {position}: the number of times", "a whole number from 1", times, argument="releases"
            )
        if getattr(item, "composes", True) is False:
            raise Unsupported(f"release {position} does not compose: {item.why}.", argument="releases")
        is_mechanism = hasattr(item, "kernel") and hasattr(item, "inputs")
        if not is_mechanism and not isinstance(item, Privacy | Certificate | Verdict):
            raise WrongType(
                f"release {position} is a {type(item).__name__}.",
                "Give a mechanism, a verdict (dc.verify(matrix)), a certificate, Privacy(epsilon, delta), or a pair "
                "(one of these, times).",
                argument="releases",
            )
        key = _key(item) if is_mechanism else item if isinstance(item, Privacy) else id(item)
        entry = counts.get(key, (item, 0))
        counts[key] = entry[0], entry[1] + int(times)
    if not counts:
        raise InvalidInput("there is nothing to compose: the list of releases is empty.", argument="releases")
    return list(counts.values())


def _key(mechanism: Any) -> Any:
    """Equal for mechanisms that are the same, so that they are judged once."""
    try:
        key = (mechanism.kernel, mechanism.inputs, _claim(mechanism))
        hash(key)
    except TypeError:
        return id(mechanism)
    return key


def _claim(mechanism: object) -> tuple[str, float, float] | None:
    certificate = getattr(mechanism, "certificate", None)
    if not isinstance(certificate, Certificate):
        return None
    return certificate.notion, certificate.epsilon, certificate.delta


def common_notion(items: list[Any], notion: str | None) -> str:
    """Return the common notion of all releases; refuse a mixture."""
    sources: dict[str, str] = {}
    for item in items:
        fixed = isinstance(item, Privacy | Certificate | Verdict)
        if fixed and item.notion is not None:
            sources.setdefault(item.notion, f"a {type(item).__name__}")
        elif not fixed and notion is None:
            claim = _claim(item)
            notion_of_item = claim[0] if claim is not None else usual_notion(item.inputs)
            sources.setdefault(notion_of_item, getattr(item, "family", type(item).__name__))
    if notion is not None:
        sources.setdefault(notion, "the one asked for")
    if len(sources) > 1:
        each = ", ".join(f"{name} ({what})" for name, what in sources.items())
        raise InvalidInput(
            f"releases can be composed under one notion only; got {each}.",
            f"Give the mechanisms themselves and {arg('notion', 'central')} or {arg('notion', 'local')}, so that all "
            "are judged alike.",
        )
    return next(iter(sources), "central")


@dataclass(frozen=True, eq=False)
class ComposedRelease:
    """One kind of release: an (epsilon, delta) that holds, if known, and the judge's evidence, if there is any."""

    name: str
    epsilon: Fraction | None
    delta: Fraction
    evidence: Evidence | None

    @property
    def sigma2(self) -> Fraction | None:
        return self.evidence._law.sigma2 if isinstance(self.evidence, GaussianEvidence) else None


def judge(item: object, notion: str) -> ComposedRelease:
    if isinstance(item, Privacy):
        return ComposedRelease("a Privacy(...)", as_fraction(item.epsilon), as_fraction(item.delta), None)
    if isinstance(item, Certificate):
        if item.ratio is not None and not item.delta:
            return ComposedRelease("a certificate", log_bounds(item.ratio)[1], Fraction(0), None)
        # they were rounded up so that the double and the rational it stands for are both bounds
        epsilon = None if math.isinf(item.epsilon) else claimed(item.epsilon)
        return ComposedRelease("a certificate", epsilon, claimed(item.delta), None)
    evidence = item.evidence if isinstance(item, Verdict) else verify(item, notion).evidence
    name = "a verdict" if isinstance(item, Verdict) else getattr(item, "family", "a mechanism")
    claim = None if isinstance(item, Verdict) else _claim(item)
    if claim is not None and claim[0] == notion and claim[2] and claim[1] < math.inf:
        return ComposedRelease(name, claimed(claim[1]), claimed(claim[2]), evidence)
    bounds = evidence.epsilon_bounds()
    return ComposedRelease(name, None if bounds is None else bounds[1], Fraction(0), evidence)


CompositionPlan = list[tuple[ComposedRelease, int]]
