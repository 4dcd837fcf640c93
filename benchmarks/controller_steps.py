"""What a controller costs, next to one step of the hexapod: `python benchmarks/controller_steps.py`.

Environment and controllers take turns at every single step, so that other load on the machine and cold caches
hit all of them alike; medians are compared. Writes docs/results/benchmark-controllers.json.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from pathlib import Path

import gymnasium as gym
import numba
import numpy as np

import controllers

RESULTS = Path(__file__).parents[1] / "docs" / "results" / "benchmark-controllers.json"
LIMITS = {"ulr step": 0.15, "frozen act": 0.03}


def measure(n_steps: int, seed: int = 0) -> dict[str, float]:
    """Give the median cost in microseconds of an environment step and of every controller's step.

    ULR with its defaults moves the body; all others see the same sensor values. The environment is timed
    bare, without Gymnasium's wrappers, which would only make the controllers look cheaper.
    """
    env = gym.make("robots:selforg/Hexapod-v0").unwrapped
    s, _ = env.reset(seed=seed)
    n_sensors, n_motors = s.size, env.action_space.shape[0]
    rules = {name: controllers.make(name, n_sensors, n_motors, rng=seed) for name in controllers.REGISTRY}
    frozen = rules["ulr"].freeze()
    calls = {f"{name} step": rule.step for name, rule in rules.items()}
    calls["frozen act"] = frozen.act
    calls["ulr inspect"] = lambda _: rules["ulr"].inspect()

    for call in calls.values():  # compile
        for _ in range(20):
            call(s)
    spent: dict[str, list[int]] = {"environment step": []} | {name: [] for name in calls}
    for step in range(n_steps):
        for name, call in calls.items():
            if name == "ulr inspect" and step % 50:
                continue
            start = time.perf_counter_ns()
            a = call(s)
            spent[name].append(time.perf_counter_ns() - start)
            if name == "ulr step":
                action = np.asarray(a, dtype=np.float32)
        start = time.perf_counter_ns()
        s, _, terminated, _, info = env.step(action)
        spent["environment step"].append(time.perf_counter_ns() - start)
        if terminated:
            raise RuntimeError(f"step {step}: {info.get('reason')}")
    env.close()
    return {name: float(np.median(times)) / 1000 for name, times in spent.items()}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=20_000, help="control steps to run")
    parser.add_argument("--output", type=Path, default=RESULTS, help="file to write")
    options = parser.parse_args()

    microseconds = measure(options.steps)
    shares = {name: x / microseconds["environment step"] for name, x in microseconds.items()}
    result = {
        "command": f"python benchmarks/controller_steps.py --steps {options.steps}",
        "body": "selforg/Hexapod-v0, 19 sensors, 18 motors, settings by default",
        "statistic": "median over steps, environment and controllers taking turns at every step",
        "microseconds": {name: round(x, 2) for name, x in microseconds.items()},
        "share of an environment step": {name: round(x, 4) for name, x in shares.items()},
        "limits": LIMITS,
        "within limits": all(shares[name] < limit for name, limit in LIMITS.items()),
        "machine": {
            "processor": platform.machine(),
            "cores": os.cpu_count(),
            "load": round(os.getloadavg()[0], 1),
            "python": platform.python_version(),
            "numpy": np.__version__,
            "numba": numba.__version__,
        },
    }
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(result, indent=2) + "\n")
    for name, x in microseconds.items():
        print(f"{name:28s} {x:8.1f} µs {100 * shares[name]:6.1f} % of an environment step")
    if not result["within limits"]:
        raise SystemExit(f"over the limits {LIMITS}")


if __name__ == "__main__":
    main()
