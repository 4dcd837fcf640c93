"""Put the tables of docs/results/reproduce-*.json into docs/paper.md, each between its marks.

python docs/paper.py
"""

import json
import re
from pathlib import Path

from experiments.studies.reproduction.reproduce import Reproduction

DOCS = Path(__file__).parent


def main() -> None:
    page = DOCS / "paper.md"
    text = page.read_text(encoding="utf-8")
    for path in sorted((DOCS / "results").glob("reproduce-*.json")):
        table = Reproduction(json.loads(path.read_text(encoding="utf-8"))).markdown()
        marks = re.compile(rf"(<!-- {path.stem} -->\n).*?(<!-- end -->)", re.DOTALL)
        text, found = marks.subn(lambda match, table=table: match[1] + table + match[2], text)
        if not found:
            marks_wanted = f"<!-- {path.stem} --> and <!-- end -->"
            raise SystemExit(f"{page} has no place for {path.name}: write {marks_wanted}")
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
