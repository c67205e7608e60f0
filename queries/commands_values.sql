-- grain: one row per value of a statistic of shell commands and of the two clocks of calls
-- keys: none; statistic, item, rule and session_pk say whose value it is
-- columns: as all of section_values: statistic, item (an executable, or a tool; all: every one), rule, who, value,
--   observed
-- invariants: value >= 0; observed is false only for commands that were not seen to finish, by rule tracestat; an
--   executable has at least $least calls of its own in one rule
-- variables: least_calls
CREATE OR REPLACE TEMP VIEW section_values AS
WITH single AS (
    SELECT *, count(*) OVER (PARTITION BY rule, executable) >= getvariable('least_calls') AS is_frequent
    FROM shell_calls
    WHERE executable IS NOT NULL
),
measured AS (
    SELECT 'executables_per_call' AS statistic, 'all' AS item, * EXCLUDE (executable), n_executables AS value,
        TRUE AS observed
    FROM shell_calls
    WHERE n_executables IS NOT NULL
    UNION ALL BY NAME
    SELECT 'call_seconds' AS statistic, executable AS item, * EXCLUDE (executable, is_frequent), call_seconds AS value,
        TRUE AS observed
    FROM single
    WHERE call_seconds IS NOT NULL AND is_frequent
    UNION ALL BY NAME
    SELECT 'command_seconds' AS statistic, executable AS item, * EXCLUDE (executable, is_frequent),
        command_seconds AS value, finished AS observed
    FROM single
    WHERE is_frequent AND command_seconds IS NOT NULL AND (finished OR command_seconds > 0)
    UNION ALL BY NAME
    SELECT 'residual_seconds' AS statistic, 'all' AS item, *, residual_seconds AS value, TRUE AS observed
    FROM timed_twice
    UNION ALL BY NAME
    SELECT 'residual_seconds' AS statistic, tool AS item, *, residual_seconds AS value, TRUE AS observed
    FROM timed_twice
    WHERE tool IN ('exec_command', 'write_stdin', 'shell_command', 'apply_patch')
)
SELECT statistic, item, rule, pooled, provider, developer, project, session, session_pk, started_at,
    CAST(value AS DOUBLE) AS value, observed
FROM measured
