-- grain: one row per list of executables that occurs
-- keys: executables (joined by blanks)
-- columns: none
-- invariants: no nulls
SELECT DISTINCT executables FROM calls WHERE executables IS NOT NULL
