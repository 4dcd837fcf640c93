"""Notebooks on the site: kept without output in docs/notebooks, run when the site is built, shown with it.

mkdocs calls `on_files`. A cell that fails fails the build. What a notebook gave is kept beside the site,
under a key of everything it depends on, so that whoever writes a page does not run them all again.
"""

from __future__ import annotations

import hashlib
import re
import tempfile
from base64 import b64decode
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import nbclient
import nbformat
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

HERE = Path(__file__).parent / "notebooks"
PACKAGES = ("robots", "controllers", "quantify", "experiments")
SECONDS = 900
"""A cell may take this long: on a busy machine simulations do."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page for every notebook, with its pictures."""
    kept = Path(config.site_dir).with_name("notebooks")
    notebooks = sorted(HERE.glob("*.ipynb"))
    with ThreadPoolExecutor() as pool:
        done = list(pool.map(lambda path: executed(path, kept), notebooks))
    for path, notebook in zip(notebooks, done, strict=True):
        text, pictures = as_markdown(notebook, path.stem)
        files.append(File.generated(config, f"notebooks/{path.stem}.md", content=text))
        for name, picture in pictures.items():
            files.append(File.generated(config, f"notebooks/{name}", content=picture))
    return files


def executed(path: Path, kept: Path) -> nbformat.NotebookNode:
    """A notebook with what its cells gave, in an empty folder; taken from `kept` if nothing has changed."""
    result = kept / f"{path.stem}-{_key(path)}.ipynb"
    if result.exists():
        return nbformat.read(result, as_version=4)
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        # Names of files as they are in the folder where one works, not where it happens to be.
        here = re.compile(re.escape(str(Path(folder).resolve())) + "/?")
        nbclient.NotebookClient(
            notebook, timeout=SECONDS, resources={"metadata": {"path": str(Path(folder).resolve())}}
        ).execute()
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            if "text" in output:
                output["text"] = here.sub("", output["text"])
            for kind in ("text/html", "text/plain"):
                if kind in output.get("data", {}):
                    output["data"][kind] = here.sub("", output["data"][kind])
    kept.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, result)
    return notebook


def _key(path: Path) -> str:
    """Of the notebook and of every file of the packages that it may use."""
    digest = hashlib.sha256(path.read_bytes())
    for package in PACKAGES:
        for source in sorted((HERE.parents[1] / package).rglob("*")):
            if source.suffix in (".py", ".toml", ".html", ".js"):
                digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def as_markdown(notebook: nbformat.NotebookNode, name: str) -> tuple[str, dict[str, bytes]]:
    """The text of a page, and its pictures by name."""
    parts: list[str] = []
    pictures: dict[str, bytes] = {}
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
            continue
        parts.append(f"```python\n{cell.source}\n```")
        for output in cell.outputs:
            data: dict[str, Any] = output.get("data", {})
            if "image/png" in data:
                picture = f"{name}-{len(pictures) + 1}.png"
                pictures[picture] = b64decode(data["image/png"])
                parts.append(f"![What the cell above draws]({picture})")
            elif "text/html" in data:
                # Without the looks that tables of pandas bring along; in one line: an empty one ends HTML.
                html = re.sub(
                    r"<style.*?</style>| border=\"1\" class=\"dataframe\"", "", data["text/html"], flags=re.S
                )
                table = " ".join(html.split("\n"))
                parts.append(f'<div class="given">{table}</div>')
            elif text := output.get("text") or data.get("text/plain"):
                parts.append(f"```text\n{text.rstrip()}\n```")
    parts.insert(1, f"[This page as a notebook]({name}.ipynb){{ download }}, for you to run and to change.")
    return "\n\n".join(parts) + "\n", pictures
