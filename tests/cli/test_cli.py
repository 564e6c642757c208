"""The command line, as a new user types it: output, exit codes, JSON, mistakes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import discreet as dc
from discreet.files import read_csv
from support.command_line import run

VERBS = ("demo", "design", "verify", "check", "explain", "compare", "calibrate", "perturb", "estimate")


@pytest.fixture
def matrix(tmp_path: Path) -> Path:
    file = tmp_path / "matrix.csv"
    file.write_text("2/3,1/6,1/6\n1/3,1/3,1/3\n1/6,1/6,2/3\n", encoding="utf-8")
    return file


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_with_an_example(verb: str) -> None:
    out = run(verb, "--help").stdout
    assert f"discreet {verb}" in " ".join(out.split())
    assert "Example" in out


def test_the_version_is_the_packages() -> None:
    assert run("--version").stdout.strip() == f"discreet {dc.__version__}"


def test_no_verb_shows_the_verbs() -> None:
    out = run(code=None).stdout
    assert all(verb in out for verb in VERBS)


def test_a_designed_mechanism_is_proved_saved_and_drawn(tmp_path: Path) -> None:
    file, picture = tmp_path / "m.json", tmp_path / "m.png"
    command = ["design", "--family", "explicit-fair", "-n", 8, "--alpha", "10/11", "-o", file, "--plot", picture]
    assert "e^epsilon = 11/10 exactly" in run(*command).stdout
    assert dc.load(file).certificate.ratio == dc.explicit_fair(8, alpha="10/11").certificate.ratio
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    "options",
    [
        ["geometric", "-n", "5", "--epsilon", "1"],
        ["two-sided-geometric", "--epsilon", "1"],
        ["randomized-response", "--labels", "yes,no,perhaps", "--epsilon", "1"],
        ["randomized-response", "-n", "3", "--alpha", "1/2"],
        ["uniform", "-n", "3"],
        ["rounded-laplace", "-n", "5", "--epsilon", "0.5"],
        ["discrete-gaussian", "--sigma2", "4"],
        ["bounded-noise", "--epsilon", "1.5", "--reach", "3", "--stay", "1/2"],
        ["planar-geometric", "--grid", "3x4x150", "--epsilon", "0.004"],
        ["planar-laplace", "--grid", "3x4x150", "--epsilon", "0.004", "--border", "normalise"],
        ["random-rounding", "-n", "9", "--base", "5"],
        ["suppression", "-n", "9", "--below", "3"],
    ],
    ids=lambda options: options[0],
)
def test_every_family_can_be_designed_and_verified(options: list[str], tmp_path: Path) -> None:
    file = tmp_path / "m.json"
    content = json.loads(run("design", "--family", *options, "-o", file, "--json").stdout)
    verified = json.loads(run("verify", file, "--json").stdout)
    if content["certificate"]["delta"]:
        assert verified["judged"]["holds"] and verified["judged"]["least_delta"] == content["certificate"]["delta"]
    else:
        assert content["certificate"]["epsilon"] == verified["epsilon"]
    assert verified["witness"]["sentence"]


def test_the_list_of_families_is_complete() -> None:
    assert len(run("design", "--family", "list").stdout.split()) == 14


def test_verify_prints_privacy_properties_and_the_witness_together(mechanism: Path) -> None:
    out = run("verify", mechanism).stdout
    assert "epsilon = 0.0953102 between adjacent counts" in out
    assert "exactly 11/10" in out
    assert "a true count of" in out
    assert "fair (F)" in out
    assert "has not   none" in out


def test_a_matrix_carries_no_claim_and_is_measured(matrix: Path) -> None:
    out = run("verify", matrix).stdout
    assert "it carries no claim" in out
    assert "exactly 2" in out


@pytest.mark.parametrize(
    ("options", "code"),
    [(["--epsilon", "0.7"], 0), (["--epsilon", "0.69"], 1), (["--epsilon", "0.5", "--delta", "0.2"], 0)],
)
def test_a_matrix_is_judged_when_asked(matrix: Path, options: list[str], code: int) -> None:
    out = run("verify", matrix, *options, code=code).stdout
    assert ("DOES NOT HOLD" in out) == (code == 1)
    judged = json.loads(run("verify", matrix, *options, "--json", code=code).stdout)["judged"]
    assert judged["holds"] is (code == 0)


@pytest.mark.parametrize("notion", ["central", "local", "metric"])
def test_the_notion_can_be_chosen(matrix: Path, notion: str) -> None:
    found = json.loads(run("verify", matrix, "--notion", notion, "--json").stdout)
    assert found["notion"] == notion
    assert found["ratio"] == ("4" if notion == "local" else "2")


def test_check_judges_what_is_required(mechanism: Path, matrix: Path) -> None:
    assert "decided exactly" in run("check", mechanism, "--require", "WH,CM").stdout
    out = run("check", matrix, "--require", "F", code=1).stdout
    assert "NO" in out
    results = json.loads(run("check", matrix, "--json").stdout)["properties"]
    assert set(results) == {"S", "RH", "RM", "CH", "CM", "F", "WH"}
    assert results["F"]["violation"] == "1/3"


def test_explain_speaks_of_odds(mechanism: Path) -> None:
    assert "at most 1.1." in run("explain", mechanism).stdout
    assert json.loads(run("explain", mechanism, "--prior", "0.1", "--json").stdout)["odds_ratio"] == 1.1


def test_compare_makes_a_table_json_and_a_report(tmp_path: Path) -> None:
    out = run("compare", "-n", 8, "--alpha", "10/11").stdout
    assert "0.8466" in out
    assert "S RH RM CH CM F WH" in out
    assert all(len(line) <= 80 for line in out.splitlines()[:-1])  # fits a terminal
    report = tmp_path / "report.html"
    command = ["compare", "-n", 4, "--epsilon", 1, "--families", "gm,em", "--loss", "L1,L0_1", "--report", report]
    numbers = json.loads(run(*command, "--json").stdout)
    assert list(numbers["mechanisms"][0]["costs"]) == ["L1", "L0_1"]
    assert "<td><strong>EM</strong></td>" in report.read_text(encoding="utf-8")
    assert "report    " in run(*command[:-2], "-o", report).stdout


def test_calibrate_finds_the_epsilon(tmp_path: Path) -> None:
    file = tmp_path / "m.json"
    found = json.loads(
        run("calibrate", "--family", "geometric", "-n", 100, "--within", "2:0.9", "-o", file, "--json").stdout
    )
    m = dc.load(file)
    assert 1 - max(dc.tail(m, 2)) >= 0.9
    assert found["family"] == "geometric"
    assert "ln" not in run("calibrate", "--family", "geometric", "-n", 100, "--ratio", "2:10").stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["verify", "no such file.json", "--delta", "0.1"], "--delta goes with --epsilon"),
        (["verify", "no such file.json"], "cannot read"),
        (["verify", "no such file.csv"], "cannot read"),
        (["design", "--family", "nonsense"], "Choose from geometric"),
        (["design", "--family", "geometric", "--epsilon", "1"], "needs -n"),
        (["design", "--family", "geometric", "-n", "4"], "exactly one of --alpha, --epsilon"),
        (["design", "--family", "geometric", "-n", "4", "--epsilon", "x"], "must be a finite number"),
        (
            ["design", "--family", "rounded-laplace", "-n", "4", "--alpha", "1/2", "--epsilon", "1"],
            "does not take --alpha",
        ),
        (["design", "--family", "planar-geometric", "--grid", "3x4", "--epsilon", "1"], "ROWSxCOLSxCELL"),
        (["compare", "-n", "4"], "exactly one of --epsilon and --alpha"),
        (["compare", "-n", "4", "--epsilon", "1", "--families", "XX"], "Choose from GM"),
        (["calibrate", "--family", "geometric", "-n", "4", "--within", "2"], "D:P"),
        (["calibrate", "--family", "geometric", "--truth", "0.5"], "exactly one of -n"),
        (["calibrate", "--family", "uniform", "-n", "4", "--truth", "0.5"], "explicit-fair"),
        (["calibrate", "--family", "geometric", "-n", "4"], "exactly one of --distance"),
        (["calibrate", "--family", "geometric", "-n", "4", "--truth", ".5", "--border", "remap"], "--border is for"),
        (["design", "--family", "uniform", "-n", "4", "--epsilon", "1"], "does not take --epsilon; it takes -n"),
        (["design", "--family", "uniform", "-n", "4", "-o", "m.txt"], "ends in .json"),
        (
            ["design", "--family", "uniform", "-n", "4", "-o", "no/such/folder/m.json"],
            "there is no folder no/such/folder",
        ),
        (["design", "--family", "uniform", "-n", "4", "--plot", "m.gif"], "ends in .png, .svg, .pdf, .html or .json"),
        (["design", "--family", "k-rr", "--labels", "yes,,no", "--epsilon", "1"], "one comma between two"),
        (["design", "--family", "geometric", "-n", "4", "--epsilon", "1", "--delta", "0.1"], "does not take --delta"),
        (["design", "--family", "bounded-noise", "--epsilon", "1", "--reach", "3"], "give --stay"),
        (["design", "--ptable", "--reach", "3", "--epsilon", "1", "--stay", ".5", "--layout", "ons"], "goes with -o"),
        (["design", "--ptable", "--reach", "3", "--epsilon", "1", "--stay", ".5", "-o", "t.foo"], "--layout ons"),
        (["compare", "-n", "4", "--epsilon", "1", "--loss", ","], "at least one loss"),
        (["compare", "-n", "4", "--epsilon", "1", "--report", "no/folder/x.html"], "there is no folder no/folder"),
        (["calibrate", "--family", "planar-laplace", "-n", "4", "--truth", ".5"], "planar-laplace needs --grid"),
        (["calibrate", "--family", "geometric", "--labels", "a,b", "--truth", ".5"], "geometric needs -n"),
        (["calibrate", "--family", "geometric", "-n", "4", "--truth", ".5", "--between", "1"], "LOW:HIGH"),
        (["verify", __file__], "Use .json (mechanism), .csv, .tsv, .txt or .npy (matrix)"),
    ],
)
def test_a_mistake_is_a_message_and_exit_code_2(arguments: list[str], words: str) -> None:
    done = run(*arguments, code=2)
    assert done.stderr.startswith("discreet: ")
    assert words in done.stderr
    assert done.stdout == ""


def test_an_unknown_option_is_exit_code_2() -> None:
    run("verify", "--nonsense", code=2)


def test_a_forged_claim_is_refused(mechanism: Path) -> None:
    text = mechanism.read_text(encoding="utf-8").replace("10/11", "9/11")
    mechanism.write_text(text, encoding="utf-8")
    assert "damaged or was altered" in run("verify", mechanism, code=1).stdout


@pytest.mark.parametrize(
    "text",
    [
        "truth,0,1\n0,0.75,0.25\n1,0.25,0.75\n",
        ";0;1\na;0.75;0.25\nb;0.25;0.75\n",
        "r0\tr1\n0.75\t0.25\n0.25\t0.75\n",
        "\ufeff0.75, 0.25\n\n0.25, 0.75\n",
        "3/4,1/4\r\n1/4,3/4\r\n",
    ],
    ids=["named", "semicolons", "tabs", "mark and blanks", "fractions"],
)
def test_matrices_of_many_makes_are_read(text: str, tmp_path: Path) -> None:
    file = tmp_path / "matrix.csv"
    file.write_bytes(text.encode())
    table, notes = read_csv(file)
    assert dc.verify(table).ratio == 3
    assert all("was taken as" in note for note in notes)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty"),
        ("0.5,0.5\n0.5\n", "1 cells instead of 2"),
        ("0.5,0.5\n0.5,half\n", "line 2: cell 2 is not a number"),
        ("0.5,0.4\n0.5,0.5\n", "adds up to 0.9"),
        ("0.9,0.1O\n0.5,0.5\n0.45,0.55\n", "line 1: cell 2 is not a number"),
        ("1,0,\n0.4,0.3,0.3\n0.3,0.3,0.4\n", "line 1: cell 3 is not a number"),
        ("50%,50%\n0.5,0.5\n", "at least two truths"),
        ("0.5,0.5\n", "at least two truths"),
        ("-0.5,1.5\n0.5,0.5\n", "must not be negative"),
    ],
)
def test_matrices_that_are_none_are_refused(text: str, words: str, tmp_path: Path) -> None:
    file = tmp_path / "matrix.csv"
    file.write_text(text, encoding="utf-8")
    assert words in run("verify", file, code=2).stderr


def test_a_ratio_too_long_to_write_out_does_not_cost_the_answer(tmp_path: Path) -> None:
    """Between the ends of a million counts the ratio has hundreds of thousands of digits; epsilon says it."""
    file = tmp_path / "wide.json"
    dc.geometric(10**6, epsilon=1).save(file)
    assert "local: epsilon = 1e+06" in run("verify", file, "--notion", "local").stdout
    found = json.loads(run("verify", file, "--notion", "local", "--json").stdout)
    assert found["ratio"] is None and found["witness"]["sentence"]


# ------------------------------------------------------------------------------------------------ p-tables


def test_a_p_table_is_designed_written_and_judged_by_its_file(tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    command = ["design", "--ptable", "--reach", 3, "--stay", "1/2", "--epsilon", "1.5", "--keys", 256, "-o", file]
    out = run(*command).stdout
    assert "on these keys" in out and "delta = 0.0117188" in out
    assert "a true 0 is published as 0 in" in out and "published as 1 in" in out
    out = run("verify", file).stdout
    assert "judged    epsilon = 3/2, delta = 0.01171875 holds" in out and "a true 0 is published as" in out
    content = json.loads(run("verify", file, "--json").stdout)
    assert content["judged"]["holds"] is True and content["table"]["keys"] == 256
    assert content["table"]["record_keys"]["composes"] is False and content["witness"]["sentence"]
    assert content["table"]["delta"]["2"] > 0
    beside = tmp_path / "table.csv.json"
    beside.write_text(beside.read_text().replace("0.01171875", "0.001"), encoding="utf-8")
    assert "DOES NOT HOLD" in run("verify", file, code=1).stdout


def test_a_p_table_without_a_stay_probability_says_what_happens_to_small_counts() -> None:
    command = ["design", "--ptable", "--reach", 2, "--variance", 3, "--epsilon", "0.5", "--keys", 64]
    out = run(*command).stdout
    assert "published as 0 (" in out and "a larger stay probability" in " ".join(out.split())
    content = json.loads(run(*command, "--json").stdout)
    assert sum(content["published_as"]["0"].values()) == pytest.approx(1) and content["notes"]
    assert content["lower_bound"] <= content["delta"]


def test_somebody_elses_p_table_is_measured(tmp_path: Path) -> None:
    file = tmp_path / "ptable.csv"
    file.write_text("i;j;p;v;p_int_ub\n0;0;1;0;1\n1;0;.25;-1;.25\n1;1;.5;0;.75\n1;2;.25;1;1\n", encoding="utf-8")
    out = run("verify", file).stdout
    assert "zeros are published untouched" in out and "0.75 at 2" in out and "never gives" in out
    run("verify", file, "--epsilon", 2, "--delta", "0.1", code=1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--ptable", "--reach", 3, "--stay", "1/2"], "needs --epsilon"),
        (["--ptable", "--epsilon", 1, "--stay", "1/2"], "needs --reach"),
        (["--ptable", "--reach", 3, "--epsilon", 1, "-n", 4], "does not take -n"),
        (["--ptable", "--family", "uniform"], "neither --family"),
        ([], "--family"),
        (["--family", "uniform", "-n", 3, "--layout", "ons"], "--layout goes with --ptable"),
        (["--family", "uniform", "-n", 3, "--keys", 9], "does not take --keys"),
    ],
)
def test_options_that_would_be_ignored_are_refused_for_tables_too(options: list[object], message: str) -> None:
    assert message in run("design", *options, code=2).stderr


def test_the_best_mechanism_is_found_proved_and_saved(tmp_path: Path) -> None:
    file = tmp_path / "best.json"
    out = run("design", "-n", 4, "--alpha", "10/11", "--properties", "WH,CM", "-o", file).stdout
    assert "0.7752 = 969/1250" in out and "rational vertex" in out and "e^epsilon = 11/10 exactly" in out
    assert dc.load(file).certificate.details["cost"] == "969/1250"
    run("verify", file)
    told = json.loads(run("design", "-n", 4, "--alpha", "10/11", "--properties", "WH,CM", "--explain", "--json").stdout)
    assert told["choice"]["name"] == "WM" and told["choice"]["without"]["CM"] == pytest.approx(484 / 625)


def test_designs_take_a_delta_a_prior_and_the_worst_case(tmp_path: Path) -> None:
    numbers = tmp_path / "prior.txt"
    numbers.write_text("4, 2, 1\n1", encoding="utf-8")
    base = ["design", "-n", 3, "--epsilon", "1", "--loss", "L1", "--json"]
    for options in (["--prior", numbers], ["--prior", "triangular"], ["--delta", "0.01"], ["--worst-case"]):
        told = json.loads(run(*base, *options).stdout)
        assert told["certificate"]["details"]["gap"] < 1e-9
    assert "neither the name" in run(*base, "--prior", "nowhere.txt", code=2).stderr
    numbers.write_text("1 2", encoding="utf-8")
    assert "must hold 4 numbers" in run(*base, "--prior", numbers, code=2).stderr


@pytest.mark.parametrize(
    "options",
    [
        ["-n", "5"],
        ["--alpha", "1/2"],
        ["-n", "5", "--alpha", "1/2", "--base", "3"],
        ["--family", "uniform", "-n", "5", "--loss", "L1"],
        ["--family", "uniform", "-n", "5", "--worst-case"],
        ["-n", "5", "--alpha", "1/2", "--properties", "support<=1"],
        ["-n", "5", "--alpha", "1/2", "--properties", "XX"],
        ["-n", "5", "--alpha", "1/2", "--prior", "uniform", "--worst-case"],
    ],
)
def test_designs_that_cannot_be_are_refused_with_a_message(options: list[str]) -> None:
    assert run("design", *options, code=2).stderr.startswith("discreet: ")


def test_a_mechanism_is_known_by_its_content_where_the_name_does_not_say(mechanism: Path, tmp_path: Path) -> None:
    mechanism.rename(tmp_path / "mechanism")
    assert "proved again" in run("verify", tmp_path / "mechanism").stdout


def test_a_ledger_is_sent_to_the_verb_that_checks_it(tmp_path: Path) -> None:
    file = tmp_path / "x.ledger"
    dc.Ledger.create(file, dataset="v", unit="row", epsilon=1)
    assert f"discreet ledger verify {file}" in run("verify", file, code=2).stderr


def test_bounded_noise_takes_a_delta_and_families_that_can_be_calibrated_are_listed() -> None:
    made = json.loads(
        run("design", "--family", "bounded-noise", "--epsilon", 1, "--reach", 2, "--delta", "0.1", "--json").stdout
    )
    assert made["certificate"]["delta"] <= 0.1
    listed = run("calibrate", "--family", "list").stdout.split()
    assert "explicit-fair" in listed and "uniform" not in listed


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["design", "-n", 4, "--alpha", "10/11", "--properties", "WH,CM", "--explain"], "CM costs 0.0008"),
        (["design", "--family", "geometric", "-n", 4, "--epsilon", 1], "Geometric, counts 0 to 4"),
        (["design", "--ptable", "--reach", 2, "--stay", "1/2", "--epsilon", 1, "--keys", 16], "A p-table with blocks"),
        (["calibrate", "--family", "geometric", "-n", 4, "--truth", "0.5"], "This is the smallest for the truth"),
        (["compare", "-n", 4, "--epsilon", 1, "--families", "GM,EM"], "GM"),
    ],
    ids=["design", "family", "p-table", "calibration", "comparison"],
)
def test_what_is_printed_can_be_had_as_a_page_and_as_json(arguments: list[object], words: str, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    out = run(*arguments, "--page", page).stdout
    assert words in out and f"page      {page}" in out
    html = page.read_text(encoding="utf-8")
    assert html.startswith("<!DOCTYPE html>") and words in html and "<script" not in html
    page.unlink()
    content = json.loads(run(*arguments, "--page", page, "--json").stdout)
    assert content["format"].startswith("discreet ") and content["version"] == 1 and page.exists()
    assert "ends in .html" in run(*arguments, "--page", tmp_path / "page.txt", code=2).stderr


def test_the_range_of_a_calibration_can_be_chosen() -> None:
    base = ["calibrate", "--family", "geometric", "-n", 10, "--truth", "0.5"]
    assert "--between to search elsewhere" in run(*base, "--between", "0.01:0.1", code=2).stderr
    assert json.loads(run(*base, "--between", "0.5:5", "--json").stdout)["family"] == "geometric"


def test_a_terminal_that_cannot_show_bars_ends_nothing(tmp_path: Path) -> None:
    """What is printed comes after the budget is spent."""
    dc.explicit_fair(8, alpha="10/11").save(tmp_path / "m.json")
    command = [
        sys.executable,
        "-m",
        "discreet.cli",
        "estimate",
        str(tmp_path / "r.csv"),
        "--mechanism",
        str(tmp_path / "m.json"),
    ]
    (tmp_path / "r.csv").write_text("report\n" + "".join(f"{k % 9}\n" for k in range(90)))
    done = subprocess.run(command, capture_output=True, env={**os.environ, "PYTHONIOENCODING": "cp1252"}, timeout=600)
    assert done.returncode == 0 and b"Traceback" not in done.stderr
