-- Everything in the file that a person can define, but indexes.
SELECT type, name, sql FROM sqlite_schema WHERE type <> 'index' AND name NOT LIKE 'sqlite\_%' ESCAPE '\'
