"""What every registered robot must do: a new robot is tested by being registered."""

from __future__ import annotations

import hashlib
import re
import warnings
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils import seeding
from gymnasium.utils.env_checker import check_env

import robots
from robots import ROBOTS, HexapodConfig, RobotEnv, RobotError
from robots.body import Body, Motor
from robots.randomness import ColouredNoise
from tests.robots.helpers import actions, every_engine, every_robot, make, run

ROOT = Path(__file__).parents[2]


@pytest.mark.guard
@every_engine
@every_robot
def test_gymnasiums_checker_has_nothing_to_say(name: str, engine: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gym.make("robots:" + ROBOTS[name].id, engine=engine).unwrapped)
        passively_checked = gym.make("robots:" + ROBOTS[name].id, engine=engine, render_mode="rgb_array")
        passively_checked.reset(seed=1)
        for _ in range(5):
            passively_checked.step(passively_checked.action_space.sample())
        passively_checked.render()
        passively_checked.close()


@pytest.mark.guard
@every_engine
@every_robot
def test_worlds_in_parallel_processes_agree_with_one_here(name: str, engine: str, env: RobotEnv) -> None:
    worlds = gym.make_vec("robots:" + ROBOTS[name].id, engine=engine, num_envs=2, vectorization_mode="async")
    try:
        first, _ = worlds.reset(seed=[3, 4])
        assert np.array_equal(first[0], env.reset(seed=3)[0])
        for action in actions(env, 20):
            together, *_ = worlds.step(np.stack([action, action]))
            assert np.array_equal(together[0], env.step(action)[0])
        assert not np.array_equal(together[0], together[1])  # other seed, other noise
    finally:
        worlds.close()


@every_robot
def test_data_sheet_is_complete(name: str) -> None:
    env = make(name)
    n, o = env.observation_space.shape, env.action_space.shape
    assert n == (len(env.sensor_names),) == (len(env.sensor_units),)
    assert o == (len(env.motor_names),)
    assert env.sensor_names[: o[0]] == env.motor_names
    assert len(set(env.sensor_names)) == n[0]
    assert 0 <= ROBOTS[name].sensor < n[0]
    assert ROBOTS[name].config is type(env.config)
    assert type(env).__doc__ and f"Actions ({o[0]})" in type(env).__doc__
    assert f"Observations ({n[0]})" in type(env).__doc__


def test_papers_robots_have_the_papers_sensors() -> None:
    hexapod, snake = make("hexapod"), make("snake")
    assert (len(hexapod.motor_names), len(hexapod.sensor_names)) == (18, 19)
    assert hexapod.sensor_names[0] == "right hind up/down"
    assert hexapod.sensor_names[18] == "vertical velocity"
    assert (len(snake.motor_names), len(snake.sensor_names)) == (14, 14)
    assert snake.sensor_names[6] == "joint 4 sideways"  # of seven: the middle one
    assert [(ROBOTS[r].sensor, ROBOTS[r].tau, ROBOTS[r].m_max) for r in ("hexapod", "snake")] == [
        (0, 4, 25),
        (6, 8, 19),
    ]


@every_engine
@every_robot
def test_observations_stay_in_the_box_and_are_fresh(name: str, engine: str, env: RobotEnv) -> None:
    assert np.isfinite(env.observation_space.low).all() and np.isfinite(env.observation_space.high).all()
    before, _ = env.reset(seed=5)
    rng = np.random.default_rng(5)
    action = env.action_space.sample()
    for step in range(800):
        if step % 20 == 0:  # bang-bang: the roughest that is allowed
            action = rng.choice([-1.0, 1.0], env.action_space.shape)
        observation, _, terminated, _, info = env.step(action)
        assert not terminated, info
        assert observation in env.observation_space
        kept = observation.copy()
        before.fill(7)  # spoiling an old observation must not touch the next
        assert np.array_equal(observation, kept)
        before = observation


