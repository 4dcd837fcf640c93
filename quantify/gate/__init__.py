"""What is wrong with the data, before anything is counted.

- `report`: `look_over`, all findings about a series in one `DataReport`
- `finding`: what was found, in words and in numbers
- `samples`: wild samples, equal values
- `stretches`: held samples, constant and repeated stretches, gaps in a time column
- `columns`: units that differ, columns that add nothing
"""

from quantify.gate.finding import Finding
from quantify.gate.report import DataReport, look_over

__all__ = ["DataReport", "Finding", "look_over"]
