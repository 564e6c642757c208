"""The page on working from R: its blocks run with Debian's R, and a data frame arrives as the page says."""

from __future__ import annotations

import datetime
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.needs import need
from support.pages import blocks
from support.paths import DOCS, ROOT

PAGE = DOCS / "howto_r.md"
BLOCKS = [block for _, block, _ in blocks(PAGE, ("r",))]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "data", tmp_path / "data")
    return tmp_path


def run(folder: Path, *code: str) -> subprocess.CompletedProcess[str]:
    """Run code in R, with the Python of the tests."""
    script = folder / "page.R"
    script.write_text("\n".join(code), encoding="utf-8")
    return subprocess.run(
        [need("R"), script.name], cwd=folder, env={**os.environ, "RETICULATE_PYTHON": sys.executable},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600,
    )  # fmt: skip


def ran(folder: Path, *code: str) -> str:
    done = run(folder, *code)
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_everything_on_the_page_runs(folder: Path) -> None:
    shown = ran(folder, *BLOCKS)
    assert len(BLOCKS) == 7 and "doctor_visits by site" in shown and "totals" in shown
    assert (folder / "health_by_site" / "index.html").exists()


def test_a_block_that_is_wrong_is_noticed(folder: Path) -> None:
    assert run(folder, *BLOCKS, "stopifnot(nrow(groups) == 23)").returncode != 0


FRAME = """
frame <- data.frame(
  whole = c(1L, NA, -3L), number = c(1.5, NA, NaN), text = c("NA", NA, "é"), flag = c(TRUE, NA, FALSE),
  factor = factor(c("good", NA, "poor"), levels = c("poor", "secret", "good"), ordered = TRUE),
  coded = factor(c(10, 2, 10)), stringsAsFactors = FALSE
)
frame$day <- as.Date(c("2024-02-29", NA, "1969-12-31"))
frame$moment <- as.POSIXct(c("2024-01-01 00:00:00", NA, "2024-07-01 12:30:00"), tz = "Europe/Rome")
parquet <- import("pyarrow.parquet", convert = FALSE)
"""


def test_missing_values_factors_and_dates_arrive_as_the_page_says(folder: Path) -> None:
    ran(
        folder, *BLOCKS[:2], FRAME, 'parquet$write_table(as_table(frame), "frame.parquet")',
        'parquet$write_table(as_table(frame[1, ]), "one.parquet")',
        'parquet$write_table(as_table(frame[0, ]), "none.parquet")',
    )  # fmt: skip
    table = pq.read_table(folder / "frame.parquet")
    day, moment = datetime.date, datetime.datetime
    assert table.to_pydict() == {
        "whole": [1, None, -3],
        "number": [1.5, None, None],
        "text": ["NA", None, "é"],
        "flag": [True, None, False],
        "factor": ["good", None, "poor"],
        "coded": ["10", "2", "10"],
        "day": [day(2024, 2, 29), None, day(1969, 12, 31)],
        "moment": [moment(2023, 12, 31, 23), None, moment(2024, 7, 1, 10, 30)],
    }
    types = [pa.int64(), pa.float64(), pa.string(), pa.bool_(), pa.string(), pa.string(), pa.date32()]
    assert table.schema.types == [*types, pa.timestamp("us")]
    assert pq.read_table(folder / "one.parquet").to_pydict() == table.slice(0, 1).to_pydict()
    assert pq.read_table(folder / "none.parquet").schema.equals(table.schema)


@pytest.mark.parametrize("column", ["I(list(1, 2, 3))", "as.difftime(1:3, units = 'days')", "1:3 + 1i"])
def test_other_columns_are_refused(folder: Path, column: str) -> None:
    done = run(folder, *BLOCKS[:2], FRAME, f"frame$other <- {column}", "as_table(frame)")
    assert done.returncode != 0 and ("convert this column" in done.stdout or "complex" in done.stdout)


def test_a_data_frame_as_it_is_would_not_arrive(folder: Path) -> None:
    """The reason for the function on the page; when this fails, a newer reticulate may make it unnecessary."""
    show = "py_run_string(\"def show(frame): print(frame.to_dict('list'), frame.factor.cat.categories.tolist())\")"
    shown = ran(
        folder, BLOCKS[0], FRAME, show, "frame <- frame[c('whole', 'text', 'flag', 'factor')]", "py$show(frame)"
    )
    assert "[1, -2147483648, -3]" in shown and "['NA', 'NA', 'é']" in shown and "[True, True, False]" in shown
    assert "['poor', 'secret', 'good']" in shown  # the levels, whether somebody has them or not
    ran(folder, BLOCKS[0], "py_run_string('import pandas; f = pandas.DataFrame()')", "stopifnot(!is.data.frame(py$f))")


def test_values_are_declared_in_r_as_the_page_says(folder: Path) -> None:
    ask = """
    ask <- function(...) dc$crosstab(people, ..., unit = "person", max_groups = 1L, epsilon = 1, ledger = ledger)
    labels <- function(table) paste(sapply(table$to_json()$rows$values, paste), collapse = "|")
    refused <- function(...) stopifnot(inherits(try(ask(...), silent = TRUE), "try-error"))
    ledger <- dc$Ledger$create("more.ledger", dataset = "doctor_visits", unit = "person", epsilon = 20)
    print(labels(ask("site", domain = list(site = c(3L, 1L)))))
    print(labels(ask("health", domain = list(health = list("poor")))))
    print(labels(ask("health", domain = list(health = "poor,fair,*"))))
    print(labels(ask("health", domain = list(health = list("poor", NULL)))))
    print(labels(ask("age", bands = list(age = list(18, 30, 65)))))
    visits$old <- visits$age > 60
    people <- as_table(visits)
    print(labels(ask("old", domain = list(old = c("true", "false")), edition = "2")))
    refused("site", domain = list(site = c(1, 2)))
    refused("health", domain = list(health = list("poor", NA)))
    refused("site", domain = list(site = factor(1:3)), edition = "4")
    refused("health", discover = "health")
    people <- as_table(transform(visits, person = as.double(person)))
    refused("site", domain = list(site = 1:3), edition = "3")
    """
    shown = ran(folder, *BLOCKS[:2], ask)
    assert [line.partition(" ")[2].strip('"') for line in shown.splitlines()] == [
        "3|1", "poor", "poor|fair|(all others)", "poor|NULL", "18-29|30-64", "true|false",
    ]  # fmt: skip
