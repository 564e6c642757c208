"""Certificates, and the number of threads, where they did not hold."""

from __future__ import annotations

import math
import os
import threading
from fractions import Fraction

import numpy as np
import pytest

import discreet as dc
from discreet.errors import InvalidInput
from discreet.estimation import algebra
from discreet.estimation.algebra import single_threaded_blas
from support.refusals import refused


def _threads() -> list[int]:
    return [library.get_num_threads() for library in algebra._libraries()]


def test_reports_with_chances_below_the_normal_doubles_are_refused() -> None:
    """Chances near 1e-321 have two digits, and a certificate from them would be wrong."""
    with refused(InvalidInput, "over"):
        dc.estimate({3840: 2, -3831: 3, 3838: 2}, dc.discrete_gaussian(sigma2=10_000), over=dc.Counts(9), method="mle")


def test_a_gap_is_not_too_small_where_chances_are_hardly_normal_doubles() -> None:
    """Chances near 1e-288; ratios of exp(-z^2 / 2 sigma2) are known exactly."""
    sigma2, counts = 10_000, {3640: 2, -3631: 3, 3638: 2}
    e = dc.estimate(counts, dc.discrete_gaussian(sigma2=sigma2), over=dc.Counts(9), method="mle")
    people, p = sum(counts.values()), e.distribution
    g = np.zeros(10)
    for report, count in counts.items():
        # the column divided by its entry for truth 0, which cancels
        column = np.array([math.exp((report**2 - (report - i) ** 2) / (2 * sigma2)) for i in range(10)])
        g += count / people * column / (p @ column)
    assert math.log(g.max()) <= e.gap + 1e-12


def test_an_estimate_on_a_map_says_that_it_is_the_maximum_when_it_is() -> None:
    """Fourier transforms cannot tell; the solver that takes over can, and its answer is judged by transforms again."""
    grid, people = dc.Grid(32, 32, cell=1.0), 3 * 10**7
    m = dc.planar_geometric(grid, epsilon=4.0)
    rng = np.random.default_rng(1)
    counts = np.zeros(grid.size, np.int64)
    counts[rng.choice(grid.size)] = people
    counts[rng.choice(grid.size, 230, replace=False)] += 1
    e = dc.estimate(counts, m, method="mle")
    A, q = m.matrix, counts / counts.sum()
    u = e.distribution @ A
    true = math.log(float((A @ np.where(q > 0, q / u, 0.0)).max()))
    assert true <= e.tolerance
    assert e.converged


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one core: there is one thread anyway")
def test_threads_come_back_when_another_thread_leaves_last() -> None:
    """threadpoolctl lets only the thread that lowered the number raise it again, while that thread lives."""
    at_first = _threads()
    algebra._set_threads([2] * len(at_first))
    before = _threads()
    assert set(before) == {2}
    inside, leave = threading.Event(), threading.Event()

    def work() -> None:
        with single_threaded_blas(1):
            inside.set()
            leave.wait()

    other = threading.Thread(target=work)
    try:
        with single_threaded_blas(1):
            other.start()
            inside.wait()
        leave.set()
        other.join()
        after = _threads()
    finally:
        algebra._set_threads(at_first)
    assert after == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_does_not_wait_for_a_lock_that_a_thread_of_its_parent_held() -> None:
    with algebra._lock:
        child = os.fork()
        if not child:  # pragma: no cover - another process
            import signal

            signal.alarm(5)
            with single_threaded_blas(1):
                os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_chances_are_exact_where_this_file_says_so() -> None:
    """A control for the first test: where chances are normal doubles its gap is that of the estimate."""
    sigma2, counts = Fraction(100), {30: 2, -20: 3, 28: 2}
    e = dc.estimate(counts, dc.discrete_gaussian(sigma2=sigma2), over=dc.Counts(9), method="mle")
    g = np.zeros(10)
    for report, count in counts.items():
        column = np.array([math.exp((report**2 - (report - i) ** 2) / 200) for i in range(10)])
        g += count / 7 * column / (e.distribution @ column)
    assert abs(math.log(g.max()) - e.gap) <= 1e-12


def test_truths_that_reports_cannot_tell_apart_do_not_end_the_search() -> None:
    """Counts 0 and 1 have the same noise after clamping, so two rows of A are equal, and Cholesky gives up too soon."""
    m = dc.bounded_noise(3.0, 0.9, 1, kind="optimal").on(dc.Counts(3), clamp=True)
    assert [m.probability(0, j) for j in range(4)] == [m.probability(1, j) for j in range(4)]
    counts = [13_676_378_624, 282_498_053_506, 667_501_832_279, 36_323_735_591]
    e = dc.estimate(counts, m, method="mle")
    merged = dc.estimate(counts, m.matrix[1:], method="mle")  # the same problem without the twin
    assert merged.converged and merged.tolerance == e.tolerance
    assert e.converged
