-- Every page given back is moved first, so a step is a few.
PRAGMA incremental_vacuum(64)
