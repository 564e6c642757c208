"""Where the files are that tests read."""

from __future__ import annotations

from pathlib import Path

TESTS = Path(__file__).parents[1]
ROOT = TESTS.parent
DOCS = ROOT / "docs"
DATA = ROOT / "data"
VISITS = DATA / "doctor_visits.csv.gz"

#: Reference values, computed independently of this project.
GOLDEN = TESTS / "golden"

#: Bundles and ledgers as earlier versions published them, a folder for each format.
PUBLISHED = TESTS / "published"
