"""Every result speaks once: JSON that its published schema describes, text, a piece for notebooks, and a page."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas
import pytest
from jsonschema import Draft202012Validator

import discreet as dc
from discreet.estimation.method_table import METHODS
from discreet.optimise.design.report import Design
from discreet.optimise.noise.ptable import DesignedTable
from discreet.ptables.table import PTable
from discreet.report import Bar, Bullets, Code, Fact, Picture, Prose, Refusal, Report, Result, Section, Terms, TextTable
from discreet.verification import Refutation
from support.grids import every_case
from support.paths import VISITS
from support.refusals import refused

SCHEMAS = {
    file.name.removesuffix(".json"): json.loads(file.read_text())
    for package in ("discreet", "discreet_studies")
    for file in (files(package) / "schemas").iterdir()
}

SQL = "SELECT site, COUNT(*) FROM doctor_visits GROUP BY site"
ASKED: dict[str, Any] = {"unit": "person", "max_groups": 1, "domain": ["site=1..6"], "epsilon": 1}


def _file_verdict(folder: Path) -> Result:
    dc.geometric(4, alpha="1/2").save(folder / "m.json")
    return dc.verify(folder / "m.json", epsilon=1)


def _release(folder: Path) -> Any:
    ledger = dc.Ledger.create(folder / "ledger", dataset="doctor_visits", unit="person", epsilon=10)
    return dc.release_counts(SQL, data=VISITS, ledger=ledger, out=folder / "out", **ASKED)


def _bundle(folder: Path) -> Result:
    _release(folder)
    found = dc.verify(folder / "out")
    assert found.holds
    return found


def _guarantee(folder: Path) -> Result:
    _release(folder)
    return dc.explain_bundle(folder / "out")


def _editions(folder: Path) -> list[Any]:
    ledger = dc.Ledger.create(folder / "ledger", dataset="doctor_visits", unit="person", epsilon=10)
    return [dc.release_counts(SQL, data=VISITS, ledger=ledger, edition=name, **ASKED) for name in ("1", "2")]


def _crossed(folder: Path) -> Result:
    ledger = dc.Ledger.create(folder / "ledger", dataset="visits", unit="row", epsilon=1)
    frame = pandas.DataFrame({"site": [1, 2, 2], "sex": ["f", "m", None]})
    domain = {"site": [1, 2], "sex": ["f", "m"]}
    return dc.crosstab(frame, "site", "sex", domain=domain, margins=True, unit="row", epsilon=1, ledger=ledger)


def _budget_plan(folder: Path) -> Result:
    dc.Ledger.create(folder / "ledger", dataset="visits", unit="row", epsilon=2)
    text = 'format = "discreet budget plan"\nledger = "ledger"\n[[releases]]\nepsilon = 1.5\ntimes = 2\n'
    (folder / "year.toml").write_text(text, encoding="utf-8")
    return dc.plan_budget(folder / "year.toml")


def _request_file(folder: Path) -> Result:
    return dc.open_request(dc.write_request(folder / "request.toml", SQL, data="visits.csv", **ASKED))


def _refused() -> Result:
    try:
        dc.geometric(4, epsilon=700)
    except dc.errors.InvalidInput as problem:
        return Refusal(problem, lambda mention: f"the field {mention.name}")
    raise AssertionError("it was not refused")


def _explained() -> Result:
    choice = dc.choose(4, alpha="10/11", properties=["WH", "CM"], worst_case=True)
    return Design(choice.mechanism, choice)


def _estimate(folder: Path, method: Any = "mle") -> Any:
    if method in ("empirical-bayes", "g-model", "wavelet"):  # which need eight values
        return dc.estimate([60, 45, 30, 20, 10, 8, 6, 5, 9], dc.geometric(8, alpha="1/2"), method=method)
    return dc.estimate([60, 25, 40], dc.geometric(2, alpha="1/2"), method=method)


def _groups() -> Any:
    return dc.estimate([([60, 25, 40], dc.geometric(2, alpha="1/2")), ([30, 20, 10], dc.geometric(2, alpha="1/3"))])


def _compared() -> Any:
    return dc.estimate_by({"a": [60, 25, 40], "b": [30, 45, 10]}, dc.geometric(2, alpha="1/2"), column="sex")


def _contributions(folder: Path) -> dc.Contributions:
    ledger = dc.Ledger.create(folder / "contributions", dataset="doctor_visits", unit="person", epsilon=1)
    asked = {name: value for name, value in ASKED.items() if name != "max_groups"}
    return dc.contributions(SQL, data=VISITS, ledger=ledger, **asked)


def _contributions_plan(folder: Path) -> Result:
    (folder / "doctor_visits.toml").write_text(
        'format = "discreet dataset"\ndataset = "doctor_visits"\nunit = "person"\nledger = "book"\n'
        f'[tables.doctor_visits]\ndata = "{VISITS}"\n[columns]\nsite = "1..6"\n'
    )
    dc.Ledger.create(folder / "book", dataset="doctor_visits", unit="person", epsilon=1)
    return dc.Dataset.open(folder / "doctor_visits.toml").plan_contributions(SQL, epsilon="1/10")


def _ledger(folder: Path) -> dc.Ledger:
    _release(folder)
    return dc.Ledger.open(folder / "ledger")


FOUR = dc.geometric(4, alpha="1/2")
PRIOR = [0.1, 0.2, 0.4, 0.2, 0.1]

#: How each result is made, and the schema of its JSON.
RESULTS: dict[str, tuple[str, Callable[[Path], Result]]] = {
    "mechanism": ("mechanism", lambda folder: dc.explicit_fair(8, alpha="10/11")),
    "unbounded": ("mechanism", lambda folder: dc.two_sided_geometric(epsilon=1)),
    "matrix": ("mechanism", lambda folder: dc.from_matrix([["2/3", "1/3"], ["1/3", "2/3"]])),
    "designed": ("mechanism", lambda folder: dc.design(3, alpha="1/2", properties=["CM"])),
    "bounded": ("mechanism", lambda folder: dc.bounded_noise("11/5", stay="1/2", reach=4)),
    "map": ("mechanism", lambda folder: dc.planar_geometric(dc.Grid(2, 3, cell=10.0), epsilon=0.1)),
    "verdict": ("verdict", lambda folder: dc.verify(dc.geometric(4, epsilon=1), "local")),
    "verdict of a file": ("verdict", _file_verdict),
    "refutation": ("verdict", lambda folder: Refutation("m.json", "m.json", "it was altered.")),
    "error": ("error", lambda folder: _refused()),
    "error in prose": ("error", lambda folder: Refusal(dc.errors.Unsupported("not here."), lambda one: one.python)),
    "checks": ("checks", lambda folder: dc.check(dc.geometric(4, epsilon=1))),
    "explanation": ("explanation", lambda folder: dc.explain(dc.geometric(4, epsilon=1))),
    "composition": ("composition", lambda folder: dc.compose([(dc.geometric(4, epsilon=1), 3)])),
    "comparison": ("comparison", lambda folder: dc.compare(4, epsilon=1)),
    "sweep": ("comparison-sweep", lambda folder: dc.compare(4, epsilons=[0.5, 1], families=["GM", "EM"])),
    "choice": ("choice", lambda folder: dc.choose(4, alpha="1/2", properties=["CM"])),
    "calibration": ("calibration", lambda folder: dc.calibrate("geometric", 4, truth="1/2")),
    "ratio": ("calibration", lambda folder: dc.calibrate("randomized_response", 3, likelihood_ratio=2)),
    "design": ("design", lambda folder: Design(dc.design(4, epsilon=1, delta="1/20", loss="L1"))),
    "family": ("design", lambda folder: Design(dc.random_rounding(9, base=3))),
    "explained": ("design", lambda folder: _explained()),
    "derivable": ("derivability", lambda folder: dc.derivable(dc.geometric(4, alpha="1/2"))),
    "not derivable": ("derivability", lambda folder: dc.derivable(dc.explicit_fair(2, alpha="1/2"))),
    "trade-off": ("noise-tradeoff", lambda folder: dc.noise_tradeoff(2.2, [4, 8], stays=[0.5, 0.8])),
    "p-table": ("p-table-report", lambda folder: PTable((((0, 4),), ((-1, 1), (0, 2), (1, 1))), 4)),
    "designed p-table": ("p-table-design", lambda folder: DesignedTable(dc.design_ptable(1.5, 3, stay=0.5, keys=256))),
    "noisy p-table": ("p-table-design", lambda folder: DesignedTable(dc.design_ptable("0.5", 2, variance=3, keys=64))),
    "plan": ("plan", lambda folder: dc.plan_release(SQL, data=VISITS, **ASKED)),
    "simulated release": (
        "simulated-release",
        lambda folder: dc.simulate_release(dc.plan_release(SQL, data=VISITS, **ASKED)),
    ),
    "release": ("counts", _release),
    "contributions": ("contributions", _contributions),
    "contributions planned": ("contributions-plan", _contributions_plan),
    "cross table": ("cross-table", _crossed),
    "bundle": ("bundle-report", _bundle),
    "guarantee": ("guarantee", _guarantee),
    "editions": ("editions", lambda folder: dc.compare_editions(_editions(folder))),
    "request file": ("request-file", lambda folder: _request_file(folder)),
    "budget plan": ("budget-plan", _budget_plan),
    "ledger": ("ledger-statement", lambda folder: _ledger(folder).statement()),
    "ledger verified": ("ledger-report", lambda folder: _ledger(folder).verify()),
    "estimate": ("estimate", _estimate),
    **{
        f"estimate by {method}": ("estimate", lambda folder, method=method: _estimate(folder, method))
        for method in METHODS
    },
    "fit": ("fit", lambda folder: _estimate(folder).fit),
    "interval": ("interval", lambda folder: _estimate(folder).interval("mean")),
    "band": ("band", lambda folder: _estimate(folder).band()),
    "stratified": ("stratified", lambda folder: _groups().stratified),
    "groups compared": ("group-estimates", lambda folder: _compared()),
    "homogeneity": ("homogeneity", lambda folder: _groups().homogeneity(simulations=9)),
    "loss": ("reconstruction-loss", lambda folder: dc.reconstruction_loss(FOUR, PRIOR, people=300, repeats=3)),
    "product": ("mechanism", lambda folder: FOUR * dc.randomized_response(["yes", "no"], epsilon=1)),
    "product verified": ("verdict", lambda folder: dc.verify(FOUR * dc.randomized_response(["yes", "no"], epsilon=1))),
    "joint estimate": (
        "estimate",
        lambda folder: dc.estimate(
            [[9, 5, 7], [8, 6, 4]], dc.randomized_response(2, epsilon=1) * dc.geometric(2, epsilon=1)
        ),
    ),
    "study": ("study", lambda folder: dc.study("bounded", "numbers", quick=True)),
    "collection plan": (
        "collection-plan",
        lambda folder: dc.plan_collection(["yes", "no"], "±5 points", epsilon=1, surveys=10),
    ),
    "losses": (
        "loss-comparison",
        lambda folder: dc.compare_reconstruction(
            dc.Counts(4), PRIOR, people=300, repeats=3, likelihood_ratio=2, within=1
        ),
    ),
}


# Results are made once, not once in each process.
@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Result]:
    return {name: make(tmp_path_factory.mktemp("result")) for name, (_, make) in RESULTS.items()}


every_result = every_case("name", RESULTS)


@pytest.mark.xdist_group("results")
@every_result
def test_json_is_what_the_published_schema_describes(name: str, results: dict[str, Result]) -> None:
    schema = SCHEMAS[RESULTS[name][0]]
    content = json.loads(json.dumps(results[name].to_json(), allow_nan=False))
    assert content["format"] == f"discreet {RESULTS[name][0]}" and isinstance(content["version"], int)
    described = Draft202012Validator(schema)
    described.validate(content)
    for key in schema["required"]:  # and it would notice
        assert not described.is_valid({k: v for k, v in content.items() if k != key}), key
    assert not described.is_valid({**content, "unknown": 1})


def test_every_schema_is_valid_and_is_that_of_some_result() -> None:
    for name, schema in SCHEMAS.items():
        Draft202012Validator.check_schema(schema)
        assert schema["$id"] == f"discreet/{name}/{schema['properties']['version']['const']}"
    lists = {"claims"}  # of several studies: tests/studies/test_claims_of_studies.py
    assert {schema for schema, _ in RESULTS.values()} | lists == set(SCHEMAS)


@pytest.mark.xdist_group("results")
@every_result
def test_it_is_described_in_text_that_a_terminal_can_bear(name: str, results: dict[str, Result]) -> None:
    text = results[name].describe()
    assert isinstance(text, str) and text.strip() and "\x1b" not in text
    assert not re.search("[\ufdd0-\ufdd2]", text)  # the marks of mentions are for errors


class _Reader(HTMLParser):
    """Reads a page strictly: what is opened is closed."""

    VOID = frozenset({"meta", "br", "hr", "img", "input", "link"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        assert not any(name.startswith("on") for name, _ in attrs), (tag, attrs)
        assert not any(name in ("src", "href") and value and not value.startswith("#") for name, value in attrs)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def read(html: str) -> list[str]:
    reader = _Reader()
    reader.feed(html)
    assert reader.open == []
    return reader.seen


@pytest.mark.xdist_group("results")
@every_result
def test_its_page_has_the_one_frame_loads_nothing_and_runs_nothing(
    name: str, results: dict[str, Result], tmp_path: Path
) -> None:
    report = results[name].report()
    file = report.save(tmp_path / "page.html")
    page = file.read_text(encoding="utf-8")
    seen = read(page)
    assert "script" not in seen and seen[:3] == ["html", "head", "meta"] and "h1" in seen
    assert "default-src 'none'" in page and report.kind
    for fact in report.facts:
        assert fact.value and fact.meaning


@pytest.mark.xdist_group("results")
@every_result
def test_a_notebook_shows_a_piece_of_the_same(name: str, results: dict[str, Result]) -> None:
    piece = results[name]._repr_html_()
    seen = read(piece)
    assert seen[0] == "div" and "html" not in seen and "script" not in seen


@pytest.mark.xdist_group("results")
@every_result
def test_its_repr_is_one_short_line(name: str, results: dict[str, Result]) -> None:
    """Dataclasses once listed every field, and a comparison had 4,500 characters."""
    text = repr(results[name])
    assert "\n" not in text and len(text) <= 160
    assert text.startswith("<") and text.endswith(">") and not re.fullmatch(r"<\w+(: )?>", text)


def test_long_reprs_are_cut() -> None:
    long = dc.Labels([f"a label of many letters, number {k}" for k in range(1000)])
    assert (
        len(repr(long)) < 160
        and "1,000 in all" in repr(long)
        and repr(dc.Labels(["a", "b"])) == "Labels(labels=('a', 'b'))"
    )
    assert len(repr(dc.randomized_response(long, epsilon=1))) <= 160
    assert len(repr(dc.design(3, alpha="1/2", properties=["S", "RH", "RM", "CH", "CM", "F", "WH", "mse<=100"]))) <= 160


# ------------------------------------------------------------------------------------------------ hostile words

EVIL = "<script>alert(1)</script>\x1b[31m\u202e\"'&"


def hostile() -> Report:
    """Everything that a report can hold, with text that is out to break a page or a terminal."""
    parts = (
        Prose(EVIL, first=EVIL),
        Bullets((EVIL,)),
        Terms(((EVIL, EVIL),)),
        TextTable((EVIL, "n"), ((EVIL, EVIL),), numbers=(1,), strong=(1,), bars=(EVIL,)),
        TextTable(("a",), (("x",), ("y",)), bars=(Bar(1, 0, None), Bar(-2.5, -3, -2)), total=7),
        Picture("vega-lite", dc.plots.heatmap(dc.randomized_response([EVIL, "b"], epsilon=1)).spec, EVIL),
        Code(EVIL),
    )
    return Report(EVIL, EVIL, (Fact(EVIL, EVIL),), (Section(EVIL, parts), Section(EVIL, parts, "folded")), (EVIL,))


def test_nothing_that_a_label_says_becomes_markup() -> None:
    for html in (hostile().page(), hostile().html()):
        assert "script" not in read(html) and "\x1b" not in html
    assert "<script" not in hostile().page()


def test_nothing_that_a_label_says_steers_a_terminal() -> None:
    text = hostile().text()
    assert "\x1b" not in text and "\u202e" not in text


def test_a_terminal_shows_so_many_rows_and_says_how_many_there_are() -> None:
    rows = tuple((str(k),) for k in range(9))
    report = Report("t", sections=(Section(parts=(TextTable(("k",), rows, total=30),)),))
    assert report.text(most=4).splitlines()[-1] == "... the first 4 of 30."
    assert "The first 9 of 30 rows." in report.page()


def test_what_is_for_pages_only_is_not_in_the_terminal() -> None:
    sections = (Section("shown", (Prose("a"),)), Section("more", (Prose("b"),), "pages"), Section("c", depth="folded"))
    text, page = Report("t", sections=sections).text(), Report("t", sections=sections).page()
    assert "shown" in text and "more" not in text
    assert "<h2>more</h2>" in page and "<summary>c</summary>" in page


def test_a_long_note_is_wrapped_under_its_label() -> None:
    lines = Report("t", notes=("a note of many words " * 9,)).text(width=60).splitlines()
    assert len(lines) > 3 and max(map(len, lines)) <= 60
    assert lines[1].startswith("note      a note") and all(line.startswith(" " * 10) for line in lines[2:])


def test_words_between_backticks_are_code_on_pages() -> None:
    page = Report("t", sections=(Section(parts=(Prose("type `a < b` now"),)),)).page()
    assert "type <code>a &lt; b</code> now" in page


def test_pieces_in_one_notebook_share_no_names_and_keep_their_colours() -> None:
    first, second = dc.geometric(3, epsilon=1), dc.geometric(3, epsilon=2)
    pieces = [one._repr_html_() for one in (first, second)]
    names = [set(re.findall(r'id="([^"]+)"', piece)) for piece in pieces]
    assert all(names) and not names[0] & names[1]
    assert ":root" not in pieces[0] and ":scope{--paper" in pieces[0]


def test_a_picture_that_is_shown_twice_is_drawn_twice() -> None:
    picture = dc.geometric(2, epsilon=1).report().sections[1].parts[0]
    page = Report("t", sections=(Section(parts=(picture, picture)),)).page()
    names = re.findall(r'id="([^"]+)"', page)
    assert len(names) == len(set(names)) and page.count("<svg") == 2


def test_errors_can_be_sent_to_another_process() -> None:
    import copy
    import pickle

    for problem in (dc.errors.MissingExtra("pot", "transport"), dc.errors.InvalidInput("no.", "Try 2.", given=3)):
        for again in (pickle.loads(pickle.dumps(problem)), copy.copy(problem)):
            assert type(again) is type(problem) and str(again) == str(problem) and again.advice == problem.advice


@pytest.mark.parametrize("name", ["\ufdd0x\ufdd2", "\ufdd0a\ufdd1b\ufdd2", "\ufdd1"])
def test_letters_that_mark_mentions_are_letters_in_what_people_write(name: str) -> None:
    with refused(dc.errors.UnreadableFile, token="No such file"):
        dc.load(name)
