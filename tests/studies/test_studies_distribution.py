"""The studies are a distribution of their own: found by entry points, of one version, missed in plain words."""

from __future__ import annotations

import json
import pickle
import tomllib
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import pytest

import discreet as dc
from discreet.errors import MissingExtra
from discreet.studies import GROUP, load
from support.command_line import run
from support.paths import ROOT
from support.refusals import refused

NAMES = ("study", "StudyResult", "papers")
INSTALL = "pip install discreet-studies (from a checkout: pip install -e studies)"


def project(folder: str) -> dict[str, Any]:
    """Return the metadata of one of the two distributions."""
    return dict(tomllib.loads((ROOT / folder / "pyproject.toml").read_text(encoding="utf-8"))["project"])


@pytest.fixture
def without_studies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the distribution: nothing answers to its entry points."""
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: ())
    for name in NAMES:
        monkeypatch.delitem(vars(dc), name, raising=False)


def test_both_distributions_have_one_version() -> None:
    library, studies = project(""), project("studies")
    assert studies["version"] == library["version"]
    assert f"discreet=={library['version']}" in studies["dependencies"]
    assert [need for need in library["dependencies"] if "studies" in need] == []


def test_the_installed_entry_points_are_those_of_the_project() -> None:
    written = project("studies")["entry-points"][GROUP]
    assert {entry.name: entry.value for entry in entry_points(group=GROUP)} == written
    assert set(written) == {"verb", *NAMES}


def test_without_it_the_verb_says_how_to_install_it(without_studies: None) -> None:
    for arguments in ((), ("bounded", "--quick", "--figure", "1"), ("all", "--seed=3", "--seed=4")):
        ended = run("study", *arguments, code=2)
        assert (ended.stdout, ended.stderr.count("\n")) == ("", 1) and INSTALL in ended.stderr
    told = json.loads(run("study", "bounded", "--json", code=2).stdout)
    assert told["format"] == "discreet error" and INSTALL in json.dumps(told)
    assert "pip install discreet-studies" in run("study", "--help").stdout


def test_one_that_does_not_fit_leaves_the_other_verbs_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = EntryPoint("verb", "discreet_studies.no_such_module:study", GROUP)
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: (broken,))
    assert "study" in run("--help").stdout
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        load("verb")


def test_without_it_the_names_in_python_say_how_to_install_it(without_studies: None) -> None:
    for name in NAMES:
        with refused(MissingExtra, token="discreet-studies"):
            getattr(dc, name)
    assert not set(NAMES) & {*dc.__all__, *dir(dc)}
    with pytest.raises(ImportError):
        exec("from discreet import study")


def test_the_error_survives_being_sent_to_another_process(without_studies: None) -> None:
    with pytest.raises(MissingExtra) as missing:
        _ = dc.study
    assert str(pickle.loads(pickle.dumps(missing.value))) == str(missing.value)


def test_with_it_the_verb_has_its_options_and_takes_each_once() -> None:
    assert "--figure" in run("study", "--help").stdout
    assert "--seed" in run("study", "bounded", "--seed", "1", "--seed", "2", code=2).stderr
    assert "--figure" in run("study", "bounded", "--figure", "99", code=2).stderr
    assert "study" in run("--help").stdout
