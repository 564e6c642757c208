"""Changes between editions: every interval covers the true change as often as it says, whatever the truths are."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import discreet as dc
from discreet.cli.main import app
from discreet.errors import Altered, InvalidInput, WrongType
from discreet.ledger.budget import short
from discreet.release.editions.report import percentage_in_words
from discreet.release.editions.significance import changes_beyond_noise
from discreet.release.noise import changes as changes_of
from discreet.release.noise import growth as growth_of
from discreet.release.noise.cells import CellNoise, cell_noise
from discreet.release.noise.changes import changes, total_change
from discreet.release.noise.margins import ReleasedCells
from support.bundles import BY_BOTH, DOMAIN, answered, edit
from support.refusals import refused
from support.tiers import examples

LEVEL = Fraction(9, 10)
REACH = 40

NOISES: dict[str, CellNoise] = {
    "signed": cell_noise("geometric", epsilon=1, output="signed"),
    "clamped": cell_noise("geometric", epsilon="0.7", output="clamped"),
    "in range": cell_noise("geometric", epsilon=1, bound=6, output="in-range"),
    "a table": cell_noise(dc.explicit_fair(6, alpha="1/3"), bound=6),
}
TRUTHS = [(0, 0), (0, 3), (2, 1), (5, 6), (6, 0), (6, 6), (8, 1), (1, 9)]


def law(noise: CellNoise, truth: int) -> dict[int, Fraction]:
    """The exact law of the report of one truth; beyond ``REACH`` of noise next to nothing is missing."""
    most = int(noise.largest(1)[0])
    below, above = noise.clamp(1)
    found: dict[int, Fraction] = {}
    kept = min(truth, most)
    if noise.shift_law is None:
        mechanism = noise.mechanisms[0]
        return {report: mechanism.probability(kept, report) for report in range(most + 1)}
    for z in range(-REACH, REACH + 1):
        report = min(max(kept + z, below), int(above[0]))
        found[report] = found.get(report, Fraction(0)) + noise.shift_law.probability(z)
    return found


def coverage(first: CellNoise, second: CellNoise, before: int, after: int) -> tuple[Fraction, Fraction]:
    """How often the interval of the difference covers, and that of the growth, which every pair has."""
    pairs = list(itertools.product(law(first, before).items(), law(second, after).items()))
    chances = [p * q for (_, p), (_, q) in pairs]
    found = changes(
        ReleasedCells([r for (r, _), _ in pairs], first, None),
        ReleasedCells([r for _, (r, _) in pairs], second, None),
        LEVEL,
    )
    inside = (found.low <= after - before) & (after - before <= found.high)
    growth = np.full(len(pairs), True)
    if before:
        true = 100 * (Fraction(after, before) - 1)
        ends = zip(found.growth_low.tolist(), found.growth_high.tolist(), strict=True)
        growth = np.array([low <= true <= high for low, high in ends])
    else:
        growth = np.isinf(found.growth_high) | (after == 0)  # from nothing to something: endless
    whole = [sum(p for p, held in zip(chances, mask.tolist(), strict=True) if held) for mask in (inside, growth)]
    return whole[0], whole[1]


@pytest.mark.parametrize("pair", [*((name, name) for name in NOISES), ("signed", "clamped"), ("a table", "in range")])
def test_differences_and_growth_cover_whatever_the_truths_are(pair):
    first, second = (NOISES[name] for name in pair)
    for before, after in TRUTHS:
        difference, growth = coverage(first, second, before, after)
        assert difference >= LEVEL, (before, after, float(difference))
        assert growth >= LEVEL, (before, after, float(growth))


def test_half_of_the_noise_would_be_noticed(monkeypatch):
    """A planted bug: the noise of one of the two editions is forgotten."""
    right = changes_of.noise_above
    monkeypatch.setattr(
        changes_of, "noise_above", lambda plus, minus, share: right(replace(plus, cells=0, at_clamp=0), minus, share)
    )
    assert coverage(NOISES["signed"], NOISES["signed"], 5, 6)[0] < LEVEL


def test_intervals_of_differences_are_not_wider_than_they_need_be():
    """The exact law of z' - z: the shortest symmetric interval that holds is the one that is found."""
    noise = NOISES["signed"]
    one = {z: noise.shift_law.probability(z) for z in range(-REACH, REACH + 1)}
    both: dict[int, Fraction] = {}
    for (a, p), (b, q) in itertools.product(one.items(), one.items()):
        both[b - a] = both.get(b - a, Fraction(0)) + p * q
    found = changes(ReleasedCells([100], noise, None), ReleasedCells([130], noise, None), LEVEL)
    half = int(found.high[0]) - 30
    assert int(found.low[0]) == 30 - half
    assert sum(p for z, p in both.items() if z > half) <= (1 - LEVEL) / 2 < sum(p for z, p in both.items() if z >= half)


