"""The notebook of the documentation, run by a kernel as Jupyter runs it, and what Tab and Shift-Tab show in one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[2] / "docs" / "notebooks" / "first-steps.ipynb"


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[NotebookClient]:
    """A notebook and a running kernel, which leaves no file in the home directory."""
    for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    client = NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(NOTEBOOK.parent)}})
    with client.setup_kernel():
        yield client


def test_the_notebook_runs(client: NotebookClient) -> None:
    cells = {cell["id"]: cell for cell in client.nb.cells}
    assert not any(cell.get("outputs") for cell in cells.values()), "outputs are not stored"
    for number, cell in enumerate(client.nb.cells):
        client.execute_cell(cell, number)

    def shown(name: str) -> dict[str, Any]:
        [output] = [one for one in cells[name]["outputs"] if one["output_type"] == "execute_result"]
        return dict(output["data"])

    assert "300" in shown("import")["text/plain"]
    assert "<svg" in shown("store")["text/html"]
    assert "<table" in shown("query")["text/html"]
    assert all(shown(name)["image/png"] for name in ("plot", "edited"))
    assert "0 errors" in shown("check")["text/plain"]
    assert "'place': 'depth', 'found': '9'" in cells["error"]["outputs"][0]["text"]
    progress = "".join(one["text"] for one in cells["check"]["outputs"] if one["output_type"] == "stream")
    assert "validate" in progress and "cells" in progress, "a bar of tqdm"


def test_a_frontend_gets_options_and_documentation(client: NotebookClient) -> None:
    client.execute_cell(nbformat.v4.new_code_cell("import zvf"), 0, store_history=False)
    kernel = client.kc
    assert kernel is not None

    def asked(request: Any, code: str) -> dict[str, Any]:
        return dict(client.wait_for_reply(request(code, len(code)))["content"])

    for code, wanted in [
        ("zvf.import_('a.zv', 'a.csv', delim", "delimiter="),
        ("zvf.Store.query(None, pol", "polygon="),
        ("zvf.open('a.zv', anon", "anonymous="),
        ("zvf.Writer('a.zv', dur", "durable="),
    ]:
        assert wanted in asked(kernel.complete, code)["matches"], code
    for code, wanted in [
        ("zvf.import_", "chunk_shape"),
        ("zvf.Store.query", "All conditions combine"),
        ("zvf.MalformedError", "violates the format"),
    ]:
        assert wanted in asked(kernel.inspect, code)["data"]["text/plain"], code
