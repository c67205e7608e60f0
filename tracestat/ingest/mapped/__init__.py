"""Any plain table of tool calls or of requests: a mapping says which column serves for what.

What a table leaves open is settled once, and told by ``ingest``:

- **Rounds of a table of calls.** Calls that share ``session`` and ``request_id`` are one round. Without ``request_id``,
  calls of a session that overlap in a chain, or begin together, are one round: a model goes on only when all results
  are back. (A developer who runs several agents in one "session" needs ``request_id``.)
- **Where its pause begins.** At the last start before the first end of the round: all calls of a response had been
  written before the first of them came back, so one that began later waited in line, and its wait is pause.
- **Rounds of a table of requests.** Each request is one, in the order of arrival. The pause runs from the end of the
  last of overlapping requests to the next arrival, and is told as one call of the tool that the request names. Where
  tools are named, a request without one handed back to its user: the gap after it is no pause.
- **A call without an end** stays, as a call without a result: its pause is lost or open, never dropped. A request
  without an end ends the pause before it and begins none.
- **An end before its start** stays as it is; where most rows have one, the two columns are taken to be swapped.
- **Ids** become pseudonyms with the user's key. Where a table has none, they are made of session and time, so that the
  same row in another export has the same id. Provider and developer are kept as they are written.
"""

from __future__ import annotations

from tracestat.ingest.mapped.mapping import Mapping, load_mapping
from tracestat.ingest.mapped.reader import MappedTable, describe, read_mapped

__all__ = ["MappedTable", "Mapping", "describe", "load_mapping", "read_mapped"]
