"""Releasing counts in Python: the order of things, the same question, several tables, choices of noise."""

from __future__ import annotations

from fractions import Fraction

import pytest

import discreet as dc
from discreet.engines.sources import open_source
from discreet.exact.bits import SeededBits
from discreet.release.bundle.verify import verify_bundle
from discreet.release.counts import _release
from discreet.release.plan.plan import plan_from_request
from discreet.release.plan.planning import plan_release
from support.made_sources import Ready
from support.refusals import refused

BY_SITE = "SELECT site, COUNT(*) FROM visits GROUP BY site"
SITES = {"site": range(1, 4)}


def ask(visits, book, question=BY_SITE, **options):
    given = {"data": visits, "unit": "person", "max_groups": 1, "domain": SITES, "epsilon": 1, "ledger": book}
    return dc.release_counts(question, **(given | options))


def test_the_same_question_has_one_answer_and_costs_nothing(visits, book):
    first = ask(visits, book)
    assert book.spent().epsilon == 1
    again = ask(visits, book, "select  site , count( * ) from VISITS group by SITE")
    assert again.rows() == first.rows() and again.ledger == first.ledger
    assert book.spent().epsilon == 1
    other = ask(visits, book, edition="2027")
    assert book.spent().epsilon == 2 and other.ledger != first.ledger


def test_the_answer_does_not_depend_on_whether_the_data_changed(visits, book):
    first = ask(visits, book)
    visits.write_text("person,site,health\n1,1,good\n")
    assert ask(visits, book).rows() == first.rows()


def test_a_question_that_cannot_be_paid_is_refused_before_the_data_is_read(visits, book):
    class Unread(Ready):
        dataset = "visits"

        def spelled(self, name):
            return name

        def table(self, name):
            return {"person": "text", "site": "text", "health": "text"}

        def view(self, name):
            return None

        def count(self, countings):
            raise AssertionError("the data was read")

    with pytest.raises(dc.errors.BudgetExceeded) as refusal:
        dc.release_counts(BY_SITE, data=Unread(), unit="person", max_groups=1, domain=SITES, epsilon=101, ledger=book)
    assert all(word in str(refusal.value) for word in ("spent", "asked", "left"))
    assert book.spent().epsilon == 0


