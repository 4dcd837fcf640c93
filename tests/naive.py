"""Slow, obvious versions of every fast kernel, written straight from the equations."""

import numpy as np

# --- systems ---


def lorenz(start, n, substeps, s, r, b, step, noise, rng):
    """Runge-Kutta of fourth order on vectors; Gaussian noise on the state before each step."""

    def slope(u):
        x, y, z = u
        return np.array([s * (y - x), r * x - y - x * z, x * y - b * z])

    u = np.array(start, dtype=float)
    samples = [u.copy()]
    for _ in range(n - 1):
        for _ in range(substeps):
            if noise > 0:
                u = u + noise * np.array([rng.standard_normal() for _ in range(3)])
            k1 = slope(u)
            k2 = slope(u + step / 2 * k1)
            k3 = slope(u + step / 2 * k2)
            k4 = slope(u + step * k3)
            u = u + step / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        samples.append(u.copy())
    return np.array(samples)


def henon(x, y, n, a, b):
    """The map, one state after the other."""
    states = [(x, y)]
    for _ in range(n - 1):
        x, y = states[-1]
        states.append((1 - a * x**2 + y, b * x))
    return np.array(states)


# --- straight segments and decomposition ---


def line(x, y):
    """Least-squares line y = o - s x: (sum of squared residuals, o, s)."""
    A = np.stack([np.ones_like(x), -x], axis=1)
    (o, s), *_ = np.linalg.lstsq(A, y, rcond=None)
    return np.sum((y - o + s * x) ** 2), o, s


def line_segments(x, y, L, p, sd_fraction=0.1, extension=2.0, overlap=0.3):
    """Segments [(a, b, o, s)] of one curve, the algorithm word for word on lists."""
    index = [i for i in range(len(y)) if not np.isnan(y[i])]
    x, y = x[index], y[index]
    q = [line(x[a : a + L + 1], y[a : a + L + 1])[0] for a in range(len(y) - L)]
    if len(q) < 2:
        return []
    q_max = np.quantile(q, p, method="inverted_cdf") + sd_fraction * np.std(q, ddof=1)
    candidates = []
    for a in range(len(q)):
        if q[a] < q_max:
            b = a + L
            while b + 1 < len(y) and line(x[a : b + 2], y[a : b + 2])[0] < extension * q_max:
                b += 1
            candidates.append((a, b))
    k = 0
    while k + 1 < len(candidates):
        (a, b), (a2, b2) = candidates[k], candidates[k + 1]
        if max(0, min(b, b2) - max(a, a2)) / min(b - a, b2 - a2) < overlap:
            k += 1
        elif b2 - a2 > b - a:
            del candidates[k]
        else:
            del candidates[k + 1]
    return [(index[a], index[b], *line(x[a : b + 1], y[a : b + 1])[1:]) for a, b in candidates]


def decompose(eps, C, *, s_min, det_thresh, L, p, remove_negative, derivative=5, average=10, d=1):
    """The decomposition scale by scale: a list of dicts, largest eps first."""
    x = np.log(eps)
    n = len(x)
    M = len(C)
    H = [np.array([-np.log(c) if c > 0 else np.nan for c in row]) for row in C]
    h = [H[0]] + [H[m] - H[m - 1] for m in range(1, M)]
    dh = {m: h[m - 1] - h[m] for m in range(1, M)}
    fits = {m: line_segments(x, dh[m], L, p) for m in dh}

    value, slope, flag = {}, {}, {}
    for m in dh:
        covers = [[f for f in fits[m] if f[0] <= i <= f[1]] for i in range(n)]
        single = [i for i in range(n) if len(covers[i]) == 1]
        last = single[-1] if single else n - 1
        present = [i for i in range(n) if not np.isnan(dh[m][i])]
        for i in range(n):
            cover = covers[min(i, last)]
            if cover:
                value[m, i] = np.mean([o - s * x[i] for _, _, o, s in cover])
                slope[m, i] = np.mean([s for _, _, _, s in cover])
                flag[m, i] = "fit" if i <= last else "extrapolated"
            else:
                value[m, i], slope[m, i], flag[m, i] = dh[m][i], 0.0, "none"
                if i in present:
                    k = present.index(i)
                    window = present[max(0, k - derivative // 2) : k + derivative // 2 + 1]
                    steps = list(zip(window[:-1], window[1:], strict=True))
                    if steps:
                        slope[m, i] = -np.mean([(dh[m][j] - dh[m][k]) / (x[j] - x[k]) for k, j in steps])

    own, det = [], []
    for i in range(n):
        m_l = m_u = max(dh, key=lambda m: slope[m, i])  # noqa: B023 (used at once)
        while m_l - 1 in dh and slope[m_l - 1, i] >= s_min:
            m_l -= 1
        while m_u + 1 in dh and slope[m_u + 1, i] >= s_min:
            m_u += 1
        own.append((m_l, m_u))
        det.append(sum(slope[m, i] for m in range(m_l, m_u + 1)) / d)

    result = []
    remembered = (0, 0)
    c = dict.fromkeys(dh, 0.0)
    for i in range(n):
        if det[i] >= det_thresh:
            m_l, m_u = own[i]
            trailing = [own[j] if j >= 0 else (0, 0) for j in range(i - average + 1, i + 1)]
            # Python's round sends halves to even.
            remembered = tuple(round(sum(pair[side] for pair in trailing) / average) for side in (0, 1))
        else:
            m_l, m_u = remembered
        for m in dh:
            containing = [f for f in fits[m] if f[0] <= i <= f[1]]
            if containing and containing[0][3] < s_min:
                c[m] = max(0.0, containing[0][2] - containing[0][3] * x[i])
            else:
                c[m] = max(0.0, min(c[m], 0.0 if np.isnan(dh[m][i]) else dh[m][i]))
        w = {m: 0.0 if np.isnan(value[m, i]) else value[m, i] for m in dh}
        if remove_negative:
            w = {m: max(0.0, w[m]) for m in dh}
        cs = sum(m * c[m] for m in dh if m_l <= m <= m_u)
        result.append(
            {
                "E_state": sum(m * w[m] for m in dh if m < m_l) + cs,
                "E_eps": sum(m * w[m] for m in dh if m_l <= m <= m_u) - cs,
                "E_mem": sum(m * w[m] for m in dh if m > m_u),
                "E_raw": sum(m * dh[m][i] for m in dh),
                "m_l": m_l,
                "m_u": m_u,
                "kappa": 1 - det[i],
                "deterministic": det[i] >= det_thresh,
                "no_fit": np.mean([flag[m, i] != "fit" for m in dh]),
                "extrapolated": np.mean([flag[m, i] == "extrapolated" for m in dh]),
                "negative": np.mean([value[m, i] < -0.001 for m in dh]),
            }
        )
    return result, fits
