{{- define "type" -}}
{{if eq .Mode "REPEATED"}}ARRAY<{{end}}{{.Type}}
{{- if .Fields}}<{{range $i, $f := .Fields}}{{if $i}}, {{end}}{{template "column" $f}}{{end}}>{{end}}
{{- if eq .Mode "REPEATED"}}>{{end}}
{{- end -}}
{{- define "column" -}}
{{.Name}} {{template "type" .}}{{if eq .Mode "REQUIRED"}} NOT NULL{{end}}
{{- if .Description}} OPTIONS (description = {{printf "%q" .Description}}){{end}}
{{- end -}}
CREATE TABLE IF NOT EXISTS {{table .Name}} (
{{- range $i, $c := .Columns}}{{if $i}},{{end}}
  {{template "column" $c}}{{end}}
)
PARTITION BY {{.Partition}}
{{- if .ClusterBy}}
CLUSTER BY {{range $i, $c := .ClusterBy}}{{if $i}}, {{end}}{{$c}}{{end}}
{{- end}}
OPTIONS (
  description = {{printf "%q" .Description}}
  {{- if .Labels}},
  labels = {{template "labels" .Labels}}{{end}}
)
