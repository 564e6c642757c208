"""A cross table of a frame: the counts of ``pandas.crosstab`` with noise, of declared values, paid like any other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.errors import BudgetExceeded, DiscreetError, InvalidInput, MissingExtra, UnreadableFile, WrongType
from discreet.release.bundle.report import NEAR_ZERO
from support.grids import every_case
from support.refusals import Parts, refused
from support.tiers import examples

MAKERS = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}
ROWS: dict[str, list[Any]] = {
    "person": [f"p{k}" for k in range(90)],
    "site": [1 + k % 3 for k in range(90)],
    "sex": [["f", "m", None][k % 7 % 3] for k in range(90)],
    "age": [10 + k for k in range(90)],
}
DOMAIN: dict[str, Any] = {"site": [2, 1, 3, 4], "sex": ["m", "f", None]}

#: Epsilon at which noise is zero but for a chance of 1e-20.
NO_NOISE = 60


@pytest.fixture
def ledger(tmp_path: Path) -> dc.Ledger:
    return dc.Ledger.create(tmp_path / "visits.ledger", dataset="visits", unit="person", epsilon=500, delta="1e-3")


def cross(book: Any, *by: Any, frame: Any = None, **fields: Any) -> dc.CrossTable:
    asked: dict[str, Any] = {"unit": "person", "max_groups": 1, "epsilon": NO_NOISE, "domain": DOMAIN, "ledger": book}
    return dc.crosstab(pd.DataFrame(ROWS) if frame is None else frame, *(by or ("site", "sex")), **{**asked, **fields})


def expected(domain: dict[str, Any] = DOMAIN) -> list[list[int]]:
    cells = list(zip(ROWS["site"], ROWS["sex"], strict=True))
    return [[cells.count((site, sex)) for sex in domain["sex"]] for site in domain["site"]]


# ------------------------------------------------------------------------------------------------ the counts


@pytest.mark.parametrize("make", MAKERS.values(), ids=list(MAKERS))
def test_every_library_gives_the_counts_in_the_order_of_the_declaration(make: Any, ledger: dc.Ledger) -> None:
    table = cross(ledger, frame=make(ROWS))
    frame = table.to_pandas()
    assert frame.to_numpy().tolist() == expected()
    assert frame.index.tolist() == DOMAIN["site"] and frame.columns.tolist() == DOMAIN["sex"]
    assert (frame.index.name, frame.columns.name) == ("site", "sex") and set(map(str, frame.dtypes)) == {"Int64"}
    other = table.to_polars()
    assert other.columns == ["site", "m", "f", "NULL"] and other["site"].to_list() == DOMAIN["site"]
    assert [list(row[1:]) for row in other.rows()] == expected()


frames = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from(["a", "b", None]), st.sampled_from(["x", "Total"])), max_size=12
)


@examples(12)
@given(frames, st.booleans())
def test_counts_without_noise_are_those_of_pandas(rows: list[tuple[Any, ...]], margins: bool) -> None:
    frame = pd.DataFrame(rows, columns=["k", "s", "t"]).astype({"k": "Int64", "s": "string", "t": "string"})
    columns = {"k": [1, 2], "s": ["b", "a"], "t": ["Total", "x"]}
    with pytest.MonkeyPatch.context() as patch:
        table = _without_ledger(patch, frame, ["k", "s"], "t", domain=columns, margins=margins)
    counted = frame[frame["k"].isin([1, 2]) & frame["s"].isin(["a", "b"])]
    cells = [
        [int(((counted["k"] == k) & (counted["s"] == s) & (counted["t"] == t)).sum()) for t in columns["t"]]
        for k in columns["k"]
        for s in columns["s"]
    ]
    if margins:
        cells = [[*line, sum(line)] for line in cells]
        cells.append([sum(column) for column in zip(*cells, strict=True)])
    assert table.to_pandas().to_numpy().tolist() == cells


def _without_ledger(patch: pytest.MonkeyPatch, frame: Any, *by: Any, **fields: Any) -> dc.CrossTable:
    """Return a cross table paid from a ledger that is thrown away."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        book = dc.Ledger.create(Path(folder) / "t.ledger", dataset="t", unit="row", epsilon=500)
        return dc.crosstab(frame, *by, unit="row", epsilon=400, ledger=book, **fields)


