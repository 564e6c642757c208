"""Products and factors against NumPy's, and who may set the number of threads."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import discreet as dc
from discreet.estimation import algebra


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape)).normal(size=shape)


def upper(H: np.ndarray) -> np.ndarray:
    """What is below the diagonal must not be read."""
    return np.where(np.triu(np.ones(H.shape, bool)), H, np.nan)


@pytest.mark.parametrize("shape", [(3, 7), (7, 3), (1, 4), (4, 1)])
def test_products_are_those_of_numpy(shape: tuple[int, int]) -> None:
    A, x, y = random(*shape), random(shape[1]), random(shape[0])
    assert np.allclose(algebra.times(A, x), A @ x)
    assert np.allclose(algebra.left_times(y, A), y @ A)
    assert np.allclose(np.triu(algebra.gram(A)), np.triu(A @ A.T))
    assert np.allclose(np.triu(algebra.gram_of_columns(A)), np.triu(A.T @ A))


def test_products_of_nothing_are_zeros() -> None:
    assert algebra.times(np.zeros((3, 0)), np.zeros(0)).tolist() == [0, 0, 0]
    assert algebra.left_times(np.zeros(0), np.zeros((0, 2))).tolist() == [0, 0]


def test_symmetric_matrices_are_their_upper_triangles() -> None:
    A, b, diagonal = random(6, 9), random(6), np.arange(1.0, 7.0)
    H = A @ A.T
    assert np.allclose(algebra.symmetric_times(upper(H), b), H @ b)
    solve = algebra.cholesky(upper(H), diagonal)
    assert np.allclose((H + np.diag(diagonal)) @ solve(b), b)
    square = A[:, :6]
    assert np.allclose(algebra.left_solve(square, b) @ square, b)


def test_systems_without_an_answer_are_refused() -> None:
    with pytest.raises(algebra.NumericalFailure):
        algebra.cholesky(-np.eye(3), 0.0)
    with pytest.raises(algebra.NumericalFailure):
        algebra.left_solve(np.ones((3, 3)), np.ones(3))


def threads() -> list[int]:
    return [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"]


def test_small_problems_take_one_core_and_give_the_others_back() -> None:
    with threadpool_limits(2, user_api="blas"):
        with algebra.single_threaded_blas(100):
            with algebra.single_threaded_blas(100):
                assert set(threads()) == {1}
            assert set(threads()) == {1}
        assert set(threads()) == {2}
        with algebra.single_threaded_blas(algebra.MANY_ENTRIES):
            assert set(threads()) == {2}
        with pytest.raises(ZeroDivisionError), algebra.single_threaded_blas(100):
            _ = 1 / 0
        assert set(threads()) == {2}


def test_estimates_in_several_threads_leave_the_number_of_cores_as_it_was() -> None:
    """The last who leaves restores what the first one found, in whatever order they come and go."""
    m = dc.geometric(60, epsilon=0.3)
    counts = np.random.default_rng(0).multinomial(1000, m.forward(np.full(61, 1 / 61)))
    with threadpool_limits(2, user_api="blas"):
        workers = [
            threading.Thread(target=lambda: [dc.estimate(counts, m, method="mle") for _ in range(20)]) for _ in range(4)
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert set(threads()) == {2}
