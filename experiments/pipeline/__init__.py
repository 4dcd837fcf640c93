"""The main road: a body and its controller in a loop, learn, freeze, record, quantify.

May import: `runfiles`, `sweeps`, and the packages `robots`, `controllers` and `quantify`.
"""
