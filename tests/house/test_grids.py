"""A grid inside one test notices what the same grid as many tests would."""

from __future__ import annotations

import inspect

import pytest

from support.grids import every_case


def test_every_failing_case_of_a_grid_is_listed() -> None:
    visits: list[tuple[int, str]] = []

    @every_case("word", ["a", "b"])
    @every_case(("n", "half"), [(2, 1), (3, 1), (4, 1), pytest.param(6, 3, id="six"), pytest.param(7, 3, id="seven")])
    def halves(n: int, half: int, word: str) -> None:
        visits.append((n, word))
        assert n == 2 * half, "not half"

    with pytest.raises(AssertionError) as caught:
        halves()
    assert visits == [(n, word) for word in "ab" for n in (2, 3, 4, 6, 7)]
    message = str(caught.value)
    assert "2 of 2 cases of halves fail" in message and "3 of 5 cases of halves fail" in message
    assert "[3-1] AssertionError: not half" in message and "[4-1]" in message and "[seven]" in message
    assert "[2-1]" not in message and "[six]" not in message


@pytest.mark.parametrize("problem", [ValueError("other"), pytest.fail.Exception("said so")], ids=["error", "fail"])
def test_a_case_that_fails_by_another_error_is_listed_too(problem: BaseException) -> None:
    @every_case("n", [1])
    def fails(n: int) -> None:
        raise problem

    with pytest.raises(AssertionError, match=str(problem)):
        fails()


def test_a_grid_that_could_not_fail_is_refused() -> None:
    with pytest.raises(AssertionError, match="no cases"):
        every_case("n", [])
    with pytest.raises(AssertionError, match="does not take"):
        every_case("n", [1])(lambda: None)

    @every_case("n", [1, 2])
    def skips(n: int) -> None:
        pytest.skip("no server")

    with pytest.raises(RuntimeError, match="skips the cases after it"):
        skips()


@every_case("n", [1, 2])
def test_a_grid_still_gets_its_fixtures(n: int, request: pytest.FixtureRequest) -> None:
    assert n in (1, 2) and request.node.name == "test_a_grid_still_gets_its_fixtures"


def test_pytest_sees_only_the_fixtures() -> None:
    assert list(inspect.signature(test_a_grid_still_gets_its_fixtures).parameters) == ["request"]
