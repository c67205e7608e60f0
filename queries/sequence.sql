-- grain: one row per step (a round that is no copy) of a session, in order: what replay, occupancy and the simulator need
-- keys: session_pk, place (1, 2, ... within the session)
-- columns: whose step it is (started_at and project are the session's); pooled, the key that is the same everywhere; the
--   tokens of its prompt (prefix: of the session's earlier context; append: new) and of its
--   output, null where the log does not say; submitted_at, from when the engine could work on it, and generation_seconds
--   from then to its last output (null where unknown); then the pause after it, last output to the submission of the next
--   step, in two parts that add up to it: tool_seconds and human_seconds (a message that was waited for, a tool that asks a
--   person, and a lost result that only a message of the user ended); a message within a second of the end of a job of the
--   session is the job's notice, no person's: the wait for it is the tool's; kind (tool, human, none: the next step follows
--   by itself, end: no next step); pause_known (false where calls have no usable stamps, so that 0 stands for unknown); the
--   key, limit and end of the pause; n_calls
-- rules: tool_seconds is the pause of the table pauses; where the next step did not wait for all results (superseded,
--   lost), that pause reaches into the next step's generation, and it counts to the submission, where that is known
-- invariants: tool_seconds and human_seconds are never negative or null; both are 0 where kind is end or none; kind is
--   human exactly where human_seconds > 0 or a tool asked a person; a session's last step is its only end
-- needs: the table session_steps of sessions_steps.sql
CREATE OR REPLACE TEMP TABLE sequence AS
WITH step AS (
    SELECT s.session_pk, s.round_pk, s.place, s.provider, s.developer, s.session, s.project, s.started_at, s.request,
        s.input_at AS submitted_at, s.last_output, s.generation_seconds,
        TRY_CAST(s.prefix_tokens AS BIGINT) AS prefix_tokens, TRY_CAST(s.append_tokens AS BIGINT) AS append_tokens,
        TRY_CAST(s.output_tokens AS BIGINT) AS output_tokens,
        lead(s.round_pk) OVER of_session IS NULL AS is_last,
        coalesce(lead(s."trigger") OVER of_session = 'user_message', FALSE) AS message_follows,
        lead(s.input_at) OVER of_session AS next_at
    FROM session_steps AS s
    WHERE s.rule = 'tracestat'
    WINDOW of_session AS (PARTITION BY s.session_pk ORDER BY s.place)
),
job AS (
    SELECT d.session_pk, c.job_ended_at
    FROM tool_calls AS c JOIN calls AS d ON d.call_pk = c.rowid + 1
    WHERE c.job_ended_at IS NOT NULL
),
noticed AS (
    SELECT DISTINCT s.round_pk
    FROM step AS s JOIN job AS j ON j.session_pk = s.session_pk
    WHERE s.message_follows AND s.next_at BETWEEN j.job_ended_at - INTERVAL 1 SECOND AND j.job_ended_at + INTERVAL 1 SECOND
),
paused AS (
    SELECT s.*, r.model, p.tool, p.tool_class, p.command_class, p.command_skeleton, p.end_kind, p.observed,
        p.asked_limit_seconds, p.seconds, p.is_subagent, coalesce(p.n_calls, 0) AS n_calls,
        n.round_pk IS NOT NULL AS is_notice,
        date_diff('microsecond', coalesce(s.last_output, p.started_at), s.next_at) / 1e6 AS gap_seconds,
        greatest(coalesce(p.seconds, 0), 0) AS pause_seconds
    FROM step AS s
    JOIN rounds AS r ON r.round_pk = s.round_pk
    LEFT JOIN pauses AS p ON p.round_pk = s.round_pk
    LEFT JOIN noticed AS n ON n.round_pk = s.round_pk
),
timed AS (
    SELECT * EXCLUDE (pause_seconds),
        CASE WHEN coalesce(end_kind NOT IN ('superseded', 'lost'), TRUE) OR gap_seconds IS NULL THEN pause_seconds
             WHEN message_follows THEN least(pause_seconds, greatest(gap_seconds, 0))
             ELSE greatest(gap_seconds, 0) END AS ran_seconds,
        coalesce(tool_class = 'human', FALSE)
            OR (coalesce(end_kind = 'lost', FALSE) AND message_follows AND NOT is_notice) AS is_asked
    FROM paused
),
parted AS (
    SELECT * EXCLUDE (ran_seconds),
        CASE WHEN is_last OR is_asked THEN 0 ELSE ran_seconds END AS tool_part,
        CASE WHEN is_asked AND NOT is_last THEN ran_seconds ELSE 0 END AS asked_part,
        CASE WHEN message_follows THEN greatest(coalesce(gap_seconds, 0) - ran_seconds, 0) ELSE 0 END AS waited_part
    FROM timed
)
SELECT session_pk, place, round_pk, provider, developer, session, project, model, started_at, TRUE AS pooled, request,
    prefix_tokens, append_tokens, output_tokens, submitted_at, last_output, generation_seconds,
    tool_part + CASE WHEN is_notice THEN waited_part ELSE 0 END AS tool_seconds,
    asked_part + CASE WHEN is_notice THEN 0 ELSE waited_part END AS human_seconds,
    CASE WHEN is_last THEN 'end' WHEN is_asked OR (waited_part > 0 AND NOT is_notice) THEN 'human'
         WHEN n_calls > 0 OR waited_part > 0 THEN 'tool' ELSE 'none' END AS kind,
    is_last OR n_calls = 0 OR seconds IS NOT NULL AS pause_known,
    tool, tool_class, command_class, command_skeleton, asked_limit_seconds, end_kind, observed, is_subagent, n_calls
FROM parted
