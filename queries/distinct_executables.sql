-- grain: one row per list of executables that occurs
-- keys: executables (joined by blanks)
-- columns: none
-- invariants: no nulls
SELECT DISTINCT array_to_string(executables, ' ') AS executables FROM tool_calls WHERE executables IS NOT NULL