@every_engine
@every_robot
def test_recentring_leaves_the_sensors_alone(name: str, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    left_alone, recentred = make(name, engine, noise=0.0), make(name, engine, noise=0.0)
    monkeypatch.setattr(robots.world, "HORIZON", np.inf)
    for env in (left_alone, recentred):
        env.reset(seed=0)
        snapshot = env.snapshot()
        snapshot["base"][:2] += [8.0, -20.0]
        env.restore(snapshot)
        run(env, 200)  # long enough for contacts to settle
    expected = run(left_alone, 10, start=200)
    monkeypatch.undo()
    found = run(recentred, 10, start=200)
    # Positions near 20 are rounded to 2e-15, which the dynamics amplifies for ten steps, mostly to 1e-9.
    assert np.abs(found - expected).max() < 1e-6
    assert np.abs(recentred.snapshot()["base"][:2]).max() < robots.world.HORIZON
    assert np.abs(recentred.snapshot()["offset"]).min() > 0
    a, b = left_alone.motion(), recentred.motion()
    assert {key: b[key] for key in a} == pytest.approx(a, abs=1e-5)
    assert recentred.centre_of_mass() == pytest.approx(left_alone.centre_of_mass(), abs=1e-5)


@every_engine
@every_robot
@pytest.mark.parametrize(
    ("part", "index", "value", "word"),
    [
        ("base", 7, 1e3, "moves at"),
        ("base", 2, 50.0, "height"),
        ("base", 2, -5.0, ""),
        ("base", 9, np.nan, "nan"),
        ("joints", (0, 0), np.nan, ""),
    ],
)
def test_blow_ups_end_the_episode_at_once(
    name: str, engine: str, env: RobotEnv, part: str, index: Any, value: float, word: str
) -> None:
    env.reset(seed=0)
    snapshot = env.snapshot()
    snapshot[part][index] = value
    env.restore(snapshot)
    still = np.zeros(env.action_space.shape, np.float32)
    observation, reward, terminated, truncated, info = env.step(still)
    assert terminated and not truncated and reward == 0
    assert word in info["reason"]
    assert observation in env.observation_space
    with pytest.raises(RuntimeError, match="reset"):
        env.step(still)
    observation, _ = env.reset(seed=0)
    assert np.array_equal(observation, make(name, engine).reset(seed=0)[0])
    assert not env.step(still)[2]


@every_engine
@every_robot
def test_fast_joints_count_as_a_blow_up(name: str, engine: str) -> None:
    env = make(name, engine, max_joint_speed=0.05)
    env.reset(seed=0)
    *_, terminated, _, info = env.step(np.ones(env.action_space.shape))
    assert terminated and "joint moves" in info["reason"] and "0.05" in info["reason"]


@every_engine
@every_robot
def test_noise_is_seeded_added_to_every_sensor_and_can_be_switched_off(name: str, engine: str) -> None:
    amplitude, rate, n = 0.05, 0.1, 300
    noisy, pure = make(name, engine, noise=amplitude, noise_rate=rate), make(name, engine, noise=0.0)
    first = [e.reset(seed=9)[0] for e in (noisy, pure)]
    # Without feedback the bodies move alike, so the difference is the noise.
    found = np.concatenate([[first[0] - first[1]], run(noisy, n) - run(pure, n)])
    noise = ColouredNoise(len(noisy.sensor_names), amplitude, rate)
    noise.start(seeding.np_random(9)[0])
    expected = np.array([noise.step() for _ in range(n + 1)])
    # Values up to 50 (a velocity) in float32, which is exact to 4e-6 there.
    assert found == pytest.approx(expected, abs=1e-5)
    assert not np.array_equal(first[0], noisy.reset(seed=10)[0])
    assert np.array_equal(first[1], pure.reset(seed=10)[0])


@every_engine
@every_robot
def test_bad_actions_are_refused(name: str, engine: str, env: RobotEnv) -> None:
    n = env.action_space.shape[0]
    env.reset(seed=0)
    with pytest.raises(RobotError, match=rf"\({n + 1},\).*must be \({n},\)"):
        env.step(np.zeros(n + 1))
    with pytest.raises(RobotError, match="shape"):
        env.step(0.5)
    for bad in (np.nan, 1.01, -3.0, np.inf):
        action = np.zeros(n)
        action[-1] = bad
        with pytest.raises(RobotError, match=r"\[-1, 1\]"):
            env.step(action)
    assert not env.step(np.ones(n))[2]  # refusing left the world in order


@every_engine
@every_robot
def test_steps_out_of_turn_are_explained(name: str, engine: str) -> None:
    env = make(name, engine)
    still = np.zeros(env.action_space.shape)
    for verb in (lambda: env.step(still), env.snapshot, env.motion, env.render, env.masses):
        with pytest.raises(RuntimeError, match=r"reset\(\)"):
            verb()
    env.reset(seed=0)
    env.close()
    env.close()
    for verb in (lambda: env.step(still), env.snapshot, env.motion, env.render, env.reset):
        with pytest.raises(RuntimeError, match="closed"):
            verb()


@every_robot
def test_bad_configs_are_refused(name: str) -> None:
    config = ROBOTS[name].config
    for field in fields(config):
        if isinstance(field.default, bool):
            continue
        with pytest.raises(RobotError, match=field.name):
            config(**{field.name: -1})
        with pytest.raises(RobotError, match=field.name):
            config(**{field.name: float("nan")})
    with pytest.raises(RobotError, match="substeps"):
        config(substeps=1.5)
    with pytest.raises(RobotError, match="mass"):
        config(**{next(f.name for f in fields(config) if "mass" in f.name): 0.0})
    with pytest.raises(RobotError, match="noise_rate"):
        config(noise_rate=2.0)
    with pytest.raises(RobotError, match="hard_stop"):
        config(hard_stop=0.5)


@every_robot
def test_every_field_of_a_config_is_described_with_its_unit(name: str) -> None:
    import ast
    import inspect

    for cls in ROBOTS[name].config.__mro__[:-1]:
        body = ast.parse(inspect.getsource(cls)).body[0].body
        for statement, following in zip(body, [*body[1:], None], strict=True):
            if not isinstance(statement, ast.AnnAssign) or statement.target.id.isupper():
                continue
            described = isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant)
            assert described, f"{cls.__name__}.{statement.target.id} is not described"
            if statement.annotation.id != "bool":
                assert "[" in following.value.value, f"{cls.__name__}.{statement.target.id} has no unit"


