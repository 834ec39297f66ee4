-- What a view shows of some sessions, with all of its columns, by the column that is different in
-- each of its rows where it shows each thing once.
SELECT shown.{{.Key}} AS shown_key, shown.*
FROM {{table .View}} AS shown
WHERE shown.session_id IN UNNEST(@sessions)
ORDER BY shown_key
