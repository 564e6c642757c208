"""The package as a stranger has it: a wheel in a fresh environment, without extras. Every verb works or says why not.

Nothing of the development environment is there: no pandas, polars, pyarrow or drawing program. A verb that needs an
extra names the command that installs it, and has then written nothing and spent nothing. The studies are a wheel of
their own, which brings their verb.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import duckdb
import pytest

from support.pages import README, blocks, commands
from support.paths import ROOT

# one worker makes the environment, and all of these use it
pytestmark = pytest.mark.xdist_group("installed")

#: What a missing extra is called, and how it is installed.
INSTALL = "pip install 'discreet[plots]'"
INSTALL_STUDIES = "pip install discreet-studies"

#: Of other extras, and of the tools of development.
ABSENT = (
    "pandas", "polars", "pyarrow", "vl_convert", "psycopg", "pyspark", "dp_accounting", "ot", "hypothesis", "pytest",
    "fastapi", "uvicorn", "xlsxwriter", "openpyxl",
)  # fmt: skip


def _of_a_stranger() -> dict[str, str]:
    """Return the environment without what leads Python to this project's sources."""
    return {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}


class Installed(NamedTuple):
    """The environment: its Python, its folder of programs, and the wheel that it was made with."""

    python: Path
    programs: Path
    wheel: Path

    def run(self, command: str, folder: Path) -> subprocess.CompletedProcess[str]:
        """A line of the shell; ``discreet`` is the installed one."""
        environment = _of_a_stranger()
        environment |= {"PATH": f"{self.programs}{os.pathsep}{environment.get('PATH', '')}", "COLUMNS": "120"}
        done = subprocess.run(
            command, shell=True, cwd=folder, env=environment, capture_output=True, text=True, timeout=300
        )
        assert "Traceback" not in done.stderr, f"{command}\n{done.stderr}"
        return done


PIP = ("-m", "pip", "--quiet", "--disable-pip-version-check")


