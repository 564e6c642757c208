"""Releases with totals, from the request to the audit."""

from __future__ import annotations

import csv
import json
import re
import shutil
from fractions import Fraction
from importlib import resources

import numpy as np
import pyarrow.parquet as pq
import pytest
from jsonschema import Draft202012Validator

import discreet as dc
from discreet.errors import InvalidInput
from discreet.exact.bits import SeededBits
from discreet.release.bundle.cross import cross_table
from discreet.release.counts import _release
from discreet.release.outputs.export import export
from discreet.release.plan.plan import plan_from_request
from discreet.release.plan.planning import plan_release
from support.bundles import DOMAIN, Made, answered, edit, edit_json, failing, seal
from support.command_line import run
from support.made_sources import Ready
from support.refusals import Parts, refused

ROLLUP = "SELECT site, health, COUNT(*) FROM visits GROUP BY ROLLUP (site, health)"
CUBE = "SELECT site, health, COUNT(*) FROM visits GROUP BY CUBE (site, health)"
PLAIN = "SELECT site, health, COUNT(*) FROM visits GROUP BY site, health"
ZERO = [{"site": 1, "health": "poor"}]


def read(path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def adds_up(rows, name: str) -> None:
    """Every total is the sum of the groups it has, exactly."""
    leaves = [row for row in rows if row["grouping"] == "0"]
    for row in rows:
        bits = int(row["grouping"])
        kept = [column for k, column in enumerate(("site", "health")) if not bits >> (1 - k) & 1]
        assert all(row[column] == "Total" for column in ("site", "health") if column not in kept)
        own = [Fraction(leaf[name]) for leaf in leaves if all(leaf[column] == row[column] for column in kept)]
        assert Fraction(row[name]) == sum(own)


PUBLISHED = {
    "rollup, zeros": (ROLLUP, {"zeros": ZERO}),
    "cube": (CUBE, {}),
    "cube, zeros, several groups": (CUBE, {"zeros": ZERO, "max_groups": 3}),
    "rollup, gaussian": (ROLLUP, {"mechanism": "discrete-gaussian", "delta": "1e-6", "max_groups": 2}),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_counts_add_up_and_the_bundle_holds(name: str, tmp_path) -> None:
    question, options = PUBLISHED[name]
    book = dc.Ledger.create(tmp_path / "visits.ledger", dataset="visits", unit="person", epsilon=10, delta="1e-3")
    release = answered(book, tmp_path / "out", questions=question, **options)
    rows = read(tmp_path / "out" / "counts.csv")
    adds_up(rows, "count")
    rounded = read(tmp_path / "out" / "counts_rounded.csv")
    adds_up(rounded, "rounded_count")
    assert all(int(row["rounded_count"]) >= 0 for row in rounded)
    assert {row["grouping"] for row in rows} == {"0", "1", "3"} | ({"2"} if question == CUBE else set())
    assert failing(tmp_path / "out", book) == set()
    truths = {"0": 50, "1": 100, "2": 150, "3": 300}
    for row in rows:
        if row["status"] == "A" and "zeros" not in options:
            assert abs(Fraction(row["count"]) - truths[row["grouping"]]) < 10 * Fraction(row["sd"])
            assert int(row["low"]) <= Fraction(row["count"]) <= int(row["high"])
    impossible = [row for row in rows if row["status"] == "M"]
    assert len(impossible) == (1 if "zeros" in options else 0)
    assert all(float(row["count"]) == float(row["sd"]) == 0 for row in impossible)
    assert [row["grouping"] for row in release.rows()] == [int(row["grouping"]) for row in rows]
    assert plan_from_request(json.loads(json.dumps(release.request))).request == release.request


def test_sums_of_cells_use_the_combined_counts(book) -> None:
    release = answered(book, questions=CUBE)
    rows = {(row["site"], row["health"]): row for row in release.rows()}
    one = release.total({"site": 1})
    assert one.estimate == pytest.approx(rows[1, "Total"]["count"]) and one.sd == pytest.approx(rows[1, "Total"]["sd"])
    assert (one.low, one.high) == (rows[1, "Total"]["low"], rows[1, "Total"]["high"])
    everything = release.total()
    assert (everything.low, everything.high) == (rows["Total", "Total"]["low"], rows["Total", "Total"]["high"])
    gap = release.difference({"site": 1}, {"site": 2})
    assert (
        gap.estimate == pytest.approx(rows[1, "Total"]["count"] - rows[2, "Total"]["count"]) and gap.low < 0 < gap.high
    )
    share = release.percentage({"health": "good"})
    assert 40 < share.low < share.estimate < share.high < 60
    with refused(InvalidInput, "part"):
        release.percentage({"health": "good"}, {"health": "poor"})


def test_another_order_of_the_groups_is_the_same_question(book) -> None:
    first = answered(book, questions=CUBE, zeros=ZERO)
    again = answered(book, questions=CUBE, zeros=ZERO, domain={"site": [3, 1, 2], "health": ["poor", "good"]})
    assert not again.fresh

    def cells(release):
        return {
            (row["site"], row["health"]): (row["measured"], row["count"], row["low"], row["high"])
            for row in release.rows()
        }

    assert cells(first) == cells(again)


def test_totals_as_an_option_are_the_same_question() -> None:
    options = {"data": "visits", "unit": "person", "max_groups": 1, "domain": DOMAIN, "epsilon": 1}
    assert plan_release(PLAIN, totals="all", **options).key == plan_release(CUBE, **options).key
    assert plan_release(PLAIN, totals=["health"], **options).tables[0].question.levels == ((0, 1), (0,))
    assert plan_release(PLAIN, totals="health,site", **options).key == plan_release(CUBE, **options).key


def test_what_has_no_totals_is_asked_and_keyed_as_ever() -> None:
    """The digest under which answers were recorded before there were totals."""
    plan = plan_release(PLAIN, data="visits", unit="person", max_groups=1, domain=DOMAIN, epsilon=1)
    assert set(plan.request["tables"][0]) == {"question", "groups", "noise", "share", "suppress_below"}
    assert plan.key == "02e9f795520d9cfa45c3a646f9e47c33996351571148ba752abf886a716c4f22"


BY_EPSILON = Parts(argument="epsilon", token="part of epsilon")
REFUSED = {
    "threshold": ({"suppress_below": 5}, Parts(argument="suppress_below")),
    "clamped": ({"counts": "clamped"}, Parts(argument="counts")),
    "bound": ({"bound": 10}, Parts(argument="bound", token="no bound")),
    "error": ({"epsilon": None, "error": 5}, BY_EPSILON),
    "design": ({"properties": "WH"}, BY_EPSILON),
    "mechanism": ({"mechanism": dc.geometric(10, epsilon=1)}, BY_EPSILON),
    "table": ({"mechanism": "explicit-fair"}, Parts(argument="bound", token="explicit-fair")),
    "split": ({"split": [1, 2]}, Parts(argument="split", given="1/3, 2/3", token="levels, 3")),
    "twice": ({"totals": "all"}, Parts(argument="totals")),
    "discovery": (
        {"domain": {"site": range(1, 4)}, "discover": "health", "delta": "1e-6"},
        Parts(argument="discover", token="totals"),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_go_with_totals_is_refused(name: str) -> None:
    fields, parts = REFUSED[name]
    given = {"data": "visits", "unit": "person", "max_groups": 1, "domain": DOMAIN, "epsilon": 1} | fields
    with refused(InvalidInput, **parts):
        plan_release(ROLLUP, **given)


def test_totals_of_an_unknown_column_are_refused() -> None:
    given = {"data": "visits", "unit": "person", "max_groups": 1, "domain": DOMAIN, "epsilon": 1}
    with refused(InvalidInput, token="column 'helth'"):
        plan_release(PLAIN, totals="helth", **given)
    with refused(InvalidInput, "totals"):
        plan_release("SELECT COUNT(*) FROM visits", totals="all", data="visits", unit="person", epsilon=1)
    with refused(InvalidInput, "split", given="1, 2"):
        plan_release(PLAIN, split=[1, 2], **given)


def test_a_split_of_levels_is_taken_as_given() -> None:
    given = {"data": "visits", "unit": "person", "max_groups": 1, "domain": DOMAIN, "epsilon": 1}
    plan = plan_release(ROLLUP, split=[2, 1, 1], **given)
    assert [level.share for level in plan.tables[0].levels] == [Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)]
    assert [round(level.noise.mechanisms[0].certificate.epsilon, 6) for level in plan.tables[0].levels] == [
        0.5,
        0.25,
        0.25,
    ]
    sized = [{"site": s, "health": h, "size": 10 if s == 1 else 10_000} for s in (1, 2, 3) for h in ("good", "poor")]
    relative = plan_release(ROLLUP, sizes=sized, **given)
    assert relative.protection.relation == "substitution"
    assert (
        relative.tables[0].levels[0].share
        > plan_release(ROLLUP, relation="substitution", **given).tables[0].levels[0].share
    )


# ------------------------------------------------------------------------------------------------ audits


def forged(folder, name: str, change) -> None:
    lines = (folder / name).read_text().splitlines(keepends=True)
    lines[3] = change(lines[3])
    (folder / name).write_text("".join(lines))
    seal(folder)


def shifted(place: int, by: int):
    def change(line: str) -> str:
        parts = line.rstrip("\n").split(",")
        parts[place] = (
            str(Fraction(parts[place]) + by) if "." not in parts[place] else f"{float(parts[place]) + by:.3f}"
        )
        return ",".join(parts) + "\n"

    return change


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    """A bundle beside its ledger."""
    folder = tmp_path_factory.mktemp("totals")
    book = dc.Ledger.create(folder / "visits.ledger", dataset="visits", unit="person", epsilon=10)
    answered(book, folder / "out", questions=ROLLUP, split=[5, 3, 1])
    return folder


CHANGED = {
    "count": (3, "counts.csv"), "low": (5, "counts.csv"), "sd": (7, "counts.csv"), "measured": (8, "counts.csv"),
    "grouping": (0, "counts.csv"), "rounded": (3, "counts_rounded.csv"),
}  # fmt: skip


@pytest.mark.parametrize("what", CHANGED)
def test_whatever_is_changed_shows(what: str, bundle, tmp_path) -> None:
    out = shutil.copytree(bundle / "out", tmp_path / "out")
    place, name = CHANGED[what]
    forged(out, name, shifted(place, 3))
    assert ("counts" if what == "grouping" else "errors") in failing(out)


def test_a_measurement_changed_with_all_that_follows_shows_in_the_ledger(bundle, tmp_path) -> None:
    other = dc.Ledger.create(tmp_path / "other.ledger", dataset="visits", unit="person", epsilon=10)
    given = {"unit": "person", "max_groups": 1, "domain": DOMAIN, "epsilon": 1, "split": [5, 3, 1]}
    _release(plan_release(ROLLUP, data="visits.csv", **given), Made(), other, tmp_path / "theirs", SeededBits(2))
    assert failing(tmp_path / "theirs") == set()
    assert "ledger" in failing(tmp_path / "theirs", bundle / "visits.ledger")


@pytest.mark.parametrize("change", [
    lambda levels: levels["shares"].reverse(),
    lambda levels: levels["shares"].__setitem__(0, "1"),
    lambda levels: levels["noises"].pop(),
    lambda levels: levels["noises"].__setitem__(0, levels["noises"][0] | {"output": "clamped", "low": 0}),
], ids=["order", "sum", "number", "output"])  # fmt: skip
def test_levels_of_a_forged_request_are_refuted(change, bundle, tmp_path) -> None:
    out = shutil.copytree(bundle / "out", tmp_path / "out")
    edit_json(out, "request.json", lambda request: change(request["tables"][0]["levels"]))
    assert "request" in failing(out) or "statement" in failing(out)


def test_levels_cannot_be_taken_away_from_a_request(bundle, tmp_path) -> None:
    out = shutil.copytree(bundle / "out", tmp_path / "out")
    edit(out, "request.json", "ROLLUP (site, health)", "site, health")
    assert "request" in failing(out)


# ------------------------------------------------------------------------------------------------ words and counting


def test_people_times_groups_is_said_where_it_matters(book) -> None:
    once, often = answered(book, questions=ROLLUP), answered(book, questions=ROLLUP, max_groups=3)
    assert not any("`person` values times groups" in sentence for sentence in once.guarantee)
    assert any("`person` values times groups" in sentence for sentence in often.guarantee)
    assert "with totals" in once.describe() and "Total" in once.describe()
    assert "add up and are unbiased" in once.describe()
    assert "by site: " in once.plan.describe()


def test_people_are_bounded_once_at_the_leaves(tmp_path) -> None:
    """Ann has rows in both sites. With one group each she is in one site, and the total has her once."""
    seen = []

    class Peeking(Ready):
        def count(self, countings):
            from discreet.engines.reference import count_rows

            rows = [{"person": "ann", "site": 1}, {"person": "ann", "site": 2}, {"person": "bob", "site": 2}]
            return [count_rows(rows, one) for one in countings]

    for k in (1, 2):
        book = dc.Ledger.create(tmp_path / f"{k}.ledger", dataset="visits", unit="person", epsilon=10**4)
        plan = plan_release("SELECT site, COUNT(*) FROM visits GROUP BY ROLLUP (site)", data="visits", unit="person",
                            domain={"site": (1, 2)}, max_groups=k, epsilon=200)  # fmt: skip
        release = _release(plan, Peeking(), book, None, SeededBits(1))  # so much epsilon that there is no noise
        seen.append([row["count"] for row in release.rows()])
    assert seen[0][0] == 2 and sum(seen[0][1:]) == 2
    assert seen[1] == [3, 1, 2]


def test_measures_have_totals_of_their_own(book, tmp_path) -> None:
    question = "SELECT site, COUNT(*), COUNT_IF(health = 'poor') AS poor FROM visits GROUP BY ROLLUP (site)"
    release = answered(book, tmp_path / "out", questions=question, domain={"site": range(1, 4)}, edition="2026")
    assert failing(tmp_path / "out", book) == set()
    rows = read(tmp_path / "out" / "counts.csv")
    for measure in ("count", "poor"):
        own = [Fraction(row["count"]) for row in rows if row["measure"] == measure]
        assert own[0] == sum(own[1:])
    assert release.total({"measure": "poor"}).estimate == pytest.approx(float(Fraction(rows[1]["count"])))


def test_columns_that_are_called_like_ours_are_told_apart(book) -> None:
    question = 'SELECT grouping, measured, COUNT(*) FROM visits GROUP BY ROLLUP ("grouping", measured)'
    release = answered(book, questions=question.replace("SELECT grouping", 'SELECT "grouping"'),
                       domain={"grouping": (1, 2), "measured": ("Total", "x")})  # fmt: skip
    rows = release.rows()
    assert {"grouping", "group_grouping", "group_measured"} <= set(rows[0])
    assert len({(row["grouping"], row["group_grouping"], row["group_measured"]) for row in rows}) == len(rows) == 7


def test_several_questions_share_the_budget(book, tmp_path) -> None:
    release = answered(book, tmp_path / "out", questions=[ROLLUP, PLAIN], split=[3, 1])
    assert failing(tmp_path / "out", book) == set()
    assert [table.share for table in release.plan.tables] == [Fraction(3, 4), Fraction(1, 4)]
    assert (tmp_path / "out" / "counts_1_rounded.csv").exists() and not (
        tmp_path / "out" / "counts_2_rounded.csv"
    ).exists()


def test_noise_is_drawn_for_every_level_apart() -> None:
    plan = plan_release(ROLLUP, data="visits", unit="person", max_groups=1, domain=DOMAIN, epsilon=1)
    table, truth = plan.tables[0], np.arange(6)[:, None]
    drawn = np.array([table.draw(truth, SeededBits(seed)) for seed in range(300)])
    exact = np.concatenate([np.arange(6), [1, 5, 9], [15]])
    noise = drawn - exact
    correlations = np.corrcoef(noise.T)[~np.eye(10, dtype=bool)]
    assert np.abs(correlations).max() < 0.25
    spread = [float(level.noise.figures(1)[0][0]) for level in table.levels]
    np.testing.assert_allclose(noise.std(axis=0), np.repeat(spread, [6, 3, 1]), rtol=0.25)


# ------------------------------------------------------------------------------------------------ other forms


def test_two_columns_are_crossed_with_their_totals(book) -> None:
    release = answered(book, questions=CUBE, domain={"site": (1, 2), "health": ("Total", None)})
    table = cross_table(release.table())
    assert table.headings == ("site", "Total", "NULL", "Total")  # a value of that name, and the sum
    assert [row[0] for row in table.rows] == ["1", "2", "Total"]
    shown = {
        (row["grouping"], row["site"], row["health"]): f"{row['count']:,}"
        for row in release.tables[0].rows_for_people()
    }
    assert table.rows[2][3].split("\n")[0] == shown[3, "Total", "Total"]
    assert table.rows[0][1].split("\n")[0] == shown[0, 1, "Total"]
    assert table.rows[0][3].split("\n")[0] == shown[1, 1, "Total"]
    leaves = answered(
        book, questions="SELECT site, health, COUNT(*) FROM visits GROUP BY GROUPING SETS ((site, health), (health))"
    )
    assert [row[0] for row in cross_table(leaves.table()).rows] == ["1", "2", "3", "Total"]
    assert cross_table(leaves.table()).headings == ("site", "good", "poor")


def test_data_frames_have_the_columns_of_the_file(book, tmp_path) -> None:
    release = answered(book, tmp_path / "out", questions=ROLLUP)
    frame = release.to_pandas()
    written = read(tmp_path / "out" / "counts.csv")
    assert list(frame.columns) == list(written[0])
    assert frame["site"].tolist() == [row["site"] for row in written]  # "Total" as in the file; grouping says which
    assert frame["measured"].tolist() == [int(row["measured"]) for row in written]
    assert frame["count"].tolist() == pytest.approx([float(row["count"]) for row in written])


def test_bands_have_totals_and_quantiles(book, tmp_path) -> None:
    question = "SELECT health, age, COUNT(*) FROM visits GROUP BY CUBE (health, age)"
    release = answered(book, tmp_path / "out", questions=question,
                       domain={"health": ["good", "poor"]}, bands={"age": [0, 18, 65, 90]})  # fmt: skip
    assert failing(tmp_path / "out", book) == set()
    median = release.quantile("age")
    assert (median.low, median.value, median.high, median.bounds) == ("18-64", "18-64", "18-64", (18, 65))


def test_other_files_and_programs_get_all_levels(book, tmp_path) -> None:
    release = answered(book, questions=CUBE, edition="2026")
    export(release, tmp_path / "counts.csv-metadata.json")
    columns = json.loads((tmp_path / "counts.csv-metadata.json").read_text())["tables"][0]["tableSchema"]
    assert columns["primaryKey"] == ["edition", "grouping", "site", "health"]
    assert [one["titles"] for one in columns["columns"]] == list(release.table().headings)
    export(release, tmp_path / "counts.parquet")
    assert pq.read_table(tmp_path / "counts.parquet").num_rows == 12
    schemas = resources.files("discreet") / "schemas"
    for result, name in ((release, "counts"), (release.plan, "plan")):
        Draft202012Validator(json.loads((schemas / f"{name}.json").read_text())).validate(
            json.loads(json.dumps(result.to_json()))
        )


def test_the_command_line_asks_for_totals() -> None:
    asked = [
        "release",
        PLAIN,
        "--data",
        "visits",
        "--unit",
        "row",
        "--domain",
        "site=1..3",
        "--domain",
        "health=good,poor",
    ]
    found = json.loads(run(*asked, "--epsilon", 1, "--plan", "--json", "--totals", "health", "--split", "3,1").stdout)
    assert found["request"]["tables"][0]["levels"]["shares"] == ["3/4", "1/4"] and found["cells"] == 9


def test_people_see_one_whole_number_for_each_cell(book, tmp_path) -> None:
    release = answered(book, tmp_path / "out", questions=CUBE)
    exact = [row["count"] for row in read(tmp_path / "out" / "counts.csv")]
    whole = [row["rounded_count"] for row in read(tmp_path / "out" / "counts_rounded.csv")]
    assert any(len(count.partition(".")[2]) > 2 for count in exact)  # the data for programs are unrounded
    table = release.table()
    assert [str(row["count"]) for row in table.rows_for_people()] == whole
    rows = [{**row, "count": None} for row in release.rows()]
    assert [{**row, "count": None} for row in table.rows_for_people()] == rows  # nothing else differs
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    for text in (release.describe(), page):
        assert not any(count in text for count in exact if "." in count)
        words = " ".join(text.replace("<code>", "`").replace("</code>", "`").split())
        sentence = table.rounding_in_words("`counts.csv`", "`counts_rounded.csv`")
        assert sentence in re.sub("</?a[^>]*>", "", words)
    for name in ("counts.csv", "counts_rounded.csv"):
        assert f'<a href="{name}"><code>{name}</code></a>' in page
    groups = [row["count"] for row in table.chart_data["rows"]]
    assert sum(groups) == int(whole[0]) and all(isinstance(count, int) for count in groups)
    # every line and every column of the page passes mental arithmetic
    crossed = [[int(cell.split("\n")[0].replace(",", "")) for cell in row[1:]] for row in cross_table(table).rows]
    for line in (*crossed, *zip(*crossed, strict=True)):
        assert sum(line[:-1]) == line[-1]


def test_a_page_says_where_no_rounding_is_next_to_every_total(book, tmp_path) -> None:
    cube = "SELECT site, health, age, COUNT(*) FROM visits GROUP BY CUBE (site, health, age)"
    domain = {"site": (1, 2), "health": ("good", "poor"), "age": (1, 2)}
    three = answered(book, tmp_path / "three", questions=cube, domain=domain)
    two = answered(book, tmp_path / "two", questions=CUBE)
    for release, sentences in ((two, 1), (three, 2)):
        said = release.table().rounding_in_words("`counts.csv`", "`counts_rounded.csv`")
        assert len(said.split(". ")) == sentences and said in " ".join(release.describe().split())
    rows = three.table().rows_for_people()
    for total in rows:
        kept = [name for k, name in enumerate(three.table().by) if not three.table().is_summed_over(total, k)]
        parts = [row for row in rows if row["grouping"] == 0 and all(row[name] == total[name] for name in kept)]
        assert total["count"] == sum(row["count"] for row in parts)


def test_the_sum_of_a_selection_is_printed_whole(book, tmp_path) -> None:
    release = answered(book, tmp_path / "out", questions=ROLLUP)
    exact = [row["count"] for row in read(tmp_path / "out" / "counts.csv")]
    whole = str(release.total())
    assert whole.startswith(f"{round(float(exact[0])):,} (95% interval"), whole
