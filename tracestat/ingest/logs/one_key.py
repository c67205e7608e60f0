"""Logs read with different keys do not mix unseen: ids of the same session would differ, and it would count twice."""

from __future__ import annotations

from collections.abc import Sequence

from tracestat.errors import TracestatError
from tracestat.ingest.logs.planned import PlannedLog
from tracestat.ingest.logs.reading import key_mark
from tracestat.user_key import user_key

__all__ = ["check_key"]


def check_key(logs: Sequence[PlannedLog], store: str) -> None:
    """Refuse to read logs into a store whose logs were read with another key.

    Stores of several people may still be put together, and each may read on: their logs are not the same.

    Raises
    ------
    TracestatError
        The key is another one.
    """
    known = {log.stored.key for log in logs if log.stored is not None and log.stored.key}
    if not known or not any(log.found is not None for log in logs):
        return
    if key_mark(user_key()) not in known:
        raise TracestatError(
            f"{store} holds logs that were read with another key, so that ids would not agree: use the TRACESTAT_KEY "
            "of before, or read the logs into a store of their own"
        )
