"""The schema of request files as the package ships it, from the words that the fields of a request state.

``python -m support.request_schema``, run in this folder's parent, writes it anew.
"""

from __future__ import annotations

import json
from pathlib import Path

import discreet
from discreet.release.plan.toml_text import request_schema

FILE = Path(discreet.__file__).parent / "schemas" / "request-file.json"


def schema_text() -> str:
    """Return the text that the file must have."""
    return json.dumps(request_schema(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FILE.write_text(schema_text(), encoding="utf-8")
