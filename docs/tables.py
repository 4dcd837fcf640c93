"""Put the tables of docs/results into the documents, each between its marks.

python docs/tables.py

`reproduce-*.json` go into paper.md, `emergence-*-engines.json` into emergence.md.
"""

import json
import re
from pathlib import Path

from experiments.studies.emergence.engines import Engines
from experiments.studies.reproduction.reproduce import Reproduction

DOCS = Path(__file__).parent


def fill(page: Path, results: str, study: type[Engines] | type[Reproduction]) -> None:
    """Write what is said of each of these results between its marks in a page."""
    text = page.read_text(encoding="utf-8")
    for path in sorted((DOCS / "results").glob(results)):
        table = study(json.loads(path.read_text(encoding="utf-8"))).markdown()
        marks = re.compile(rf"(<!-- {path.stem} -->\n).*?(<!-- end -->)", re.DOTALL)
        text, found = marks.subn(lambda match, table=table: match[1] + table + match[2], text)
        if not found:
            marks_wanted = f"<!-- {path.stem} --> and <!-- end -->"
            raise SystemExit(f"{page} has no place for {path.name}: write {marks_wanted}")
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    fill(DOCS / "paper.md", "reproduce-*.json", Reproduction)
    fill(DOCS / "emergence.md", "emergence-*-engines.json", Engines)
