// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"embed"
	"fmt"
	"strings"
)

// sqlFiles has a file for the statements of each table. Every value in them is a parameter.
//
//go:embed sql
var sqlFiles embed.FS

// The statements, by the tables that they are about.
var (
	selectJournalSQL    = statement("journal", "select_journal")
	selectLastNumberSQL = statement("journal", "select_last_number")
	markRemovedToSQL    = statement("journal", "mark_removed_to")
	selectHeaderSQL     = statement("journal", "select_header")
	selectObjectsSQL    = statement("journal", "select_objects")
	selectHealthSQL     = statement("journal", "select_health")
	selectUsageSQL      = statement("journal", "select_usage")
	giveBackSQL         = statement("journal", "give_back")

	insertEventSQL         = statement("agent_events", "insert_event")
	selectEventsSQL        = statement("agent_events", "select_events")
	selectRowSQL           = statement("agent_events", "select_row")
	selectStoredSQL        = statement("agent_events", "select_stored")
	selectRowsSQL          = statement("agent_events", "select_rows")
	selectOutlineSQL       = statement("agent_events", "select_outline")
	selectMilestonesSQL    = statement("agent_events", "select_milestones")
	selectTriggersSQL      = statement("agent_events", "select_triggers")
	selectLastSeqSQL       = statement("agent_events", "select_last_seq")
	selectRemovableRowsSQL = statement("agent_events", "select_removable_rows")
	removeRowsSQL          = statement("agent_events", "remove_rows")

	numberSessionSQL   = statement("sessions", "number_session")
	selectNumberSQL    = statement("sessions", "select_number")
	updateSessionSQL   = statement("sessions", "update_session")
	selectSessionSQL   = statement("sessions", "select_session")
	selectSessionsSQL  = statement("sessions", "select_sessions")
	selectRemovedSQL   = statement("sessions", "select_removed")
	selectRemovableSQL = statement("sessions", "select_removable")
	markRemovalSQL     = statement("sessions", "mark_removal")
	finishRemovalSQL   = statement("sessions", "finish_removal")

	insertAgentSQL  = statement("session_agents", "insert_agent")
	removeAgentsSQL = statement("session_agents", "remove_agents")

	insertChildSQL    = statement("child_sessions", "insert_child")
	removeChildrenSQL = statement("child_sessions", "remove_children")
	selectChildrenSQL = statement("child_sessions", "select_children")

	addLostRowsSQL    = statement("lost_rows", "add_lost_rows")
	selectLostRowsSQL = statement("lost_rows", "select_lost_rows")

	selectSummariesSQL = statement("summaries", "select_summaries")
	selectStampSQL     = statement("summaries", "select_stamp")
	upsertSummarySQL   = statement("summaries", "upsert_summary")
	removeSummarySQL   = statement("summaries", "remove_summary")
	removeSummaryOfSQL = statement("summaries", "remove_summary_of")

	upsertRulesSQL = statement("rules", "upsert_rules")
	selectRulesSQL = statement("rules", "select_rules")

	insertApprovalSQL     = statement("approvals", "insert_approval")
	selectApprovalsSQL    = statement("approvals", "select_approvals")
	selectOpenRequestsSQL = statement("approvals", "select_open_requests")
	selectRequestedSQL    = statement("approvals", "select_requested")
	attachApprovalSQL     = statement("approvals", "attach_approval")
	closeApprovalSQL      = statement("approvals", "close_approval")
	updateApprovalSQL     = statement("approvals", "update_approval")

	insertHistorySQL = statement("approval_history", "insert_history")
	selectHistorySQL = statement("approval_history", "select_history")

	createDestinationSQL  = statement("destinations", "create_destination")
	selectDestinationSQL  = statement("destinations", "select_destination")
	selectDestinationsSQL = statement("destinations", "select_destinations")
	leaseDestinationSQL   = statement("destinations", "lease_destination")
	releaseDestinationSQL = statement("destinations", "release_destination")
	advanceDestinationSQL = statement("destinations", "advance_destination")
	forgetDestinationSQL  = statement("destinations", "forget_destination")
	selectBacklogSQL      = statement("destinations", "select_backlog")
	selectLaggardSQL      = statement("destinations", "select_laggard")

	insertDeadLetterSQL  = statement("dead_letters", "insert_dead_letter")
	selectDeadLettersSQL = statement("dead_letters", "select_dead_letters")
	selectDeadRowsSQL    = statement("dead_letters", "select_dead_rows")
	updateDeadLetterSQL  = statement("dead_letters", "update_dead_letter")
	deleteDeadLetterSQL  = statement("dead_letters", "delete_dead_letter")
)

// statement returns the statement with a name in the file of a table: it stands behind the line
// "-- name: NAME", and the next such line ends it. It panics if there is none.
func statement(table, name string) string {
	file, err := sqlFiles.ReadFile("sql/" + table + ".sql")
	if err != nil {
		panic(err)
	}
	_, text, found := strings.Cut(string(file), "-- name: "+name+"\n")
	if !found {
		panic(fmt.Sprintf("journal: %s.sql has no statement %q", table, name))
	}
	text, _, _ = strings.Cut(text, "-- name: ")
	return strings.TrimSpace(text)
}
