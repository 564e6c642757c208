"""Tables joined by person and period on every engine: the counts of the reference, and one month that counts alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from discreet.engines.relations import join
from support import joined_months
from support.joins import ENGINES, JoiningEngine

every_engine = pytest.mark.parametrize("engine", [pytest.param(one, id=str(one)) for one in ENGINES])


def folders(folder: Path, many: int) -> list[Path]:
    made = [folder / f"{number}" for number in range(many)]
    for one in made:
        one.mkdir()
    return made


@every_engine
def test_rows_of_the_same_person_and_month_are_joined(engine: JoiningEngine, tmp_path: Path) -> None:
    assert joined_months.differences(engine, 1, tmp_path) == []


@every_engine
def test_one_month_of_one_person_in_two_tables_counts_for_itself(engine: JoiningEngine, tmp_path: Path) -> None:
    assert joined_months.violations(engine, 2, folders(tmp_path, 3)) == []


@pytest.mark.parametrize("fault", ["person alone", "period alone"])
def test_a_planted_fault_is_noticed(fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fault: rows of all months of a person meet, or rows of all people of a month."""
    unit_sql = join.unit_sql

    def of_a_part(counting, kinds, dialect):
        unit = unit_sql(counting, kinds, dialect)
        part = f"split_part({unit.sql}, ':', {2 if fault == 'person alone' else 1})"
        return replace(unit, sql=part)

    monkeypatch.setattr(join, "unit_sql", of_a_part)
    assert joined_months.differences(ENGINES[0], 1, tmp_path) != []
