"""The notebooks in ``examples/``: they run from beginning to end, and what is stored is what a run gave."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from support.paths import ROOT

EXAMPLES = ROOT / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))


LESSONS = [file for file in NOTEBOOKS if file.stem.startswith("lesson_")]


def test_there_is_one_for_each_visitor_and_three_lessons() -> None:
    visitors = [file.stem for file in NOTEBOOKS if file not in LESSONS]
    assert visitors == ["collector", "curator", "papers", "researcher"]
    assert [file.stem for file in LESSONS] == ["lesson_properties", "lesson_quarters", "lesson_reports"]


@pytest.mark.parametrize("file", LESSONS, ids=lambda file: file.stem)
def test_a_lesson_asks_tries_fails_and_leaves_exercises(file: Path) -> None:
    text = "\n".join(c.source for c in nbformat.read(file, as_version=4).cells if c.cell_type == "markdown")
    headings = [line.removeprefix("## ") for line in text.splitlines() if line.startswith("## ")]
    assert headings == ["The question", "An attempt", "What goes wrong", "Exercises"]
    exercises = text.split("## Exercises")[1]
    assert all(f"\n{number}. " in exercises for number in (1, 2, 3, 4, 5))


def _output(file: Path, code: str) -> str:
    """Return what the one stored cell with this code printed or returned."""
    cells = nbformat.read(file, as_version=4).cells
    (cell,) = [cell for cell in cells if cell.cell_type == "code" and code in cell.source]
    return "\n".join(str(o.get("text") or o["data"]["text/plain"]) for o in cell.outputs)


def test_the_attack_succeeds_without_noise_and_the_ledger_refuses_what_it_needs() -> None:
    file = EXAMPLES / "lesson_quarters.ipynb"
    guesses, right = ast.literal_eval(_output(file, "attack(exact)"))
    assert guesses == right > 20
    assert "quarter 1: not enough budget" in _output(file, "epsilon=10")
    assert _output(file, "released = {").count("not enough budget") == 1
    noisy = re.search(r"\((\d+), (\d+)\)", _output(file, "attack(noisy)"))
    assert noisy is not None and int(noisy[2]) < int(noisy[1])


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_notebook_is_stored_with_its_results_and_small_enough_to_read(file: Path) -> None:
    cells = nbformat.read(file, as_version=4).cells
    code = [cell for cell in cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert any("image/png" in output.get("data", {}) for cell in code for output in cell.outputs)
    assert not any(output.output_type == "error" for cell in code for output in cell.outputs)
    assert sum(len(cell.source.splitlines()) for cell in code) < 60 and file.stat().st_size < 500_000


def test_a_description_is_one_text_in_a_notebook_too() -> None:
    """Tables were once shown apart, before the text that they belong to."""
    code = "import discreet as dc\nprint(dc.compare(4, epsilon=1).describe())\nprint('after')"
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
    NotebookClient(book, timeout=600, kernel_name="python3").execute()
    (output,) = book.cells[0].outputs
    assert output.output_type == "stream" and "geometric" in output.text and output.text.endswith("after\n")


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_notebook_runs(file: Path) -> None:
    """A cell that raises ends the run with its traceback."""
    book = nbformat.read(file, as_version=4)
    NotebookClient(book, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(EXAMPLES)}}).execute()
    kinds = [output.output_type for cell in book.cells if cell.cell_type == "code" for output in cell.outputs]
    assert "error" not in kinds and "execute_result" in kinds
