-- grain: one row: TraceLab's command lifecycle over all chains of exec_command and the write_stdin that continue it
-- keys: none
-- columns: commands, finished, with_continuation; wall_until_finished in milliseconds: n, lower median, max, sum
-- invariants: finished <= commands; a chain ends at its first `finished` member by (round_pk, tool_index)
WITH placed AS (
    SELECT c.*, r.provider, r."user" AS developer, r.session_id
    FROM tool_calls AS c JOIN rounds AS r USING (round_pk)
    WHERE c.tool_name IN ('exec_command', 'write_stdin')
),
root AS (
    SELECT * FROM placed WHERE tool_name = 'exec_command'
),
member AS (
    SELECT r.round_pk AS root_pk, r.tool_index AS root_index, m.round_pk, m.tool_index, m.command_status, m.result_at,
        r.emitted_at, m.tool_name = 'write_stdin' AS is_poll
    FROM root AS r JOIN placed AS m
        ON m.provider = r.provider AND m.developer IS NOT DISTINCT FROM r.developer AND m.session_id = r.session_id
        AND ((m.tool_name = 'exec_command' AND m.round_pk = r.round_pk AND m.tool_index = r.tool_index)
            OR (m.tool_name = 'write_stdin' AND m.continuation_of_tool_call_id = r.tool_call_id))
),
chain AS (
    SELECT root_pk, root_index, bool_or(is_poll) AS continued,
        arg_min(date_diff('millisecond', emitted_at, result_at), (round_pk, tool_index))
            FILTER (WHERE command_status = 'finished') AS wall_ms,
        bool_or(command_status IS NOT DISTINCT FROM 'finished') AS finished
    FROM member
    GROUP BY root_pk, root_index
)
SELECT
    count(*) AS commands, count(*) FILTER (WHERE finished) AS finished, count(*) FILTER (WHERE continued) AS with_continuation,
    count(wall_ms) AS n, quantile_disc(wall_ms, 0.5) AS p50_lower, max(wall_ms) AS "max", sum(wall_ms) AS "sum"
FROM chain
