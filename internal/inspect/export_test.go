// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect

import "time"

// SetClock gives sessions in rows another clock than that of the machine.
func SetClock(s Source, now func() time.Time) { s.(*rowsSource).now = now }
