-- grain: one row per stretch of a session in which one thing went on, by our rules
-- keys: session_pk, began_at, state, round_pk
-- columns: state (generation, tools, asked: a tool that asks a person, human: waiting for a message), began_at, until;
--   request, of the step that it belongs to
-- invariants: stretches of a session do not overlap: what began first keeps its time, the rest gets what is left
CREATE OR REPLACE TEMP TABLE session_spells AS
WITH spell AS (
    SELECT session_pk, round_pk, request, 'generation' AS state, input_at AS began_at, last_output AS until
    FROM session_steps
    WHERE rule = 'tracestat' AND input_at < last_output
    UNION ALL
    SELECT s.session_pk, s.round_pk, s.request, CASE WHEN p.tool_class = 'human' THEN 'asked' ELSE 'tools' END,
        p.started_at, p.started_at + to_microseconds(CAST(round(p.seconds * 1e6) AS BIGINT))
    FROM session_steps AS s JOIN pauses AS p ON p.round_pk = s.round_pk
    WHERE s.rule = 'tracestat' AND p.seconds > 0
    UNION ALL
    SELECT session_pk, round_pk, NULL, 'human', began_at, until
    FROM session_waits
    WHERE rule = 'tracestat' AND kind = 'message'
),
ordered AS (
    SELECT *, max(until) OVER (PARTITION BY session_pk ORDER BY began_at, until, round_pk, state
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reach
    FROM spell
)
SELECT session_pk, round_pk, request, state, greatest(began_at, reach) AS began_at, until
FROM ordered
WHERE reach IS NULL OR reach < until
