SELECT id FROM journal
