DELETE FROM caused_edges WHERE src = ?1 AND kind = ?2 AND dst = ?3
