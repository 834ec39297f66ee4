-- A server that takes the place of another one, or that is restored from a backup, has another timeline. It may lack the
-- last steps of approvals. A standby has none of its own.
CREATE FUNCTION contextgraph.timeline() RETURNS text LANGUAGE sql STABLE
  AS $$ SELECT CASE WHEN NOT pg_is_in_recovery() THEN left(pg_walfile_name(pg_current_wal_lsn()), 8) END $$;

-- timeline is that of the last step; NULL where the server waits for a standby, so that none of them can be lost.
ALTER TABLE contextgraph.approvals ADD COLUMN timeline text COLLATE "C"
  DEFAULT CASE WHEN current_setting('synchronous_standby_names') = '' THEN contextgraph.timeline() END;
