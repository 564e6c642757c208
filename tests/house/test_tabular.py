"""Results as data frames and as LaTeX: the numbers are the result's own, and no text is read as a command."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.errors import InvalidInput
from discreet.tabular import Tabular, as_latex, as_pandas, escaped
from support.grids import every_case
from support.refusals import refused

FOUR = dc.geometric(4, alpha="1/2")
PRIOR = [0.1, 0.2, 0.4, 0.2, 0.1]

TABLES: dict[str, Any] = {
    "comparison": lambda: dc.compare(4, epsilon=1),
    "sweep": lambda: dc.compare(4, epsilons=[0.5, 1], families=["GM", "k-RR"]),
    "calibration": lambda: dc.calibrate("geometric", 4, truth="1/2"),
    "estimate": lambda: dc.estimate([60, 45, 30, 20, 10], FOUR),
    "groups": lambda: dc.estimate_by({"a": [60, 25], "b": [30, 45]}, dc.randomized_response(["n_1", "y&"], epsilon=1)),
    "losses": lambda: dc.compare_reconstruction(
        dc.Counts(4), PRIOR, people=300, repeats=3, likelihood_ratio=2, within=1
    ),
    "trade-off": lambda: dc.noise_tradeoff(2.2, [4], stays=[0.5, 0.8]),
    "study": lambda: dc.study("bounded", "numbers", quick=True),
}


@every_case("name", TABLES)
def test_a_result_is_a_data_frame_and_a_latex_table_of_the_same_shape(name: str) -> None:
    result: Tabular = TABLES[name]()
    frame, text = result.to_pandas(), result.to_latex(caption="Costs & more", label="tab:costs")
    assert len(frame) > 0 and list(frame.columns) == list(result.data_columns())
    lines = text.splitlines()
    assert lines[0] == r"\begin{table}" and r"\caption{Costs \& more}" in lines and r"\label{tab:costs}" in lines
    rows = [line for line in lines if line.endswith(r" \\")]
    assert len(rows) == len(frame) + 1
    assert all(len(re.findall(r"(?<!\\)&", row)) == len(frame.columns) - 1 for row in rows)
    (columns,) = re.findall(r"\\begin\{tabular\}\{([lr]+)\}", text)
    assert len(columns) == len(frame.columns)


def test_a_frame_has_the_numbers_without_rounding() -> None:
    comparison = dc.compare(4, epsilon=1)
    frame = comparison.to_pandas().set_index("name")
    for row in comparison.rows:
        assert frame.loc[row.name, "L2"] == row.costs["L2"] and frame.loc[row.name, "worst L0"] == row.worst["L0"]
        assert frame.loc[row.name, "local epsilon"] == row.local_epsilon
    sweep = dc.compare(4, epsilons=[0.5, "1/3"], families=["GM"])
    assert sweep.to_pandas()["asked"].tolist() == [0.5, pytest.approx(1 / 3)]
    assert sweep.to_pandas()["L1"].tolist() == [one["GM"].costs["L1"] for one in sweep.comparisons]


def test_an_estimate_has_its_values_and_with_a_level_the_band_of_all_at_once() -> None:
    estimate = dc.estimate([60, 45, 30, 20, 10], FOUR)
    plain, with_ends = estimate.to_pandas(), estimate.to_pandas(level=0.9)
    assert plain["value"].tolist() == list(range(5)) and plain["probability"].tolist() == estimate.distribution.tolist()
    band = estimate.band(0.9, simultaneous=True, of="cells")
    assert np.array_equal(with_ends["low"], band.low) and np.array_equal(with_ends["high"], band.high)
    assert "low & high" in estimate.to_latex(level=0.9) and "low" not in estimate.to_latex()


def test_no_text_is_a_command_of_latex() -> None:
    hostile = r"\input{x} & 5% $ # _ { } ~ ^ <"
    body = as_latex({hostile: [hostile]}).splitlines()
    for line in (body[2], body[4]):
        bare = re.sub(r"\\(text\w+\{\}|[&%$#_{}])", "", line.removesuffix(r" \\"))
        assert not set(bare) & set("\\&%$#_{}~^<")
    assert escaped("plain text 1.5") == "plain text 1.5"


def test_numbers_are_written_as_numbers() -> None:
    cells = [1, 0.123456, 1e-9, math.inf, -math.inf, math.nan, Fraction(1, 3), None, True]
    lines = as_latex({"x": cells}, digits=3).splitlines()[4:-2]
    written = [line.removesuffix(r" \\") for line in lines]
    assert written == ["1", "0.123", r"$1\cdot 10^{-9}$", r"$\infty$", r"$-\infty$", "--", "0.333", "--", "yes"]
    assert as_pandas({"x": [Fraction(1, 4), 2]})["x"].tolist() == [0.25, 2.0]
    with refused(InvalidInput, "digits", given=0):
        as_latex({"x": [1]}, digits=0)
