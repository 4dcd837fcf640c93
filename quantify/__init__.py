"""A time series in, its complexity out: the excess-entropy decomposition."""
