"""Places as two columns, and people who chose different mechanisms in one file."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.collect import tables
from discreet.errors import InvalidInput
from support.command_line import run
from support.people_files import people
from support.refusals import Parts, refused


def test_places_are_two_columns(tmp_path: Path) -> None:
    grid = dc.Grid(2, 3, cell=100.0)
    m = dc.planar_geometric(grid, epsilon="1/2")  # per metre: hardly any noise
    m.save(tmp_path / "map.json")
    data = tmp_path / "places.csv"
    data.write_text("east,north,name\n0,0,a\n299.9,1.5e1,b\n150,199,c\n", encoding="utf-8")
    out = tmp_path / "reports.csv"
    run("perturb", "east", "north", "--data", data, "--mechanism", tmp_path / "map.json", "-o", out)
    assert pd.read_csv(out)["report"].tolist() == [0, 2, 4]
    for row, words in (
        ("300,50,d", "row 4 ... place lies"),
        (",50,d", "row 4 ... value is missing"),
        ('"2,5",50,d', "row 4 ... coordinate"),
    ):
        data.write_text(f"east,north,name\n0,0,a\n299.9,15,b\n150,199,c\n{row}\n", encoding="utf-8")
        with refused(InvalidInput, token=words) as failure:
            tables.perturb_column(m, tables.FileColumn(data, ["east", "north"]), tmp_path / "again.csv")
        assert failure.value.__context__ is None
    with refused(InvalidInput, "column"):
        tables.perturb_column(
            dc.geometric(9, epsilon=1), tables.FileColumn(data, ["east", "north"]), tmp_path / "again.csv"
        )
    frame = pd.DataFrame({"east": ["1"], "north": [2.5]})
    frame.to_parquet(tmp_path / "places.parquet")
    with refused(dc.errors.WrongType, "column"):
        tables.perturb_column(
            m, tables.FileColumn(tmp_path / "places.parquet", ["east", "north"]), tmp_path / "again.csv"
        )


@pytest.mark.parametrize(
    "columns",
    [
        ["longitude", "latitude"], ["lon", "lat"], ["lng", "lat"], ["Lon", "LAT"], ["home_long", "home_lat"],
        ["startLon", "startLat"], ["lon_deg", "lat_deg"], ["lat", "lon"], ["lat"],
    ],
)  # fmt: skip
def test_degrees_are_not_taken_for_metres(columns: list[str], tmp_path: Path) -> None:
    """All of them would lie in the south-west corner. By name, whatever the rows: nothing is told about them."""
    m = dc.planar_geometric(dc.Grid(30, 30, cell=150.0), epsilon="1/20")
    data, out = tmp_path / "places.csv", tmp_path / "again.csv"
    told = set()
    for rows in ("2.35,48.85\n2.36,48.86\n", "2.35,48.85\n", "1200,3500\n", "-1,x\n", ""):
        data.write_text(",".join([*columns, "name"][:2]) + f"\n{rows}", encoding="utf-8")
        with refused(InvalidInput, "column") as failure:
            tables.perturb_column(m, tables.FileColumn(data, columns), out)
        told.add(str(failure.value))
    assert len(told) == 1 and not out.exists()
    m.save(tmp_path / "map.json")
    words = run("perturb", *columns, "--data", data, "--mechanism", tmp_path / "map.json", "-o", out, code=2).stderr
    assert "dc.Grid.from_box(south, west, north, east, cell=150)   or   --grid SOUTH,WEST,NORTH,EASTx150" in words


def test_columns_declared_for_degrees_are_not_taken_for_metres(tmp_path: Path) -> None:
    m = dc.planar_geometric(dc.Grid(30, 30, cell=150.0), epsilon="1/20")
    with duckdb.connect(str(tmp_path / "p.duckdb")) as engine:
        engine.execute("CREATE TABLE p (a DECIMAL(9,6), b DECIMAL(8,6), c DECIMAL(9,2), d DECIMAL(9,2), e DOUBLE)")
        engine.execute("INSERT INTO p VALUES (2.35, 48.85, 160, 10, 20)")
    with refused(InvalidInput, "column"):
        tables.perturb_column(m, tables.FileColumn(tmp_path / "p.duckdb", ["a", "b"]), tmp_path / "r.csv")
    for k, columns in enumerate((["c", "d"], ["c", "e"])):  # the negative control
        assert tables.perturb_column(m, tables.FileColumn(tmp_path / "p.duckdb", columns), tmp_path / f"{k}.csv") == 1


def test_a_map_in_degrees_takes_degrees(tmp_path: Path) -> None:
    """Its cells are narrower than a degree. Columns of metres with other names are no degrees on any map."""
    m = dc.planar_geometric(dc.Grid(100, 100, cell=0.05), epsilon=300)
    (tmp_path / "p.csv").write_text("lon,lat\n0.355,0.855\n", encoding="utf-8")
    assert tables.perturb_column(m, tables.FileColumn(tmp_path / "p.csv", ["lon", "lat"]), tmp_path / "r.csv") == 1
    assert pd.read_csv(tmp_path / "r.csv")["report"].tolist() == [1707]
    m = dc.planar_geometric(dc.Grid(30, 30, cell=150.0), epsilon="1/20")
    for k, names in enumerate(("x,y", "along,flat", "latency,longest", "platform,salon")):
        (tmp_path / "p.csv").write_text(f"{names}\n160,10\n", encoding="utf-8")
        out = tmp_path / f"{k}.csv"
        assert tables.perturb_column(m, tables.FileColumn(tmp_path / "p.csv", names.split(",")), out) == 1


@pytest.mark.parametrize(
    ("kind", "names", "given"),
    [("csv", "lat,lon", ["lat", "lon"]), ("csv", "lat,lon", ["lon", "lat"]), ("csv", "a,b", ["a", "b"]),
     ("csv", "Latitude,Longitude", ["Longitude", "Latitude"]), ("csv", "home_lat,b", ["b", "home_lat"]),
     ("parquet", "lat,lon", ["lon", "lat"]), ("parquet", "a,b", ["a", "b"])],
)  # fmt: skip
def test_a_map_of_a_box_takes_latitude_and_longitude(kind: str, names: str, given: list[str], tmp_path: Path) -> None:
    """In either order where their names tell them apart; otherwise the latitude comes first."""
    grid = dc.Grid.from_box(48.80, 2.25, 48.92, 2.45, cell=1000)
    m = dc.planar_geometric(grid, epsilon="3/100")  # per metre: hardly any noise
    m.save(tmp_path / "map.json")
    places = [(48.8566, 2.3522), (48.8606, 2.3376), (48.8001, 2.2501)]
    frame = pd.DataFrame(places, columns=names.split(","))
    data, out = tmp_path / f"places.{kind}", tmp_path / "reports.csv"
    frame.to_csv(data, index=False) if kind == "csv" else frame.to_parquet(data)
    run("perturb", *given, "--data", data, "--mechanism", tmp_path / "map.json", "-o", out)
    assert pd.read_csv(out)["report"].tolist() == [grid.locate(*place) for place in places]


@pytest.mark.parametrize(
    ("columns", "row", "words"),
    [
        (["east", "north"], "160,10", Parts(argument="column", token="'north'")),
        (["lat"], "48.85", Parts(argument="column", token="'lat'")),
        (["lat", "lon"], "48.95,2.3", Parts(token="row 2 ... latitudes 48.8")),
        (["lat", "lon"], "2.3,48.85", Parts(token="row 2 ... outside the grid")),
        (["lat", "lon"], ",2.3", Parts(token="row 2 ... value is missing")),
    ],
)
def test_a_map_of_a_box_refuses_metres_half_places_and_places_outside(
    columns: list[str], row: str, words: Parts, tmp_path: Path
) -> None:
    """A row that is wrong stops it by its number, without the place; columns that are wrong, by their names."""
    m = dc.planar_geometric(dc.Grid.from_box(48.80, 2.25, 48.92, 2.45, cell=150), epsilon="1/20")
    data, out = tmp_path / "places.csv", tmp_path / "r.csv"
    first = "48.85,2.3" if len(columns) == 2 else "48.85"
    data.write_text(f"{','.join(columns)}\n{first}\n{row}\n", encoding="utf-8")
    with refused(InvalidInput, **words) as failure:
        tables.perturb_column(m, tables.FileColumn(data, columns), out)
    assert not out.exists() and "48.95" not in str(failure.value)


def test_a_map_of_a_box_is_designed_and_used_on_the_command_line(tmp_path: Path) -> None:
    box = ["--grid", "-33.96,18.40,-33.90,18.46x250"]
    run("design", "--family", "planar-geometric", *box, "--epsilon", "0.01", "-o", tmp_path / "map.json")
    m = dc.load(tmp_path / "map.json")
    assert m.inputs == dc.Grid.from_box(-33.96, 18.40, -33.90, 18.46, cell=250)
    told = run("design", "--family", "planar-geometric", "--grid", "1,2,3x250", "--epsilon", "1", code=2).stderr
    assert "SOUTH,WEST,NORTH,EASTxCELL" in told


def test_many_places_in_the_corner_of_a_wide_map_are_degrees_whatever_their_columns_are_called(tmp_path: Path) -> None:
    """Known when all rows have been read, said to whoever holds them, and nothing is written."""
    rng = np.random.default_rng(4)
    degrees = np.column_stack([rng.uniform(2.2, 2.5, 150), rng.uniform(48.8, 48.9, 150)])
    data, out = tmp_path / "p.csv", tmp_path / "r.csv"
    m = dc.planar_geometric(dc.Grid(30, 30, cell=150.0), epsilon="1/20")

    def perturbed(places: np.ndarray, mechanism: dc.Mechanism) -> int:
        pd.DataFrame(places, columns=["x", "y"]).to_csv(data, index=False)
        out.unlink(missing_ok=True)
        return tables.perturb_column(mechanism, tables.FileColumn(data, ["x", "y"]), out)

    with refused(InvalidInput, token="150 ... 180 metres ... Grid.from_box"):
        perturbed(degrees, m)
    assert not out.exists()
    # the negative controls: one place elsewhere, few places, a small map
    assert perturbed(np.vstack([degrees, [4000.0, 10.0]]), m) == 151
    assert perturbed(degrees[:99], m) == 99
    assert perturbed(degrees, dc.planar_geometric(dc.Grid(10, 10, cell=150.0), epsilon="1/20")) == 150


def test_north_is_not_given_before_east(tmp_path: Path) -> None:
    m = dc.planar_geometric(dc.Grid(30, 30, cell=150.0), epsilon="1/20")
    for names in ("north,east", "y,x", "northing_m,easting_m"):
        (tmp_path / "p.csv").write_text(f"{names}\n160,10\n", encoding="utf-8")
        first, second = names.split(",")
        with refused(InvalidInput, "column", token=f"{second} {first}"):
            tables.perturb_column(m, tables.FileColumn(tmp_path / "p.csv", names.split(",")), tmp_path / "r.csv")


@pytest.fixture
def choices(tmp_path: Path) -> list[object]:
    """People who chose one of two mechanisms, and the options that say so."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {"choice": np.where(rng.random(4000) < 0.5, "bold", "shy"), "visits": rng.binomial(10, 0.4, 4000)}
    )
    frame.to_csv(tmp_path / "people.csv", index=False)
    options: list[object] = ["--group", "choice"]
    for name, epsilon in (("bold", 3), ("shy", 1)):
        dc.geometric(10, epsilon=epsilon).save(tmp_path / f"{name}.json")
        options += ["--mechanism", f"{name}={tmp_path / f'{name}.json'}"]
    return options


