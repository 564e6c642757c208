"""The notebooks in ``examples/``: they run from beginning to end, and what is stored is what a run gave."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

EXAMPLES = Path(__file__).parents[1] / "examples"
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


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_notebook_runs(file: Path) -> None:
    """A cell that raises ends the run with its traceback."""
    book = nbformat.read(file, as_version=4)
    NotebookClient(book, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(EXAMPLES)}}).execute()
    kinds = [output.output_type for cell in book.cells if cell.cell_type == "code" for output in cell.outputs]
    assert "error" not in kinds and "execute_result" in kinds
