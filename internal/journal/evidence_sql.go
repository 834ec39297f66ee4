// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import _ "embed"

// The statements of the evidence of sessions.
var (
	//go:embed sql/evidence/select_progress.sql
	selectProgressSQL string
	//go:embed sql/evidence/upsert_progress.sql
	upsertProgressSQL string
	//go:embed sql/evidence/insert_result.sql
	insertResultSQL string
	//go:embed sql/evidence/rewrite_result.sql
	rewriteResultSQL string
	//go:embed sql/evidence/rewrite_seen.sql
	rewriteSeenSQL string
	//go:embed sql/evidence/rewrite_sightings.sql
	rewriteSightingsSQL string
	//go:embed sql/evidence/insert_call.sql
	insertCallSQL string
	//go:embed sql/evidence/insert_name.sql
	insertNameSQL string
	//go:embed sql/evidence/add_name.sql
	addNameSQL string
	//go:embed sql/evidence/select_attribute.sql
	selectAttributeSQL string
	//go:embed sql/evidence/upsert_attribute.sql
	upsertAttributeSQL string
	//go:embed sql/evidence/insert_sighting.sql
	insertSightingSQL string
	//go:embed sql/evidence/insert_seen.sql
	insertSeenSQL string
	//go:embed sql/evidence/insert_choice.sql
	insertChoiceSQL string
	//go:embed sql/evidence/rewrite_choices.sql
	rewriteChoicesSQL string
	//go:embed sql/evidence/upsert_run.sql
	upsertRunSQL string
	//go:embed sql/evidence/insert_turn.sql
	insertTurnSQL string

	//go:embed sql/evidence/select_last_row.sql
	selectLastRowSQL string
	//go:embed sql/evidence/select_results.sql
	selectResultsSQL string
	//go:embed sql/evidence/select_result.sql
	selectResultSQL string
	//go:embed sql/evidence/select_last_call.sql
	selectLastCallSQL string
	//go:embed sql/evidence/select_run.sql
	selectRunSQL string
	//go:embed sql/evidence/select_found.sql
	selectFoundSQL string
	//go:embed sql/evidence/select_results_of_run.sql
	selectResultsOfRunSQL string
	//go:embed sql/evidence/select_calls.sql
	selectCallsSQL string
	//go:embed sql/evidence/select_keys.sql
	selectKeysSQL string
	//go:embed sql/evidence/select_attributes.sql
	selectAttributesSQL string
	//go:embed sql/evidence/select_sightings.sql
	selectSightingsSQL string
	//go:embed sql/evidence/select_choices.sql
	selectChoicesSQL string
	//go:embed sql/evidence/select_open_runs.sql
	selectOpenRunsSQL string
	//go:embed sql/evidence/select_runs_of_turn.sql
	selectRunsOfTurnSQL string

	//go:embed sql/evidence/remove_choices.sql
	removeChoicesSQL string
	//go:embed sql/evidence/remove_seen.sql
	removeSeenSQL string
	//go:embed sql/evidence/remove_sightings.sql
	removeSightingsSQL string
	//go:embed sql/evidence/remove_attributes.sql
	removeAttributesSQL string
	//go:embed sql/evidence/remove_names.sql
	removeNamesSQL string
	//go:embed sql/evidence/remove_calls.sql
	removeCallsSQL string
	//go:embed sql/evidence/remove_results.sql
	removeResultsSQL string
	//go:embed sql/evidence/remove_turns.sql
	removeTurnsSQL string
	//go:embed sql/evidence/remove_runs.sql
	removeRunsSQL string
	//go:embed sql/evidence/remove_progress.sql
	removeProgressSQL string
)
