-- Whose file it is, of which version, and whether it has any table. One statement, so that all three
-- are of one moment: another process may be creating the journal.
SELECT a.application_id, v.user_version, (SELECT count(*) FROM sqlite_schema)
FROM pragma_application_id AS a, pragma_user_version AS v
