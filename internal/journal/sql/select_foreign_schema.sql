-- What runs code when a journal is read or written: views, triggers, virtual tables, and columns
-- that are computed.
SELECT m.type, m.name, m.sql FROM sqlite_schema AS m WHERE m.type IN ('view', 'trigger')
UNION ALL
SELECT 'virtual table', m.name, m.sql FROM sqlite_schema AS m WHERE m.type = 'table' AND m.rootpage = 0
UNION ALL
SELECT 'computed column in', m.name, m.sql FROM sqlite_schema AS m
WHERE m.type = 'table' AND m.rootpage <> 0 AND EXISTS (SELECT 1 FROM pragma_table_xinfo(m.name) AS x WHERE x.hidden <> 0)