def test_totals_cover_too():
    noise = NOISES["clamped"]
    truths = ((0, 3), (2, 2))
    laws = [[law(noise, truth) for truth in edition] for edition in truths]
    likely = [[{r: p for r, p in one.items() if p > Fraction(1, 10**3)} for one in edition] for edition in laws]
    missed, seen = Fraction(0), Fraction(0)
    for (a, p), (b, q) in itertools.product(*(one.items() for one in likely[0])):
        for (c, r), (d, s) in itertools.product(*(one.items() for one in likely[1])):
            seen += p * q * r * s
            found = _total(noise, (a, b), (c, d))
            missed += 0 if found[0] <= 1 <= found[1] else p * q * r * s
    assert seen > Fraction(97, 100) and missed + 1 - seen <= 1 - LEVEL


_KNOWN: dict[tuple[int, ...], tuple[int, int]] = {}


def _total(noise, before, after):
    """A total depends on the sums, and on how many counts lie at the lower end."""
    key = (sum(after) - sum(before), sum(r == 0 for r in before), sum(r == 0 for r in after))
    if key not in _KNOWN:
        found = total_change(
            ReleasedCells(before, noise, None), ReleasedCells(after, noise, None), np.full(2, True), LEVEL
        )
        _KNOWN[key] = found.low, found.high
    return _KNOWN[key]


@examples(30)
@given(
    reports=st.lists(st.tuples(st.integers(0, 300), st.integers(0, 300)), min_size=1, max_size=8),
    names=st.sampled_from(["signed", "clamped", "in range"]),
)
def test_many_cells_at_once_are_each_cell_by_itself(reports, names):
    noise = NOISES[names]
    if names == "in range":
        reports = [(min(a, 6), min(b, 6)) for a, b in reports]
    before, after = [a for a, _ in reports], [b for _, b in reports]
    together = changes(ReleasedCells(before, noise, None), ReleasedCells(after, noise, None), LEVEL)
    for k, (a, b) in enumerate(reports):
        alone = changes(ReleasedCells([a], noise, None), ReleasedCells([b], noise, None), LEVEL)
        assert (together.low[k], together.high[k]) == (alone.low[0], alone.high[0])
        assert together.low[k] <= together.difference[k] <= together.high[k]


def test_cells_that_cannot_exist_are_exact_and_suppressed_ones_are_unknown():
    noise = NOISES["clamped"]
    status = ["M", "Q", "A"]
    found = changes(ReleasedCells([0, 0, 40], noise, status), ReleasedCells([0, 50, 60], noise, ["M", "A", "A"]), LEVEL)
    assert (found.low[0], found.high[0]) == (0, 0) and found.comparable.tolist() == [True, False, True]
    assert not found.determined[0] and found.determined[2]
    before, after = ReleasedCells([0, 0, 40], noise, status), ReleasedCells([0, 5, 6], noise, None)
    assert total_change(before, after, found.comparable, LEVEL).estimate == 6 - 40
    assert total_change(before, after, np.full(3, True), LEVEL) is None


