"""Stretches of time: held samples, constant and repeated stretches, gaps between the times of samples."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from quantify.aliases import Bools, Counts, Floats
from quantify.errors import QuantifyError
from quantify.gate.finding import Finding, of_column, percent
from quantify.inputs import as_array

HELD_SHARE = 0.1
CONSTANT_SHARE = 0.01
WINDOW = 32  # samples that must come again before a repeat is looked at closely
COPIED_SHARE = 0.02
DIGITS = 1e-9  # of the spread
PERIODIC = 10  # repeats, from which on nobody pastes
GAP = 1.5  # median steps


def runs(equal: Bools) -> tuple[Counts, Counts]:
    """Starts and lengths of the runs of True."""
    edges = np.flatnonzero(np.diff(equal, prepend=False, append=False)).reshape(-1, 2)
    return edges[:, 0], edges[:, 1] - edges[:, 0]


def held(values: Floats, column: int, names: tuple[str, ...]) -> list[Finding]:
    """Samples that repeat the one before: constant stretches, and samples that are held."""
    n = len(values)
    starts, lengths = runs(values[1:] == values[:-1])
    if len(starts) == 0:
        return []
    lengths = lengths + 1  # samples, not pairs
    found = []
    usual = np.quantile(lengths, 0.9)
    long = lengths >= max(20, CONSTANT_SHARE * n, 10 * usual if len(lengths) >= 10 else 0)
    if long.any():
        share, worst = lengths[long].sum() / n, int(lengths.argmax())
        which = "1 stretch is" if long.sum() == 1 else f"{long.sum()} stretches are"
        text = (
            f"{which} constant{of_column(names, column)}, {percent(share)} of the samples; the longest, "
            f"{lengths[worst]:,} samples, begins at sample {starts[worst]:,}. "
            "Pairs within it have distance 0 and count at every scale: E, D and the entropies mix rest and "
            "motion. Quantify the moving part alone (--start, --stop)."
        )
        stretches = [[int(s), int(k)] for s, k in zip(starts[long], lengths[long], strict=True)]
        found.append(
            Finding(
                "constant stretches",
                text,
                {"column": column, "share": float(share), "stretches": stretches[:100]},
            )
        )
    # Rest, and a sensor at the end of its range, are other findings.
    short = ~long & (values[starts] > values.min()) & (values[starts] < values.max())
    moving = n - int(lengths[~short].sum())
    share = (lengths[short] - 1).sum() / max(moving, 1)
    if share <= HELD_SHARE:
        return found
    sizes, counts = np.unique(lengths[short], return_counts=True)
    times = int(sizes[counts.argmax()])
    # All samples but few: `moving` counts those that stand alone as well.
    regular = counts.max() * times >= 0.9 * moving
    text = (
        f"Each sample{of_column(names, column)} comes {times} times in a row: the series was held or "
        f"resampled. It counts {times} times too many pairs and its errors are too small; keep one of every "
        f"{times}."
        if regular
        else f"{percent(share)} of the samples{of_column(names, column)} equal the one before: the series "
        "was resampled or is coarsely rounded. Neighbours tell nothing new, and errors are too small; use "
        "the original rate, or a lower one."
    )
    facts = {"column": column, "times": times if regular else None, "share": float(share)}
    return [*found, Finding("held samples", text, facts)]


def repeated(x: Floats, spreads: Floats) -> Finding | None:
    """A long stretch of the series, of all columns, that comes again to nine digits.

    Windows of 32 samples are hashed, h_t = sum over k of b_{t+k} B^k modulo 2^64 for the rounded values b, by
    differences of one running sum. Equal hashes give the lag; at the lag that occurs most often, samples
    are compared one by one. Nine digits, since a period of exactly 100 samples is exact only to rounding.
    """
    n = x.shape[1]
    if n < 4 * WINDOW:
        return None
    codes = np.zeros(n, dtype=np.uint64)
    for values, spread in zip(x, spreads, strict=True):
        rounded = np.round(values / (DIGITS * spread)) + 0.0  # no -0
        codes = codes * np.uint64(0x9E3779B97F4A7C15) + rounded.view(np.uint64)
    with np.errstate(over="ignore"):
        codes ^= codes >> np.uint64(29)
        codes *= np.uint64(0xBF58476D1CE4E5B9)
        codes ^= codes >> np.uint64(32)
        base = np.uint64(0xD1342543DE82EF95)
        power = np.cumprod(np.full(n, base))
        total = np.append(np.uint64(0), np.cumsum(codes * power))
        # h_t B^t: brought to a common power instead of divided, B^(n - t) h_t B^t.
        hashes = (total[WINDOW:] - total[:-WINDOW]) * power[::-1][: n - WINDOW + 1]
    changes = np.append(0, np.cumsum(codes[1:] != codes[:-1]))
    moving = changes[WINDOW - 1 :] > changes[: n - WINDOW + 1]
    # The content chooses one window in eight, the same ones in a copy.
    chosen = np.flatnonzero(moving & (hashes >> np.uint64(61) == 0))
    order = chosen[np.argsort(hashes[chosen], kind="stable")]
    again = hashes[order][1:] == hashes[order][:-1]
    if not again.any():
        return None
    lags, counts = np.unique(np.diff(order)[again], return_counts=True)
    lag = int(lags[counts.argmax()])
    apart = np.max(np.abs(x[:, lag:] - x[:, :-lag]) / spreads[:, None], axis=0)
    starts, lengths = runs(apart <= DIGITS)
    worst = int(lengths.argmax())
    start, length = int(starts[worst]), int(lengths[worst])
    if length < max(2 * WINDOW, COPIED_SHARE * n):
        return None
    facts = {"lag": lag, "start": start, "copy": [start + lag, start + lag + length]}
    if length >= 2 * lag:
        times = (length + lag) / lag
        text = (
            f"From sample {start:,} to {start + length + lag - 1:,} the series repeats every {lag:,} "
            f"samples, {times:.4g} times: "
            + (
                "it is exactly periodic. The samples beyond one period tell nothing new, errors mean "
                f"nothing, and D is that of at most {lag:,} points."
                if times >= PERIODIC
                else "a record was pasted several times, or it is exactly periodic. Quantify one copy alone: "
                "small scales see the copies and not the dynamics, and errors are too small."
            )
        )
        return Finding("period", text, facts)
    text = (
        f"Samples {start + lag:,} to {start + lag + length - 1:,} are an exact copy of samples {start:,} to "
        f"{start + length - 1:,}. {length:,} pairs of delay vectors have distance 0, small scales see the "
        "copy and not the dynamics, and errors are too small. Remove one of the two."
    )
    return Finding("repeated stretch", text, facts)


def steps_and_breaks(t: Floats) -> tuple[Floats, float, Counts, Counts]:
    """Steps of time, their median, after which samples there is a gap, and where time does not go on."""
    steps = np.diff(t)
    median = float(np.median(steps))
    back = np.flatnonzero(steps <= 0)
    # Six standard deviations of the jitter, told from the median deviation, are no gap.
    jitter = 6 * 1.48 * float(np.median(np.abs(steps - median)))
    gaps = np.flatnonzero(steps > max(GAP * median, median + jitter)) if median > 0 else back[:0]
    return steps, median, gaps, back


def uneven_time(time: ArrayLike, n: int) -> Finding | None:
    """Gaps, steps back and uneven steps in a column of times."""
    t = as_array("time", time)
    if t.shape != (n,):
        raise QuantifyError(f"time has shape {t.shape}; one time for each of the {n} samples is needed.")
    if t.dtype.kind == "M":
        t = t.astype("datetime64[ns]").astype(np.int64) / 1e9
    t = as_array("time", t, float)
    if not np.isfinite(t).all():
        bad = int(np.flatnonzero(~np.isfinite(t))[0])
        raise QuantifyError(f"time holds {t[bad]} at sample {bad}; remove or interpolate such samples first.")
    steps, median, gaps, back = steps_and_breaks(t)
    # Times are printed with few digits: a step may be off by one of the last.
    uneven = float(np.mean(np.abs(steps - median) > 0.1 * abs(median)))
    if len(back) == 0 and len(gaps) == 0 and uneven < 0.01:
        return None
    edges = np.unique(np.concatenate([[0], np.union1d(gaps, back) + 1, [n]]))
    longest = int(np.argmax(np.diff(edges)))
    said = []
    if len(gaps):
        worst = int(gaps[np.argmax(steps[gaps])])
        missing = int(np.sum(np.round(steps[gaps] / median) - 1))
        said.append(
            f"{len(gaps)} gap{'s' * (len(gaps) > 1)} (about {missing:,} samples missing), the longest after "
            f"sample {worst:,} with {steps[worst] / median:.3g} steps"
        )
    if len(back):
        said.append(f"{len(back)} times time stands still or goes back, first after sample {back[0]:,}")
    if uneven >= 0.01:
        said.append(f"{percent(uneven)} of the steps off by more than a tenth")
    text = (
        f"Sampling is not uniform (median step {median:.4g}): {'; '.join(said)}. A delay of so many samples "
        "is then no fixed time, and vectors across a gap are false. Interpolate to even steps (--missing "
        "interpolate)"
        + (
            f", or quantify the longest stretch without a gap, samples {edges[longest]:,} to "
            f"{edges[longest + 1] - 1:,} (--missing split)."
            if len(edges) > 2
            else "."
        )
    )
    return Finding(
        "time",
        text,
        {
            "median_step": median,
            "gaps": [[int(g), float(steps[g])] for g in gaps[:100]],
            "gap_count": len(gaps),
            "steps_back": len(back),
            "uneven_share": uneven,
            "longest_without_gap": [int(edges[longest]), int(edges[longest + 1])],
        },
    )
