"""All tables at once: one record a person, tables that agree, exact least squares, and bundles that verify."""

from __future__ import annotations

import csv
import random
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.engines.margins.counting import CountingTables
from discreet.engines.margins.reference import count_tables_of_rows
from discreet.engines.sources import open_source
from discreet.errors import InvalidInput
from discreet.exact.arrays import IntArray
from discreet.exact.bits import SeededBits
from discreet.privacy.relations import RELATIONS
from discreet.questions.groups import ColumnValues, Groups
from discreet.questions.question import read_question
from discreet.release.marginals.decimals import MAX_ROUNDING_ERROR, agreeing_decimals, digits_of
from discreet.release.marginals.signed import Margins
from discreet.release.marginals.split import absolute_sensitivity, coarse_parts, split_budget, split_for_geometric
from discreet.release.plan.plan import plan_from_request
from discreet.release.tables.margins.plan import MarginsTablePlan
from discreet.release.tables.margins.released import MarginTable
from discreet.release.tables.margins.wanted import margins_of, read_tables
from support.bundles import seal
from support.refusals import refused

SQL = "SELECT sex, age, job, COUNT(*) FROM people WHERE year = 1 GROUP BY sex, age, job"

#: The declared values of the questions below; ages are in bands.
DECLARED: dict[str, Any] = {
    "domain": {"sex": ["f", "m"], "job": ["cook", "smith", None, ...]},
    "bands": {"age": [18, 40, 65]},
}


def rows_of_people(number: int = 400, seed: int = 5) -> list[dict[str, Any]]:
    """Return rows of people, some of whom have several, and some undeclared values."""
    rng = random.Random(seed)
    return [
        {
            "person": f"p{rng.randrange(number // 2)}", "sex": rng.choice(["f", "m", "m", "x"]),
            "year": rng.choice([1, 1, 2]),
            "age": rng.choice([12, 20, 33, 41, 50, 64]), "job": rng.choice(["cook", "smith", "baker", None]),
        }
        for _ in range(number)
    ]  # fmt: skip


def planned(**fields: Any) -> dc.Plan:
    """Return a plan of the question above."""
    request = {"unit": "person", "epsilon": 1, "tables": 2, **DECLARED, **fields}
    return dc.plan_release(SQL, data=pd.DataFrame(rows_of_people()), dataset="people", **request)


def lead(plan: dc.Plan) -> MarginsTablePlan:
    """Return the one table plan of tables at once."""
    table = plan.lead
    assert isinstance(table, MarginsTablePlan)
    return table


def true_counts(plan: dc.Plan, rows: list[dict[str, Any]]) -> IntArray:
    """Return the true counts of the largest tables, by the reference."""
    counting = lead(plan).counting(plan.protection, b"key")
    assert isinstance(counting, CountingTables)
    return count_tables_of_rows(rows, counting)


@pytest.mark.parametrize("unit", ["person", "row"])
def test_an_engine_counts_one_record_a_person_as_the_reference_does(unit: str) -> None:
    rows = rows_of_people()
    source = open_source(pd.DataFrame(rows), "people")
    question = read_question(SQL, unit=unit).bind(source.table("people"), "people")
    values = planned().lead.groups
    sets = ((0, 1), (1, 2), (0,), (), (0, 1, 2))
    counting = CountingTables(question, values, unit, 1, b"key", sets=sets)
    counts = source.count([counting])[0]
    assert np.array_equal(counts, count_tables_of_rows(rows, counting))
    whole = counts[-24:, 0].reshape(2, 3, 4) if values.bands[1].size == 3 else counts[-16:, 0].reshape(2, 2, 4)
    assert np.array_equal(counts[: whole.shape[0] * whole.shape[1], 0], whole.sum(axis=2).reshape(-1))