def test_growth_always_has_an_interval_which_is_endless_from_next_to_nothing():
    noise = cell_noise("geometric", epsilon=1)
    found = changes(
        ReleasedCells([0, 2, 9, 400], noise, None), ReleasedCells([5, 9, 12, 500], noise, None), Fraction(19, 20)
    )
    assert found.determined.all() and np.isinf(found.growth_high).tolist() == [True, True, False, False]
    assert np.isnan(found.growth).tolist() == [True, False, False, False]
    assert found.growth[3] == pytest.approx(25) and 22 < found.growth_low[3] < 25 < found.growth_high[3] < 28


def test_half_of_the_noise_in_growth_would_be_noticed(monkeypatch):
    """A planted bug: the noise of the earlier edition is forgotten."""
    right = growth_of._Grouped.of

    def forgets(law, share, groups):
        noise = right(law, share, groups)
        return replace(noise, mass=np.where((noise.low <= 0) & (noise.high >= 0), 1.0, 0.0))

    monkeypatch.setattr(growth_of._Grouped, "of", forgets)
    assert coverage(NOISES["signed"], NOISES["signed"], 8, 2)[1] < LEVEL


def test_growth_is_shorter_than_from_both_intervals_apart():
    """Counts of a few hundred, epsilon 1: one test of both reports is shorter than a box of two intervals."""
    noise = NOISES["signed"]
    first, second = ReleasedCells([400, 900], noise, None), ReleasedCells([500, 300], noise, None)
    found = changes(first, second, LEVEL)
    share = (1 - LEVEL) / 2
    (a, b), (c, d) = (noise.intervals(one.reported, 1 - share) for one in (first, second))
    box = 100.0 * (d / a - c / b)
    assert ((found.growth_high - found.growth_low) < 0.85 * box).all()


def test_shown_growth_covers_as_often_as_it_states_at_small_counts():
    """Epsilon 0.5, 2 to 3, simulated: every growth is shown. Shown only where it seemed known, most would miss."""
    noise, level, random = cell_noise("geometric", epsilon="0.5", output="signed"), Fraction(19, 20), _noise("0.5")
    pairs, times = np.unique(np.stack([2 + random(100_000), 3 + random(100_000)]), axis=1, return_counts=True)
    found = changes(ReleasedCells(pairs[0], noise, None), ReleasedCells(pairs[1], noise, None), level)
    inside = (found.growth_low <= 50) & (found.growth_high >= 50)
    assert found.determined.all() and times[inside].sum() > 0.95 * times.sum()
    first = noise.intervals(pairs[0], (1 + level) / 2)[0]
    chosen = (first > 0) & (2 * first >= pairs[0])
    assert times[chosen].sum() > 50 and times[inside & chosen].sum() < 0.8 * times[chosen].sum()


def _noise(epsilon):
    """Two-sided geometric noise from a seed, drawn without the code that releases."""
    source, alpha = np.random.default_rng(32), math.exp(-float(epsilon))
    return lambda size: source.geometric(1 - alpha, size) - source.geometric(1 - alpha, size)


@pytest.mark.parametrize("pair", [("signed", "signed"), ("clamped", "signed")])
def test_marks_are_wrong_in_a_table_as_rarely_as_they_state(pair):
    """Forty unchanged counts and four that changed: a table has a wrong mark in at most 10% of all draws."""
    wrong, found_all, random = 0, 0, _noise("1" if pair[0] == "signed" else "0.7")
    noise = NOISES[pair[0]]
    truths, later = np.full(44, 60), np.array([60] * 40 + [160] * 4)
    for _ in range(200):
        editions = [_Edition(truths + random(44), noise), _Edition(later + random(44), noise)]
        (mask,) = changes_beyond_noise(editions, [(0, 1)], LEVEL)
        wrong += bool(mask[:40].any())
        found_all += bool(mask[40:].all())
        assert mask.shape == (44,)
    assert wrong <= 32, "P(more than 32 of 200) < 1e-3 at 10%"
    assert found_all == 200


