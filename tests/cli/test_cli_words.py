"""The command line for people who never saw it: its own words for mistakes, every spelling of a name, pipes."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import discreet as dc
from discreet.cli.output import in_options
from discreet.errors import DiscreetError, InvalidInput, WrongType, arg, call, named
from discreet.wording import find_name
from support.command_line import run
from support.paths import VISITS
from support.refusals import refused
from support.source import MODULES

SOURCE = Path(dc.__file__).parent


# ------------------------------------------------------------------------------------------------ options in messages

OPTIONS = {name: "--" + name.replace("_", "-") for name in ("epsilon", "level", "unit", "domain", "worst_case", "over")}


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        (f"give {arg('epsilon')} or {arg('alpha')}", "give --epsilon or alpha=..."),
        (f"drop {arg('worst_case', True)}.", "drop --worst-case."),
        (f"say {arg('over', 'Counts(n)', 'n')}.", "say --over n."),
        (f"{named('over')} is for counts; {named('level')}", "--over is for counts; --level"),
        (f"with {arg('unit', 'row')}, or {arg('unit', 'COLUMN')}.", "with --unit row, or --unit COLUMN."),
        (f"with {arg('unit', 'family size')}", "with --unit 'family size'"),
        (f"add {arg('domain', ['site=1..6'])} or so.", "add --domain site=1..6 or so."),
        (f"{arg('level', 3)} means nothing", "--level 3 means nothing"),
        (f"give {arg('epsilon')}", "give --epsilon."),
        (f"see {call('dc.calibrate', 'discreet calibrate')}.", "see discreet calibrate."),
        ("the file worst_case.json, 'worst_case', level=3, epsilon=... and unit='row'", None),
    ],
)
def test_mentioned_arguments_are_shown_as_options_and_prose_is_never_read(message: str, shown: str | None) -> None:
    assert in_options(message, OPTIONS) == (message if shown is None else shown)


ASKED = ["release", "SELECT COUNT(*) FROM doctor_visits", "--data", VISITS, "--unit", "person", "--plan"]
GROUPED = ["release", "SELECT site, COUNT(*) FROM doctor_visits GROUP BY site", *ASKED[2:]]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["compare", "-n", 4, "--epsilon", 1, "--alpha", "1/2"], "exactly one of --epsilon and --alpha"),
        (["design", "-n", 4, "--epsilon", 1, "--prior", "uniform", "--worst-case"], "either --prior or --worst-case"),
        (["verify", "grid.json", "--notion", "central"], "Ask for --notion metric"),
        (["verify", "gaussian.json", "--notion", "local"], "Ask for --notion central"),
        (["calibrate", "--family", "geometric", "-n", 4, "--truth", "1"], "--between to search elsewhere"),
        (ASKED, "--epsilon (the privacy of the whole release) or --error"),
        ([*ASKED, "--epsilon", 1, "--mechanism", "explicit-fair"], "Give --bound or --sizes"),
        ([*ASKED, "--epsilon", 1, "--counts", "in-range"], "--counts in-range needs a largest count. Give --bound"),
        ([*ASKED, "--epsilon", 1, "--mechanism", "gaussian"], "--delta 1e-6"),
        ([*ASKED[:4], "--plan", "--epsilon", 1, "--max-groups", 2, "--unit", "row"], "--max-groups 2 means nothing"),
        ([*GROUPED, "--epsilon", 1], "--domain site=1..6 or --domain site=a,b,c for each, or --groups FILE"),
        (["design", "--family", "bounded-noise", "--epsilon", 1, "--reach", 3, "--stay", "1/2", "--js", 1, "--kind",
          "optimal"], "--kind all-counts"),
    ],
)  # fmt: skip
def test_mistakes_are_told_in_the_options_of_the_verb(
    arguments: list[object], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dc.planar_geometric(dc.Grid(2, 2, cell=10.0), epsilon=0.1).save(tmp_path / "grid.json")
    dc.discrete_gaussian(sigma2=4).save(tmp_path / "gaussian.json")
    monkeypatch.chdir(tmp_path)
    said = run(*arguments, code=2).stderr
    assert words in said
    assert not re.search(r"\w=(\.\.\.|True|'|Counts|\[)", said)


#: The titles of a form's fields.
TITLES = {"epsilon": "Privacy budget", "n": "Largest count", "level": "Coverage", "alpha": "Ratio", "unit": "Protects"}

REFUSED = {
    "epsilon": (lambda: dc.geometric(4, epsilon=700), "700", "between 1e-9 and 500", "Smaller means more private"),
    "n": (lambda: dc.geometric(-3, epsilon=1), "-3", "at least 1", ""),
    "alpha": (lambda: dc.geometric(4, alpha=2), "2", "strictly between 0 and 1", "Closer to 1 means more private"),
    "level": (
        lambda: dc.plan_release("SELECT COUNT(*) FROM v", data="v", unit="row", epsilon=1, level=2), "2", "0.5 to", "",
    ),
}  # fmt: skip


@pytest.mark.parametrize("argument", REFUSED)
def test_a_refusal_is_written_for_python_for_options_and_for_a_form_from_the_same_parts(argument: str) -> None:
    make, given, allowed, advice = REFUSED[argument]
    with pytest.raises(InvalidInput) as caught:
        make()
    problem = caught.value
    assert problem.argument == argument and str(problem).startswith(argument)
    assert in_options(problem.message, {argument: "--option"}).startswith("--option")
    field = problem.form_field(lambda mention: TITLES[mention.name])
    assert field["field"] == TITLES[argument] and str(field["message"]).startswith(TITLES[argument])
    assert field["given"] == given and allowed in str(field["allowed"]) and advice in (field["advice"] or "")
    for part in ("given", "allowed", "advice"):
        assert (field[part] or "") in str(field["message"])


@pytest.mark.parametrize(
    ("arguments", "option", "given"),
    [
        (["design", "--family", "geometric", "-n", 4, "--epsilon", 700, "--json"], "--epsilon", "'700'"),
        (["compare", "-n", 4, "--json", "--alpha", 3], "--alpha", "'3'"),
        (["release", "SELECT COUNT(*) FROM v", "--data", "v", "--unit", "row", "--plan", "--json"], "--epsilon", None),
        (["design", "-n", 4, "--epsilon", 1, "--layout", "ons", "--json"], "--layout", None),
        (["design", "-n", "four", "--epsilon", 1, "--json"], "-n", None),
        (["check", "m.json", "--json", "--tolerance"], "--tolerance", None),
        (["verify", "--json"], "file", None),
        (["design", "--nonsense", "--json"], None, None),
        (["ledger", "shoow", "--json"], None, None),
    ],
)
def test_a_program_that_asked_for_json_gets_the_parts_of_the_error(
    arguments: list[object], option: str | None, given: str | None
) -> None:
    done = run(*arguments, code=2)
    told = json.loads(done.stdout)
    Draft202012Validator(json.loads((SOURCE / "schemas" / "error.json").read_text())).validate(told)
    assert told["field"] == option and told["given"] == given and told["kind"] == "InvalidInput"
    assert done.stderr == f"discreet: {told['message']}\n"


def test_people_are_shown_how_a_verb_is_used_and_no_json() -> None:
    done = run("design", "--nonsense", code=2)
    assert not done.stdout and "Usage: " in done.stderr and "No such option: --nonsense" in done.stderr


def test_python_users_keep_their_arguments() -> None:
    with refused(InvalidInput, "epsilon") as refusal:
        dc.geometric(4)
    assert "epsilon=... and alpha=..." in str(refusal.value)
    with refused(InvalidInput, "domain") as refusal:
        dc.plan_release("SELECT site, COUNT(*) FROM v GROUP BY site", data="v", unit="row", epsilon=1)
    assert "domain=['site=1..6']" in str(refusal.value)


@pytest.fixture(scope="module")
def raised() -> list[tuple[Path, ast.expr, str]]:
    """Return every error that the library raises: its file, its expression, and that as text."""
    return [
        (file, node.exc, ast.unparse(node.exc))
        for file in MODULES.values()
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Raise) and node.exc is not None
    ]


def test_no_message_of_the_library_names_an_option(raised: list[tuple[Path, ast.expr, str]]) -> None:
    """Whole command lines may be shown anywhere; an option alone means nothing to who writes Python."""
    seen = 0
    for file, _, text in raised:
        if file.parent.name == "cli" or file.name in ("command.py", "page.py", "demonstration.py"):
            continue
        seen += 1
        assert not re.search(r"(?<![\w-])--[a-z]", text) or "discreet " in text, (file.name, text)
    assert seen > 300


def test_messages_of_the_common_shape_are_put_together_from_their_parts(
    raised: list[tuple[Path, ast.expr, str]],
) -> None:
    """What an error says and the parts it states cannot differ where there is only one of them."""
    composed = 0
    for file, error, text in raised:
        if file.name != "errors.py" and isinstance(error, ast.Call):
            composed += ".must_be(" in text
            assert not re.search(r"must (be|lie) .*; got ", text), (file.name, error.lineno)
    assert composed > 120


# ------------------------------------------------------------------------------------------------ pipes


# Help is written by Rich, a list by the verb, and JSON outside Typer's own handling of errors.
@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["design", "--family", "list"], ["compare", "-n", "4", "--alpha", "1/2", "--json"]],
    ids=["help", "text", "json"],
)
def test_a_reader_that_leaves_is_no_error(arguments: list[str]) -> None:
    read, write = os.pipe()
    os.close(read)  # nobody will read what is written
    command = [sys.executable, "-m", "discreet.cli", *arguments]
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True, timeout=600)
    os.close(write)
    assert (done.returncode, done.stderr) == (141, "")


def test_a_mistake_that_nobody_reads_is_no_error_of_the_program_either() -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([sys.executable, "-m", "discreet.cli", "design", "-n", "4"], stderr=write, timeout=600)
    os.close(write)
    assert done.returncode == 141


@pytest.mark.parametrize("content", ["mechanism", "matrix", "p-table"])
def test_verify_check_and_explain_read_standard_input(content: str, mechanism: Path) -> None:
    text = {
        "mechanism": mechanism.read_text(encoding="utf-8"),
        "matrix": "2/3,1/3\n1/3,2/3\n",
        "p-table": "i;j;p;v;p_int_ub\n0;0;1;0;1\n1;0;.25;-1;.25\n1;1;.5;0;.75\n1;2;.25;1;1\n",
    }[content]
    told = json.loads(run("verify", "-", "--json", stdin=text).stdout)
    claimed = content == "mechanism"
    assert told["holds"] is (True if claimed else None) and ("certificate" in told) == claimed
    assert ("table" in told) == (content == "p-table")
    assert "standard input: " in run("verify", "-", stdin=text).stdout
    if content != "p-table":
        assert "WH" in run("check", "-", "--require", "wh", stdin=text).stdout
    run("explain", "-", stdin=text, code=0 if content == "mechanism" else 2)


@pytest.mark.parametrize(
    ("text", "words"),
    [("", "is empty"), ("{}", "not a mechanism file"), ("{", "not JSON"), ("a,b\nc", "a matrix needs")],
)
def test_standard_input_that_is_nothing_known_is_refused_by_that_name(text: str, words: str) -> None:
    said = run("verify", "-", stdin=text, code=2).stderr
    assert words in said and "standard input" in said


# ------------------------------------------------------------------------------------------------ altered files


def forge(file: Path, **changes: object) -> None:
    """Change a file and its digest, so that only its numbers can give it away."""
    from discreet.mechanism import fingerprint

    content = json.loads(file.read_text(encoding="utf-8"))
    content["certificate"].update(changes)
    content["sha256"] = fingerprint(content)
    file.write_text(json.dumps(content), encoding="utf-8")


@pytest.mark.parametrize("how", ["altered", "forged", "damaged"])
def test_a_file_that_does_not_have_what_it_says_does_not_hold(how: str, mechanism: Path) -> None:
    if how == "forged":
        forge(mechanism, epsilon=0.01, ratio=None)
    elif how == "damaged":
        forge(mechanism, epsilon=None)
    else:
        mechanism.write_text(mechanism.read_text(encoding="utf-8").replace("10/11", "9/11"), encoding="utf-8")
    assert "DOES NOT HOLD" in run("verify", mechanism, code=1).stdout
    page = mechanism.with_suffix(".html")
    told = json.loads(run("verify", mechanism, "--json", "--page", page, code=1).stdout)
    assert told["holds"] is False and told["problem"]
    assert "DOES NOT HOLD" in page.read_text(encoding="utf-8")
    for verb in (["check"], ["explain"]):  # for any other purpose it is a file that cannot be used
        run(*verb, mechanism, code=2)
    with pytest.raises(DiscreetError):
        dc.load(mechanism)


def test_a_file_of_another_kind_cannot_be_used(tmp_path: Path) -> None:
    for name, text in (("a.json", "not JSON"), ("b.json", '{"format": "another"}'), ("c.csv", "no,matrix\n")):
        (tmp_path / name).write_text(text, encoding="utf-8")
        run("verify", tmp_path / name, code=2)


# ------------------------------------------------------------------------------------------------ names


def told(*arguments: object) -> dict[str, Any]:
    """Return what a verb prints for programs."""
    content: dict[str, Any] = json.loads(run(*arguments, "--json").stdout)
    return content


@pytest.mark.parametrize("written", ["explicit-fair", "explicit_fair", "Explicit Fair", "EXPLICIT-FAIR", "EM", "em"])
def test_every_verb_takes_every_spelling_of_a_mechanism(written: str) -> None:
    made = told("design", "--family", written, "-n", 4, "--epsilon", 1)
    assert made["family"] == "explicit_fair"
    compared = told("compare", "-n", 4, "--epsilon", 1, "--families", f"{written},gm")
    assert [one["name"] for one in compared["mechanisms"]] == ["EM", "GM"]
    found = told("calibrate", "--family", written, "-n", 4, "--truth", "0.5")
    assert found["family"] == "explicit_fair"
    plan = told(*ASKED, "--epsilon", 1, "--mechanism", written, "--bound", 9)
    assert plan["tables"][0]["noise"]["mechanisms"][0]["family"] == "explicit_fair"


@pytest.mark.parametrize("written", ["WH,CM", "WH+CM", "wh cm", "wh;Cm", "Weakly_Honest, column monotone"])
def test_every_verb_takes_every_list_of_properties(written: str, mechanism: Path) -> None:
    assert list(told("check", mechanism, "--require", written)["properties"]) == ["WH", "CM"]
    made = told("design", "-n", 3, "--alpha", "1/2", "--properties", written)
    assert made["parameters"]["properties"] == ["WH", "CM"]


def test_other_names_are_taken_in_any_spelling(mechanism: Path, tmp_path: Path) -> None:
    assert told("verify", mechanism, "--notion", "Local")["notion"] == "local"
    costs = told("compare", "-n", 3, "--epsilon", 1, "--loss", "l1+L0-1", "--families", "GM")["mechanisms"][0]["costs"]
    assert list(costs) == ["L1", "L0_1"]
    told("design", "-n", 3, "--epsilon", 1, "--prior", "Triangular", "--loss", "l2")
    grid = ["design", "--family", "Planar_Laplace", "--grid", "2x2x10", "--epsilon", "0.1"]
    assert told(*grid, "--border", "Normalize")["parameters"]["border"] == "normalise"
    ledger = ["ledger", "init", tmp_path / "l", "--data", "v", "--unit", "row", "--epsilon", 1, "--delta", "1e-6"]
    made = told(*ledger, "--relation", "Add_Remove", "--filter", "zCDP")
    assert (made["relation"], made["filter"]) == ("add-remove", "zcdp")
    plan = told(*ASKED, "--epsilon", 1, "--relation", "Substitution", "--counts", "Signed")
    assert plan["request"]["relation"] == "substitution" and plan["request"]["tables"][0]["noise"]["output"] == "signed"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["design", "--family", "geometrc", "-n", 4, "--epsilon", 1], "Did you mean geometric?"),
        (["calibrate", "--family", "explicit-fare", "-n", 4, "--truth", ".5"], "Did you mean explicit_fair?"),
        (["compare", "-n", 4, "--epsilon", 1, "--families", "explicitfair"], "Did you mean EM?"),
        ([*ASKED, "--epsilon", 1, "--mechanism", "discrete-gausian"], "Did you mean discrete-gaussian?"),
        ([*ASKED, "--epsilon", 1, "--relation", "add_removal"], "Did you mean add-remove?"),
        (["design", "-n", 4, "--epsilon", 1, "--properties", "weekly honest"], "Did you mean WH?"),
    ],
)
def test_the_nearest_name_is_offered(arguments: list[object], words: str) -> None:
    said = run(*arguments, code=2).stderr
    assert words in said and "hoose from " in said


def test_a_name_is_found_in_its_own_spelling_or_refused() -> None:
    known, others = ["geometric", "explicit_fair"], {"GM": "geometric"}
    assert [find_name(name, known, "a thing", others) for name in ("GM", "Explicit-Fair")] == known
    with refused(InvalidInput, given="uniform", allowed="geometric, explicit_fair"):
        find_name("uniform", known, "a thing", others)
    with refused(WrongType, given="int", allowed="named by a text, one of geometric, explicit_fair"):
        find_name(3, known, "a thing")