def test_many_columns_are_packed_into_several_numbers() -> None:
    rng = random.Random(1)
    names = [f"c{k}" for k in range(40)]
    rows = [{"person": f"p{rng.randrange(30)}", **{name: rng.randrange(5) for name in names}} for _ in range(90)]
    source = open_source(pd.DataFrame(rows), "people")
    sql = f"SELECT {', '.join(names)}, COUNT(*) FROM people GROUP BY {', '.join(names)}"
    question = read_question(sql, unit="person").bind(source.table("people"), "people")
    values = ColumnValues(tuple(names), ("integer",) * 40, (range(5),) * 40)
    sets = tuple((a, b) for a in range(40) for b in range(a + 1, 40))
    counting = CountingTables(question, values, "person", 1, b"key", sets=sets)
    assert len(counting.words) == 2
    assert np.array_equal(source.count([counting])[0], count_tables_of_rows(rows, counting))
    assert Groups.from_json(values.to_json()) == values and isinstance(Groups.from_json(values.to_json()), ColumnValues)


def test_one_person_changes_each_signed_marginal_by_at_most_one() -> None:
    plan, rows = planned(), rows_of_people()
    table = lead(plan)
    before = table.signed(true_counts(plan, rows))
    changed = set()
    for person in {row["person"] for row in rows[:40]}:
        after = table.signed(true_counts(plan, [row for row in rows if row["person"] != person]))
        for one in before:
            changed.add(int(np.abs(before[one] - after[one]).sum()))
            assert int(np.abs(before[one] - after[one]).sum()) <= 1, one
    assert 1 in changed
    # a negative control: a second record of a person that also counts moves a marginal by two
    twice = [{**rows[0], "sex": sex, "age": 20, "job": "cook", "year": 1, "person": "new"} for sex in "ff"]
    doubled = true_counts(plan, rows + [{**row, "person": f"new{k}"} for k, row in enumerate(twice)])
    assert max(int(np.abs(table.signed(doubled)[one] - before[one]).sum()) for one in before) == 2
    once = table.signed(true_counts(plan, rows + twice))
    assert max(int(np.abs(once[one] - before[one]).sum()) for one in before) == 1


def test_a_record_with_one_undeclared_value_leaves_all_tables() -> None:
    plan, rows = planned(), rows_of_people()
    table = lead(plan)
    stranger = {"person": "new", "sex": "x", "year": 1, "age": 20, "job": "cook"}
    assert np.array_equal(true_counts(plan, rows), true_counts(plan, [*rows, stranger]))
    source = open_source(pd.DataFrame([stranger]), "people")
    assert not source.count([table.counting(plan.protection, b"key")])[0].any()
    source = open_source(pd.DataFrame([{**stranger, "sex": "f", "job": "unheard of"}]), "people")  # * takes it
    assert source.count([table.counting(plan.protection, b"key")])[0].sum() == len(table.margins.largest)


@pytest.mark.parametrize("delta", [0, "1e-6"])
@pytest.mark.parametrize("relation", RELATIONS)
def test_released_tables_are_the_exact_least_squares_and_agree(relation: str, delta: Any) -> None:
    plan, rows = planned(delta=delta, relation=relation), rows_of_people()
    table = lead(plan)
    counts = true_counts(plan, rows)
    noisy = table.draw(counts, SeededBits(1))
    release = table.from_record({"counts": noisy.tolist()}, table.to_json(), plan.level, "")
    ends = np.cumsum(table.sizes_of_measured)[:-1]
    parts = zip(table.division.parts, np.split(noisy, ends), strict=True)
    exact = table.solver.combine({one: part.reshape(table.margins.shape(one)) for one, part in parts})
    arrays = {}
    for one, published in zip(table.margins.tables, release.parts, strict=True):
        assert isinstance(published, MarginTable)
        values = [Fraction(int(n), exact[one].denominator) for n in exact[one].numerators.reshape(-1).tolist()]
        shown = list(map(Fraction, published.texts))
        assert max(abs(a - b) for a, b in zip(values, shown, strict=True)) <= MAX_ROUNDING_ERROR
        arrays[one] = np.array(shown, dtype=object).reshape([table.margins.sizes[k] for k in one])
        assert exact[one].variance == published.cell_variance
    for one, array in arrays.items():
        for place in range(len(one)):
            assert np.array_equal(array.sum(axis=place), arrays[one[:place] + one[place + 1 :]])


