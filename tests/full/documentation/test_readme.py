"""Every example in the README runs."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from support.paths import ROOT

README = ROOT / "README.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.S)


def test_there_is_an_example_for_each_visitor() -> None:
    assert len(EXAMPLES) == 3


@pytest.mark.parametrize("example", EXAMPLES, ids=["curator", "collector", "researcher"])
def test_the_examples_in_the_readme_run(
    example: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(README.parent / "data", tmp_path / "data")
    monkeypatch.chdir(tmp_path)
    exec(compile(example, "README.md", "exec"), {})
    assert capsys.readouterr().out
