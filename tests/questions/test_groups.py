"""Public groups: how they are declared, what is refused, and that descriptions lose nothing."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import InvalidInput, UnreadableFile, WrongType
from discreet.questions.groups import (
    TOTAL,
    Groups,
    domain_column,
    groups_from,
    read_domain,
    read_groups,
    read_sizes,
    with_zeros,
)  # fmt: skip
from support.grids import every_case
from support.refusals import Parts, refused


def values_of(text: str):
    return read_domain([f"c={text}"], ["c"]).values[0]


@every_case(
    ("text", "values"),
    [
        ("1..6", range(1, 7)),
        ("-2..2", range(-2, 3)),
        ("3", (3,)),
        ("1,2,4", (1, 2, 4)),
        ("1..3,7,NULL", (1, 2, 3, 7, None)),
        ("good,poor", ("good", "poor")),
        (" good , very poor ", ("good", "very poor")),
        ('\'cook, chef\',"a ""b""",O\'Brien', ("cook, chef", 'a "b"', "O'Brien")),
        ("'it''s',''", ("it's", "")),
        ("NULL,a", (None, "a")),
        ("'NULL',NULL", ("NULL", None)),
        ("NULL", (None,)),
        ("'null'", ("null",)),
        ("01,02,10", ("01", "02", "10")),  # a code keeps its zeros
        ("1,2,unknown", ("1", "2", "unknown")),
        ("'1','2'", ("1", "2")),
        ("1,'2'", ("1", "2")),
        ("+1,2", ("+1", "2")),
        ("1.5,2", ("1.5", "2")),
        ("'1..6'", ("1..6",)),
        ("é,e\u0301", ("é", "e\u0301")),
        ("9007199254740991", (2**53 - 1,)),
        ("9007199254740992", ("9007199254740992",)),  # not exact as a double, so a text
        ("-0", ("-0",)),
        ("'@home'", ("@home",)),
    ],
)
def test_domains_as_people_write_them(text, values):
    found = values_of(text)
    assert found == values and type(found) is type(values)
    assert read_domain([f"c={text}"], ["c"]).kinds == (
        "integer" if any(isinstance(value, int) for value in values) else "text",
    )


@every_case(
    ("text", "reason"),
    [
        ("", Parts(argument="domain", token="empty value")),
        ("a,,b", Parts(argument="domain", token="empty value")),
        ("a,", Parts(argument="domain", token="empty value")),
        ("6..1", Parts(argument="domain", token="ends before")),
        ("1..3,a", Parts(argument="domain", token="mixes a range")),
        ("1..3,'4'", Parts(argument="domain", token="mixes a range")),
        ("a,b,a", Parts(argument="domain", token="twice")),
        ("1,2,1", Parts(argument="domain", token="twice")),
        ("1..3,2", Parts(argument="domain", token="twice")),
        ("NULL,NULL", Parts(argument="domain", token="twice")),
        ("'a", Parts(argument="domain", token="not closed")),
        ("'a'b", Parts(argument="domain", token="not closed")),
        ("1..99999999999", Parts(token="too many")),
        ("99999999999999998..99999999999999999", Parts(argument="domain", token="2^53")),
        ("@no such file", Parts(token="cannot read")),
        ("a\0b", Parts(argument="domain", token="character")),
    ],
)
def test_domains_that_cannot_be_meant_are_refused(text, reason):
    with refused(InvalidInput, **reason):
        values_of(text)


def test_columns_are_matched_to_the_question():
    groups = read_domain(["Health=good,poor", "site=1..2"], ["site", "health"])
    assert groups.columns == ("site", "health") and groups.size == 4
    assert groups.labels(0) == [1, 1, 2, 2] and groups.labels(1) == ["good", "poor"] * 2
    assert domain_column('"a=b"=1') == "a=b"
    assert read_domain(['"a=b"=1,2'], ["a=b"]).size == 2
    for texts, reason in [
        (["site=1"], Parts(argument="domain", token="'health'")),
        (["site=1", "health=a", "age=1"], Parts(token="'age' is declared")),
        (["site=1", "SITE=2", "health=a"], Parts(argument="domain", token="twice")),
        (["site"], Parts(argument="domain", token="column=values")),
        (["=1"], Parts(argument="domain", token="column=values")),
    ]:
        with refused(InvalidInput, **reason):
            read_domain(texts, ["site", "health"])
    with refused(InvalidInput, token="GROUP BY"):
        read_domain(["site=1"], [])
    assert read_domain([], []) == TOTAL and groups_from({}, []) == TOTAL


