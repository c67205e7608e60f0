-- grain: one row per wait, longest first
-- keys: round_pk (and the place among the calls of that round)
-- columns: who, what, when, how long, how it ended
-- invariants: at most $longest rows, seconds descending
-- parameters: rows, longest
SELECT
    provider, developer, project, session, model, tool, tool_class, command_class, command_skeleton, n_calls,
    started_at, seconds, observed, end_kind, asked_limit_seconds, context_tokens, round_pk
FROM durations
WHERE excluded IS NULL AND ($rows = 'all' OR row_kind = $rows) AND {where}
ORDER BY seconds DESC, round_pk, tool
LIMIT $longest