class _Edition:
    """An aligned table of one edition, as judging reads it."""

    def __init__(self, counts, noise):
        self.cells = ReleasedCells(np.maximum(counts, 0), noise, None)

    def changes(self, later, coverage, *, growth=True):
        return changes(self.cells, later.cells, coverage, growth=growth)


# ------------------------------------------------------------------------------------------------ releases


@pytest.fixture
def quarters(book):
    """Three editions from files of different names."""
    return [
        answered(
            book, questions=BY_BOTH.replace("visits", f"visits_{name}"), dataset="visits", edition=name, epsilon=epsilon
        )
        for name, epsilon in (("q1", 1), ("q2", 1), ("q3", "0.5"))
    ]


def test_editions_of_files_of_other_names_are_compared(quarters):
    found = dc.compare_editions(quarters)
    rows = found.rows()
    assert found.names == ("q1", "q2", "q3") and len(rows) == 2 * 6
    assert {(row["from"], row["to"]) for row in rows} == {("q1", "q2"), ("q2", "q3")}
    first, second = quarters[0].rows()[0], quarters[1].rows()[0]
    assert rows[0]["group"] == {"site": 1, "health": "good"}
    assert rows[0]["difference"] == second["count"] - first["count"]
    against = dc.compare_editions(quarters, against="First")
    assert {(row["from"], row["to"]) for row in against.rows()} == {("q1", "q2"), ("q1", "q3")}
    json.dumps(found.to_json(), allow_nan=False)
    assert "q1 to q2" in found.describe() and "or more" in found.describe()


def test_groups_in_another_order_are_the_same_groups(book, quarters):
    other = {"site": [3, 1, 2], "health": ["poor", "good"]}
    last = answered(
        book, questions=BY_BOTH.replace("visits", "visits_q4"), dataset="visits", edition="q4", domain=other
    )
    straight = answered(
        book, questions=BY_BOTH.replace("visits", "visits_q4"), dataset="visits", edition="q4", domain=DOMAIN
    )
    mixed, plain = (dc.compare_editions([quarters[0], one]).rows() for one in (last, straight))
    assert mixed == plain
    series = {(str(row["group"]), row["edition"]): row for row in dc.compare_editions([quarters[0], last]).series()}
    own = next(row for row in last.rows() if (row["site"], row["health"]) == (3, "poor"))
    drawn = series[str({"site": 3, "health": "poor"}), "q4"]
    assert (drawn["count"], drawn["low"], drawn["high"]) == (own["count"], own["low"], own["high"])


def test_what_cannot_be_compared_is_refused_by_name(book, quarters):
    first = quarters[0]
    where = BY_BOTH.replace(" GROUP", " WHERE site > 1 GROUP")
    for options, said in (
        ({"questions": where}, "the question differs"),
        ({"max_groups": 2}, "max_groups differs"),
        ({"domain": {"site": range(1, 5), "health": ["good", "poor"]}}, "good"),
        ({"domain": {"site": range(1, 3), "health": ["good", "poor"]}}, "good"),
        ({"questions": [BY_BOTH, "SELECT COUNT(*) FROM visits"]}, "tables differs"),
        ({"questions": BY_BOTH.replace("COUNT(*)", "COUNT(*) AS people")}, "the question differs"),
    ):
        with refused(InvalidInput, "editions", token=said):
            dc.compare_editions([first, answered(book, edition="other", **options)])
    with refused(InvalidInput, "editions"):
        dc.compare_editions([first, first])
    with refused(InvalidInput, "editions"):
        dc.compare_editions([first, answered(book, edition="q1", suppress_below=3)])
    with refused(InvalidInput, "editions", given=0):
        dc.compare_editions([first])
    with refused(WrongType, "editions"):
        dc.compare_editions(first)
    with refused(WrongType, "editions"):
        dc.compare_editions([first, 3])


