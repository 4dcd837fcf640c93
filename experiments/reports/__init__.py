"""What people look at: figures, the page, films, tables for other programs.

May import: `runfiles`, `sweeps`, `pipeline`.
"""
