"""How counting grows with the rows, on DuckDB and on Spark: the chart of ``docs/howto_engines.md``.

``python benchmarks/growth.py [LARGEST]`` writes ``docs/_static/growth.png`` and the figures behind it.
"""

from __future__ import annotations

import csv
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import measure
from counting import PEOPLE, count, write_rows
from discreet.plots.chart import STROKES, WIDTH, Chart, finish, series

WHERE = Path(__file__).parents[1] / "docs" / "_static"
ENGINES = {"DuckDB": "{}", "Spark": "spark:local[2]?parquet={}"}
#: What is counted, who is a unit, by which column.
COUNTED = {"rows by site": ("row", "site"), "people by county, one each": ("person", "county")}

Figure = dict[str, object]


def measured(largest: int) -> Iterator[Figure]:
    """Return the best of two countings, after one that is not timed."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "t.parquet"
        rows = 1_000_000
        while rows <= largest:
            write_rows(file, rows)
            for engine, address in ENGINES.items():
                for what, (unit, by) in COUNTED.items():
                    (best,) = measure.in_turn(count(address.format(file), (by,), unit), rounds=2)
                    yield {"rows": rows, "name": f"{engine}: {what}", "seconds": round(best, 3)}
            rows *= 10


def draw(figures: list[Figure]) -> Chart:
    """Draw seconds over rows, both on logarithmic axes: a straight line at 45 degrees is growth in proportion."""
    names = [f"{engine}: {what}" for engine in ENGINES for what in COUNTED]
    x = {"field": "rows", "type": "quantitative", "title": "rows", "scale": {"type": "log"}}
    sizes = sorted({figure["rows"] for figure in figures}, key=str)
    millions = {"values": sizes, "labelExpr": "format(datum.value / 1e6, ',') + ' million'"}
    y = {**x, "field": "seconds", "title": "seconds", "axis": {"format": "~g"}}
    return finish(
        {
            "data": {"values": figures},
            "mark": {"type": "line", "point": True},
            "encoding": {"x": {**x, "axis": millions}, "y": y, **series(names, "color", "strokeDash", legend=STROKES)},
            "width": WIDTH,
            "height": 300,
        },
        "Ten times the rows",
        f"Counting a Parquet file of {PEOPLE:,} people on two cores; Spark in a session that already runs.",
        width=WIDTH,
    )


def main(largest: int) -> None:
    figures = []
    for figure in measured(largest):
        print(*figure.values(), sep="\t", flush=True)
        figures.append(figure)
    with (WHERE / "growth.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, list(figures[0]), lineterminator="\n")
        table.writeheader()
        table.writerows(figures)
    draw(figures).save(WHERE / "growth.png", scale=2)


if __name__ == "__main__":
    main(int(float(sys.argv[1])) if len(sys.argv) > 1 else 100_000_000)
