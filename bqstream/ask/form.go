// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package ask

// Form is the language that a question was asked in.
type Form string

// The forms.
const (
	// FormGQL asks the property graph.
	FormGQL Form = "gql"
	// FormRecursive asks in SQL, which recurses where a path is looked for.
	FormRecursive Form = "recursive"
)
