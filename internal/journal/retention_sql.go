// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import _ "embed"

// The statements of retention.
var (
	//go:embed sql/select_usage.sql
	selectUsageSQL string
	//go:embed sql/give_back.sql
	giveBackSQL string
	//go:embed sql/select_removable.sql
	selectRemovableSQL string
	//go:embed sql/select_laggard.sql
	selectLaggardSQL string
	//go:embed sql/select_removable_rows.sql
	selectRemovableRowsSQL string
	//go:embed sql/select_removed.sql
	selectRemovedSQL string
	//go:embed sql/mark_removal.sql
	markRemovalSQL string
	//go:embed sql/finish_removal.sql
	finishRemovalSQL string
	//go:embed sql/remove_rows.sql
	removeRowsSQL string
	//go:embed sql/remove_agents.sql
	removeAgentsSQL string
	//go:embed sql/remove_children.sql
	removeChildrenSQL string
)
