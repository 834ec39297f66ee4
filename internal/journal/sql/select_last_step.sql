SELECT coalesce(max(id), 0) FROM approval_history