@pytest.mark.parametrize("out", ["csv", "parquet", "duckdb"])
def test_people_who_chose_different_mechanisms_in_one_file(out: str, choices: list[object], tmp_path: Path) -> None:
    data, reports = tmp_path / "people.csv", tmp_path / f"reports.{out}"
    words = run("perturb", "visits", "--data", data, *choices, "-o", reports).stdout
    assert "epsilon is 30." in words and "shy: Between" in words
    source = tables.FileColumn(reports, group="choice")
    by_group = source.counts_by_group([dc.Counts(10)] * 2, ["bold", "shy"])
    people = pd.read_csv(data)
    assert [sum(counts.values()) for counts in by_group] == [
        (people["choice"] == name).sum() for name in ("bold", "shy")
    ]
    found = json.loads(run("estimate", reports, *choices, "--json").stdout)
    assert found["people"] == 4000 and abs(found["mean"] - people["visits"].mean()) < 0.2
    assert "homogeneity" in found and len(found["stratified"]["distribution"]) == 11


@pytest.mark.parametrize("kind", ["csv", "parquet", "duckdb"])
@pytest.mark.parametrize("name", ["visits", "VISITS"])
def test_the_column_of_groups_is_never_that_of_true_values(
    kind: str, name: str, tmp_path: Path, mechanism: Path
) -> None:
    """It is written as it is."""
    data, out = people(tmp_path, kind, [1, 2]), tmp_path / "r.csv"
    choices = [option for value in (1, 2) for option in ("--mechanism", f"{value}={mechanism}")]
    for columns in (("visits", name), ("Visits", name)):
        told = run("perturb", columns[0], "--data", data, "--group", columns[1], *choices, "-o", out, code=2).stderr
        assert "must be another column than that of the values" in told and not out.exists()


