-- Makes the table of events old: copies of its rows in another session, many times, 200 days
-- before. A question that is bounded in time reads none of them.
INSERT INTO {{events}} ({{range $i, $c := .Columns}}{{if $i}}, {{end}}{{$c}}{{end}})
SELECT
  {{- range $i, $c := .Columns}}{{if $i}},{{end}}
  {{if eq $c "timestamp"}}TIMESTAMP_SUB(old.timestamp, INTERVAL 200 DAY)
  {{- else if eq $c "event_type"}}'OLD'
  {{- else if eq $c "session_id"}}CONCAT('old-', CAST(copy AS STRING))
  {{- else if eq $c "trace_id"}}CONCAT('old-', CAST(copy AS STRING))
  {{- else if eq $c "event_id"}}CONCAT(old.event_id, '-', CAST(copy AS STRING))
  {{- else}}old.{{$c}}{{end}}
  {{- end}}
FROM {{events}} AS old
CROSS JOIN UNNEST(GENERATE_ARRAY(1, @copies)) AS copy
WHERE old.timestamp > TIMESTAMP_SUB(CURRENT_TIMESTAMP(), INTERVAL 20 DAY)
