// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect

import "time"

// SetClock gives a source another clock than that of the machine.
func SetClock(s Source, now func() time.Time) {
	switch s := s.(type) {
	case *rowsSource:
		s.now = now
	case *journalSource:
		s.now = now
	}
}
