"""Dense linear algebra, all of it by SciPy's BLAS and LAPACK, on one core where more would not pay.

These libraries start a thread for each core and let it spin for a while after each call. For matrices of a few hundred
values that is slower than one core, and where cores are busy, or where NumPy's library (``@``, ``numpy.linalg``) is
called in turn with SciPy's, 10 to 200 times slower (measured on two cores: 200 values in 6 ms instead of 60 to 260; a
map of 30 x 30 cells in 40 ms instead of 8 s, with three other processes running). So the solvers of this room call
one of the two libraries, and :func:`single_threaded_blas`.

Matrices are C-contiguous, symmetric ones are their upper triangles (what is below the diagonal is never read).

This is the only module of the package that factorises matrices, and :class:`NumericalFailure` the only error that a
factorisation raises: methods catch it and fall back, so that no error of NumPy or SciPy reaches a user.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
from scipy.linalg.blas import dgemm, dgemv, dsymv, dsyrk
from scipy.linalg.lapack import dgbtrf, dgbtrs, dgesv, dpbtrf, dpbtrs, dpotrf, dpotrs

from ..errors import DiscreetError, arg
from ..exact.arrays import FloatArray
from ..system import call_after_fork

#: Number of entries of a matrix from which on more cores pay.
MANY_ENTRIES = 4_000_000


class NumericalFailure(DiscreetError):
    """A computation for which double precision does not suffice, such as the factorisation of a singular matrix.

    Methods fall back where this is raised. If it is not caught, it is an error of this package, with words for people.

    >>> cholesky(np.zeros((2, 2)), 0.0)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    discreet.estimation.algebra.NumericalFailure: double precision does not suffice for this computation. ...
    """

    def __init__(self, problem: str = "double precision does not suffice for this computation.") -> None:
        super().__init__(problem, f"Use {arg('method', 'mle')}, which needs less of it.")


_lock = threading.Lock()
_inside = 0  # number of callers inside
_before: list[int] = []  # the threads of each library before the first caller came


@contextmanager
def single_threaded_blas(entries: int) -> Iterator[None]:
    """Use one core for linear algebra with a matrix of this many entries, unless it is large.

    The number of threads belongs to the whole process: the first who comes in lowers it, and the last who leaves
    restores what the first one found.
    """
    global _inside
    if entries >= MANY_ENTRIES:
        yield
        return
    with _lock:
        if not _inside:
            _before[:] = [library.get_num_threads() for library in _libraries()]
            _set_threads([1] * len(_before))
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside = max(0, _inside - 1)
            if not _inside:
                _set_threads(_before)


def _set_threads(numbers: Sequence[int]) -> None:
    for library, number in zip(_libraries(), numbers, strict=True):
        # newer versions let one Python thread alone change the number, as long as it lives; here a lock takes turns
        release = getattr(library, "clear_controlling_thread", lambda force: None)
        release(force=True)
        library.set_num_threads(number)
        release(force=True)


@cache
def _libraries() -> list[Any]:
    from threadpoolctl import ThreadpoolController

    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


def _after_fork() -> None:
    """Begin afresh in a child process, whose one thread may be inside, while all others that were are gone."""
    global _lock, _inside
    _lock = threading.Lock()
    if _inside:
        _inside = 0
        _set_threads(_before)


call_after_fork(_after_fork)


def times(A: FloatArray, x: FloatArray) -> FloatArray:
    """Return A x."""
    return np.asarray(dgemv(1.0, A.T, x, trans=1)) if A.size else np.zeros(len(A))


def left_times(x: FloatArray, A: FloatArray) -> FloatArray:
    """Return x A."""
    return np.asarray(dgemv(1.0, A.T, x)) if A.size else np.zeros(A.shape[1])


def product(A: FloatArray, B: FloatArray) -> FloatArray:
    """Return A B."""
    return np.asarray(dgemm(1.0, B.T, A.T)).T


def gram(A: FloatArray) -> FloatArray:
    """Return A A', its upper triangle."""
    return np.asarray(dsyrk(1.0, A.T, trans=1, lower=1)).T


def gram_of_columns(A: FloatArray) -> FloatArray:
    """Return A' A, its upper triangle."""
    return np.asarray(dsyrk(1.0, A.T, lower=1)).T


def symmetric_times(H: FloatArray, x: FloatArray) -> FloatArray:
    """Return H x."""
    return np.asarray(dsymv(1.0, H.T, x, lower=1))


def cholesky(H: FloatArray, diagonal: FloatArray | float) -> Callable[[FloatArray], FloatArray]:
    """Factorise H + diag(diagonal), in the memory of H: a function that solves for a right hand side.

    Raises
    ------
    NumericalFailure
        If it is not positive definite, as far as doubles can tell.
    """
    return cholesky_factor(H, diagonal)[1]


def cholesky_factor(
    H: FloatArray, diagonal: FloatArray | float
) -> tuple[FloatArray, Callable[[FloatArray], FloatArray]]:
    """Return the triangular factor of H + diag(diagonal), in the memory of H, and a function that solves with it.

    Raises
    ------
    NumericalFailure
        If it is not positive definite, as far as doubles can tell.
    """
    H.flat[:: len(H) + 1] += diagonal
    factor, info = dpotrf(H.T, lower=1, overwrite_a=1, clean=0)
    if info:
        raise NumericalFailure
    return np.asarray(factor), lambda b: np.asarray(dpotrs(factor, b, lower=1)[0])


def left_solve(A: FloatArray, b: FloatArray) -> FloatArray:
    """Return the x with x A = b.

    Raises
    ------
    NumericalFailure
        If A is singular.
    """
    _, _, x, info = dgesv(A.T, b)
    if info:
        raise NumericalFailure
    return np.asarray(x)


def inverse(A: FloatArray) -> FloatArray:
    """Return the inverse of A.

    Raises
    ------
    NumericalFailure
        If A is singular.
    """
    return np.ascontiguousarray(left_solve(A, np.eye(len(A))).T)


def eigenvectors(H: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the eigenvalues of a symmetric matrix, the smallest first, and its eigenvectors in columns.

    Raises
    ------
    NumericalFailure
        If the iteration does not converge.
    """
    from scipy.linalg import LinAlgError, eigh

    try:
        values, vectors = eigh(H)
    except LinAlgError:
        raise NumericalFailure from None
    return np.asarray(values), np.asarray(vectors)


def banded_cholesky(band: FloatArray) -> Callable[[FloatArray], FloatArray]:
    """Factorise a symmetric band, each column from its diagonal on, in its memory: a function that solves with it.

    Raises
    ------
    NumericalFailure
        If it is not positive definite, as far as doubles can tell.
    """
    factor, info = dpbtrf(band, lower=1, overwrite_ab=1)
    if info:
        raise NumericalFailure
    return lambda b: np.asarray(dpbtrs(factor, b, lower=1)[0])


def banded_lu(band: FloatArray, below: int, above: int) -> Callable[[FloatArray], FloatArray]:
    """Factorise a band as LAPACK stores it, in its memory: a function that solves with it, in the memory of b.

    Raises
    ------
    NumericalFailure
        If it is singular.
    """
    factor, pivots, info = dgbtrf(band, below, above, overwrite_ab=1)
    if info:
        raise NumericalFailure
    return lambda b: np.asarray(dgbtrs(factor, below, above, b, pivots, overwrite_b=1)[0])
