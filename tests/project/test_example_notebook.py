"""The notebook in examples/ is one, and each of its cells runs and shows what its text says."""

import ast
from pathlib import Path
from typing import Any

import nbformat
import pytest

NOTEBOOK = Path(__file__).parents[2] / "examples" / "dancematch.ipynb"


@pytest.fixture(scope="module")
def notebook():
    return nbformat.read(NOTEBOOK, as_version=4)


def run_cell(source: str, names: dict[str, Any]) -> Any:
    """Run a cell as a notebook does; the value of its last line, if that is an expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, NOTEBOOK.name, "exec"), names)  # noqa: S102  (our own)
    if last is not None:
        return eval(compile(ast.Expression(last.value), NOTEBOOK.name, "eval"), names)  # noqa: S307
    return None


def test_the_notebook_is_valid_and_holds_no_outputs(notebook):
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]

    assert [([], None)] * len(code) == [(cell.outputs, cell.execution_count) for cell in code]


def test_the_notebook_runs_from_top_to_bottom(notebook, capsys):
    names: dict[str, Any] = {"__name__": "__main__"}
    shown = {cell.id: run_cell(cell.source, names) for cell in notebook.cells if cell.cell_type == "code"}

    assert "<animate" in shown["dance"]._repr_html_()
    assert (2.0, 5.0) == (shown["slice"].span.start, shown["slice"].span.end)
    assert "Match: Thriller" in shown["answer"]._repr_html_()
    assert ("Thriller", "match", True) == shown["match"][:3]
    assert capsys.readouterr().out.startswith("Match: Thriller")
    assert {"Polka", "Thriller"} == set(shown["table"]["dance"])
    assert ["Thriller"] == shown["segments"]["dance"].tolist()
    assert ("Thriller", []) == (shown["report"].dance, shown["dedup"])
    assert not names["here"].exists()
