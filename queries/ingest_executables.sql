-- every list of executables that a class is looked up for
SELECT DISTINCT array_to_string(executables, ' ') AS executables
FROM tool_calls WHERE executables IS NOT NULL ORDER BY executables
