"""Slow, obvious versions of every fast kernel, written straight from the equations."""

import itertools
import math

import numpy as np
from scipy.special import digamma

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


def roessler(start, n, substeps, a, b, c, step):
    """Runge-Kutta of fourth order on vectors."""

    def slope(u):
        x, y, z = u
        return np.array([-y - z, x + a * y, b + z * (x - c)])

    u = np.array(start, dtype=float)
    samples = [u.copy()]
    for _ in range(n - 1):
        for _ in range(substeps):
            k1 = slope(u)
            k2 = slope(u + step / 2 * k1)
            k3 = slope(u + step / 2 * k2)
            k4 = slope(u + step * k3)
            u = u + step / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        samples.append(u.copy())
    return np.array(samples)


def orbit(step, start, n):
    """A map, one state after the other."""
    states = [start]
    for _ in range(n - 1):
        states.append(step(states[-1]))
    return np.array(states)


def ikeda(state, u):
    """One step of the map as it is written with a complex number."""
    z = complex(*state)
    z = 1 + u * z * np.exp(1j * (0.4 - 6 / (1 + abs(z) ** 2)))
    return z.real, z.imag


def hidden_chain(state, transitions, draws):
    """States of a Markov chain; each draw in [0, 1) falls into the share of the next state."""
    states = []
    for draw in draws:
        states.append(state)
        state = next(s for s in range(len(transitions)) if draw < sum(transitions[state][: s + 1]))
    return np.array(states)


def hidden_paths(transitions, stationary, m):
    """All sequences of m states with their probabilities."""
    for path in itertools.product(range(len(stationary)), repeat=m):
        probability = stationary[path[0]]
        for s, following in itertools.pairwise(path):
            probability *= transitions[s][following]
        yield path, probability


def gaussian_sums(a, b):
    """Sum over the rows of b of exp(-distance²), for each row of a."""
    return np.array([sum(math.exp(-sum((x - y) ** 2)) for y in b) for x in a])


# --- straight segments and decomposition ---


