{{- /* Each event once, behind the conditions of a question: see init_unique. */ -}}
{{define "once"}}QUALIFY event_id IS NULL
      OR ROW_NUMBER() OVER (PARTITION BY event_id, timestamp, event_type, agent, user_id, session_id) = 1
{{- end}}
