-- what tells the rounds of a source apart, to count which of them are new
SELECT hash(provider, "user", session_id, round_index, round_id, input_tokens_total, output_tokens) AS identity
FROM rounds WHERE round_pk BETWEEN $first AND $last
