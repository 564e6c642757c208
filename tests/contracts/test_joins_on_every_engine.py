"""Every engine that joins x tables of the same people: the counts of the reference, and a person who counts alone."""

from __future__ import annotations

import pytest

from discreet.engines.relations import join
from support.joins import ENGINES, JoiningEngine, differences, violations_of_seed
from support.tiers import batches

every_engine = pytest.mark.parametrize("engine", [pytest.param(one, id=str(one)) for one in ENGINES])
FILES = ENGINES[0]


@every_engine
@pytest.mark.parametrize("batch", batches(fast=1, full=4, long=40))
def test_joined_rows_have_the_counts_of_the_reference(engine: JoiningEngine, batch: int) -> None:
    assert differences(engine, range(2 * batch, 2 * batch + 2)) == []


@every_engine
@pytest.mark.parametrize("batch", batches(fast=1, full=4, long=100))
def test_a_person_in_two_tables_counts_for_themselves_alone(engine: JoiningEngine, batch: int) -> None:
    assert violations_of_seed(engine, 500 + batch) == []


@pytest.mark.parametrize("batch", batches(fast=1, full=4, long=200))
def test_a_person_in_two_tables_of_files_counts_for_themselves_alone(batch: int) -> None:
    """A hundred questions a batch; twenty thousand in all."""
    assert [
        words for seed in range(5 * batch, 5 * batch + 5) for words in violations_of_seed(FILES, 2000 + seed, 20)
    ] == []


# ------------------------------------------------------------------------------------------------ planted faults


def test_the_suite_notices_people_who_are_bounded_before_the_join(monkeypatch) -> None:
    coded = join._coded

    def bounded(counting, part, *rest, **options):
        sql, kind = coded(counting, part, *rest, **options)
        return f"SELECT DISTINCT ON (u) * FROM ({sql}) AS every ORDER BY ALL", kind

    monkeypatch.setattr(join, "_coded", bounded)
    assert any(differences(FILES, [seed]) for seed in range(8))


def test_the_suite_notices_units_that_are_compared_by_their_first_letter(monkeypatch) -> None:
    """Stands for any equality that is not that of the whole text: a cast, padding, a collation."""
    table = join.one_table

    def padded(counting, rows_of, dialect, declared):
        counting, rows, kinds = table(counting, rows_of, dialect, declared)
        left, on, _ = rows.rpartition(" ON ")
        nothing = " = ".join(f"left(CAST(p{k}.u AS VARCHAR), 0)" for k in (0, 1))
        return counting, f"{left}{on}{nothing}) AS j", kinds

    monkeypatch.setattr("discreet.engines.duckdb.files.one_table", padded)
    assert any(violations_of_seed(FILES, seed) for seed in range(8))


def test_the_suite_notices_a_reduction_that_forgets_a_condition(monkeypatch) -> None:
    coded = join._coded

    def forgetful(counting, part, *rest, **options):
        sql, kind = coded(counting, part, *rest, **options)
        group = ["min(g) AS g"] if part.places else []
        columns = ", ".join(["u", *group, *(f"max({name}) AS {name}" for name in part.tests)])
        return f"SELECT {columns} FROM ({sql}) AS every GROUP BY u", kind

    monkeypatch.setattr(join, "_coded", forgetful)
    assert any(differences(FILES, [seed]) for seed in range(8))
