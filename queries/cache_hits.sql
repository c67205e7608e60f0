-- grain: one row per (rule, session): the tokens whose ratios are the hit rates and the fresh share
-- keys: rule, session_pk, developer_id
-- columns: n_steps, prefix_tokens and tokens of all steps, after a user's message and after a tool's result; of the
--   steps that have a step before them and a trigger: append_tokens, growth_tokens, before_output_tokens, fresh_tokens
--   (in all, *_user, *_tool); all_append_tokens of all steps, and saved_append_tokens, what steps of a user append
--   beyond the growth of the context
-- invariants: the prefix never exceeds the tokens; user and tool add up to at most all
SELECT rule, session_pk, hash(any_value(developer)) AS developer_id, any_value(provider) AS provider,
    any_value(developer) AS developer, any_value(project) AS project, any_value(session) AS session,
    count(*) FILTER (WHERE tokens > 0) AS n_steps, count(*) FILTER (WHERE covered) AS n_covered,
    count(*) FILTER (WHERE has_before AND "trigger" IS NOT NULL) AS n_paired,
    sum(prefix_tokens) AS prefix_tokens, sum(tokens) AS tokens,
    coalesce(sum(prefix_tokens) FILTER (WHERE "trigger" = 'user_message'), 0) AS prefix_tokens_user,
    coalesce(sum(tokens) FILTER (WHERE "trigger" = 'user_message'), 0) AS tokens_user,
    coalesce(sum(prefix_tokens) FILTER (WHERE "trigger" = 'tool_result'), 0) AS prefix_tokens_tool,
    coalesce(sum(tokens) FILTER (WHERE "trigger" = 'tool_result'), 0) AS tokens_tool,
    coalesce(sum(append_tokens) FILTER (WHERE has_before AND "trigger" IS NOT NULL), 0) AS append_tokens,
    coalesce(sum(CASE WHEN rule = 'tracelab' THEN growth - before_output_tokens ELSE fresh_tokens END)
        FILTER (WHERE has_before AND "trigger" IS NOT NULL), 0) AS fresh_tokens,
    coalesce(sum(append_tokens) FILTER (WHERE has_before AND "trigger" = 'user_message'), 0) AS append_tokens_user,
    coalesce(sum(CASE WHEN rule = 'tracelab' THEN growth - before_output_tokens ELSE fresh_tokens END)
        FILTER (WHERE has_before AND "trigger" = 'user_message'), 0) AS fresh_tokens_user,
    coalesce(sum(append_tokens) FILTER (WHERE has_before AND "trigger" = 'tool_result'), 0) AS append_tokens_tool,
    coalesce(sum(CASE WHEN rule = 'tracelab' THEN growth - before_output_tokens ELSE fresh_tokens END)
        FILTER (WHERE has_before AND "trigger" = 'tool_result'), 0) AS fresh_tokens_tool,
    sum(append_tokens) AS all_append_tokens,
    coalesce(sum(append_tokens - least(append_tokens, growth)) FILTER (WHERE has_before AND "trigger" = 'user_message'),
        0) AS saved_append_tokens
FROM cache_steps
WHERE {where}
GROUP BY rule, session_pk
ORDER BY rule, session_pk
