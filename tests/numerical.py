"""Which tests compute: the one place that says so."""

from __future__ import annotations

from pathlib import Path

#: Folders and files whose tests compute: they are run again with the linear algebra of other processors
#: (``make test-cores``), and so are marked ``numerical``.
NUMERICAL = (
    "contracts", "estimation", "exact", "optimise", "power", "privacy", "release/test_accuracy.py",
    "release/test_margins.py", "release/test_noise.py", "slow", "studies", "test_bounded.py", "test_comparison.py",
    "test_checking.py", "test_counterexamples.py", "test_families.py", "test_losses.py", "test_oracles.py",
    "test_planar.py", "test_practice.py", "test_properties.py", "test_ptables.py", "test_requirements.py",
    "test_utility.py",
)  # fmt: skip

#: Of these, what is about words, files and pages.
WORDS = (
    "contracts/test_discovery_on_every_engine.py",
    "contracts/test_every_engine.py", "contracts/test_every_ledger_store.py", "estimation/test_estimate_page.py",
    "estimation/test_pictures.py",
)  # fmt: skip


def is_numerical(path: Path) -> bool:
    """Whether the tests of a file compute."""
    if not path.is_relative_to(Path(__file__).parent):
        return False  # a docstring's examples
    place = path.relative_to(Path(__file__).parent).as_posix()
    return place not in WORDS and any(place == name or place.startswith(f"{name}/") for name in NUMERICAL)
