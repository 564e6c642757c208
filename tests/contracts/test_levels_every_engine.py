"""Every engine counts the groups of a question with totals as it counts them without: people are bounded there."""

from __future__ import annotations

import random
from dataclasses import replace

from discreet.engines.reference import count_rows
from discreet.errors import Unsupported
from discreet.questions.levels import order_levels
from discreet.release.levels.shape import Shape
from support import awkward
from support.engines import KEY, SMALL, Engine, every_engine


def with_levels(counting):
    """The same question, with all totals if it has groups."""
    columns = len(counting.question.by)
    levels = order_levels([range(columns), *(range(k) for k in range(columns))])
    return replace(counting, question=replace(counting.question, levels=levels))


@every_engine
def test_totals_change_nothing_about_the_leaves(engine: Engine) -> None:
    chance = random.Random(5)
    table = engine.random_table(chance, SMALL)
    asked = engine.answered(table, awkward.random_countings(chance, 6 if engine.group else 12, KEY))
    countings = [one for one in map(with_levels, asked) if one.question.levels]
    assert len(countings) > 1
    rows, compared = engine.plain_rows(table), 0
    for counting, counts in zip(countings, engine.counts(table, countings), strict=True):
        try:
            expected = count_rows(rows, counting)
        except Unsupported:
            continue
        compared += 1
        assert (counts == expected).all()
        sums = Shape(counting.groups, counting.question.levels).sums(counts)
        assert all((level.sum(axis=0) == counts.sum(axis=0)).all() for level in sums)
    assert compared


def test_the_suite_notices_counts_that_are_bounded_at_a_total() -> None:
    """The planted bug: people bounded in a total's own question are not in the groups that add up to it."""
    from discreet.engines.base import Counting
    from discreet.questions.groups import groups_from
    from discreet.questions.question import read_question

    rows = [{"p": f"p{k}", "a": a, "b": b} for k in range(20) for a in (1, 2) for b in (1, 2)]
    fine = read_question("SELECT a, b, COUNT(*) FROM t GROUP BY ROLLUP (a, b)", unit="p")
    coarse = read_question("SELECT a, COUNT(*) FROM t GROUP BY a", unit="p")
    groups = groups_from({"a": (1, 2), "b": (1, 2)}, ["a", "b"])
    leaves = count_rows(rows, Counting(fine, groups, "p", 1, KEY))
    apart = count_rows(rows, Counting(coarse, groups_from({"a": (1, 2)}, ["a"]), "p", 1, KEY))
    assert not (Shape(groups, fine.levels).sums(leaves)[1] == apart).all()
