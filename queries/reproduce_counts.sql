-- grain: one row per provider, and one for all (provider null): what a trace holds
-- keys: provider
-- columns: rounds, sessions, developers, timing_events, multi_round (sessions of more than one round), tool_calls,
--   timed_calls (both stamps), errors, error_sessions, continuations (polls that name their launch), skeletons, tools
--   (distinct names); launches of a shell, and those with a skeleton that is not empty; largest_context (tokens);
--   months (seconds from the first event to the last)
-- invariants: copies kept: the rows of the tables, sessions by their id alone; copies dropped: of rounds with the same
--   (provider, round_id) the first, sessions and developers that such a round is left of, sessions by (provider,
--   developer, id), calls without those of resumed sessions
-- parameters: copies (true: kept)
WITH round AS (
    SELECT round_pk, provider, "user" AS developer, session_id,
        CASE WHEN $copies THEN session_id ELSE concat_ws(chr(31), provider, "user", session_id) END AS session_key,
        NOT $copies AND round_id IS NOT NULL
            AND row_number() OVER (PARTITION BY provider, round_id ORDER BY round_pk) > 1 AS is_left_out,
        TRY(input_tokens_total + output_tokens) AS context_tokens
    FROM rounds
),
call AS (
    SELECT r.provider, r.session_key, t.*
    FROM tool_calls AS t
    JOIN calls AS c ON c.call_pk = t.rowid + 1
    JOIN round AS r ON r.round_pk = t.round_pk
    WHERE $copies OR NOT c.is_copy
),
of_calls AS (
    SELECT provider, count(*) AS tool_calls, count(*) FILTER (WHERE emitted_at IS NOT NULL AND result_at IS NOT NULL) AS timed_calls,
        count(*) FILTER (WHERE is_error) AS errors, count(DISTINCT session_key) FILTER (WHERE is_error) AS error_sessions,
        count(*) FILTER (WHERE continuation_of_tool_call_id IS NOT NULL) AS continuations,
        count(*) FILTER (WHERE command_skeleton IS NOT NULL) AS skeletons, count(DISTINCT tool_name) AS tools,
        count(*) FILTER (WHERE tool_name IN ('Bash', 'exec_command', 'shell', 'shell_command')) AS launches,
        count(*) FILTER (WHERE tool_name IN ('Bash', 'exec_command', 'shell', 'shell_command') AND command_skeleton <> '')
            AS launch_skeletons
    FROM call
    GROUP BY GROUPING SETS ((provider), ())
),
of_sessions AS (
    SELECT provider, count(*) FILTER (WHERE n > 1) AS multi_round
    FROM (SELECT provider, session_key, count(*) AS n FROM round WHERE NOT is_left_out GROUP BY ALL)
    GROUP BY GROUPING SETS ((provider), ())
),
of_rounds AS (
    SELECT provider, count(*) AS rounds, count(DISTINCT session_key) AS sessions,
        count(DISTINCT developer) AS developers, max(context_tokens) AS largest_context
    FROM round
    WHERE NOT is_left_out
    GROUP BY GROUPING SETS ((provider), ())
),
of_events AS (
    SELECT r.provider, count(*) AS timing_events,
        date_diff('microsecond', min(e."timestamp"), max(e."timestamp")) / 1e6 AS months
    FROM timing_events AS e JOIN round AS r ON r.round_pk = e.round_pk
    GROUP BY GROUPING SETS ((r.provider), ())
)
SELECT r.*, c.* EXCLUDE (provider), s.multi_round, e.timing_events, e.months
FROM of_rounds AS r
LEFT JOIN of_calls AS c ON c.provider IS NOT DISTINCT FROM r.provider
LEFT JOIN of_sessions AS s ON s.provider IS NOT DISTINCT FROM r.provider
LEFT JOIN of_events AS e ON e.provider IS NOT DISTINCT FROM r.provider
ORDER BY r.provider NULLS FIRST
