-- grain: one row per duration that takes part, with the four keys that laws are made for
-- keys: none; equal rows may stand several times
-- columns: provider, tool_class, tool, command_skeleton, session_pk, developer_id (a hash, means nothing outside one
--   result), seconds, observed, resolution_seconds
-- invariants: as many rows as the selection has; the order does not depend on that of the store, so that sums of floats
--   made of the rows do not
-- parameters: rows
SELECT provider, tool_class, tool, command_skeleton, session_pk, hash(developer) AS developer_id, seconds, observed,
    resolution_seconds
FROM durations
WHERE excluded IS NULL AND ($rows = 'all' OR row_kind = $rows) AND {where}
ORDER BY session_pk, provider, tool_class, tool, command_skeleton, seconds, observed
