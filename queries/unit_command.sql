-- grain: one row per command (a process over its launch and polls)
-- keys: call_pk of the launch
-- columns: as commands; approval_seconds, which only calls and pauses know; zero_inflated: its clock cannot be trusted;
--   did_not_run: it is no duration; ended_after: the process was last seen running then, and a poll that returned at
--   once (in half a second, the longest start-up of a tool) found it ended: the end lies in (ended_after, seconds]; null
--   where the end was seen, by the launch or by a poll that waited for it
-- invariants: as many rows as commands; ended_after < seconds
CREATE OR REPLACE TEMP VIEW unit_rows AS
WITH last_poll AS (
    SELECT m.call_pk, max(p.emitted_at) AS asked_at
    FROM commands AS m
    JOIN tool_calls AS l ON l.rowid = m.call_pk - 1
    JOIN tool_calls AS p ON p.continuation_of_tool_call_id = l.tool_call_id
        AND date_diff('microsecond', m.started_at, p.result_at) = CAST(round(m.seconds * 1e6) AS BIGINT)
    WHERE m.n_polls > 0 AND m.observed AND m.finished_after_seconds < m.seconds
    GROUP BY m.call_pk
)
SELECT m.*, CAST(NULL AS DOUBLE) AS approval_seconds, m.wall_zero_inflated AS zero_inflated,
    m.end_kind = 'refused' AS did_not_run,
    CASE WHEN date_diff('microsecond', m.started_at, p.asked_at) / 1e6 >= m.seconds - 0.5
        THEN m.finished_after_seconds END AS ended_after
FROM commands AS m LEFT JOIN last_poll AS p ON p.call_pk = m.call_pk
