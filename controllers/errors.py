"""The one error that this package raises for a value that it cannot work with."""


class ControllerError(ValueError):
    """A value that a controller cannot work with; the message names it, the limit and the remedy.

    Examples
    --------
    >>> from controllers import ControllerError, make
    >>> try:
    ...     make("ulr", n_sensors=19, n_motors=18, config={"eps": -1.0})
    ... except ControllerError as error:
    ...     print(error)
    ULRConfig.eps = -1.0 is outside [0, 10]; choose a value within.
    """
