"""The mechanism: the one object that all packages share.

A space of true values, a space of reported values, and the exact probability of each report given each truth. Rows are
truths and columns are reports, everywhere.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .errors import ON_A_RANGE, InvalidInput, InWords, Unsupported, WrongType
from .exact.arrays import Array, FloatArray, as_floats
from .exact.base import Kernel
from .exact.bits import Bits, SecureBits, seeded_bits
from .exact.integers import is_integer, positive_integer
from .exact.kernels import Noise
from .exact.products.kernel import Product
from .exact.rationals import claimed, text_up
from .exact.sampling import DRAWS_PER_CHUNK, Sampler
from .lists import is_list, read_list
from .privacy.certificate import Certificate, certify, certify_at
from .privacy.notions import BETWEEN
from .privacy.verify import verify
from .report import MAX_REPR, Fact, Json, Picture, Report, Result, Section, Terms, one_line
from .spaces import Counts, Integers, ProductSpace, Space, completed, space_from

_SECURE = SecureBits()

#: Maximum number of truths and of reports for which a report shows all probabilities.
_MAX_SHOWN = 60

#: The format and the version in a mechanism file.
FORMAT, VERSION = "discreet mechanism", 1


def fingerprint(content: Mapping[str, object]) -> str:
    """Return a digest of the rest of a file, independent of its layout. It detects damage and is not a signature."""
    rest = {key: value for key, value in content.items() if key != "sha256"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


@dataclass(frozen=True, eq=False, repr=False)
class Mechanism(Result):
    """A proved mechanism: true value in, report out.

    Made by the families (:func:`discreet.geometric` and the others), :func:`discreet.from_matrix` and
    :func:`discreet.load`, which get its certificate from the judge.

    Attributes
    ----------
    inputs, outputs
        The spaces of true and of reported values.
    kernel
        The exact object that is sampled.
    certificate
        The proved guarantee.
    family, parameters
        Its family and the exact parameters, which a file can hold instead of the whole table.
    closed_form
        True if family and parameters determine it, so that a file does not hold the exact integers.
    factors
        The mechanisms of a product (``m1 * m2``); empty for others.

    Examples
    --------
    >>> import discreet as dc
    >>> m = dc.geometric(4, alpha="1/2")
    >>> m.probability(2, 2), m.simulate([0, 2, 4], seed=1).shape
    (Fraction(1, 3), (3,))
    """

    inputs: Space
    outputs: Space
    kernel: Kernel
    certificate: Certificate
    family: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    closed_form: bool = False
    factors: tuple[Mechanism, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "inputs", completed(self.inputs))
        object.__setattr__(self, "outputs", completed(self.outputs))
        object.__setattr__(self, "parameters", MappingProxyType(dict(self.parameters)))

    def __getstate__(self) -> dict[str, Any]:
        """Return only the fields: samplers and matrices are made again when needed."""
        state = {f.name: getattr(self, f.name) for f in fields(self)}
        return {**state, "parameters": dict(self.parameters)}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self.__post_init__()

    def __eq__(self, other: object) -> bool:
        """Return whether the other mechanism has the same values, exact numbers and guarantee.

        The family does not matter: ``geometric(5, epsilon=1).on(Counts(9)) == geometric(9, epsilon=1)``.
        """
        if not isinstance(other, Mechanism):
            return NotImplemented
        return self is other or (
            self._guarantee == other._guarantee and self.kernel.to_json() == other.kernel.to_json()
        )

    def __hash__(self) -> int:
        return hash(self._guarantee)  # without the numbers, which may be many

    @property
    def _guarantee(self) -> tuple[Any, ...]:
        """The spaces and the proved guarantee."""
        return self.inputs, self.outputs, self.certificate.notion, self.certificate.epsilon, self.certificate.delta

    # ---------------------------------------------------------------- probabilities

    def probability(self, x: object, y: object) -> Fraction | float:
        """Return P(report y | truth x): exact if rational, a double for the discrete Gaussian."""
        i, j = self.inputs.index(x), self.outputs.index(y)
        return self.kernel.probability(i, j) if self.kernel.rational else self.kernel.approximate(i, j)

    @cached_property
    def matrix(self) -> FloatArray:
        """All probabilities as doubles, a row for each truth (read-only, computed on first use)."""
        matrix = self.kernel.matrix()
        matrix.flags.writeable = False
        return matrix

    def forward(self, distribution: ArrayLike) -> FloatArray:
        """Return the distribution of reports when truths have this one: p P, without the matrix if possible."""
        return self.kernel.forward(self._vector(distribution, self.inputs, "a distribution of truths"))

    def backward(self, values: ArrayLike) -> FloatArray:
        """Return, for each truth, the mean of these values of the report: P v, without the matrix if possible."""
        return self.kernel.backward(self._vector(values, self.outputs, "values of the reports"))

    @staticmethod
    def _vector(values: ArrayLike, space: Space, what: str) -> FloatArray:
        if space.size is None:
            raise Unsupported(f"{what}: there are infinitely many.", f"Choose a range with {ON_A_RANGE} first.")
        try:
            vector = as_floats(values)
        except (TypeError, ValueError):
            raise WrongType.must_be(what, "a list of numbers", InWords(type(values).__name__)) from None
        if vector.shape != (space.size,):
            raise InvalidInput.must_be(what, f"{space.size} numbers", InWords(f"an array of shape {vector.shape}"))
        if not np.isfinite(vector).all():
            raise InvalidInput.must_be(what, "finite numbers", InWords("NaN or infinity"))
        return vector

    # ---------------------------------------------------------------- drawing

    @cached_property
    def _sampler(self) -> Sampler:
        return self.kernel.sampler()

    def release(self, x: object) -> Any:
        """Report noisy values for true ones, exactly and with cryptographically secure randomness.

        Parameters
        ----------
        x
            One true value, or a list, array or column (pandas, polars, Arrow) of them. Never a seed: results that
            can be repeated are not private; for experiments there is :meth:`simulate`.

        Returns
        -------
        int or array
            One report (an int, or a label) for one value; for many, an int64 array (object array of labels) of the same
            shape.
        """
        if type(x) is int:
            return self.outputs.value(self._sampler.draw_one(self.inputs.index(x), _SECURE))
        return self._draw(x, _SECURE)

    def simulate(self, x: object, *, seed: int | np.random.Generator, size: int | tuple[int, ...] | None = None) -> Any:
        """Draw as :meth:`release`, from a seed, for experiments.

        Parameters
        ----------
        x
            One true value, or many, as for :meth:`release`.
        seed
            A whole number: the same seed gives the same reports everywhere. Or a generator of NumPy, from which each
            call takes a seed of its own.
        size
            The shape of the reports, to which the true values are broadcast; by default that of ``x``.

        Examples
        --------
        >>> import discreet as dc, numpy as np
        >>> m = dc.geometric(10, epsilon=1)
        >>> m.simulate(5, seed=np.random.default_rng(1), size=(2, 3)).shape
        (2, 3)
        """
        return self._draw(x, seeded_bits(seed), size)

    def _draw(self, x: object, bits: Bits, size: int | tuple[int, ...] | None = None) -> Any:
        indices = self.inputs.indices(x)
        if size is not None:
            indices = _broadcast(indices, size)
        if indices.ndim == 0:
            return self.outputs.value(self._sampler.draw_one(int(indices), bits))
        truths = indices.reshape(-1)
        reports = np.empty(truths.size, np.int64)
        sampler = self._sampler
        for start in range(0, truths.size, DRAWS_PER_CHUNK):
            reports[start : start + DRAWS_PER_CHUNK] = sampler.draw(truths[start : start + DRAWS_PER_CHUNK], bits)
        return self.outputs.values(reports.reshape(indices.shape))

    # ---------------------------------------------------------------- relatives

    def on(self, space: Counts | Integers, clamp: bool = True) -> Mechanism:
        """Return the same noise for counts in another range.

        Parameters
        ----------
        space
            ``Counts(n)``, or ``Integers(...)`` for counts without a known largest one.
        clamp
            Move reports outside the range to its nearest end (post-processing: it cannot weaken the guarantee, and
            it introduces bias near the ends). Otherwise reports may be any integers.
        """
        noise = self.kernel.noise
        if noise is None:
            raise Unsupported(
                f"{self.family} does not add the same noise to every count, so its range cannot be changed.",
                "Build it for the range that you need.",
            )
        ends = space.ends if isinstance(space, Space) else None
        if ends is None:
            raise InvalidInput.must_be("space", "a range of counts, Counts(n) or Integers(...)", space)
        if noise.first_laws and noise.truths[0] != ends[0]:
            raise Unsupported(f"this noise has its own laws from {noise.truths[0]} on.", "Start the range there.")
        outputs: Space = space if clamp else Integers()
        kernel = Noise(noise.law, ends, ends if clamp else (None, None), noise.first_laws)
        before = self.certificate
        details = dict(before.details)
        if before.delta:  # a claim that needs a delta is judged again at its epsilon
            certificate = certify_at(kernel, space, claimed(before.epsilon), before.notion, details=details)
        else:
            certificate = certify(kernel, space, before.notion, details=details)
        certificate = replace(certificate, unproved=before.unproved)
        parameters = {**self.parameters, "on": space.to_json(), "clamp": clamp}
        return Mechanism(space, outputs, kernel, certificate, self.family, parameters, self.closed_form)

    def __mul__(self, other: Mechanism) -> Mechanism:
        """Return both mechanisms at once, for two values of one person that are perturbed independently.

        True values and reports are pairs (triples for three factors, and so on). The guarantee is local: between any
        two pairs, epsilon is the sum of both between any two of their values, exactly.

        Examples
        --------
        >>> import discreet as dc
        >>> both = dc.randomized_response(["yes", "no"], alpha="1/3") * dc.randomized_response(3, alpha="1/2")
        >>> both.certificate.ratio, both.probability(("yes", 0), ("yes", 2))
        (Fraction(6, 1), Fraction(3, 16))
        """
        if not isinstance(other, Mechanism):
            return NotImplemented
        factors = tuple(part for one in (self, other) for part in (one.factors or (one,)))
        inputs = ProductSpace(tuple(one.inputs for one in factors))
        outputs = ProductSpace(tuple(one.outputs for one in factors))
        kernels = tuple(kernel for one in factors for kernel in one.kernel.factors)
        kernel = Product(kernels, tuple(zip(inputs.shape, outputs.shape, strict=True)))
        how = "the largest ratios of the parts multiply, and each was decided in integers"
        certificate = certify(kernel, inputs, "local", how=how)
        return Mechanism(inputs, outputs, kernel, certificate, "product", {}, factors=factors)

    # ---------------------------------------------------------------- words

    @cached_property
    def local_epsilon(self) -> float:
        """The epsilon between any two truths, for people whose devices use this mechanism on their values."""
        return verify(self, "local").epsilon

    def save(self, path: str | Path) -> None:
        """Write the mechanism to a JSON file that :func:`discreet.load` rebuilds and verifies.

        The file holds the exact parameters of a closed form, and the exact integers of other mechanisms.
        """
        Path(path).write_text(json.dumps(self.to_json(), indent=1) + "\n", encoding="utf-8")

    def to_json(self) -> dict[str, Json]:
        """Return the content of a file as plain JSON values: exact parameters or integers, the claim, and a digest."""
        content: dict[str, Json] = {
            "format": FORMAT,
            "version": VERSION,
            "family": self.family,
            "inputs": self.inputs.to_json(),
            "outputs": self.outputs.to_json(),
            "certificate": replace(self.certificate, unproved=()).to_json(),  # readers prove what they can
            "parameters": dict(self.parameters),
        }
        if self.factors:
            content["factors"] = [one.to_json() for one in self.factors]
        elif not self.closed_form:
            content["kernel"] = self.kernel.to_json()
        return {**content, "sha256": fingerprint(content)}

    def report(self) -> Report:
        """Return its parameters and its guarantee, with all probabilities if they are few."""
        certificate = self.certificate
        delta = f", with δ = {text_up(certificate.delta, 4)}" if certificate.delta else ""
        small = max(self.inputs.size or math.inf, self.outputs.size or math.inf) <= _MAX_SHOWN
        picture = (Section(parts=(of_probabilities(self),), depth="pages"),) if small else ()
        parameters = ((name.replace("_", " "), _brief(value, name)) for name, value in self.parameters.items())
        lines = (("truths", repr(self.inputs)), ("reports", repr(self.outputs)))
        return Report(
            self.title,
            "Mechanism",
            (Fact(f"ε = {text_up(certificate.epsilon)}", f"{BETWEEN[certificate.notion]}{delta}"),),
            (
                Section(parts=(Terms((("proved", str(certificate)),)),)),
                *picture,
                Section("How it was made", (Terms((*lines, *parameters)),), "pages"),
                *(one for one in certificate.report().sections if one.depth == "folded"),
            ),
        )

    @property
    def title(self) -> str:
        """The mechanism in a few words.

        >>> import discreet as dc
        >>> dc.explicit_fair(8, alpha="10/11").title
        'Explicit fair, counts 0 to 8, epsilon 0.09532'
        """
        if self.factors:
            together = f"together epsilon {text_up(self.certificate.epsilon, 4)}"
            return f"{' × '.join(one.title for one in self.factors)}; {together}"
        words = self.family.replace("two_sided", "two-sided").replace("_", " ")
        family = re.sub(r"laplace|gaussian", lambda name: name[0].capitalize(), words[:1].upper() + words[1:])
        where, certificate = self.inputs.title, self.certificate
        if math.isinf(certificate.epsilon):
            return f"{family}, {where}"
        per = " per unit of distance" if certificate.notion == "metric" else ""
        return f"{family}, {where}, epsilon {text_up(certificate.epsilon, 4)}{per}"

    def __repr__(self) -> str:
        words = ", ".join(f"{name}={_brief(value, name)}" for name, value in self.parameters.items())
        words = ", ".join(one.family for one in self.factors) or words
        delta = f", delta {text_up(self.certificate.delta, 4)}" if self.certificate.delta else ""
        privacy = f"{self.certificate.notion} epsilon {text_up(self.certificate.epsilon)}{delta}"
        return f"<{self.family}({one_line(words, MAX_REPR)}): {privacy}>"


def _broadcast(indices: Array, size: object) -> Array:
    """Return the true values in the shape of the reports that are asked for."""
    lengths = read_list(size, "size", "whole numbers") if is_list(size) else [size]
    shape = tuple(positive_integer(length, "size", least=0) for length in lengths)
    try:
        return np.broadcast_to(indices, shape)
    except ValueError:
        raise InvalidInput.must_be(
            "size", f"a shape to which values of shape {indices.shape} can be broadcast", size
        ) from None


def of_probabilities(subject: object) -> Picture:
    """Return all probabilities of a mechanism or a table, as a picture with a caption."""
    caption = "A row for each true value: the probability of every report. What gives most away is framed."
    return Picture("probabilities", {"mechanism": subject}, caption)


def _brief(value: object, name: str = "") -> str:
    """Return a parameter for people: spaces by name, long numbers shortened, epsilon as people write it."""
    if name == "epsilon" and isinstance(value, str):
        decimal = f"{float(Fraction(value)):.12g}"
        return decimal if Fraction(decimal) == Fraction(value) else value
    if name == "alpha" and isinstance(value, str) and len(value) > 9:  # from an epsilon, which is shown next to it
        return f"{float(Fraction(value)):.6g}"
    text = repr(space_from(value)) if isinstance(value, dict) and "kind" in value else str(value)
    return text if len(text) <= 60 else f"{text[:40]}...{text[-10:]}"


def finish(
    family: str,
    inputs: Space,
    outputs: Space,
    kernel: Kernel,
    parameters: Mapping[str, object],
    *,
    notion: str | None = None,
    epsilon: Fraction | None = None,
    ratio: Fraction | None = None,
    with_delta: bool = False,
    how: str = "",
    details: Mapping[str, object] | None = None,
    closed_form: bool = False,
) -> Mechanism:
    """Return the mechanism of a kernel, certified by the judge: the last step of every family.

    ``with_delta``: epsilon holds only with some delta, and the certificate states the least one. ``closed_form``: the
    mechanism can be rebuilt from these parameters (``Family.saved``).
    """
    if with_delta:
        assert epsilon is not None
        certificate = certify_at(kernel, inputs, epsilon, notion, how=how, details=details)
    else:
        certificate = certify(kernel, inputs, notion, epsilon=epsilon, ratio=ratio, how=how, details=details)
    return Mechanism(inputs, outputs, kernel, certificate, family, dict(parameters), closed_form)


def read_count(n: object) -> int:
    """Return the largest count of a family on 0..n, from a number or a Counts space."""
    if isinstance(n, Counts):
        return n.n
    if not is_integer(n):
        raise InvalidInput.must_be("n", "a positive integer or Counts(n)", n, meaning="the largest count")
    return Counts(int(n)).n  # type: ignore[call-overload]
