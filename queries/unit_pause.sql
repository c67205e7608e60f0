-- grain: one row per pause
-- keys: round_pk
-- columns: as pauses; zero_inflated: its clock cannot be trusted; did_not_run: it is no duration;
--   ended_after: null, since every end is seen
-- invariants: as many rows as pauses; a refusal ends a pause like any return
CREATE OR REPLACE TEMP VIEW unit_rows AS
SELECT *, FALSE AS zero_inflated, FALSE AS did_not_run, CAST(NULL AS DOUBLE) AS ended_after FROM pauses
