"""One body, two engines: which is chosen, what they share, and what Gymnasium's users expect."""

from __future__ import annotations

import sys
from pathlib import Path

import gymnasium as gym
import imageio_ffmpeg
import numpy as np
import pytest

from robots import ROBOTS, HexapodConfig, RobotConfig, RobotEnv, RobotError, default_engine, find_engine
from robots.body import Body, Motor
from robots.urdf import box, joint, link, robot, sphere
from tests import naive
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


class Arms(RobotEnv):
    """A block of ten tonnes that floats, with three light arms; the last motor moves the first of them."""

    @classmethod
    def body(cls, config: RobotConfig) -> Body:
        ball, places = sphere(0.1), {"first": -1.0, "second": 0.0, "third": 1.0}
        parts = [link("block", 1e4, box(4.0, 4.0, 4.0))]
        for name, x in places.items():
            parts += [
                link(f"{name} arm", 0.5, ball),
                joint(name, "block", f"{name} arm", (0.0, 1.0, 0.0), 2.0, xyz=(x, 0.0, 3.0)),
            ]
        motors = (Motor("second", 1.0, 0.05), Motor("third", 0.5, 0.1), Motor("first", 1.5, 0.02))
        return Body(robot("arms", parts), motors, start_height=5.0)


@every_engine
@pytest.mark.parametrize(
    "config", [{}, {"servo_damping": 0.2, "substeps": 3}, {"servo_every_substep": True, "servo_speed": 60.0}]
)
def test_servos_equal_the_law_written_out_joint_by_joint(engine: str, config: dict) -> None:
    env = Arms(engine=engine, noise=0.0, gravity=0.0, **config)
    env.reset(seed=0)
    rng = np.random.default_rng(3)
    targets = np.repeat(rng.uniform(-1, 1, (8, 3)), 10, axis=0).astype(np.float32)
    found = np.array([env.step(target)[0] for target in targets], float)
    c = env.config
    law = {"servo_speed": c.servo_speed, "damping": c.servo_damping, "substeps": c.substeps}
    law |= {"step": c.control_step / c.substeps, "every": c.servo_every_substep}
    for i, motor in enumerate(env.body_description.motors):
        inertia = 0.4 * 0.5 * 0.1**2
        expected = naive.servo(targets[:, i].tolist(), inertia, motor.limit, motor.power, **law)
        # Sensors are float32; MuJoCo's constraints yield by a thousandth of a step's way on top.
        tolerance = {"pybullet": 1e-5, "mujoco": 2e-4}[engine]
        assert found[:, i] == pytest.approx(expected, abs=tolerance), motor.name


@pytest.mark.guard
@every_engine
def test_films_of_gymnasium(engine: str, tmp_path: Path) -> None:
    env = gym.make("robots:selforg/Barrel-v0", engine=engine, render_mode="rgb_array", width=64, height=48)
    folder = tmp_path / "films"
    film = gym.wrappers.RecordVideo(env, str(folder), lambda episode: True, disable_logger=True)
    film.reset(seed=0)
    for action in actions(env.unwrapped, 5):
        film.step(action)
    film.close()
    (path,) = folder.glob("*.mp4")
    frames = imageio_ffmpeg.read_frames(str(path))
    meta = next(frames)
    assert meta["size"] == (64, 48) and meta["fps"] == env.metadata["render_fps"]
    pictures = list(frames)
    assert len(pictures) >= 5 and pictures[0] != pictures[-1]


@every_engine
@pytest.mark.parametrize("mode", ["sync", "async"])
def test_vectors_of_environments_take_settings_and_tell_what_is_seen(engine: str, mode: str) -> None:
    worlds = gym.make_vec(
        "robots:selforg/Hexapod-v0", 2, mode, engine=engine, reward="forward", gravity=6.0, noise=0.0
    )
    try:
        alone = make("hexapod", engine, gravity=6.0, noise=0.0)
        alone.reset(seed=0)
        _, seen = worlds.reset(seed=0)
        assert seen["position"].shape == (2, 3)
        for action in actions(alone, 10):
            found, rewards, ended, _, seen = worlds.step(np.stack([action, 0 * action]))
            expected, *_, info = alone.step(action)
        assert np.array_equal(found[0], expected) and not ended.any()
        assert seen["velocity"][0] == pytest.approx(info["velocity"])
        assert rewards == pytest.approx(seen["velocity"][:, 0]) and rewards[0] != rewards[1]
    finally:
        worlds.close()


@every_engine
def test_pictures_have_the_size_and_view_that_was_asked_for(engine: str) -> None:
    env = ROBOTS["barrel"].env(
        engine=engine, render_mode="rgb_array", width=64, height=48, camera={"distance": 3.0}
    )
    env.reset(seed=0)
    assert env.render().shape == (48, 64, 3) and env.camera.distance == 3.0


@pytest.mark.guard
@both
@every_robot
def test_pictures_look_the_same_whichever_engine_moves_the_body(name: str) -> None:
    pictures = []
    for engine in HERE:
        env = ROBOTS[name].env(engine=engine, render_mode="rgb_array", width=160, height=120, noise=0.0)
        env.reset(seed=0)
        pictures.append(env.render().astype(int))
    # The same pose but for rounding, which may decide about a pixel at an edge.
    assert (np.abs(pictures[0] - pictures[1]).max(axis=2) > 8).mean() < 0.005


@every_engine
def test_where_nothing_can_be_drawn_with(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*size: object) -> None:
        raise ImportError("no driver")

    monkeypatch.setattr("robots.painter.mj.Renderer", broken)
    env = ROBOTS["hexapod"].env(engine=engine, render_mode="rgb_array", width=160, height=120)
    env.reset(seed=0)
    if engine == "mujoco":
        with pytest.raises(RobotError, match=r"\(ImportError: no driver\): it needs EGL or OSMesa; install"):
            env.render()
    else:  # it has a renderer of its own
        for picture in (env.render(), env.render()):
            assert picture.shape == (120, 160, 3) and np.ptp(picture.astype(int), axis=2).max() > 60


@every_engine
def test_the_leap_is_seen_by_the_shadow_that_stays_on_the_ground(engine: str) -> None:
    env = ROBOTS["hexapod"].env(engine=engine, render_mode="rgb_array", noise=0.0, width=320, height=240)
    env.reset(seed=0)
    seen = []
    for height in (0.0, 0.3):
        snapshot = env.snapshot()
        snapshot["base"][2] += height
        env.restore(snapshot)
        picture = env.render().astype(int)
        ground = np.ptp(picture, axis=2) < 40  # neither robot nor sky
        dark = ground & (picture.max(axis=2) < 110)
        seen.append((np.nonzero(dark)[0].mean(), np.nonzero(np.ptp(picture, axis=2) > 90)[0].mean()))
        assert 0.01 < dark.mean() < 0.2
    (shadow, robot), (shadow_below, robot_above) = seen
    assert robot_above < robot - 20  # pixels, upwards
    assert abs(shadow_below - shadow) < 20
