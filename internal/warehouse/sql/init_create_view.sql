CREATE OR REPLACE VIEW {{table .Name}}
OPTIONS (
  description = {{printf "%q" .Description}},
  labels = [('{{.Label}}', '{{.Digest}}')]
)
AS
{{.Query}}
