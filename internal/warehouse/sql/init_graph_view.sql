{{- if eq . "steps"}}{{template "steps" "all"}}
{{- else if eq . "tech_nodes"}}{{template "tech_nodes" "all"}}
{{- else if eq . "caused_edges"}}{{template "caused_edges" "all"}}
{{- else if eq . "biz_nodes"}}{{template "biz_nodes" "all"}}
{{- else if eq . "cross_links"}}{{template "cross_links" "all"}}
{{- else}}{{template "checks" "all"}}
{{- end}}
