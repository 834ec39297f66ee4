// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package offload

// Reason says why a part was refused or lost. The set may grow.
type Reason string

// The reasons for which Put refuses a part.
const (
	// ReasonTooLarge: the part has more than MaxBytes.
	ReasonTooLarge Reason = "too_large"
	// ReasonQueueFull: the store was behind by QueueBytes.
	ReasonQueueFull Reason = "queue_full"
	// ReasonInvalidName: see [CheckName].
	ReasonInvalidName Reason = "invalid_name"
	// ReasonClosed: the part came after Close.
	ReasonClosed Reason = "closed"
)

// The reasons for which an accepted part is lost.
const (
	// ReasonExists: the name was taken, and does not say that it is by this part.
	ReasonExists Reason = "exists"
	// ReasonFailed: the store failed for good, or until the time for the part was up.
	ReasonFailed Reason = "failed"
	// ReasonTimeout: the store did not answer until the time for the part was up.
	ReasonTimeout Reason = "timeout"
	// ReasonUnwritten: the part was not stored when the time of Close was up. A store
	// that hung may store it later.
	ReasonUnwritten Reason = "unwritten"
)

// ReasonPanic: the store panicked. Put refuses the part when its URI could not be
// told, otherwise the part is lost.
const ReasonPanic Reason = "panic"

// Stats is a snapshot of the counters of an [Uploader] since its start.
type Stats struct {
	// Accepted counts the parts for which Put returned true.
	Accepted uint64
	// Refused counts the parts for which Put returned false, by reason.
	Refused map[Reason]uint64
	// Stored counts the parts stored, StoredBytes their bytes.
	Stored, StoredBytes uint64
	// Lost counts the accepted parts that were not stored, by reason.
	Lost map[Reason]uint64
	// Queued is the number of parts that wait or are being stored. QueuedBytes is their memory,
	// with that of parts that Put is copying.
	Queued      int
	QueuedBytes int64
}
