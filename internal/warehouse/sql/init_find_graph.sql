-- The property graph of a name, whether or not names are case-sensitive in the dataset.
SELECT ddl
FROM {{schema "PROPERTY_GRAPHS"}}
WHERE LOWER(property_graph_name) = LOWER(@graph)
