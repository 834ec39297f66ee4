{{- define "type" -}}
{{if eq .Mode "REPEATED"}}ARRAY<{{end}}{{.Type}}
{{- if .Fields}}<{{range $i, $f := .Fields}}{{if $i}}, {{end}}{{$f.Name}} {{template "type" $f}}{{end}}>{{end}}
{{- if eq .Mode "REPEATED"}}>{{end}}
{{- end -}}
ALTER TABLE {{table .Name}}
{{- range $i, $c := .Columns}}{{if $i}},{{end}}
  ADD COLUMN IF NOT EXISTS {{$c.Name}} {{template "type" $c}}
  {{- if $c.Description}} OPTIONS (description = {{printf "%q" $c.Description}}){{end}}{{end}}
