"""Small wordings: one and many, lists in a sentence, percentages and numbers for people."""

from __future__ import annotations

import math
import re
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from discreet.wording import first_of, listed, percent, plural, rounded
from support.grids import every_case
from support.source import MODULES, text


@every_case(
    ("number", "words"), [(0, "0 rows"), (1, "1 row"), (2, "2 rows"), (1000, "1,000 rows")]
)  # fmt: skip
def test_only_one_is_singular(number: int, words: str) -> None:
    assert plural(number, "row") == words


def test_a_list_reads_as_a_sentence() -> None:
    assert [listed(list("abc")[:k]) for k in range(4)] == ["", "a", "a and b", "a, b and c"]


def test_a_long_list_is_cut_and_says_so() -> None:
    names = [f"c{k}" for k in range(21)]
    assert first_of(names).endswith("c19, ...") and "..." not in first_of(names[:20])


@given(st.fractions(0, 1), st.sampled_from([3, 6]))
def test_only_what_is_certain_is_called_100_percent(share: Fraction, digits: int) -> None:
    assert (percent(share, digits) == "100%") == (share == 1)


@every_case("level", [Fraction(95, 100), 0.95, 0.999, 0.9999])
def test_a_level_is_shown_as_it_was_typed(level: float) -> None:
    assert Fraction(percent(level, 6).rstrip("%")) == Fraction(str(float(level))) * 100


@every_case(
    ("value", "words"),
    [
        (0, "0"),
        (Fraction(0), "0"),
        (-math.inf, "-infinity"),
        (math.nan, "nan"),
        (Fraction(10**400), "about 1e400"),
        (1234567, "1.23e+06"),
    ],
)
def test_every_number_can_be_said(value: float, words: str) -> None:
    assert rounded(value) == words


def test_plurals_are_made_in_one_place() -> None:
    by_hand = re.compile(r"""['"]s['"] ?(\*|if )""")
    assert [name for name, path in MODULES.items() if by_hand.search(text(path))] == []
    assert by_hand.search("f\"{n} row{'s' if n > 1 else ''}\"")