def test_totals_without_groups_and_several_measures(book):
    sql = "SELECT COUNT(*), COUNT_IF(health = 'poor') AS poor FROM visits"
    found = dc.compare_editions([answered(book, questions=sql, domain=None, edition=name) for name in ("a", "b")])
    assert [row["group"]["measure"] for row in found.rows()] == ["count", "poor"]
    assert found.describe() and found.chart().spec


def test_counts_with_totals_are_compared_by_their_own_intervals(book):
    """Each is enclosed with half of the probability to miss, in whatever order its groups were declared."""
    first = answered(book, totals="all", edition="a")
    second = answered(book, totals="all", edition="b", domain={"site": [2, 3, 1], "health": ["poor", "good"]})
    found = dc.compare_editions([first, second])
    each = [replace(one.tables[0], level=Fraction(39, 40)).rows() for one in (first, second)]
    places = [{(row["grouping"], row["site"], row["health"]): row for row in rows} for rows in each]
    assert len(found.rows()) == 12
    for change, row in zip(found.rows(), each[0], strict=True):
        other = places[1][row["grouping"], row["site"], row["health"]]
        assert change["difference"] == pytest.approx(other["count"] - row["count"])
        assert (change["low"], change["high"]) == (other["low"] - row["high"], other["high"] - row["low"])
    assert found.total(0, 1) is None and "Total" in found.describe() and found.chart().spec
    json.dumps(found.to_json(), allow_nan=False)
    with refused(InvalidInput, "editions"):
        dc.compare_editions([first, answered(book, edition="c")])


def test_people_see_one_whole_number_for_each_count_of_each_edition(book, tmp_path):
    """On the page, in the terminal, in both charts and in the workbook; the JSON has the unrounded ones."""
    domains = {"a": None, "b": {"site": [2, 3, 1], "health": ["poor", "good"]}}
    editions = [
        answered(book, totals="all", edition=name, **({} if domain is None else {"domain": domain}))
        for name, domain in domains.items()
    ]
    found = dc.compare_editions(editions)
    shown = [{_cell(row): row["count"] for row in one.tables[0].rows_for_people()} for one in editions]
    rows = found.rows_for_people()
    cells = [_cell(row) for row in editions[0].tables[0].rows()]
    assert [(row["earlier"], row["later"]) for row in rows] == [tuple(one[cell] for one in shown) for cell in cells]
    assert all(row["difference"] == row["later"] - row["earlier"] for row in rows)
    assert any(row["earlier"] % 1 for row in found.rows()) and not any(row["earlier"] % 1 for row in rows)
    grown = [row for row in rows if row["growth"] is not None]
    assert grown and all(row["growth"] == pytest.approx(100 * row["difference"] / row["earlier"]) for row in grown)

    counts = [datum["count"] for datum in found.chart().spec["data"]["values"]]
    assert sorted(counts) == sorted(count for one in shown for count in one.values())
    growths = {datum.get("growth") for datum in found.growth_chart().spec["data"]["values"]}
    assert growths - {None} <= {row["growth"] for row in rows}
    terminal = found.describe()
    figures = [row[name] for row in found.rows() for name in ("earlier", "later", "difference")]
    unrounded = {f"{figure:,}" for figure in figures if figure % 1}
    assert unrounded and not [text for text in unrounded if text in terminal]
    page = found.report().page()
    for row in rows:
        assert f">{row['earlier']:,}<" in page and f">{row['later']:,}<" in page
    assert not [text for text in unrounded if text in page]
    changes, table = openpyxl.load_workbook(dc.export_editions(found, tmp_path / "year.xlsx")).worksheets[:2]
    assert [[cell.value for cell in line[4:7]] for line in changes.iter_rows(min_row=5)] == [
        [row[name] for name in ("earlier", "later", "difference")] for row in rows
    ]
    assert [[cell.value for cell in line[2:4]] for line in table.iter_rows(min_row=5, max_row=4 + len(rows))] == [
        [row["earlier"], row["later"]] for row in rows
    ]


def _cell(row):
    return row["grouping"], row["site"], row["health"]


