-- The destinations, and until when somebody sends to them.
SELECT name, CASE WHEN owner IS NOT NULL THEN lease_until END FROM destinations ORDER BY name