def test_totals_add_up_with_noise_and_stand_at_the_ends(ledger: dc.Ledger) -> None:
    table = cross(ledger, epsilon=1, margins=True)
    counts = table.to_pandas()
    assert counts.index.tolist() == [*DOMAIN["site"], "Total"] and counts.columns.tolist() == ["m", "f", None, "Total"]
    numbers = counts.to_numpy().astype(int)
    assert (numbers[:-1].sum(axis=0) == numbers[-1]).all() and (numbers[:, :-1].sum(axis=1) == numbers[:, -1]).all()
    assert (numbers >= 0).all()


def test_totals_of_several_row_columns_are_over_all_of_them(ledger: dc.Ledger) -> None:
    bands = {"age": [10, 50, 100]}
    frame = cross(ledger, ["site", "sex"], "age", bands=bands, margins=True).to_pandas()
    assert frame.index.names == ["site", "sex"] and frame.index[-1] == ("Total", "Total") and len(frame) == 13
    assert frame.columns.tolist() == ["10-49", "50-99", "Total"] and frame.iloc[-1].tolist() == [40, 50, 90]


def test_bands_may_stand_in_the_domain(ledger: dc.Ledger) -> None:
    domain = {"site": [1, 2, ...], "age": {"bands": [10, 50, 100]}}
    frame = cross(ledger, "age", "site", domain=domain).to_pandas()
    assert frame.index.tolist() == ["10-49", "50-99"] and frame.columns.tolist() == [1, 2, "(all others)"]
    assert int(frame.to_numpy().sum()) == 90


def test_one_column_is_counted_without_columns_across(ledger: dc.Ledger) -> None:
    table = cross(ledger, "site", margins=True)
    assert table.to_pandas()["count"].tolist() == [30, 30, 30, 0, 90]
    assert table.intervals().columns.tolist() == ["low", "high"] and table.to_polars("low").columns == ["site", "low"]
    assert "95% interval" in table.describe()


def test_intervals_are_one_call_away_and_those_of_the_release(ledger: dc.Ledger) -> None:
    table = cross(ledger, epsilon=1)
    intervals = table.intervals()
    assert intervals.columns.names == ["sex", "interval"]
    for row in table.release.rows():
        if row["sex"] is not None:
            low, high = (intervals.loc[row["site"], (row["sex"], end)] for end in ("low", "high"))
            assert (low, high) == (row["low"], row["high"])
    assert table.to_pandas("sd").shape == table.to_pandas().shape
    with refused(InvalidInput, "figure", given="mean"):
        table.to_pandas("mean")


def test_names_that_are_taken_get_an_underscore_in_polars(ledger: dc.Ledger) -> None:
    frame = pl.DataFrame({**ROWS, "sex": ["site"] * 90})
    table = cross(ledger, frame=frame, domain={"site": [1], "sex": ["site", "Total"]}, margins=True)
    assert table.to_polars().columns == ["site", "site_", "Total", "Total_"]


def test_discovered_values_that_are_withheld_are_missing(ledger: dc.Ledger) -> None:
    frame = pd.DataFrame({"person": range(120), "site": [1] * 100 + [2] * 20, "job": ["nurse"] * 60 + ["cook"] * 60})
    frame.loc[119, "job"] = "astronaut"
    table = cross(ledger, "site", "job", frame=frame, domain={"site": [1, 2]}, discover="job", epsilon=3, delta=1e-6)
    counts = table.to_pandas()
    assert set(counts.columns) == {"nurse", "cook"} and counts["nurse"].isna().tolist() == [False, True]
    assert "astronaut" not in str(table)
    json = table.to_json()
    assert json["rows"] == {"names": ["site"], "values": [[1], [2]], "total": False}


def test_values_that_are_not_declared_are_not_shown(ledger: dc.Ledger) -> None:
    """Categories and rows have more values than the declaration; none of them may decide what is published."""
    frame = pd.DataFrame(ROWS)
    frame["sex"] = pd.Categorical(frame["sex"], ["f", "m", "secret"])
    table = cross(ledger, frame=frame, domain={"site": [1], "sex": ["m"]})
    assert table.to_pandas().columns.tolist() == ["m"] and "secret" not in str(table.to_json())


def test_a_condition_chooses_rows(ledger: dc.Ledger) -> None:
    assert cross(ledger, "site", where="age < 40").to_pandas()["count"].tolist() == [10, 10, 10, 0]


# ------------------------------------------------------------------------------------------------ one path


