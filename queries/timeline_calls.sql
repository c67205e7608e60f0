-- grain: one row per tool call of one session
-- keys: call_pk
-- columns: when and how long (seconds null: the log does not say when it began), what, how it ended; then what is known of
--   the process after the call (job_ended_at: a notice told its end; command_seconds, command_end: from its polls)
--   occurrence: 2 and above where the session has the same call again
-- invariants: one row of occurrence 1 per (call id, emission) of the session; ascending in time
-- parameters: provider, developer, session
WITH mine AS (
    SELECT d.call_pk, d.round_pk, r.round_index, d.model, d.started_at, d.seconds, d.observed, d.end_kind, d.tool,
        d.tool_class, d.command_class, d.command_skeleton, d.n_calls, d.asked_limit_seconds, d.approval_seconds,
        d.permission_mode, d.is_subagent, d.context_tokens, c.job_ended_at,
        k.seconds AS command_seconds, k.end_kind AS command_end, k.n_polls,
        row_number() OVER (PARTITION BY coalesce(c.tool_call_id, concat('row ', d.call_pk)), c.emitted_at
            ORDER BY d.call_pk) AS occurrence
    FROM rounds AS r
    JOIN calls AS d ON d.round_pk = r.round_pk
    JOIN tool_calls AS c ON c.rowid + 1 = d.call_pk
    LEFT JOIN commands AS k ON k.call_pk = d.call_pk
    WHERE r.provider = $provider AND r."user" IS NOT DISTINCT FROM $developer AND r.session_id = $session
)
SELECT * FROM mine ORDER BY started_at, call_pk
