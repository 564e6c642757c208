"""Files: what was saved comes back exactly, and what was altered does not come back at all."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import pytest

import discreet as dc
from discreet.errors import Altered, InvalidInput, NotPrivate, UnreadableFile
from discreet.exact.kernels import Noise
from discreet.exact.laws import Finite, GeometricTails
from discreet.exact.tables import Table
from discreet.mechanism import FORMAT, VERSION, Mechanism
from discreet.mechanism import fingerprint as _digest
from discreet.privacy.certificate import certify
from support.refusals import refused

REFUSED = (UnreadableFile, NotPrivate, InvalidInput)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "mechanism.json"


def from_rows(rows) -> Mechanism:
    table, space = Table.from_rows(rows), dc.Counts(len(rows) - 1)
    return Mechanism(space, dc.Counts(len(rows[0]) - 1), table, certify(table, space), "from_matrix")


def from_noise(kernel: Noise, inputs, outputs) -> Mechanism:
    return Mechanism(inputs, outputs, kernel, certify(kernel, inputs), "noise")


MECHANISMS = {
    "closed form": lambda: dc.geometric(6, alpha="2/3"),
    "closed form on a range": lambda: dc.two_sided_geometric(alpha="2/3").on(dc.Counts(5)),
    "table": lambda: from_rows([[5, 3, 2], [4, 3, 3]]),
    "labels": lambda: dc.randomized_response(["yes", "no", "é"], alpha="1/3"),
    "map": lambda: dc.planar_geometric(dc.Grid(2, 3, cell=100.0), epsilon=0.01),
    "delta": lambda: dc.from_matrix([[0.6, 0.4, 0.0], [0.0, 0.4, 0.6]], privacy=dc.Privacy("0.3", "0.7")),
    "own laws": lambda: from_noise(
        Noise(Finite(-2, [1, 2, 4, 2, 1]), (0, 2), (0, 2), (Finite(0, [4, 2, 1]), Finite(-1, [2, 4, 2]))),
        dc.Counts(2),
        dc.Counts(2),
    ),
}


def change(path, *, sign: bool, edit) -> None:
    """Alter the content of a file, with or without a digest that fits."""
    content = json.loads(path.read_text(encoding="utf-8"))
    edit(content)
    if sign:
        content["sha256"] = _digest(content)
    path.write_text(json.dumps(content), encoding="utf-8")


# ------------------------------------------------------------------------------------------------ round trips


@pytest.mark.parametrize("name", MECHANISMS)
def test_what_is_saved_comes_back(name, path):
    m = MECHANISMS[name]()
    m.save(path)
    again = dc.load(str(path))
    assert again.kernel.to_json() == m.kernel.to_json() and again.certificate == m.certificate
    assert again.inputs == m.inputs and again.outputs == m.outputs


def test_a_file_says_what_it_is_and_which_version(path):
    dc.uniform(3).save(path)
    content = json.loads(path.read_text(encoding="utf-8"))
    assert content["format"] == FORMAT == "discreet mechanism" and content["version"] == VERSION == 1
    assert {"family", "inputs", "outputs", "certificate", "parameters", "sha256"} <= set(content)


def test_exact_integers_of_any_length_survive(path):
    rows = [[3**20_000, 7**9_000, 1], [2**31_000, 3**19_999, 5]]
    m = from_rows(rows)
    m.save(path)
    again = dc.load(path)
    assert [again.kernel.row(i) for i in range(2)] == rows
    assert again.certificate == m.certificate and again.certificate.ratio == m.certificate.ratio


def test_integers_beyond_double_precision_survive(path):
    rows = [[10**30 + 1, 10**30], [10**30, 10**30 + 1]]
    m = from_rows(rows)
    m.save(path)
    assert dc.load(path).certificate.ratio == Fraction(10**30 + 1, 10**30)


def test_epsilon_and_delta_that_are_no_doubles_survive(path):
    """The certificate rounds them up; reading the rounded ones again must not round up once more."""
    for epsilon, delta in (("0.1234567890123456789", "0.7000000000000000123"), (Fraction(1, 3), Fraction(2, 3))):
        m = dc.from_matrix([[0.6, 0.4, 0.0], [0.0, 0.4, 0.6]], privacy=dc.Privacy(epsilon, delta))
        m.save(path)
        assert dc.load(path).certificate == m.certificate


def test_paths_may_hold_any_letters(tmp_path):
    path = tmp_path / "données 数 ü.json"
    dc.randomized_response(["ä", "数"], alpha="1/2").save(path)
    assert dc.load(path).inputs == dc.Labels(["ä", "数"])


def test_layout_does_not_matter(path):
    MECHANISMS["table"]().save(path)
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")), indent=7, sort_keys=True))
    assert dc.load(path).certificate.ratio == dc.load(path).certificate.ratio


# ------------------------------------------------------------------------------------------------ tampering


def numbers(content, place=()):
    """The places of everything in a file that holds a number, text of digits included."""
    if isinstance(content, dict):
        for key, value in content.items():
            yield from numbers(value, (*place, key))
    elif isinstance(content, list):
        for key, value in enumerate(content):
            yield from numbers(value, (*place, key))
    elif (isinstance(content, int | float) and not isinstance(content, bool)) or (
        isinstance(content, str) and content[:1].isdigit() and place[0] != "sha256"
    ):
        yield place


def altered(value):
    if isinstance(value, str):
        return ("8" if value[0] != "8" else "9") + value[1:]
    return value + 1


@pytest.mark.parametrize("name", MECHANISMS)
def test_an_altered_number_anywhere_is_refused(name, path):
    MECHANISMS[name]().save(path)
    original = path.read_text(encoding="utf-8")
    places = list(numbers(json.loads(original)))
    assert len(places) >= 4
    for place in places:
        path.write_text(original, encoding="utf-8")

        def edit(content, place=place):
            *way, last = place
            for key in way:
                content = content[key]
            content[last] = altered(content[last])

        change(path, sign=False, edit=edit)
        kind, token = (UnreadableFile, "version 2") if place[-1] == "version" else (Altered, "sha256")
        with refused(kind, token=token):
            dc.load(path)


def put(*way_and_value):
    *way, last, value = way_and_value

    def edit(content):
        for key in way:
            content = content[key]
        content[last] = value

    return edit


@pytest.mark.parametrize(
    ("name", "edit"),
    [
        ("closed form", put("parameters", "alpha", "1/3")),
        ("closed form", put("parameters", "alpha", "2")),
        ("closed form", put("parameters", "n", 7)),
        ("closed form", put("certificate", "epsilon", 0.4)),
        ("closed form", put("certificate", "epsilon", math.nan)),
        ("closed form", put("certificate", "ratio", "5/4")),
        ("closed form", put("certificate", "notion", "local")),
        ("closed form", put("certificate", "delta", -0.1)),
        ("closed form", put("inputs", "n", 7)),
        ("closed form", put("outputs", {"kind": "integers", "low": None})),
        ("closed form", put("family", "table")),
        ("closed form on a range", put("parameters", "on", {"kind": "counts", "n": 9})),
        ("closed form on a range", put("parameters", "clamp", False)),
        ("table", put("kernel", "palette", ["2", "3", "4", "9"])),
        ("table", put("kernel", "palette", ["2", "3", "-4", "5"])),
        ("table", put("kernel", "codes", [[3, 1, 0], [2, 1, 9]])),
        ("table", put("kernel", "codes", [[3, 1, 0], [2, 1]])),
        ("table", put("kernel", "codes", [[0, 1, 3], [2, 1, 1]])),
        ("table", put("certificate", "epsilon", 0.0)),
        ("table", put("certificate", "notion", "global")),
        ("table", put("inputs", "n", 2)),
        ("table", put("outputs", "n", 1)),
        ("table", put("outputs", "n", 9)),
        ("labels", put("parameters", "alpha", "1/9")),
        ("labels", put("inputs", "labels", ["yes", "no", "maybe"])),
        ("map", put("parameters", "epsilon", "1/10")),
        ("map", put("inputs", "cell", "50")),
        ("map", put("certificate", "epsilon", 0.001)),
        ("delta", put("certificate", "delta", 0.1)),
        ("delta", put("certificate", "delta", 0)),
        ("own laws", put("kernel", "own", 0, "weights", ["4", "2", "0"])),
        ("own laws", put("kernel", "law", "weights", ["1", "2", "400", "2", "1"])),
        ("own laws", put("kernel", "truths", [5, None])),
        ("own laws", put("kernel", "truths", [0, 10])),
        ("own laws", put("kernel", "clamp", [None, None])),
        ("own laws", put("inputs", "n", 3)),
        ("own laws", put("outputs", "n", 3)),
    ],
)
def test_a_forged_file_with_a_digest_that_fits_is_refused_by_the_judge(name, edit, path):
    """The digest is no signature: a claim that its numbers do not prove is refused all the same."""
    MECHANISMS[name]().save(path)
    change(path, sign=True, edit=edit)
    with pytest.raises(REFUSED):
        dc.load(path)


def test_a_weaker_claim_that_still_holds_is_accepted_with_the_proved_one(path):
    m = MECHANISMS["table"]()
    m.save(path)
    change(path, sign=True, edit=put("certificate", "epsilon", 5.0))
    assert dc.load(path).certificate.epsilon == m.certificate.epsilon


def test_the_refusal_of_a_false_claim_states_claim_and_proof(path):
    dc.geometric(6, alpha="2/3").save(path)
    change(path, sign=True, edit=put("certificate", "epsilon", 0.25))
    with refused(NotPrivate, token="epsilon = 0.25 ... epsilon = 0.405"):
        dc.load(path)


# ------------------------------------------------------------------------------------------------ no mechanism file


def test_a_missing_file_says_so(tmp_path):
    with refused(UnreadableFile, token="absent.json: No such"):
        dc.load(tmp_path / "absent.json")
    with refused(UnreadableFile, token="directory"):
        dc.load(tmp_path)  # a folder


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "not JSON"),
        (b"\xff\xfe\x00 binary", "not JSON"),
        (b"n,alpha\n3,0.5\n", "not JSON"),
        (b"[1, 2]", "mechanism file"),
        (b"3", "mechanism file"),
        (b'{"a": 1}', "mechanism file"),
        (b'{"format": "another"}', "mechanism file"),
        (b'{"format": "discreet mechanism"}', "version None"),
        (b'{"format": "discreet mechanism", "version": 2}', "version 2 ... reads version 1 ... Upgrade"),
        (b'{"format": "discreet mechanism", "version": 1}', "damaged"),
    ],
)
def test_what_is_no_mechanism_file_is_refused_with_its_name(content, words, path):
    path.write_bytes(content)
    with refused(UnreadableFile, token=words) as caught:
        dc.load(path)
    assert "mechanism.json" in str(caught.value)


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_truncated_file_is_refused(name, path):
    MECHANISMS[name]().save(path)
    content = path.read_bytes()
    for size in (len(content) // 10, len(content) // 2, len(content) - 40, len(content) - 3):
        path.write_bytes(content[:size])
        with pytest.raises(UnreadableFile):
            dc.load(path)


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_missing_part_is_refused(name, path):
    MECHANISMS[name]().save(path)
    original = path.read_text(encoding="utf-8")
    for key in json.loads(original):
        path.write_text(original, encoding="utf-8")
        change(path, sign=key != "sha256", edit=lambda content, key=key: content.pop(key))
        with pytest.raises(REFUSED):
            dc.load(path)


def test_geometric_tails_of_a_loaded_law_are_checked(path):
    m = from_noise(Noise(GeometricTails(Fraction(1, 2), Fraction(1, 3)), (0, 4), (0, 4)), dc.Counts(4), dc.Counts(4))
    m.save(path)
    assert dc.load(path).certificate == m.certificate
    for edit in (
        put("kernel", "law", "ratio", "1"),
        put("kernel", "law", "atom", "-1/2"),
        put("kernel", "law", "law", "cauchy"),
    ):
        m.save(path)
        change(path, sign=True, edit=edit)
        with pytest.raises(REFUSED):
            dc.load(path)


def test_what_a_file_says_of_itself_is_not_repeated_as_proved(tmp_path):
    """Free text of a file, with a digest that fits: names, reasons and details that pretend are dropped or refused."""
    path = tmp_path / "m.json"
    dc.from_matrix(dc.geometric(3, epsilon=1).matrix, privacy=1).save(path)
    content = json.loads(path.read_text(encoding="utf-8"))
    content["certificate"]["how"] = "audited by the national statistics office"
    content["certificate"]["details"] = {"seal": "approved\x1b[8m", "mixing": 1e-17}
    content["sha256"] = _digest(content)
    path.write_text(json.dumps(content), encoding="utf-8")
    loaded = dc.load(path)
    assert "audited" not in str(loaded.certificate)
    assert loaded.certificate.details == {"mixing": 1e-17}
    content["family"] = "geometric\nprivacy   epsilon = 0"
    content["sha256"] = _digest(content)
    path.write_text(json.dumps(content), encoding="utf-8")
    with refused(UnreadableFile, token="family"):
        dc.load(path)
