"""Correlation sums in the file format of TISEAN's `d2` (`.c2`), read and written."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

import numpy as np

from quantify.correlation import CorrelationSums
from quantify.errors import QuantifyError


class TiseanFormatError(QuantifyError):
    """A `.c2` file that cannot be read as correlation sums; the message names file, line and remedy.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from quantify import TiseanFormatError, read_tisean
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "odd.c2")
    ...     _ = path.write_text("0.5 0.1\\n")
    ...     try:
    ...         read_tisean(path)
    ...     except TiseanFormatError as error:
    ...         print(str(error).removeprefix(folder))
    /odd.c2, line 1: numbers before the first '#dim= m'; this is not a .c2 file of d2.
    """


def read_tisean(path: str | PathLike[str], d: int = 1) -> CorrelationSums:
    """Read the correlation sums that TISEAN's `d2` wrote.

    The format: blocks opened by ``#dim= m``, one row ``eps C`` per scale, blank lines in between. All blocks
    must have the same scales. The optional line ``#center= n`` gives the number of delay vectors.

    Parameters
    ----------
    path : path of the `.c2` file
    d : int
        Observables per time step. `d2` counts coordinates, so the blocks d, 2d, 3d, ... are taken as m = 1,
        2, 3, ...

    Returns
    -------
    CorrelationSums
        The file holds no pair counts. They are inferred: `examined` is n (n - 1) / 2 of ``#center= n``, or
        1 / (smallest non-zero C) without that line, and `pairs` is C times that. Where `d2` stopped early
        (its option -N) this is what it would have found had it gone on. `error` is NaN (unknown), and so
        are tau, Theiler window and length (None).

    Raises
    ------
    TiseanFormatError
        If the file is malformed, truncated, or its dimensions do not fit `d`. (A file cut between two
        blocks, or between two rows of its first block, looks like a shorter run and passes.)

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from quantify import read_tisean
    >>> rows = ["#center= 100", "#dim= 1", "1.0 0.5", "0.5 0.25", "#dim= 2", "1.0 0.25", "0.5 0.0625", ""]
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "two.c2")
    ...     _ = path.write_text("\\n".join(rows))
    ...     sums = read_tisean(path)
    >>> sums
    <CorrelationSums: m = 1..2, 2 scales from 1 down to 0.5>
    >>> sums.C[1].tolist()
    [0.25, 0.0625]
    """
    path = Path(path)
    if d < 1:
        raise QuantifyError(f"d = {d} observables per time step; it must be at least 1.")
    blocks, centers = _parse(path)
    first_dim, (eps, _) = next(iter(blocks.items()))
    for dim, (block_eps, _) in blocks.items():
        if len(block_eps) != len(eps):
            raise TiseanFormatError(
                f"{path}: block #dim= {dim} has {len(block_eps)} rows, #dim= {first_dim} has {len(eps)}; "
                "the file is truncated or not from one run of d2. Write it again."
            )
        if not np.array_equal(block_eps, eps):
            raise TiseanFormatError(
                f"{path}: the scales of #dim= {dim} differ from those of #dim= {first_dim}; "
                "all blocks need the same."
            )
    wanted = range(d, max(blocks) + 1, d)
    absent = [dim for dim in wanted if dim not in blocks]
    if absent or max(blocks) % d:
        what = (
            f"lacks #dim= {absent[0]}" if absent else f"ends with #dim= {max(blocks)}, not a multiple of {d}"
        )
        raise TiseanFormatError(
            f"{path}: {what}; with d = {d} the blocks {d}, {2 * d}, ... are needed. Check d."
        )
    C = np.array([blocks[dim][1] for dim in wanted])

    if centers is not None:
        total = centers * (centers - 1) // 2
    else:
        total = round(1 / C[C > 0].min()) if (C > 0).any() else 1
    return CorrelationSums(
        eps=eps,
        C=C,
        pairs=np.rint(C * total).astype(np.int64),
        examined=np.full(C.shape, total, dtype=np.int64),
        error=np.full(C.shape, np.nan),
        d=d,
        settings={"source": path.name, "centers": centers, "pairs_inferred": True},
    )


def _parse(path: Path) -> tuple[dict[int, tuple[np.ndarray, np.ndarray]], int | None]:
    """Blocks by dimension, each (eps, C), and the number of delay vectors if the file tells it."""
    text = path.read_text(encoding="ascii", errors="replace")
    if not text.strip():
        raise TiseanFormatError(f"{path}: the file is empty.")
    rows: dict[int, list[tuple[float, float]]] = {}
    dim: int | None = None
    centers: int | None = None
    for number, raw in enumerate(text.split("\n"), start=1):
        line = raw.strip()
        here = f"{path}, line {number}"
        if line.startswith("#dim="):
            dim = _positive_int(line[5:], "#dim=", here)
            if dim in rows:
                raise TiseanFormatError(f"{here}: a second block #dim= {dim}; keep one run of d2 per file.")
            rows[dim] = []
        elif line.startswith("#center="):
            centers = _positive_int(line[8:], "#center=", here)
        elif line and not line.startswith("#"):
            if dim is None:
                raise TiseanFormatError(
                    f"{here}: numbers before the first '#dim= m'; this is not a .c2 file of d2."
                )
            rows[dim].append(_row(line, rows[dim], here))
    if not rows:
        raise TiseanFormatError(f"{path}: no line '#dim= m'; this is not a .c2 file of d2.")
    if not text.endswith("\n"):
        raise TiseanFormatError(
            f"{path}: the last line does not end, so its number may be cut off. Write the file again."
        )
    for dim, values in rows.items():
        if not values:
            raise TiseanFormatError(
                f"{path}: block #dim= {dim} has no rows; the file is truncated. Write it again."
            )
    return {dim: (np.array(v)[:, 0], np.array(v)[:, 1]) for dim, v in rows.items()}, centers


def _positive_int(text: str, key: str, here: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise TiseanFormatError(f"{here}: '{key}{text}' needs a positive whole number.")
    return value


def _row(line: str, before: list[tuple[float, float]], here: str) -> tuple[float, float]:
    try:
        eps, C = (float(word) for word in line.split())
    except ValueError:
        raise TiseanFormatError(f"{here}: '{line[:60]}' is not a row 'eps C' of two numbers.") from None
    if not (0 < eps < np.inf):
        raise TiseanFormatError(f"{here}: eps = {eps}; scales are positive and finite.")
    if not (0 <= C <= 1):
        raise TiseanFormatError(f"{here}: C = {C}; a correlation sum lies in [0, 1].")
    if before and eps >= before[-1][0]:
        raise TiseanFormatError(f"{here}: eps = {eps} after {before[-1][0]}; scales must descend strictly.")
    return eps, C


def write_tisean(path: str | PathLike[str], sums: CorrelationSums) -> None:
    """Write correlation sums in the format of TISEAN's `d2`, in full precision.

    Only what the format can hold is kept: eps, C and the number of delay vectors. `read_tisean(path,
    d=sums.d)` returns the same eps and C, bit for bit.

    Parameters
    ----------
    path : path of the file to write
    sums : CorrelationSums

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from quantify import correlation_sums, read_tisean, write_tisean
    >>> from quantify.systems import Henon
    >>> sums = correlation_sums(Henon().sample(1000, 1)[:, 0], tau=1, m_max=2, theiler=5)
    >>> with TemporaryDirectory() as folder:
    ...     write_tisean(f"{folder}/henon.c2", sums)
    ...     again = read_tisean(f"{folder}/henon.c2")
    >>> np.array_equal(again.C, sums.C)
    True
    """
    # d2 normalises by n (n - 1) / 2: the n that belongs to the largest number of pairs examined.
    centers = round((1 + np.sqrt(1 + 8 * float(sums.examined.max()))) / 2)
    lines = [f"#center= {centers}"]
    for m, C in enumerate(sums.C, start=1):
        lines.append(f"#dim= {m * sums.d}")
        lines += [f"{eps:.16e} {c:.16e}" for eps, c in zip(sums.eps, C, strict=True)]
        lines += ["", ""]
    Path(path).write_text("\n".join(lines) + "\n", encoding="ascii")
