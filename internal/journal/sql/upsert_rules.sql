-- They become the newest, also by a clock that is behind.
INSERT INTO rules (digest, json, at)
VALUES (?1, ?2, max(?3, (SELECT coalesce(max(at), 0) + 1 FROM rules)))
ON CONFLICT (digest) DO UPDATE SET at = excluded.at
