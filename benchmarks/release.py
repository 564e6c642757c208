"""Speed of releasing reports, validation included, against NumPy's and OpenDP's geometric noise."""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Iterator

import numpy as np

import discreet as dc
import measure
import peers
from measure import FULL, Line, Scale


def lines(scale: Scale = FULL) -> Iterator[Line]:
    truncated = dc.geometric(100, epsilon=1)
    table = dc.explicit_fair(100, epsilon=1)
    gaussian = dc.discrete_gaussian(sigma2=4)
    response = dc.randomized_response(101, epsilon=1)
    rng = np.random.default_rng(0)
    success = 1 - math.exp(-1)
    opendp = peers.run("peer_opendp.py") if peers.available(scale, "opendp") else None
    for size, rounds in scale.pick(((10**6, 9), (10**7, 4)), ((1000, 1),)):
        truths = rng.integers(0, 101, size)
        plain, ours, by_table, normal, by_response = measure.in_turn(
            lambda size=size: rng.geometric(success, size),
            lambda truths=truths: truncated.release(truths),
            lambda truths=truths: table.release(truths),
            lambda truths=truths: gaussian.release(truths),
            lambda truths=truths: response.release(truths),
            rounds=rounds,
        )
        exact = f"N = {size:.0e}".replace("+0", "")
        peer = f"NumPy geometric {_speed(plain, size)}"
        yield measure.at_least(f"truncated geometric, {exact}", _speed(ours, size), peer, plain / ours, 2.5)
        yield measure.at_least(f"101 x 101 table, {exact}", _speed(by_table, size), peer, plain / by_table, 1.3)
        yield measure.at_least(f"discrete Gaussian, {exact}", _speed(normal, size), peer, plain / normal, 1.0)
        yield measure.at_least(
            f"randomised response, {exact}", _speed(by_response, size), peer, plain / by_response, 1.0
        )
        if opendp:
            theirs = opendp["vector"] * size
            peer = f"OpenDP vector geometric {_speed(theirs, size)}"
            yield measure.at_least(f"truncated geometric, {exact}", _speed(ours, size), peer, theirs / ours, 1000)
    yield from _scalar(truncated, opendp, scale)
    yield from _wide_noise(scale)
    yield _memory(scale)


def _speed(seconds: float, size: int) -> str:
    return f"{size / seconds / 1e6:.3g} M/s"


def _scalar(mechanism: dc.Mechanism, opendp: dict[str, float] | None, scale: Scale) -> Iterator[Line]:
    if not opendp:
        return
    calls = scale.pick(20_000, 100)

    def many() -> None:
        for _ in range(calls):
            mechanism.release(50)

    (ours,) = measure.in_turn(many, rounds=scale.pick(5, 1))
    ours /= calls
    for name, theirs in (("scalar", opendp["scalar"]), ("clamped scalar", opendp["scalar_clamped"])):
        peer = f"OpenDP {name} {theirs * 1e6:.3g} us"
        yield measure.at_least(
            f"one truncated geometric against {name}", f"{ours * 1e6:.3g} us", peer, theirs / ours, 4
        )


def _wide_noise(scale: Scale) -> Iterator[Line]:
    """Compare noises: the work per draw must not grow with them, except for one more digit of base 256."""
    size = scale.pick(10**6, 1000)
    truths = np.full(size, 50)
    narrow, wide, wider = (dc.two_sided_geometric(epsilon=e) for e in ("1/1000", "1/100000", "1/10000000"))
    a, b, c = measure.in_turn(*(lambda m=m: m.release(truths) for m in (narrow, wide, wider)), rounds=scale.pick(5, 1))
    yield measure.at_most(
        "noise 10,000 times wider", f"eps=1e-7 {_speed(c, size)}", f"eps=1e-3 {_speed(a, size)}", c / a, 2.5
    )
    yield measure.at_most(
        "noise 100 times wider", f"eps=1e-5 {_speed(b, size)}", f"eps=1e-3 {_speed(a, size)}", b / a, 2.0
    )


def _memory(scale: Scale) -> Line:
    """Compare the peak memory of a release with the size of its output."""
    truths = np.zeros(scale.pick(2 * 10**7, 10**4), np.int64)
    mechanism = dc.geometric(100, epsilon=1)
    mechanism.release(truths[:10])
    tracemalloc.start()
    mechanism.release(truths)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    ours, theirs = f"{peak / 1e6:.0f} MB", f"its output {truths.nbytes / 1e6:.0f} MB"
    return measure.at_most(f"memory of a release, N = {len(truths):.0e}", ours, theirs, peak / truths.nbytes, 1.05)
