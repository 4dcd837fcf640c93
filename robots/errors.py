"""The one error that this package raises for a value that it cannot work with."""


class RobotError(ValueError):
    """A value that a robot cannot work with; the message names it, the limit and the remedy.

    Calls out of turn, such as a step before the first reset, are mistakes of the program that makes them: a
    `RuntimeError`.

    Examples
    --------
    >>> from robots import RobotError, SnakeConfig
    >>> try:
    ...     SnakeConfig(noise_rate=2.0)
    ... except RobotError as error:
    ...     print(error)
    SnakeConfig.noise_rate is 2.0: it must be at most 1
    """
