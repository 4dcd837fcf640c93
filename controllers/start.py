"""The weights that rules start from."""

from __future__ import annotations

import numpy as np

from controllers.base import Array
from controllers.errors import ControllerError


def initial_C(n_motors: int, n_sensors: int, scale: float, rotation: float = 0.0, wave: float = 0.0) -> Array:
    """Give C_0 = scale * identity, plus couplings within and between joints of two axes.

    Motor i answers its own joint sensor i with `scale`. With a rotation r, motors (2k, 2k + 1) are the two
    axes of joint k and the block [[0, -r], [r, 0]] is added: the angle of one axis drives the other.
    With a wave w the sensor of each axis drives the same axis of the next joint with +w and of the joint
    before with -w: what bends one joint runs on towards the last.

    Raises
    ------
    ControllerError
        When a coupling is asked for and motors and their sensors do not come in pairs.
    """
    C = scale * np.eye(n_motors, n_sensors)
    for name, value in (("rotation", rotation), ("wave", wave)):
        if value != 0.0 and (n_motors % 2 or n_sensors < n_motors):
            raise ControllerError(
                f"{name} = {value:g} needs joints of two axes, but there are {n_motors} motors and "
                f"{n_sensors} sensors; set {name} to 0 for this body."
            )
    if rotation != 0.0:
        for k in range(0, n_motors, 2):
            C[k, k + 1] -= rotation
            C[k + 1, k] += rotation
    if wave != 0.0:
        for k in range(n_motors - 2):
            C[k + 2, k] += wave
            C[k, k + 2] -= wave
    return C
