-- grain: one row per (provider, tool, command class, session, developer)
-- keys: provider, tool_name, command_class, session_pk, developer_id
-- columns: calls; of these errors (marked as such), skeletons (with one that is not empty), parsed (executables all named)
-- invariants: copies kept: calls sums to the rows of tool_calls; each other column is at most calls
-- parameters: copies (true: kept)
SELECT c.provider, t.tool_name, c.command_class, c.session_pk, hash(c.developer) AS developer_id, count(*) AS calls,
    count(*) FILTER (WHERE t.is_error) AS errors, count(*) FILTER (WHERE t.command_skeleton <> '') AS skeletons,
    count(*) FILTER (WHERE t.executable_parse_status = 'success') AS parsed
FROM tool_calls AS t JOIN calls AS c ON c.call_pk = t.rowid + 1
WHERE $copies OR NOT c.is_copy
GROUP BY ALL
ORDER BY session_pk
