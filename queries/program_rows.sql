-- grain: one row per program: a session, and a request (what one message of the user set off) of a session
-- keys: unit, session_pk, request_no (0 where the program is the session)
-- columns: the keys of --by and --where that a program has (model and project are those of its first round), and pooled,
--   the key that is the same everywhere; started_at and ended_at, its first and last stamp (null where no event has a
--   time); turns, its rounds; is_open: the log ends while a tool of it runs, so that its last round is not known;
--   is_unanswered: the log ends on a result that nothing follows; is_subagent; n_asked, its rounds that a message of
--   the user began
-- invariants: turns sum, within each unit, to the rounds that are no copies of an earlier round (same provider and
--   round_id); a program of copies only has no row; rounds before the first message of the user belong to the first request
-- variables: zone (IANA name)
CREATE OR REPLACE TEMP VIEW programs AS
WITH stamp AS (
    SELECT round_pk, min("timestamp") AS first_at, max("timestamp") AS last_at
    FROM timing_events
    GROUP BY round_pk
),
session_of AS (
    SELECT provider, "user" AS developer, session_id, min(round_pk) AS session_pk
    FROM rounds
    GROUP BY ALL
),
turn AS (
    SELECT r.round_pk, s.session_pk, r.provider, s.developer, s.session_id AS session, r.project, r.model,
        CASE WHEN r.current_user_message_count > 0 THEN 1 ELSE 0 END AS asked,
        sum(CASE WHEN r.current_user_message_count > 0 THEN 1 ELSE 0 END) OVER in_order AS n_before,
        row_number() OVER in_order AS place,
        lead(r.round_pk) OVER in_order IS NULL AS is_last,
        r.round_id IS NOT NULL AND row_number() OVER (PARTITION BY r.provider, r.round_id ORDER BY r.round_pk) > 1
            AS is_copy
    FROM rounds AS r
    JOIN session_of AS s
        ON s.provider = r.provider AND s.session_id = r.session_id AND s.developer IS NOT DISTINCT FROM r."user"
    WINDOW in_order AS (PARTITION BY s.session_pk ORDER BY r.round_index, r.round_pk)
),
fresh AS (
    SELECT t.*, e.first_at, e.last_at, p.is_subagent,
        t.is_last AND coalesce(p.end_kind = 'open', FALSE) AS ends_open,
        t.is_last AND coalesce(p.end_kind NOT IN ('open', 'interrupted', 'refused'), FALSE) AS ends_unanswered
    FROM turn AS t
    LEFT JOIN stamp AS e ON e.round_pk = t.round_pk
    LEFT JOIN pauses AS p ON p.round_pk = t.round_pk
    WHERE NOT t.is_copy
),
member AS (
    SELECT 'session' AS unit, 0 AS request_no, * FROM fresh
    UNION ALL
    SELECT 'request' AS unit, greatest(n_before, 1) AS request_no, * FROM fresh
),
program AS (
    SELECT unit, session_pk, request_no, min(provider) AS provider, min(developer) AS developer, min(session) AS session,
        arg_min(project, place) AS project, arg_min(model, place) AS model,
        min(first_at) AS started_at, max(last_at) AS ended_at, count(*) AS turns, sum(asked) AS n_asked,
        bool_or(ends_open) AS is_open, bool_or(ends_unanswered) AS is_unanswered, coalesce(bool_or(is_subagent), FALSE) AS is_subagent
    FROM member
    GROUP BY ALL
)
SELECT *,
    CAST(timezone(getvariable('zone'), timezone('UTC', started_at)) AS DATE) AS "day",
    CAST(date_trunc('week', timezone(getvariable('zone'), timezone('UTC', started_at))) AS DATE) AS "week",
    extract('hour' FROM timezone(getvariable('zone'), timezone('UTC', started_at))) AS "hour",
    strftime(timezone(getvariable('zone'), timezone('UTC', started_at)), '%a') AS weekday,
    TRUE AS pooled
FROM program
