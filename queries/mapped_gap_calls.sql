-- grain: one row per pause after a request: one tool call, from the end of the request to the next arrival
-- keys: row
-- columns: as mapped_calls
-- invariants: end_us is null only where nothing came after
CREATE TABLE mapped_call AS
SELECT g."row", 0 AS tool_index,
    coalesce(p."call", left(sha256(concat_ws(':', 'call', r.session, r.round_id)), 20)) AS id,
    p.tool, g.end_us AS start_us, g.next_us AS end_us, g.end_us AS output_us, g.last_row + 1 AS result_row,
    'emission' AS start_kind,
    p.status, p.is_error, p.asked_limit, p.executables, p.parse_status, p.parse_reason, p.skeleton, p.fingerprint
FROM mapped_gap AS g
JOIN mapped_round AS r ON r."row" = g."row"
JOIN mapped_timed AS p ON p.line = r.line
WHERE g.gap IN ('pause', 'call')
