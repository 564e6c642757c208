"""How fast reports are released, validation included, beside NumPy's and OpenDP's geometric noise."""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Iterator

import numpy as np

import discreet as dc
import measure
import peers
from measure import Line


def lines() -> Iterator[Line]:
    truncated = dc.geometric(100, epsilon=1)
    table = dc.explicit_fair(100, epsilon=1)
    gaussian = dc.discrete_gaussian(sigma2=4)
    response = dc.randomized_response(101, epsilon=1)
    rng = np.random.default_rng(0)
    success = 1 - math.exp(-1)
    opendp = peers.run("peer_opendp.py") if peers.available("opendp") else None
    for size in (10**6, 10**7):
        truths = rng.integers(0, 101, size)
        plain, ours, by_table, normal, kept = measure.in_turn(
            lambda size=size: rng.geometric(success, size),
            lambda truths=truths: truncated.release(truths),
            lambda truths=truths: table.release(truths),
            lambda truths=truths: gaussian.release(truths),
            lambda truths=truths: response.release(truths),
            rounds=9 if size == 10**6 else 4,
        )
        exact = f"N = {size:.0e}".replace("+0", "")
        peer = f"NumPy geometric {_speed(plain, size)}"
        yield measure.at_least(f"truncated geometric, {exact}", _speed(ours, size), peer, plain / ours, 2.5)
        yield measure.at_least(f"101 x 101 table, {exact}", _speed(by_table, size), peer, plain / by_table, 1.3)
        yield measure.at_least(f"discrete Gaussian, {exact}", _speed(normal, size), peer, plain / normal, 1.0)
        yield measure.at_least(f"randomised response, {exact}", _speed(kept, size), peer, plain / kept, 1.0)
        if opendp:
            theirs = opendp["vector"] * size
            peer = f"OpenDP vector geometric {_speed(theirs, size)}"
            yield measure.at_least(f"truncated geometric, {exact}", _speed(ours, size), peer, theirs / ours, 1000)
    yield from _scalar(truncated, opendp)
    yield from _wide_noise()
    yield _memory()


def _speed(seconds: float, size: int) -> str:
    return f"{size / seconds / 1e6:.3g} M/s"


def _scalar(mechanism: dc.Mechanism, opendp: dict[str, float] | None) -> Iterator[Line]:
    if not opendp:
        return
    calls = 20_000

    def many() -> None:
        for _ in range(calls):
            mechanism.release(50)

    (ours,) = measure.in_turn(many, rounds=5)
    ours /= calls
    for name, theirs in (("scalar", opendp["scalar"]), ("clamped scalar", opendp["scalar_clamped"])):
        peer = f"OpenDP {name} {theirs * 1e6:.3g} us"
        yield measure.at_least(
            f"one truncated geometric against {name}", f"{ours * 1e6:.3g} us", peer, theirs / ours, 4
        )


def _wide_noise() -> Iterator[Line]:
    """The work per draw must not grow with the noise: wider noise takes a digit of base 256 more, and that is all."""
    truths = np.full(10**6, 50)
    narrow, wide, wider = (dc.two_sided_geometric(epsilon=e) for e in ("1/1000", "1/100000", "1/10000000"))
    a, b, c = measure.in_turn(*(lambda m=m: m.release(truths) for m in (narrow, wide, wider)), rounds=5)
    yield measure.at_most(
        "noise 10,000 times wider", f"eps=1e-7 {_speed(c, 10**6)}", f"eps=1e-3 {_speed(a, 10**6)}", c / a, 2.5
    )
    yield measure.at_most(
        "noise 100 times wider", f"eps=1e-5 {_speed(b, 10**6)}", f"eps=1e-3 {_speed(a, 10**6)}", b / a, 2.0
    )


def _memory() -> Line:
    """Peak memory of a release, beside the size of its output."""
    truths = np.zeros(2 * 10**7, np.int64)
    mechanism = dc.geometric(100, epsilon=1)
    mechanism.release(truths[:10])
    tracemalloc.start()
    mechanism.release(truths)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    ours, theirs = f"{peak / 1e6:.0f} MB", f"its output {truths.nbytes / 1e6:.0f} MB"
    return measure.at_most("memory of a release, N = 2e7", ours, theirs, peak / truths.nbytes, 1.05)
