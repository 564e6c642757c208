"""Figure 1 of [A]: the square of Paris and its cells."""

from __future__ import annotations

from discreet.plots.maps import in_squares, square_map
from discreet.wording import rounded

from ..claims import Basis, Claim, judge
from ..study import ExhibitResult, Row, Setting
from .square import CHOICES, EVENTS, GRID, Square, square

#: How many check-ins the paper says it draws.
PRINTED = 750

#: The paper says that something happens "for less than 2000 check-ins".
MENTIONED = 2_000


def draw_checkins(setting: Setting) -> ExhibitResult:
    """Draw the map of check-ins, and how many there are."""
    area = square(setting)
    counts = area.counts
    table: list[Row] = [
        {"row": k // GRID.cols, "column": k % GRID.cols, "checkins": int(count)}
        for k, count in enumerate(counts.tolist())
    ]
    chart = square_map(
        in_squares(counts.astype(float), GRID),
        GRID,
        "check-ins",
        "The square of Paris: 30 x 30 cells of 150 m",
        f"{len(area.cells):,} {area.source} check-ins of {len(area.by_person):,} people. {EVENTS}",
    )
    return ExhibitResult({"": chart}, {"": table}, _claims(area), CHOICES)


def _claims(area: Square) -> tuple[Claim, ...]:
    side = GRID.rows * float(GRID.unit)
    number, people = len(area.cells), area.by_person
    return (
        Claim(
            "figure 1: the grid",
            "[A] section VI, figure 1",
            "An area of 4.5 km x 4.5 km is divided into 30 x 30 cells of 150 m x 150 m.",
            f"{GRID.rows} cells of {float(GRID.unit):g} m are {side / 1000:g} km; of {area.in_file:,} check-ins in "
            f"the file {number:,} lie in the square, in {int((area.counts > 0).sum())} of {GRID.size} cells.",
            judge(side == 4500.0 and GRID.size == 900),
            basis=Basis.MATHEMATICS,
        ),
        Claim(
            "figure 1: 750 check-ins",
            "[A] section VI, figure 2",
            f"{PRINTED} check-ins in this area are drawn at random, and data sets grow by 10 until all of them are in.",
            f"The square has {number:,} check-ins. The axis of figure 2 counts in tens, so that its {PRINTED} are "
            f"{10 * PRINTED:,}; and the text speaks of what happens below {MENTIONED:,} check-ins, which is more than "
            f"{PRINTED}.",
            judge(number >= 10 * PRINTED, corrected=MENTIONED > PRINTED),
            f"{PRINTED} is the number of data sets; the largest has {10 * PRINTED:,} check-ins, nearly all of the "
            "square. Both readings are shown.",
        ),
        Claim(
            "figure 1: whom it protects",
            "[A] sections I and VI",
            "The noise protects individuals whose data are collected.",
            f"{len(people):,} people have {number:,} check-ins: half of them at least "
            f"{rounded(float(sorted(people.tolist())[len(people) // 2]))}, one {int(people.max()):,}. Each check-in is "
            f"perturbed by itself, so that person's epsilon is {int(people.max()):,} times as large.",
            judge(int(people.max()) >= 1, corrected=int(people.max()) > 1),
            "The guarantee is for one check-in (event level), not for a person.",
        ),
    )
