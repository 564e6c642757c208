"""Section V of [S]: how privacy degrades as the number of queries grows, which the paper leaves open."""

from __future__ import annotations

from itertools import pairwise

from discreet.optimise.noise.bounded import bounded_noise
from discreet.plots.panels import Axis, panels
from discreet.privacy.compose import compose
from discreet.wording import listed, rounded

from ..claims import Claim, judge
from ..study import ExhibitResult, Row, Setting
from ..tables import number, significant

#: Epsilon, eta and D of the paper's first guarantee (section IV, text of figure 3).
GUARANTEE = ("1.1", "0.5", 8)

#: The curves of the picture.
NAMES = {"epsilon_added": "epsilons and deltas added up", "epsilon_composed": "from the whole curve delta(epsilon)"}


def draw(setting: Setting) -> ExhibitResult:
    """Compute epsilon and delta of many queries: added up, and composed numerically with proved error bounds."""
    made = bounded_noise(*GUARANTEE, kind="sadeghi")
    one = made.certificate.delta
    rows: list[Row] = []
    for queries in setting.progress(setting.pick((1, 2, 8, 32), (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)), "queries"):
        basic, whole = (compose([(made, queries)], method=method) for method in ("basic", "numerical"))
        epsilon, delta = queries * float(GUARANTEE[0]), queries * one
        rows.append(
            {
                "queries": queries, "delta": significant(delta, 6),
                "epsilon_added": significant(basic.epsilon(delta), 6),
                "epsilon_composed": significant(whole.epsilon(delta), 6),
                "epsilon": significant(epsilon, 6),
                "delta_added": significant(basic.delta(epsilon), 6),
                "delta_composed": significant(whole.delta(epsilon), 6),
            }
        )  # fmt: skip
    chart = panels(
        {"": [{"name": name, "x": row["queries"], "y": row[column]} for column, name in NAMES.items() for row in rows]},
        Axis("queries", (1, number(rows[-1], "queries"))),
        Axis("epsilon of all together"),
        "Many queries: less than the sum of their epsilons",
        f"Each with epsilon {GUARANTEE[0]}, truth with probability {GUARANTEE[1]}, D = {GUARANTEE[2]}; at the sum of "
        "their deltas. Upper bounds with every numerical error included.",
        columns=1,
    )
    return ExhibitResult({"": chart}, {"": rows}, (_claim(rows),))


def _claim(rows: list[Row]) -> Claim:
    shown = [row for row in rows if row["queries"] in (2, 8, 32)]
    parts = [
        f"{row['queries']} queries have epsilon {rounded(number(row, 'epsilon_composed'))} instead of "
        f"{rounded(number(row, 'epsilon_added'))} at the same delta, and delta "
        f"{rounded(number(row, 'delta_composed'))} instead of {rounded(number(row, 'delta_added'))} at the same epsilon"
        for row in shown
    ]
    grows = all(number(one, "epsilon_composed") <= number(two, "epsilon_composed") for one, two in pairwise(rows))
    below = all(number(row, "epsilon_composed") <= number(row, "epsilon_added") * (1 + 1e-9) for row in rows)
    return Claim(
        "many queries", "[S] section V", "Privacy degrades as the number of queries increases; by how much is open.",
        f"Each with epsilon {GUARANTEE[0]} and true delta {rounded(number(rows[0], 'delta'))}: {listed(parts, 'and')}.",
        judge(grows and below, corrected=True),
        "Open in the paper, answered here for a plan of queries fixed in advance; answers may depend on each other. A "
        "record-key release, whose noise repeats, does not compose at all.",
    )  # fmt: skip
