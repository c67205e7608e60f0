-- grain: one row per call whose start is known, timed from its emission to its start: the wait for approval and hooks
-- keys: call_pk
-- columns: as calls, seconds being the wait; zero_inflated: its clock cannot be trusted; did_not_run: it is no duration;
--   ended_after: null, since every start is seen
-- invariants: the rows of unit_call by the wall clock that know their start and take part in an estimate; all observed,
--   since a start was seen whether or not a result came
CREATE OR REPLACE TEMP VIEW unit_rows AS
SELECT * REPLACE (greatest(0, least(approval_seconds, seconds)) AS seconds, TRUE AS observed),
    wall_zero_inflated AS zero_inflated, end_kind = 'refused' AS did_not_run, CAST(NULL AS DOUBLE) AS ended_after
FROM calls
WHERE approval_seconds IS NOT NULL AND seconds >= -0.1 AND (observed OR seconds > 0)