def test_an_occupied_folder_is_refused_before_anything_is_spent(visits, book, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("mine")
    with refused(dc.errors.InvalidInput, token="not this release"):
        ask(visits, book, out=tmp_path / "out")
    assert book.spent().epsilon == 0


def test_the_request_that_is_changed_below_is_released(visits, book):
    assert ask(visits, book).fresh and book.spent().epsilon == 1 and len(book.entries()) == 1


@pytest.mark.parametrize(
    ("wrong", "argument", "value"),
    [
        ({"epsilon": None}, "epsilon", None),
        ({"epsilon": 0}, "epsilon", 0),
        ({"epsilon": -1}, "epsilon", -1),
        ({"domain": None}, "domain", None),
        ({"domain": {"site": []}}, "domain", None),
        ({"domain": {"site": [1], "health": ["good"]}}, "domain", None),
        ({"unit": "row"}, "unit", None),
        ({"relation": "substitution"}, "relation", None),
        ({"level": 2}, "level", 2),
        ({"mechanism": "magic"}, "mechanism", "magic"),
        ({"mechanism": "explicit-fair"}, "bound", None),
        ({"mechanism": "discrete-gaussian"}, "delta", None),
        ({"counts": "rounded"}, "counts", "rounded"),
        ({"counts": "in-range"}, "counts", None),
        ({"bound": -3}, "bound", -3),
        ({"max_groups": 0}, "max_groups", 0),
        ({"split": [1, 2]}, "split", "1, 2"),
        ({"suppress_below": 1.5}, "suppress_below", 1.5),
        ({"error": 3}, "epsilon", None),
        ({"edition": 7}, "edition", None),
    ],
)
def test_what_cannot_be_used_is_refused_before_anything_is_spent(wrong, argument, value, visits, book):
    with pytest.raises(dc.errors.DiscreetError) as refusal:
        ask(visits, book, **wrong)
    assert type(refusal.value) is dc.errors.InvalidInput
    assert (refusal.value.argument, refusal.value.given) == (argument, value)
    assert (refusal.value.allowed is None) == (value is None)
    assert book.spent().epsilon == 0 and not book.entries()


def test_a_unit_that_is_not_a_column_is_refused_before_anything_is_spent(visits, book):
    with refused(dc.errors.InvalidInput, token="column 'nobody'"):
        ask(visits, book, unit="nobody")
    assert book.spent().epsilon == 0 and not book.entries()


def test_a_missing_ledger_is_refused_with_the_line_to_type(visits, tmp_path):
    with refused(dc.errors.UnreadableFile, token="discreet ledger init"):
        ask(visits, tmp_path / "none.ledger")


def test_several_tables_share_one_epsilon(visits, book, tmp_path):
    questions = [BY_SITE, "SELECT health, COUNT(*) FROM visits GROUP BY health"]
    domain = {"site": range(1, 4), "health": ["good", "poor"]}
    released = ask(visits, book, questions, domain=domain, epsilon=3, split=[2, 1], out=tmp_path / "out")
    assert book.spent().epsilon == 3
    ratios = [table.plan.noise.mechanisms[0].certificate.epsilon for table in released.tables]
    assert ratios == pytest.approx([2, 1], abs=1e-9)
    assert len(released.rows(0)) == 3 and len(released.rows(1)) == 2
    assert verify_bundle(tmp_path / "out", ledger=book.name).holds


def test_a_plan_composes_more_tightly_than_adding_up(visits):
    """Forty cells per person: with a delta the noise of each is far less than a fortieth of epsilon allows."""
    question = "SELECT site, COUNT(*) FROM visits GROUP BY site"
    options = {"data": visits, "unit": "person", "domain": {"site": range(80)}, "max_groups": 40}
    pure = plan_release(question, epsilon=1, **options)
    tight = plan_release(question, epsilon=1, delta="1e-6", **options)
    normal = plan_release(question, epsilon=1, delta="1e-6", mechanism="discrete-gaussian", **options)
    spread = [plan.tables[0].noise.expected("0.95").half_width for plan in (pure, tight, normal)]
    assert spread[0] > 1.5 * spread[1] and spread[0] > 2 * spread[2]
    assert tight.cost.epsilon == 1 and 0 < tight.cost.delta <= Fraction(1, 10**6)


def test_a_plan_is_rebuilt_from_its_request(visits):
    plans = [
        plan_release(BY_SITE, data=visits, unit="person", max_groups=1, domain=SITES, epsilon=1),
        plan_release(
            BY_SITE,
            data=visits,
            unit="person",
            max_groups=1,
            domain=SITES,
            epsilon=1,
            bound=60,
            mechanism="explicit-fair",
        ),
        plan_release(BY_SITE, data=visits, unit="row", groups=[{"site": 2}, {"site": 1}], error=4, suppress_below=2),
        plan_release(BY_SITE, data=visits, unit="person", domain=SITES, epsilon=1, delta="1e-5", max_groups=3),
    ]
    for plan in plans:
        rebuilt = plan_from_request(plan.request)
        assert rebuilt.request == plan.request and rebuilt.key == plan.key
        assert rebuilt.cost == plan.cost and rebuilt.guarantee == plan.guarantee


def test_a_request_that_claims_too_little_is_refused(visits):
    plan = plan_release(BY_SITE, data=visits, unit="person", max_groups=1, domain=SITES, epsilon=1)
    with refused(dc.errors.InvalidInput, "epsilon"):
        plan_from_request({**plan.request, "epsilon": "1/2"})
    with refused(dc.errors.InvalidInput, "epsilon"):  # the same noise for people in two groups
        plan_from_request({**plan.request, "max_groups": 2})


def test_public_sizes_make_it_substitution_and_in_range(visits, tmp_path):
    sizes = tmp_path / "sizes.csv"
    sizes.write_text("site,size\n1,30\n2,40\n3,5\n")
    book = dc.Ledger.create(tmp_path / "s.ledger", dataset="visits", unit="person", relation="substitution", epsilon=9)
    released = ask(visits, book, BY_SITE.replace("GROUP", "WHERE health = 'poor' GROUP"), sizes=sizes, epsilon=2)
    assert released.plan.protection.relation == "substitution" and released.plan.tables[0].sensitivity == 2
    assert all(0 <= row["count"] <= size for row, size in zip(released.rows(), (30, 40, 5), strict=True))
    assert all(row["high"] <= size for row, size in zip(released.rows(), (30, 40, 5), strict=True))
    with refused(dc.errors.InvalidInput, "relation"):
        ask(visits, book, sizes=sizes, relation="add-remove")


def test_structural_zeros_noise_and_suppression_are_told_apart(visits, book, tmp_path):
    released = ask(
        visits, book, "SELECT site, health, COUNT(*) FROM visits GROUP BY site, health", epsilon=30,
        domain={"site": range(1, 5), "health": ["good", "poor"]}, zeros=[{"site": 1, "health": "good"}],
        suppress_below=5, out=tmp_path / "out",
    )  # fmt: skip
    status = {(row["site"], row["health"]): (row["status"], row["count"]) for row in released.rows()}
    assert status[1, "good"] == ("M", 0)
    assert status[4, "good"] == ("Q", None) and status[4, "poor"] == ("Q", None)
    assert status[2, "good"][0] == "A"
    assert verify_bundle(tmp_path / "out", ledger=book.name).holds


def test_a_saved_mechanism_states_its_own_cost(visits, book, tmp_path):
    dc.geometric(50, alpha="1/2").save(tmp_path / "m.json")
    released = ask(visits, book, mechanism=dc.load(tmp_path / "m.json"), epsilon=None)
    assert released.cost.epsilon == pytest.approx(0.693148)
    with refused(dc.errors.InvalidInput, "epsilon"):
        ask(visits, book, mechanism=dc.load(tmp_path / "m.json"), epsilon="0.5")


def test_views_are_expanded_and_judged(tmp_path, book):
    import duckdb

    path = tmp_path / "visits.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE rows AS SELECT range AS person, range % 3 + 1 AS site FROM range(90)")
        connection.execute("CREATE VIEW visits AS SELECT person, site AS place FROM rows WHERE site <> 3")
        connection.execute("CREATE VIEW halves AS SELECT person, site / 2 AS place FROM rows")
    options = {
        "data": path,
        "unit": "person",
        "max_groups": 1,
        "domain": {"place": range(1, 4)},
        "epsilon": 20,
        "ledger": book,
    }
    released = dc.release_counts("SELECT place, COUNT(*) FROM visits GROUP BY place", **options)
    assert [row["count"] for row in released.rows()] == pytest.approx([30, 30, 0], abs=3)
    with refused(dc.errors.InvalidInput, token="(site / 2)"):
        dc.release_counts("SELECT place, COUNT(*) FROM halves GROUP BY place", **options)