def line(x, y):
    """Least-squares line y = o - s x: (sum of squared residuals, o, s)."""
    x_mean, y_mean = x.sum() / len(x), y.sum() / len(y)
    dx, dy = x - x_mean, y - y_mean
    s = -(dx @ dy) / (dx @ dx)
    rest = dy + s * dx
    return rest @ rest, y_mean + s * x_mean, s


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
                    steps = list(itertools.pairwise(window))
                    if steps:
                        slope[m, i] = -np.mean([(dh[m][j] - dh[m][k]) / (x[j] - x[k]) for k, j in steps])

    own, det = [], []
    for i in range(n):
        m_l = m_u = max(dh, key=lambda m: slope[m, i])
        while m_l - 1 in dh and slope[m_l - 1, i] >= s_min:
            m_l -= 1
        while m_u + 1 in dh and slope[m_u + 1, i] >= s_min:
            m_u += 1
        own.append((m_l, m_u))
        whole = 1.0
        if d > 1:
            low, high = max(i - L // 2, 0), min(i + (L + 1) // 2, n - 1)
            whole = max((H[0][high] - H[0][low]) / (x[low] - x[high]), 1.0)
        det.append(sum(slope[m, i] for m in range(m_l, m_u + 1)) / whole)

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


# --- controllers: each rule over given sensor values s[0], s[1], ...; C and h after every step ---


def _times(M, x):
    """Give M x."""
    return [sum(M[i][j] * x[j] for j in range(len(x))) for i in range(len(M))]


def _transposed(M):
    return [[M[i][j] for i in range(len(M))] for j in range(len(M[0]))]


def _action(C, h, s):
    return [math.tanh(sum(C[i][j] * s[j] for j in range(len(s))) + h[i]) for i in range(len(C))]


def _limit(x, bound):
    return min(max(x, -bound), bound)


def _identity(rows, columns, scale=1.0):
    return [[scale if i == j else 0.0 for j in range(columns)] for i in range(rows)]


def ulr(s, n_motors, eps, alpha, d, decay, c, C_0, clip, eps_h):
    """ULR: dC = eps [chi v_{t-d}^T - 2 alpha (chi * (C v_{t-d}) * a) s_{t-d}^T] - lambda C."""
    n = len(s[0])
    C, h = _identity(n_motors, n, C_0), [0.0] * n_motors
    Cs, hs = [], []
    for t in range(len(s)):
        if t - d - 1 >= 0:
            v = [s[t][j] - s[t - 1][j] for j in range(n)]
            v_d = [s[t - d][j] - s[t - d - 1][j] for j in range(n)]
            length = math.sqrt(sum(x * x for x in v))
            chi = [v[i] / (length + c) for i in range(n_motors)]
            a = _action(C, h, s[t - d])
            Cv = _times(C, v_d)
            for i in range(n_motors):
                for j in range(n):
                    push = eps * (chi[i] * v_d[j] - 2 * alpha * chi[i] * Cv[i] * a[i] * s[t - d][j])
                    C[i][j] = C[i][j] + _limit(push, clip) - decay * C[i][j]
                h[i] = h[i] + _limit(-eps_h * 2 * alpha * chi[i] * Cv[i] * a[i], clip)
        Cs.append(np.array(C))
        hs.append(np.array(h))
    return np.array(Cs), np.array(hs)


def dep(
    s, n_motors, rate, kappa, d, norm, row_share, count, regularisation, clip_C, eps_h, clip_h, decay_h,
    eps_M, clip_M, c=None,
):  # fmt: skip
    """DEP: tau_C dK = M v_t v_{t-d}^T - K, C = kappa K / |K M^T|, then a; with c, v_t / (|v_t| + c)."""
    n, o = len(s[0]), n_motors
    K, M = _identity(o, n, 0.0), _identity(o, n)
    C, h = _identity(o, n, 0.0), [0.0] * o
    a, Cs, hs = {}, [], []
    for t in range(len(s)):
        if t - d - 1 >= 0:
            v = [s[t][j] - s[t - 1][j] for j in range(n)]
            v_d = [s[t - d][j] - s[t - d - 1][j] for j in range(n)]
            length = 1.0 if c is None else math.sqrt(sum(x * x for x in v)) + c
            mu = _times(M, [x / length for x in v])
            K = [[K[i][j] + rate * (mu[i] * v_d[j] - K[i][j]) for j in range(n)] for i in range(o)]
            h = [h[i] - _limit(eps_h * a[t - 1][i], clip_h) - decay_h * h[i] for i in range(o)]
            counted = K if count == "all" else [_times(M, K[i]) for i in range(o)]
            row = [math.sqrt(sum(x * x for x in counted[i])) for i in range(o)]
            whole = math.sqrt(sum(x * x for x in row))
            for i in range(o):
                if norm == "row":
                    C[i] = [row_share * kappa * K[i][j] / (row[i] + regularisation) for j in range(n)]
                elif norm == "global":
                    C[i] = [_limit(kappa * K[i][j] / (whole + regularisation), clip_C) for j in range(n)]
                else:
                    C[i] = [kappa * K[i][j] for j in range(n)]
        a[t] = _action(C, h, s[t])
        if t - d - 1 >= 0:
            wrong = [a[t - d][i] - a[t - d - 1][i] - x for i, x in enumerate(_times(M, v))]
            M = [[M[i][j] + _limit(eps_M * wrong[i] * v[j], clip_M) for j in range(n)] for i in range(o)]
        Cs.append(np.array(C))
        hs.append(np.array(h))
    return np.array(Cs), np.array(hs)


dep_norm = dep


class _ForwardModel:
    """s^_{t+1} = A a_t + S s_t + b, learned by gradient descent on the squared error, damped and clipped."""

    def __init__(self, n, o, eps_A, S_0, extended, cause, clip_A, damping):
        self.A, self.S, self.b = _identity(n, o), _identity(n, n, S_0), [0.0] * n
        self.eps_A, self.extended, self.cause = eps_A, extended, cause
        self.clip_A, self.damping = clip_A, damping

    def error(self, a, s, s_next):
        Aa, Ss = _times(self.A, a), _times(self.S, s)
        return [s_next[i] - (Aa[i] + Ss[i] + self.b[i]) for i in range(len(s))]

    def learn(self, xi, a, s):
        if self.eps_A == 0:
            return
        A = np.array(self.A)
        inverse = np.linalg.inv(A.T @ A + 1e-8 * np.eye(len(a))) @ A.T
        caused = [a[j] + self.cause * x for j, x in enumerate(_times(inverse.tolist(), xi))]
        for i in range(len(s)):
            for j in range(len(a)):
                self.A[i][j] += _limit(self.eps_A * xi[i] * caused[j], self.clip_A)
                away = (1.0 if i == j else 0.0) - self.A[i][j]
                self.A[i][j] += _limit(self.damping * away**3, self.clip_A)
            for j in range(len(s)):
                push = self.eps_A * xi[i] * s[j] - 10 * self.damping * self.S[i][j]
                self.S[i][j] += _limit(push, self.clip_A) if self.extended else 0.0
            self.b[i] += _limit(self.eps_A * xi[i] - self.damping * self.b[i], self.clip_A)

    def jacobian(self, g, C):
        """L = A diag(g') C + S."""
        n, o = len(self.A), len(C)
        return [
            [sum(self.A[i][k] * g[k] * C[k][j] for k in range(o)) + self.S[i][j] for j in range(n)]
            for i in range(n)
        ]


def _damped(C, damping, native, clip_damping):
    """C, pulled to native * identity by the cube of the distance of each element."""
    rows = range(len(C))
    away = [[(native if i == j else 0.0) - x for j, x in enumerate(C[i])] for i in rows]
    return [[x + _limit(damping * away[i][j] ** 3, clip_damping) for j, x in enumerate(C[i])] for i in rows]


def tipi(
    s, n_motors, eps_C, eps_A, alpha, C_0, S_0, extended, cause, g_floor, clip_C, clip_h, clip_A, damping,
    native, clip_damping, tau, clip_ds, eps_Sigma, Sigma_0, ridge, metric,
):  # fmt: skip
    """TiPI: ds through the loop, du back through it, dC = eps_C/(tau-1) sum (dmu ds^T - (gamma * a) s^T)."""
    n, o = len(s[0]), n_motors
    model = _ForwardModel(n, o, eps_A, S_0, extended, cause, clip_A, damping)
    C, h, Sigma = _identity(o, n, C_0), [0.0] * o, Sigma_0 * np.eye(n)
    xi, acted, g, L, Cs, hs = {}, {}, {}, {}, [], []
    for t in range(len(s)):
        acted[t] = _action(C, h, s[t])
        if t >= 1:
            xi[t] = model.error(acted[t - 1], s[t - 1], s[t])
            g[t - 1] = [1 - x * x + g_floor for x in _action(C, h, s[t - 1])]
            L[t - 1] = model.jacobian(g[t - 1], C)
        if t >= tau:
            ds = {t - tau + 1: xi[t - tau + 1]}
            for l in range(t - tau + 1, t):
                ds[l + 1] = [x + y for x, y in zip(_times(L[l], ds[l]), xi[l + 1], strict=True)]
            ds[t] = [_limit(x, clip_ds) for x in ds[t]]
            for i in range(n):
                for j in range(n):
                    Sigma[i, j] += eps_Sigma * (ds[t][i] * ds[t][j] - Sigma[i, j])
            du = {t: list(np.linalg.inv(Sigma + ridge * np.eye(n)) @ ds[t])}
            dC, dh = np.zeros((o, n)), np.zeros(o)
            for l in range(t - 1, t - tau, -1):
                du[l] = _times(_transposed(L[l]), du[l + 1])
                response, Cds = _times(_transposed(model.A), du[l + 1]), _times(C, ds[l])
                for i in range(o):
                    dmu = g[l][i] * response[i]
                    gamma = 2 * alpha * dmu * Cds[i]
                    rate = eps_C / (tau - 1) / (g[l][i] ** 2 if metric else 1)
                    for j in range(n):
                        dC[i, j] += _limit(rate * (dmu * ds[l][j] - gamma * acted[l][i] * s[l][j]), clip_C)
                    dh[i] -= _limit(rate * gamma * acted[l][i], clip_h)
            C = [[C[i][j] + dC[i, j] for j in range(n)] for i in range(o)]
            h = [h[i] + dh[i] for i in range(o)]
            C = _damped(C, damping, native, clip_damping)
        if t >= 1:
            model.learn(xi[t], acted[t - 1], s[t - 1])
        Cs.append(np.array(C))
        hs.append(np.array(h))
    return np.array(Cs), np.array(hs)


def homeokinesis(
    s, n_motors, eps_C, eps_A, alpha, C_0, S_0, extended, cause, g_floor, clip_C, clip_h, clip_A, damping,
    native, clip_damping, log_error, log_scale, log_floor, ridge,
):  # fmt: skip
    """Homeokinesis: v = L^+ xi, chi = (L^+)^T v, mu = g' A^T chi, dC = eps_C w (mu v^T - gamma a s^T)."""
    n, o = len(s[0]), n_motors
    model = _ForwardModel(n, o, eps_A, S_0, extended, cause, clip_A, damping)
    C, h, acted = _identity(o, n, C_0), [0.0] * o, [0.0] * o
    Cs, hs = [], []
    for t in range(len(s)):
        action = _action(C, h, s[t])
        if t >= 1:
            xi = model.error(acted, s[t - 1], s[t])
            a = _action(C, h, s[t - 1])
            g = [1 - x * x + g_floor for x in a]
            L = np.array(model.jacobian(g, C))
            L_plus = L.T @ np.linalg.inv(L @ L.T + ridge * np.eye(n))
            v = _times(L_plus.tolist(), xi)
            chi = _times(L_plus.T.tolist(), v)
            response, Cv = _times(_transposed(model.A), chi), _times(C, v)
            w = log_scale / (sum(x * x for x in v) + log_floor) if log_error else 1.0
            for i in range(o):
                mu = g[i] * response[i]
                gamma = 2 * alpha * mu * Cv[i]
                for j in range(n):
                    C[i][j] += _limit(eps_C * w * (mu * v[j] - gamma * a[i] * s[t - 1][j]), clip_C)
                h[i] += _limit(-eps_C * w * gamma * a[i], clip_h)
            C = _damped(C, damping, native, clip_damping)
            model.learn(xi, acted, s[t - 1])
        acted = action
        Cs.append(np.array(C))
        hs.append(np.array(h))
    return np.array(Cs), np.array(hs)


# --- KSG ---


def ksg(columns, split, k, algorithm, theiler):
    """Counts n_x, n_y and the estimate of Kraskov et al. from the full table of distances.

    `columns` has one row per coordinate; the first `split` are x, the others y.
    """
    n = columns.shape[1]
    x, y = columns[:split].T, columns[split:].T
    dx = np.abs(x[:, None] - x[None]).max(axis=2)
    dy = np.abs(y[:, None] - y[None]).max(axis=2)
    counts = np.empty((2, n), dtype=int)
    terms = []
    for i in range(n):
        others = [j for j in range(n) if abs(i - j) > theiler]
        away = np.maximum(dx[i], dy[i]).tolist()
        nearest = sorted(others, key=lambda j: (away[j], j))[:k]
        if algorithm == 1:
            eps = max(dx[i, nearest[-1]], dy[i, nearest[-1]])
            counts[:, i] = np.sum(dx[i, others] < eps), np.sum(dy[i, others] < eps)
            terms.append(digamma(len(others) + 1) - digamma(counts[0, i] + 1) - digamma(counts[1, i] + 1))
        else:
            counts[0, i] = np.sum(dx[i, others] <= dx[i, nearest].max())
            counts[1, i] = np.sum(dy[i, others] <= dy[i, nearest].max())
            terms.append(digamma(len(others) + 1) - digamma(counts[0, i]) - digamma(counts[1, i]) - 1 / k)
    return counts, digamma(k) + np.mean(terms)


# --- surrogates ---


def successor_probabilities(z, at, rho):
    """Pseudo-periodic surrogates: probability of each state to be the next one after the state `at`."""
    n = z.shape[1]
    weights = np.zeros(n)
    for j in range(n - 1):
        weights[j + 1] = math.exp(-np.abs(z[:, j] - z[:, at]).max() / rho)
    return weights / weights.sum()


def twin_groups(z, threshold):
    """Number of the group of each state: states with equal columns of the recurrence matrix share one."""
    columns = []
    groups = []
    for i in range(z.shape[1]):
        column = [bool(np.abs(z[:, i] - z[:, j]).max() <= threshold) for j in range(z.shape[1])]
        if column not in columns:
            columns.append(column)
        groups.append(columns.index(column))
    return groups


def match_ends(x, most):
    """Smallest mismatch of all stretches of a (d, N) series that leave out at most `most` samples."""
    found = []
    n = x.shape[1]
    for start in range(most + 1):
        for stop in range(n - most + start, n + 1):
            jump = x[:, start] - x[:, stop - 1]
            slopes = (x[:, start + 1] - x[:, start]) - (x[:, stop - 1] - x[:, stop - 2])
            found.append((np.sum(jump**2 + slopes**2), start - stop, start))
    return min(found)


# --- delays ---


def mutual_information(a, b):
    """Mutual information of two sequences of classes, from their relative frequencies."""
    total = 0.0
    for u in set(a.tolist()):
        for v in set(b.tolist()):
            joint = np.mean((a == u) & (b == v))
            if joint > 0:
                total += joint * np.log(joint / (np.mean(a == u) * np.mean(b == v)))
    return total


# ---- correlation sums


def correlation_counts(series, tau, m_max, eps, theiler):
    """Pairs of delay vectors at most eps apart, (m_max, n_eps), and the number of all pairs: one by one."""
    x = np.asarray(series, dtype=np.float64)
    x = x.reshape(len(x), -1)
    n = len(x) - (m_max - 1) * tau
    eps = np.asarray(eps)
    counts = np.zeros((m_max, len(eps)), np.int64)
    total = 0
    for i in range(n):
        for j in range(i + theiler + 1, n):
            total += 1
            distance = 0.0
            for m in range(m_max):
                distance = max(distance, np.abs(x[i + m * tau] - x[j + m * tau]).max())
                counts[m] += distance <= eps
    return counts, total


def bundle_counts(series, tau, m_max, eps, theiler, bundles):
    """Pairs at most eps apart, (m_max, n_eps), in bundles of diagonals, and how many there are: one by one.

    A bundle is (one, two, begin, end, lag, width).
    """
    x = np.asarray(series, dtype=np.float64)
    x = x.reshape(len(x), -1)
    n = len(x) - (m_max - 1) * tau
    eps = np.asarray(eps)
    counts = np.zeros((m_max, len(eps)), np.int64)
    total = 0
    for one, two, begin, end, lag, width in bundles:
        for k in range(begin, end):
            for step in range(lag, lag + width):
                i, j = k * tau + one, (k + step) * tau + two
                if j >= n:
                    continue
                assert j - i > theiler
                total += 1
                distance = 0.0
                for m in range(m_max):
                    distance = max(distance, np.abs(x[i + m * tau] - x[j + m * tau]).max())
                    counts[m] += distance <= eps
    return counts, total


def vector_correlations(series, tau, m_max):
    """Standard deviations, (d,), and products of every two coordinates of delay vectors in their units."""
    x = np.asarray(series, dtype=np.float64)
    N, d = x.shape
    mean = [sum(x[:, i]) / N for i in range(d)]
    sd = [(sum((v - mean[i]) ** 2 for v in x[:, i]) / N) ** 0.5 for i in range(d)]
    n = N - (m_max - 1) * tau
    found = np.zeros((m_max * d, m_max * d))
    for t in range(n):
        vector = [(x[t + k * tau, i] - mean[i]) / sd[i] for k in range(m_max) for i in range(d)]
        for a, one in enumerate(vector):
            for b, two in enumerate(vector):
                found[a, b] += one * two / n
    return np.array(sd), found


# ---- the gate for data


def longest_copy(series):
    """Lag, start and length of the longest stretch that comes again later: every lag is tried."""
    x = np.asarray(series, dtype=float).reshape(len(series), -1)
    best = (0, 0, 0)
    for lag in range(1, len(x)):
        length = 0
        for i in range(len(x) - lag):
            length = length + 1 if np.array_equal(x[i], x[i + lag]) else 0
            if length > best[2]:
                best = (lag, i + 1 - length, length)
    return best


# ---- few values


def signed_rank_p(differences):
    """Two-sided p of Wilcoxon's signed-rank test: try all signs and count those at least as extreme."""
    d = [x for x in differences if x != 0]
    n = len(d)
    ranks = [
        sum(abs(y) < abs(x) for y in d) + (sum(abs(y) == abs(x) for y in d) + 1) / 2
        for x in d
    ]  # fmt: skip
    seen = sum(rank for x, rank in zip(d, ranks, strict=True) if x > 0)
    sums = [
        sum(rank for bit, rank in enumerate(ranks) if signs >> bit & 1) for signs in range(2**n)
    ]  # fmt: skip
    below = sum(s <= seen for s in sums) / 2**n
    above = sum(s >= seen for s in sums) / 2**n
    return min(1.0, 2 * min(below, above))


def median_interval_coverage(n, k):
    """Chance that the k-th smallest and k-th largest of n values enclose the median: try all n fair coins."""
    good = 0
    for pattern in range(2**n):
        below = bin(pattern).count("1")  # values below the median of the population
        good += k <= below <= n - k
    return good / 2**n


def holm_rejections(p, level):
    """Step down through the sorted p-values, as Holm describes it; whether each hypothesis is rejected."""
    rejected = [False] * len(p)
    left = sorted(range(len(p)), key=lambda i: p[i])
    while left and p[left[0]] <= level / len(left):
        rejected[left.pop(0)] = True
    return rejected


def weigh_ranges(x, E_core, E_raw, determinism):
    """Average over all ranges of an octave and a half or more, one range after the other."""
    n = len(x)
    scales, total, widest = np.zeros(n), 0.0, 0.0
    sums = dict.fromkeys(("lo", "hi", "D", "drift"), 0.0)
    for i in range(n):
        for j in range(i + 1, n):
            octaves = (x[i] - x[j]) / np.log(2)
            if octaves < 1.5 - 1e-9:
                continue
            inside = slice(i, j + 1)
            g = np.mean(determinism[inside]) ** 8
            mean, sd = np.mean(E_core[inside]), np.std(E_core[inside])
            slope, start = np.polyfit(x[inside], E_raw[inside], 1)
            parabola = np.polyval(np.polyfit(x[inside], E_raw[inside], 2), x[inside])
            bend = np.sqrt(np.mean((parabola - slope * x[inside] - start) ** 2))
            flat = sd / (0.02 * max(abs(mean), 0.5))
            straight = bend / (0.01 * max(-slope, 0.5) * (x[i] - x[j]))
            weight = octaves * g / ((1 + flat**2) * (1 + straight**2)) ** 2
            scales[inside] += weight / (j + 1 - i)
            sums["lo"] += weight * x[j]
            sums["hi"] += weight * x[i]
            sums["D"] -= weight * slope
            sums["drift"] += weight * np.polyfit(x[inside], E_core[inside], 1)[0]
            total += weight
            widest = max(widest, octaves * g)
    return {"scales": scales / total, "octaves": widest} | {name: v / total for name, v in sums.items()}


def noise_of_pairs(close, total):
    """Variances of ln C by the single points and by the pairs, of one cell, by least squares.

    `close` and `total` are (B, B) with a <= b.
    """
    B = len(total)
    scale = 1 / close.sum()
    chance = np.zeros((B, B))
    for a in range(B):
        for b in range(a, B):
            lag = [(i, i + b - a) for i in range(B - (b - a))]
            if len(lag) == 1:
                continue
            f = np.mean([close[q] / total[q] for q in lag])
            chance[a, b] = (close[a, b] / total[a, b] - f) * np.sqrt(len(lag) / (len(lag) - 1))
            chance[a, b] *= total[a, b] * scale
    pairs = [(a, b) for a in range(B) for b in range(a + 1, B)]
    design = np.array([[float(k in pair) for k in range(B)] for pair in pairs])
    y = np.array([chance[pair] for pair in pairs])
    u = np.linalg.lstsq(design, y, rcond=None)[0]
    of_pairs = ((y - design @ u) ** 2).sum() * len(pairs) / (len(pairs) - B)
    influence = np.array([chance[a, :].sum() + chance[:, a].sum() - chance[a, a] for a in range(B)])
    influence -= influence.mean()
    seen = (influence**2).sum() * B / (B - 1)
    return max(seen - 2 * of_pairs, 0.0), of_pairs


def servo(targets, inertia, limit, power, servo_speed, damping, step, substeps, every):
    """Angles in units of the limit, at the end of each control step, of a joint that starts at rest.

    The joint's part has a moment of inertia and nothing else acts on it. The motor does what it takes to
    reach the target speed within the physics step, as far as its torque goes.
    """
    angle, speed, reached = 0.0, 0.0, []
    for target in targets:
        for substep in range(substeps):
            deviation = target - angle / limit
            if substep == 0 or every:
                most = power * math.tanh(abs(deviation) + damping)
            wanted = servo_speed / 2 * deviation * limit
            torque = inertia * (wanted - speed) / step
            torque = max(-most, min(most, torque))
            speed += step * torque / inertia
            angle += step * speed
        reached.append(angle / limit)
    return reached
