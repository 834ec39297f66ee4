CREATE SCHEMA IF NOT EXISTS {{dataset}}
OPTIONS (location = '{{.}}')
