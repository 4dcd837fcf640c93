"""How often do `stationarity` and `look_over` hear what is there, and how often what is not?

Run as ``python benchmarks/data_checks.py`` (minutes); the shares go to docs/results/data-checks.json.
Every system is sampled 60 times with 20,000 samples. Those in `KNOWN` were at hand when the tests were made,
those in `UNSEEN` were written down afterwards, and no setting was chosen by them.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numba import njit

from quantify import stationarity
from quantify.gate import look_over
from quantify.systems import AR2, AutoRegressive, Henon, Lorenz, QuasiPeriodic

OUTPUT = Path(__file__).parents[1] / "docs" / "results" / "data-checks.json"
N = 20_000
TIME = np.arange(N) / N
Sample = Callable[[np.random.Generator], np.ndarray]


@njit(cache=True)
def _step(kind, u, t, h):
    """One Runge-Kutta step of a flow."""
    k = np.zeros((4, 3))
    v = u.copy()
    for r in range(4):
        s = t
        if r > 0:
            s = t + (h if r == 3 else h / 2)
            v = u + k[r - 1] * (h if r == 3 else h / 2)
        x, y, z = v
        if kind == 0:  # Rössler
            k[r] = np.array([-y - z, x + 0.2 * y, 0.2 + z * (x - 5.7)])
        elif kind == 1:  # van der Pol
            k[r] = np.array([y, (1 - x * x) * y - x, 0.0])
        elif kind == 2:  # driven Duffing oscillator
            k[r] = np.array([y, x - x**3 - 0.3 * y + 0.5 * np.cos(1.2 * s), 0.0])
        elif kind == 4:  # Chen
            k[r] = np.array([35 * (y - x), -7 * x - x * z + 28 * y, x * y - 3 * z])
        elif kind == 5:  # Rucklidge
            k[r] = np.array([-2 * x + 6.7 * y - y * z, x, y * y - z])
        elif kind == 6:  # Moore-Spiegel
            k[r] = np.array([y, z, -z + (14 - 20 * x * x) * y - 6 * x])
        elif kind == 7:  # Ueda
            k[r] = np.array([y, 7.5 * np.sin(s) - x**3 - 0.05 * y, 0.0])
        else:  # Hindmarsh-Rose, bursting
            k[r] = np.array([y - x**3 + 3 * x * x - z + 3.0, 1 - 5 * x * x - y, 0.01 * (4 * (x + 1.6) - z)])
    return u + h / 6 * (k[0] + 2 * k[1] + 2 * k[2] + k[3])


@njit(cache=True)
def _flow(kind, u, n, substeps, h, noise, rng):
    out = np.empty(n)
    for i in range(-n // 4, n):  # the first quarter is a transient
        if i >= 0:
            out[i] = u[0]
        for j in range(substeps):
            u = _step(kind, u, ((i + n) * substeps + j) * h, h)
            if noise > 0:
                u[0] += noise * np.sqrt(h) * rng.standard_normal()
                u[1] += noise * np.sqrt(h) * rng.standard_normal()
    return out


def flow(kind: int, sampling: float, noise: float = 0.0) -> Sample:
    return lambda rng: _flow(kind, 0.5 + 0.2 * rng.standard_normal(3), N, 4, sampling / 4, noise, rng)


@njit(cache=True)
def _logistic(r, x, n):
    out = np.empty(n)
    for i in range(-1000, n):
        x = r * x * (1 - x)
        if i >= 0:
            out[i] = x
    return out


@njit(cache=True)
def _mackey_glass(past, n, substeps):
    delay = len(past)
    x, out = past[-1], np.empty(n)
    for i in range(-n // 4, n):
        for j in range(substeps):
            place = ((i + n) * substeps + j) % delay
            late, past[place] = past[place], x
            x += 0.1 * (0.2 * late / (1 + late**10) - 0.1 * x)
        if i >= 0:
            out[i] = x
    return out


@njit(cache=True)
def _ikeda(z, n):
    out = np.empty(n)
    for i in range(-1000, n):
        z = 1 + 0.9 * z * np.exp(1j * (0.4 - 6 / (1 + abs(z) ** 2)))
        if i >= 0:
            out[i] = z.real
    return out


@njit(cache=True)
def _garch(noise):
    out, variance = np.empty(len(noise)), 1.0
    for i in range(len(noise)):
        out[i] = np.sqrt(variance) * noise[i]
        variance = 0.05 + 0.1 * out[i] ** 2 + 0.85 * variance
    return out


@njit(cache=True)
def _double_well(noise):
    out, x = np.empty(len(noise)), 1.0
    for i in range(len(noise)):
        x += 0.05 * (x - x**3) + 0.16 * noise[i]
        out[i] = x
    return out


def resonance(r: float) -> Sample:
    process = AutoRegressive((2 * r * np.cos(0.13), -(r**2)))
    return lambda rng: process.sample(N, rng)


def harmonics(rng: np.random.Generator) -> np.ndarray:
    angle = 2 * np.pi * np.arange(N) / rng.uniform(10, 300)
    a, b = rng.standard_normal((2, 5, 1)) / np.arange(1, 6)[:, None]
    k = np.arange(1, 6)[:, None]
    return (a * np.cos(k * angle) + b * np.sin(k * angle)).sum(axis=0)


def exact_period(rng: np.random.Generator) -> np.ndarray:
    return np.resize(rng.standard_normal(rng.integers(5, 300)), N)


def moving_average(rng: np.random.Generator) -> np.ndarray:
    return np.convolve(rng.standard_normal(N + 19), np.ones(20), "valid")


KNOWN: dict[str, Sample] = {
    "Lorenz x": lambda rng: Lorenz().sample(N, rng)[:, 0],
    "Lorenz z": lambda rng: Lorenz().sample(N, rng)[:, 2],
    "Rössler x": flow(0, 0.1),
    "van der Pol with noise": flow(1, 0.1, 0.3),
    "Hénon": lambda rng: Henon().sample(N, rng)[:, 0],
    "AR(1) .9": lambda rng: AutoRegressive((0.9,)).sample(N, rng),
    "AR(1) .99": lambda rng: AutoRegressive((0.99,)).sample(N, rng),
    "AR(2), the paper's": lambda rng: AR2.sample(N, rng),
    "AR(2), r = .998": resonance(0.998),
    "AR(2), r = .999": resonance(0.999),
    "logistic map, 1e-4 from period 3": lambda rng: _logistic(3.828327, rng.uniform(0.1, 0.9), N),
    "logistic map, 1e-5 from period 3": lambda rng: _logistic(3.828417, rng.uniform(0.1, 0.9), N),
    "white noise": lambda rng: rng.standard_normal(N),
    "Cauchy noise": lambda rng: rng.standard_cauchy(N),
    "sine": lambda rng: np.sin(2 * np.pi * np.arange(N) / rng.uniform(5, 300) + rng.uniform(0, 7)),
    "harmonics": harmonics,
    "exact period": exact_period,
    "torus": lambda rng: QuasiPeriodic().sample(N, rng),
}
UNSEEN: dict[str, Sample] = {
    "Mackey-Glass": lambda rng: _mackey_glass(rng.uniform(0.5, 1.3, 170), N, 10),
    "Duffing, driven": flow(2, 0.1),
    "Hindmarsh-Rose, bursting": flow(3, 0.1),
    "Ikeda map": lambda rng: _ikeda(complex(*rng.uniform(-0.1, 0.1, 2)), N),
    "GARCH(1,1)": lambda rng: _garch(rng.standard_normal(N)),
    "double well with noise": lambda rng: _double_well(rng.standard_normal(N)),
    "MA(20)": moving_average,
    "AR(1) .95, Student t3": lambda rng: _ar1(0.95, rng.standard_t(3, N)),
    "logistic map in its period-5 intermittency": lambda rng: _logistic(3.7381, rng.uniform(0.1, 0.9), N),
    "sawtooth": lambda rng: np.arange(N) / rng.uniform(10, 300) % 1,
    "pulses, exact period": lambda rng: (np.arange(N) % rng.integers(20, 300) < 5) + np.arange(N) % 3 * 0.1,
    "sine, jittering phase": lambda rng: np.sin(np.cumsum(0.1 + 0.02 * rng.standard_normal(N))),
}


@njit(cache=True)
def _ar1(a, noise):
    for i in range(1, len(noise)):
        noise[i] += a * noise[i - 1]
    return noise


def still(x: np.ndarray) -> np.ndarray:
    return np.where(TIME < 0.5, x, x[N // 2])


def drift(share: float) -> Callable[[np.ndarray], np.ndarray]:
    return lambda x: x + share * np.ptp(x) * TIME


def swing(periods: float) -> Callable[[np.ndarray], np.ndarray]:
    return lambda x: x + 0.05 * np.ptp(x) * np.sin(2 * np.pi * periods * TIME + 1)


BASES = {
    "known": ("Lorenz x", "Rössler x", "van der Pol with noise", "AR(1) .9", "Hénon", "white noise", "sine"),
    "unseen": ("Mackey-Glass", "Duffing, driven", "Ikeda map", "GARCH(1,1)", "MA(20)", "sawtooth"),
}
CHANGES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "drift of 10 % of the range": drift(0.1),
    "drift of 20 % of the range": drift(0.2),
    "sine of 10 % of the range, one period": swing(1.0),
    "sine of 10 % of the range, 2.7 periods": swing(2.7),
    "half constant": still,
    "growth by 30 %": lambda x: (x - x.mean()) * (1 + 0.3 * TIME),
    "a third of the record twice as fast": lambda x: np.concatenate([x[: N // 3], x[N // 3 :: 2]]),
}
ALONE: dict[str, Sample] = {
    "random walk": lambda rng: np.cumsum(rng.standard_normal(N)),
    "random walk, Student t3": lambda rng: np.cumsum(rng.standard_t(3, N)),
    "one sine, .5 to 3 periods": lambda rng: np.sin(2 * np.pi * (rng.uniform(0.5, 3) * TIME + rng.random())),
}


def with_wild(x: np.ndarray) -> np.ndarray:
    x = x.copy()
    x[777] = 20 * np.abs(x).max()
    return x


def with_copy(x: np.ndarray) -> np.ndarray:
    x = x.copy()
    x[12_000:13_000] = x[3000:4000]
    return x


DEFECTS: dict[str, tuple[str, Callable[[np.ndarray], np.ndarray]]] = {
    "one sample at 20 times the largest": ("outliers", with_wild),
    "each sample twice": ("held samples", lambda x: x.repeat(2)),
    "the record twice": ("repeated stretch", lambda x: np.concatenate([x, x])),
    "1,000 samples copied": ("repeated stretch", with_copy),
    "half constant": ("constant stretches", still),
    "rounded to 256 steps": ("ties", lambda x: np.round(x * 256 / np.ptp(x))),
    "clipped to its middle 90 %": ("saturation", lambda x: np.clip(x, *np.quantile(x, [0.05, 0.95]))),
    "times 1e-300": ("magnitude", lambda x: x * 1e-300),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=60)
    runs = parser.parse_args().runs
    begin = time.process_time()

    def seeds() -> list[np.random.Generator]:
        return [np.random.default_rng(seed) for seed in range(runs)]

    def share(series: list[np.ndarray]) -> float:
        found = [stationarity(x) for x in series]
        return float(np.mean([not one.stationary for one in found]))

    result: dict[str, object] = {"command": "python benchmarks/data_checks.py", "runs": runs, "samples": N}
    false, accused, power, defects = {}, {}, {}, {}
    for group, systems in (("known", KNOWN), ("unseen", UNSEEN)):
        false[group], accused[group], power[group], defects[group] = {}, {}, {}, {}
        for name, sample in systems.items():
            series = [np.asarray(sample(rng), dtype=float) for rng in seeds()]
            false[group][name] = share(series)
            kinds = [one.kind for x in series[:20] for one in look_over(x).findings]
            accused[group][name] = sorted(set(kinds))
            if name in BASES[group]:
                power[group][name] = {
                    what: share([change(x) for x in series]) for what, change in CHANGES.items()
                }
                defects[group][name] = {
                    what: float(
                        np.mean(
                            [any(f.kind == kind for f in look_over(make(x)).findings) for x in series[:10]]
                        )
                    )
                    for what, (kind, make) in DEFECTS.items()
                }
            print(f"{group:7s} {name:45s} {false[group][name]:.2f} {accused[group][name]}", flush=True)
            for what, heard in (power[group].get(name, {}) | defects[group].get(name, {})).items():
                if heard < 1:
                    print(f"        {what}: {heard:.2f}", flush=True)
    alone = {name: share([sample(rng) for rng in seeds()]) for name, sample in ALONE.items()}
    print(alone)
    seconds: dict[str, dict[str, float]] = {}
    for name, x in (
        ("noise", np.random.default_rng(0).standard_normal(1_000_000)),
        ("Lorenz x, float32", Lorenz().sample(1_000_000, 1)[:, 0].astype(np.float32)),
        ("rounded noise", np.round(np.random.default_rng(0).standard_normal(1_000_000), 2)),
    ):
        seconds[name] = {}
        for what, call in (("look_over", look_over), ("stationarity", stationarity)):
            rounds = []
            for _ in range(3):
                start = time.process_time()
                call(x)
                rounds.append(time.process_time() - start)
            seconds[name][what] = round(min(rounds), 3)
    result |= {
        "machine": platform.processor() or platform.machine(),
        "not stationary, of stationary series": false,
        "not stationary, of changed series": power,
        "not stationary, alone": alone,
        "findings in clean series": accused,
        "defects found": defects,
        "CPU seconds at 1,000,000 samples": seconds,
        "CPU seconds in all": round(time.process_time() - begin),
    }
    OUTPUT.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n")
    print(f"{result['CPU seconds in all']} s; written to {OUTPUT.name}")


if __name__ == "__main__":
    main()
