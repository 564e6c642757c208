"""The registry of families: everything that knows mechanisms by name reads it, so that one file adds a family."""

from __future__ import annotations

import ast
import json
import runpy
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import discreet as dc
from discreet.cli.main import app
from discreet.errors import InvalidInput, UnreadableFile
from discreet.exact.kernels import Noise, Response
from discreet.exact.lattice import Lattice
from discreet.exact.projective import Projective
from discreet.exact.tables import Table
from discreet.mechanisms.families import CLOSED_FORMS, Families, Family, resolve
from discreet.optimise.design.design import read_request
from discreet.optimise.design.members import members
from discreet.optimise.families import FAMILIES
from discreet.release.noise.targets import epsilon_for
from discreet.wording import plain
from support.grids import every_case
from support.paths import DOCS
from support.refusals import refused
from support.toy_family import LOTTERY, lottery

SOURCE = Path(dc.__file__).parent


@pytest.fixture
def toy() -> Iterator[Family]:
    """The registry with one more family."""
    with CLOSED_FORMS.including(LOTTERY):
        yield LOTTERY


def said(*arguments: object) -> str:
    """What the command line prints, its verbs read anew for the new family; a mistake is raised."""
    done = CliRunner().invoke(app, [str(word) for word in arguments], env={"COLUMNS": "200", "TERM": "dumb"})
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.output


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    file = tmp_path / "visits.csv"
    file.write_text("person,site\n" + "".join(f"{k},{k % 2}\n" for k in range(9)), encoding="utf-8")
    return file


# ------------------------------------------------------------------------------------------------ a family in one file


def test_a_new_family_is_designed_by_name_and_its_file_is_loaded(toy: Family, tmp_path: Path) -> None:
    file = tmp_path / "m.json"
    assert "lottery" in said("design", "--family", "list").split()
    said("design", "--family", "Raffle", "-n", 4, "--alpha", "1/3", "-o", file)
    assert "kernel" not in json.loads(file.read_text(encoding="utf-8"))  # family and parameters say everything
    loaded = dc.load(file)
    assert loaded == lottery(4, alpha="1/3") and loaded.family == "lottery"
    assert "exactly 3" in said("verify", file)


def test_a_new_family_is_tried_before_a_design_is_refused(toy: Family) -> None:
    asked: dict[str, Any] = {"epsilon": None, "delta": 0, "loss": "L1", "prior": None, "worst_case": False}
    request, _ = read_request(4, alpha="1/3", properties=(), **asked)
    assert "LM at alpha = 1/3" in [name for name, _ in members(request)]


def test_a_new_family_is_compared_under_its_short_name(toy: Family) -> None:
    found = dc.compare(4, epsilon=1)
    assert found["LM"].title == "lottery among the counts" and found["LM"].epsilon <= 1
    assert [row.name for row in dc.compare(4, epsilon=1, families=["lottery", "GM"]).rows] == ["LM", "GM"]
    assert "LM        lottery among the counts" in said("compare", "-n", 4, "--epsilon", 1, "--families", "raffle")


def test_a_new_family_is_calibrated_by_name(toy: Family) -> None:
    found = dc.calibrate("lottery", 4, truth="1/2")
    assert found.mechanism.family == "lottery" and found.achieved >= Fraction(1, 2)
    assert dc.calibrate(lottery, 4, truth="1/2").epsilon == found.epsilon
    assert "lottery" in said("calibrate", "--family", "list").split()
    assert said("calibrate", "--family", "lottery", "-n", 4, "--truth", "1/2").startswith("lottery: epsilon =")


def test_a_new_family_is_compared_by_what_is_reconstructed(toy: Family) -> None:
    found = dc.compare_reconstruction(dc.Counts(3), [0.1, 0.2, 0.3, 0.4], people=100, repeats=2, distance=1)
    assert list(found.losses) == ["geometric", "lottery", "randomized_response"]