def test_seeded_releases_are_those_of_the_secure_path(visits, book):
    """The path of tests is the path of releases: only the source of bits differs."""
    plan = plan_release(BY_SITE, data=visits, unit="person", max_groups=1, domain=SITES, epsilon=40)
    released = _release(plan, open_source(visits), book, None, SeededBits(3))
    assert [row["count"] for row in released.rows()] == [30, 30, 30]


def test_a_view_cannot_call_another_column_by_the_name_of_the_unit(tmp_path, book):
    import duckdb

    path = tmp_path / "visits.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE TABLE rows AS SELECT range AS person, range % 3 + 1 AS site, 1 AS ward FROM range(9)"
        )
        connection.execute("CREATE VIEW trick AS SELECT ward AS person, site FROM rows")
        connection.execute("CREATE VIEW renamed AS SELECT person AS who, site FROM rows")
    options = {"data": path, "domain": SITES, "epsilon": 40, "ledger": book}
    with refused(dc.errors.InvalidInput, "unit", token="'person' ... 'ward'"):
        dc.release_counts("SELECT site, COUNT(*) FROM trick GROUP BY site", unit="person", max_groups=1, **options)
    released = dc.release_counts(
        "SELECT site, COUNT(*) FROM renamed GROUP BY site", unit="who", max_groups=1, **options
    )
    assert released.plan.protection.unit == "person"
    assert [row["count"] for row in released.rows()] == [3, 3, 3]


def test_another_way_to_say_the_same_is_the_same_question(visits):
    """Groups as a range, a list or rows, and another level for the intervals: one key, so one answer."""
    options = {"data": visits, "unit": "person", "max_groups": 1, "epsilon": 1}
    keys = {
        plan_release(BY_SITE, domain={"site": range(1, 4)}, **options).key,
        plan_release(BY_SITE, domain={"SITE": [1, 2, 3]}, **options).key,
        plan_release(BY_SITE, domain=["site=1,2,3"], **options).key,
        plan_release(BY_SITE, groups=[{"site": 1}, {"site": 2}, {"site": 3}], **options).key,
        plan_release(BY_SITE, domain=["site=1..3"], level="0.9", **options).key,
        plan_release(BY_SITE, domain={"site": [3, 2, 1]}, **options).key,
    }
    assert len(keys) == 1
    assert plan_release(BY_SITE, domain={"site": [4, 2, 1]}, **options).key not in keys


