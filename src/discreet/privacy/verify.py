"""``dc.verify``: the privacy of a mechanism, or of any matrix of probabilities."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np

from ..errors import InvalidInput, Unsupported, arg
from ..exact.arrays import FloatArray
from ..exact.base import Kernel
from ..exact.kernels import Noise, Response
from ..exact.lattice import Lattice
from ..exact.laws import Gaussian
from ..exact.products.kernel import Product
from ..exact.projective import Projective
from ..exact.rationals import Number, as_fraction, bound_up, claimed, text_up
from ..exact.tables import Table
from ..report import Fact, Json, NoTruthValue, Report, Result, Section, Terms, plain, question, stamped
from ..spaces import Counts, Grid, Integers, ProductSpace, Space
from . import pairs
from .all_pairs import AllPairs, of_user_space
from .gaussian import GaussianEvidence
from .maps import MapEvidence
from .matrices import names_of, read_matrix
from .notions import BETWEEN, between, read_notion
from .pairs import Evidence, PairEvidence
from .products import ProductEvidence
from .user_spaces import described, is_built_in, refuse_other_than_space
from .witness import Witness

#: Largest epsilon whose delta is computed; that of a larger one differs from it by less than e^-10,000.
LARGEST_EXPONENT = Fraction(10_000)

#: Maximum number of bits to which bounds of an irrational number are refined before a comparison is given up.
_MAX_BITS = 1 << 13


@dataclass(frozen=True)
class Verdict(NoTruthValue, Result):
    """The verdict of the judge on a mechanism. Floats are rounded towards less privacy, never more.

    Attributes
    ----------
    notion
        "central", "local" or "metric".
    exact
        True if integers decided; otherwise floats did, with their error bound included.
    notes
        Notes on the input, such as rows that did not add up to one.
    outputs
        The space of the reports, if known, for the words of a witness.
    claim
        The epsilon and delta that the mechanism's certificate states for this notion, if any.

    Examples
    --------
    >>> import discreet as dc
    >>> v = dc.verify(dc.geometric(4, alpha="1/2"))
    >>> v.ratio, v.holds(epsilon="0.7"), v.holds(epsilon="0.6", delta="0.2")
    (Fraction(2, 1), True, True)
    """

    notion: str
    inputs: Space
    exact: bool
    evidence: Evidence = field(repr=False)
    notes: tuple[str, ...] = ()
    outputs: Space | None = None
    claim: tuple[Fraction, Fraction] | None = field(default=None, repr=False)

    _instead: ClassVar[str] = "Write .passed, or .holds(epsilon=..., delta=...)."

    @property
    def ratio(self) -> Fraction | float:
        """The largest probability ratio P(y | x) / P(y | x') that the notion looks at: e^epsilon, exactly.

        For the metric notion on a map or a user-defined space: the ratio at the witness, whose logarithm per unit of
        distance is largest.
        """
        bounds = self.evidence.ratio_bounds()
        return math.inf if bounds is None else bounds[1]

    @property
    def epsilon(self) -> float:
        """The least epsilon for which the guarantee holds with delta = 0, rounded up; infinite if none does."""
        bounds = self.evidence.epsilon_bounds()
        return math.inf if bounds is None else bound_up(bounds[1])

    @property
    def witness(self) -> Witness:
        """The two truths and the report with the largest ratio."""
        return self._in_values(self.evidence.ratio_witness())

    def _in_values(self, witness: Witness) -> Witness:
        """Replace indices by the values that people see."""
        outputs = self.outputs
        return replace(
            witness,
            truth=_value(self.inputs, witness.truth),
            other=_value(self.inputs, witness.other),
            reports=witness.reports if outputs is None else tuple(_value(outputs, one) for one in witness.reports),
        )

    def delta(self, epsilon: Number) -> float:
        """Return the least delta for this epsilon: max over pairs and sets S of P(S|x) - e^eps P(S|x'), rounded up."""
        eps = self._read(epsilon)
        return 0.0 if self.evidence.holds(eps) else bound_up(self.evidence.delta_bounds(_capped(eps))[0][1])

    def delta_witness(self, epsilon: Number) -> Witness | None:
        """Return the two truths and the set of reports that reach delta(epsilon); None where it is zero."""
        eps = self._read(epsilon)
        witness = None if self.evidence.holds(eps) else self.evidence.delta_bounds(_capped(eps))[1]
        return None if witness is None else self._in_values(witness)

    def single_event_delta(self, epsilon: Number) -> float:
        """Return the delta that looks at one report at a time, max of P(y|x) - e^eps P(y|x'), rounded up.

        This is the delta of [S] (7)-(8). It is smaller than ``delta`` and is *not* a guarantee about sets of reports.
        """
        eps = self._read(epsilon)
        return 0.0 if self.evidence.holds(eps) else bound_up(self.evidence.single_event_bounds(_capped(eps))[1])

    def curve(self, epsilons: object) -> FloatArray:
        """Return delta at each of these epsilons."""
        return np.array([self.delta(e) for e in np.asarray(epsilons, dtype=object).ravel().tolist()])

    @property
    def passed(self) -> bool | None:
        """True if the mechanism's claim holds, if it was judged by its notion; None without a claim."""
        return None if self.claim is None else self.holds(*self.claim)

    @question
    def holds(self, epsilon: Number, delta: Number = 0) -> bool:
        """Return whether the guarantee (epsilon, delta) holds; decided with rational bounds of e^epsilon."""
        eps, target = self._read(epsilon), as_fraction(delta, "delta")
        if not 0 <= target <= 1:
            raise InvalidInput.must_be("delta", "a probability, between 0 and 1", delta)
        pure = self.evidence.holds(eps)
        if pure or target == 0:
            return pure
        if target == 1:
            return True
        bits = 128
        while bits <= _MAX_BITS:
            (low, high), _ = self.evidence.delta_bounds(_capped(eps), bits)
            if high <= target:
                return True
            if low > target:
                return False
            bits *= 4
        return False  # pragma: no cover - undecided to thousands of digits: do not claim it

    @staticmethod
    def _read(epsilon: Number) -> Fraction:
        value = as_fraction(epsilon, "epsilon")
        if value < 0:
            raise InvalidInput.must_be("epsilon", "0 or more", epsilon)
        return value

    def exact_ratio(self) -> str | None:
        """Return the largest ratio as text; None if it has too many digits."""
        try:
            ratio = self.ratio
        except Unsupported:
            return None
        if isinstance(ratio, float):
            return "infinity"
        return str(ratio) if ratio.denominator.bit_length() < 10_000 else None

    def to_json(self) -> dict[str, Json]:
        """Return the least epsilon and its witness as plain JSON values; an infinite epsilon is written "infinity"."""
        return stamped("verdict", 1, self.figures())

    def figures(self) -> dict[str, Json]:
        """Return the figures of every verdict."""
        return {
            "notion": self.notion,
            "epsilon": plain(self.epsilon),
            "ratio": self.exact_ratio(),
            "exact": self.exact,
            "witness": self.witness.to_json(),
            "notes": list(self.notes),
        }

    def report(self) -> Report:
        """Return the epsilon of the mechanism, with its witness."""
        return Report(
            f"{self.notion.capitalize()} privacy of a mechanism on {self.inputs!r}",
            "Verdict",
            self.facts(),
            (Section(parts=(Terms(self.lines()),)),),
            self.notes,
        )

    def facts(self) -> tuple[Fact, ...]:
        """Return the key figures."""
        return (Fact(f"ε = {text_up(self.epsilon)}", f"the least that holds {between(self.notion, self.inputs)}"),)

    def lines(self) -> tuple[tuple[str, str], ...]:
        """Return the measurements, line by line."""
        rows = [("privacy", f"{self.notion}: epsilon = {text_up(self.epsilon)} {between(self.notion, self.inputs)}")]
        ratio = self.exact_ratio()
        if ratio not in (None, "infinity") and len(str(ratio)) < 40:
            rows.append(("", f"the largest ratio of two probabilities is exactly {ratio}"))
        return (*rows, ("witness", str(self.witness)))

    @property
    def _per(self) -> str:
        """The words for the pairs that the epsilon compares; empty for the usual ones, adjacent counts."""
        words = between(self.notion, self.inputs)
        return "" if words == BETWEEN["central"] else f" {words}"

    def __str__(self) -> str:
        how = "exactly" if self.exact else "in floats, error included"
        witness = self.witness
        growing = math.isinf(self.epsilon) and witness.ratio < math.inf
        example = "ratios grow without bound, for instance: " if growing else ""
        epsilon = f"{text_up(self.epsilon)}{self._per}"
        text = f"{self.notion} privacy: epsilon = {epsilon} ({how}); {example}{witness}"
        return "; ".join([text, *self.notes])


def verify(mechanism: object, notion: str | None = None, *, inputs: Space | None = None, exact: bool = True) -> Verdict:
    """Judge how well a mechanism hides one truth among others.

    Parameters
    ----------
    mechanism
        A mechanism, or a matrix with a row of report probabilities for each truth (array, nested lists, data frame;
        text and fractions are read exactly, floats by their decimals).
    notion
        "central" (adjacent counts; the default for counts), "local" (any two truths; the default for labels) or
        "metric" (per unit of distance; the default for maps).
    inputs
        For a matrix: the space of its rows. If not given, ``Labels`` where the rows of a data frame have names other
        than consecutive numbers, else ``Counts(rows - 1)``. Of a user-defined space (a subclass, or a class with the
        same methods) nothing is taken on trust but its distances, read once, and which values it calls adjacent.
    exact
        False screens in floats only and adds the error bound: quick, still a valid upper bound, but not tight to the
        last digit.

    Returns
    -------
    Verdict
        ``ratio`` (exact), ``epsilon``, ``delta(epsilon)``, ``witness``, ``holds(epsilon, delta)``.

    Examples
    --------
    >>> v = verify([["3/4", "1/4"], ["1/4", "3/4"]])
    >>> v.ratio
    Fraction(3, 1)
    >>> v.holds(epsilon=1.0), v.holds(epsilon=1.1)
    (False, True)
    """
    if inputs is not None:
        refuse_other_than_space(inputs)
    kernel: Kernel
    notes: tuple[str, ...] = ()
    outputs: Space | None
    if hasattr(mechanism, "kernel") and hasattr(mechanism, "inputs"):
        if inputs is not None and inputs != mechanism.inputs:
            raise InvalidInput(
                f"the mechanism has its own space of truths, {mechanism.inputs!r}; got {arg('inputs', inputs)}."
            )
        kernel, space, outputs = mechanism.kernel, mechanism.inputs, getattr(mechanism, "outputs", None)
    else:
        table, notes = (mechanism, ()) if isinstance(mechanism, Table) else read_matrix(mechanism)
        names = names_of(table)
        kernel, space = table, names.inputs(table.shape[0], inputs)
        outputs = names.outputs(table.shape[1], space) if table.shape[1] > 1 else None
        notes += names.notes(space, outputs) if inputs is None else ()
    notion = read_notion(notion, space)
    evidence = evidence_for(kernel, space, notion, exact)
    notes += _interpretation(notion, space, evidence)
    decided = exact and not isinstance(evidence, MapEvidence)
    return Verdict(notion, space, decided, evidence, notes, outputs, _claim(mechanism, notion))


def _claim(mechanism: object, notion: str) -> tuple[Fraction, Fraction] | None:
    """Return the epsilon and delta that come with a mechanism, if they are finite and of this notion."""
    certificate = getattr(mechanism, "certificate", None)
    epsilon, delta = getattr(certificate, "epsilon", math.inf), getattr(certificate, "delta", 0.0)
    if getattr(certificate, "notion", None) != notion or not math.isfinite(epsilon):
        return None
    return claimed(epsilon), claimed(delta)


def _capped(epsilon: Fraction) -> Fraction:
    """Return an epsilon whose power e^epsilon can be computed: a delta for a smaller one is valid for a larger."""
    return min(epsilon, LARGEST_EXPONENT)


def _value(space: Space, index: int) -> int | str | tuple[object, ...]:
    """Return the value with this index as JSON can hold it."""
    value = space.value(index)
    return value if isinstance(value, int | str | tuple) else str(value)


def _interpretation(notion: str, space: Space, evidence: Evidence) -> tuple[str, ...]:
    """Return notes on how the values of a user-defined space were compared."""
    if is_built_in(space):
        return ()
    if notion == "central" and isinstance(evidence, PairEvidence):
        count = sum(len(rows) for rows in evidence.parts)
        return (f"{count:,} pairs of values were compared: those that {described(space)} calls adjacent",)
    if isinstance(evidence, AllPairs) and evidence.edges is not None:
        return (
            f"the {len(evidence.edges[0]):,} edges of {described(space)} were compared: they generate its distance",
        )
    per = " at its distance, as stated by the space" if notion == "metric" else ""
    return (f"every pair of values of {described(space)} was compared{per}",)


def evidence_for(kernel: Kernel, space: Space, notion: str, exact: bool = True) -> Evidence:
    """Return the measurements that decide about this kernel under this notion."""
    _refuse_misfit(kernel, space)
    if notion != "local" and not is_built_in(space):
        return of_user_space(kernel, space, notion, exact)
    if isinstance(kernel, Noise) and isinstance(kernel.law, Gaussian):
        if notion != "central":
            raise Unsupported(
                "the discrete Gaussian is judged for adjacent counts.", f"Ask for {arg('notion', 'central')}."
            )
        if kernel.first_laws:  # the evidence below looks at the shared law only
            raise Unsupported("own laws beside the discrete Gaussian are not judged.", argument="mechanism")
        return GaussianEvidence(kernel)
    if isinstance(kernel, Response | Projective):
        return pairs.of_response(kernel, space, notion, exact)
    if isinstance(kernel, Noise):
        return pairs.of_noise(kernel, space, notion, exact)
    if isinstance(kernel, Product):
        assert isinstance(space, ProductSpace)  # what does not fit was refused
        parts = zip(kernel.parts, space.parts, strict=True)
        return ProductEvidence(
            kernel,
            tuple(evidence_for(one, part, "local", exact) for one, part in parts),
            lambda: pairs.of_table(kernel.table(), space, "local", exact),
        )
    if isinstance(space, Grid) and notion == "metric":
        return MapEvidence(kernel, space)
    if isinstance(kernel, Lattice | Table):
        return pairs.of_table(kernel.table(), space, notion, exact)
    raise Unsupported(f"the judge does not know kernels of type {type(kernel).__name__}.", argument="mechanism")


def _refuse_misfit(kernel: Kernel, space: Space) -> None:
    """Refuse a space whose truths are not those of the kernel."""
    if isinstance(kernel, Noise):
        expected: object = (0, space.n) if isinstance(space, Counts) else (getattr(space, "low", ()), None)
        if not isinstance(space, Counts | Integers) or kernel.truths != expected:
            raise InvalidInput(
                f"the noise was made for truths in {kernel.truths}, but the space is {space!r}.", argument="inputs"
            )
    elif isinstance(kernel, Lattice):
        if not isinstance(space, Grid) or (kernel.rows, kernel.cols) != (space.rows, space.cols):
            raise InvalidInput(
                f"the lattice was made for {kernel.rows} x {kernel.cols} cells, but the space is {space!r}.",
                argument="inputs",
            )
    elif isinstance(kernel, Product):
        if not isinstance(space, ProductSpace) or kernel.truths != space.shape:
            raise InvalidInput(
                f"the product was made for {kernel.truths} truths, but the space is {space!r}.", argument="inputs"
            )
    elif isinstance(kernel, Response | Projective | Table):
        rows = kernel.shape[0] if isinstance(kernel, Table) else kernel.size
        if rows != space.size:
            raise InvalidInput(f"the matrix has {rows} rows but the space has {space.size} values.", argument="inputs")
    else:
        raise Unsupported(f"the judge does not know kernels of type {type(kernel).__name__}.", argument="mechanism")
