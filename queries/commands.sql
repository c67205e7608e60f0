-- grain: one row per process: a shell call together with the polls that continue it (Codex), or alone
-- keys: call_pk of the launch
-- columns: as calls; then finished_after_seconds (the process was still seen running then: it ended in
--   (finished_after_seconds, seconds]), n_polls
-- invariants: finished_after_seconds <= seconds; observed only for completed; a poll belongs to at most one command
WITH linked AS (
    SELECT d.call_pk, d.session_pk, d.round_pk, d.tool_index, d.started_at, d.end_kind, c.result_at AS ended_at,
        c.command_status, c.continuation_of_tool_call_id AS continuation_of
    FROM tool_calls AS c JOIN calls AS d ON d.call_pk = c.rowid + 1
    WHERE c.continuation_of_tool_call_id IS NOT NULL
),
-- only launches that some poll names need their status; the others are over when they return
launch AS (
    SELECT d.call_pk, d.session_pk, d.round_pk, d.tool_index, d.started_at, d.end_kind, c.result_at AS ended_at,
        c.command_status, c.tool_call_id AS call_id
    FROM tool_calls AS c JOIN calls AS d ON d.call_pk = c.rowid + 1
    WHERE c.continuation_of_tool_call_id IS NULL AND d.tool_class = 'shell'
        AND c.tool_call_id IN (SELECT continuation_of FROM linked)
),
-- the link of a poll names the launch; where a session repeats that id, the nearest launch before the poll is meant
poll AS (
    SELECT l.call_pk AS command_pk, c.call_pk, c.round_pk, c.tool_index, c.started_at, c.ended_at, c.command_status,
        c.end_kind
    FROM linked AS c JOIN launch AS l
        ON l.session_pk = c.session_pk AND l.call_id = c.continuation_of AND l.round_pk <= c.round_pk
    QUALIFY row_number() OVER (PARTITION BY c.call_pk ORDER BY l.round_pk DESC, l.call_pk DESC) = 1
),
member AS (
    SELECT *, FALSE AS is_launch FROM poll
    UNION ALL
    SELECT call_pk AS command_pk, call_pk, round_pk, tool_index, started_at, ended_at, command_status, end_kind,
        TRUE AS is_launch
    FROM launch WHERE call_pk IN (SELECT command_pk FROM poll)
),
placed AS (
    SELECT *, row_number() OVER (PARTITION BY command_pk ORDER BY started_at, round_pk, tool_index, call_pk) AS place
    FROM member
),
finish AS (
    SELECT command_pk, min(place) AS place
    FROM placed
    WHERE ended_at IS NOT NULL AND command_status IN ('finished', 'failed', 'aborted', 'session_error')
    GROUP BY command_pk
),
-- commands with polls, and what is known of their end
chain AS (
    SELECT m.command_pk,
        max(m.ended_at) FILTER (WHERE f.place IS NULL OR m.place < f.place) AS last_running,
        max(m.ended_at) FILTER (WHERE m.place = f.place) AS finished_at,
        max(m.command_status) FILTER (WHERE m.place = f.place) AS final_status,
        -- lost or open, where a member has no result
        max(m.end_kind) FILTER (WHERE m.ended_at IS NULL) AS lost_kind,
        count(*) FILTER (WHERE NOT m.is_launch) AS n_polls
    FROM placed AS m LEFT JOIN finish AS f USING (command_pk)
    GROUP BY m.command_pk
),
-- a process that outlived its call, whose end a notice tells
job AS (
    SELECT d.call_pk, c.job_ended_at
    FROM tool_calls AS c JOIN calls AS d ON d.call_pk = c.rowid + 1
    WHERE c.job_ended_at >= c.result_at AND d.end_kind IN ('deadline', 'background')
),
told AS (
    SELECT l.*, coalesce(c.n_polls, 0) AS n_polls,
        CASE WHEN c.command_pk IS NULL AND j.job_ended_at IS NOT NULL THEN 'completed'
             WHEN c.command_pk IS NULL THEN l.end_kind
             WHEN c.finished_at IS NOT NULL AND c.final_status = 'aborted' THEN 'interrupted'
             WHEN c.finished_at IS NOT NULL THEN 'completed'
             WHEN c.lost_kind IS NOT NULL THEN c.lost_kind
             ELSE 'deadline' END AS final_kind,
        CASE WHEN c.command_pk IS NULL
                THEN coalesce(date_diff('microsecond', l.started_at, j.job_ended_at) / 1e6, l.seconds)
             ELSE coalesce(date_diff('microsecond', l.started_at, coalesce(c.finished_at, c.last_running)) / 1e6,
                l.seconds) END AS command_seconds,
        CASE WHEN c.command_pk IS NOT NULL
                THEN coalesce(date_diff('microsecond', l.started_at, c.last_running) / 1e6, 0)
             WHEN l.end_kind IN ('deadline', 'background') THEN l.seconds ELSE 0 END AS finished_after_seconds
    FROM calls AS l
    LEFT JOIN chain AS c ON c.command_pk = l.call_pk
    LEFT JOIN job AS j ON j.call_pk = l.call_pk
    WHERE l.tool_class = 'shell' AND l.call_pk NOT IN (SELECT call_pk FROM linked)
)
SELECT
    provider, developer, session, project, tool, tool_class, command_class, command_skeleton, model, n_calls,
    mixed_key, started_at,
    command_seconds AS seconds,
    0e0 AS entry_seconds,
    final_kind = 'completed' AS observed,
    final_kind AS end_kind,
    asked_limit_seconds, resolution_seconds,
    CAST(NULL AS DOUBLE) AS internal_seconds,
    CAST(NULL AS DOUBLE) AS effective_seconds,
    context_tokens, is_copy,
    finished_after_seconds,
    n_polls, wall_zero_inflated, permission_mode, is_subagent, command_fingerprint, session_pk, round_pk, tool_index, call_pk
FROM told
