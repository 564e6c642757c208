"""Results do not depend on the processor: the same within their stated tolerance under other kernels of OpenBLAS.

OpenBLAS picks its kernels by the processor, and their sums differ in the last digits. ``OPENBLAS_CORETYPE`` chooses
others, for NumPy's library and for SciPy's. ``make test-slow`` runs all numerical tests under them; here the product's
own results are compared with each other.
"""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from numerical import NUMERICAL, is_numerical

ROOT = Path(__file__).parent.parent

#: What a core type calls itself: OpenBLAS has one set of kernels for several names.
ALSO_CALLED = {
    "Prescott": {"prescott", "katmai"}, "Haswell": {"haswell"}, "ARMV8": {"armv8"}, "NEOVERSEN1": {"neoversen1"},
}  # fmt: skip

#: Files of tests that do not compute: command line, pages, files, tables, ledgers.
NOT_NUMERICAL = {
    "test_examples.py",
    "test_adding_a_family.py", "test_addresses.py", "test_architecture.py", "test_cli.py", "test_cli_words.py",
    "test_client.py", "test_core_types.py", "test_demo.py", "test_docs.py", "test_explanation.py", "test_files.py",
    "test_foreign_files.py", "test_installed.py", "test_plot_counts.py", "test_plots.py", "test_projective_response.py",
    "test_public_face.py", "test_readme.py", "test_refusals.py", "test_results.py", "test_spaces.py", "test_wording.py",
}  # fmt: skip

pytestmark = pytest.mark.xdist_group("core types")


def core_types() -> list[str]:
    """The core types of ``make test-slow``: the Makefile is the one place that names them."""
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = {m[1]: m[2].split() for m in re.finditer(r"^CORES_(\w+) *:= *(.+)$", text, re.M)}
    return named[platform.machine().replace("arm64", "aarch64")]


@cache
def results(core: str | None) -> tuple[dict[str, str], dict[str, tuple[Any, float]]]:
    """The kernels in use, and every result by name with its tolerance, under a core type or the machine's own."""
    environment = {key: value for key, value in os.environ.items() if key != "OPENBLAS_CORETYPE"}
    if core is not None:
        environment["OPENBLAS_CORETYPE"] = core
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("core_type_results.py"))],
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, f"{core}: {done.stderr}"
    found = json.loads(done.stdout)
    return found["kernels"], {name: (value, within) for name, value, within in found["results"]}


def differences(one: dict[str, tuple[Any, float]], other: dict[str, tuple[Any, float]]) -> list[str]:
    """The results that differ by more than they may."""
    assert list(one) == list(other)
    return [name for name in one if not _alike(*one[name], *other[name])]


def _alike(a: Any, within: float, b: Any, also_within: float) -> bool:
    if isinstance(a, str) or isinstance(b, str):
        return bool(a == b)
    return np.shape(a) == np.shape(b) and bool(np.all(np.abs(np.subtract(a, b)) <= max(within, also_within)))


def test_every_file_of_tests_is_numerical_or_said_not_to_be() -> None:
    """A new one is not forgotten. Folders are numerical as wholes, but for a few."""
    tests = Path(__file__).parent
    for file in tests.glob("test_*.py"):
        assert is_numerical(file) != (file.name in NOT_NUMERICAL), f"{file.name}: say in numerical.py or here"
    folders = {folder.name for folder in tests.iterdir() if folder.is_dir() and list(folder.glob("test_*.py"))}
    words = {"browser", "collect", "engines", "ledger", "questions", "release", "service", "web"}
    assert folders <= {*NUMERICAL, *words}, folders


@pytest.mark.parametrize("core", core_types())
def test_a_core_type_takes_effect_for_both_libraries(core: str) -> None:
    """Otherwise everything would be compared with itself."""
    kernels, _ = results(core)
    assert {name for path in kernels for name in ("numpy", "scipy") if f"{name}.libs" in path} == {"numpy", "scipy"}
    assert {kind.casefold() for kind in kernels.values()} <= ALSO_CALLED[core], kernels


def test_the_core_types_are_different_ones() -> None:
    found = [set(results(core)[0].values()) for core in core_types()]
    assert len(found) == 2 and not found[0] & found[1]


@pytest.mark.parametrize("core", core_types())
def test_no_result_differs_by_more_than_its_tolerance(core: str) -> None:
    """From the machine's own: all methods of estimation, intervals, designs, calibrations, remaps and distances."""
    assert differences(results(None)[1], results(core)[1]) == []


def test_the_core_types_agree_with_each_other() -> None:
    first, second = (results(core)[1] for core in core_types())
    assert differences(first, second) == []


def test_the_comparison_notices_a_difference() -> None:
    """Every result, moved by twice what is allowed or written otherwise, is found."""
    _, own = results(None)
    moved: dict[str, tuple[Any, float]] = {
        name: (value + "." if isinstance(value, str) else [*value[:-1], value[-1] + 2 * within], within)
        for name, (value, within) in own.items()
    }
    assert len(own) > 150 and differences(own, moved) == list(own)


def test_sums_do_differ_between_the_kernels() -> None:
    """The negative control: where nothing differs at all, the kernels were hardly used."""
    (_, first), (_, second) = (results(core) for core in core_types())
    assert any(first[name][0] != second[name][0] for name in first)
