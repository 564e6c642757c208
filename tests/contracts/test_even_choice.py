"""One group of a person, chosen evenly where a column is banded: exactly as likely as any other, over the hashes."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations, permutations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from discreet.engines import reference
from discreet.engines.base import Counting
from discreet.engines.bounding import fits_in_a_word
from discreet.engines.reference import Row, count_rows
from discreet.questions.bands import BAND, read_bands
from discreet.questions.groups import Groups, groups_from
from discreet.questions.question import read_question
from support.engines import Engine, every_engine

BANDS = read_bands("age", "0,10,20,30,40,50")


def counting(key: bytes, k: int = 1, *, banded: bool = True, unit: str = "p", measures: str = "COUNT(*)") -> Counting:
    question = read_question(f"SELECT age, {measures} FROM t GROUP BY age", unit=unit)
    groups = Groups(("age",), (BAND,), (BANDS.values(),), bands=(BANDS.bands,))
    plain = groups_from({"age": range(5)}, question.by)
    return Counting(question, groups if banded else plain, unit, k, key)


def test_only_one_group_of_a_person_in_bands_is_chosen_evenly() -> None:
    assert counting(b"k").uses_hashed_choice and not fits_in_a_word(counting(b"k"))
    for other in (counting(b"k", 2), counting(b"k", banded=False), counting(b"k", unit="row")):
        assert not other.uses_hashed_choice
    assert fits_in_a_word(counting(b"k", banded=False))


def law(groups: tuple[int, ...], banded: bool, monkeypatch) -> dict[int, Fraction]:
    """The probability of each group, exactly, if hashes are independent and uniform: only their order matters (even),
    or the place to start at (going round)."""
    rows: list[Row] = [{"p": "ann", "age": 10 * g + 5 if banded else g} for g in groups]
    chosen: Counter[int] = Counter()
    if banded:
        for order in permutations(range(5)):
            monkeypatch.setattr(
                reference, "bounding_hash", lambda said, key, o=order: o[int(said[-1])] if ":" in said else 0
            )
            chosen[int(count_rows(rows, counting(b"k")).argmax())] += 1
    else:
        for start in range(5):
            monkeypatch.setattr(reference, "bounding_hash", lambda said, key, s=start: s)
            chosen[int(count_rows(rows, counting(b"k", banded=False)).argmax())] += 1
    return {group: Fraction(times, sum(chosen.values())) for group, times in chosen.items()}


@pytest.mark.parametrize("groups", [g for size in (1, 2, 3, 5) for g in combinations(range(5), size)])
def test_every_set_of_groups_is_chosen_from_exactly_evenly(groups: tuple[int, ...], monkeypatch) -> None:
    assert law(groups, True, monkeypatch) == dict.fromkeys(groups, Fraction(1, len(groups)))


def test_going_round_is_not_even(monkeypatch) -> None:
    """The control: what the even choice is for."""
    assert law((0, 1), False, monkeypatch) == {0: Fraction(4, 5), 1: Fraction(1, 5)}


def test_over_many_keys_the_real_hash_is_even() -> None:
    """A thousand keys, three neighbouring bands: a chi-square of 30 has probability below 1e-6."""

    def chi_square(banded: bool) -> float:
        rows: list[Row] = [{"p": "ann", "age": 10 * g + 5 if banded else g} for g in (1, 2, 3)]
        keys = [k.to_bytes(16, "big") for k in range(1000)]
        found = Counter(int(count_rows(rows, counting(key, banded=banded)).argmax()) for key in keys)
        return sum((found[g] - 1000 / 3) ** 2 / (1000 / 3) for g in (1, 2, 3))

    assert chi_square(True) < 30 < 100 < chi_square(False)


@every_engine
def test_every_engine_makes_the_same_choice(engine: Engine, tmp_path: Path) -> None:
    """People of all kinds of names; whole numbers as people where a file has them."""
    people = ["ann", "a:1", "", "Zoë", "007", "p" * 50, "'", "\\", *(f"p{k}" for k in range(30))]
    rows = [(p, 7 * i % 50 + 10 * j % 50, i + j) for i, p in enumerate(people) for j in range(i % 5 + 1)]
    schema = pa.schema({"p": pa.string(), "age": pa.int32(), "x": pa.int32()})
    source = engine.store(tmp_path, rows, schema)
    plain: list[Row] = [
        {n: engine.holds(v, t) for n, v, t in zip(schema.names, row, schema.types, strict=True)} for row in rows
    ]
    measures = ["COUNT(*)", "COUNT(*), COUNT_IF(x > 20) AS a", "COUNT_IF(x > 9) AS a, COUNT_IF(x < 30) AS b, COUNT(*)"]
    if engine.group == "spark":
        measures = measures[-1:]
    asked = [counting(bytes([n]) * 16, measures=m, unit=u) for n, m in enumerate(measures) for u in ("p", "x")]
    counts = source.count(list(map(engine.asked, asked)))
    for one, found in zip(asked, counts, strict=True):
        np.testing.assert_array_equal(found, count_rows(plain, one))
    assert counts[0].max() > 0
