"""One matrix, one verdict: however it comes in, and with the difference shown where there is one."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.errors import InvalidInput
from support.command_line import run
from support.refusals import refused

SEVEN = ("S", "RH", "RM", "CH", "CM", "F", "WH")


def _rounded(n: int, seed: int) -> Any:
    """The explicit fair mechanism in doubles, each off by some units in its last place: as a solver leaves it."""
    exact = dc.explicit_fair(n, alpha="10/11").matrix
    return exact * (1 + np.random.default_rng(seed).integers(-3, 4, exact.shape) * 2.0**-52)


def _lines(matrix: Any) -> str:
    return "".join(",".join(repr(float(p)) for p in row) + "\n" for row in matrix)


def _by_every_door(matrix: Any, folder: Path) -> dict[str, dict[str, bool]]:
    """The verdicts on a matrix: arrays, lists, text, mechanisms, files and standard input."""
    import pandas as pd

    (folder / "m.csv").write_text(_lines(matrix))
    (folder / "m.tsv").write_text(_lines(matrix).replace(",", "\t"))
    dc.from_matrix(matrix).save(folder / "m.json")
    subjects = {
        "array": matrix,
        "list": matrix.tolist(),
        "data frame": pd.DataFrame(matrix),
        "text": [[repr(float(p)) for p in row] for row in matrix],
        "mechanism": dc.from_matrix(matrix),
        "loaded": dc.load(folder / "m.json"),
    }
    verdicts = {way: {code: r.holds for code, r in dc.check(s).items()} for way, s in subjects.items()}
    for file in ("m.csv", "m.tsv", "m.json"):
        said = json.loads(run("check", folder / file, "--json").stdout)
        verdicts[file] = {code: r["holds"] for code, r in said["properties"].items()}
    said = json.loads(run("check", "-", "--json", stdin=_lines(matrix)).stdout)
    verdicts["standard input"] = {code: r["holds"] for code, r in said["properties"].items()}
    compared = dc.compare({"mine": matrix, "file": folder / "m.csv"})
    verdicts["compare"] = {code: code in compared["mine"].properties for code in SEVEN}
    verdicts["compare a file"] = {code: code in compared["file"].properties for code in SEVEN}
    return verdicts


@pytest.mark.parametrize("seed", range(3))
def test_rounded_doubles_have_one_verdict_by_every_door(tmp_path: Path, seed: int) -> None:
    verdicts = _by_every_door(_rounded(4, seed), tmp_path)
    assert all(verdict == dict.fromkeys(SEVEN, True) for verdict in verdicts.values()), verdicts


def test_what_differs_by_more_than_rounding_fails_by_every_door(tmp_path: Path) -> None:
    matrix = dc.explicit_fair(4, alpha="1/2").matrix.copy()
    matrix[0, 0] += 3e-9
    matrix[0, 1] -= 3e-9
    verdicts = _by_every_door(matrix, tmp_path)
    failing = {way: sorted(code for code, holds in verdict.items() if not holds) for way, verdict in verdicts.items()}
    assert all(codes == ["CM", "F", "S"] for codes in failing.values()), failing


def test_fractions_are_decided_exactly_and_decimals_when_asked_to() -> None:
    unfair = [["1/3", "2/3"], [f"{2 * 10**20 - 1}/{3 * 10**20}", f"{10**20 + 1}/{3 * 10**20}"]]
    result = dc.check(unfair)["F"]
    assert not result.holds and result.tolerance == 0 and isinstance(result.violation, Fraction)
    doubles = _rounded(4, 0)
    assert dc.check(doubles)["F"].holds and not dc.check(doubles, tolerance=0)["F"].holds
    assert not dc.check(dc.from_matrix(doubles), tolerance=0)["F"].holds


def test_a_failing_comparison_shows_where_the_numbers_differ() -> None:
    told = dc.check([[0.230923, 0.769077], [0.769076999, 0.230923001]], "F", tolerance=0)["F"].where
    assert told == "P(report 1 | truth 1) = 0.230923001 != P(report 0 | truth 0) = 0.230923"
    tiny = Fraction(1, 2**70)
    close = [[Fraction(1, 2) + tiny, Fraction(1, 2) - tiny], [Fraction(1, 2), Fraction(1, 2)]]
    told = dc.check(close, "F")["F"].where
    assert told is not None and told.endswith("0.5 (the difference is 8.47e-22)")


def test_requirements_with_a_number_are_checked_like_the_seven(tmp_path: Path) -> None:
    m = dc.geometric(4, alpha="1/2")
    asked = ["bias<=1/2", "S", "steps>=1/4", "no gaps", "zeros[0-4]"]
    found = dc.check(m, asked)
    assert list(found) == asked
    assert {code: r.holds for code, r in found.items()} == {
        "bias<=1/2": False, "S": True, "steps>=1/4": True, "no gaps": True, "zeros[0-4]": False
    }  # fmt: skip
    assert dc.check(m, "S+bias<=1")["bias<=1"].holds
    m.save(tmp_path / "m.json")
    assert "decided exactly" in run("check", tmp_path / "m.json", "--require", "S,bias<=1").stdout
    with refused(InvalidInput, "properties"):
        dc.check(m, "bais<=1")
    with refused(InvalidInput, "properties", given="unbiased"):
        dc.check(m, "unbiased")


def test_compare_takes_matrices_and_files(tmp_path: Path) -> None:
    matrix = dc.explicit_fair(3, alpha="1/2").matrix
    (tmp_path / "mine.csv").write_text(_lines(matrix))
    dc.geometric(3, alpha="1/2").save(tmp_path / "other.json")
    given = {"array": matrix, "list": matrix.tolist(), "file": str(tmp_path / "mine.csv"), "EM": dc.uniform(3)}
    c = dc.compare(given)
    assert c.n == 3 and [row.name for row in c.rows] == list(given)
    assert c["array"].costs == c["list"].costs == c["file"].costs
    assert c["file"].costs["L1"] == pytest.approx(float(dc.cost(dc.explicit_fair(3, alpha="1/2"), "L1")), abs=1e-12)
    with refused(InvalidInput, "families"):
        dc.compare(given, families=["GM"])
    with refused(InvalidInput, token="bad ... up to 1"):
        dc.compare({"bad": [[0.5, 0.4], [0.5, 0.5]]})
    with refused(InvalidInput, token="wide ... 0..3"):
        dc.compare({"mine": matrix, "wide": dc.uniform(4)})
    with refused(InvalidInput, token="nothing to compare"):
        dc.compare({})
    said = run("compare", tmp_path / "mine.csv", tmp_path / "other.json", "--json").stdout
    assert [m["name"] for m in json.loads(said)["mechanisms"]] == ["mine", "other"]
    said = run("compare", tmp_path / "mine.csv", "--epsilon", "0.01", "--families", "GM", "--json").stdout
    assert [m["name"] for m in json.loads(said)["mechanisms"]] == ["mine", "GM"]
    assert "-n" in run("compare", code=2).stderr
