"""Structure: symmetrisation, and derivability from the geometric mechanism.

[C] is Cormode, Kulkarni, Srivastava, *Constrained Differential Privacy for Count Data*. The paper prints the transpose:
its Pr[i | j] is P[j, i] here, where rows are truths.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from ...channels import Channel
from ...errors import InvalidInput, Unsupported, arg
from ...exact.rationals import Number, claimed, read_alpha, written_out
from ...exact.tables import Table
from ...mechanism import Mechanism
from ...privacy.certificate import certify
from ...privacy.verify import verify
from ...report import Finding, Json, Prose, Report, Result, Section, Terms, stamped
from ...spaces import Space
from ...wording import rounded
from .targets import exact_weights


def exact_table(mechanism: object, purpose: str) -> tuple[Channel, Table]:
    """Return the exact probabilities of a mechanism; float matrices and irrational laws have none."""
    if not isinstance(mechanism, Mechanism):
        raise InvalidInput(
            f"{purpose} needs a mechanism; got {type(mechanism).__name__}.",
            "Make one of a matrix with dc.from_matrix(P).",
            argument="mechanism",
        )
    channel = Channel.of(mechanism)
    if channel.table is None:
        raise Unsupported(
            f"{purpose} needs exact probabilities, and those of {mechanism.family} are irrational.",
            argument="mechanism",
        )
    return channel, channel.table


def judge_again(source: Mechanism, outputs: Space, table: Table) -> dict[str, Any]:
    """Return the spaces, the kernel and a new certificate for a mechanism derived from another one.

    The judge checks the new table against the guarantee of the old one, which post-processing and averaging keep.
    (Except on maps, where the ratio belongs to a distance, and epsilon to the width of an enclosure.)
    """
    old = source.certificate
    claim: dict[str, Any] = {"epsilon": claimed(old.epsilon), "delta": claimed(old.delta)} if old.delta else {}
    ratio = None if old.delta or source.inputs.as_grid is not None else old.ratio
    certificate = certify(table, source.inputs, old.notion, ratio=ratio, **claim)
    if old.delta:
        certificate = replace(certificate, epsilon=old.epsilon, delta=old.delta)
    return {"inputs": source.inputs, "outputs": outputs, "kernel": table, "certificate": certificate}


# ------------------------------------------------------------------------------------------------ symmetry


def symmetrise(mechanism: Mechanism, prior: object = None) -> Mechanism:
    """Return the mechanism averaged with its mirror image: ``P*[i, j] = (P[i, j] + P[n-i, n-j]) / 2``.

    It is symmetric (property S), at least as private, keeps each of the seven properties that the mechanism has, and
    costs the same on average **if weights and loss are symmetric**: prior[i] = prior[n-i], loss(n-i, n-j) = loss(i, j).
    (The paper's theorem needs this condition without stating it.) The cost of the worst truth can only fall.

    Parameters
    ----------
    mechanism
        Any exact mechanism from counts 0..n to counts.
    prior
        The weights of the cost. They are refused if they are not symmetric. Without them the certificate states the
        condition under which the cost stays the same.

    Returns
    -------
    Mechanism
        A mechanism of the family "symmetrised", exact and judged again.

    References
    ----------
    [C] theorem 1 and its proof in the appendix.

    Examples
    --------
    >>> import discreet as dc
    >>> skew = dc.from_matrix([["3/4", "1/4"], ["1/2", "1/2"]])
    >>> even = symmetrise(skew)
    >>> even.probability(0, 0), even.probability(1, 1)
    (Fraction(5, 8), Fraction(5, 8))
    >>> skew.certificate.ratio, even.certificate.ratio
    (Fraction(2, 1), Fraction(5, 3))
    """
    channel, table = exact_table(mechanism, "symmetrising")
    if not (channel.inputs.is_line and channel.outputs.is_line):
        raise Unsupported(
            f"only counts can be counted from the other end; these values are {channel.inputs.noun}s.",
            argument="mechanism",
        )
    same_cost_for = "symmetric weights and losses"
    if prior is not None:
        weights = exact_weights(prior, channel.shape[0])
        uneven = next((i for i, w in enumerate(weights) if w != weights[-1 - i]), None)
        if uneven is not None:
            mirror = len(weights) - 1 - uneven
            raise InvalidInput(
                f"the prior is not symmetric: {float(weights[uneven]):.6g} for {uneven} and "
                f"{float(weights[mirror]):.6g} for {mirror}. Symmetrising would change the expected loss under it.",
                f"Leave the mechanism as it is, or leave out {arg('prior')} if symmetry matters more.",
            )
        same_cost_for = "the prior given and symmetric losses"
    rows = []
    for i, total in enumerate(table.totals):
        other = table.totals[-1 - i]
        common = math.gcd(total, other)
        pairs = zip(table.row(i), reversed(table.row(-1 - i)), strict=True)
        rows.append([w * (other // common) + v * (total // common) for w, v in pairs])
    parts = judge_again(mechanism, mechanism.outputs, Table.from_rows(rows).reduced())
    return Mechanism(
        **parts, family="symmetrised", parameters={"source": mechanism.family, "same_cost_for": same_cost_for}
    )


# ------------------------------------------------------------------------------------------------ derivability


#: Name of the finding.
_NAME = "derivable"


@dataclass(frozen=True)
class Derivability(Finding, Result):
    """The answer whether a mechanism is the geometric one with post-processing; its truth value is the answer."""

    holds: bool
    #: The alpha of the geometric mechanism in the comparison.
    alpha: Fraction
    #: The largest violation of the three-entry condition; 0 without one.
    violation: Fraction
    #: The location of the largest violation, in words; None without one.
    where: str | None

    def __bool__(self) -> bool:
        return self.holds

    def to_json(self) -> dict[str, Json]:
        """Return plain JSON values, as in ``schemas/derivability.json``; exact numbers as text, None if too long."""
        content: dict[str, Json] = {
            "holds": self.holds,
            "alpha": written_out(self.alpha),
            "violation": written_out(self.violation),
            "where": self.where,
            "sentence": self.sentence,
        }
        return stamped("derivability", 1, content)

    def report(self) -> Report:
        """Return the answer, and the location of the largest violation."""
        parts: list[Prose | Terms] = [Prose(self.sentence)]
        if not self.holds:
            parts.append(Terms((("violation", f"{rounded(self.violation)}, the largest of all places"),)))
        title = f"Derivable from the geometric mechanism: {'yes' if self.holds else 'no'}"
        numbers = (("alpha", self.alpha), ("violation", self.violation))
        exact = Terms(tuple((name, written_out(number) or f"about {rounded(number)}") for name, number in numbers))
        return Report(
            title, "Derivability", sections=(Section(parts=tuple(parts)), Section("Exact numbers", (exact,), "folded"))
        )

    def __str__(self) -> str:
        return self.sentence


def derivable(mechanism: Mechanism, *, alpha: Number | None = None, epsilon: Number | None = None) -> Derivability:
    """Return whether post-processing the geometric mechanism with the same alpha gives this mechanism.

    It does exactly when, for every report j and every truth i, ::

        P[i, j] - a P[i-1, j]  >=  a (P[i+1, j] - a P[i, j])          three adjacent entries, 0 < i < n
        P[0, j] >= a P[1, j],      P[n, j] >= a P[n-1, j]             at the ends (this is differential privacy)

    These are the entries of T = G^-1 P up to positive factors, since the inverse of the geometric matrix G is
    tridiagonal; the rows of T add up to one, so where no entry is negative T is the post-processing. Decided in
    integers.

    Parameters
    ----------
    mechanism
        Any exact mechanism whose truths are counts.
    alpha, epsilon
        The geometric mechanism to compare with. By default the one with exactly the same privacy: alpha is one over
        the largest ratio of the mechanism between adjacent counts.

    References
    ----------
    [C] section IV-D; Gupte and Sundararajan 2010.

    Examples
    --------
    >>> import discreet as dc
    >>> bool(derivable(dc.geometric(4, alpha="1/2")))
    True
    >>> print(derivable(dc.explicit_fair(2, alpha="1/2")).where)
    report 0, truths 0, 1, 2: 1/4 - a 1/2 < a (1/4 - a 1/4) with a = 1/2
    """
    channel, table = exact_table(mechanism, "derivability")
    if not channel.inputs.is_line:
        raise Unsupported(
            f"the geometric mechanism is for counts; these truths are {channel.inputs.noun}s.", argument="mechanism"
        )
    a = _alpha_of(mechanism) if alpha is None and epsilon is None else read_alpha(alpha, epsilon)
    worst, entry = _worst_violation(table, a)
    name = f"the geometric mechanism with alpha = {a if a.denominator < 10**9 else format(float(a), '.9g')}"
    if entry is None:
        return Derivability(_NAME, True, f"It can be derived by post-processing from {name}.", a, Fraction(0), None)
    where = _in_words(channel, table, a, *entry)
    return Derivability(_NAME, False, f"It cannot be derived from {name}: {where}.", a, worst, where)


def _alpha_of(mechanism: Mechanism) -> Fraction:
    """Return one over the largest ratio between adjacent counts; 0 if infinite (then anything can be derived)."""
    certificate = mechanism.certificate
    is_pure = certificate.notion == "central" and not certificate.delta
    ratio = certificate.ratio if is_pure else verify(mechanism, "central").ratio
    return 1 / ratio if isinstance(ratio, Fraction) else Fraction(0)


def _worst_violation(table: Table, a: Fraction) -> tuple[Fraction, tuple[int, int] | None]:
    """Return the largest violation and its (truth, report); equal combinations of weights are checked once."""
    p, q = a.numerator, a.denominator
    worst, entry = Fraction(0), None
    truths = table.shape[0]
    for i in range(truths):
        near = [k for k in (i - 1, i + 1) if 0 <= k < truths]
        scale = math.lcm(*(table.totals[k] for k in (i, *near)))
        # The condition times q^2: factor P[i] - p q (sum of neighbours), factor = q^2 + p^2 inside and q^2 at the ends
        factor = (q * q + (p * p if len(near) == 2 else 0)) * (scale // table.totals[i])
        factors = [p * q * (scale // table.totals[k]) for k in near]
        combinations, first = np.unique(table.codes[[i, *near]], axis=1, return_index=True)
        best, best_report = 0, -1
        for (code, *others), j in zip(combinations.T.tolist(), first.tolist(), strict=True):
            missing = (
                sum(f * table.palette[c] for f, c in zip(factors, others, strict=True)) - factor * table.palette[code]
            )
            if missing > best or (missing == best > 0 and j < best_report):
                best, best_report = missing, j
        violation = Fraction(best, scale * q * q)
        if violation > worst:
            worst, entry = violation, (i, best_report)
    return worst, entry


def _in_words(channel: Channel, table: Table, a: Fraction, i: int, j: int) -> str:
    def shown(x: Fraction) -> str:
        return str(x) if x.denominator < 10**6 else f"{float(x):.6g}"

    entry = {k: shown(table.probability(k, j)) for k in (i - 1, i, i + 1) if 0 <= k < table.shape[0]}
    report = f"report {channel.outputs.value(j)}, truths {', '.join(str(k) for k in entry)}: "
    if len(entry) == 3:
        text = f"{entry[i]} - a {entry[i - 1]} < a ({entry[i + 1]} - a {entry[i]})"
    else:
        text = f"{entry[i]} < a {next(e for k, e in entry.items() if k != i)}"
    return f"{report}{text} with a = {shown(a)}"
