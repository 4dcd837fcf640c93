"""One body, two engines: which is chosen, what they share, and what Gymnasium's users expect."""

from __future__ import annotations

import sys
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

from robots import ROBOTS, HexapodConfig, RobotError, default_engine, find_engine
from tests.robots.helpers import HERE, actions, every_engine, every_robot, make, run

both = pytest.mark.skipif(len(HERE) < 2, reason="it takes both engines")


def test_the_usual_engine_is_one_that_installs_without_a_compiler() -> None:
    assert default_engine() == ("pybullet" if sys.version_info < (3, 12) else "mujoco")
    assert find_engine(None) == default_engine()
    with pytest.raises(RobotError, match="'ode': choose 'pybullet' or 'mujoco'"):
        make("barrel", "ode")


def test_an_engine_that_is_not_installed_is_refused_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(RobotError, match="not installed; pip install mujoco, or choose 'pybullet'"):
        find_engine("mujoco")


@both
@every_robot
def test_links_and_joints_are_in_the_same_order_and_places(name: str) -> None:
    bullet, mujoco = (make(name, engine, noise=0.0) for engine in HERE)
    rng = np.random.default_rng(0)
    for env in (bullet, mujoco):
        env.reset(seed=0)
    snapshot = bullet.snapshot()
    snapshot["base"][2] += 2.0
    snapshot["base"][7:] = rng.normal(size=6)
    snapshot["joints"][:] = 0.1 * rng.normal(size=snapshot["joints"].shape)
    for env in (bullet, mujoco):
        env.restore(snapshot)
    assert list(bullet.masses()) == list(mujoco.masses())
    for ours, theirs in zip(bullet.world.links(), mujoco.world.links(), strict=True):
        assert ours == pytest.approx(theirs, abs=1e-9)
    assert bullet.world.inertia() == pytest.approx(mujoco.world.inertia(), abs=1e-12)


@both
@every_robot
def test_servos_move_a_floating_body_alike(name: str) -> None:
    found = []
    for engine in HERE:
        env = make(name, engine, noise=0.0, gravity=0.0)
        env.reset(seed=0)
        snapshot = env.snapshot()
        snapshot["base"][2] += 3.0
        env.restore(snapshot)
        found.append(run(env, 25)[:, : len(env.motor_names)])
    # Half a second; both integrate with first-order accuracy, and differ in what they leave out.
    assert found[0] == pytest.approx(found[1], abs=0.05)


@every_engine
def test_settings_as_keywords_dicts_or_configs(engine: str) -> None:
    name = "robots:" + ROBOTS["hexapod"].id
    for given in ({"gravity": 6.0}, {"config": {"gravity": 6.0}}, {"config": HexapodConfig(gravity=6.0)}):
        env = gym.make(name, engine=engine, **given).unwrapped
        assert env.config.gravity == 6.0 and env.engine == engine
    with pytest.raises(RobotError, match=r"no field 'gravty': choose one of gravity"):
        make("hexapod", engine, gravty=6.0)


@every_engine
def test_rewards(engine: str) -> None:
    def cost(observation: np.ndarray, action: np.ndarray, info: dict) -> float:
        return -float(np.square(action).sum())

    for reward, expected in (
        ("none", lambda info, action: 0.0),
        ("forward", lambda info, action: info["velocity"][0]),
        (cost, lambda info, action: -np.square(action).sum()),
    ):
        env = make("barrel", engine, reward=reward)
        env.reset(seed=0)
        for action in actions(env, 5):
            *_, found, _, _, info = env.step(action)
            assert found == pytest.approx(float(expected(info, action)), rel=1e-6)
    with pytest.raises(RobotError, match="reward is 'backward'"):
        make("barrel", engine, reward="backward")


@every_engine
def test_info_tells_how_the_base_is_seen_from_outside(engine: str) -> None:
    env = make("hexapod", engine)
    _, info = env.reset(seed=0)
    for seen in (info, env.step(np.zeros(18))[4]):
        assert {"position", "velocity", "height", "tilt", "contacts"} <= set(seen)
    seen, motion = env.step(np.zeros(18))[4], env.motion()
    assert seen["position"] == pytest.approx([motion[key] for key in "xyz"])
    assert [seen["height"], seen["tilt"], seen["contacts"]] == [motion[k] for k in ("z", "tilt", "contacts")]


@every_engine
def test_films_of_gymnasium(engine: str, tmp_path: Path) -> None:
    pytest.importorskip("moviepy")
    env = gym.make("robots:selforg/Barrel-v0", engine=engine, render_mode="rgb_array", width=64, height=48)
    film = gym.wrappers.RecordVideo(env, str(tmp_path), episode_trigger=lambda episode: True)
    film.reset(seed=0)
    for action in actions(env.unwrapped, 5):
        film.step(action)
    film.close()
    assert list(tmp_path.glob("*.mp4"))


@every_engine
def test_pictures_have_the_size_and_view_that_was_asked_for(engine: str) -> None:
    env = ROBOTS["barrel"].env(
        engine=engine, render_mode="rgb_array", width=64, height=48, camera={"distance": 3.0}
    )
    env.reset(seed=0)
    assert env.render().shape == (48, 64, 3) and env.camera.distance == 3.0
