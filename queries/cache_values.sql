-- grain: one row per value of a statistic of the steps that a prefix cache serves
-- keys: none; statistic, rule and session_pk say whose value it is
-- columns: as all of section_values: statistic, item (null here), rule, who, value, observed
-- invariants: value >= 0; all observed
CREATE OR REPLACE TEMP VIEW section_values AS
WITH measured AS (
    SELECT 'idle_before_user_seconds' AS statistic, *, idle_seconds AS value FROM cache_steps
    WHERE "trigger" = 'user_message' AND covered
    UNION ALL
    SELECT 'idle_before_low_hit_user_seconds', *, idle_seconds FROM cache_steps
    WHERE "trigger" = 'user_message' AND covered AND 10 * prefix_tokens < tokens
    UNION ALL
    SELECT 'idle_before_tool_seconds', *, idle_seconds FROM cache_steps WHERE "trigger" = 'tool_result' AND covered
    UNION ALL SELECT 'prefix_tokens', *, prefix_tokens FROM cache_steps WHERE tokens > 0
    UNION ALL SELECT 'append_tokens', *, append_tokens FROM cache_steps WHERE tokens > 0
    UNION ALL SELECT 'output_tokens', *, output_tokens FROM cache_steps WHERE tokens > 0 AND output_tokens IS NOT NULL
)
SELECT statistic, CAST(NULL AS VARCHAR) AS item, rule, pooled, provider, developer, project, session, session_pk,
    started_at, CAST(value AS DOUBLE) AS value, TRUE AS observed
FROM measured
