"""Mechanisms from matrices of probabilities: the user's, a solver's, or the exponential mechanism's."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from ..errors import InvalidInput, InWords, NotPrivate, WrongType, arg
from ..exact.arrays import as_float
from ..exact.rationals import Number, as_fraction, float_up, read_epsilon
from ..exact.rounding import mix_and_round, mixing_weight
from ..exact.tables import Table
from ..mechanism import Mechanism, finish, read_count
from ..privacy.certificate import Certificate, Privacy, certify
from ..privacy.matrices import names_of, read_matrix
from ..privacy.notions import read_notion
from ..privacy.user_spaces import refuse_other_than_space
from ..privacy.verify import Verdict, evidence_for, verify
from ..spaces import Counts, Space, completed, is_space
from .metric import read_metric_space, squares_of, table_of_doubles

#: Largest share of uniform noise mixed in by default: more would change the mechanism, so it is refused.
MAX_MIXING_SHARE = Fraction(1, 100)


def from_matrix(
    matrix: Any,
    privacy: Any = None,
    *,
    inputs: Space | None = None,
    outputs: Space | None = None,
    most_mixing: Number = MAX_MIXING_SHARE,
) -> Mechanism:
    """Return a certified mechanism from any matrix of probabilities.

    Floats cannot be sampled exactly, and rounding them naively destroys privacy. The matrix is mixed with a tiny share
    of uniform noise and rounded to integers over 2^62, so that the guarantee holds exactly for the integers that are
    sampled; the certificate states the share and the largest change of a row.

    Parameters
    ----------
    matrix
        Rows are truths, columns reports; each row adds up to one. Or an exact ``Table``, as files are read into.
    privacy
        The guarantee to keep: an epsilon, or ``Privacy(epsilon, delta, notion)``. Without it, the matrix is sampled as
        its decimals stand and the certificate states what they prove.
    inputs, outputs
        The spaces. If not given, labels where the rows of a data frame have names other than consecutive numbers, else
        ``Counts(rows - 1)`` and ``Counts(columns - 1)``.
    most_mixing
        Refuse when more uniform noise than this share would be needed.

    Examples
    --------
    >>> m = from_matrix([[0.7310585786300049, 0.2689414213699951], [0.2689414213699951, 0.7310585786300049]], privacy=1)
    >>> m.certificate.epsilon <= 1
    True
    """
    table, notes = (matrix, ()) if isinstance(matrix, Table) else read_matrix(matrix)
    rows, columns = table.shape
    if inputs is not None:
        refuse_other_than_space(inputs)
        inputs = completed(inputs)
    names = names_of(table)
    space = names.inputs(rows, inputs)
    reports = names.outputs(columns, space) if outputs is None else outputs
    if space.size != rows or reports.size != columns:
        raise InvalidInput(
            f"the matrix is {rows} x {columns}, but the spaces have {space.size} truths and {reports.size} reports.",
            "Give a row for each truth and a column for each report.",
            argument="matrix",
        )
    if privacy is None:
        details = {**({"rows_normalised": True} if notes else {}), **_decimals(table)}
        certificate = certify(table, space, details=details)
        return Mechanism(space, reports, table, certificate, "from_matrix")
    guarantee = privacy if isinstance(privacy, Privacy) else Privacy(privacy)
    largest = as_fraction(most_mixing, "most_mixing")
    if not 0 <= largest < 1:
        raise InvalidInput.must_be("most_mixing", "a share of at least 0 and below 1", most_mixing)
    kernel, certificate = _certified(table, space, guarantee, largest)
    return Mechanism(space, reports, kernel, certificate, "from_matrix")


def _decimals(table: Table) -> dict[str, Any]:
    """Return the entry of a certificate for decimals: their properties are checked as rounded numbers."""
    return {"decimals": True} if getattr(table, "decimal", False) else {}


def _certified(table: Table, space: Space, guarantee: Privacy, largest: Fraction) -> tuple[Table, Certificate]:
    """Mix in as little uniform noise as the judge accepts, starting from the share of the formula."""
    epsilon, delta = as_fraction(guarantee.epsilon, "epsilon"), as_fraction(guarantee.delta, "delta")
    if epsilon <= 0:
        raise InvalidInput.must_be("epsilon", "positive here", guarantee.epsilon)
    notion = read_notion(guarantee.notion, space)
    outcomes = table.shape[1]
    step = epsilon * space.unit if notion == "metric" else epsilon  # the exponent of the nearest pair
    excess = Fraction(0)
    if not delta and space.as_grid is None:
        excess = Fraction(verify(table, notion, inputs=space).single_event_delta(epsilon))
    mixing = Fraction(0) if delta else mixing_weight(outcomes, step, excess)
    while mixing <= largest:
        kernel = mix_and_round(table, mixing)
        if Verdict(notion, space, True, evidence_for(kernel, space, notion)).holds(epsilon, delta):
            largest_move = _largest_move(table, kernel)
            details = {"mixing": float_up(mixing), "largest_total_variation": largest_move, "rounded_to_bits": 62}
            details |= _decimals(table)
            claim = epsilon if delta else None
            return kernel, certify(kernel, space, notion, epsilon=claim, delta=delta, details=details)
        mixing = max(mixing * 8, mixing_weight(outcomes, step, Fraction(0)))
    tight = verify(table, notion, inputs=space)
    raise NotPrivate(
        f"the matrix does not have epsilon = {float(epsilon):.6g}, delta = {float(delta):.3g} under the {notion} "
        f"notion, not even nearly: {tight}. Mixing in more than {float(largest):.3g} of uniform noise would be needed.",
        f"Pass a larger epsilon, or {arg('most_mixing')} to allow it.",
    )


def _largest_move(before: Table, after: Table) -> float:
    """Return the largest total variation between an original row and the sampled one.

    The expected value of a loss in [0, 1] changes by no more.
    """
    rounding = (before.shape[1] + 8) * 2.0**-52
    return float(np.abs(before.matrix() - after.matrix()).sum(axis=1).max() / 2) + rounding


def exponential(
    scores: object,
    *,
    epsilon: Number,
    sensitivity: Number | None = None,
    inputs: Space | None = None,
    outputs: Space | None = None,
) -> Mechanism:
    """Return the exponential mechanism, with report probabilities ~ exp(epsilon score(x, y) / (2 sensitivity)).

    The factor 2 pays for the normaliser, which also changes with the truth; where it changes little the tight epsilon
    in the certificate is smaller than the one asked for.

    Parameters
    ----------
    scores
        A finite space with a distance: nearer reports are better, and epsilon is per unit of distance. Or a matrix: how
        good each report (column) is for each truth (row); larger is better. Numbers, Fractions, or
        numbers as text ("1/3").
    epsilon
        The guarantee asked for.
    sensitivity
        The largest change of a score between adjacent truths; by default computed from the matrix. It is checked.
    inputs, outputs
        The spaces of the rows and the columns; by default counts.

    References
    ----------
    McSherry and Talwar 2007.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(5)
    >>> m = exponential(-abs(x[:, None] - x[None, :]), epsilon=1)
    >>> m.certificate.epsilon <= 1
    True
    """
    eps = read_epsilon(epsilon)
    if is_space(scores):
        return _exponential_of_distance(scores, eps, sensitivity, inputs if outputs is None else outputs)
    array = _read_scores(scores)
    space = Counts(array.shape[0] - 1) if inputs is None else inputs
    least = _sensitivity(array, space)
    scale = least if sensitivity is None else as_float(as_fraction(sensitivity, "sensitivity"))
    if scale < least * (1 - 1e-9):  # differences of decimals err in doubles; the judge decides in the end
        raise InvalidInput.must_be(
            "sensitivity", f"at least {least:.9g}, the largest change of a score between adjacent truths", sensitivity
        )
    scale = max(scale, least)
    if scale <= 0:
        raise InvalidInput("all truths have the same scores: there is nothing to report about them.", argument="scores")
    exponents = float(eps) / (2 * scale) * array
    weights = np.exp(exponents - exponents.max(axis=1, keepdims=True))
    # a sum that does not depend on its order: a symmetric matrix of scores gives a symmetric mechanism
    probabilities = weights / np.array([math.fsum(row) for row in weights.tolist()])[:, None]
    notion = "central" if space.is_line else "local"
    mechanism = from_matrix(probabilities, Privacy(eps, 0, notion), inputs=space, outputs=outputs)
    return Mechanism(mechanism.inputs, mechanism.outputs, mechanism.kernel, mechanism.certificate, "exponential")


def _exponential_of_distance(space: object, epsilon: Fraction, *others: object) -> Mechanism:
    """P(y | x) proportional to exp(-epsilon d(x, y) / 2), which has epsilon per unit of distance."""
    if any(one is not None for one in others):
        raise InvalidInput("the distance of the space is the score.", "Give the space alone.", argument="scores")
    values = read_metric_space(space)
    far = np.sqrt(squares_of(values).astype(float)) * float(values.unit)
    # lowered by more than rounding can cost, so that nothing needs to be mixed in
    weights = np.exp(-float(epsilon) * (1 - 2.0**-30) / 2 * far)
    kernel = table_of_doubles(weights)
    return finish("exponential", values, values, kernel, {"epsilon": str(epsilon)}, notion="metric", epsilon=epsilon)


def exponential_by_distance(n: object, *, epsilon: Number) -> Mechanism:
    """Return the exponential mechanism on the counts 0..n whose score falls with the distance: -|x - y|.

    Examples
    --------
    >>> exponential_by_distance(4, epsilon=1).certificate.epsilon <= 1
    True
    """
    counts = np.arange(read_count(n) + 1)
    return exponential(-np.abs(counts[:, None] - counts[None, :]), epsilon=epsilon, sensitivity=1)


def _read_scores(scores: object) -> Any:
    source = scores.to_numpy() if hasattr(scores, "to_numpy") else scores
    try:
        array = np.asarray(source)
    except ValueError:
        raise InvalidInput(
            "scores must be a matrix: every row needs the same number of columns.", argument="scores"
        ) from None
    if array.dtype.kind in "OUS" and array.ndim == 2 and not isinstance(source, np.ma.MaskedArray):
        array = _exact_scores(array)
    if isinstance(source, np.ma.MaskedArray) or array.dtype.kind not in "fiu":
        raise WrongType.must_be(
            "scores", "a matrix of numbers, not masked", InWords(f"{type(source).__name__} of {array.dtype} values")
        )
    if array.ndim != 2 or min(array.shape) < 2:
        raise InvalidInput.must_be(
            "scores", "a matrix of two or more rows (truths) and columns (reports)", InWords(f"shape {array.shape}")
        )
    if not np.isfinite(array).all():
        row, column = np.argwhere(~np.isfinite(array))[0]
        raise InvalidInput(
            f"scores must be finite numbers; row {row}, column {column} is {array[row, column]}.", argument="scores"
        )
    return array.astype(float)


def _exact_scores(array: Any) -> Any:
    """Return fractions, decimals and numbers in text as the doubles nearest to them."""
    return np.array(
        [
            [as_float(as_fraction(value, f"the score at row {i}, column {j}")) for j, value in enumerate(row)]
            for i, row in enumerate(array.tolist())
        ]
    )


def _sensitivity(scores: Any, space: Space) -> float:
    if space.is_line:
        return float(np.abs(np.diff(scores, axis=0)).max())
    return float((scores.max(axis=0) - scores.min(axis=0)).max())
