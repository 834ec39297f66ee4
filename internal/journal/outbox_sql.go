// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import _ "embed"

// The statements of the outbox.
var (
	//go:embed sql/select_journal.sql
	selectJournalSQL string
	//go:embed sql/select_destination.sql
	selectDestinationSQL string
	//go:embed sql/create_destination.sql
	createDestinationSQL string
	//go:embed sql/lease_destination.sql
	leaseDestinationSQL string
	//go:embed sql/release_destination.sql
	releaseDestinationSQL string
	//go:embed sql/advance_destination.sql
	advanceDestinationSQL string
	//go:embed sql/forget_destination.sql
	forgetDestinationSQL string
	//go:embed sql/insert_dead_letter.sql
	insertDeadLetterSQL string
	//go:embed sql/select_dead_letters.sql
	selectDeadLettersSQL string
	//go:embed sql/update_dead_letter.sql
	updateDeadLetterSQL string
	//go:embed sql/delete_dead_letter.sql
	deleteDeadLetterSQL string
	//go:embed sql/select_last_seq.sql
	selectLastSeqSQL string
	//go:embed sql/select_rows.sql
	selectRowsSQL string
	//go:embed sql/select_dead_rows.sql
	selectDeadRowsSQL string
	//go:embed sql/select_backlog.sql
	selectBacklogSQL string
	//go:embed sql/select_triggers.sql
	selectTriggersSQL string
)
