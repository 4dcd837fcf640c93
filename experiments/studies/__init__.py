"""What is built from many runs: learning progress, learning curves, comparisons, emergence, the paper again.

May import: every room but `commands`.
"""
