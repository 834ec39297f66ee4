ALTER TABLE {{events}}
SET OPTIONS (labels = {{template "labels" .}})
