-- grain: one row per (rule, session): counts and sums of its shell calls, whose ratios say what they run
-- keys: rule, session_pk, developer_id
-- columns: n_calls; n_known (executables known), n_executables, n_multiple (more than one), n_parsed, n_skeletons;
--   n_single (exactly one), n_timed_single, n_zero_single (the runner reported no time); single_call_seconds;
--   single_command_seconds and n_single_finished, n_single_unfinished of whole processes
-- sums of seconds are of whole microseconds, so that they do not depend on the order in which threads add
-- invariants: n_single + n_multiple <= n_known <= n_calls; n_single_finished + n_single_unfinished <= n_single
SELECT rule, session_pk, hash(any_value(developer)) AS developer_id, any_value(provider) AS provider,
    any_value(developer) AS developer, any_value(project) AS project, any_value(session) AS session,
    count(*) AS n_calls, count(n_executables) AS n_known, coalesce(sum(n_executables), 0) AS n_executables,
    count(*) FILTER (WHERE n_executables > 1) AS n_multiple, count(*) FILTER (WHERE parsed) AS n_parsed,
    count(*) FILTER (WHERE has_skeleton) AS n_skeletons, count(executable) AS n_single,
    count(*) FILTER (WHERE executable IS NOT NULL AND call_seconds IS NOT NULL) AS n_timed_single,
    count(*) FILTER (WHERE executable IS NOT NULL AND reads_zero) AS n_zero_single,
    coalesce(sum(CAST(call_seconds AS DECIMAL(38, 6))) FILTER (WHERE executable IS NOT NULL), 0)
        AS single_call_seconds,
    coalesce(sum(CAST(command_seconds AS DECIMAL(38, 6))) FILTER (WHERE executable IS NOT NULL), 0)
        AS single_command_seconds,
    count(*) FILTER (WHERE executable IS NOT NULL AND finished AND command_seconds IS NOT NULL) AS n_single_finished,
    count(*) FILTER (WHERE executable IS NOT NULL AND NOT finished) AS n_single_unfinished
FROM shell_calls
WHERE {where}
GROUP BY rule, session_pk
ORDER BY rule, session_pk
