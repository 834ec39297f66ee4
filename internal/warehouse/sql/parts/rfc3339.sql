{{- /* A time as text. */ -}}
{{define "rfc3339"}}FORMAT_TIMESTAMP('%FT%H:%M:%E6SZ', {{.}}){{end}}
