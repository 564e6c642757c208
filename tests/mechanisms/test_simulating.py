"""Simulations: from a seed or a generator, in any shape."""

from __future__ import annotations

import numpy as np
import pytest

import discreet as dc
from discreet.errors import DiscreetError, InvalidInput, WrongType
from support.refusals import refused

NOISE = dc.geometric(50, epsilon="1/2")


def test_a_generator_gives_each_call_a_seed_of_its_own_and_can_be_repeated() -> None:
    truths = np.full(200, 25)
    generator = np.random.default_rng(7)
    first, second = (NOISE.simulate(truths, seed=generator) for _ in range(2))
    assert not np.array_equal(first, second)
    assert np.array_equal(first, NOISE.simulate(truths, seed=np.random.default_rng(7)))


@pytest.mark.parametrize(
    ("x", "size", "shape"),
    [(25, 6, (6,)), (25, (2, 3), (2, 3)), (25, (), ()), ([1, 2, 3], (4, 3), (4, 3)), ([[1], [2]], (2, 5), (2, 5)),
     (25, 0, (0,)), (25, np.array([2, 2]), (2, 2))],
)  # fmt: skip
def test_reports_have_the_shape_that_is_asked_for(x: object, size: object, shape: tuple[int, ...]) -> None:
    reports = NOISE.simulate(x, seed=1, size=size)  # type: ignore[arg-type]
    assert np.shape(reports) == shape
    if shape:
        truths = np.broadcast_to(np.asarray(x), shape)
        assert np.array_equal(reports, NOISE.simulate(truths, seed=1))


def test_labels_are_reported_in_any_shape_too() -> None:
    reports = dc.randomized_response(["a", "b"], epsilon=9).simulate("a", seed=1, size=(2, 4))
    assert reports.shape == (2, 4) and set(reports.ravel()) <= {"a", "b"}


def test_shapes_and_seeds_that_make_no_sense_are_refused() -> None:
    with refused(InvalidInput, "size", given=(2,)):
        NOISE.simulate([1, 2, 3], seed=1, size=(2,))
    for size in (-1, 2.5, "3", (2, -1), True):
        with pytest.raises(DiscreetError):
            NOISE.simulate(25, seed=1, size=size)  # type: ignore[arg-type]
    for seed in (1.5, "1", None, True):
        with refused(WrongType, "seed"):
            NOISE.simulate(25, seed=seed)  # type: ignore[arg-type]
