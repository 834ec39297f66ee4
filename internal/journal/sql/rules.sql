-- name: upsert_rules
-- They become the newest, also by a clock that is behind.
INSERT INTO rules (digest, json, at)
VALUES (?1, ?2, max(?3, (SELECT coalesce(max(at), 0) + 1 FROM rules)))
ON CONFLICT (digest) DO UPDATE SET at = excluded.at

-- name: select_rules
-- Those with the digest ?1, or the newest.
SELECT digest, json FROM rules
WHERE ?1 IN ('', digest)
ORDER BY at DESC
LIMIT 1
