"""Many independent tasks: on all cores or on a cluster, none of them twice.

May import: `runfiles`.
"""
