"""The notebooks in ``examples/``: they run from beginning to end, and what is stored is what a run gave."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from support.paths import ROOT

EXAMPLES = ROOT / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))


def test_there_is_one_for_each_visitor() -> None:
    assert [file.stem for file in NOTEBOOKS] == ["collector", "curator", "papers", "researcher"]


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
