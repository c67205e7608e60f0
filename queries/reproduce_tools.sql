-- grain: one row per (provider, tool, command class, session, developer)
-- keys: provider, tool_name, command_class, session_pk, developer_id
-- columns: calls
-- invariants: copies kept: calls sums to the rows of tool_calls
-- parameters: copies (true: kept)
SELECT c.provider, t.tool_name, c.command_class, c.session_pk, hash(c.developer) AS developer_id, count(*) AS calls
FROM tool_calls AS t JOIN calls AS c ON c.call_pk = t.rowid + 1
WHERE $copies OR NOT c.is_copy
GROUP BY ALL
ORDER BY session_pk
