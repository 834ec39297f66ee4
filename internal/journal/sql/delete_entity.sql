-- Its cross link goes with it.
DELETE FROM extracted_biz_nodes WHERE id = ?1
