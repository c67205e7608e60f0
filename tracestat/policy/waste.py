"""InferCept's wastes: what keeping, dropping and swapping a paused cache costs, in byte-seconds of GPU memory.

Numbers of its equations (1) to (5) stand with each. C is the context of the paused request, C_other that of the others
in the batch, both tokens; M bytes per token.
"""

from __future__ import annotations

from collections.abc import Callable

from tracestat.errors import UsageError

__all__ = ["chunked_discard_waste", "discard_waste", "least_waste", "preserve_waste", "remaining_unknown", "swap_waste"]


def discard_waste(forward: float, context: float, others: float, bytes_per_token: float) -> float:
    """Give (1), ``T_fwd(C) C M + T_fwd(C) C_other M``: all of it is computed again while the others wait.

    Parameters
    ----------
    forward : float
        T_fwd(C), seconds of the forward pass over the context.
    context, others : float
        C and C_other, tokens.
    bytes_per_token : float
        M.

    Returns
    -------
    float
        Byte-seconds.

    Examples
    --------
    >>> discard_waste(2.0, 100, 300, 10)
    8000.0
    """
    return forward * context * bytes_per_token + forward * others * bytes_per_token


def preserve_waste(remaining: float, context: float, bytes_per_token: float) -> float:
    """Give (2), ``T_INT C M``: it stays for the rest of the pause.

    With ``remaining`` the mean residual life at the time already waited this is the expected waste; InferCept itself,
    which knows no law, takes `remaining_unknown`.

    Examples
    --------
    >>> preserve_waste(3.0, 100, 10)
    3000.0
    """
    return remaining * context * bytes_per_token


def swap_waste(swap: float, batch_context: float, bytes_per_token: float) -> float:
    """Give (3), ``2 T_swap(C) C_batch M``: the batch waits for the way out and the way back.

    ``swap`` is T_swap(C), seconds one way.

    Examples
    --------
    >>> swap_waste(0.5, 400, 10)
    4000.0
    """
    return 2 * swap * batch_context * bytes_per_token


def chunked_discard_waste(
    forward: Callable[[float], float], context: float, others: float, bytes_per_token: float, chunks: int
) -> float:
    """Give (4), ``T_fwd(C) C M / 2 + n T_fwd(C / n) C_other M``: computed again in ``chunks`` pieces.

    Examples
    --------
    >>> chunked_discard_waste(lambda tokens: 0.01 * tokens, 100, 300, 10, 4)
    3500.0
    """
    if chunks < 1:
        raise UsageError(f"chunks {chunks}: give 1 or more")
    own = forward(context) * context * bytes_per_token / 2
    return own + chunks * forward(context / chunks) * others * bytes_per_token


def least_waste(preserve: float, chunked_discard: float) -> float:
    """Give (5), the smaller of (2) and (4): swapped first is what has the largest.

    Examples
    --------
    >>> least_waste(3000.0, 3500.0)
    3000.0
    """
    return min(preserve, chunked_discard)


def remaining_unknown(elapsed: float) -> float:
    """Give InferCept's guess at what is left of a pause: as long as it has lasted.

    It is the mean residual life of a Pareto law of exponent 2.

    Examples
    --------
    >>> remaining_unknown(7.0)
    7.0
    """
    return elapsed
