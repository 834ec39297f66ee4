{{- /* A time as text. */ -}}
{{define "rfc3339"}}CONCAT(FORMAT_TIMESTAMP('%FT%H:%M:%E6S', {{.}}), 'Z'){{end}}
