"""The glossary: one text for terminal, page and site."""

import json
from typing import Any

import pytest

from experiments.cli import main
from experiments.errors import ExperimentError
from experiments.reports.glossary import glossary, look_up


def test_every_quantity_of_a_result_is_explained() -> None:
    for word in ("E_core", "E_state", "E_mem", "D", "κ", "eps", "PI", "η", "on no line", "drift", "tau"):
        assert look_up(word)
    assert "m_max" in glossary()["m"].short
    for entry in glossary().values():
        assert entry.short.endswith(".") and len(entry.short) < 320, entry.symbol


def test_a_word_is_found_however_it_is_written() -> None:
    for word in ("kappa", "KAPPA", " kappa ", "share of noise", "κ"):
        assert list(look_up(word)) == ["kappa"]
    with pytest.raises(ExperimentError, match="did you mean 'kappa'"):
        look_up("kapa")


def test_the_command_explains(capsys: Any) -> None:
    assert main(["explain", "no", "scaling", "region"]) == 0
    assert glossary()["no_scaling_region"].short[:30] in capsys.readouterr().out
    assert main(["explain", "--json"]) == 0
    assert list(json.loads(capsys.readouterr().out)) == list(glossary())
    assert main(["explain", "beauty"]) == 2