def test_a_new_family_releases_counts_and_the_bundle_verifies(toy: Family, visits: Path, tmp_path: Path) -> None:
    ask = {"data": visits, "unit": "row", "domain": {"site": [0, 1]}, "bound": 9, "epsilon": 1, "mechanism": "lottery"}
    question = "SELECT site, COUNT(*) FROM visits GROUP BY site"
    assert {m.family for m in dc.plan_release(question, **ask).tables[0].noise.mechanisms} == {"lottery"}
    ledger = dc.Ledger.create(tmp_path / "x.ledger", dataset="visits", unit="row", epsilon=2)
    released = dc.release_counts(question, ledger=ledger, out=tmp_path / "bundle", **ask)
    assert released.cost.epsilon == 1 and all(0 <= row["count"] <= 9 for row in released.rows())
    assert dc.verify_bundle(tmp_path / "bundle").holds


def test_a_new_family_with_noise_for_every_range_takes_a_wanted_error() -> None:
    noise = replace(LOTTERY, kind="noise", unbounded=".mechanisms.geometric:two_sided_geometric")
    with CLOSED_FORMS.including(noise):
        assert epsilon_for("lottery", 3) == epsilon_for("geometric", 3)


@every_case(
    ("verb", "word"), [("design", "lottery"), ("compare", "LM"), ("calibrate", "lottery"), ("release", "lottery")]
)
def test_the_help_of_a_verb_names_a_new_family(verb: str, word: str, toy: Family) -> None:
    assert word in said(verb, "--help")


def test_the_documentation_names_a_new_family(toy: Family) -> None:
    table = runpy.run_path(str(DOCS / "families.py"))["table"]()
    assert "lottery among the counts" in table and "explicit fair" in table
    assert "_generated/families.md" in (DOCS / "api.md").read_text(encoding="utf-8")


def test_a_family_that_was_removed_is_known_nowhere(visits: Path, tmp_path: Path) -> None:
    with CLOSED_FORMS.including(LOTTERY):
        lottery(4, epsilon=1).save(tmp_path / "m.json")
        assert "lottery" in FAMILIES and dc.load(tmp_path / "m.json").family == "lottery"
    assert "lottery" not in FAMILIES and "lottery" not in CLOSED_FORMS
    for ask in (
        lambda: said("design", "--family", "lottery", "-n", 4, "--epsilon", 1),
        lambda: dc.compare(4, epsilon=1, families=["lottery"]),
        lambda: dc.calibrate("lottery", 4, truth="1/2"),
        lambda: dc.plan_release(
            "SELECT COUNT(*) FROM visits", data=visits, unit="row", epsilon=1, bound=9, mechanism="lottery"
        ),
    ):
        with refused(InvalidInput, given="lottery"):
            ask()
    with refused(UnreadableFile, token="family 'lottery'"):
        dc.load(tmp_path / "m.json")
    assert "lottery" not in said("design", "--help")


def test_a_name_that_is_taken_is_refused() -> None:
    for taken in ({"name": "explicit_fair"}, {"short": "gm"}, {"aliases": ("RR",)}):
        clash = replace(LOTTERY, **taken)  # type: ignore[arg-type]
        with refused(InvalidInput, token="already"), CLOSED_FORMS.including(clash):
            pass
    assert "lottery" not in CLOSED_FORMS


# ------------------------------------------------------------------------------------------------ what is registered

#: Something to build each family from.
GIVEN: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "n": ((6,), {}),
    "space": ((["yes", "no"],), {}),
    "grid": ((dc.Grid(2, 3, cell=100.0),), {}),
    "privacy": ((), {"epsilon": "0.01"}),
    "epsilon": ((), {"epsilon": "0.01"}),
    "sigma2": ((), {"sigma2": 2}),
    "border": ((), {"border": "normalise"}),
    "reach": ((), {"reach": 2}),
    "noise": ((), {"stay": "1/2"}),
    "base": ((), {"base": 3}),
    "below": ((), {"below": 4}),
    "q": ((), {"q": 3}),
}