def test_labels_and_names_that_are_out_to_break_a_page_do_not(book):
    evil = "<script>alert(1)</script>\x1b[31m"
    domain = {"site": [1, 2], "health": [evil, "'; DROP"]}
    names = ("</svg><script>", "b")
    found = dc.compare_editions([answered(book, domain=domain, edition=name) for name in names])
    page, text = found.report().page(), found.describe()
    assert "<script" not in page and "\x1b" not in page and "<svg" in page
    assert "\x1b" not in text and "alert(1)" in text


def test_folders_are_opened_and_checked(book, tmp_path, quarters):
    for release in quarters[:2]:
        release.save(tmp_path / release.edition)
    opened = dc.open_bundle(tmp_path / "q1", book)
    assert opened.rows() == quarters[0].rows() and not opened.fresh and not opened.paid
    folders = [str(tmp_path / name) for name in ("q1", "q2")]
    done = CliRunner().invoke(app, ["editions", *folders, "--json", "--page", str(tmp_path / "year.html")])
    assert json.loads(done.stdout)["tables"][0]["changes"] == dc.compare_editions(quarters[:2]).rows()
    assert "<svg" in (tmp_path / "year.html").read_text(encoding="utf-8")
    count = quarters[0].rows()[0]["count"]
    edit(tmp_path / "q1", "counts.csv", f"good,{count},", f"good,{count + 1},")
    with refused(Altered, token="(errors) ... counts.csv, line 2 ... dc.verify"):
        dc.compare_editions(folders)
    with refused(Altered, token="counts.csv, line 2"):
        CliRunner().invoke(app, ["editions", *folders], catch_exceptions=False)


def with_counts(release, counts):
    """The same release with other noisy counts."""
    table = release.tables[0]
    return replace(release, tables=(replace(table, counts=np.reshape(counts, table.counts.shape)),))


def test_only_changes_that_noise_does_not_explain_are_emphasised(book):
    """Two of twelve are far beyond noise; one lies beyond its own interval, and not beyond that of all twelve."""
    editions = [answered(book, edition=name) for name in ("q1", "q2", "q3")]
    counts = ([50] * 6, [90, 10, 55, *[50] * 3], [90, 10, 55, *[50] * 3])
    found = dc.compare_editions([with_counts(one, own) for one, own in zip(editions, counts, strict=True)])
    rows = found.rows()
    assert [row["beyond_noise"] for row in rows] == [True, True, *[False] * 10]
    assert rows[2]["low"] > 0, "alone it would be marked"
    assert found.report().facts[1].value == "2 of 12"
    page, text = found.report().page(), found.describe()
    assert "<strong>* +40</strong>" in page and "<strong>* -40</strong>" in page and "<bdi>+5</bdi>" in page
    assert "* +40" in text and "* +5" not in text and "at most 5%" in " ".join(text.split())


def test_the_more_changes_are_judged_the_less_is_marked_unless_others_are_certain(book):
    """Holm: a change that fails among six passes once five others are certain."""
    editions = [answered(book, edition=name) for name in ("q1", "q2")]
    one, all_but_one = ([55, *[50] * 5], [55, *[500] * 5])
    marked = []
    for later in (one, all_but_one):
        found = dc.compare_editions([with_counts(editions[0], [50] * 6), with_counts(editions[1], later)])
        marked.append(int(found.beyond_noise[0][0].sum()))
    assert marked == [0, 6]