def test_one_column_is_not_given_twice(tmp_path: Path) -> None:
    (tmp_path / "places.csv").write_text("east,north\n1,2\n", encoding="utf-8")
    dc.planar_geometric(dc.Grid(2, 3, cell=100.0), epsilon="1/2").save(tmp_path / "map.json")
    given, out = ["--data", tmp_path / "places.csv", "-o", tmp_path / "r.csv"], tmp_path / "r.csv"
    told = run("perturb", "east", "East", *given, "--mechanism", tmp_path / "map.json", code=2).stderr
    assert "must be two different ones for a place" in told and not out.exists()
    for group in ("east", "NORTH"):
        choice = [
            "--group",
            group,
            "--mechanism",
            f"1={tmp_path / 'map.json'}",
            "--mechanism",
            f"2={tmp_path / 'map.json'}",
        ]
        told = run("perturb", "east", "north", *given, *choice, code=2).stderr
        assert "must be another column than that of the values" in told and not out.exists()


def test_groups_that_differ_are_said_so_first_and_told_by_the_stratified_estimate(tmp_path: Path) -> None:
    shy, bold = (dc.geometric(5, epsilon=e) for e in (1, 3))
    lines = ["choice,report"]
    for name, m, truth in (("shy", shy, 1), ("bold", bold, 4)):
        m.save(tmp_path / f"{name}.json")
        lines += [f"{name},{report}" for report in m.simulate(np.full(300, truth), seed=1)]
    reports = tmp_path / "reports.csv"
    reports.write_text("\n".join(lines) + "\n", encoding="utf-8")
    options = [reports, "--group", "choice"]
    for name in ("shy", "bold"):
        options += ["--mechanism", f"{name}={tmp_path / f'{name}.json'}"]
    counts = tables.FileColumn(reports, group="choice").counts_by_group([dc.Counts(5)] * 2, ["shy", "bold"])
    other = dc.estimate(list(zip(counts, (shy, bold), strict=True))).stratified
    mean = other.interval("mean")
    out = run("estimate", *options, "--report", tmp_path / "page.html").stdout
    head, _, rest = out.partition("mean ")
    assert "use the stratified estimate" in head
    assert rest.splitlines()[0].endswith(f"  {other.mean():.4g}  {mean.low:.4g} to {mean.high:.4g}")
    row = next(line.split() for line in rest.splitlines() if line.startswith("1 "))
    assert row[2] == f"{other.distribution[1]:.4f}"
    found = json.loads(run("estimate", *options, "--json").stdout)["stratified"]
    assert found["distribution"] == other.distribution.tolist() and found["mean"] == other.mean()
    assert found["intervals"][0] == {
        "statistic": "mean", "estimate": other.mean(), "low": mean.low, "high": mean.high
    }  # fmt: skip
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Group shy, 300 people" in page and "Group bold" in page and "reports.csv" in page


