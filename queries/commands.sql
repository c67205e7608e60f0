-- grain: one row per process: a shell call together with the polls that continue it (Codex), or alone
-- keys: round_pk, tool_index of the launch
-- columns: as calls; then finished_after_seconds (the process was still seen running then: it ended in
--   (finished_after_seconds, seconds]), n_polls
-- invariants: finished_after_seconds <= seconds; observed only for completed; a poll belongs to at most one command
WITH launch AS (
    SELECT c.round_pk, c.tool_index, c.tool_call_id, c.emitted_at, c.result_at, c.command_status, p.session_pk,
        row_number() OVER (ORDER BY c.round_pk, c.tool_index, c.emitted_at) AS command_pk
    FROM tool_calls AS c
    JOIN pauses AS p USING (round_pk)
    JOIN tool_classes AS t ON t.tool IS NOT DISTINCT FROM c.tool_name
    WHERE t.tool_class = 'shell' AND c.continuation_of_tool_call_id IS NULL
),
-- the link of a poll names the launch; where a session repeats that id, the nearest launch before the poll is meant
poll AS (
    SELECT l.command_pk, c.round_pk, c.tool_index, c.emitted_at, c.result_at, c.command_status
    FROM tool_calls AS c
    JOIN pauses AS p USING (round_pk)
    JOIN launch AS l ON l.session_pk = p.session_pk AND l.tool_call_id = c.continuation_of_tool_call_id
        AND l.round_pk <= c.round_pk
    QUALIFY row_number() OVER (PARTITION BY c.round_pk, c.tool_index, c.tool_call_id ORDER BY l.command_pk DESC) = 1
),
member AS (
    SELECT command_pk, round_pk, tool_index, emitted_at, result_at, command_status, TRUE AS is_launch FROM launch
    UNION ALL
    SELECT command_pk, round_pk, tool_index, emitted_at, result_at, command_status, FALSE AS is_launch FROM poll
),
placed AS (
    SELECT *,
        row_number() OVER (PARTITION BY command_pk ORDER BY emitted_at, round_pk, tool_index) AS place,
        count(*) OVER (PARTITION BY command_pk) AS n_members
    FROM member
),
-- the finishing member: a launch without a status of its own is over when it returns, unless polls follow it
finish AS (
    SELECT command_pk, min(place) AS place
    FROM placed
    WHERE result_at IS NOT NULL
        AND (command_status IN ('finished', 'failed', 'aborted', 'session_error')
            OR (is_launch AND command_status IS NULL AND n_members = 1))
    GROUP BY command_pk
),
seen AS (
    SELECT m.command_pk,
        max(m.result_at) FILTER (WHERE f.place IS NULL OR m.place < f.place) AS last_running,
        max(m.result_at) FILTER (WHERE m.place = f.place) AS finished_at,
        max(m.command_status) FILTER (WHERE m.place = f.place) AS final_status,
        bool_or(m.result_at IS NULL) AS has_lost,
        count(*) FILTER (WHERE NOT m.is_launch) AS n_polls
    FROM placed AS m LEFT JOIN finish AS f USING (command_pk)
    GROUP BY m.command_pk
),
told AS (
    SELECT c.*, s.n_polls, s.last_running, l.emitted_at, l.command_pk,
        CASE WHEN s.finished_at IS NOT NULL AND s.final_status = 'aborted' THEN 'interrupted'
             WHEN s.finished_at IS NOT NULL THEN 'completed'
             WHEN s.has_lost THEN c.end_kind
             ELSE 'deadline' END AS final_kind,
        coalesce(s.finished_at, s.last_running) AS end_at
    FROM launch AS l
    JOIN seen AS s USING (command_pk)
    JOIN calls AS c ON c.round_pk = l.round_pk AND c.tool_index = l.tool_index AND c.call_id = l.tool_call_id
        AND c.started_at = l.emitted_at
    QUALIFY row_number() OVER (PARTITION BY l.command_pk ORDER BY c.seconds) = 1
)
SELECT
    provider, developer, session, project, tool, tool_class, command_class, command_skeleton, model, n_calls,
    mixed_key, started_at,
    coalesce(date_diff('microsecond', emitted_at, end_at) / 1e6, seconds) AS seconds,
    0e0 AS entry_seconds,
    final_kind = 'completed' AS observed,
    final_kind AS end_kind,
    asked_limit_seconds, resolution_seconds,
    CAST(NULL AS DOUBLE) AS internal_seconds,
    CAST(NULL AS DOUBLE) AS effective_seconds,
    context_tokens, is_copy,
    coalesce(date_diff('microsecond', emitted_at,
        CASE WHEN final_kind IN ('completed', 'interrupted') THEN last_running ELSE end_at END) / 1e6, 0)
        AS finished_after_seconds,
    n_polls, wall_zero_inflated, executables, is_error, permission_mode, is_subagent, call_id, session_pk, round_pk, tool_index
FROM told