def _wheel(project: Path, folder: Path) -> Path:
    """Build a wheel from a copy of a project: its sources and what its ``pyproject.toml`` names."""
    source = folder / "source"
    shutil.copytree(project / "src", source / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(project / name, source / name)
    _do(sys.executable, *PIP, "wheel", "--no-deps", "--wheel-dir", str(folder), str(source))
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """A wheel of this very tree in an environment of its own. Downloads are kept by pip."""
    folder = tmp_path_factory.mktemp("installed")
    wheel = _wheel(ROOT, folder)
    _do(sys.executable, "-m", "venv", str(folder / "env"))
    paths = sysconfig.get_paths(vars={"base": str(folder / "env"), "platbase": str(folder / "env")}, scheme="venv")
    programs = Path(paths["scripts"])
    python = programs / "python"
    _do(str(python), *PIP, "install", str(wheel))
    return Installed(python, programs, wheel)


@pytest.fixture(scope="session")
def studies_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel of the studies."""
    return _wheel(ROOT / "studies", tmp_path_factory.mktemp("studies"))


@pytest.fixture
def with_studies(installed: Installed, studies_wheel: Path) -> Iterator[Installed]:
    """The environment while the studies are installed in it too."""
    _do(str(installed.python), *PIP, "install", "--no-index", str(studies_wheel))
    yield installed
    _do(str(installed.python), *PIP, "uninstall", "--yes", "discreet-studies")


def _do(*command: str) -> None:
    done = subprocess.run(command, env=_of_a_stranger(), capture_output=True, text=True, timeout=1200)
    assert done.returncode == 0, f"{shlex.join(command)}\n{done.stdout}\n{done.stderr}"


@pytest.fixture
def desk(installed: Installed, tmp_path: Path) -> Path:
    """A folder with one table in every format, mechanisms and a matrix."""
    shutil.copytree(ROOT / "data", tmp_path / "data")
    table = f"SELECT * FROM read_csv('{tmp_path}/data/doctor_visits.csv.gz') WHERE year = 1"
    with duckdb.connect(str(tmp_path / "visits.duckdb")) as engine:
        engine.execute(f"CREATE TABLE visits AS {table}")
        engine.execute(f"COPY visits TO '{tmp_path}/visits.parquet' (FORMAT parquet)")
        engine.execute(f"COPY visits TO '{tmp_path}/visits.csv' (FORMAT csv, HEADER)")
        places = "SELECT site % 6 * 100 + 50 AS east, plan % 6 * 100 + 50 AS north FROM visits"
        engine.execute(f"COPY ({places}) TO '{tmp_path}/places.csv' (FORMAT csv, HEADER)")
    (tmp_path / "m.csv").write_text("2/3,1/6,1/6\n1/3,1/3,1/3\n1/6,1/6,2/3\n", encoding="utf-8")
    year = 'format = "discreet budget plan"\nledger = "study.ledger"\n\n[[releases]]\nname = "spring"\nepsilon = 1\n'
    (tmp_path / "year.toml").write_text(year, encoding="utf-8")
    for line in (
        "design --family geometric -n 100 --epsilon 0.1 -o m.json",
        "design --family randomized-response --labels excellent,good,fair,poor --epsilon 2 -o health.json",
        "design --family planar-geometric --grid 6x6x100 --epsilon 0.01 -o map.json",
    ):
        done = installed.run(f"discreet {line}", tmp_path)
        assert done.returncode == 0, f"{line}\n{done.stderr}"
    return tmp_path


def verbs(installed: Installed, folder: Path) -> dict[str, list[str]]:
    """Every verb of the installed command line, from itself -> its options."""
    code = """
import json, typer
from discreet.cli.main import app
def walk(command, path):
    inner = getattr(command, "commands", None)
    if inner is None:
        yield " ".join(path), [name for p in command.params for name in p.opts]
    else:
        for name, one in inner.items():
            yield from walk(one, [*path, name])
print(json.dumps(dict(walk(typer.main.get_command(app), []))))
"""
    script = folder / "verbs.py"
    script.write_text(code, encoding="utf-8")
    done = installed.run(f"{shlex.quote(str(installed.python))} {shlex.quote(str(script))}", folder)
    script.unlink()
    return dict(json.loads(done.stdout))


def test_the_environment_is_a_strangers(installed: Installed, tmp_path: Path) -> None:
    script = tmp_path / "absent.py"
    script.write_text(
        "import importlib.util as u, json, discreet\n"
        f"print(json.dumps([discreet.__file__, [n for n in {ABSENT!r} if u.find_spec(n)]]))\n",
        encoding="utf-8",
    )
    done = installed.run(f"{shlex.quote(str(installed.python))} absent.py", tmp_path)
    where, present = json.loads(done.stdout)
    assert present == [] and Path(where).is_relative_to(installed.programs.parent)


#: What is tried of each verb, one line after the other in one folder. A new verb must come here.
TRIED: dict[str, list[str]] = {
    "demo": ["demo --out shown"],
    "design": [
        "design -n 8 --alpha 10/11 --loss L1 --properties WH,CM --explain -o best.json",
        "design -n 4 --epsilon 1 --json",
        "design --ptable --reach 3 --stay 0.5 --epsilon 2 --keys 256 -o table.csv",
    ],
    "verify": ["verify m.json", "verify m.csv --json", "verify map.json"],
    "check": ["check m.json --require WH", "check m.csv --require S --json"],
    "explain": ["explain m.json", "explain m.json --json"],
    "compare": ["compare -n 8 --alpha 10/11", "compare -n 8 --epsilon 1 --json"],
    "calibrate": [
        "calibrate --family geometric -n 50 --mean-error 3 -o c.json",
        "calibrate --family geometric -n 50 --truth 0.5 --json",
    ],
    "release": [
        "ledger init study.ledger --data visits.csv --unit person --epsilon 3",
        "release {by_health} --data visits.csv --unit person --max-groups 1 {health} --epsilon 1 --plan",
        "release {by_health} --data visits.csv --unit person --max-groups 1 {health} --epsilon 1 --plan --json",
        "release {by_health} --data visits.csv --unit person --max-groups 1 {health} --epsilon 1 "
        "--ledger study.ledger -o by_health",
        "release {by_health} --data visits.csv --unit person --max-groups 1 {health} --epsilon 1 "
        "--ledger study.ledger --json",
        "verify by_health --ledger study.ledger",
        "release {by_health} --data visits.csv --unit person --max-groups 1 {health} --epsilon 1 --edition next "
        "--ledger study.ledger -o next_health --plan --write next.toml",
        "release next.toml",
    ],
    "contributions": [
        "ledger init study.ledger --data visits.csv --unit person --epsilon 3",
        "contributions {by_health} --data visits.csv --unit person {health} --epsilon 0.1 --ledger study.ledger",
        "contributions {by_health} --data visits.csv --unit person {health} --epsilon 0.1 --of rows "
        "--ledger study.ledger --json",
    ],
    "dataset new": [
        "dataset new visits.csv --unit person --budget 3 {health} --yes",
        "release {by_health} --max-groups 1 --epsilon 1 --plan",
        "release {by_health} --max-groups 1 --epsilon 1 -o by_health",
        "dataset new visits.parquet --unit row --unit-name person --budget 3 --name rows --yes --json",
    ],
    "dataset show": [
        "dataset new visits.csv --unit person --budget 3 --yes",
        "dataset show visits.toml",
        "dataset show visits.toml --json",
    ],
    "dataset check": [
        "dataset new visits.csv --unit person --budget 3 --yes",
        "dataset check visits.toml",
        "dataset check visits.toml --json",
    ],
    "dataset add-column": [
        "dataset new visits.csv --unit person --budget 3 --yes",
        "dataset add-column visits.toml {health} --json",
    ],
    "editions": [
        "ledger init study.ledger --data visits.csv --unit person --epsilon 3",
        "release {by_health} --data visits.csv --unit person --max-groups 1 {health} --epsilon 1 --edition 1 "
        "--ledger study.ledger -o one",
        "release {by_health} --data visits.csv --unit person --max-groups 1 {health} --epsilon 1 --edition 2 "
        "--ledger study.ledger -o two",
        "editions one two",
        "editions one two --page changes.html --json",
    ],
    "export": [
        "ledger init study.ledger --data visits.csv --unit person --epsilon 3",
        "release {by_health} --data visits.csv --unit person --max-groups 1 {health} --epsilon 1 "
        "--ledger study.ledger -o by_health",
        "export by_health --to counts.csv-metadata.json --to registry.yaml",
        "export by_health --to registry.yaml --json",
    ],
    "study": ["study --help"],  # it comes with the studies: see STUDIES
    "perturb": [
        "perturb doctor_visits --data visits.csv --mechanism m.json -o a.csv",
        "perturb doctor_visits --data visits.parquet --mechanism m.json -o a.parquet --json",
        "perturb doctor_visits --data visits.duckdb --mechanism m.json -o a.duckdb",
        "perturb health --data visits.parquet --mechanism health.json -o b.parquet",
        "perturb health --data visits.csv --mechanism health.json -o b.csv",
        "perturb east north --data places.csv --mechanism map.json -o c.csv",
        "perturb doctor_visits --data visits.parquet --group sex --mechanism male=m.json --mechanism female=m.json "
        "-o d.parquet",
    ],
    "estimate": [
        "perturb doctor_visits --data visits.csv --mechanism m.json -o a.parquet",
        "estimate a.parquet --mechanism m.json",
        "estimate a.parquet --mechanism m.json --method smoothed --json",
        "estimate a.parquet --mechanism m.json --report page.html",
        "estimate a.parquet --mechanism m.json --report numbers.json",
        "perturb health --data visits.csv --mechanism health.json -o b.parquet",
        "estimate b.parquet --mechanism health.json --report labels.html",
        "perturb east north --data places.csv --mechanism map.json -o c.parquet",
        "estimate c.parquet --mechanism map.json --report places.html",
    ],
    "collect plan": [
        "collect plan --labels yes,no --target-error '±5 points' --epsilon 1",
        "collect plan -n 20 --target-error 'mean +-0.5' --people 2000 --mechanism geometric --page plan.html --json",
    ],
    "collect token": ["collect token reports.db", "collect token reports.db --right read --collection visits --json"],
    "collect repair": ["collect token reports.db", "collect repair reports.db", "collect repair reports.db --json"],
    "collect create": ["collect create --json --help"],  # these need a service
    "collect estimate": ["collect estimate --json --help"],
    "serve": ["serve --help"],  # it needs the extra server
    "ledger init": ["ledger init one.ledger --data visits.csv --unit person --epsilon 3 --json"],
    "ledger show": [
        "ledger init one.ledger --data visits.csv --unit person --epsilon 3",
        "ledger show one.ledger",
        "ledger show one.ledger --json",
    ],
    "ledger release": [
        "ledger init one.ledger --data visits.csv --unit person --epsilon 3 && {reserve}",
        "ledger release one.ledger 2 --because 'the disk was full' --json",
        "ledger init two.ledger --data visits.csv --unit person --epsilon 3 && {reserve_two}",
        "ledger release two.ledger 2 --because 'the disk was full'",
    ],
    "ledger copy": [
        "ledger init one.ledger --data visits.csv --unit person --epsilon 3",
        "ledger copy one.ledger two.ledger",
        "ledger init three.ledger --data visits.csv --unit person --epsilon 3",
        "ledger copy three.ledger four.ledger --json",
    ],
    "ledger plan": [
        "ledger init study.ledger --data visits.csv --unit person --epsilon 3",
        "ledger plan year.toml",
        "ledger plan year.toml --json",
    ],
    "ledger verify": [
        "ledger init one.ledger --data visits.csv --unit person --epsilon 3",
        "ledger verify one.ledger",
        "ledger verify one.ledger --json",
    ],
}

#: What needs the drawing program: it names the command that installs it, and leaves nothing.
DRAWN = (
    "design -n 4 --epsilon 1 -o best.json --plot picture.png",
    "design -n 4 --epsilon 1 --plot picture.svg",
    "design -n 4 --epsilon 1 --plot picture.html",
    "compare -n 4 --epsilon 1 --report picture.png",
    "compare -n 4 --epsilon 1 --report picture.html",
    "estimate reports.csv --mechanism m.json --report picture.png",
    "estimate reports.csv --mechanism m.json --report picture.svg",
)

#: Options that can draw: their verbs are among the lines above.
DRAWING = ("--plot", "--report")

#: A reservation whose program was stopped before it opened the table.
_RESERVE = """python -c 'import discreet as dc
from discreet.ledger.budget import Cost
dc.Ledger.open("{}.ledger").reserve("k", {{}}, Cost(1))'"""
_WORDS = {
    "reserve": _RESERVE.format("one"),
    "reserve_two": _RESERVE.format("two"),
    "by_health": shlex.quote("SELECT health, COUNT(*) FROM visits GROUP BY health"),
    "health": "--domain health=excellent,good,fair,poor",
}


#: What is tried of the studies once they are installed.
STUDIES = (
    "study bounded --list",
    "study bounded --figure numbers --quick --formats json --json",
    "study constrained --figure 10-visits --quick --formats json --json",
)


def packed(wheel: Path) -> set[str]:
    """Return the names of the files in a wheel."""
    with zipfile.ZipFile(wheel) as content:
        return set(content.namelist())


def test_the_librarys_wheel_carries_no_studies(installed: Installed) -> None:
    files = packed(installed.wheel)
    assert [name for name in files if "studies/" in name or "papers" in name or "doctor_visits" in name] == []
    assert {"discreet/studies.py", "discreet/schemas/plan.json"} <= files and "discreet/schemas/study.json" not in files


def test_the_wheel_of_the_studies_has_their_data_and_nothing_of_the_library(studies_wheel: Path) -> None:
    files = packed(studies_wheel)
    assert {
        f"discreet_studies/{name}" for name in ("running.py", "data/doctor_visits.csv.gz", "schemas/study.json")
    } <= files
    assert {name.split("/")[0].split("-")[0] for name in files} == {"discreet_studies"}


@pytest.mark.parametrize("line", ["study", "study --help", "study bounded --figure 1 --quick", "study all --json"])
def test_without_the_studies_their_verb_says_how_to_install_them(
    line: str, installed: Installed, tmp_path: Path
) -> None:
    done = installed.run(f"discreet {line}", tmp_path)
    if line.endswith("--help"):
        assert done.returncode == 0 and INSTALL_STUDIES in done.stdout
        return
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and INSTALL_STUDIES in done.stderr
    assert (INSTALL_STUDIES in json.loads(done.stdout)["advice"]) if line.endswith("--json") else not done.stdout
    assert not list(tmp_path.iterdir())


def test_the_wheel_of_the_studies_brings_their_verb_and_their_names(with_studies: Installed, desk: Path) -> None:
    for line in STUDIES:
        done = with_studies.run(f"discreet {line}", desk)
        assert done.returncode == 0 and done.stdout, f"{line}\n{done.stdout}\n{done.stderr}"
        assert not line.endswith(" --json") or isinstance(json.loads(done.stdout), dict)
    drawn = with_studies.run("discreet study bounded --figure 1 --quick", desk)
    assert drawn.returncode == 2 and INSTALL in drawn.stderr  # of what draws charts, as for every verb
    names = "import discreet as dc; print(dc.study.__name__, dc.StudyResult.__name__, len(dc.papers.figure_1()))"
    done = with_studies.run(f"{shlex.quote(str(with_studies.python))} -c {shlex.quote(names)}", desk)
    assert done.stdout.split() == ["study", "StudyResult", "7"]


def test_every_verb_is_tried_and_has_help(installed: Installed, tmp_path: Path) -> None:
    """The list comes from the installed program: a new verb, or a new option that draws, is not forgotten."""
    found = verbs(installed, tmp_path)
    assert set(found) == set(TRIED), "say in TRIED how each verb is tried"
    for verb, options in found.items():
        done = installed.run(f"discreet {verb} --help", tmp_path)
        assert done.returncode == 0 and "Usage: " in done.stdout, f"{verb}\n{done.stderr}"
        if "--json" in options:
            assert any(line.startswith(verb) and " --json" in line for line in TRIED[verb]), f"try {verb} --json"
        for option in DRAWING:
            assert option not in options or any(f"{option} " in line for line in DRAWN if line.startswith(verb)), verb


@pytest.mark.parametrize("verb", TRIED)
def test_a_verb_works_without_extras(verb: str, installed: Installed, desk: Path) -> None:
    for line in TRIED[verb]:
        done = installed.run(f"discreet {line.format(**_WORDS)}", desk)
        assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
        assert done.stdout
        if line.endswith(" --json"):
            assert isinstance(json.loads(done.stdout), dict), line


@pytest.mark.parametrize("file", ["visits.csv", "visits.parquet", "visits.duckdb"])
@pytest.mark.parametrize("unit", ["row", "person --max-groups 1"], ids=["row", "person"])
@pytest.mark.parametrize("group", ["health", "site", "health, site"])
def test_a_release_is_made_or_costs_nothing(group: str, unit: str, file: str, installed: Installed, desk: Path) -> None:
    """Text and numbers to group by, both units, every format. The budget was once lost to a missing package."""
    init = f"ledger init study.ledger --data {file} --unit {unit.split()[0]} --epsilon 3"
    assert installed.run(f"discreet {init}", desk).returncode == 0
    domain = {"health": "--domain health=excellent,good,fair,poor", "site": "--domain site=1..6"}
    asked = shlex.quote(f"SELECT {group}, COUNT(*) FROM visits GROUP BY {group}")
    line = f"release {asked} --data {file} --unit {unit} {' '.join(domain[one] for one in group.split(', '))}"
    done = installed.run(f"discreet {line} --epsilon 1 --ledger study.ledger -o released", desk)
    spent = json.loads(installed.run("discreet ledger show study.ledger --json", desk).stdout)
    assert done.returncode == 0, f"{done.stderr}\n{spent}"
    assert (desk / "released" / "index.html").is_file()
    verified = installed.run("discreet verify released --ledger study.ledger", desk)
    assert verified.returncode == 0, verified.stdout


@pytest.mark.parametrize("line", DRAWN)
def test_what_needs_an_extra_says_how_to_install_it_and_leaves_nothing(
    line: str, installed: Installed, desk: Path
) -> None:
    (desk / "reports.csv").write_text("report\n3\n4\n4\n7\n", encoding="utf-8")
    before = sorted(desk.rglob("*"))
    done = installed.run(f"discreet {line}", desk)
    assert (done.returncode, done.stdout) == (2, ""), f"{line}\n{done.stdout}\n{done.stderr}"
    assert INSTALL in done.stderr
    assert sorted(desk.rglob("*")) == before


def test_a_distance_on_a_map_says_how_to_install_its_extra(installed: Installed, tmp_path: Path) -> None:
    script = tmp_path / "distance.py"
    script.write_text(
        "import discreet as dc\n"
        "try:\n    dc.kantorovich([1, 0], [0, 1], dc.Grid(1, 2))\n"
        "except dc.errors.MissingExtra as missing:\n    print(missing)\n",
        encoding="utf-8",
    )
    done = installed.run(f"{shlex.quote(str(installed.python))} {shlex.quote(str(script))}", tmp_path)
    assert "pip install 'discreet[transport]'" in done.stdout, done.stderr


def test_what_is_no_table_is_refused_where_no_library_of_tables_is_installed(
    installed: Installed, tmp_path: Path
) -> None:
    script = tmp_path / "rows.py"
    script.write_text(
        "import discreet as dc\n"
        "try:\n    dc.plan_release('SELECT COUNT(*) FROM t', data=[{'a': 1}], dataset='t', unit='row', epsilon=1)\n"
        "except dc.errors.WrongType as refused:\n    print(refused)\n",
        encoding="utf-8",
    )
    done = installed.run(f"{shlex.quote(str(installed.python))} {shlex.quote(str(script))}", tmp_path)
    assert "a table of pandas, polars or pyarrow; got a list. Save it as .csv" in done.stdout, done.stderr


def test_the_readme_runs_without_extras(installed: Installed, tmp_path: Path) -> None:
    """All but pictures, which name the command that installs what draws them; from top to bottom."""
    shutil.copytree(ROOT / "data", tmp_path / "data")
    guard = "import sys, discreet\ntry:\n    exec(open(sys.argv[1]).read(), {})\n"
    guard += "except discreet.errors.MissingExtra as problem:\n    print('MISSING', problem)\n"
    (tmp_path / "guard.py").write_text(guard, encoding="utf-8")
    for number, (kind, block, line) in enumerate(blocks(README)):
        if kind == "python":
            script = tmp_path / f"example_{number}.py"
            script.write_text(block, encoding="utf-8")
            done = installed.run(f"{shlex.quote(str(installed.python))} guard.py {script.name}", tmp_path)
            assert done.returncode == 0, f"README.md:{line}\n{done.stderr}"
            missing = [text for text in done.stdout.splitlines() if text.startswith("MISSING")]
            assert not missing or (INSTALL in missing[0] and "plots." in block), missing
        else:
            for command, code, _ in commands(block):
                done = installed.run(command, tmp_path)
                drawn = done.returncode == 2 and INSTALL in done.stderr
                assert done.returncode == code or drawn, f"README.md:{line}: {command}\n{done.stdout}\n{done.stderr}"
