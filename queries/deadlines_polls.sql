-- grain: one row per ({keys}): what polls cost in model rounds
-- keys: {keys}
-- columns: n_rounds (rounds that did nothing but poll), tokens (input and output of these), n_unknown (those whose
--   tokens the trace does not give)
-- invariants: of the pauses, whatever the unit of the answer; a round that polls and does more is not counted
-- parameters: rows
SELECT {keys}, count(*) AS n_rounds, sum(context_tokens) AS tokens,
    count(*) FILTER (WHERE context_tokens IS NULL) AS n_unknown
FROM durations
WHERE excluded IS NULL AND tool_class = 'poll' AND NOT mixed_key AND ($rows = 'all' OR row_kind = $rows) AND {where}
GROUP BY ALL
