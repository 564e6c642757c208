"""The exact vertex behind a solver's answer.

At a vertex nearly every inequality that holds with equality ties two probabilities by a fixed power of alpha. Following
those ties leaves a few *components*, each with one unknown; the remaining equations (each truth's probabilities add up
to one, and the other tight inequalities) determine them. They are solved in rational numbers or, if those would be too
long, in fixed point to any number of bits.

The table is not trusted: its users check every inequality again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice

import numpy as np

from ...exact.arrays import IntArray
from ...exact.linear import Singular, solve
from .program import Program
from .solver import Vertex


class NoVertex(Exception):
    """The basis does not determine one point; a signal between modules, never shown to people."""


@dataclass(frozen=True, eq=False)
class Ties:
    """Variables as multiples of their components' unknowns: ``x[v] = factor[v] * alpha^power[v] * u[component[v]]``.

    ``component`` is -1 for a variable that is zero. Within a component the least power is 0.
    """

    program: Program
    component: IntArray
    power: IntArray
    factor: list[Fraction] | None = field(repr=False)
    #: The remaining equations: terms (variable, coefficient, power of alpha) and the right side.
    equations: list[tuple[list[tuple[int, int, int]], Fraction]] = field(repr=False)
    count: int = 0


def ties_of(program: Program, vertex: Vertex) -> Ties:
    """Follow the tight inequalities between two variables."""
    edges, equations = _tight(program, vertex)
    neighbours: list[list[tuple[int, int, Fraction]]] = [[] for _ in range(program.count)]
    all_one = True
    for first, second, factor, power in edges:
        all_one = all_one and factor == 1
        neighbours[second].append((first, power, factor))
        neighbours[first].append((second, -power, 1 / factor))
    component = np.full(program.count, -2)
    power_of = [0] * program.count
    factor_of = [Fraction(1)] * program.count
    zero = ~vertex.basic_columns
    count = 0
    for root in range(program.count):
        if component[root] != -2:
            continue
        members, vanishes = [root], bool(zero[root])
        component[root] = count
        for v in members:
            for other, power, factor in neighbours[v]:
                multiple = (power_of[v] + power, factor_of[v] * factor if not all_one else Fraction(1))
                if component[other] == -2:
                    component[other] = count
                    power_of[other], factor_of[other] = multiple
                    members.append(other)
                    vanishes = vanishes or bool(zero[other])
                elif multiple != (power_of[other], factor_of[other]):
                    vanishes = True  # two different ratios between the same two variables: both are zero
        if vanishes:
            component[members] = -1
            continue
        least = min(power_of[v] for v in members)
        for v in members:
            power_of[v] -= least
        count += 1
    powers = np.array(power_of)
    powers[component < 0] = 0
    return Ties(program, component, powers, None if all_one else factor_of, equations, count)


def _tight(
    program: Program, vertex: Vertex
) -> tuple[list[tuple[int, int, Fraction, int]], list[tuple[list[tuple[int, int, int]], Fraction]]]:
    """Return the inequalities that hold with equality: those that tie two variables, and the others."""
    edges: list[tuple[int, int, Fraction, int]] = []
    tight, start = ~vertex.basic_rows, 0
    for block in program.pairs:
        is_tight = tight[start : start + len(block)]
        one, other = program.variable[block.first[is_tight]].tolist(), program.variable[block.second[is_tight]].tolist()
        powers_between = program.powers(block)[is_tight].tolist()
        edges += [(u, v, block.factor, k) for u, v, k in zip(one, other, powers_between, strict=True)]
        start += len(block)
    alpha = program.request.alpha
    powers = {alpha: 1, Fraction(1): 0, 1 / alpha: -1}
    equations = []
    for row, holds in zip(program.rows, tight[start:].tolist(), strict=True):
        if not holds:
            continue
        variables, exponents = program.variable[row.places].tolist(), program.exponent[row.places].tolist()
        terms = [
            (v, a, k) for v, a, k in zip(variables, row.coefficients, exponents, strict=True) if vertex.basic_columns[v]
        ]
        if len(terms) == 2 and row.right == 0 and terms[0][1] * terms[1][1] < 0 and terms[0][0] != terms[1][0]:
            (u, a, k), (v, b, m) = terms
            ratio = Fraction(-b, a)
            power = powers.get(ratio)
            edges.append((u, v, ratio, m - k) if power is None else (u, v, Fraction(1), power + m - k))
        else:
            equations.append((terms, row.right))
    return edges, equations


def rational_values(ties: Ties) -> tuple[list[int], int]:
    """Return the exact probability at every place, as integers over one denominator."""
    alpha = ties.program.request.alpha
    deepest = [0] * ties.count
    shared = [1] * ties.count
    component, power = ties.component.tolist(), ties.power.tolist()
    for v, c in enumerate(component):
        if c >= 0:
            deepest[c] = max(deepest[c], power[v])
            if ties.factor is not None:
                shared[c] = math.lcm(shared[c], ties.factor[v].denominator)
    extra = max((k for terms, _ in ties.equations for _, _, k in terms), default=0)
    largest_power = max(deepest, default=0) + max(extra, int(ties.program.exponent.max()))
    upper = [alpha.numerator**k for k in range(largest_power + 1)]
    lower = [alpha.denominator**k for k in range(largest_power + 1)]

    def multiple(v: int) -> int:
        c = component[v]
        weight = int(upper[power[v]] * lower[deepest[c] - power[v]])
        return weight if ties.factor is None else weight * int(ties.factor[v] * shared[c])

    if len(ties.equations) != ties.count:
        raise NoVertex
    matrix = np.zeros((ties.count, ties.count), dtype=object)
    right = []
    for k, (terms, side) in enumerate(ties.equations):
        for v, a, e in terms:
            if component[v] >= 0:
                matrix[k, component[v]] += a * multiple(v) * upper[e] * lower[extra - e] * side.denominator
        right.append(side.numerator * lower[extra])
    try:
        unknowns, denominator = solve(matrix, right)
    except Singular:
        raise NoVertex from None
    values = [0 if c < 0 else unknowns[c] * multiple(v) for v, c in enumerate(component)]
    return _by_place(ties.program, values, upper, lower), denominator * lower[int(ties.program.exponent.max())]


def _by_place(program: Program, values: list[int], upper: list[int], lower: list[int]) -> list[int]:
    """Return ``P = alpha^exponent x`` for every probability, over one denominator."""
    deepest = int(program.exponent.max())
    places = zip(program.variable.tolist(), program.exponent.tolist(), strict=True)
    return [values[v] * upper[e] * lower[deepest - e] for v, e in islice(places, program.size**2)]


def fixed_values(ties: Ties, bits: int) -> list[int]:
    """Return the approximate probability at every place in units of ``2**-bits``: the float solution, refined."""
    if len(ties.equations) != ties.count:
        raise NoVertex
    multiples = _fixed_multiples(ties, bits)
    component = ties.component.tolist()
    exact = np.zeros((ties.count, ties.count), dtype=object)
    right = []
    powers = _fixed_powers(ties, bits)
    for k, (terms, side) in enumerate(ties.equations):
        for v, a, e in terms:
            if component[v] >= 0:
                exact[k, component[v]] += a * multiples[v] * powers[e] >> bits
        right.append((side.numerator << 2 * bits) // side.denominator)
    floats = np.array([[float(Fraction(a, 1 << bits)) for a in row] for row in exact.tolist()]).reshape(exact.shape)
    sizes = np.abs(floats).max(axis=1, initial=0)
    if not (sizes > 0).all():
        raise NoVertex
    try:
        inverse = np.linalg.inv(floats / sizes[:, None])
    except np.linalg.LinAlgError:
        raise NoVertex from None
    unknowns = np.zeros(ties.count, dtype=object)
    # The last unit of each unknown, times the coefficients of its column, cannot be removed.
    enough = 4 * max((sum(abs(a) for a in row) for row in exact.tolist()), default=0)
    before = 1 << 4 * bits
    for _ in range(bits):
        rest = np.array(right, dtype=object) - exact.dot(unknowns)
        size = max((abs(r) for r in rest.tolist()), default=0)
        if size <= enough:
            break
        if size > before // 4:
            raise NoVertex
        before = size
        shift = max(0, size.bit_length() - 900)
        scaled = np.array([float(r >> shift) for r in rest.tolist()]) / sizes
        step = inverse @ scaled
        unknowns += np.array([_shifted(s, shift - bits) for s in step.tolist()], dtype=object)
    values = [0 if c < 0 else unknowns[c] * multiples[v] >> bits for v, c in enumerate(component)]
    places = zip(ties.program.variable.tolist(), ties.program.exponent.tolist(), strict=True)
    return [values[v] * powers[e] >> bits for v, e in islice(places, ties.program.size**2)]


def _fixed_powers(ties: Ties, bits: int) -> list[int]:
    alpha, largest_power = ties.program.request.alpha, int(max(ties.power.max(initial=0), ties.program.exponent.max()))
    powers = [1 << bits]
    for _ in range(largest_power):
        powers.append(powers[-1] * alpha.numerator // alpha.denominator)
    return powers


def _fixed_multiples(ties: Ties, bits: int) -> list[int]:
    powers = _fixed_powers(ties, bits)
    multiples = [powers[k] for k in ties.power.tolist()]
    if ties.factor is not None:
        multiples = [m * f.numerator // f.denominator for m, f in zip(multiples, ties.factor, strict=True)]
    return multiples


def _shifted(value: float, shift: int) -> int:
    """Return ``round(value * 2**shift)`` for any shift."""
    mantissa, exponent = math.frexp(value)
    whole, left = int(mantissa * (1 << 53)), exponent - 53 + shift
    return whole << left if left >= 0 else whole >> -left


def in_rows(program: Program, weights: list[int]) -> list[list[int]]:
    """Return the weights by place as a table: a row for each truth."""
    size = program.size
    return [weights[i * size : (i + 1) * size] for i in range(size)]
