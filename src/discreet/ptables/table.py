"""The p-table: the noise of each key, for each true count.

A cell has a key, the sum of random numbers of its contributors; in the block of its count the key selects the noise.
With a fresh uniform key for every cell a p-table is a mechanism like any other, :meth:`PTable.mechanism`. With record
keys, as offices use it, cells with the same contributors get the same noise: :class:`CellKeys`, without a guarantee
that composes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ..errors import InvalidInput, Unsupported
from ..exact.arrays import IntArray
from ..exact.kernels import Noise
from ..exact.laws import Finite
from ..exact.rationals import Number, as_fraction, text_down, text_up
from ..mechanism import Mechanism, finish
from ..privacy.verify import Verdict, verify
from ..report import Fact, Json, Picture, Report, Result, Section, Terms, TextTable, stamped
from ..spaces import Counts, Integers
from ..wording import percent
from .write import write_ptable

#: Noise v and the number of keys that select it, in the order of the keys.
Block = tuple[tuple[int, int], ...]

#: The epsilons at which a report states delta: bounded noise has no finite epsilon with delta zero.
CURVE = ("0.5", "1", "2", "3", "5")

#: Maximum number of lines of a table on a page.
MAX_ROWS = 1000

#: Largest count whose published values are described in a report.
SMALL_COUNTS = 2


@dataclass(frozen=True, repr=False)
class PTable(Result):
    """A table of noise for counts 0, 1, 2, ...

    :func:`discreet.read_ptable` and :func:`discreet.design_ptable` return one. ``dc.verify(table)`` judges it: tight
    epsilon, delta for every epsilon, the worst pair of counts and the reports that distinguish them.

    Attributes
    ----------
    blocks
        For each count from 0 on, the noise and the number of keys of each of its intervals, in the order of the keys.
    keys
        The number of keys: the weights of every block add up to it.
    cycle
        Counts beyond the last block use the last ``cycle`` blocks in turn; 1 is the last block for all of them.
    layout
        The format of its file.
    notes
        Notes about the file.
    about
        Figures from its companion file (D, V, js, epsilon, delta, ...), which are not trusted.

    Examples
    --------
    >>> table = PTable((((0, 4),), ((-1, 1), (0, 2), (1, 1))), 4)
    >>> table.law(7).probability(1), table.untouched_zeros
    (Fraction(1, 4), True)
    >>> import discreet as dc
    >>> dc.verify(table).delta(3)                       # a count of 1 is published as 1 or 2, which 0 never is
    0.75
    """

    blocks: tuple[Block, ...]
    keys: int
    cycle: int = 1
    layout: str = ""
    notes: tuple[str, ...] = ()
    about: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.blocks or not 1 <= self.cycle <= len(self.blocks):
            raise InvalidInput("a p-table needs a block for each count from 0 on.", argument="blocks")
        for count, block in enumerate(self.blocks):
            if any(weight <= 0 for _, weight in block) or sum(weight for _, weight in block) != self.keys:
                raise InvalidInput(
                    f"the block of count {count} must share out all {self.keys} keys; it does not.", argument="blocks"
                )
            if any(count + noise < 0 for noise, _ in block):
                raise InvalidInput(f"block {count}: a published count would be negative.", argument="blocks")

    # ---------------------------------------------------------------- the mechanism

    def block(self, count: int) -> Block:
        """Return the block for this count."""
        size = len(self.blocks)
        return self.blocks[count if count < size else size - self.cycle + (count - size) % self.cycle]

    def law(self, count: int) -> Finite:
        """Return the exact law of the noise added to this count when its key is uniform."""
        weights: dict[int, int] = {}
        for noise, weight in self.block(count):
            weights[noise] = weights.get(noise, 0) + weight
        low, high = min(weights), max(weights)
        return Finite(low, [weights.get(z, 0) for z in range(low, high + 1)])

    @cached_property
    def kernel(self) -> Noise:
        laws = [self.law(count) for count in range(len(self.blocks) + self.cycle)]
        tail = laws[-self.cycle :]
        if any(law != tail[0] for law in tail):  # every pair of neighbours is among these counts: then it repeats
            return Noise(laws[-1], (0, len(laws) - 1), (0, None), tuple(laws[:-1]))
        while len(laws) > 1 and laws[-2] == tail[0]:
            laws.pop()
        return Noise(tail[0], (0, None), (0, None), tuple(laws[:-1]))

    @property
    def inputs(self) -> Counts | Integers:
        """All counts; for a table with a cycle, enough of them to contain every pair of neighbours."""
        top = self.kernel.truths[1]
        return Integers(low=0) if top is None else Counts(top)

    @property
    def outputs(self) -> Integers:
        return Integers(low=0)

    def mechanism(self, epsilon: Number | None = None) -> Mechanism:
        """Return the mechanism that draws a fresh uniform key for every cell, with a certificate.

        Parameters
        ----------
        epsilon
            The epsilon of the certificate, which states the least delta at it. By default it states the least epsilon
            with delta zero, which is infinite for bounded noise.
        """
        parameters: dict[str, Any] = {"keys": self.keys, "layout": self.layout or "none"}
        if epsilon is None:
            return finish("ptable", self.inputs, self.outputs, self.kernel, parameters)
        eps = as_fraction(epsilon, "epsilon")
        parameters["epsilon"] = str(eps)
        return finish("ptable", self.inputs, self.outputs, self.kernel, parameters, epsilon=eps, with_delta=True)

    def cell_keys(self) -> CellKeys:
        """Return the table with record keys, as other programs use it: for compatibility only."""
        return CellKeys(self)

    def write(self, path: str | Path, layout: str | None = None, **about: object) -> Path:
        """Write the table for another program; see :func:`discreet.ptables.write.write_ptable`.

        The ending chooses the layout: .txt and .csv for tau-ARGUS and R's ptable, .yaml for cellKey, .pert for
        SuperSTAR; ``layout="ons"`` and ``layout="sas"`` by name. Figures that no format records go into ``path.json``.
        """
        return write_ptable(self, path, layout, **about)

    # ---------------------------------------------------------------- figures

    @property
    def reach(self) -> int:
        """The largest error of a published count."""
        return max(abs(noise) for block in self.blocks for noise, _ in block)

    def outcomes(self, count: int) -> tuple[tuple[int, Fraction], ...]:
        """Return the published values of a true count and their probabilities, the most frequent first.

        >>> PTable((((0, 1), (2, 3)),), 4).outcomes(0)
        ((2, Fraction(3, 4)), (0, Fraction(1, 4)))
        """
        law = self.law(count)
        pairs = [(count + z, law.probability(z)) for z in range(law.low, law.high + 1)]
        return tuple(sorted(((y, p) for y, p in pairs if p), key=lambda pair: (-pair[1], abs(pair[0] - count))))

    def describe_count(self, count: int) -> str:
        """Return the published values of a true count, in words.

        >>> PTable((((0, 1), (2, 3)),), 4).describe_count(0)
        'a true 0 is published as 2 in 75% of cases, as 0 in 25%'
        """
        (likeliest, share), *rest = self.outcomes(count)
        parts = [f"a true {count} is published as {likeliest} in {percent(share)} of cases"]
        parts += [f"as {report} in {percent(probability)}" for report, probability in rest[:2]]
        if len(rest) > 2:
            parts.append(f"as another count in {percent(sum((p for _, p in rest[2:]), Fraction(0)))}")
        return ", ".join(parts)

    @property
    def untouched_zeros(self) -> bool:
        """True if a count of 0 is published without noise."""
        return all(noise == 0 for noise, _ in self.blocks[0])

    @property
    def bias(self) -> Fraction:
        """The largest mean error of a count from 1 on."""
        return max((abs(_mean(block, self.keys)) for block in self.blocks[1:]), default=Fraction(0))

    @property
    def variance(self) -> Fraction:
        """The largest mean square error."""
        squares = (sum(noise * noise * weight for noise, weight in block) for block in self.blocks)
        return Fraction(max(squares), self.keys)

    @property
    def stay(self) -> Fraction:
        """The least probability of publishing the truth, over the counts that may be published unchanged."""
        probabilities = [self.law(count).probability(0) for count in range(len(self.blocks))]
        return min((p for p in probabilities if p), default=Fraction(0))

    @property
    def claim(self) -> tuple[str, str] | None:
        """The epsilon and delta in the companion file, as text: a claim to judge."""
        epsilon, delta = self.about.get("epsilon"), self.about.get("delta")
        return None if epsilon is None or delta is None else (str(epsilon), str(delta))

    # ---------------------------------------------------------------- words

    def figures(self, verdict: Verdict) -> dict[str, Json]:
        """Return the figures that a verdict adds for a table, as plain JSON values."""
        return {
            "kind": "p-table",
            "layout": self.layout,
            "keys": self.keys,
            "blocks": len(self.blocks),
            "reach": self.reach,
            "bias": float(self.bias),
            "variance": float(self.variance),
            "untouched_zeros": self.untouched_zeros,
            "delta": {epsilon: verdict.delta(epsilon) for epsilon in CURVE},
            "record_keys": {"composes": False, "joint_delta_at_least": float(self.cell_keys().joint_delta)},
            "about": dict(self.about),
        }

    def lines(self, verdict: Verdict) -> tuple[tuple[str, str], ...]:
        """Return the lines that a verdict adds for a table: delta at a few epsilons, and the keys it holds for."""
        delta = ", ".join(f"{text_up(verdict.delta(epsilon), 4)} at {epsilon}" for epsilon in CURVE)
        joint = text_down(self.cell_keys().joint_delta, 4)
        return (
            ("delta", f"{delta} (epsilon)"),
            (
                "use",
                "with a fresh key for every cell; with record keys, two cells with the same contributors have a joint "
                f"delta of at least {joint}, and no ledger prices that",
            ),
        )

    def published_as(self) -> dict[str, dict[str, float]]:
        """Return the published values of each small count, with their probabilities."""
        return {
            str(count): {str(report): float(probability) for report, probability in self.outcomes(count)}
            for count in range(SMALL_COUNTS + 1)
        }

    def to_json(self) -> dict[str, Json]:
        """Return plain JSON values, as in ``schemas/p-table-report.json``."""
        content: dict[str, Json] = {
            **self.figures(verify(self)),
            "cycle": self.cycle,
            "noise_by_count": [[[noise, weight] for noise, weight in block] for block in self.blocks],
            "stay": float(self.stay),
            "published_as": self.published_as(),
            "notes": list(self.notes),
        }
        return stamped("p-table-report", 1, content)

    def report(self) -> Report:
        """Return the effect of the table on counts, and delta at a few epsilons by the judge."""
        verdict = verify(self)
        small = [self.describe_count(count) for count in range(1, SMALL_COUNTS + 1)]
        terms = (
            ("noise", self._spread),
            ("zeros", self._zeros),
            *((("" if k else "small"), words) for k, words in enumerate(small)),
            *self.lines(verdict),
        )
        curve = Picture("delta", {"subjects": self}, "The least delta at each epsilon, with fresh keys.")
        rows = tuple(
            (str(k), str(v), str(w), percent(Fraction(w, self.keys))) for k, b in enumerate(self.blocks) for v, w in b
        )
        table = TextTable(
            ("count", "noise", "keys", "share"), rows[:MAX_ROWS], (0, 1, 2, 3), total=len(rows), compact=True
        )
        figures = Terms(tuple((name.replace("_", " "), str(value)) for name, value in self.about.items()))
        sections = [
            Section(parts=(Terms(terms),)),
            Section("Delta at every epsilon", (curve,), "pages"),
            Section("The table", (table,), "folded"),
        ]
        if figures.pairs:
            sections.append(Section("Figures that come with the table", (figures,), "folded"))
        return Report(
            f"A {self._title}",
            "P-table",
            (
                Fact(str(self.reach), "largest error of a published count"),
                Fact(percent(self.stay), "least probability of publishing the truth"),
                Fact(text_up(verdict.delta(1), 3), "delta at epsilon 1"),
            ),
            tuple(sections),
            self.notes,
        )

    @property
    def _title(self) -> str:
        return f"p-table with blocks 0..{len(self.blocks) - 1} on {self.keys} keys"

    @property
    def _spread(self) -> str:
        bias = "unbiased from 1 on" if self.bias == 0 else f"mean error up to {text_up(float(self.bias), 3)}"
        return f"up to {self.reach}, {bias}, mean square error up to {float(self.variance):.4g}"

    @property
    def _zeros(self) -> str:
        return "zeros are published untouched" if self.untouched_zeros else self.describe_count(0)

    def __str__(self) -> str:
        return f"a {self._title}; noise {self._spread}; {self._zeros}"

    def __repr__(self) -> str:
        return f"<PTable: blocks 0..{len(self.blocks) - 1}, {self.keys} keys, reach {self.reach}>"


def _mean(block: Block, keys: int) -> Fraction:
    return Fraction(sum(noise * weight for noise, weight in block), keys)


@dataclass(frozen=True)
class CellKeys:
    """A p-table with record keys: the same contributors get the same noise.

    It exists for compatibility with other programs and is **not priced**: ``composes`` is False, and composition and
    ledgers refuse it. Two cells with the same contributors have the same error, so different errors reveal different
    contributors: one more record in one of the cells shows with probability :attr:`joint_delta`, at every epsilon.
    Publishing with fresh keys, ``table.mechanism(epsilon)``, has a guarantee that composes.

    Examples
    --------
    >>> table = PTable((((0, 4),), ((-1, 1), (0, 2), (1, 1))), 4)
    >>> cells = table.cell_keys()
    >>> cells.publish([1, 1, 5], keys=[0, 3, 7])
    array([0, 2, 6])
    >>> cells.composes, cells.joint_delta
    (False, Fraction(3, 4))
    """

    table: PTable
    composes: ClassVar[bool] = False
    why: ClassVar[str] = (
        "record keys give cells with the same contributors the same noise, so two such cells together show whether one "
        "of them has one more record; no epsilon and delta of one cell says what several give away. Publish with fresh "
        "keys instead: table.mechanism(epsilon)"
    )

    @property
    def joint_delta(self) -> Fraction:
        """A lower bound, at every epsilon, of the delta of two cells with the same contributors.

        Both show the same count n + z. With one more record in the second, whose key is then different, they show the
        same only if the noise compensates for it: 1 - sum over z of P(Z_n = z) P(Z_(n+1) = z - 1). It is the largest
        over all counts n from 1 on, including those beyond the last block, which use the last blocks in a cycle.
        """
        table = self.table
        laws = [table.law(count) for count in range(1, len(table.blocks) + table.cycle + 1)]
        return max(self._differ(here, there) for here, there in dict.fromkeys(pairwise(laws)))

    @staticmethod
    def _differ(here: Finite, there: Finite) -> Fraction:
        same = (here.probability(z) * there.probability(z - 1) for z in range(here.low, here.high + 1))
        return 1 - sum(same, Fraction(0))

    def publish(self, counts: Iterable[int], keys: Iterable[int]) -> IntArray:
        """Return the published counts for these counts and cell keys (whole numbers, modulo the number of keys)."""
        values, numbers = Integers(low=0).indices(list(counts)), Integers(low=0).indices(list(keys))
        if values.shape != numbers.shape or values.ndim != 1:
            raise InvalidInput(
                f"each count needs its key; got {values.size} counts and {numbers.size} keys.", argument="keys"
            )
        return np.array(
            [n + self._noise(n, k) for n, k in zip(values.tolist(), numbers.tolist(), strict=True)], np.int64
        )

    def _noise(self, count: int, key: int) -> int:
        rest = key % self.table.keys
        for noise, weight in self.table.block(count):
            if rest < weight:
                return noise
            rest -= weight
        raise AssertionError("a block shares out all keys")

    def mechanism(self, epsilon: Number | None = None) -> Mechanism:
        raise Unsupported(f"a release with record keys is not priced: {self.why}.", argument="mechanism")
