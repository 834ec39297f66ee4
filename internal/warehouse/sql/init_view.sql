{{- define "scalar" -}}
JSON_VALUE({{.From}}, '{{.JSONPath}}')
{{- end -}}
{{- define "number" -}}
SAFE_CAST({{template "scalar" .}} AS FLOAT64)
{{- end -}}
{{- define "value" -}}
{{- if eq .As "column"}}{{.From}}
{{- else if eq .As "query"}}JSON_QUERY({{.From}}, '{{.JSONPath}}')
{{- else if eq .As "json_type"}}JSON_TYPE(JSON_QUERY({{.From}}, '{{.JSONPath}}'))
{{- else if eq .As "seconds"}}SAFE.TIMESTAMP_MICROS(SAFE_CAST(ROUND(SAFE_MULTIPLY({{template "number" .}}, 1000000)) AS INT64))
{{- else if eq .As "ratio"}}SAFE_DIVIDE({{template "number" .}}, {{template "number" .Over}})
{{- else if .ElsePath}}COALESCE({{template "scalar" .}}, JSON_VALUE({{.From}}, '{{.ElsePath}}'))
{{- else if eq .Type "STRING"}}{{template "scalar" .}}
{{- else if eq .Type "INT64"}}COALESCE(SAFE_CAST({{template "scalar" .}} AS INT64), SAFE_CAST(ROUND({{template "number" .}}) AS INT64))
{{- else}}SAFE_CAST({{template "scalar" .}} AS {{.Type}})
{{- end}}
{{- end -}}
SELECT
{{- range .Common}}
  {{.}},{{end}}
{{- range $i, $c := .Columns}}{{if $i}},{{end}}
  {{template "value" $c}} AS {{$c.Name}}{{end}}
FROM {{events}}
WHERE event_type = '{{.EventType}}'
QUALIFY event_id IS NULL
  OR ROW_NUMBER() OVER (PARTITION BY event_id, timestamp, event_type, agent, user_id, session_id) = 1
