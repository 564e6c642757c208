"""Systems of linear equations with integer coefficients, solved exactly.

The solution is found p-adically (Dixon 1982): the matrix is inverted modulo a prime, the solution is lifted to a high
power of it, and fractions are read off. Every solution is multiplied out before it is returned, so its correctness
does not depend on the lifting.
"""

from __future__ import annotations

import math

import numpy as np

from .arrays import Array, IntArray

IntegerMatrix = Array

#: The modulus: products of two residues fit into 64 bits.
PRIME = (1 << 31) - 1

#: Bits of the digits of the lifting: enough for few steps, few enough for fast ones.
DIGIT_BITS = 496


class Singular(ArithmeticError):
    """The equations have no solution, or more than one."""


def solve(matrix: IntegerMatrix, right: list[int]) -> tuple[list[int], int]:
    """Return integers ``x`` and ``d > 0`` with ``matrix @ x = d * right``, without a common divisor.

    Parameters
    ----------
    matrix
        A square array (dtype object) of Python integers.
    right
        The right side.

    Examples
    --------
    >>> solve(np.array([[2, 1], [1, 3]], dtype=object), [1, 1])
    ([2, 1], 5)
    """
    size = len(right)
    if not size:
        return [], 1
    inverse, modulus = _lifted_inverse(matrix)
    rest = np.array(right, dtype=object)
    digits: list[IntegerMatrix] = []
    target = 2
    bound = _determinant_bits(matrix) + max(1, *(abs(v).bit_length() for v in right)) + size.bit_length()
    max_digits = 2 * bound // modulus.bit_length() + 3
    while len(digits) < max_digits:
        digit = inverse.dot(rest) % modulus
        rest = (rest - matrix.dot(digit)) // modulus
        digits.append(digit)
        if len(digits) >= min(target, max_digits):
            target = len(digits) * 2
            solution = _read_fractions(digits, modulus)
            if solution is not None and _solves(matrix, *solution, right):
                return solution
    raise Singular("the equations have no unique solution.")


def _solves(matrix: IntegerMatrix, x: list[int], d: int, right: list[int]) -> bool:
    return all(v == d * b for v, b in zip(matrix.dot(np.array(x, dtype=object)), right, strict=True))


def _determinant_bits(matrix: IntegerMatrix) -> int:
    """Return an upper bound of the bits of any minor (Hadamard's bound)."""
    return sum(max(1, sum(abs(v) for v in row).bit_length()) for row in matrix.tolist())


def _lifted_inverse(matrix: IntegerMatrix) -> tuple[IntegerMatrix, int]:
    """Return the inverse modulo a power of the prime, by Newton's iteration."""
    inverse = _inverse_modulo_prime(matrix).astype(object)
    modulus = PRIME
    identity2 = 2 * np.eye(len(matrix), dtype=np.int64).astype(object)
    while modulus.bit_length() < DIGIT_BITS:
        modulus *= modulus
        reduced = matrix % modulus
        inverse = inverse.dot((identity2 - reduced.dot(inverse)) % modulus) % modulus
    return inverse, modulus


def _inverse_modulo_prime(matrix: IntegerMatrix) -> IntArray:
    size = len(matrix)
    work = np.concatenate([(matrix % PRIME).astype(np.int64), np.eye(size, dtype=np.int64)], axis=1)
    for k in range(size):
        candidates = np.flatnonzero(work[k:, k])
        if not len(candidates):
            raise Singular("the equations have no unique solution (modulo a prime).")
        if candidates[0]:
            work[[k, k + candidates[0]]] = work[[k + candidates[0], k]]
        work[k] = work[k] * pow(int(work[k, k]), -1, PRIME) % PRIME
        others = np.flatnonzero(work[:, k])
        others = others[others != k]
        work[others] = (work[others] - work[others, k][:, None] * work[k] % PRIME) % PRIME
    return work[:, size:]


def _read_fractions(digits: list[IntegerMatrix], modulus: int) -> tuple[list[int], int] | None:
    """Return the small fractions with one denominator whose expansion these digits are, if they exist."""
    total = modulus ** len(digits)
    values = [_join([int(digit[k]) for digit in digits], modulus) for k in range(len(digits[0]))]
    half = math.isqrt(total // 2)
    denominator = 1
    for value in values:
        scaled = value * denominator % total
        if min(scaled, total - scaled) <= half // 4:
            continue
        factor = _small_denominator(scaled, total, half)
        if factor is None:
            return None
        denominator *= factor
        if denominator > half:
            return None
    numerators = []
    for value in values:
        scaled = value * denominator % total
        numerators.append(scaled - total if scaled > total // 2 else scaled)
    common = math.gcd(denominator, *numerators)
    return [v // common for v in numerators], denominator // common


def _join(digits: list[int], modulus: int) -> int:
    """Return ``digits[0] + digits[1] modulus + ...``, by halves."""
    if len(digits) == 1:
        return digits[0]
    middle = len(digits) // 2
    return _join(digits[:middle], modulus) + _join(digits[middle:], modulus) * int(modulus**middle)


def _small_denominator(value: int, total: int, half: int) -> int | None:
    """Return the least d > 0 for which ``value * d`` is small modulo ``total``, by Euclid's algorithm."""
    r0, r1, t0, t1 = total, value, 0, 1
    while r1 > half:
        quotient, rest = divmod(r0, r1)
        r0, r1, t0, t1 = r1, rest, t1, t0 - quotient * t1
    return abs(t1) if t1 and abs(t1) <= half else None