def test_without_noise_the_tables_are_the_true_ones() -> None:
    # a wrong sign of a binary column would show here
    plan, rows = planned(), rows_of_people()
    table = lead(plan)
    signed = table.signed(true_counts(plan, rows))
    exact = np.concatenate([signed[one].reshape(-1) for one in table.division.parts])
    release = table.from_record({"counts": exact.tolist()}, table.to_json(), plan.level, "")
    counting = CountingTables(table.question, table.groups, "person", 1, b"key", sets=table.margins.tables)
    everything = count_tables_of_rows(rows, counting)[:, 0].tolist()
    assert [Fraction(text) for part in release.parts for text in part.texts] == everything  # type: ignore[attr-defined]
    flipped = exact.copy()
    flipped[0] = -flipped[0] - 1
    other = table.from_record({"counts": flipped.tolist()}, table.to_json(), plan.level, "")
    assert [Fraction(t) for part in other.parts for t in part.texts] != everything  # type: ignore[attr-defined]


def test_another_order_of_values_is_the_same_question() -> None:
    plan = planned()
    other = planned(domain={"sex": ["m", "f"], "job": ["smith", None, "cook", ...]})
    assert other.key == plan.key and planned(tables=1).key != plan.key
    table, turned = lead(plan), lead(other)
    noisy = lead(plan.canonical).draw(true_counts(plan.canonical, rows_of_people()), SeededBits(2)).tolist()
    first = table.from_record({"counts": noisy}, plan.canonical.lead.to_json(), plan.level, "")
    second = turned.from_record({"counts": noisy}, plan.canonical.lead.to_json(), plan.level, "")
    for one in (["sex"], ["sex", "age"], ["sex", "job"], ["age", "job"]):
        rows = [{tuple(map(str, (row[name] for name in one))): row["count"] for row in released.part(one).rows()}
                for released in (first, second)]  # fmt: skip
        assert rows[0] == rows[1]


def test_the_cost_is_within_the_request_and_rebuilt_from_it() -> None:
    for fields in ({}, {"delta": "1e-6"}, {"relation": "substitution", "delta": "1e-7"}, {"tables": "sex*age=5,job"}):
        plan = planned(**fields)
        again = plan_from_request(plan.request)
        assert again.key == plan.key and again.cost == plan.cost and again.request == plan.request
        table = lead(plan)
        assert sum(table.division.share(one) for one in table.division.parts) == 1
        if not plan.cost.delta:
            margins, relation = table.margins, RELATIONS[plan.protection.relation]
            spent = sum(
                absolute_sensitivity(margins, one, relation) * Fraction(noise.mechanisms[0].certificate.epsilon)
                for one, noise in table.noises.items()
            )
            assert spent <= 1
    forged = planned(delta="1e-6").request
    forged["tables"][0]["margins"]["budget"] = str(2 * Fraction(forged["tables"][0]["margins"]["budget"]))
    with pytest.raises(InvalidInput):
        plan_from_request(forged)


def test_a_weight_makes_its_table_more_accurate() -> None:
    plain, weighted = lead(planned(delta="1e-6")), lead(planned(delta="1e-6", tables="2,sex*job=50"))
    table = (0, 2)
    assert weighted.table_variances[table] < plain.table_variances[table]
    assert weighted.table_variances[(0, 1)] > plain.table_variances[(0, 1)]


