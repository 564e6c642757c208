"""Designs on any space under any notion: the least expected loss among all mechanisms that are private.

Under the metric notion this is the optimal mechanism of Bordenabe, Chatzikokolakis and Palamidessi (2014) for
geo-indistinguishability (d-privacy), with an exact certificate: the table is proof pair by pair in integers, its cost
is worked out from its integers, and a lower bound follows from dual values by weak duality.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ... import losses, requirements, utility
from ...channels import Channel
from ...checking import check
from ...errors import InvalidInput, InWords, NotCertified, NotPrivate, Unsupported, arg
from ...exact.arrays import FloatArray
from ...exact.rationals import Number, as_fraction, log_bounds, read_alpha, read_epsilon
from ...exact.tables import Table
from ...mechanism import Mechanism
from ...privacy.certificate import Certificate, certify
from ...privacy.notions import read_notion
from ...properties import Property
from ...spaces import Labels, Space, completed, is_space
from ..lp.blocks import BlockPoint, BlockProgram, lower_bound, solve_blocks
from ..lp.bounds import figures_of_cost
from ..lp.mechanism_program import solve_with_rows
from .protected import ProtectedPairs, compared_pairs, protected_pairs, read_dilation
from .weights import read_weights

#: Largest number of values of which every pair is protected for itself, and the dilation of spanners beyond.
MAX_EXACT = 100
USUAL_DILATION = Fraction(11, 10)

#: Largest number of probabilities of a design, and of one with properties or for the worst case.
MAX_PROBABILITIES, MAX_WITH_ROWS = 250_000, 1_600

#: Largest number of terms of a design with a delta: one for each report of each ordered pair that is compared.
MAX_DELTA_TERMS = 20_000

#: Cost and bound differ by less than this, relative to the cost: with every pair, and for each of the two programs of a
#: spanner, whose own gap is several percent.
TOLERANCE, SPANNER_TOLERANCE = 1e-7, 4e-3

#: Shares of a strictly private mechanism that are mixed in until the judge accepts the table.
MIXING = (2.0**-40, 2.0**-34, 2.0**-28, 2.0**-22, 2.0**-16, 2.0**-12)

#: Bits of the smallest probability after rounding.
_BITS = 60

#: Codes of the structural properties that make sense without an order.
UNORDERED = ("RH", "CH", "F", "WH")


@dataclass(frozen=True, eq=False)
class SpaceRequest:
    """What is asked for, read and checked."""

    inputs: Space
    outputs: Space
    notion: str
    epsilon: Fraction
    alpha: str
    loss: losses.Loss
    loss_name: str
    weights: tuple[Fraction, ...] | None
    uniform: bool
    properties: tuple[Property, ...]
    dilation: Fraction
    delta: Fraction = Fraction(0)

    @property
    def has_rows(self) -> bool:
        """Whether it needs rows that couple reports: of properties, of the worst case or of a delta."""
        return bool(self.properties) or self.weights is None or self.delta > 0

    @property
    def prior_name(self) -> str:
        return "worst case" if self.weights is None else "uniform" if self.uniform else "given"


def design_on_space(
    inputs: Space,
    *,
    notion: str | None,
    alpha: Number | None,
    epsilon: Number | None,
    delta: Number,
    loss: object,
    properties: object,
    prior: object,
    worst_case: bool,
    outputs: object,
    dilation: Number | None,
) -> Mechanism:
    """Return the mechanism with the least expected loss on a finite space; see :func:`discreet.design`."""
    request = _read(
        inputs, notion=notion, alpha=alpha, epsilon=epsilon, delta=delta, loss=loss, properties=properties, prior=prior,
        worst_case=worst_case, outputs=outputs, dilation=dilation,
    )  # fmt: skip
    if request.delta:
        pairs = compared_pairs(request.inputs, request.notion, request.epsilon)
        _refuse_many_terms(len(pairs.tail) * (request.outputs.size or 0))
    else:
        pairs = protected_pairs(request.inputs, request.notion, request.epsilon, request.dilation)
    values = request.loss.of(request.inputs, request.outputs)
    if request.has_rows:
        matrix, least = _with_rows(request, pairs, values)
    else:
        matrix, least = _plain(request, pairs, values)
    table, certificate = _proved(request, matrix)
    return _handed_over(request, table, certificate, least, pairs)


# ------------------------------------------------------------------------------------------------ reading


def _read(
    inputs: Space,
    *,
    notion: str | None,
    alpha: Number | None,
    epsilon: Number | None,
    delta: Number,
    loss: object,
    properties: object,
    prior: object,
    worst_case: bool,
    outputs: object,
    dilation: Number | None,
) -> SpaceRequest:
    size = inputs.size
    if size is None:
        raise InvalidInput.must_be("n", "a largest count or a finite space", inputs, meaning="the true values")
    named = read_notion(notion, inputs)
    eps = read_epsilon(epsilon) if epsilon is not None else log_bounds(1 / read_alpha(alpha, None))[0]
    shown = read_alpha(alpha, epsilon)
    allowed_delta = read_delta(delta)
    utility.refuse_prior_for_worst_case(worst_case, prior)
    weights = None if worst_case else read_weights(prior, inputs)
    reports, resolved, name = _read_reports(inputs, outputs, losses.resolve(loss))
    structural = _read_properties(properties, inputs, reports)
    number = size * (reports.size or 0)
    most = MAX_WITH_ROWS if structural or worst_case else MAX_PROBABILITIES
    if number > most:
        hint = "Leave the properties and the worst case out, or use" if most == MAX_WITH_ROWS else "Use"
        raise Unsupported(
            f"a design over {number:,} probabilities is too large here (at most {most:,}).",
            f"{hint} dc.geometric(space, ...) or dc.exponential(space, ...).",
            argument="n",
        )
    stretch = Fraction(1)
    if not allowed_delta:
        stretch = read_dilation(dilation, size, named, MAX_EXACT, USUAL_DILATION)
    elif dilation is not None:
        raise Unsupported(
            "a spanner does not protect all pairs with a delta.",
            f"Leave {arg('dilation')} out, or ask for {arg('delta', 0)}.",
            argument="dilation",
        )
    uniform = weights is not None and len(set(weights)) == 1
    return SpaceRequest(
        inputs, reports, named, eps, str(shown), resolved, name, weights, uniform, structural, stretch, allowed_delta
    )


def read_delta(delta: object) -> Fraction:
    """Return a delta as a Fraction; refuse what is not a probability below 1."""
    value = as_fraction(delta, "delta")
    if not 0 <= value < 1:
        raise InvalidInput.must_be("delta", "a probability below 1", delta, "0 asks for pure privacy.")
    return value


def _refuse_many_terms(number: int) -> None:
    if number > MAX_DELTA_TERMS:
        raise Unsupported(
            f"a design with a delta compares every pair in every report, here {number:,} terms; at most "
            f"{MAX_DELTA_TERMS:,} are possible.",
            f"Use fewer values or outputs, or ask for {arg('delta', 0)}.",
            argument="delta",
        )


def _read_reports(inputs: Space, outputs: object, loss: losses.Loss) -> tuple[Space, losses.Loss, str]:
    """Return the space of reports, the loss with a column for each, and its name; lists keep their distances."""
    space = inputs if outputs is None else outputs
    if isinstance(outputs, str) or getattr(space, "size", 0) is None or not (is_space(space) or _is_list(space)):
        raise InvalidInput.must_be("outputs", "a finite space or a list of true values", outputs)
    if is_space(space):
        reports = completed(space)
        loss.levels(inputs, reports)  # a matrix must fit; refused before any work
        return reports, loss, loss.name
    assert isinstance(outputs, Iterable)
    chosen = [inputs.index(value) for value in outputs]
    if len(set(chosen)) != len(chosen) or len(chosen) < 2:
        raise InvalidInput.must_be("outputs", "two or more different values", InWords(f"{len(chosen)} values"))
    plain = [inputs.value(index) for index in chosen]
    labels = Labels([value if isinstance(value, int | str) else str(value) for value in plain])
    levels, codes = loss.levels(inputs, inputs)
    entries = np.empty(len(levels), object)
    entries[:] = [as_fraction(level, "a loss") for level in levels]
    return labels, losses.matrix(entries[codes[:, chosen]]), f"{loss.name} of chosen reports"


def _is_list(values: object) -> bool:
    return isinstance(values, Iterable)


def _read_properties(properties: object, inputs: Space, outputs: Space) -> tuple[Property, ...]:
    resolved = requirements.resolve(properties)  # type: ignore[arg-type]
    for one in resolved:
        if one.code not in UNORDERED or inputs != outputs:
            why = "reports are not true values" if inputs != outputs else "it needs an order of the values"
            raise Unsupported(
                f"{one.code} ({one.name}) does not make sense here: {why}.",
                f"On a space like this there are {', '.join(UNORDERED)}, for reports that are true values.",
                argument="properties",
            )
    return resolved


# ------------------------------------------------------------------------------------------------ solving


def _expected_costs(request: SpaceRequest, values: FloatArray) -> FloatArray:
    assert request.weights is not None
    return np.asarray(np.array([float(weight) for weight in request.weights])[:, None] * values)


def _plain(request: SpaceRequest, pairs: ProtectedPairs, values: FloatArray) -> tuple[FloatArray, float]:
    """Return the matrix, and what no private mechanism costs less than."""
    shift = float(values.min())  # costs from 0 on; every truth reports something
    cost = _expected_costs(request, values - shift)
    program = BlockProgram(cost, pairs.tail, pairs.head, pairs.log_factor)
    tolerance = TOLERANCE if pairs.exact else SPANNER_TOLERANCE
    point = solve_blocks(program, tolerance)
    bounded: BlockPoint = point
    bounding = program
    if not pairs.exact:
        bounding = BlockProgram(cost, pairs.tail, pairs.head, pairs.loose)
        bounded = solve_blocks(bounding, tolerance, point.earlier)
    least = lower_bound(bounding, bounded.lam, bounded.z) + shift
    least -= 2.0**-50 * (abs(shift) + float(np.abs(values).max()))
    return point.v[:, : len(cost)].T, max(least, float(values.min(axis=1).min()))


def _with_rows(request: SpaceRequest, pairs: ProtectedPairs, values: FloatArray) -> tuple[FloatArray, float]:
    size = len(values)
    rows = [one.rows((size, size)) for one in request.properties]
    cost = np.zeros(values.shape) if request.weights is None else _expected_costs(request, values)
    worst = values if request.weights is None else None
    program = BlockProgram(cost, pairs.tail, pairs.head, pairs.log_factor)
    solved = solve_with_rows(program, worst, rows, float(request.delta))
    least = solved.least
    if not pairs.exact:
        least = solve_with_rows(BlockProgram(cost, pairs.tail, pairs.head, pairs.loose), worst, rows).least
    return np.maximum(solved.matrix, 0), least - 2.0**-50 * float(np.abs(values).max())


# ------------------------------------------------------------------------------------------------ proving


def _proved(request: SpaceRequest, matrix: FloatArray) -> tuple[Table, Certificate]:
    """Return the table with as little mixed in as the judge accepts, and what it proved."""
    inside = _strictly_private(request)
    for share in MIXING:
        table = _rounded((1 - share) * matrix / matrix.sum(axis=1, keepdims=True) + share * inside, request)
        try:
            certificate = certify(table, request.inputs, request.notion, epsilon=request.epsilon, delta=request.delta)
        except NotPrivate:
            continue
        channel = Channel(request.inputs, request.outputs, table)
        if not request.properties or check(channel, request.properties).holds:
            return table, certificate
    raise NotCertified(
        f"no table near the design could be proved private at epsilon {float(request.epsilon):.6g}.",
        "Ask for a slightly different epsilon, or use dc.exponential(space, ...).",
    )


def _strictly_private(request: SpaceRequest) -> FloatArray:
    """Return a mechanism with slack in every inequality: uniform, with more on the diagonal for properties."""
    truths, reports = request.inputs.size or 0, request.outputs.size or 0
    inside = np.full((truths, reports), 1 / reports)
    if request.properties:
        nearest = 1.0
        if request.notion == "metric":
            here = np.arange(truths)
            squares = request.inputs.squared_distance(here[:, None], here[None, :]).astype(float)
            nearest = float(np.sqrt(squares[squares > 0].min())) * float(request.inputs.unit)
        more = math.expm1(min(float(request.epsilon) * nearest / 2, 1.0))
        inside = (inside + np.eye(truths) * more / reports) / (1 + more / reports)
    return inside


def _rounded(matrix: FloatArray, request: SpaceRequest) -> Table:
    """Return whole numbers over a power of two; what is missing in a row goes to its largest entry that may change."""
    bits = _BITS - math.floor(math.log2(float(matrix.min())))
    mantissas, exponents = np.frexp(matrix)  # whole numbers of 53 bits, times a power of two
    whole = np.ldexp(mantissas, 53).astype(np.int64).tolist()
    shifts = (exponents + bits - 53).tolist()
    rows = [
        [w << k if k >= 0 else w >> -k for w, k in zip(*pair, strict=True)] for pair in zip(whole, shifts, strict=True)
    ]
    fair = any(one.code == "F" for one in request.properties)
    if fair:
        common = rows[0][0]
        for k, row in enumerate(rows):
            row[k] = common
    for k, row in enumerate(rows):
        free = [j for j in range(len(row)) if j != k] if fair else range(len(row))
        largest = max(free, key=row.__getitem__)
        row[largest] += (1 << bits) - sum(row)
    return Table.from_rows(rows)


# ------------------------------------------------------------------------------------------------ handing over


def _exact_cost(table: Table, request: SpaceRequest) -> Fraction:
    channel = Channel(request.inputs, request.outputs, table)
    prior = None if request.weights is None else list(request.weights)
    worst = request.weights is None
    try:
        return utility.cost(channel, request.loss, prior, worst, exact=True)
    except Unsupported:  # irrational losses are taken as the doubles nearest to them
        return Fraction(utility.cost(channel, request.loss, prior, worst))


def _handed_over(
    request: SpaceRequest, table: Table, proof: Certificate, bound: float, pairs: ProtectedPairs
) -> Mechanism:
    cost = _exact_cost(table, request)
    details: dict[str, object] = {
        "certified": "interior point, rounded",
        **figures_of_cost(cost, min(Fraction(bound), cost)),
    }
    if request.has_rows:
        details["certified"] = "linear program, rounded"
    details["protected_pairs"] = len(pairs.tail) // 2
    if not pairs.exact:
        details["dilation"] = pairs.dilation
    certificate = Certificate(proof.notion, proof.epsilon, proof.delta, proof.ratio, proof.how, proof.tight, details)
    parameters: dict[str, object] = {
        "n": (request.inputs.size or 0) - 1,
        "alpha": request.alpha,
        "loss": request.loss_name,
        "properties": [one.code for one in request.properties],
        "prior": request.prior_name,
    }
    if request.delta:
        parameters["delta"] = str(request.delta)
    return Mechanism(request.inputs, request.outputs, table, certificate, "designed", parameters)