def test_a_domain_from_a_file(tmp_path):
    file = tmp_path / "counties.txt"
    file.write_text("\ufeffSmith, John\n'NULL'\nNULL\n\n007\r\n", encoding="utf-8")
    assert values_of(f"@{file}") == ("Smith, John", "NULL", None, "007")
    file.write_text("3\n1\n2\n", encoding="utf-8")
    assert values_of(f"@{file}") == (3, 1, 2)
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(UnreadableFile):
        values_of(f"@{file}")


def test_groups_from_python():
    groups = groups_from({"site": range(1, 7), "health": ["good", None]}, ["health", "site"])
    assert groups.values == (("good", None), range(1, 7)) and groups.kinds == ("text", "integer")
    rows = groups_from([(1, "a"), (2, "b"), (1, "b")], ["x", "y"])
    assert rows.size == 3 and rows.labels(0) == [1, 2, 1] and rows.labels(1) == ["a", "b", "b"]
    assert groups_from([{"y": "a", "x": 1}, {"x": 2, "y": "b"}, {"x": 1, "y": "b"}], ["x", "y"]) == rows
    assert groups_from({"x": np.array([3, 1])}, ["x"]).values == ((3, 1),)
    assert groups_from([5, 7], ["x"]).labels(0) == [5, 7]


@every_case(
    "given",
    [
        {"x": "abc"}, {"x": [1.0]}, {"x": [True]}, {"x": [1, "a"]}, {"x": [float("nan")]}, {"x": 3}, {"x": [b"a"]},
        {"x": []}, {"x": [2**53]}, {"x": range(2**53, 2**53 + 2)}, {"x": [1, 1]}, {"x": range(0)}, {"y": [1]},
        {"x": ["\ud800"]}, [], [(1, 2)], [(1,), (1,)], [{"y": 1}], [(1,), ("a",)], [(None,), (None,)],
    ],
)  # fmt: skip
def test_python_groups_that_cannot_be_meant_are_refused(given):
    with pytest.raises(InvalidInput):
        groups_from(given, ["x"])


def test_no_message_repeats_a_float_as_a_count():
    with refused(WrongType, given="a float", token="'x'"):
        groups_from({"x": [1.0]}, ["x"])


def test_groups_listed_in_a_file(tmp_path):
    file = tmp_path / "groups.csv"
    file.write_text('Health,site\r\n"good, really",1\r\nNULL,2\r\n"a ""b""",1\r\n', encoding="utf-8")
    groups = read_groups(file, ["site", "health"])
    assert groups.labels(0) == [1, 2, 1] and groups.labels(1) == ["good, really", None, 'a "b"']
    assert groups.kinds == ("integer", "text")
    (tmp_path / "groups.tsv").write_text("site\thealth\n01\ta,b\n", encoding="utf-8")
    assert read_groups(tmp_path / "groups.tsv", ["site", "health"]).values == (("01",), ("a,b",))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", Parts(token="empty")),
        ("site\n1\n", Parts(token="health")),
        ("site,health,age\n1,a,2\n", Parts(argument="groups", token="exactly")),
        ("site,health\n1\n", Parts(token="row 1")),
        ("site,health\n1,a\n2,b\n1,a\n", Parts(argument="groups", token="row 3")),
        ("site,health\n", Parts(argument="groups", token="at least one")),
        ("site,health\n1, a\n", Parts(token="blanks")),
        ("site,Site,health\n1,1,a\n", Parts(argument="groups", token="exactly")),
        ('site,health\n1,"a\n', Parts(token="CSV")),
    ],
)
def test_files_of_groups_that_cannot_be_meant_are_refused(tmp_path, content, reason):
    file = tmp_path / "groups.csv"
    file.write_text(content, encoding="utf-8")
    with refused(InvalidInput, **reason):
        read_groups(file, ["site", "health"])


