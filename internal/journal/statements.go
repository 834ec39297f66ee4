// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import _ "embed"

// The statements, one per file. Every value is a parameter.
var (
	//go:embed sql/insert_event.sql
	insertEventSQL string
	//go:embed sql/upsert_session.sql
	upsertSessionSQL string
	//go:embed sql/insert_agent.sql
	insertAgentSQL string
	//go:embed sql/insert_child.sql
	insertChildSQL string
	//go:embed sql/select_events.sql
	selectEventsSQL string
	//go:embed sql/select_row.sql
	selectRowSQL string
	//go:embed sql/select_stored.sql
	selectStoredSQL string
	//go:embed sql/select_sessions.sql
	selectSessionsSQL string
	//go:embed sql/select_open_requests.sql
	selectOpenRequestsSQL string
	//go:embed sql/select_milestones.sql
	selectMilestonesSQL string
	//go:embed sql/select_requested.sql
	selectRequestedSQL string
	//go:embed sql/select_outline.sql
	selectOutlineSQL string
	//go:embed sql/select_standing.sql
	selectStandingSQL string
	//go:embed sql/count_events.sql
	countEventsSQL string
	//go:embed sql/add_lost_rows.sql
	addLostRowsSQL string
	//go:embed sql/select_lost_rows.sql
	selectLostRowsSQL string
	//go:embed sql/select_rules.sql
	selectRulesSQL string
	//go:embed sql/upsert_rules.sql
	upsertRulesSQL string

	//go:embed sql/insert_approval.sql
	insertApprovalSQL string
	//go:embed sql/update_approval.sql
	updateApprovalSQL string
	//go:embed sql/attach_approval.sql
	attachApprovalSQL string
	//go:embed sql/select_approval.sql
	selectApprovalSQL string
	//go:embed sql/select_approval_state.sql
	selectApprovalStateSQL string
	//go:embed sql/select_last_approval.sql
	selectLastApprovalSQL string
	//go:embed sql/select_last_change.sql
	selectLastChangeSQL string
	//go:embed sql/select_confirmed.sql
	selectConfirmedSQL string
	//go:embed sql/select_approvals.sql
	selectApprovalsSQL string
	//go:embed sql/insert_history.sql
	insertHistorySQL string
	//go:embed sql/select_history.sql
	selectHistorySQL string
)