def test_a_level_that_cannot_be_kept_is_refused_before_anything_is_spent(visits, book):
    with refused(dc.errors.InvalidInput, "level", given="0.3"):
        ask(visits, book, level="0.3")
    assert book.spent().epsilon == 0


def test_another_level_shows_the_same_counts_with_other_intervals(visits, book, tmp_path):
    first, wider = ask(visits, book, level="0.9"), ask(visits, book, level="0.99", out=tmp_path / "out")
    assert [row["count"] for row in first.rows()] == [row["count"] for row in wider.rows()]
    assert first.rows()[0]["low"] > wider.rows()[0]["low"] and book.spent().epsilon == 1
    assert verify_bundle(tmp_path / "out", ledger=book.name).holds


@pytest.mark.parametrize(
    "change", [{"share": "9"}, {"groups": {"columns": [], "kinds": [], "values": [], "cells": None, "zeros": []}}]
)
def test_a_request_that_does_not_fit_together_is_refused(change, visits):
    plan = plan_release(BY_SITE, data=visits, unit="person", max_groups=1, domain=SITES, epsilon=1)
    with pytest.raises(dc.errors.InvalidInput):
        plan_from_request({**plan.request, "tables": [{**plan.request["tables"][0], **change}]})


def test_required_properties_are_designed_proved_and_released(visits, book, tmp_path):
    released = ask(visits, book, bound=30, properties="WH+CM", loss="L1", epsilon=2, out=tmp_path / "out")
    (mechanism,) = released.tables[0].plan.noise.mechanisms
    assert mechanism.family == "designed" and dc.check(mechanism)["CM"].holds and dc.check(mechanism)["WH"].holds
    assert released.cost.epsilon == 2 and verify_bundle(tmp_path / "out", ledger=book.name).holds
    with refused(dc.errors.InvalidInput, "bound"):
        ask(visits, book, properties="WH")
    with refused(dc.errors.InvalidInput, "properties"):
        ask(visits, book, properties="WH", mechanism="explicit-fair", bound=9)


def test_designs_for_public_sizes(visits, tmp_path):
    sizes = tmp_path / "sizes.csv"
    sizes.write_text("site,size\n1,30\n2,8\n3,30\n")
    plan = plan_release(
        BY_SITE, data=visits, unit="person", max_groups=1, domain=SITES, epsilon=2, sizes=sizes, properties="F"
    )
    assert all(dc.check(m)["F"].holds for m in plan.tables[0].noise.mechanisms) and plan.cost.epsilon == 2
    assert [m.inputs.n for m in plan.tables[0].noise.mechanisms] == [8, 30]
    assert plan_from_request(plan.request).key == plan.key


def test_bounded_noise_is_priced_with_its_delta(visits, tmp_path):
    book = dc.Ledger.create(tmp_path / "d.ledger", dataset="visits", unit="person", epsilon=3, delta="0.001")
    noise = dc.bounded_noise(epsilon=2, stay="1/2", reach=4, kind="all-counts")
    noise.save(tmp_path / "bounded.json")
    released = ask(visits, book, mechanism=dc.load(tmp_path / "bounded.json"), epsilon=None, out=tmp_path / "out")
    assert released.cost.epsilon == pytest.approx(2) and 0 < released.cost.delta <= noise.certificate.delta * 1.001
    assert all(abs(row["count"] - 30) <= 4 and row["high"] - row["low"] <= 8 for row in released.rows())
    assert book.spent().delta == released.cost.delta
    assert verify_bundle(tmp_path / "out", ledger=book.name).holds


def test_a_p_table_is_priced_with_fresh_keys_and_refused_with_record_keys(visits, tmp_path):
    book = dc.Ledger.create(tmp_path / "p.ledger", dataset="visits", unit="person", epsilon=3, delta="0.1")
    table = dc.design_ptable(epsilon=2, reach=3, stay="1/2", keys=256)
    released = ask(visits, book, mechanism=table, epsilon=2, out=tmp_path / "out")
    assert released.cost.epsilon == 2 and released.cost.delta >= Fraction(1, 256)
    assert released.cost.delta <= Fraction(dc.verify(table.mechanism()).delta(2)) * Fraction(1001, 1000)
    assert verify_bundle(tmp_path / "out", ledger=book.name).holds
    with refused(dc.errors.InvalidInput, "mechanism"):
        ask(visits, book, mechanism=table.cell_keys(), epsilon=2)
