"""Slow, obvious versions of every fast kernel, written straight from the equations."""