def test_it_is_the_same_question_as_in_sql_and_is_paid_once(ledger: dc.Ledger, tmp_path: Path) -> None:
    table = cross(ledger, epsilon=1, margins=True, out=tmp_path / "out")
    asked = dc.release_counts(
        "SELECT site, sex, COUNT(*) FROM visits GROUP BY CUBE (site, sex)", data=pd.DataFrame(ROWS), dataset="visits",
        unit="person", max_groups=1, epsilon=1, domain=DOMAIN, ledger=ledger,
    )  # fmt: skip
    assert not asked.fresh and asked.rows() == table.release.rows() and ledger.left().epsilon == 499
    assert dc.verify_bundle(tmp_path / "out", ledger=ledger).passed
    again = cross(ledger, epsilon=1, margins=True)
    assert not again.release.fresh and again.to_json()["recorded"] and "recorded answer" in again.describe()
    assert "recorded answer" not in table.describe()


def test_an_edition_is_another_answer(ledger: dc.Ledger) -> None:
    tables = [cross(ledger, epsilon=1, edition=name) for name in ("1", "2")]
    assert all(table.release.fresh for table in tables) and ledger.left().epsilon == 498


def test_the_ledger_refuses_what_it_cannot_pay(ledger: dc.Ledger) -> None:
    with refused(BudgetExceeded):
        cross(ledger, epsilon=300)
        cross(ledger, epsilon=300, edition="again")


# ------------------------------------------------------------------------------------------------ refusals

FRAME = pd.DataFrame(ROWS)

#: Values that a library has, in every way that comes to mind -> what they look like in a call.
FROM_A_FRAME: dict[str, Any] = {
    "a column": lambda: FRAME["sex"],
    "unique values": lambda: FRAME["site"].unique(),
    "a list of unique values": lambda: sorted(FRAME["site"].unique()),
    "categories": lambda: FRAME["sex"].astype("category").cat.categories,
    "the type of a category": lambda: FRAME["sex"].astype("category").dtype,
    "a categorical": lambda: pd.Categorical(["f", "m"]),
    "polars": lambda: pl.Series(["f", "m"]),
    "pyarrow": lambda: pa.array(["f", "m"]),
    "an array": lambda: np.array(["f", "m"]),
    "bands": lambda: {"bands": np.arange(3)},
}


@every_case("values", FROM_A_FRAME)
def test_values_of_a_frame_and_categories_are_no_declaration(values: str, ledger: dc.Ledger) -> None:
    with refused(WrongType, "domain", token="'sex' ... domain={"):
        cross(ledger, domain={"site": [1], "sex": FROM_A_FRAME[values]()})
    assert ledger.left().epsilon == 500


def test_edges_of_a_frame_are_no_declaration(ledger: dc.Ledger) -> None:
    with refused(WrongType, "bands", token="'age' ... bands={"):
        cross(ledger, "age", bands={"age": FRAME["age"].quantile([0, 0.5, 1])})


def test_a_column_without_declared_values_is_refused_whatever_its_type(ledger: dc.Ledger) -> None:
    frame = FRAME.astype({"sex": "category"})
    with refused(InvalidInput, "domain", token="'sex' ... discover='sex'") as problem:
        cross(ledger, frame=frame, domain={"site": [1]})
    assert "'f'" not in str(problem.value) and "'m'" not in str(problem.value)


REFUSALS: dict[str, tuple[tuple[Any, ...], dict[str, Any], type[DiscreetError], Parts]] = {
    "a series as rows": ((FRAME["site"], "sex"), {}, WrongType, {"argument": "rows"}),
    "a number as rows": ((3, "sex"), {}, WrongType, {"argument": "rows"}),
    "an index as columns": (("site", FRAME.columns), {}, WrongType, {"argument": "columns"}),
    "a column twice": (("site", "Site"), {}, InvalidInput, {"argument": "rows"}),
    "no rows": (([], "sex"), {}, InvalidInput, {"argument": "rows"}),
    "a file": ((), {"frame": "visits.csv"}, WrongType, {"argument": "frame", "given": "visits.csv"}),
    "a series": ((), {"frame": FRAME["site"]}, WrongType, {"argument": "frame"}),
    "a query": ((), {"frame": pl.DataFrame(ROWS).lazy()}, WrongType, {"argument": "frame"}),
    "texts as domain": ((), {"domain": ["site=1..3"]}, WrongType, {"argument": "domain"}),
    "a frame as domain": ((), {"domain": FRAME}, WrongType, {"argument": "domain"}),
    "totals": ((), {"totals": "all"}, InvalidInput, {"argument": "totals"}),
    "groups": ((), {"groups": [(1, "f")]}, InvalidInput, {"argument": "groups"}),
    "relation": ((), {"relation": "substitution"}, InvalidInput, {"argument": "relation"}),
    "another field": ((), {"epsilonn": 1}, WrongType, {"argument": "epsilonn"}),
    "no bound": ((), {"max_groups": None}, InvalidInput, {"argument": "max_groups"}),
    "another unit": ((), {"unit": "row"}, InvalidInput, {"argument": "ledger"}),
    "another data set": ((), {"dataset": "births"}, InvalidInput, {"argument": "ledger"}),
    "no ledger": ((), {"ledger": None}, WrongType, {"argument": "ledger"}),
    "no epsilon": ((), {"epsilon": None}, InvalidInput, {}),
    "an unknown column": (("sit",), {"domain": {"sit": [1]}}, InvalidInput, {"token": "'site'"}),
    "texts for numbers": (("site",), {"domain": {"site": ["a"]}}, InvalidInput, {"argument": "domain"}),
    "discovery without delta": (("sex",), {"domain": None, "discover": "sex"}, InvalidInput, {}),
    "discovery with totals": (
        ("sex",), {"domain": None, "discover": "sex", "delta": 1e-6, "margins": True}, InvalidInput, {},
    ),
}  # fmt: skip


