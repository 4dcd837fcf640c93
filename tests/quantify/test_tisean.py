"""TISEAN's .c2 files: what is read is what was written, and broken files are named as such."""

import numpy as np
import pytest

from quantify import QuantifyError, TiseanFormatError, read_tisean, write_tisean
from tests.known_sums import make_sums

GOOD = """#center= 1001
#dim= 1
2.0e+00 1.0e+00
1.0e+00 5.0e-01


#dim= 2
2.0e+00 9.0e-01
1.0e+00 2.0e-03


"""


@pytest.fixture
def c2(tmp_path):
    def write(text):
        path = tmp_path / "sums.c2"
        path.write_text(text)
        return path

    return write


def test_read(c2):
    sums = read_tisean(c2(GOOD))
    assert np.array_equal(sums.eps, [2.0, 1.0])
    assert np.array_equal(sums.C, [[1.0, 0.5], [0.9, 0.002]])
    assert sums.examined[0, 0] == 1001 * 1000 // 2
    assert sums.pairs[1, 1] == 1001  # .002 of 500,500
    assert np.isnan(sums.error).all() and sums.tau is None and sums.n is None and sums.d == 1


def test_without_centers_the_rarest_value_is_one_pair(c2):
    sums = read_tisean(c2(GOOD.replace("#center= 1001\n", "")))
    assert sums.examined[0, 0] == 500 and sums.pairs[1, 1] == 1 and sums.pairs[0, 0] == 500


def test_several_observables_take_every_dth_block(c2):
    sums = read_tisean(c2(GOOD), d=2)
    assert sums.d == 2 and np.array_equal(sums.C, [[0.9, 0.002]])


@pytest.mark.parametrize("d", [1, 3])
def test_round_trip_is_exact(tmp_path, d):
    rng = np.random.default_rng(1)
    eps = np.geomspace(1, 1e-3, 20)
    sums = make_sums(eps, np.cumprod(rng.uniform(0.1, 1, (4, 20)), axis=0) * (eps > 2e-3), d=d)
    write_tisean(tmp_path / "x.c2", sums)
    back = read_tisean(tmp_path / "x.c2", d=d)
    assert np.array_equal(back.eps, sums.eps) and np.array_equal(back.C, sums.C) and back.d == d
    # n (n - 1) / 2 can miss the number of pairs by at most n / 2.
    assert back.examined == pytest.approx(sums.examined, rel=1e-5)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda t: "", "empty"),
        (lambda t: "1.0 2.0\n", "before the first"),
        (lambda t: "#center= 5\n", "no line '#dim= m'"),
        (lambda t: t.replace("#dim= 2", "#dim= two"), "positive whole number"),
        (lambda t: t.replace("#dim= 2", "#dim= 1"), "second block"),
        (lambda t: t.replace("#dim= 2", "#dim= 3"), "lacks #dim= 2"),
        (lambda t: t.replace("1.0e+00 2.0e-03", "1.0e+00"), "line 9.*two numbers"),
        (lambda t: t.replace("1.0e+00 2.0e-03", "1.0e+00 0.1 0.2"), "two numbers"),
        (lambda t: t.replace("1.0e+00 2.0e-03", "1.0e+00 abc"), "two numbers"),
        (lambda t: t.replace("1.0e+00 2.0e-03", "1.1e+00 2.0e-03"), "scales of #dim= 2"),
        (lambda t: t.replace("1.0e+00 2.0e-03\n", ""), "1 rows"),
        (lambda t: t.replace("2.0e-03", "2.0e+03"), r"\[0, 1\]"),
        (lambda t: t.replace("2.0e-03", "nan"), r"\[0, 1\]"),
        (lambda t: t.replace("1.0e+00 2.0e-03", "3.0e+00 2.0e-03"), "descend"),
        (lambda t: t.replace("1.0e+00 2.0e-03", "-1.0e+00 2.0e-03"), "positive"),
        (lambda t: t.replace("#center= 1001", "#center= -3"), "positive whole number"),
        (lambda t: t.split("2.0e+00 9")[0], "no rows"),
    ],
)
def test_malformed(c2, change, words):
    with pytest.raises(TiseanFormatError, match=words):
        read_tisean(c2(change(GOOD)))


def test_wrong_d(c2):
    with pytest.raises(TiseanFormatError, match="d = 3"):
        read_tisean(c2(GOOD), d=3)
    with pytest.raises(QuantifyError, match="at least 1"):
        read_tisean(c2(GOOD), d=0)


def test_every_truncation_is_noticed_or_leaves_whole_rows(c2):
    """Cut after any byte: an error, or what a shorter run would look like."""
    whole = read_tisean(c2(GOOD)).C
    for end in range(len(GOOD)):
        try:
            cut = read_tisean(c2(GOOD[:end])).C
        except TiseanFormatError:
            continue
        width = whole.shape[1] if len(cut) > 1 else cut.shape[1]
        assert np.array_equal(cut, whole[: len(cut), :width]), f"cut after {end} bytes"


def test_missing_file_is_the_usual_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_tisean(tmp_path / "nothing.c2")
