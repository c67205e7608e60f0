-- grain: one row per (rule, session, item): the time of calls that have both clocks
-- keys: rule, session_pk, developer_id, item (all: every such call; else one of the four tools of TraceLab's table)
-- columns: n, wall_seconds, internal_seconds, residual_seconds
-- sums of seconds are of whole microseconds, so that they do not depend on the order in which threads add
-- invariants: the row `all` is at least the sum of the others of its session
WITH named AS (
    SELECT *, unnest(['all', CASE WHEN tool IN ('exec_command', 'write_stdin', 'shell_command', 'apply_patch') THEN tool
        END]) AS item
    FROM timed_twice
    WHERE {where}
)
SELECT rule, session_pk, hash(any_value(developer)) AS developer_id, any_value(provider) AS provider,
    any_value(developer) AS developer, any_value(project) AS project, any_value(session) AS session, item,
    count(*) AS n, sum(CAST(wall_seconds AS DECIMAL(38, 6))) AS wall_seconds,
    sum(CAST(internal_seconds AS DECIMAL(38, 6))) AS internal_seconds,
    sum(CAST(residual_seconds AS DECIMAL(38, 6))) AS residual_seconds
FROM named
WHERE item IS NOT NULL
GROUP BY rule, session_pk, item
ORDER BY rule, session_pk, item