def test_each_group_has_its_own_mechanism(tmp_path: Path) -> None:
    """One tells the truth, the other turns it round."""
    turned = dc.from_matrix([[0, 1], [1, 0]])
    m = {"no": dc.randomized_response(2, epsilon=40), "yes": turned}
    pd.DataFrame({"turn": ["no", "yes"] * 50, "v": [0, 0, 1, 1] * 25}).to_csv(tmp_path / "people.csv", index=False)
    tables.perturb_column(m, tables.FileColumn(tmp_path / "people.csv", "v", group="turn"), tmp_path / "r.csv")
    found = pd.read_csv(tmp_path / "r.csv")
    assert found["turn"].tolist() == ["no", "yes"] * 50 and found["report"].tolist() == [0, 1, 1, 0] * 25


def test_groups_that_make_no_sense_are_refused(choices: list[object], tmp_path: Path) -> None:
    data, out = tmp_path / "people.csv", tmp_path / "r.csv"

    def refused(*options: object) -> str:
        return run("perturb", "visits", "--data", data, *options, "-o", out, code=2).stderr

    assert "NAME=FILE" in refused("--group", "choice", "--mechanism", tmp_path / "shy.json")
    assert "no column 'chosen'" in refused("--group", "chosen", *choices[2:])
    assert "name their column with --group" in refused(*["--mechanism", tmp_path / "shy.json"] * 2)
    told = refused("--group", "choice", "--mechanism", f"shy={tmp_path / 'shy.json'}")
    assert "has no mechanism. Groups with one are shy" in told and "bold" not in told
    assert "two mechanisms" in refused(*choices, "--mechanism", f"shy={tmp_path / 'shy.json'}")
    dc.geometric(9, epsilon=1).save(tmp_path / "other.json")
    assert "same true values" in refused(*choices[:-1], f"shy={tmp_path / 'other.json'}")
    assert not out.exists()
