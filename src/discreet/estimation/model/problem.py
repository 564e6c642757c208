"""Reading what was reported, and by which mechanism: the door of this room.

A *group* is the people who used one mechanism. Most problems have one; people who chose different epsilons make
several, and their reports are put side by side: A = [share_1 A_1, share_2 A_2, ...].
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from ...channels import Channel
from ...errors import InvalidInput, Unsupported, WrongType, arg
from ...exact.arrays import Array, BoolArray, FloatArray, IntArray
from ...exact.base import Probabilities
from ...exact.bits import SeededBits
from ...exact.kernels import MAX_RANGE_WIDTH, Noise
from ...exact.tables import Table
from ...mechanism import Mechanism
from ...spaces import Counts, Space
from ..algebra import single_threaded_blas
from .reports import ambiguity_notes, counted_reports, raw_reports

#: Maximum number of true values; a million of them take half a gigabyte.
MOST_TRUTHS = 10_000_000

#: Chance of a report below which it counts as impossible: doubles have fewer and fewer digits there.
SMALLEST_CHANCE = 1e-290

#: Probability of noise, as a share of that of no noise, below which Fourier transforms are not used.
FOURIER_RELATIVE_MASS = 1e-8


def _spread(places: IntArray, values: Array, size: int) -> FloatArray:
    """Return an array with these values at these places, and 0 elsewhere."""
    spread = np.zeros(size)
    spread[places] = values
    return spread


class _FloatMatrix(Probabilities):
    """A matrix of floats that somebody handed in."""

    def __init__(self, values: FloatArray) -> None:
        self._values = values

    def matrix(self) -> FloatArray:
        return self._values

    def forward(self, distribution: FloatArray) -> FloatArray:
        return np.asarray(distribution @ self._values)

    def backward(self, values: FloatArray) -> FloatArray:
        return np.asarray(self._values @ values)

    @property
    def is_constant(self) -> bool:
        return bool(np.ptp(self._values, axis=0).max() <= 1e-15)


#: Maximum number of people whose reports without an end are drawn one by one; otherwise all are drawn at once.
MAX_DRAWN = 1_000_000

#: Share of the people whose far reports are left out, and maximum number of reports in the window.
NEGLIGIBLE_TAIL, MAX_WINDOW = 1e-13, 200_000


@dataclass(frozen=True, eq=False)
class Group:
    """The reports of the people who used one mechanism.

    Attributes
    ----------
    truths, outputs
        The spaces of true values (finite) and of reports.
    kernel
        The probabilities.
    reports, counts
        The indices of the reports that occurred, in order, and how often each did.
    subject
        The mechanism as it was handed in.
    beyond
        What to add to the log-likelihood for reports that were counted at an end of the range: the log of how much
        less likely each is than any report there. It does not depend on the truths.
    """

    truths: Space
    outputs: Space
    kernel: Probabilities
    reports: IntArray
    counts: IntArray
    subject: object
    beyond: float = 0.0

    @property
    def people(self) -> int:
        return int(self.counts.sum())

    @property
    def size(self) -> int:
        assert self.truths.size is not None
        return self.truths.size

    @property
    def alpha(self) -> float | None:
        """The ratio of two-sided geometric noise; None for everything else."""
        ratio = self.kernel.geometric_ratio
        return None if ratio is None else float(ratio)

    def whole(self, counts: Array | None = None) -> FloatArray:
        """Return how often each of finitely many outputs was reported, from counts of those that occurred."""
        assert self.outputs.size is not None
        return _spread(self.reports, self.counts if counts is None else counts, self.outputs.size)

    @cached_property
    def _wide(self) -> tuple[Noise, int] | None:
        """For noise that leaves the range of the truths: the same noise on a range with room for all reports."""
        kernel = self.kernel.noise
        if kernel is None or kernel.clamp == (0, self.size - 1) == kernel.truths:
            return None
        low = min(0, int(self.reports[0])) - 1 if kernel.clamp[0] is None else kernel.clamp[0]
        high = max(self.size - 1, int(self.reports[-1])) + 1 if kernel.clamp[1] is None else kernel.clamp[1]
        laws = kernel.first_laws if low == kernel.truths[0] else ()
        return Noise(kernel.law, (low, high), (low, high), laws), low

    @cached_property
    def _in_pieces(self) -> bool:
        """True if noise is looked up report by report: laws of single truths, and reports too far out for a range."""
        noise = self.kernel.noise
        assert noise is not None and self._wide is not None
        wide = self._wide[0]
        low, high = wide.clamp
        return wide.first_laws != noise.first_laws or int(high) - int(low) > MAX_RANGE_WIDTH  # type: ignore[arg-type]

    @cached_property
    def _far(self) -> tuple[BoolArray, FloatArray]:
        """The reports that lie too far outside the truths for Fourier transforms, as a mask, and their columns."""
        kernel = self.kernel.noise
        assert kernel is not None
        far = (self.reports < 0) | (self.reports >= self.size)
        if far.any():
            likeliest = kernel.block(np.array([0, self.size - 1]), self.reports).max(axis=0)
            far &= likeliest < FOURIER_RELATIVE_MASS * float(kernel.law.floats(0, 0)[0])
        columns = kernel.block(np.arange(self.size), self.reports[far]) if far.any() else np.zeros((self.size, 0))
        return far, columns

    def forward(self, p: FloatArray) -> FloatArray:
        """Return how likely each report that occurred is if truths have this distribution."""
        if self._wide is None:
            return np.asarray(self.kernel.forward(p)[self.reports])
        kernel, low = self._wide
        if self._in_pieces:
            return np.asarray(p @ self.block())
        everywhere = np.zeros(kernel.truths[1] - low + 1)  # type: ignore[operator]
        everywhere[-low : self.size - low] = p
        chances = np.asarray(kernel.forward(everywhere)[self.reports - low])
        far, columns = self._far
        chances[far] = p @ columns
        return chances

    def backward(self, v: FloatArray) -> FloatArray:
        """Return, for each truth, the sum of v over the reports that occurred, weighted by their probabilities."""
        if self._wide is None:
            assert self.outputs.size is not None
            return np.asarray(self.kernel.backward(_spread(self.reports, v, self.outputs.size)))
        kernel, low = self._wide
        if self._in_pieces:
            return np.asarray(self.block() @ v)
        far, columns = self._far
        near = np.where(far, 0.0, v)
        everywhere = _spread(self.reports - low, near, kernel.truths[1] - low + 1)  # type: ignore[operator]
        return np.asarray(kernel.backward(everywhere)[-low : self.size - low] + columns @ v[far])

    def block(self, truths: IntArray | None = None) -> FloatArray:
        """Return P(report | truth) at the reports that occurred, for these truths or for all."""
        return self.kernel.block(np.arange(self.size) if truths is None else truths, self.reports)

    def table(self) -> FloatArray:
        """Return P(report | truth) at all outputs; where they have no end, at the reports that occurred."""
        outputs = self.reports if self.outputs.size is None else np.arange(self.outputs.size)
        return self.kernel.block(np.arange(self.size), outputs)

    def redrawn(self, p: FloatArray, rng: np.random.Generator) -> Group:
        """Draw the reports of as many people again, with truths from this distribution."""
        truths = rng.multinomial(self.people, np.maximum(p, 0) / np.maximum(p, 0).sum())
        if self.outputs.size is None and self.people > MAX_DRAWN:
            reports, chances = self._window(p)
            counts = rng.multinomial(self.people, chances / chances.sum())
            return replace(self, reports=reports[counts > 0], counts=counts[counts > 0].astype(np.int64))
        if self.outputs.size is None:
            values = np.repeat(np.arange(self.size), truths)
            assert self.kernel.noise is not None  # nothing else has reports without an end
            draws = self.kernel.noise.sampler().draw(values, SeededBits(int(rng.integers(2**63))))
            reports, counts = np.unique(draws, return_counts=True)
            return replace(self, reports=reports.astype(np.int64), counts=counts.astype(np.int64))
        chances = np.maximum(self.kernel.forward(p), 0.0)
        whole = rng.multinomial(self.people, chances / chances.sum())
        reports = np.flatnonzero(whole)
        return replace(self, reports=reports, counts=whole[reports].astype(np.int64))

    def _window(self, p: FloatArray) -> tuple[IntArray, FloatArray]:
        """Return reports without an end, as far as people make them, and the probability of each."""
        low, reach = getattr(self.outputs, "low", None), 64
        while True:
            first = -reach if low is None else max(low, -reach)
            reports = np.arange(first, self.size + reach, dtype=np.int64)
            chances = np.maximum(p @ self.kernel.block(np.arange(self.size), reports), 0.0)
            if chances.sum() > p.sum() * (1 - NEGLIGIBLE_TAIL) or len(reports) > MAX_WINDOW:
                return reports, chances
            reach *= 4

    def values(self) -> list[tuple[Any, int]]:
        """Return each report that occurred, and how often it did."""
        shown = (self.outputs.value(int(j)) for j in self.reports)
        return list(zip(shown, self.counts.tolist(), strict=True))


@dataclass(frozen=True, eq=False)
class Problem:
    """Everything that was reported, by one group of people or several."""

    groups: tuple[Group, ...]
    #: What must be said about how the reports were read.
    notes: tuple[str, ...] = ()

    @property
    def truths(self) -> Space:
        return self.groups[0].truths

    @property
    def size(self) -> int:
        return self.groups[0].size

    @cached_property
    def people(self) -> int:
        return sum(group.people for group in self.groups)

    @property
    def counts(self) -> IntArray:
        """How often each report that occurred did, all groups one after the other."""
        return np.concatenate([group.counts for group in self.groups])

    @property
    def places(self) -> int:
        """The number of probabilities there are."""
        return self.size * sum(len(group.reports) for group in self.groups)

    def with_counts(self, counts: IntArray) -> Problem:
        """Return the same mechanisms with other counts of the reports that occurred; those now 0 are dropped."""
        parts = np.split(counts, np.cumsum([len(group.reports) for group in self.groups])[:-1])
        return Problem(
            tuple(
                replace(group, reports=group.reports[part > 0], counts=part[part > 0])
                for group, part in zip(self.groups, parts, strict=True)
                if part.any()
            )
        )

    def redrawn(self, p: FloatArray, rng: np.random.Generator) -> Problem:
        """Draw the reports of as many people again in each group, with truths from this distribution."""
        return Problem(tuple(group.redrawn(p, rng) for group in self.groups))

    def block(self, truths: IntArray | None = None) -> FloatArray:
        """Return the probabilities of the reports that occurred, of each group times its share of the people."""
        blocks = [group.block(truths) for group in self.groups]
        if len(blocks) == 1:
            return blocks[0]
        shares = [group.people / self.people for group in self.groups]
        return np.concatenate([share * part for share, part in zip(shares, blocks, strict=True)], axis=1)

    def all_outputs(self) -> tuple[FloatArray, IntArray]:
        """Return the probabilities of all outputs, of each group times its share of the people, and their counts.

        Where outputs have no end, those that occurred.
        """
        blocks = [group.people / self.people * group.table() for group in self.groups]
        counts = [group.counts if group.outputs.size is None else group.whole().astype(int) for group in self.groups]
        return np.concatenate(blocks, axis=1), np.concatenate(counts)

    def chances(self, p: FloatArray) -> FloatArray:
        """Return how likely each report that occurred is, within its group, if truths have this distribution."""
        return np.concatenate([group.forward(p) for group in self.groups])

    def log_likelihood(self, p: FloatArray) -> float:
        """Return the log of the probability of all reports, in the order they came: sum of count * log chance."""
        chances = self.chances(p)
        beyond = sum(group.beyond for group in self.groups)
        return float(self.counts @ np.log(chances)) + beyond if chances.min() > 0 else -np.inf


# ------------------------------------------------------------------------------------------------ reading


def read(counts: object, mechanism: object, reports: object, over: object) -> Problem:
    """Read the arguments of :func:`discreet.estimate` as a problem; refuse with reasons if they make no sense."""
    if (counts is None) == (reports is None):
        raise InvalidInput(
            f"give either counts (how often each output was reported) or {arg('reports')} (the raw reports); "
            f"got {'neither' if counts is None else 'both'}."
        )
    raw = counts is None
    data = reports if raw else counts
    pairs = _pairs(data) if mechanism is None else [(data, mechanism)]
    groups = tuple(_group(one, m, over, raw) for one, m in pairs)
    for group in groups[1:]:
        if group.truths != groups[0].truths:
            raise InvalidInput(
                f"all mechanisms must have the same true values; the first has {groups[0].truths!r} and another "
                f"{group.truths!r}.",
                argument="mechanism",
            )
    listed = () if raw else zip(pairs, groups, strict=True)
    notes = (note for (one, _), group in listed for note in ambiguity_notes(one, group.outputs, group.people))
    return Problem(groups, tuple(notes))


def _pairs(data: object) -> list[tuple[Any, Any]]:
    advice = "Give counts and a mechanism, or a list of pairs (counts, mechanism)."
    if not isinstance(data, list | tuple) or not data:
        raise InvalidInput("there is no mechanism.", advice, argument="mechanism")
    for pair in data:
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise InvalidInput("there is no mechanism, and the counts are not pairs.", advice, argument="mechanism")
    return [(pair[0], pair[1]) for pair in data]


def _group(data: object, mechanism: object, over: object, raw: bool) -> Group:
    truths, outputs, kernel = _spaces(mechanism, over)
    if truths.size is not None and truths.size > MOST_TRUTHS:
        raise Unsupported(
            f"there are {truths.size:,} true values; at most {MOST_TRUTHS:,} can be estimated.",
            "Give a smaller range, or report in coarser steps.",
        )
    _refuse_useless(kernel)
    places, counts = raw_reports(data, outputs) if raw else counted_reports(data, outputs)
    if not counts.sum():
        raise InvalidInput(
            "there are no reports at all: nothing can be estimated from an empty sample.",
            argument="reports" if raw else "counts",
        )
    places, counts = places[counts > 0], counts[counts > 0]
    if kernel.noise is not None and kernel.geometric_ratio is not None:
        return _clamped(truths, kernel.noise, kernel.geometric_ratio, places, counts, mechanism)
    group = Group(truths, outputs, kernel, places, counts, mechanism)
    _refuse_impossible(group)
    return group


def _clamped(
    truths: Space, noise: Noise, ratio: Fraction, reports: IntArray, counts: IntArray, mechanism: object
) -> Group:
    """Read geometric noise with reports beyond 0..n counted at its ends.

    Nothing is lost: the probabilities of all reports beyond an end fall by the same ratio with every step of the
    truth, so they tell the same about it as a report of the end itself.
    """
    assert truths.size is not None
    last = truths.size - 1
    places, which = np.unique(np.clip(reports, 0, last), return_inverse=True)
    totals = np.zeros(len(places), np.int64)
    np.add.at(totals, which, counts)
    a, (low, high) = float(ratio), noise.clamp
    beyond = 0.0
    for outside, past in ((low is None, -reports), (high is None, reports - last)):
        if outside:  # P(j | i) = (1-a)/(1+a) a^|i-j| there, and a^|i-end|/(1+a) at a clamped end
            there = past >= 0
            beyond += float(counts[there] @ (math.log1p(-a) + past[there] * math.log(a)))
    return Group(truths, truths, Noise(noise.law, (0, last), (0, last)), places, totals, mechanism, beyond)


def _spaces(mechanism: object, over: object) -> tuple[Space, Space, Probabilities]:
    if isinstance(mechanism, Mechanism):
        inputs: Space = mechanism.inputs
        outputs: Space = mechanism.outputs
        kernel: Probabilities = mechanism.kernel
    else:
        channel = Channel.of(mechanism)
        inputs, outputs = channel.inputs, channel.outputs
        kernel = channel.source if isinstance(channel.source, Table) else _FloatMatrix(channel.matrix)
    if over is None:
        if inputs.size is None:
            raise InvalidInput(
                "the range of true counts is missing: this mechanism has no largest count. Give "
                f"{arg('over', 'Counts(n)', 'n')}."
            )
        return inputs, outputs, kernel
    if not isinstance(over, Counts):
        raise WrongType.must_be("over", "the range of the true values, Counts(n)", over)
    if inputs.size is not None:
        if inputs == over:
            return inputs, outputs, kernel
        raise InvalidInput(
            f"this mechanism has its own range of true values already ({inputs!r}); drop {arg('over', over)}."
        )
    least = inputs.ends[0] if inputs.ends else None
    if least is not None and least > 0:
        raise InvalidInput(
            f"{arg('over', 'Counts(n)', 'n')} begins at 0, and this mechanism takes counts from {least} on only."
        )
    return over, outputs, kernel


def _refuse_useless(kernel: Probabilities) -> None:
    """Refuse a mechanism whose reports have the same distribution under every truth."""
    if kernel.is_constant:
        raise InvalidInput(
            "this mechanism carries no information: its reports are equally likely whatever the truth, so nothing "
            "can be estimated from them.",
            "Use one with a positive epsilon.",
            argument="mechanism",
        )


def _refuse_impossible(group: Group) -> None:
    """Refuse reports that no truth can give: another mechanism made them, or the range of truths is too small."""
    if group.kernel.reaches_everything:
        return
    with single_threaded_blas(group.size * len(group.reports)):
        chances = group.forward(np.full(group.size, 1 / group.size))
    wrong = np.flatnonzero(~(chances > SMALLEST_CHANCE))
    if wrong.size:
        value = group.outputs.value(int(group.reports[wrong[0]]))
        raise InvalidInput(
            f"{wrong.size} of the reported values, such as {value!r}, cannot come from any of the {group.size} true "
            f"values (the chance is below {SMALLEST_CHANCE:g}). Check that this mechanism made them, and for unbounded "
            f"noise that {arg('over', 'Counts(n)', 'n')} is large enough."
        )
