"""What the package refuses about its input."""


class QuantifyError(ValueError):
    """A series, a setting or a file that cannot give a result; the message names the value and the remedy.

    The base of every error that this package raises about its input. Anything else is a bug.

    Examples
    --------
    >>> from quantify import QuantifyError, quantify
    >>> try:
    ...     quantify([1.0, 2.0, float("nan")])
    ... except QuantifyError as error:
    ...     print(error)
    series holds nan at sample 2 (observable 0); remove or interpolate such samples first.
    """


class DtypeError(QuantifyError, TypeError):
    """A series that does not hold real numbers.

    Examples
    --------
    >>> from quantify import choose_delay
    >>> choose_delay(["a", "b", "c"])
    Traceback (most recent call last):
    quantify.errors.DtypeError: series has dtype <U1; real numbers (float or integer) are needed.
    """
