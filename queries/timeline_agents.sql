-- grain: one row per session that ran within a call for a sub-agent of one session
-- keys: (provider, developer, session)
-- columns: started_at and ended_at (its first and last stamp), rounds, calls, is_subagent (null: the log does not say),
--   parents: how many sessions have such a call around it
-- invariants: same developer, provider and project; its stamps lie in the call, or in the job that the call left running,
--   give or take a second; no log that says that it is no sub-agent
-- parameters: provider, developer, session
WITH agent_call AS (
    SELECT r.session_id, r.project, c.emitted_at - INTERVAL 1 SECOND AS since,
        greatest(c.result_at, coalesce(c.job_ended_at, c.result_at)) + INTERVAL 1 SECOND AS until
    FROM rounds AS r
    JOIN calls AS d ON d.round_pk = r.round_pk AND d.tool_class = 'agent'
    JOIN tool_calls AS c ON c.rowid + 1 = d.call_pk
    WHERE r.provider = $provider AND r."user" IS NOT DISTINCT FROM $developer AND c.result_at IS NOT NULL
),
span AS (
    SELECT r.session_id, r.project, min(e."timestamp") AS started_at, max(e."timestamp") AS ended_at,
        count(DISTINCT r.round_pk) AS rounds
    FROM rounds AS r JOIN timing_events AS e USING (round_pk)
    WHERE r.provider = $provider AND r."user" IS NOT DISTINCT FROM $developer AND r.session_id <> $session
        AND e."timestamp" IS NOT NULL
    GROUP BY r.session_id, r.project
),
within AS (
    SELECT s.session_id, s.project, s.started_at, s.ended_at, s.rounds, count(DISTINCT a.session_id) AS parents
    FROM span AS s JOIN agent_call AS a
        ON a.project IS NOT DISTINCT FROM s.project AND a.session_id <> s.session_id
        AND s.started_at >= a.since AND s.ended_at <= a.until
    GROUP BY ALL
    HAVING bool_or(a.session_id = $session)
),
said AS (
    SELECT d.session AS session_id, count(*) AS calls, bool_or(d.is_subagent) AS is_subagent
    FROM calls AS d
    WHERE d.provider = $provider AND d.developer IS NOT DISTINCT FROM $developer
        AND d.session IN (SELECT session_id FROM within)
    GROUP BY d.session
)
SELECT w.session_id AS session, w.started_at, w.ended_at, w.rounds, coalesce(s.calls, 0) AS calls, s.is_subagent, w.parents
FROM within AS w LEFT JOIN said AS s USING (session_id)
WHERE s.is_subagent IS DISTINCT FROM FALSE
ORDER BY w.started_at, w.session_id