def test_bundles_verify_and_planted_faults_are_found(tmp_path: Path) -> None:
    book = dc.Ledger.create(tmp_path / "people.ledger", dataset="people", unit="person", epsilon=4, delta="1e-5")
    ask = {"unit": "person", "epsilon": 1, "delta": "1e-6", "tables": 2, **DECLARED}
    frame = pd.DataFrame(rows_of_people())
    release = dc.release_counts(SQL, data=frame, dataset="people", ledger=book, out=tmp_path / "all", **ask)
    assert dc.verify_bundle(tmp_path / "all", book).holds
    again = dc.release_counts(SQL, data=frame, dataset="people", ledger=book, **ask)
    assert not again.fresh and again.table("sex*age").rows() == release.table(["age", "sex"]).rows()
    for name, word in (("by_sex_job.csv", "cook"), ("measured.csv", "cook"), ("tables.csv", "by_sex_job.csv")):
        file = tmp_path / "all" / name
        text = file.read_text()
        lines = text.splitlines()
        number = next(k for k, line in enumerate(lines) if word in line)
        lines[number] = lines[number][:-1] + ("1" if lines[number][-1] != "1" else "2")
        file.write_text("\n".join(lines) + "\n")
        assert not dc.verify_bundle(tmp_path / "all", book).holds
        file.write_text(text)
    assert dc.verify_bundle(tmp_path / "all", book).holds
    with (tmp_path / "all" / "by_sex.csv").open() as lines_of_sex:
        by_sex = {row["sex"]: Fraction(row["count"]) for row in csv.DictReader(lines_of_sex)}
    with (tmp_path / "all" / "by_sex_job.csv").open() as lines_of_both:
        by_both = [(row["sex"], Fraction(row["count"])) for row in csv.DictReader(lines_of_both)]
    assert by_sex == {sex: sum(count for one, count in by_both if one == sex) for sex in by_sex}
    total = release.total({"sex": "f"}, table="sex*job")
    assert total.estimate == float(by_sex["f"]) and total.low <= total.estimate <= total.high
    share = release.percentage({"sex": "f"}, None, table="sex")
    assert share.low <= share.estimate <= share.high
    with refused(InvalidInput, "table"):
        release.table(["sex", "height"])


def test_an_altered_number_in_any_table_is_found_without_checksums_or_a_ledger(tmp_path: Path) -> None:
    """Whoever alters a file renews its checksum: what is wrong must follow from the measurements alone."""
    book = dc.Ledger.create(tmp_path / "people.ledger", dataset="people", unit="person", epsilon=4, delta="1e-5")
    ask = {"unit": "person", "epsilon": 1, "delta": "1e-6", "tables": ["sex", "age*job"], **DECLARED}
    folder = tmp_path / "all"
    dc.release_counts(SQL, data=pd.DataFrame(rows_of_people(40)), dataset="people", ledger=book, out=folder, **ask)
    found = []
    for file in sorted(folder.glob("*.csv")):
        text = file.read_text()
        place = max(k for k, letter in enumerate(text) if letter.isdecimal())
        file.write_text(f"{text[:place]}{(int(text[place]) + 1) % 10}{text[place + 1 :]}")
        seal(folder)
        found.append(not dc.verify_bundle(folder).holds)
        file.write_text(text)
    seal(folder)
    assert found == [True] * 4 and dc.verify_bundle(folder, book).holds


def test_intervals_cover_at_least_as_often_as_stated() -> None:
    plan, rows = planned(delta="1e-6", level=0.8), rows_of_people()
    table = lead(plan)
    counts = true_counts(plan, rows)
    wanted = CountingTables(table.question, table.groups, "person", 1, b"key", sets=table.margins.tables)
    truth = count_tables_of_rows(rows, wanted)[:, 0]
    inside = np.zeros(truth.size)
    for seed in range(60):
        noisy = table.draw(counts, SeededBits(seed))
        errors = table.from_record({"counts": noisy.tolist()}, table.to_json(), plan.level, "").errors
        inside += (errors["low"] <= truth) & (truth <= errors["high"])
    assert inside.sum() >= 0.8 * 60 * truth.size