def test_structural_zeros_by_all_or_some_columns(tmp_path):
    groups = read_domain(["sex=f,m", "ill=yes,no", "site=1..3"], ["sex", "ill", "site"])
    file = tmp_path / "zeros.csv"
    file.write_text("sex,ill,site\nm,yes,2\nf,no,3\n", encoding="utf-8")
    assert sorted(with_zeros(groups, file).zeros) == [5, 7]
    assert [groups.label(zero) for zero in (5, 7)] == [("f", "no", 3), ("m", "yes", 2)]
    file.write_text("ill,sex\nyes,m\n", encoding="utf-8")
    assert sorted(with_zeros(groups, file).zeros) == [6, 7, 8]
    assert with_zeros(groups, [{"sex": "m", "ill": "yes"}]) == with_zeros(groups, file)
    assert with_zeros(groups, [("m", "yes", 1)]).zeros == {6}
    assert with_zeros(groups, []) == groups
    for content, reason in [
        ("sex,ill\nm,maybe\n", Parts(argument="zeros", token="row 1")),
        ("sex,age\nm,1\n", Parts(token="'age'")),
        ("site\n01\n", Parts(argument="zeros", token="row 1")),
        ("sex\nm\nm\n", Parts(token="row 2 repeats")),
        ("sex\nm\nf\n", Parts(argument="zeros", token="every group")),
        ("sex,Sex\nm,m\n", Parts(token="twice")),
    ]:
        file.write_text(content, encoding="utf-8")
        with refused(InvalidInput, **reason):
            with_zeros(groups, file)


def test_public_sizes_by_all_or_some_columns(tmp_path):
    groups = read_domain(["site=1..3", "sex=f,m"], ["site", "sex"])
    file = tmp_path / "sizes.csv"
    file.write_text("size,site\n10,3\n20,2\n30,1\n40,9\n", encoding="utf-8")
    assert read_sizes(file, groups).tolist() == [30, 30, 20, 20, 10, 10]
    assert read_sizes([{"size": 5}], groups).tolist() == [5] * 6
    assert read_sizes([{"size": 5}], TOTAL).tolist() == [5]
    assert read_sizes([{"site": s, "sex": x, "size": s} for s in (3, 1, 2) for x in "mf"], groups).tolist() == [
        1, 1, 2, 2, 3, 3,
    ]  # fmt: skip
    for content, reason in [
        ("size,site\n1,1\n2,2\n", Parts(argument="sizes", token="size")),
        ("site\n1\n", Parts(token="'size'")),
        ("size,site\n-1,1\n", Parts(argument="sizes", token="whole number")),
        ("size,site\n1.5,1\n", Parts(argument="sizes", token="whole number")),
        ("size,site\nNULL,1\n", Parts(argument="sizes", token="whole number")),
        ("size,site\n1,1\n2,1\n", Parts(token="repeats")),
        ("size,site\n99999999999999999999,1\n", Parts(argument="sizes", token="whole number")),
        ("size,age\n1,1\n", Parts(token="'age'")),
        ("size\n1\n2\n", Parts(token="repeats")),
    ]:
        file.write_text(content, encoding="utf-8")
        with refused(InvalidInput, **reason):
            read_sizes(file, groups)


values = st.one_of(
    st.lists(st.integers(-5, 5) | st.none(), min_size=1, max_size=4, unique=True),
    st.lists(st.text(max_size=3).filter(lambda t: "\0" not in t) | st.none(), min_size=1, max_size=4, unique=True),
    st.builds(range, st.integers(-5, 0), st.integers(1, 5), st.integers(1, 3)),
    st.builds(range, st.integers(1, 5), st.integers(-5, 0), st.integers(-3, -1)),
)


@st.composite
def declared(draw) -> Groups:
    domains = draw(st.lists(values, min_size=1, max_size=3))
    by = [f"c{k}" for k in range(len(domains))]
    groups = groups_from(dict(zip(by, domains, strict=True)), by)
    if draw(st.booleans()):
        rows = list(zip(*(groups.labels(k) for k in range(len(by))), strict=True))
        groups = groups_from(draw(st.permutations(rows))[: draw(st.integers(1, len(rows)))], by)
    zeros = draw(st.sets(st.integers(0, groups.size - 1), max_size=groups.size - 1))
    return Groups(groups.columns, groups.kinds, groups.values, groups.cells, frozenset(zeros))


