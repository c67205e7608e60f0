-- grain: one row per raw log of a store
-- keys: source_id
-- columns: state (JSON), rest
-- invariants: every source_id is in sources
SELECT source_id, state, rest FROM raw_logs ORDER BY source_id