@every_case("name", REFUSALS)
def test_a_mistake_is_refused_before_anything_is_spent(name: str, ledger: dc.Ledger) -> None:
    by, fields, kind, parts = REFUSALS[name]
    with refused(kind, **parts):
        cross(ledger, *by, **fields)
    assert ledger.left().epsilon == 500 and not list(ledger.entries())


def test_a_misspelt_column_is_answered_with_the_nearest(ledger: dc.Ledger) -> None:
    for by in (("sit",), ("sit", "sex")):
        with refused(InvalidInput, token="no column 'sit' ... 'site'"):
            cross(ledger, *by)
    assert not list(ledger.entries())


def float_frame(values: list[float]) -> pd.DataFrame:
    return pd.DataFrame({"person": np.arange(len(values)), "site": np.array(values, dtype=float)})


@pytest.mark.parametrize("values", [[1, 1, 2, np.nan], [1.0, 2.0], []], ids=["with NaN", "without", "no rows"])
def test_missing_values_of_floats_are_refused_by_the_type_alone(values: list[float], ledger: dc.Ledger) -> None:
    """NaN is no missing value, so that NULL would have the count zero whatever the rows hold."""
    frame = float_frame(values)
    with refused(InvalidInput, "domain", token="frame.astype({'site': 'Float64'})"):
        cross(ledger, "site", frame=frame, domain={"site": [1, 2, None]})
    with refused(InvalidInput, "domain"):
        cross(ledger, "Site", frame=frame, domain={"site": [1, None, ...]})
    assert not list(ledger.entries())


def test_the_advised_type_counts_the_missing_values(ledger: dc.Ledger) -> None:
    frame = float_frame([1, 1, 2, np.nan]).astype({"site": "Float64"})
    table = cross(ledger, "site", frame=frame, domain={"site": [1, 2, None]})
    assert table.to_pandas()["count"].tolist() == [2, 1, 1]


def test_notes_of_the_plan_and_on_the_counts_stand_under_the_table(ledger: dc.Ledger) -> None:
    table = cross(ledger, "site", frame=float_frame([1, 1, 2]), domain={"site": [1, 2]})
    (note,) = [note for note in table.to_json()["notes"] if "NaN" in note]
    assert note in table.report().notes and note in table.release.plan.notes and "NaN" in table.describe()
    misspelt = cross(ledger, "sex", domain={"sex": ["x", "y"]})
    assert misspelt.to_json()["notes"][-1] == NEAR_ZERO == misspelt.report().notes[-1]
    assert NEAR_ZERO not in table.to_json()["notes"]


def test_a_missing_ledger_is_answered_with_the_line_that_makes_it(tmp_path: Path) -> None:
    place = tmp_path / "people.ledger"
    with refused(UnreadableFile, "ledger", token="dc.Ledger.create( ... dataset='people', unit='person'"):
        cross(place)
    assert not place.exists()


def test_without_pandas_the_frame_of_polars_is_left(ledger: dc.Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    table = cross(ledger, frame=pl.DataFrame(ROWS))
    monkeypatch.setattr("discreet.release.bundle.frames.import_module", _absent)
    with refused(MissingExtra):
        table.to_pandas()


def _absent(name: str) -> Any:
    raise ImportError(name)
