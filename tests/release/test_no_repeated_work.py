"""Within one command everything is done once: questions read, data opened, the plan made, the recorded answer found."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import typer

import discreet as dc
from datasets.conftest import SQL, write_people
from discreet.cli import dataset as verbs
from discreet.datasets.declaration import Declaration
from discreet.engines import sources
from discreet.ledger import bindings, ledger
from discreet.questions import select
from discreet.release import counts
from discreet.release.plan import planning, request_file
from support.command_line import run

#: The same question and data, said by options alone.
OPTIONS = (
    "--data", "data/visits.csv", "--unit", "person", "--domain", "site=1..3", "--domain", "health=good,poor",
)  # fmt: skip
ASK = ("--max-groups", 1, "--epsilon", 1)


class Work(Counter[str]):
    """How often each thing was done."""

    def count(self, what: str, function: Callable[..., Any], matters: Callable[..., bool] = lambda *_: True) -> Any:
        """Return the function, counting its calls that matter."""

        def counted(*given: Any, **named: Any) -> Any:
            if matters(*given):
                self[what] += 1
            return function(*given, **named)

        return counted


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Work:
    """Return counters of everything that is expensive or could come out differently the second time."""
    counted, bound = Work(), set()
    key_of = bindings._key
    opener = counted.count("source", sources.OPENERS["file"])

    def binding(what: Sequence[str]) -> str:
        bound.add(key := key_of(what))
        return key

    select._statements.cache_clear()
    for module, name, replacement in (
        (sources, "open_counted_files", opener),
        (select, "parse_sql", counted.count("question", select.parse_sql, lambda sql, _: "COUNT" in sql)),
        (planning, "Plan", counted.count("plan", planning.Plan)),
        (counts, "_rehearse", counted.count("rehearsal", counts._rehearse)),
        (request_file, "_read", counted.count("request file", request_file._read)),
        (Declaration, "from_text", counted.count("declaration", Declaration.from_text)),
        (ledger, "open_store", counted.count("ledger", ledger.open_store)),
        (bindings, "_key", binding),
        # what is bound to a file or a name has a key of its own
        (ledger.Ledger, "recorded", counted.count("recorded", ledger.Ledger.recorded, lambda _, key: key not in bound)),
    ):
        monkeypatch.setattr(module, name, replacement)
    monkeypatch.setitem(sources.OPENERS, "file", opener)  # type: ignore[arg-type]
    return counted


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with data, its declaration and ledger, and request files of the same question."""
    folder = tmp_path_factory.mktemp("prepared")
    (folder / "data").mkdir()
    write_people(folder / "data" / "visits.csv")
    write_people(folder / "visits_q2.csv", 60)
    run("dataset", "new", "data/visits.csv", *OPTIONS[2:], "--budget", 10, "--yes", cwd=folder)
    places = ("--ledger", "visits.ledger", "-o", "out")
    run("release", SQL, *OPTIONS, *ASK, *places, "--plan", "--write", "request.toml", cwd=folder)
    run("release", SQL, *ASK, "--plan", "--write", "short.toml", cwd=folder)
    return folder


