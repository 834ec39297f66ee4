SELECT page_size, page_count, freelist_count
FROM pragma_page_size, pragma_page_count, pragma_freelist_count
