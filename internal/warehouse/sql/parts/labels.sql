{{- /* The labels of a table, sorted by their keys. */ -}}
{{define "labels"}}[{{$comma := ""}}{{range $key, $value := .}}{{$comma}}('{{$key}}', '{{$value}}'){{$comma = ", "}}{{end}}]{{end}}
