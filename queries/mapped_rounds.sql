-- grain: one row per round
-- keys: row
-- columns: what a round has; where its rows differ, the first that says something
-- invariants: as many rows as mapped_member has first lines
CREATE TABLE mapped_round AS
WITH head AS (
    SELECT m."row", m.round_index, m.twin, m.first_us, m.session_no, m.line, m.n_lines, t.provider, t.developer,
        t.session, t.request, t.project, t.model, t.input_tokens, t.cached_tokens, t.output_tokens, t.repaired
    FROM mapped_member AS m JOIN mapped_timed AS t ON t.line = m.line
    WHERE m.is_first
),
-- most rounds have one row: only the others are put together
said AS (
    SELECT m."row", arg_min(t.project, m.line) AS project, arg_min(t.model, m.line) AS model,
        arg_min(t.input_tokens, m.line) AS input_tokens, arg_min(t.cached_tokens, m.line) AS cached_tokens,
        arg_min(t.output_tokens, m.line) AS output_tokens, bool_or(t.repaired) AS repaired
    FROM mapped_member AS m JOIN mapped_timed AS t ON t.line = m.line
    WHERE m.n_lines > 1
    GROUP BY m."row"
)
SELECT h."row", h.round_index, h.session_no, h.line, h.provider, h.developer, h.session,
    coalesce(CASE WHEN $named THEN h.request END,
        left(sha256(concat_ws(':', 'round', h.session, h.first_us, h.twin)), 20)) AS round_id,
    coalesce(h.project, s.project) AS project, coalesce(h.model, s.model) AS model,
    coalesce(h.input_tokens, s.input_tokens) AS input_tokens,
    coalesce(h.cached_tokens, s.cached_tokens) AS cached_tokens,
    coalesce(h.output_tokens, s.output_tokens) AS output_tokens, coalesce(s.repaired, h.repaired) AS repaired
FROM head AS h LEFT JOIN said AS s ON s."row" = h."row"