VERSIONS = {
    "selforg/Hexapod-v0": "64ebc2ff1576",
    "selforg/HexapodHigh-v1": "7d31191ce77c",
    "selforg/Snake-v0": "825f83ac23b1",
    "selforg/Spherical-v0": "4f37cde59583",
    "selforg/Barrel-v0": "623d73b45345",
}


@pytest.mark.parametrize("name", [name for name, entry in ROBOTS.items() if entry.id in VERSIONS])
def test_changed_defaults_are_a_new_version(name: str) -> None:
    entry = ROBOTS[name]
    body = entry.env.body(entry.config())
    # What is only drawn may change.
    physics = re.sub(r"<visual>.*?</visual>", "", body.urdf)
    settings = sorted(asdict(entry.config()).items())
    stated = f"{settings} {body.motors} {body.sensors} {body.start_height} {physics}"
    found = hashlib.sha256(stated.encode()).hexdigest()[:12]
    assert found == VERSIONS[entry.id], f"{entry.id} has changed: register a new version, or mend it"


def test_bodies_whose_motors_move_nothing_are_refused() -> None:
    snake = ROBOTS["snake"].env.body(ROBOTS["snake"].config())
    with pytest.raises(RobotError, match=r"motor 'tail' moves no joint: .*'joint 1 sideways'"):
        Body(snake.urdf, (Motor("tail", 1.0, 1.0),))
    with pytest.raises(RobotError, match=r"not XML .*robots\.urdf"):
        Body("<robot>", ())


def test_unknown_robots_are_refused_with_what_there_is() -> None:
    with pytest.raises(RobotError, match=r"no robot 'snail': choose one of hexapod, hexapod-high, snake"):
        robots.find("snail")


def test_an_observer_is_called_before_each_physics_step_and_changes_nothing() -> None:
    plain, watched = make("snake", substeps=3), make("snake", substeps=3)
    heights = []
    for env in (plain, watched):
        env.reset(seed=1)
    with watched.watched_by(lambda info: heights.append(watched.world.centre_of_mass()[2])):
        assert np.array_equal(run(watched, 20), run(plain, 20))
    assert len(heights) == 60
    assert np.array_equal(run(watched, 5, start=20), run(plain, 5, start=20)) and len(heights) == 60


def test_wrong_config_and_render_mode_are_refused() -> None:
    with pytest.raises(RobotError, match="SnakeConfig"):
        ROBOTS["snake"].env(HexapodConfig())
    with pytest.raises(RobotError, match="rgb_array"):
        ROBOTS["snake"].env(render_mode="ascii")
    with pytest.raises(RobotError, match="legs"):
        HexapodConfig(trunk_share=1.0)
    if not robots.camera.has_display():
        with pytest.raises(RobotError, match="display"):
            ROBOTS["snake"].env(render_mode="human")


@pytest.mark.guard
@every_engine
@every_robot
def test_pictures_show_the_robot_on_its_ground(name: str, engine: str) -> None:
    env = ROBOTS[name].env(engine=engine, render_mode="rgb_array")
    env.reset(seed=0)
    picture = env.render()
    assert picture.shape == (480, 640, 3) and picture.dtype == np.uint8
    # The ground is grey to beige (its channels differ by less than 30); the robot's colours are strong.
    vivid = (picture.max(axis=2).astype(int) - picture.min(axis=2)) > 60
    assert 0.003 < vivid.mean() < 0.5
    rows, columns = np.nonzero(vivid)
    assert rows.min() < 240 < rows.max() and columns.min() < 320 < columns.max()  # it is in the middle
    moved = [env.step(action) for action in actions(env, 50)]
    assert len(moved) == 50 and (env.render() != picture).mean() > 0.01
