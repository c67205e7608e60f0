-- grain: one row per round
-- keys: row
-- columns: what a round has; where its rows differ, the first that says something
-- invariants: as many rows as mapped_member has first lines
CREATE TABLE mapped_round AS
WITH head AS (
    SELECT m."row", m.round_index, m.twin, m.first_us, m.session_no, m.line, t.provider, t.developer, t.session,
        t.request
    FROM mapped_member AS m JOIN mapped_timed AS t ON t.line = m.line
    WHERE m.is_first
),
said AS (
    SELECT m."row", arg_min(t.project, m.line) AS project, arg_min(t.model, m.line) AS model,
        arg_min(t.input_tokens, m.line) AS input_tokens, arg_min(t.cached_tokens, m.line) AS cached_tokens,
        arg_min(t.output_tokens, m.line) AS output_tokens, bool_or(t.repaired) AS repaired
    FROM mapped_member AS m JOIN mapped_timed AS t ON t.line = m.line
    GROUP BY m."row"
)
SELECT h.* EXCLUDE (twin, request, first_us), s.* EXCLUDE ("row"),
    coalesce(CASE WHEN $named THEN h.request END,
        left(sha256(concat_ws(':', 'round', h.session, h.first_us, h.twin)), 20)) AS round_id
FROM head AS h JOIN said AS s ON s."row" = h."row"
