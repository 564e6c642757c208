"""The rest: one group for all values of a column that are not declared."""

from __future__ import annotations

import copy
import json
import pickle

import pytest

from discreet.errors import InvalidInput
from discreet.questions.domains import REST, domain_values, has_rest
from discreet.questions.groups import Groups, groups_from, read_domain, read_groups, read_sizes, with_zeros
from discreet.questions.orders import canonical, places_in
from support.grids import every_case
from support.refusals import refused


@every_case(
    ("body", "values"),
    [
        ("Female,Male,*", ("Female", "Male", REST)),
        ("*, Female, Male", ("Female", "Male", REST)),
        ("1..3,*", (1, 2, 3, REST)),
        ("1,7,NULL,*", (1, 7, None, REST)),
        ("NULL,*", (None, REST)),
        ("a,'*'", ("a", "*")),
        ("a,'*',*", ("a", "*", REST)),
    ],
)
def test_a_star_adds_all_other_values(body: str, values: tuple[object, ...]) -> None:
    found = domain_values("sex", body)
    assert found == values and has_rest(found) == (values[-1] is REST)


def test_a_star_stands_behind_a_file_and_is_a_text_in_it(tmp_path) -> None:
    (tmp_path / "towns.txt").write_text("Rome\n*\n")
    assert domain_values("town", f"@{tmp_path}/towns.txt") == ("Rome", "*")
    found = domain_values("town", f"@{tmp_path}/towns.txt,*")
    assert found == ("Rome", "*", REST) and has_rest(found)


@every_case(
    ("body", "says"),
    [
        ("*", "all values"), ("a*,b", "like a pattern"), ("a,*,*", "has * twice"),
        ("a,'(all others)',*", "'(all others)' twice"),
    ],
)  # fmt: skip
def test_a_star_alone_twice_or_with_a_value_of_its_name_is_refused(body: str, says: str) -> None:
    with refused(InvalidInput, "domain", token=says):
        read_domain([f"sex={body}"], ["sex"])


def test_python_writes_it_as_an_ellipsis() -> None:
    groups = groups_from({"sex": ["Female", "Male", ...], "site": [1, 2, None, ...]}, ["sex", "site"])
    assert groups == read_domain(["sex=Female,Male,*", "site=1,2,NULL,*"], ["sex", "site"])
    assert groups.kinds == ("text", "integer")
    for wrong in ([...], ["a", ..., "b"], ["a", ..., ...]):
        with pytest.raises(InvalidInput):
            groups_from({"sex": wrong}, ["sex"])
    with pytest.raises(InvalidInput):
        groups_from([("Female",), (...,)], ["sex"])


def test_a_text_of_the_same_letters_is_not_the_rest(tmp_path) -> None:
    text, rest = groups_from({"s": ["a", "(all others)"]}, ["s"]), groups_from({"s": ["a", ...]}, ["s"])
    assert text != rest and text.to_json() != rest.to_json()
    (tmp_path / "g.csv").write_text("s\na\n*\n")
    listed = read_groups(tmp_path / "g.csv", ["s"])  # a list of groups has no rest: * is the text
    assert listed.values == (("a", "*"),) and not has_rest(listed.values[0])


def test_it_survives_json_copies_and_another_order() -> None:
    groups = read_domain(["sex=Male,NULL,Female,*", "site=3,1,*"], ["sex", "site"])
    written = json.dumps(groups.to_json())
    for again in (Groups.from_json(json.loads(written)), copy.deepcopy(groups), pickle.loads(pickle.dumps(groups))):
        assert again == groups and all(map(has_rest, again.values))
    ordered = canonical(groups)
    assert ordered.values == (("Female", "Male", None, REST), (1, 3, REST)) and canonical(ordered) is ordered
    places = places_in(groups, ordered)
    assert [ordered.label(place) for place in places.tolist()] == [groups.label(g) for g in range(groups.size)]


def test_structural_zeros_and_sizes_name_it_by_its_label() -> None:
    groups = read_domain(["sex=Female,*", "site=1,2,*"], ["sex", "site"])
    zeros = with_zeros(groups, [{"sex": "(all others)", "site": 2}])
    assert sorted(zeros.zeros) == [4] and zeros.label(4) == ("(all others)", 2)
    sizes = [{"sex": s, "site": site, "size": k} for k, (s, site) in enumerate(map(groups.label, range(6)))]
    assert read_sizes(sizes, groups).tolist() == list(range(6))