@pytest.fixture
def here(prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Go to a copy of that folder."""
    folder = Path(shutil.copytree(prepared, tmp_path / "here"))
    monkeypatch.chdir(folder)
    return folder


PLANNED = {"question": 1, "source": 1, "plan": 1}
RELEASED = PLANNED | {"ledger": 1, "recorded": 1, "rehearsal": 1}
DECLARED = RELEASED | {"declaration": 1}
Q2 = ("--data", "visits_q2.csv", "--edition", "Q2")
#: A new edition is bound to its file only if no answer of another file came in since the first look.
FIRST_OF_EDITION = DECLARED | {"recorded": 2}


@pytest.mark.parametrize(
    ("line", "done"),
    [
        ((SQL, *OPTIONS, *ASK, "--plan"), PLANNED),
        ((SQL, *OPTIONS, *ASK, "--plan", "--json"), PLANNED),
        ((SQL, *OPTIONS, *ASK, "--plan", "--write", "other.toml"), PLANNED),
        ((SQL, *OPTIONS, *ASK, "--ledger", "visits.ledger", "--plan"), RELEASED),
        ((SQL, *OPTIONS, *ASK, "--ledger", "visits.ledger", "-o", "new"), RELEASED),
        ((SQL, *OPTIONS, *ASK, "--ledger", "visits.ledger", "--json"), RELEASED),
        ((SQL, *ASK, "--plan"), DECLARED),
        ((SQL, *ASK, "--plan", "--json"), DECLARED),
        ((SQL, *ASK, "--plan", "--page", "plan.html"), DECLARED),
        ((SQL, *ASK, "-o", "new"), DECLARED),
        ((SQL, *ASK, "--yes", "-o", "new"), DECLARED),
        ((SQL, *ASK, "--json"), DECLARED),
        ((SQL, *ASK, "--dataset", "visits.toml", "-o", "new"), DECLARED),
        ((SQL, *ASK, "--dataset", "visits.toml", *Q2, "-o", "new"), FIRST_OF_EDITION),
        (("request.toml", "--plan"), RELEASED | {"request file": 1}),
        (("request.toml",), RELEASED | {"request file": 1}),
        (("request.toml", *Q2, "-o", "new"), RELEASED | {"request file": 1}),
        (("short.toml", "--plan"), DECLARED | {"request file": 1}),
        (("short.toml", *Q2, "-o", "new"), FIRST_OF_EDITION | {"request file": 1}),
    ],
)
def test_a_command_does_everything_once(line: tuple[object, ...], done: dict[str, int], here: Path, work: Work) -> None:
    run("release", *line)
    assert work == done


@pytest.mark.parametrize("line", [(SQL, *OPTIONS, "--ledger", "visits.ledger"), (SQL,), (SQL, "--yes")])
def test_an_answer_that_is_recorded_is_found_once_and_nothing_is_rehearsed(
    line: tuple[object, ...], here: Path, request: pytest.FixtureRequest
) -> None:
    run("release", *line, *ASK, "-o", "first")
    work: Work = request.getfixturevalue("work")
    run("release", *line, *ASK, "-o", "second")
    assert work.pop("declaration", 1) == 1
    assert work == {name: number for name, number in RELEASED.items() if name != "rehearsal"}


def test_a_person_who_is_asked_sees_the_plan_that_is_released(
    here: Path, work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verbs, "on_terminal", lambda: True)
    monkeypatch.setattr(typer, "confirm", lambda _: True)
    run("release", SQL, *ASK, "-o", "new")
    assert work == DECLARED | {"rehearsal": 2}  # once for what is shown, and again before it is paid


def test_python_does_everything_once(here: Path, work: Work) -> None:
    visits = dc.Dataset.open("visits.toml")
    assert work == {"declaration": 1}
    plan = visits.plan(SQL, max_groups=1, epsilon=1)
    assert plan.preview().verdict == "paid"
    assert work == DECLARED
    assert plan.release("new").fresh
    assert work == DECLARED | {"rehearsal": 2}  # again, immediately before it is paid
    assert not plan.release("again").fresh
    assert work == DECLARED | {"rehearsal": 2, "recorded": 2}  # a second release asks the ledger anew


def test_release_counts_does_everything_once(here: Path, work: Work) -> None:
    dc.release_counts(
        SQL, data="data/visits.csv", unit="person", domain={"site": range(1, 4), "health": ["good", "poor"]},
        max_groups=1, epsilon=1, ledger="visits.ledger", out="new",
    )  # fmt: skip
    assert work == RELEASED


def test_a_release_rehearses_on_the_schema_of_the_moment(here: Path) -> None:
    """Between the plan and its release the file may change: what no longer fits is refused, and nothing is spent."""
    plan = dc.Dataset.open("visits.toml").plan(SQL, max_groups=1, epsilon=1)
    assert plan.preview().verdict == "paid"
    (here / "data" / "visits.csv").write_text("person,site\n1,1\n")
    with pytest.raises(dc.errors.DiscreetError):
        plan.release("new")
    assert not dc.Dataset.open("visits.toml").budget.spent.epsilon and not (here / "new").exists()
