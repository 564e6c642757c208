"""Central privacy where one unit can move a count by several: up to ``c`` instead of one.

A guarantee for steps of one says little about a step of ``c``: with a delta, ``c`` steps have ``c epsilon`` and
``delta (1 + e^epsilon + ... + e^((c-1) epsilon))``, not ``c delta``. So the pairs of truths that are up to ``c`` apart
are compared themselves, which is exact.
"""

from __future__ import annotations

import numpy as np

from ..errors import InvalidInput, Unsupported, arg
from ..exact.arrays import IntArray
from ..exact.base import Kernel
from ..exact.integers import positive_integer
from ..exact.kernels import Noise
from ..exact.laws import Gaussian
from ..exact.tables import Table
from ..spaces import Counts, Integers, Space
from . import views
from .evidence import RowPairs
from .pairs import PairEvidence
from .verify import Verdict
from .views import View

#: Maximum work: pairs of truths times reports.
MAX_COMPARISONS = 50_000_000


def verify_steps(kernel: Kernel, space: Space, steps: int) -> Verdict:
    """Judge how well the kernel of a mechanism hides a change of a count by up to ``steps``.

    Examples
    --------
    >>> import discreet as dc
    >>> noise = dc.bounded_noise(reach=3, epsilon="0.7", stay="1/3")
    >>> one, two = (verify_steps(noise.kernel, noise.inputs, steps) for steps in (1, 2))
    >>> one.delta("0.7") == dc.verify(noise).delta("0.7"), two.delta("1.4") > 2 * one.delta("0.7")
    (True, True)
    """
    positive_integer(steps, "steps")
    if not isinstance(space, Counts | Integers):
        raise InvalidInput(f"steps are steps of counts; the truths are {space!r}.", argument="mechanism")
    if isinstance(kernel, Noise):
        if isinstance(kernel.law, Gaussian):
            raise Unsupported("the discrete Gaussian is composed by rho, which holds for any step.", argument="steps")
        parts = views.of_noise(kernel, steps)
    else:
        table = kernel if isinstance(kernel, Table) else kernel.table()
        parts = [views.whole(table)]
    if sum(_comparisons(view, steps) for view in parts) > MAX_COMPARISONS:
        raise Unsupported(
            f"comparing all counts that are up to {steps:,} apart is too much work for this noise.",
            f"Use geometric or discrete-gaussian, or a smaller {arg('max_rows')}.",
            argument="steps",
        )
    rows = [RowPairs(view, *_pairs(len(view.truths), steps), space.noun) for view in parts]
    return Verdict("central", space, True, PairEvidence(tuple(rows)))


def _comparisons(view: View, steps: int) -> int:
    return len(view.truths) * min(steps, len(view.truths)) * view.table.shape[1]


def _pairs(truths: int, steps: int) -> tuple[IntArray, IntArray]:
    """Return all pairs of truths that are at most ``steps`` apart."""
    lower = [np.arange(truths - step) for step in range(1, min(steps, truths - 1) + 1)]
    upper = [first + step for step, first in enumerate(lower, 1)]
    empty = [np.zeros(0, dtype=np.int64)]
    return np.concatenate([*empty, *lower]), np.concatenate([*empty, *upper])
