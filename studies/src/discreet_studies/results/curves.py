"""Costs over the largest count, one panel for each alpha."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from discreet.plots import Chart
from discreet.plots.panels import Axis, panels

from ..study import Row


def curves_by_alpha(
    rows: Sequence[Row], alphas: Sequence[Fraction], names: Mapping[str, str], cost: Axis, title: str, subtitle: str
) -> Chart:
    """Draw a panel for each alpha, a curve over n for each column that has a name; what programs gave are dots."""
    curves = {
        f"alpha = {float(alpha):g}": [
            {"name": name, "x": row["n"], "y": row[column]}
            for column, name in names.items()
            for row in rows
            if row["alpha"] == str(alpha) and row[column] is not None
        ]
        for alpha in alphas
    }
    largest = max(int(str(row["n"])) for row in rows)
    over = Axis("largest count n", (1, largest))
    return panels(curves, over, cost, title, subtitle, columns=2, dots=(names["program"],))
