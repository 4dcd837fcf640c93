"""What the site makes of the program itself."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from experiments.cli import COMMANDS
from experiments.reports.glossary import glossary

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture(scope="module")
def site() -> ModuleType:
    pytest.importorskip("mkdocs", reason="the site is made with `make docs`")
    spec = importlib.util.spec_from_file_location("site_pages", DOCS / "site_pages.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_command_and_setting_has_its_words(site: ModuleType) -> None:
    text = site.commands()
    for name in COMMANDS:
        assert f"## selforg {name}\n" in text
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    assert len(rows) > 150
    # Every setting is explained, whatever group it is inherited from.
    assert [row for row in rows if row.endswith("|  |")] == []


def test_every_picture_of_the_glossary_is_there(site: ModuleType) -> None:
    for entry in glossary().values():
        assert not entry.picture or (DOCS / "figures" / f"{entry.picture}.png").exists()
    assert all(f"{{ #{name} }}" in site.words() for name in glossary())
