"""Pictures and windows that MuJoCo draws: pictures of every body, whichever engine moves it."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robots.body import Body, Floats
from robots.camera import Camera
from robots.config import RobotConfig
from robots.errors import RobotError
from robots.mujoco_model import compile_body, mj


class Painter:
    """Draws a body on its ground, with shadow and sky, without a display.

    Raises RobotError where MuJoCo finds nothing to draw with.
    """

    def __init__(self, body: Body, config: RobotConfig) -> None:
        self._model = compile_body(body, config, drawn=True)
        # Edges are not smoothed, which would take longer than all else.
        self._model.vis.quality.offsamples = 0
        self._data = mj.MjData(self._model)
        self._options = _visible()
        self._renderer: Any = None

    def picture(self, pose: Floats, centre: Floats, camera: Camera) -> NDArray[np.uint8]:
        """The body in a pose: position and orientation (w, x, y, z) of its base, then its joints."""
        size = (camera.height, camera.width)
        if self._renderer is None or (self._renderer.height, self._renderer.width) != size:
            self._open(size)
        self._data.qpos[:] = pose
        mj.mj_kinematics(self._model, self._data)
        mj.mj_comPos(self._model, self._data)
        mj.mj_camlight(self._model, self._data)
        self._renderer.update_scene(self._data, _aim(mj.MjvCamera(), centre, camera), self._options)
        return self._renderer.render()  # type: ignore[no-any-return]

    def _open(self, size: tuple[int, int]) -> None:
        self.close()
        look: Any = self._model.vis
        look.global_.offheight, look.global_.offwidth = size
        try:
            self._renderer = mj.Renderer(self._model, *size)
        except Exception as error:  # whatever the drivers of this machine raise
            raise RobotError(
                f"MuJoCo cannot draw here ({type(error).__name__}: {error}): it needs EGL or OSMesa; install "
                "libegl1 or libosmesa6 (Debian), set MUJOCO_GL=egl or osmesa before mujoco is imported, or "
                "use the engine 'pybullet', which can draw by itself"
            ) from error

    def close(self) -> None:
        """Free what it draws with."""
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None


class Window:
    """MuJoCo's own viewer, on a copy of the state: neither it nor the mouse has a part in the experiment."""

    def __init__(self, model: Any) -> None:
        import mujoco.viewer

        self._model, self._data = model, mj.MjData(model)
        before = set(threading.enumerate())
        self._viewer = mujoco.viewer.launch_passive(
            model, self._data, show_left_ui=False, show_right_ui=False
        )
        self._threads = set(threading.enumerate()) - before
        self._viewer.opt.geomgroup[:] = _visible().geomgroup

    def show(self, data: Any, centre: Floats, camera: Camera) -> None:
        """Show a state, with the camera aimed at this centre."""
        with self._viewer.lock():
            mj.mj_copyData(self._data, self._model, data)
            _aim(self._viewer.cam, centre, camera)
        self._viewer.sync()

    def close(self) -> None:
        """Close the window and wait for its thread: an interpreter that ends before it does crashes."""
        self._viewer.close()
        for thread in self._threads:
            thread.join(timeout=10)


def _visible() -> Any:
    """Draw what is there to be seen: group 0 is what collides."""
    options = mj.MjvOption()
    options.geomgroup[0] = 0
    return options


def _aim(view: Any, centre: Floats, camera: Camera) -> Any:
    view.lookat[:] = [*centre[:2], camera.look_at]
    view.distance, view.azimuth, view.elevation = camera.distance, camera.yaw + 90, camera.pitch
    return view
