-- name: upsert_rules
INSERT INTO contextgraph.rules (digest, at, rules)
VALUES ($1, (SELECT coalesce(max(at), 0) + 1 FROM contextgraph.rules), $2)
ON CONFLICT (digest) DO UPDATE SET at = excluded.at
WHERE rules.at + 1 < excluded.at

-- name: select_rules
SELECT rules FROM contextgraph.rules WHERE $1 = '' OR digest = $1 ORDER BY at DESC LIMIT 1