KERNELS = {"noise": Noise, "table": Table, "response": Response, "map": Lattice, "points": Projective}


@every_case("name", FAMILIES)
def test_a_family_is_what_its_description_says(name: str) -> None:
    family = FAMILIES[name]
    places = [place for parameter in family.parameters for place in GIVEN[parameter][0]]
    options = {key: value for parameter in family.parameters for key, value in GIVEN[parameter][1].items()}
    made = family.make(*places, **options)
    assert made.family == name and isinstance(made.kernel, KERNELS[family.kind])
    rebuilt = name in CLOSED_FORMS and name not in (
        "exponential",
        "metric_geometric",
    )  # of which files keep the integers
    assert made.closed_form == bool(family.saved) == rebuilt
    if family.saved:
        assert tuple(made.parameters) == family.saved
    if family.unbounded:
        scale = {key: value for key, value in options.items() if key in ("epsilon", "sigma2")}
        noise = resolve(family.unbounded)(**scale)
        assert noise.inputs == noise.outputs == dc.Integers()
    if family.kernel:
        least, most = resolve(family.steps)
        assert 0 < least < most and isinstance(resolve(family.kernel)(*places, Fraction(1, 100)), KERNELS[family.kind])


def test_no_two_families_have_a_name_in_common() -> None:
    names = [plain(name) for family in FAMILIES.values() for name in family.names]
    spellings = {family.name: {plain(name) for name in family.names} for family in FAMILIES.values()}
    assert sum(map(len, spellings.values())) == len(set(names))
    shorts = [family.short for family in FAMILIES.offered("compare")]
    assert all(shorts) and len(set(shorts)) == len(shorts)


@pytest.mark.parametrize(("families", "room"), [(CLOSED_FORMS, ".mechanisms."), (FAMILIES, ".optimise.")])
def test_a_registry_names_only_functions_of_its_own_room(families: Families, room: str) -> None:
    """So that no import runs against the order of the rooms by way of a name."""
    own = [family for name, family in families.items() if families is CLOSED_FORMS or name not in CLOSED_FORMS]
    places = [place for family in own for place in (family.build, family.unbounded, family.kernel, family.steps)]
    assert places and all(place.startswith(room) for place in places if place)


def lists_of_families(text: str) -> list[str]:
    """Tuples, lists, sets and dictionaries in a module that name two families or more, and texts that name three."""
    known = {plain(name) for name in FAMILIES} | {family.short for family in FAMILIES.values() if family.short}
    joined = [name for name in FAMILIES if "_" in name]  # the others are words of any sentence
    found = []
    for node in ast.walk(ast.parse(text)):
        parts = node.keys if isinstance(node, ast.Dict) else getattr(node, "elts", [])
        words = [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]
        told = node.value.replace("-", "_") if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
        if sum(plain(word) in known or word in known for word in words) > 1 or sum(name in told for name in joined) > 2:
            found.append(ast.unparse(node))
    return found


def test_no_other_module_lists_families() -> None:
    """One exception: the public names, which tools read without running anything."""
    listing = (
        'A = ("GM", "EM")',
        'A = {"explicit_fair": 1, "geometric": 2}',
        'A = "explicit-fair, planar-laplace, bounded-noise"',
    )
    assert all(map(lists_of_families, listing))  # the search finds them
    homes = {SOURCE / "__init__.py", SOURCE / "mechanisms" / "families.py", SOURCE / "optimise" / "families.py"}
    modules = sorted(set(SOURCE.rglob("*.py")) - homes)
    assert len(modules) > 100
    assert {str(file.relative_to(SOURCE)): found for file in modules
            if (found := lists_of_families(file.read_text(encoding="utf-8")))} == {}  # fmt: skip