@pytest.mark.parametrize(
    ("fields", "argument"),
    [
        ({"zeros": [{"sex": "f"}]}, "zeros"),
        ({"totals": "all"}, "totals"),
        ({"max_rows": 3}, "max_rows"),
        ({"max_groups": 2}, "max_groups"),
        ({"counts": "clamped"}, "counts"),
        ({"suppress_below": 5}, "suppress_below"),
        ({"tables": "sex*height"}, "tables"),
        ({"tables": "sex*age"}, "tables"),
        ({"tables": 0}, "tables"),
        ({"tables": 4}, "tables"),
        ({"tables": "sex*age=-1,job"}, "tables"),
        ({"tables": "sex*sex,age,job"}, "tables"),
        ({"mechanism": "discrete-gaussian"}, "delta"),
        ({"error": 5, "epsilon": None}, "error"),
    ],
)
def test_what_does_not_go_with_tables_at_once_is_refused(fields: dict[str, Any], argument: str) -> None:
    with refused(InvalidInput, argument):
        planned(**fields)


#: The question above for some tables, and the same tables as a request names them.
SETS = SQL.replace("GROUP BY sex, age, job", "GROUP BY GROUPING SETS ((sex, age), (job, sex), ())")
TABLES_OF_SETS = "sex*age, sex*job, 0"


def planned_sets(sql: str | list[str] = SETS, **fields: Any) -> dc.Plan:
    """Return a plan of a question with GROUPING SETS."""
    request = {"unit": "person", "epsilon": 1, **DECLARED, **fields}
    return dc.plan_release(sql, data=pd.DataFrame(rows_of_people()), dataset="people", **request)


@pytest.mark.parametrize("fields", [{}, {"delta": "1e-6"}, {"unit": "row"}, {"max_groups": 1}])
def test_grouping_sets_without_a_set_of_all_columns_are_the_same_question_as_tables(fields: dict[str, Any]) -> None:
    plan, other = planned_sets(**fields), planned(**{**fields, "tables": TABLES_OF_SETS})
    assert plan.key == other.key and plan.request == other.request and plan.cost == other.cost
    assert lead(plan).margins.tables == ((), (0, 1), (0, 2)) and plan.protection.max_groups == 1
    assert len(plan.notes) == len(other.notes) + 1
    assert plan_from_request(plan.request).key == plan.key


def test_grouping_sets_are_released_verified_and_asked_again_as_tables(tmp_path: Path) -> None:
    book = dc.Ledger.create(tmp_path / "people.ledger", dataset="people", unit="person", epsilon=2, delta="1e-5")
    ask = {"unit": "person", "epsilon": 1, "delta": "1e-6", **DECLARED}
    frame = pd.DataFrame(rows_of_people())
    release = dc.release_counts(SETS, data=frame, dataset="people", ledger=book, out=tmp_path / "sets", **ask)
    assert dc.verify_bundle(tmp_path / "sets", book).holds
    again = dc.release_counts(SQL, data=frame, dataset="people", ledger=book, tables=TABLES_OF_SETS, **ask)
    assert release.fresh and not again.fresh
    by_sex = [sum(row["count"] for row in release.table(["sex", name]).rows() if row["sex"] == "f")
              for name in ("age", "job")]  # fmt: skip
    assert by_sex[0] == pytest.approx(by_sex[1])


@pytest.mark.parametrize(
    ("fields", "argument"),
    [
        ({"max_groups": 2}, "max_groups"),
        ({"totals": "all"}, "totals"),
        ({"quantile": "age:0.5"}, "quantile"),
        ({"sql": SETS.replace("COUNT(*)", "MEDIAN(age)")}, "quantile"),
        ({"sql": [SETS, SQL]}, "tables"),
        ({"sql": [SQL, SETS]}, "tables"),
        ({"sql": SETS.replace("COUNT(*)", "COUNT(*), COUNT_IF(year = 1)")}, None),
        ({"tables": 2}, None),
    ],
)
def test_what_does_not_go_with_grouping_sets_as_tables_is_refused(fields: dict[str, Any], argument: str | None) -> None:
    with refused(InvalidInput, argument):
        planned_sets(**{"max_groups": 1, **fields})


