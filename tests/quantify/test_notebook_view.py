"""A quantification as it is shown: in one line, as text, as a table in notebooks."""

from dataclasses import replace
from html.parser import HTMLParser

import pytest

from quantify import quantify
from quantify.systems import Lorenz

N = 20_000
CHANGE = {"stationary": False, "feature": "mean", "change": 1000, "transient": 2000}


@pytest.fixture(scope="module")
def lorenz():
    return quantify(Lorenz().sample(N, 1)[:, 0], tau=10, m_max=10)


def test_summary_names_what_matters(lorenz):
    text = lorenz.summary()
    for word in (
        "E_state",
        "E_mem",
        "E_core",
        "D ",
        "95 % interval",
        "over eps",
        "other choices",
        "Largest doubt",
        "How sure",
        "kappa",
        "drift",
        "octaves",
        "nats",
    ):
        assert word in text
    assert max(len(line) for line in text.splitlines()) <= 100


# ---- in a notebook


def test_repr_is_one_line(lorenz):
    for value in (lorenz, lorenz.sums, lorenz.entropies, lorenz.decomposition):
        text = repr(value)
        assert text.startswith(f"<{type(value).__name__}: ") and "\n" not in text and len(text) < 160
    assert f"E_core {lorenz.E_core.value:.2f}" in repr(lorenz)
    assert f"eps {lorenz.range.lo:.3g} to {lorenz.range.hi:.3g}" in repr(lorenz)
    assert "20,000 samples, tau = 10" in repr(lorenz.sums) and "m = 1..10" in repr(lorenz.sums)
    for caveats, words in (((), "no caveats>"), (("a",), "1 caveat>"), (("a", "b"), "2 caveats>")):
        assert repr(replace(lorenz, caveats=caveats)).endswith(words)


class Table(HTMLParser):
    """Text of every cell by row, of the paragraphs and of the list; complains of tags that do not match."""

    def __init__(self):
        super().__init__()
        self.open, self.rows, self.paragraphs, self.items = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        for kind, where in (("p", self.paragraphs), ("li", self.items)):
            if tag == kind:
                where.append("")
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data
        elif self.open[-1] == "p":
            self.paragraphs[-1] += data
        elif self.open[-1] == "li":
            self.items[-1] += data


def read_table(q):
    table = Table()
    table.feed(q._repr_html_())
    table.close()
    assert not table.open
    return table


def test_notebooks_show_numbers_uncertainties_range_and_caveats(lorenz):
    table = read_table(lorenz)
    assert [row[0] for row in table.rows[1:]] == ["E_state", "E_mem", "E_core", "D"]
    core, e = table.rows[3], lorenz.E_core
    low, high = e.choice_interval
    assert core[1:] == [
        f"{e.value:.2f}",
        "{:.2f} to {:.2f}".format(*e.interval),
        f"{low:.2f} to {high:.2f}",
        f"± {e.spread:.2f}",
    ]
    assert f"eps {lorenz.range.lo:.3g} to {lorenz.range.hi:.3g}" in table.paragraphs[0]
    assert table.items == list(lorenz.caveats)


def test_notebooks_show_text_as_text(lorenz):
    odd = "<script>alert('x')</script> & more"
    q = replace(lorenz, caveats=(odd,), settings=lorenz.settings | {"range_from": "<b>mine</b>"})
    assert "<script>" not in q._repr_html_() and "<b>" not in q._repr_html_()
    table = read_table(q)
    assert table.items == [odd] and any("<b>mine</b>" in text for text in table.paragraphs)


def test_notebooks_say_that_nothing_speaks_against_a_result(lorenz):
    table = read_table(replace(lorenz, caveats=()))
    assert table.items == [] and table.paragraphs[-1] == "Nothing speaks against these numbers."
