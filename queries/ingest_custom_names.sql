-- grain: one row: the largest numbers that private names have so far
-- keys: none
-- columns: executable (of custom_N), tool (of custom_tool_N), model (of custom_model_N); 0 where there is none
-- invariants: not negative
SELECT
    (SELECT coalesce(max(try_cast(regexp_extract(name, '^custom_([0-9]{1,9})$', 1) AS BIGINT)), 0)
     FROM (SELECT unnest(executables) AS name FROM tool_calls)) AS executable,
    (SELECT coalesce(max(try_cast(regexp_extract(tool_name, '^custom_tool_([0-9]{1,9})$', 1) AS BIGINT)), 0)
     FROM tool_calls) AS tool,
    (SELECT coalesce(max(try_cast(regexp_extract(model, '^custom_model_([0-9]{1,9})$', 1) AS BIGINT)), 0)
     FROM rounds) AS model
