-- grain: one row per round of the table sequence with a call whose limit the log names
-- keys: round_pk
-- columns: asked_deadline, seconds from the start of the pause to the latest limit that its calls asked for, null unless
--   that is known when the pause starts: null where the source names limits only of calls that ended on them (TraceLab's
--   form); exact_deadline, the same of the limit on which the pause did end, null where it ended otherwise: known
--   afterwards, so for an upper bound only
-- invariants: never negative; a limit runs from the emission of its call, so approvals and late starts come on top; which
--   sources name all limits: as in summary_limits; a sleep that ends by itself is a limit as in key_atoms, in a pause without
--   other calls; calls without a limit may outlast those with one, and then a deadline is too early
-- needs: the table sequence (sequence.sql)
WITH limited AS (
    SELECT c.round_pk, min(s.format) AS format
    FROM tool_calls AS c LEFT JOIN sources AS s USING (source_id)
    WHERE c.asked_limit_seconds IS NOT NULL
    GROUP BY c.round_pk
),
spell AS (
    SELECT c.round_pk, l.format, c.provider, c.tool, c.end_kind, c.asked_limit_seconds,
        epoch_us(c.started_at) + round(c.seconds * 1e6) AS ended_at,
        greatest(date_diff('microsecond', p.started_at, c.started_at) / 1e6 + c.asked_limit_seconds, 0) AS deadline,
        p.end_kind AS pause_end,
        p.n_calls = 1 AND c.end_kind = 'completed' AND c.tool_class = 'shell' AND c.command_skeleton LIKE '%sleep%'
            AND c.seconds - coalesce(c.approval_seconds, 0) >= c.asked_limit_seconds - 0.005
            AND c.seconds - coalesce(c.approval_seconds, 0) < 1.01 * c.asked_limit_seconds + 0.5 AS slept
    FROM calls AS c
    JOIN limited AS l ON l.round_pk = c.round_pk
    JOIN pauses AS p ON p.round_pk = c.round_pk
    WHERE c.asked_limit_seconds IS NOT NULL
),
knowledge AS (
    SELECT format, provider, tool, bool_or(end_kind NOT IN ('deadline', 'timeout')) AS complete
    FROM spell
    GROUP BY ALL
)
SELECT s.round_pk,
    CASE WHEN bool_and(k.complete) THEN max(s.deadline) END AS asked_deadline,
    max_by(s.deadline, s.ended_at)
        FILTER (WHERE s.slept OR (s.pause_end IN ('deadline', 'timeout') AND s.end_kind = s.pause_end)) AS exact_deadline
FROM spell AS s
JOIN sequence AS q ON q.round_pk = s.round_pk
JOIN knowledge AS k
    ON k.format IS NOT DISTINCT FROM s.format AND k.provider IS NOT DISTINCT FROM s.provider
    AND k.tool IS NOT DISTINCT FROM s.tool
GROUP BY s.round_pk
ORDER BY s.round_pk
