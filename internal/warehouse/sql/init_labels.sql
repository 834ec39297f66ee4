ALTER TABLE {{events}}
SET OPTIONS (labels = [{{range $i, $l := .}}{{if $i}}, {{end}}('{{$l.Key}}', '{{$l.Value}}'){{end}}])
