"""Results do not depend on the processor: the same within their stated tolerance under other kernels of OpenBLAS.

OpenBLAS picks its kernels by the processor, and their sums differ in the last digits. ``OPENBLAS_CORETYPE`` chooses
others, for NumPy's library and for SciPy's. ``make test-all`` runs all numerical tests under them; here the product's
own results are compared with each other.
"""

from __future__ import annotations

import ast
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

import discreet as dc
from support.numerical import NUMERICAL, is_numerical
from support.paths import ROOT, TESTS

#: What a core type calls itself: OpenBLAS has one set of kernels for several names.
ALSO_CALLED = {
    "Prescott": {"prescott", "katmai"}, "Haswell": {"haswell"}, "ARMV8": {"armv8"}, "NEOVERSEN1": {"neoversen1"},
}  # fmt: skip

pytestmark = pytest.mark.xdist_group("core types")


def core_types() -> list[str]:
    """The core types of ``make test-all``: the Makefile is the one place that names them."""
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
        [sys.executable, str(TESTS / "support" / "core_type_results.py")],
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


def multiplies_matrices(file: Path) -> bool:
    """Whether a module uses ``@``, ``dot``, ``einsum`` or a library of linear algebra."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            return True
        if isinstance(node, ast.Attribute) and node.attr in ("linalg", "dot", "einsum", "tensordot"):
            return True
    return False


def test_every_package_that_multiplies_matrices_is_run_under_other_kernels() -> None:
    source = Path(dc.__file__).parent
    packages = {
        file.relative_to(source).with_suffix("").parts[0] for file in source.rglob("*.py") if multiplies_matrices(file)
    }
    if any(map(multiplies_matrices, (ROOT / "studies" / "src").rglob("*.py"))):
        packages.add("studies")
    assert packages == set(NUMERICAL)
    for place in (place for places in NUMERICAL.values() for place in places):
        files = [TESTS / place] if place.endswith(".py") else list((TESTS / place).glob("test_*.py"))
        assert files and any(map(is_numerical, files)), place


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
