-- grain: one row per tool that occurs
-- keys: tool (null where a call has no name)
-- columns: none
-- invariants: none
SELECT DISTINCT tool FROM calls
