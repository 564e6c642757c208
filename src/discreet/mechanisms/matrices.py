"""Mechanisms from matrices of probabilities: somebody else's, a solver's, or the exponential mechanism's."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from ..errors import InvalidInput, InWords, NotPrivate, WrongType, arg
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

#: More uniform noise than this changes the mechanism: refuse and say so.
MOST_MIXING = Fraction(1, 100)


def from_matrix(
    matrix: Any,
    privacy: Any = None,
    *,
    inputs: Space | None = None,
    outputs: Space | None = None,
    most_mixing: Number = MOST_MIXING,
) -> Mechanism:
    """A certified mechanism from any matrix of probabilities.

    Floats cannot be sampled exactly, and rounding them naively destroys privacy. The matrix is mixed with a tiny share
    of uniform noise and rounded to integers over 2^62, so that the wanted guarantee holds exactly for what is sampled;
    the certificate says how much was mixed in and how far any row moved.

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
    wanted = privacy if isinstance(privacy, Privacy) else Privacy(privacy)
    most = as_fraction(most_mixing, "most_mixing")
    if not 0 <= most < 1:
        raise InvalidInput.must_be("most_mixing", "a share of at least 0 and below 1", most_mixing)
    kernel, certificate = _certified(table, space, wanted, most)
    return Mechanism(space, reports, kernel, certificate, "from_matrix")


def _decimals(table: Table) -> dict[str, Any]:
    """What a certificate says of decimals: their properties are checked as rounded numbers."""
    return {"decimals": True} if getattr(table, "decimal", False) else {}


def _certified(table: Table, space: Space, wanted: Privacy, most: Fraction) -> tuple[Table, Certificate]:
    """Mix in as little uniform noise as the judge accepts, starting from what the formula says."""
    epsilon, delta = as_fraction(wanted.epsilon, "epsilon"), as_fraction(wanted.delta, "delta")
    if epsilon <= 0:
        raise InvalidInput.must_be("epsilon", "positive here", wanted.epsilon)
    notion = read_notion(wanted.notion, space)
    outcomes = table.shape[1]
    step = epsilon * space.unit if notion == "metric" else epsilon  # the exponent of the nearest pair
    excess = Fraction(0)
    if not delta and space.as_grid is None:
        excess = Fraction(verify(table, notion, inputs=space).single_event_delta(epsilon))
    mixing = Fraction(0) if delta else mixing_weight(outcomes, step, excess)
    while mixing <= most:
        kernel = mix_and_round(table, mixing)
        if Verdict(notion, space, True, evidence_for(kernel, space, notion)).holds(epsilon, delta):
            moved = _largest_move(table, kernel)
            details = {"mixing": float_up(mixing), "largest_total_variation": moved, "rounded_to_bits": 62}
            details |= _decimals(table)
            claim = epsilon if delta else None
            return kernel, certify(kernel, space, notion, epsilon=claim, delta=delta, details=details)
        mixing = max(mixing * 8, mixing_weight(outcomes, step, Fraction(0)))
    tight = verify(table, notion, inputs=space)
    raise NotPrivate(
        f"the matrix does not have epsilon = {float(epsilon):.6g}, delta = {float(delta):.3g} under the {notion} "
        f"notion, not even nearly: {tight}. Mixing in more than {float(most):.3g} of uniform noise would be needed.",
        f"Pass a larger epsilon, or {arg('most_mixing')} to allow it.",
    )


def _largest_move(before: Table, after: Table) -> float:
    """The largest total variation between a row given and the row sampled: no loss in [0, 1] changes by more."""
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
    """The exponential mechanism: report y with probability proportional to exp(epsilon score(x, y) / (2 sensitivity)).

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
        How far a score can move between adjacent truths; worked out from the matrix if not given, and checked.

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
    needed = _sensitivity(array, space)
    given = needed if sensitivity is None else float(as_fraction(sensitivity, "sensitivity"))
    if given < needed * (1 - 1e-9):  # differences of decimals are not exact in doubles; the judge decides in the end
        raise InvalidInput.must_be(
            "sensitivity", f"at least {needed:.9g}, the largest change of a score between adjacent truths", sensitivity
        )
    given = max(given, needed)
    if given <= 0:
        raise InvalidInput("all truths have the same scores: there is nothing to report about them.", argument="scores")
    exponents = float(eps) / (2 * given) * array
    weights = np.exp(exponents - exponents.max(axis=1, keepdims=True))
    # a sum that does not depend on its order: a symmetric matrix of scores gives a symmetric mechanism
    probabilities = weights / np.array([math.fsum(row) for row in weights.tolist()])[:, None]
    notion = "central" if space.is_line else "local"
    made = from_matrix(probabilities, Privacy(eps, 0, notion), inputs=space, outputs=outputs)
    return Mechanism(made.inputs, made.outputs, made.kernel, made.certificate, "exponential")


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
    """The exponential mechanism on the counts 0..n whose score falls with the distance: -|x - y|.

    Examples
    --------
    >>> exponential_by_distance(4, epsilon=1).certificate.epsilon <= 1
    True
    """
    counts = np.arange(read_count(n) + 1)
    return exponential(-np.abs(counts[:, None] - counts[None, :]), epsilon=epsilon, sensitivity=1)


def _read_scores(scores: object) -> Any:
    given = scores.to_numpy() if hasattr(scores, "to_numpy") else scores
    try:
        array = np.asarray(given)
    except ValueError:
        raise InvalidInput(
            "scores must be a matrix: every row needs the same number of columns.", argument="scores"
        ) from None
    if array.dtype.kind in "OUS" and array.ndim == 2 and not isinstance(given, np.ma.MaskedArray):
        array = _exact_scores(array)
    if isinstance(given, np.ma.MaskedArray) or array.dtype.kind not in "fiu":
        raise WrongType.must_be(
            "scores", "a matrix of numbers, not masked", InWords(f"{type(given).__name__} of {array.dtype} values")
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
    """Fractions, decimals and numbers written as text, as the doubles nearest to them."""
    return np.array(
        [
            [float(as_fraction(value, f"the score at row {i}, column {j}")) for j, value in enumerate(row)]
            for i, row in enumerate(array.tolist())
        ]
    )


def _sensitivity(scores: Any, space: Space) -> float:
    if space.is_line:
        return float(np.abs(np.diff(scores, axis=0)).max())
    return float((scores.max(axis=0) - scores.min(axis=0)).max())
