"""The paper once more: its tables from nothing, printed numbers beside ours."""
