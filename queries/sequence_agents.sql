-- grain: one row per session of a sub-agent among the sessions of the table sequence: one whose log says so, or one that ran within a call for an agent and whose log does not deny it
-- keys: session_pk
-- columns: whose it is; started_at and ended_at (first and last stamp of its steps); known_by (log: its own log calls it a
--   sub-agent; time: it lies in time within such a call); n_parents, sessions with such a call around it, and n_places,
--   steps of these; parent_session_pk where there is one parent, parent_place (sequence.place of the step whose call it
--   ran in) where there is one step; link (linked: parent and step known; ambiguous: several; unknown: no call around it)
-- invariants: the rule of timeline_agents.sql, of steps that are no copies: same developer, provider and project, its stamps in the call, or in the job
--   that the call left running, give or take a second; a parent began before its child (so links make no ring); link is
--   linked exactly where parent_place is known, which is a step of parent_session_pk
-- needs: the tables session_steps (sessions_steps.sql) and sequence (sequence.sql)
WITH agent_call AS (
    SELECT q.session_pk, q.place, r.provider, r."user" AS developer, r.project, c.emitted_at - INTERVAL 1 SECOND AS since,
        greatest(c.result_at, coalesce(c.job_ended_at, c.result_at)) + INTERVAL 1 SECOND AS until
    FROM calls AS d
    JOIN sequence AS q ON q.round_pk = d.round_pk
    JOIN rounds AS r ON r.round_pk = d.round_pk
    JOIN tool_calls AS c ON c.rowid + 1 = d.call_pk
    WHERE d.tool_class = 'agent' AND c.result_at IS NOT NULL
),
said AS (
    SELECT session_pk, bool_or(is_subagent) AS is_subagent
    FROM calls
    WHERE is_subagent IS NOT NULL
    GROUP BY session_pk
),
span AS (
    SELECT s.session_pk, any_value(s.provider) AS provider, any_value(s.developer) AS developer,
        any_value(s.project) AS project, any_value(s.session) AS session, min(s.first_stamp) AS started_at,
        max(s.last_stamp) AS ended_at, any_value(d.is_subagent) AS is_subagent
    FROM session_steps AS s LEFT JOIN said AS d ON d.session_pk = s.session_pk
    WHERE s.rule = 'tracestat'
    GROUP BY s.session_pk
),
around AS (
    SELECT s.session_pk, count(DISTINCT a.session_pk) AS n_parents, count(DISTINCT (a.session_pk, a.place)) AS n_places,
        min(a.session_pk) AS parent_session_pk, min(a.place) AS parent_place
    FROM span AS s
    JOIN agent_call AS a
        ON a.provider IS NOT DISTINCT FROM s.provider AND a.developer IS NOT DISTINCT FROM s.developer
        AND a.project IS NOT DISTINCT FROM s.project
        AND s.started_at >= a.since AND s.ended_at <= a.until
    JOIN span AS p ON p.session_pk = a.session_pk
    WHERE (p.started_at, p.session_pk) < (s.started_at, s.session_pk)
    GROUP BY s.session_pk
)
SELECT s.session_pk, s.provider, s.developer, s.session, s.project, s.started_at, s.ended_at,
    CASE WHEN s.is_subagent THEN 'log' ELSE 'time' END AS known_by,
    coalesce(a.n_parents, 0) AS n_parents, coalesce(a.n_places, 0) AS n_places,
    CASE WHEN a.n_parents = 1 THEN a.parent_session_pk END AS parent_session_pk,
    CASE WHEN a.n_places = 1 THEN a.parent_place END AS parent_place,
    CASE WHEN a.n_places = 1 THEN 'linked' WHEN a.n_places > 1 THEN 'ambiguous' ELSE 'unknown' END AS link
FROM span AS s
LEFT JOIN around AS a ON a.session_pk = s.session_pk
WHERE s.is_subagent OR (a.session_pk IS NOT NULL AND s.is_subagent IS NULL)
ORDER BY s.session_pk
