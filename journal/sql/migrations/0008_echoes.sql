-- The journal, version 8: which attributes of an entity only repeat the arguments of the
-- call, or stand in words alone, as a JSON list of names; NULL for none.
ALTER TABLE extracted_biz_nodes ADD COLUMN echoes TEXT;
