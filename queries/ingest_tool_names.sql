-- every name that a class is looked up for
SELECT DISTINCT tool_name FROM tool_calls ORDER BY tool_name
