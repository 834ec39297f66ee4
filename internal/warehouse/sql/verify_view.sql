-- What a view shows of some sessions, by the column that is different in each of its rows where it
-- shows each thing once. The second column makes it read all columns of the view.
SELECT shown.{{.Key}} AS shown_key, TO_JSON_STRING(shown) AS shown_row
FROM {{table .View}} AS shown
WHERE shown.session_id IN UNNEST(@sessions)
ORDER BY shown_key
