-- grain: one row per (rule, call of a tool that runs a shell command)
-- keys: rule, call_pk
-- columns: who; tool; n_executables (null where the trace does not tell them), executable, where there is exactly one
--   and it was parsed; parsed, has_skeleton; call_seconds, its own latency; command_seconds and finished: the process
--   over its polls, and whether its end was seen; reads_zero: the runner reported no time
-- rules: tracelab: effective latency, at least 1 ms; a Codex process lasts from its launch to its first result marked
--   finished, other shell calls as long as their call; what was not seen to finish is left out (null). tracestat: wall
--   latency; a process that was not seen to finish lasted at least command_seconds; copies dropped
-- invariants: command_seconds is not null where finished; tools are Bash, exec_command, shell, shell_command
CREATE OR REPLACE TEMP TABLE shell_calls AS
WITH launched AS (
    SELECT s.rule, s.session_pk, s.pooled, s.provider, s.developer, s.project, s.session, s.started_at, s.round_pk,
        c.rowid + 1 AS call_pk, c.tool_index, c.tool_name AS tool, c.tool_call_id, c.emitted_at, c.result_at,
        c.command_status, len(c.executables) AS n_executables,
        CASE WHEN c.executable_parse_status = 'success' AND len(c.executables) = 1 THEN c.executables[1] END
            AS executable,
        c.executable_parse_status = 'success' AS parsed, c.command_skeleton <> '' AS has_skeleton,
        coalesce(c.tool_internal_latency_ms, c.tool_wall_latency_ms) AS effective_ms,
        c.tool_internal_latency_ms = 0 AS reads_zero, c.start_kind
    FROM session_steps AS s JOIN tool_calls AS c ON c.round_pk = s.round_pk
    WHERE c.tool_name IN ('Bash', 'exec_command', 'shell', 'shell_command')
),
member AS (
    SELECT s.session_pk, s.provider, c.round_pk, c.tool_index, c.result_at,
        CASE WHEN c.tool_name = 'exec_command' THEN c.tool_call_id ELSE c.continuation_of_tool_call_id END AS launch_id,
        r."user" AS developer
    FROM session_steps AS s JOIN tool_calls AS c ON c.round_pk = s.round_pk JOIN rounds AS r ON r.round_pk = c.round_pk
    WHERE s.rule = 'tracelab' AND s.provider = 'codex' AND c.tool_name IN ('exec_command', 'write_stdin')
        AND c.command_status = 'finished'
),
finish AS (
    SELECT session_pk, developer, launch_id, arg_min(result_at, (round_pk, tool_index)) AS finished_at
    FROM member
    WHERE launch_id IS NOT NULL
    GROUP BY session_pk, developer, launch_id
),
plain_rule AS (
    SELECT l.*, CASE WHEN l.effective_ms IS NOT NULL THEN greatest(l.effective_ms, 1) / 1e3 END AS call_seconds,
        CASE WHEN l.provider = 'codex' AND l.tool = 'exec_command' AND f.finished_at IS NULL THEN NULL
             WHEN l.provider = 'codex' AND l.tool = 'exec_command'
                THEN greatest(round(date_diff('microsecond', l.emitted_at, f.finished_at) / 1e3), 1) / 1e3
             WHEN l.effective_ms IS NOT NULL THEN greatest(l.effective_ms, 1) / 1e3 END AS command_seconds
    FROM launched AS l
    JOIN rounds AS r ON r.round_pk = l.round_pk
    LEFT JOIN finish AS f
        ON f.session_pk = l.session_pk AND f.developer IS NOT DISTINCT FROM r."user" AND f.launch_id = l.tool_call_id
    WHERE l.rule = 'tracelab'
)
SELECT * EXCLUDE (tool_index, tool_call_id, emitted_at, result_at, command_status, effective_ms, start_kind),
    command_seconds IS NOT NULL AS finished
FROM plain_rule
UNION ALL BY NAME
SELECT l.* EXCLUDE (tool_index, tool_call_id, emitted_at, result_at, command_status, effective_ms, start_kind),
    CASE WHEN l.result_at IS NOT NULL AND l.start_kind IS DISTINCT FROM 'false'
            AND date_diff('microsecond', l.emitted_at, l.result_at) >= -100000
        THEN greatest(0, date_diff('microsecond', l.emitted_at, l.result_at)) / 1e6 END AS call_seconds,
    CASE WHEN d.end_kind <> 'refused' AND d.seconds >= -0.1 THEN greatest(0, d.seconds) END AS command_seconds,
    coalesce(d.observed, FALSE) AS finished
FROM launched AS l LEFT JOIN commands AS d ON d.call_pk = l.call_pk
WHERE l.rule = 'tracestat'
