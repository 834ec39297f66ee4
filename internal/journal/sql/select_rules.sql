-- Those with the digest ?1, or the newest.
SELECT digest, json FROM rules
WHERE ?1 IN ('', digest)
ORDER BY at DESC
LIMIT 1