@given(declared())
def test_a_description_loses_nothing_and_is_always_the_same(groups):
    written = json.dumps(groups.to_json(), sort_keys=True)
    again = Groups.from_json(json.loads(written))
    assert again == groups and hash(again) == hash(groups)
    assert [again.label(k) for k in range(again.size)] == [groups.label(k) for k in range(groups.size)]
    assert json.dumps(again.to_json(), sort_keys=True) == written


@given(declared(), st.lists(st.lists(st.integers(-1, 5), min_size=3, max_size=3), max_size=20))
def test_numbers_labels_and_codes_agree(groups, asked):
    k = len(groups.columns)
    labels = list(zip(*(groups.labels(column) for column in range(k)), strict=True))
    assert len(set(labels)) == len(labels) == groups.size
    assert labels == [groups.label(number) for number in range(groups.size)]
    assert groups.index(groups.codes()).tolist() == list(range(groups.size))
    if groups.cells is None:
        assert labels == list(itertools.product(*groups.values))
    codes = np.array([row[:k] for row in asked], dtype=np.int64).reshape(-1, k)
    for row, number in zip(codes.tolist(), groups.index(codes).tolist(), strict=True):
        known = all(0 <= code < len(groups.values[c]) for c, code in enumerate(row))
        wanted = tuple(groups.values[c][code] for c, code in enumerate(row)) if known else None
        assert number == (labels.index(wanted) if wanted in labels and known else -1)


@every_case(
    "change",
    [
        {"columns": ["a"]}, {"kinds": ["integer", "number"]}, {"values": [[1, 2], ["x", "x"]]},
        {"values": [[1.0], ["x"]]},
        {"values": [{"range": [1, 2]}, ["x"]]}, {"values": [{"range": [1, 2, 0]}, ["x"]]}, {"cells": [[0]]},
        {"cells": [[0, 0], [0, 0]]}, {"cells": [[0], [7]]}, {"cells": [[0], [-1]]}, {"cells": [["0"], [0]]},
        {"zeros": [9]},
        {"zeros": [-1]}, {"zeros": ["a"]}, {"zeros": [True]}, {"zeros": [0, 1, 2, 3]}, {"columns": [1, 2]},
        {"values": 3},
        {"values": [[True, 2], ["x"]]}, {"cells": 5}, {"cells": [[0.5], [0]]}, {"zeros": None}, {"columns": ["a", "A"]},
        {"values": [{"range": [1, 2, 1], "more": 1}, ["x"]]}, {"cells": [[], []]}, {"cells": []},
    ],
)  # fmt: skip
def test_a_damaged_description_is_refused(change):
    content = read_domain(["a=1,2", "b=x,y"], ["a", "b"]).to_json()
    assert Groups.from_json(content).size == 4
    with pytest.raises(InvalidInput):
        Groups.from_json({**content, **change})
    for missing in content:
        with pytest.raises(InvalidInput):
            Groups.from_json({key: value for key, value in content.items() if key != missing})


def test_the_total_is_one_group():
    assert TOTAL.size == 1 and TOTAL.codes().shape == (1, 0) and TOTAL.label(0) == ()
    assert TOTAL.index(np.empty((3, 0), dtype=np.int64)).tolist() == [0, 0, 0]
    assert Groups.from_json(TOTAL.to_json()) == TOTAL


def test_many_listed_groups_of_many_columns_are_found_without_overflow():
    rng = np.random.default_rng(1)
    lengths = [1000] * 8  # their product does not fit in 64 bits
    cells = np.unique(rng.integers(0, 1000, size=(100_000, 8)), axis=0)
    cells = cells[rng.permutation(len(cells))]
    groups = Groups(tuple("abcdefgh"), ("integer",) * 8, tuple(range(n) for n in lengths), cells)
    shuffled = rng.permutation(len(cells))
    assert (groups.index(cells[shuffled]) == shuffled).all()
    other = cells[:1000].copy()
    other[:, 7] = -1
    assert (groups.index(other) == -1).all()


def test_groups_are_frozen():
    groups = groups_from([(1,), (2,)], ["x"])
    with pytest.raises(ValueError, match="read-only"):
        groups.codes()[0, 0] = 1