def test_a_workbook_of_editions_emphasises_what_noise_does_not_explain(book, tmp_path):
    evil = "=1+1"
    domain = {"site": [1, 2], "health": ["good", evil]}
    editions = [answered(book, domain=domain, edition=name) for name in ("q1", "q2")]
    found = dc.compare_editions([with_counts(editions[0], [50] * 4), with_counts(editions[1], [90, 50, 2, 51])])
    sheet = openpyxl.load_workbook(dc.export_editions(found, tmp_path / "year.xlsx")).worksheets[0]
    lines = list(sheet.iter_rows(min_row=5))
    assert [line[0].fill.fgColor.rgb == "FFFFE699" for line in lines] == [True, False, True, False]
    assert [line[6].value for line in lines] == [40, 0, -48, 1] and lines[1][1].value == evil
    assert lines[1][1].data_type == "s"
    for release in editions:
        release.save(tmp_path / release.edition)
    folders = [str(tmp_path / name) for name in ("q1", "q2")]
    done = CliRunner().invoke(app, ["editions", *folders, "--to", str(tmp_path / "other.xlsx")])
    assert done.exit_code == 0 and (tmp_path / "other.xlsx").is_file()
    for bad, token in ((tmp_path / "year.csv", "year.csv"), (tmp_path / "q1" / "year.xlsx", "bundle")):
        with refused(InvalidInput, token=token):
            dc.export_editions(found, bad)


def test_growth_has_a_chart(book, quarters):
    found = dc.compare_editions(quarters)
    spec = found.growth_chart().spec
    assert "<svg" in found.report().page() and len(spec["data"]["values"]) == 12


# ------------------------------------------------------------------------------------------------ privacy of several


def whole_cost(editions):
    """The fact about privacy, and the sentences that say how it adds up."""
    report = dc.compare_editions(editions).report()
    (fact,) = (fact for fact in report.facts if fact.value.startswith("ε"))
    return f"{fact.value} {fact.meaning}", report.text()


def test_the_privacy_of_editions_has_the_sum_of_the_deltas(tmp_path):
    book = dc.Ledger.create(tmp_path / "visits", dataset="visits", unit="person", epsilon=9, delta="1e-3")
    options = {"mechanism": "discrete-gaussian", "delta": "1e-6"}
    editions = [answered(book, edition=name, **options) for name in ("q1", "q2", "q3")]
    delta = short(sum(edition.cost.delta for edition in editions), up=True, digits=3)
    assert 2.9e-6 < float(delta) <= 3e-6
    fact, text = whole_cost(editions)
    assert fact == f"ε = 3 for a `person` that is in every edition, with δ = {delta}"
    assert f"epsilon 3, delta {delta}" in " ".join(text.split())


def test_epsilons_of_different_neighbouring_tables_are_not_added_up(tmp_path):
    """Add-remove 1 and substitution 1 are 3 under substitution, and nothing under add-remove."""
    books = {
        relation: dc.Ledger.create(tmp_path / relation, dataset="visits", unit="person", epsilon=9, relation=relation)
        for relation in ("add-remove", "substitution")
    }
    editions = [answered(book, edition=relation, relation=relation) for relation, book in books.items()]
    fact, text = whole_cost(editions)
    assert fact == "ε = 3 for the values of a `person` that is in every edition"
    words = " ".join(text.split())
    assert "epsilon 1 under add-remove" in words
    assert "epsilon 3 under substitution" in words


def test_two_steps_of_add_remove_have_the_delta_of_two_steps(tmp_path):
    """delta (1 + e^epsilon), for discrete Gaussian noise in one of two editions."""
    terms = {"dataset": "visits", "unit": "person", "epsilon": 9}
    moved = dc.Ledger.create(tmp_path / "moved", **terms, delta="1e-3")
    other = dc.Ledger.create(tmp_path / "other", **terms, relation="substitution")
    editions = [
        answered(moved, edition="q1", mechanism="discrete-gaussian", delta="1e-6"),
        answered(other, edition="q2", relation="substitution"),
    ]
    fact, _ = whole_cost(editions)
    delta = float(editions[0].cost.delta) * (1 + math.e)
    assert fact.startswith("ε = 3 for the values") and float(fact.rpartition("= ")[2]) == pytest.approx(delta, rel=0.01)


def test_growth_that_rounds_to_nothing_has_no_sign() -> None:
    shown = [percentage_in_words(value) for value in (-0.04, 0.04, 0.0, -0.06, 12.34, 1234.5)]
    assert shown == ["0.0%", "0.0%", "0.0%", "-0.1%", "+12.3%", "+1,234%"]
