"""Certificates: the guarantee that the judge proved about a mechanism, with its exact numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from ..errors import InvalidInput, NotPrivate, Unsupported
from ..exact.base import Kernel
from ..exact.rationals import Number, as_fraction, bound_up, claimed, log_up, text_up
from ..report import Fact, Json, Report, Result, Section, Terms, plain
from ..spaces import Grid, Space
from ..wording import rounded
from .all_pairs import AllPairs
from .notions import BETWEEN, NOTIONS, read_notion, unless_central
from .pairs import Evidence
from .user_spaces import defines_adjacency
from .verify import Verdict, evidence_for


@dataclass(frozen=True)
class Privacy:
    """A guarantee: epsilon and delta under a notion.

    >>> Privacy(epsilon=1).notion is None    # the usual one of the space
    True
    """

    epsilon: Number
    delta: Number = 0
    notion: str | None = None

    def __post_init__(self) -> None:
        if as_fraction(self.epsilon, "epsilon") < 0:
            raise InvalidInput.must_be("epsilon", "0 or more", self.epsilon)
        if not 0 <= as_fraction(self.delta, "delta") < 1:
            raise InvalidInput.must_be("delta", "a probability below 1", self.delta)
        if self.notion is not None and self.notion not in NOTIONS:
            raise InvalidInput.must_be("notion", f"one of {', '.join(NOTIONS)}", self.notion)


@dataclass(frozen=True, repr=False)
class Certificate(Result):
    """The guarantee that the judge proved for a mechanism.

    Attributes
    ----------
    notion
        "central", "local" or "metric".
    epsilon
        The proved epsilon, rounded up. Infinite if no pure guarantee holds; see ``verify(m).delta(epsilon)`` then.
    delta
        0 for a pure guarantee.
    ratio
        The exact largest probability ratio, e^epsilon; None where no single number says it all (on maps, or with a
        delta) or none is exact.
    tight
        True if no smaller epsilon holds; false if only an upper bound was proved.
    how
        The proof in a sentence.
    details
        Further figures, such as the share of uniform noise that rounding needed.
    unproved
        For a mechanism from a file: the names of the file's figures and parameters that were not proved again, such as
        the least cost of a design; and the parts of the certificate (``how``, ``tight``, ``ratio``) whose value in the
        file differs from the proof made when it was read. The certificate has the proved values.

    Examples
    --------
    >>> import discreet as dc
    >>> c = dc.explicit_fair(8, alpha="10/11").certificate
    >>> c.notion, c.ratio, round(c.epsilon, 6), c.delta
    ('central', Fraction(11, 10), 0.09531, 0.0)
    """

    notion: str
    epsilon: float
    delta: float
    ratio: Fraction | None
    how: str
    tight: bool = True
    details: dict[str, Any] = field(default_factory=dict)
    unproved: tuple[str, ...] = field(default=(), compare=False)

    def to_json(self) -> dict[str, Json]:
        return {
            "notion": self.notion,
            "epsilon": plain(self.epsilon),
            "delta": self.delta,
            "ratio": str(self.ratio) if self.ratio is not None and _writable(self.ratio) else None,
            "how": self.how,
            "tight": self.tight,
            "details": dict(self.details),
            **({"unproved": list(self.unproved)} if self.unproved else {}),
        }

    def report(self) -> Report:
        """Return the proof in a few lines."""
        exact = () if self.ratio is None or not _writable(self.ratio) else (("largest ratio", str(self.ratio)),)
        figures = tuple((self._figure(name), str(value)) for name, value in self.details.items())
        return Report(
            f"{self.notion.capitalize()} privacy",
            "What is proved",
            (Fact(f"ε = {text_up(self.epsilon)}", BETWEEN[self.notion]),),
            (
                Section(parts=(Terms((("proved", str(self)),)),)),
                Section("Exact numbers", (Terms((*exact, *figures)),), "folded"),
            ),
        )

    def _figure(self, name: str) -> str:
        words = name.replace("_", " ")
        return f"{words} (stated in the file, not proved)" if name in self.unproved else words

    def __str__(self) -> str:
        if math.isinf(self.epsilon):
            return f"no finite epsilon holds under the {self.notion} notion ({self._how_in_words()})"
        delta = f", delta = {text_up(self.delta)}" if self.delta else ""
        share = None if "mixing" in self.unproved else self.details.get("mixing")
        mixed = f"; mixed with {text_up(share, 2)} of uniform noise" if isinstance(share, float) and share else ""
        epsilon = f"{text_up(self.epsilon)}{unless_central(self.notion)}"
        ratio = ""
        if self.ratio is not None and max(self.ratio.numerator, self.ratio.denominator) < 10**12:
            ratio = f", e^epsilon = {self.ratio} exactly"
        return f"{self.notion} privacy with epsilon = {epsilon}{delta}{ratio} ({self._how_in_words()}{mixed})"

    def _how_in_words(self) -> str:
        pair = "adjacent values" if self.notion == "central" else "true values"
        return _IN_WORDS.get(self.how, self.how).format(pair=pair)

    def __repr__(self) -> str:
        return f"<Certificate: {self}>"


def _writable(ratio: Fraction) -> bool:
    """Return whether a ratio is short enough for a file (Python writes up to 4300 digits)."""
    return max(ratio.numerator, ratio.denominator).bit_length() < 10_000


def certify(
    kernel: Kernel,
    inputs: Space,
    notion: str | None = None,
    *,
    epsilon: Fraction | None = None,
    ratio: Fraction | None = None,
    delta: Fraction = Fraction(0),
    how: str = "",
    details: Mapping[str, object] | None = None,
) -> Certificate:
    """Return the certificate of a kernel; refuse it if a claim does not hold.

    Parameters
    ----------
    epsilon, delta
        A claim to check; the certificate then states exactly this delta.
    ratio
        Instead, a claim about the exact ratio, e^epsilon.

    Raises
    ------
    NotPrivate
        When the claim does not hold; the message carries the witness.
    """
    notion = read_notion(notion, inputs)
    if notion == "central" and not defines_adjacency(inputs):
        raise Unsupported(
            f"a mechanism for counts needs dc.Counts or dc.Integers; got {type(inputs).__name__}, which says by itself "
            "which of its values are adjacent.",
            "Judge it with dc.verify(..., inputs=...), or give notion='local'.",
            argument="inputs",
        )
    evidence = evidence_for(kernel, inputs, notion)
    verdict = Verdict(notion, inputs, True, evidence)
    _refuse_false_claims(verdict, epsilon, ratio, delta)
    if delta:
        assert epsilon is not None
        return Certificate(
            notion, bound_up(epsilon), bound_up(delta), None, how or _HOW_DELTA, False, dict(details or {})
        )
    per_distance = notion == "metric" and (isinstance(inputs, Grid) or isinstance(evidence, AllPairs))
    exact = None if per_distance else _single_ratio(evidence)
    tight = bool(getattr(evidence, "tight", True))
    return Certificate(notion, verdict.epsilon, 0.0, exact, how or _HOW, tight, dict(details or {}))


def certify_at(
    kernel: Kernel,
    inputs: Space,
    epsilon: Fraction,
    notion: str | None = None,
    *,
    how: str = "",
    details: Mapping[str, object] | None = None,
) -> Certificate:
    """Certify a kernel at this epsilon with the least delta that holds there, rounded up."""
    notion = read_notion(notion, inputs)
    least = Verdict(notion, inputs, True, evidence_for(kernel, inputs, notion)).delta(epsilon)
    return certify(kernel, inputs, notion, epsilon=epsilon, delta=claimed(min(least, 1.0)), how=how, details=details)


#: The texts in files. Recorded answers are found by digests of these texts, so they must not change.
_HOW = "largest probability ratio over all pairs the notion compares, decided in integers"
_HOW_DELTA = "largest divergence over all pairs the notion compares, bounded in rational numbers"

#: The same texts for people.
_IN_WORDS = {
    _HOW: "checked in whole numbers for every report and every two {pair}",
    _HOW_DELTA: "checked in exact arithmetic for every set of reports and every two {pair}",
}


def _single_ratio(evidence: Evidence) -> Fraction | None:
    try:
        bounds = evidence.ratio_bounds()
    except Unsupported:  # too many digits
        return None
    return bounds[0] if bounds is not None and bounds[0] == bounds[1] else None


def _refuse_false_claims(verdict: Verdict, epsilon: Fraction | None, ratio: Fraction | None, delta: Fraction) -> None:
    if epsilon is not None and not verdict.holds(epsilon, delta):
        raise NotPrivate(
            f"epsilon = {float(epsilon):.6g}, delta = {float(delta):.3g} does not hold under the {verdict.notion} "
            f"notion: the least epsilon is {text_up(verdict.epsilon)}; {verdict.witness}."
        )
    if ratio is not None and not verdict.ratio <= ratio:
        raise NotPrivate(
            f"a largest ratio of {rounded(ratio, 6)} (epsilon = {log_up(ratio):.6g}) does not hold under the "
            f"{verdict.notion} notion: it is {rounded(verdict.ratio, 6)}; {verdict.witness}."
        )
