"""`pybullet`, imported without its greeting, which it writes to standard error below Python's level."""

import os
import sys

__all__ = ["pybullet"]

sys.stderr.flush()
_saved, _nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
os.dup2(_nowhere, 2)
try:
    import pybullet
finally:
    os.dup2(_saved, 2)
    os.close(_saved)
    os.close(_nowhere)
