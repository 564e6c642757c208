"""Structural properties of mechanisms beyond privacy. Each is defined once, here.

A property is a set of linear rows over the probabilities: sparse index arrays with small integer coefficients, a sense
and a rational right side. The same rows are constraints of a linear program (``prop.rows(n)``), a check that finds the
worst violation and its location (``dc.check(m)``), and a sentence.

The seven are those of [C] (Cormode, Kulkarni, Srivastava, *Constrained Differential Privacy for Count Data*, section
IV-A). The paper prints the transpose: its "row" is one *report*, which here is a column of the matrix, and its
"column" is one *truth*, which here is a row. The codes are the paper's; the sentences state the direction.

To add a property, write its rows and add one entry to the list behind :data:`PROPERTIES`.

>>> import discreet as dc
>>> print(", ".join(f"{code} {p.name}" for code, p in dc.properties.PROPERTIES.items()))
S symmetric, RH row honest, RM row monotone, CH column honest, CM column monotone, F fair, WH weakly honest
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from .channels import Channel
from .errors import InWords, Unsupported, WrongType
from .exact.arrays import FloatArray, IntArray
from .exact.integers import positive_integer
from .exact.tables import Table
from .lists import is_list
from .report import Finding, Json
from .wording import find_name, plain

__all__ = ["PATHOLOGIES", "PROPERTIES", "CheckResult", "Property", "Rows", "resolve"]


#: Largest violation of a property that holds, in matrices of decimals and of irrational probabilities.
TOLERANCE = 1e-9

#: A report is a spike when it is more than this many times as likely as its neighbour on the side of the truth. The
#: paper gives no number; 2 is ours.
SPIKE_RATIO = 2


# ------------------------------------------------------------------------------------------------ rows and results


@dataclass(frozen=True, eq=False)
class Rows:
    """Linear rows over the entries of P, flattened row by row (place = truth * reports + report).

    Row r is: ``sum_k coefficients[k] * P.ravel()[places[r, k]]  sense  right``. Coefficients are small integers,
    one per column of ``places``, or one per row and column.

    Examples
    --------
    >>> fair = PROPERTIES["F"].rows(2)      # P[1, 1] - P[0, 0] = 0 and P[2, 2] - P[0, 0] = 0
    >>> fair.places.tolist(), fair.coefficients.tolist(), fair.sense, fair.right
    ([[4, 0], [8, 0]], [1, -1], '==', Fraction(0, 1))
    """

    places: IntArray
    coefficients: IntArray
    sense: Literal[">=", "=="]
    right: Fraction = Fraction(0)

    def __len__(self) -> int:
        return len(self.places)

    @property
    def starts(self) -> IntArray:
        """The start of each row in ``places.ravel()``: with ``values``, the row-wise form that LP solvers take."""
        return np.arange(0, self.places.size + 1, self.places.shape[1])

    @property
    def values(self) -> FloatArray:
        """The coefficients of all rows, in the order of ``places.ravel()``."""
        return np.broadcast_to(self.coefficients, self.places.shape).astype(np.float64).ravel()

    def excess(self, matrix: FloatArray) -> FloatArray:
        """Return the violation of each row, in floats; negative if it holds with a margin."""
        sides: FloatArray = (self.coefficients * matrix.ravel()[self.places]).sum(axis=1) - float(self.right)
        return np.abs(sides) if self.sense == "==" else -sides

    def exact_excess(self, table: Table, row: int) -> tuple[int, int]:
        """Return the exact violation of one row, as numerator and positive denominator (not reduced)."""
        truths, reports = np.divmod(self.places[row], table.shape[1])
        totals = [table.totals[i] for i in truths.tolist()]
        scale = math.prod(set(totals))
        weights = [table.palette[c] for c in table.codes[truths, reports].tolist()]
        factors = np.broadcast_to(self.coefficients, self.places.shape)[row].tolist()
        side = sum(a * w * (scale // t) for a, w, t in zip(factors, weights, totals, strict=True))
        numerator = side * self.right.denominator - self.right.numerator * scale
        return (abs(numerator) if self.sense == "==" else -numerator), scale * self.right.denominator


@dataclass(frozen=True, repr=False)
class CheckResult(Finding):
    """The result of a check: whether the property holds, and the size and location of the worst violation.

    Its truth value is ``holds``.

    Examples
    --------
    >>> import discreet as dc
    >>> result = dc.check([[0.5, 0.5], [0.25, 0.75]])["F"]
    >>> result.holds, result.violation, result.places
    (False, 0.25, ((1, 1), (0, 0)))
    """

    holds: bool
    code: str
    #: The worst violation of any of its rows, 0 if none: a Fraction for exact tables, a float for decimals.
    violation: Fraction | float
    #: The location of the worst violation, in words; None without one.
    where: str | None
    #: The same location as (truth, report) indices.
    places: tuple[tuple[int, int], ...]
    #: Largest violation that is ignored: 0 for exact tables.
    tolerance: float

    def __bool__(self) -> bool:
        return self.holds

    def to_json(self) -> dict[str, Json]:
        """Return plain JSON values; the violation is an exact fraction if it was decided exactly."""
        return {
            "name": self.name,
            "holds": self.holds,
            "violation": str(self.violation) if self.tolerance == 0 else float(self.violation),
            "where": self.where,
            "tolerance": self.tolerance,
            "sentence": self.sentence,
        }

    def __repr__(self) -> str:
        return f"<{self.code} holds>" if self.holds else f"<{self.code} fails by {float(self.violation):.3g}>"

    def __str__(self) -> str:
        if self.holds:
            return f"{self.code} holds: {self.sentence}"
        return f"{self.code} fails by {float(self.violation):.3g}: {self.where}. Required: {self.sentence}"


@dataclass(frozen=True)
class Property:
    """One structural property: its rows for a number of truths and reports, and its words.

    Examples
    --------
    >>> honest = PROPERTIES["WH"]
    >>> honest.name, honest.reference, honest.rows(4).right
    ('weakly honest', '[C] (13)', Fraction(1, 5))
    """

    code: str
    name: str
    sentence: str
    #: Its definition in the paper.
    reference: str
    build: Callable[[int, int], Rows] = field(repr=False)
    #: True if it compares nearer with further or mirrored values, which labels and cells do not have.
    ordered: bool = False
    #: True if it needs as many reports as truths; otherwise there may be more reports.
    square: bool = False

    def rows(self, n: int | tuple[int, int]) -> Rows:
        """Return the rows for counts 0..n, or for a shape (truths, reports)."""
        shape = n if isinstance(n, tuple) else (positive_integer(n, "n") + 1,) * 2
        misfit = self._misfit(*shape)
        if misfit is not None:
            raise Unsupported(f"{self.code} ({self.name}) does not apply here: {misfit}.", argument="properties")
        return self.build(*shape)

    def _misfit(self, truths: int, reports: int) -> str | None:
        if truths > reports or (self.square and truths != reports):
            condition = "as many reports as truths" if self.square else "every truth among the reports"
            return f"it needs {condition}, and there are {truths} truths and {reports} reports"
        return None

    def why_not(self, channel: Channel) -> str | None:
        """Return the reason why the property does not apply to these spaces, or None."""
        if channel.inputs.is_line and channel.outputs.is_line:
            return self._misfit(*channel.shape)
        if channel.inputs != channel.outputs:
            return f"true {channel.inputs.noun}s and reported {channel.outputs.noun}s are different things"
        return f"{channel.inputs.noun}s have no order" if self.ordered else None

    def examine(self, channel: Channel, tolerance: float | None = None) -> CheckResult:
        """Return the worst violation and its location: exact for exact tables, within ``tolerance`` for floats."""
        rows = self.rows(channel.shape)
        worst: Fraction | float
        worst, row = (
            _worst_float(rows, channel.matrix)
            if channel.table is None
            else _worst_exact(rows, channel.table, channel.screen)
        )
        allowed = _tolerance(channel, tolerance)
        places: tuple[tuple[int, int], ...] = ()
        if worst > 0:
            places = tuple(divmod(place, channel.shape[1]) for place in rows.places[row].tolist())
        where = violation_words(rows, row, channel, places, worst) if places else None
        violation = float(worst) if channel.decimal else worst
        return CheckResult(self.name, worst <= allowed, self.sentence, self.code, violation, where, places, allowed)


def _tolerance(channel: Channel, tolerance: float | None) -> float:
    if tolerance is not None:
        return tolerance
    return TOLERANCE if channel.decimal or channel.table is None else 0.0


def _worst_float(rows: Rows, matrix: FloatArray) -> tuple[float, int]:
    excess = rows.excess(matrix)
    row = int(excess.argmax())
    return max(float(excess[row]), 0.0), row


def _worst_exact(rows: Rows, table: Table, matrix: FloatArray) -> tuple[Fraction, int]:
    """Return the largest exact violation and its row: floats rule rows out, integers decide among the rest.

    Every float entry is within 4 units of 2^-53 (relatively) of its probability, and the products and the sum add
    fewer than one unit per term each; underflow is covered by 1e-300.
    """
    width = rows.places.shape[1]
    excess = rows.excess(matrix)
    size = (np.abs(rows.coefficients) * matrix.ravel()[rows.places]).sum(axis=1) + abs(float(rows.right))
    error = size * ((2 * width + 8) * 2.0**-53) + 1e-300
    least_excess = max(float((excess - error).max()), 0.0)
    doubtful = np.flatnonzero(excess + error > least_excess)
    best, best_scale, best_row = 0, 1, 0
    for row in _distinct(rows, table, doubtful).tolist():
        numerator, scale = rows.exact_excess(table, row)
        if numerator > 0 and numerator * best_scale > best * scale:
            best, best_scale, best_row = numerator, scale, row
    return Fraction(best, best_scale), best_row


def _distinct(rows: Rows, table: Table, candidates: IntArray) -> IntArray:
    """Return one row of each kind: rows with the same weights over the same totals have the same violation."""
    if len(candidates) < 64 or rows.places.shape[1] > 2 or rows.coefficients.ndim > 1:
        return candidates
    numbers = {total: k for k, total in enumerate(dict.fromkeys(table.totals))}
    total_of = np.array([numbers[total] for total in table.totals])
    kinds = (table.codes * np.int64(len(numbers)) + total_of[:, None]).ravel()
    if int(kinds.max()) >= 2**31:  # two of them must fit into one 64-bit key
        kinds = np.unique(kinds, return_inverse=True)[1]
    first, last = kinds[rows.places[candidates, 0]], kinds[rows.places[candidates, -1]]
    key = first * (int(kinds.max()) + 1) + last
    if rows.coefficients.sum() == 0:
        key[first == last] = -1  # equal probabilities cancel
    return candidates[np.unique(key, return_index=True)[1]]


def violation_words(
    rows: Rows, row: int, channel: Channel, places: tuple[tuple[int, int], ...], worst: Fraction | float
) -> str:
    """Return both sides of a violated row in words, with enough digits to show the difference."""
    factors = np.broadcast_to(rows.coefficients, rows.places.shape)[row].tolist()
    left, right = ([(a, p) for a, p in zip(factors, places, strict=True) if a * sign > 0] for sign in (1, -1))

    def value(terms: list[tuple[int, tuple[int, int]]]) -> float:
        return float(sum(abs(a) * channel.probability(p) for a, p in terms))

    def side(terms: list[tuple[int, tuple[int, int]]], digits: int) -> str:
        if len(terms) > 4:
            return f"a sum of {len(terms)} probabilities = {value(terms):.{digits}g}"
        summands = [f"{abs(a) if abs(a) > 1 else ''} {channel.words(p)}".strip() for a, p in terms]
        return f"{' + '.join(summands)} = {value(terms):.{digits}g}"

    sides = value(left), value(right) if right else float(rows.right)
    digits = next((d for d in _DIGITS if f"{sides[0]:.{d}g}" != f"{sides[1]:.{d}g}"), None)
    apart = "" if digits is not None else f" (the difference is {float(worst):.3g})"
    digits = digits or _DIGITS[0]
    relation = "<" if rows.sense == ">=" else "!="
    return f"{side(left, digits)} {relation} {side(right, digits) if right else rows.right}{apart}"


#: Numbers of digits to try, until the two sides of a comparison differ.
_DIGITS = (6, 9, 12, 15, 17)


# ------------------------------------------------------------------------------------------------ the seven

_ALONE, _DIFFERENCE = np.array([1]), np.array([1, -1])


def _off_diagonal(truths: int, reports: int) -> tuple[IntArray, IntArray]:
    """Return all (truth, report) with report != truth."""
    i, j = np.divmod(np.arange(truths * reports), reports)
    off = i != j
    return i[off], j[off]


def _row_honest(truths: int, reports: int) -> Rows:
    i, j = _off_diagonal(truths, reports)
    i, j = i[j < truths], j[j < truths]
    return Rows(np.stack([j * reports + j, i * reports + j], axis=1), _DIFFERENCE, ">=")


def _column_honest(truths: int, reports: int) -> Rows:
    i, j = _off_diagonal(truths, reports)
    return Rows(np.stack([i * reports + i, i * reports + j], axis=1), _DIFFERENCE, ">=")


def _row_monotone(truths: int, reports: int) -> Rows:
    i, j = _off_diagonal(truths, reports)
    nearer = i + np.sign(j - i)  # one step of the truth towards the report
    inside = nearer < truths
    places = np.stack([nearer * reports + j, i * reports + j], axis=1)
    return Rows(places[inside], _DIFFERENCE, ">=")


def _nearer_and_further(truths: int, reports: int) -> IntArray:
    i, j = _off_diagonal(truths, reports)
    nearer = j + np.sign(i - j)  # one step of the report towards the truth
    return np.stack([i * reports + nearer, i * reports + j], axis=1)


def _column_monotone(truths: int, reports: int) -> Rows:
    return Rows(_nearer_and_further(truths, reports), _DIFFERENCE, ">=")


def _no_spikes(truths: int, reports: int) -> Rows:
    return Rows(_nearer_and_further(truths, reports), np.array([SPIKE_RATIO, -1]), ">=")


def _fair(truths: int, reports: int) -> Rows:
    diagonal = np.arange(truths) * (reports + 1)
    # Each against the first, not against the next: a slow drift along the diagonal is then seen in full.
    return Rows(np.stack([diagonal[1:], np.zeros(truths - 1, dtype=np.int64)], axis=1), _DIFFERENCE, "==")


def _weakly_honest(truths: int, reports: int) -> Rows:
    return Rows((np.arange(truths) * (reports + 1))[:, None], _ALONE, ">=", Fraction(1, reports))


def _symmetric(truths: int, reports: int) -> Rows:
    half = np.arange(truths * reports // 2)
    return Rows(np.stack([half, truths * reports - 1 - half], axis=1), _DIFFERENCE, "==")


# fmt: off
_SEVEN = (
    Property("S", "symmetric", "Counting from the other end changes nothing: P[n-i, n-j] = P[i, j].",
             "[C] (14)", _symmetric, ordered=True, square=True),
    Property("RH", "row honest", "No report is likelier under another truth than under the one it names: "
             "P[j, j] >= P[i, j] (down a column here).", "[C] (7)", _row_honest),
    Property("RM", "row monotone", "The further the truth from a report, the less likely that report: "
             "P[i, j] never grows as i moves away from j (down a column here).",
             "[C] (8)", _row_monotone, ordered=True),
    Property("CH", "column honest", "No false report is likelier than the true one: "
             "P[i, i] >= P[i, j] (along a row here).", "[C] (9)", _column_honest),
    Property("CM", "column monotone", "The further a report from the truth, the less likely it is: "
             "P[i, j] never grows as j moves away from i (along a row here).",
             "[C] (10)", _column_monotone, ordered=True),
    Property("F", "fair", "Every truth is reported truly with the same probability: P[i, i] = P[0, 0].",
             "[C] (11)", _fair),
    Property("WH", "weakly honest", "Every truth is reported truly at least as often as by guessing: "
             "P[i, i] >= 1/(n+1).", "[C] (13)", _weakly_honest),
)
# fmt: on

#: Every property by its code, those of [C] first. Truth i, report j, P[i, j] = P(report j | truth i).
PROPERTIES: dict[str, Property] = {p.code: p for p in _SEVEN}


def is_of_the_seven(prop: object) -> bool:
    """Return whether the theorems of [C] apply to it: closed forms, and symmetry under mirror images.

    >>> is_of_the_seven(PROPERTIES["WH"])
    True
    """
    return any(prop == one for one in _SEVEN)


# ------------------------------------------------------------------------------------------------ pathologies


@dataclass(frozen=True)
class NoGaps:
    """The requirement that every report occurs for some truth. [C] calls one that does not a gap (sections I, IV-A).

    It is not a :class:`Property`: "more than zero" is not a closed linear constraint, and [C] section III explains why
    "at least some tiny number" only moves the flaw. The violation is the share of reports that never occur.
    """

    code: str = "no gaps"
    name: str = "no gaps"
    sentence: str = "Every report is given for some truth."
    reference: str = "[C] section I, figure 1"

    def why_not(self, channel: Channel) -> str | None:
        return None

    def examine(self, channel: Channel, tolerance: float | None = None) -> CheckResult:
        allowed = _tolerance(channel, tolerance)
        if channel.table is not None and allowed == 0:
            positive = np.array([weight > 0 for weight in channel.table.palette])[channel.table.codes]
        else:
            positive = channel.matrix > allowed
        gaps = np.flatnonzero(~positive.any(axis=0)).tolist()
        share = Fraction(len(gaps), channel.shape[1])
        names = ", ".join(str(channel.outputs.value(j)) for j in gaps[:5]) + (", ..." if len(gaps) > 5 else "")
        where = f"never reported: {names}" if gaps else None
        violation = share if channel.table is not None else float(share)
        places = tuple((0, j) for j in gaps)
        return CheckResult(self.name, not gaps, self.sentence, self.code, violation, where, places, allowed)


#: The absence of the two flaws in [C] figure 1 and example 1. CM rules out spikes. Spikes, unlike gaps, are linear: "no
#: spikes" can be a requirement of a design.
PATHOLOGIES: dict[str, NoGaps | Property] = {
    "no gaps": NoGaps(),
    "no spikes": Property(
        code="no spikes",
        name="no spikes",
        sentence=f"No report is more than {SPIKE_RATIO} times as likely as its neighbour on the side of the truth: "
        f"{SPIKE_RATIO} P[i, k] >= P[i, j] for k next to j, towards i.",
        reference="[C] section I, example 1",
        build=_no_spikes,
        ordered=True,
    ),
}


# ------------------------------------------------------------------------------------------------ reading names


def resolve(items: str | Property | Iterable[str | Property]) -> tuple[Property, ...]:
    """Return linear properties from codes such as "WH", several as ["WH", "CM"] or "WH+CM", or objects.

    Examples
    --------
    >>> [p.name for p in resolve("WH+CM")]
    ['weakly honest', 'column monotone']
    """
    linear = {code: p for code, p in {**PROPERTIES, **PATHOLOGIES}.items() if isinstance(p, Property)}
    return tuple(find(item, linear, Property) for item in split_codes(items))


def split_codes(items: object) -> list[Any]:
    """Return a list of the codes or objects: "WH+CM", "WH,CM" and "WH CM" are two codes."""
    if not isinstance(items, str):
        return list(items) if is_list(items) else [items]
    codes = {plain(code) for code in PROPERTIES}
    separate: list[Any] = []
    for part in re.split("[,;+]", items):
        words = re.sub(r"\s*([<>]?=)\s*", r"\1", part).split()
        several = len(words) > 1 and all(plain(word) in codes or re.search(r"\w[<>]?=", word) for word in words)
        separate += words if several else [part.strip()]
    return separate


def find(item: Any, subjects: dict[str, Any], kind: Any = Property | NoGaps, others: str = "") -> Any:
    """Return the property with a code or a name, or an object itself; ``others`` are further choices, in words."""
    if isinstance(item, str):
        codes = [f"{code} ({p.name})" if code != p.name else repr(code) for code, p in subjects.items()]
        names, text = {p.name: code for code, p in subjects.items()}, ", ".join(codes) + others
        return subjects[find_name(item, subjects, "the code of a property", names, listed=text, argument="properties")]
    if isinstance(item, kind):
        return item
    raise WrongType.must_be(
        "a property", "a code such as 'WH' or a Property object", InWords(type(item).__name__), argument="properties"
    )
