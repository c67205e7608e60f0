-- grain: one row per duration of the chosen unit, as the commands that read durations see them
-- keys: those of unit_rows
-- columns: the keys of --by and --where, and pooled, the key that is the same everywhere; seconds with clock skew set to
--   zero; row_kind (tool, human, background); excluded: why a row takes no part in an estimate, null when it does;
--   skewed: seconds was in [-0.1, 0); ended_after: the end lies in (ended_after, seconds], null where it was seen
-- invariants: as many rows as unit_rows; where excluded is null, seconds is not null and not negative
-- variables: zone (IANA name), definition (tracestat or tracelab)
CREATE OR REPLACE TEMP VIEW durations AS
SELECT
    provider, developer, project, session, model, tool, tool_class, command_class, command_skeleton,
    command_fingerprint, asked_limit_seconds, permission_mode, n_calls, context_tokens,
    CASE WHEN context_tokens < 8192 THEN '0-8K' WHEN context_tokens < 16384 THEN '8-16K'
         WHEN context_tokens < 32768 THEN '16-32K' WHEN context_tokens < 65536 THEN '32-64K'
         WHEN context_tokens < 131072 THEN '64-128K' WHEN context_tokens < 262144 THEN '128-256K'
         WHEN context_tokens IS NOT NULL THEN '256K+' END AS context_band,
    CAST(timezone(getvariable('zone'), timezone('UTC', started_at)) AS DATE) AS "day",
    CAST(date_trunc('week', timezone(getvariable('zone'), timezone('UTC', started_at))) AS DATE) AS "week",
    extract('hour' FROM timezone(getvariable('zone'), timezone('UTC', started_at))) AS "hour",
    strftime(timezone(getvariable('zone'), timezone('UTC', started_at)), '%a') AS weekday,
    TRUE AS pooled, started_at, mixed_key, end_kind, session_pk, round_pk, entry_seconds, approval_seconds,
    CASE WHEN tool_class = 'human' THEN 'human'
         WHEN tool_class = 'background' OR end_kind = 'background' THEN 'background'
         ELSE 'tool' END AS row_kind,
    CASE WHEN seconds >= -0.1 AND seconds < 0 THEN 0e0 ELSE seconds END AS seconds,
    observed, ended_after, resolution_seconds,
    seconds >= -0.1 AND seconds < 0 AS skewed,
    CASE WHEN getvariable('definition') = 'tracelab'
            THEN CASE WHEN seconds IS NULL OR seconds <= 0 THEN 'nonpositive' END
         WHEN is_copy THEN 'copies'
         WHEN seconds IS NULL THEN 'unreported'
         WHEN seconds < -0.1 THEN 'negative'
         WHEN did_not_run THEN 'refused'
         WHEN zero_inflated THEN 'zero_inflated'
         WHEN NOT observed AND seconds <= 0 THEN 'uninformative' END AS excluded
FROM unit_rows
