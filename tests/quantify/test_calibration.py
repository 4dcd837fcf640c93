"""The benchmark of error bars: what it makes of realisations, and that the document holds what it found."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
import calibration


def row(seed, value, error, region=True, method=calibration.METHOD):
    number = [value, error, value - 2.13 * error, value + 2.13 * error]
    found = {"E_core": number, "D": number} if region else {"E_core": number}
    base = {"method": method, "system": "Hénon", "n": 20_000, "seed": seed, "cpu": 1.0, "tau": 1}
    return base | {"region": region, "range": [-3.0, -1.0 - seed % 2]} | found


def test_right_errors_come_out_right_and_halved_ones_wrong():
    values = norm.ppf((np.arange(400) + 0.5) / 400, 1.0, 0.1)  # quantiles: no chance in it
    for claimed, ratio, covered in ((0.1, 1.0, 0.967), (0.05, 0.5, 0.713)):
        (found,) = calibration.summarise([row(i, v, claimed) for i, v in enumerate(values)])
        core = found["numbers"]["E_core"]
        assert core["ratio"] == pytest.approx(ratio, abs=0.01)
        assert core["covered"] == pytest.approx(covered, abs=0.01)  # of a normal distribution: 2.13, 1.065 sd
        assert found["none"] == 0 and found["realisations"] == 400


def test_runs_of_the_other_verdict_are_not_mixed_in():
    rows = [row(i, 1.0 + 0.1 * (i % 3), 0.1) for i in range(9)] + [row(9, 50.0, 0.1, region=False)]
    (found,) = calibration.summarise(rows)
    assert found["none"] == 0.1 and found["numbers"]["E_core"]["mean"] == pytest.approx(1.1)


def test_rows_of_an_earlier_method_are_passed_over(tmp_path, monkeypatch):
    file = tmp_path / "rows.jsonl"
    rows = [row(0, 1.0, 0.1), row(1, 1.0, 0.1, method=calibration.METHOD - 1)]
    rows[1:1] = [{name: value for name, value in rows[0].items() if name != "method"}]
    file.write_text("".join(json.dumps(r) + "\n" for r in rows))
    monkeypatch.setattr(calibration, "ROWS", file)
    assert calibration.stored() == rows[:1]


def test_the_document_holds_the_table_of_what_was_found():
    document = json.loads((calibration.RESULTS / "calibration.json").read_text())
    systems = document["systems"]
    text = calibration.DOCUMENT.read_text()
    held = text.split("<!-- calibration -->\n")[1].split("<!-- end -->")[0]
    assert held == calibration.table(systems) + "\n"
    assert systems == list(calibration.summarise(calibration.stored(document["method"])))
