-- every list of executables that a class is looked up for
SELECT DISTINCT array_to_string(executables, ' ') AS executables
FROM tool_calls WHERE array_to_string(executables, ' ') IS NOT NULL  -- null too where a list holds nothing but nulls
ORDER BY executables