def test_a_forged_request_with_totals_without_their_groups_is_refused() -> None:
    request = planned_sets().request
    request["tables"][0]["question"] = read_question(SETS, unit="person").text
    del request["tables"][0]["margins"]
    with refused(InvalidInput, "request"):
        plan_from_request(request)


def test_tables_are_read_from_texts_lists_and_mappings() -> None:
    assert read_tables('"a*b"*c, 3') == ('"a*b"*c', "3")
    assert margins_of(read_tables('"a*b"*c'), ["c", "a*b"], [2, 3]).tables == ((0, 1),)
    assert read_tables({"sex*age": 2}) == ("sex*age=2",)
    assert margins_of(("2", "sex*age=1/2"), ["sex", "age"], [2, 2]).weights == (1, 1, 1, Fraction(1, 2))


@pytest.mark.parametrize("sizes", [(2, 3), (4, 2, 3), (2, 2, 5, 3)])
def test_decimals_agree_and_are_near(sizes: tuple[int, ...]) -> None:
    from discreet.release.marginals.combine import MarginLeastSquares

    rng = np.random.default_rng(1)
    margins = Margins.up_to(min(3, len(sizes)), sizes)
    solver = MarginLeastSquares(margins, {one: Fraction(k + 2, 7) for k, one in enumerate(margins.residuals)})
    measured = {one: rng.integers(-20, 20, margins.shape(one)) for one in margins.residuals}
    combined = solver.combine(measured)
    decimals = agreeing_decimals(margins, combined)
    unit = 10 ** digits_of(margins)
    for table, values in decimals.items():
        for cell in product(*(range(sizes[k]) for k in table)):
            exact = Fraction(int(combined[table].numerators[cell]), combined[table].denominator)
            assert abs(Fraction(int(values[cell]), unit) - exact) <= MAX_ROUNDING_ERROR
        for place in range(len(table)):
            assert np.array_equal(values.sum(axis=place), decimals[table[:place] + table[place + 1 :]])


def test_the_coarse_split_is_near_the_best_and_the_local_one_better_than_equal_parts() -> None:
    margins, relation = Margins.up_to(2, (2, 7, 5, 3)), RELATIONS["add-remove"]
    parts, gap = coarse_parts(margins, relation, split_budget(margins, relation))
    assert 0 <= gap < 1e-3 and set(parts) <= set(margins.residuals)
    local = split_for_geometric(margins, relation, 1.0)

    def total(split: dict[Any, int]) -> float:
        from discreet.release.marginals.combine import MarginLeastSquares

        whole = sum(split.values())
        variances = {one: Fraction(2 * whole**2, part**2) for one, part in split.items()}
        solver = MarginLeastSquares(margins, variances)
        return float(sum(margins.cells(table) * solver.variance(table) for table in margins.tables))

    assert total(local) < min(total(dict.fromkeys(margins.residuals, 1)), total(parts) * 1.001)


def test_the_release_states_by_how_much_the_totals_of_rounded_tables_differ() -> None:
    plan, rows = planned(delta="1e-6"), rows_of_people()
    table = lead(plan)
    for seed in range(3):
        noisy = table.draw(true_counts(plan, rows), SeededBits(seed))
        release = table.from_record({"counts": noisy.tolist()}, table.to_json(), plan.level, "")
        parts = [part for part in release.parts if isinstance(part, MarginTable)]
        largest = 0
        for first, second in combinations(parts, 2):
            shared = set(first.table) & set(second.table)
            sums = []
            for part in (first, second):
                counts = part.rounded_counts.reshape([table.margins.sizes[k] for k in part.table])
                sums.append(counts.sum(axis=tuple(a for a, k in enumerate(part.table) if k not in shared)))
            largest = max(largest, int(np.abs(sums[0] - sums[1]).max()))
        words = f"up to {largest} between" if largest else "all totals are the same"
        assert words in release.error_sentence
