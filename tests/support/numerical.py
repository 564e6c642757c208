"""Which tests depend on linear algebra: the one place that says so.

They run again with the kernels that OpenBLAS chooses on other processors (``make test-cores``), marked ``numerical``.
"""

from __future__ import annotations

from pathlib import Path

from support.paths import TESTS

#: Packages of discreet that multiply or factor matrices of floats -> the tests that would notice another last digit.
NUMERICAL = {
    "collect": ("collect/test_planning.py",),
    "estimation": ("estimation",),
    "exact": (
        "exact/test_kernels.py", "exact/test_lattice.py", "exact/test_linear.py", "exact/test_projective.py",
        "exact/test_tables.py",
    ),
    "mechanisms": ("contracts/test_every_mechanism.py", "contracts/test_products.py", "mechanisms/test_planar.py"),
    "optimise": ("optimise",),
    "privacy": ("privacy/test_compose.py", "privacy/test_composed_deltas.py", "privacy/test_composed_gaussians.py"),
    "release": (
        "release/test_accuracy.py", "release/test_least_squares.py", "release/test_levels_accuracy.py",
        "release/test_margins.py", "release/test_noise.py",
    ),
    "studies": ("studies",),
    "utility": ("measures/test_comparison.py", "measures/test_utility.py"),
}  # fmt: skip

#: Of these, what is about words, files and pages.
WORDS = ("estimation/test_estimate_page.py", "estimation/test_pictures.py")

_PLACES = tuple(place for places in NUMERICAL.values() for place in places)


def is_numerical(path: Path) -> bool:
    """Tell whether the tests of a file depend on linear algebra."""
    if not path.is_relative_to(TESTS):
        return False  # a docstring's examples
    name = path.relative_to(TESTS).as_posix()
    return name not in WORDS and any(name == place or name.startswith(f"{place}/") for place in _PLACES)
