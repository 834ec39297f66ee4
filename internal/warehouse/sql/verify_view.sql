-- The keys of what a view shows of some sessions, in order. Each is there once where the view
-- shows each thing once. The second column makes the view read all of its columns.
SELECT shown.{{.Key}}, TO_JSON_STRING(shown)
FROM {{table .View}} AS shown
WHERE shown.session_id IN UNNEST(@sessions)
ORDER BY 1
