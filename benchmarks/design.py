"""Speed of designs, certificate included, against a plain build of the same linear program."""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

import discreet as dc
import measure
import peers
from discreet.properties import PROPERTIES
from measure import FULL, Line, Scale

SEVEN = ("S", "RH", "RM", "CH", "CM", "F", "WH")


def plain(n: int, alpha: float, codes: tuple[str, ...]) -> Any:
    """Solve the program as one would write it first, in floats: a variable per probability, a row per inequality."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_array, vstack

    size = n + 1
    truth, report = np.divmod(np.arange(size**2), size)
    above, equal = [], []
    for i in range(n):
        for one, other in ((i, i + 1), (i + 1, i)):
            above.append(np.stack([one * size + np.arange(size), other * size + np.arange(size)], axis=1))
    places = np.concatenate(above)
    rows = np.repeat(np.arange(len(places)), 2)
    matrix = coo_array((np.tile([-1.0, alpha], len(places)), (rows, places.ravel())), shape=(len(places), size**2))
    blocks, limits = [matrix], [np.zeros(len(places))]
    for code in codes:
        property_rows = PROPERTIES[code].rows(n)
        numbers = np.repeat(np.arange(len(property_rows)), property_rows.places.shape[1])
        block = coo_array(
            (property_rows.values, (numbers, property_rows.places.ravel())), shape=(len(property_rows), size**2)
        )
        if property_rows.sense == "==":
            equal.append((block, np.full(len(property_rows), float(property_rows.right))))
        else:
            blocks.append(-block)
            limits.append(np.full(len(property_rows), -float(property_rows.right)))
    equal.append((coo_array((np.ones(size**2), (truth, np.arange(size**2))), shape=(size, size**2)), np.ones(size)))
    return linprog(
        np.abs(truth - report) / size, A_ub=vstack(blocks), b_ub=np.concatenate(limits),
        A_eq=vstack([block for block, _ in equal]), b_eq=np.concatenate([right for _, right in equal]), method="highs",
    )  # fmt: skip


def lines(scale: Scale = FULL) -> Iterator[Line]:
    for n, target, rounds in scale.pick(((20, 0.2, 5), (50, 1.0, 5), (100, 5.0, 1)), ((4, 0.2, 1),)):
        ours = min(measure.seconds(lambda n=n: _all_seven(n)) for _ in range(rounds))
        theirs = measure.seconds(lambda n=n: plain(n, 10 / 11, SEVEN))
        peer = f"plain linprog {theirs:.3g} s (floats, not proved)"
        name = f"design all seven, L1, n={n}, alpha=10/11, certified"
        yield measure.at_most(name, f"{ours:.3g} s", peer, ours / theirs, target / theirs)
    yield _chain(scale)
    yield _rays(scale)
    yield _memory(scale)
    yield from _hard(scale)
    if peers.available(scale, "qif"):
        yield _qif(scale)


def _all_seven(n: int, alpha: str = "10/11") -> dc.Mechanism:
    return dc.design(n, alpha=alpha, loss="L1", properties=SEVEN)


def _chain(scale: Scale) -> Line:
    n, each = scale.pick((50, 10), (4, 2))
    alphas = [f"{800 + 2 * k}/1000" for k in range(5 * each)]
    options = {"loss": "L1", "properties": SEVEN}
    ours = measure.seconds(lambda: list(dc.design_each(n, alphas=alphas, **options)))
    alone = measure.seconds(lambda: [dc.design(n, alpha=alpha, **options) for alpha in alphas[::each]]) * each
    name = f"{len(alphas)} alphas at n={n}, all seven, each from the one before"
    return measure.at_most(name, f"{ours:.3g} s", f"each alone {alone:.3g} s", ours / alone, 5 / alone)


def _rays(scale: Scale) -> Line:
    n, few = scale.pick((1000, 60), (20, 5))
    ours = measure.seconds(lambda: dc.design(n, alpha="9/10", loss="L1", properties="RM+WH+S"))
    small = measure.seconds(lambda: plain(few, 0.9, ("RM", "WH", "S")))
    peer = f"plain linprog at n={few} {small:.3g} s"
    return measure.at_most(f"design RM+WH+S, L1, n={n}, certified", f"{ours:.3g} s", peer, ours / small, 3 / small)


def _hard(scale: Scale) -> Iterator[Line]:
    """Compare requests on which a simplex run loses its way with requests of the same size on which it does not."""
    n, few = scale.pick((60, 40), (8, 6))
    easy = measure.seconds(lambda: dc.design(n, alpha="1/2", loss="L1", properties="RH+CM+F"))
    clash = measure.seconds(lambda: _refused(n))
    name = f"design RH+CM+F+bias<=1/2, L1, n={n}, refused with proof"
    yield measure.at_most(name, f"{clash:.3g} s", f"without the bias {easy:.3g} s", clash / easy, 20)
    plainer = measure.seconds(lambda: dc.design(few, alpha="1/2", loss="L0_1", properties="S+RH+F"))
    steps = measure.seconds(lambda: dc.design(few, alpha="1/5", loss="L0_1", properties="S+RH+F+steps>=1/2"))
    name = f"design S+RH+F+steps>=1/2, L0_1, n={few}, alpha=1/5, certified"
    yield measure.at_most(name, f"{steps:.3g} s", f"without steps, alpha=1/2 {plainer:.3g} s", steps / plainer, 10)


def _refused(n: int) -> None:
    is_proved = False
    try:
        dc.design(n, alpha="1/2", loss="L1", properties="RH+CM+F+bias<=1/2")
    except dc.errors.Conflict as problem:
        is_proved = problem.proved
    assert is_proved


def _memory(scale: Scale) -> Line:
    """Compare the time and memory of a design for n=200, in a process of its own, with what is allowed."""
    n = scale.pick(200, 8)
    (took, gap), peak = measure.apart(
        "import time, discreet as dc; start = time.perf_counter(); "
        f"m = dc.design({n}, alpha='9/10', loss='L1', properties='S+RH+RM+CH+CM+F+WH'); "
        "result = time.perf_counter() - start, float(m.certificate.details['gap'])"
    )
    ours = f"{took:.3g} s, {peak / 1e9:.2g} GB, gap {gap:.1g}"
    what = f"design all seven, L1, n={n}, certified"
    return measure.at_most(what, ours, "60 s, 2 GB", max(took / 60, peak / 2e9), 1)


def _qif(scale: Scale) -> Line:
    """Compare designs without properties, which is all qif's program knows."""
    n = scale.pick(20, 4)
    theirs = peers.run("peer_qif.py", str(n), "0.9")
    ours = min(measure.seconds(lambda: dc.design(n, alpha="9/10", loss="L1", worst_case=False)) for _ in range(3))
    peer = f"qif {theirs['seconds']:.3g} s, realised epsilon {theirs['epsilon']:.6g} for 0.105361"
    return measure.at_most(f"design without properties, L1, n={n}", f"{ours:.3g} s", peer, ours / theirs["seconds"], 1)


def largest() -> None:
    """Print the largest n (all seven, L1) certified in 1, 10 and 60 seconds (``python benchmarks/design.py``)."""
    for alpha in ("1/2", "9/10", "99/100"):
        for limit, sizes in ((1, (40, 50, 60, 70, 80, 90)), (10, (100, 120, 140, 160)), (60, (180, 200, 240, 280))):
            reached = ""
            for n in sizes:
                start = time.perf_counter()
                m = _all_seven(n, alpha)
                took = time.perf_counter() - start
                if took > limit:
                    break
                reached = f"n={n} in {took:.3g} s, {m.certificate.details['certified']}"
            print(f"alpha {alpha}, {limit} s: {reached or 'none tried'}", flush=True)
    print(f"memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2g} GB")


if __name__ == "__main__":
    largest()
