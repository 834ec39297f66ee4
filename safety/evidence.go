// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/record"
)

// Snapshot is the evidence of a decision, and the state of the record that has it.
type Snapshot struct {
	entity.Evidence
	// Expected are the rules that show attributes, for the failure that nothing was seen.
	Expected []entity.Shown
	// Receipt describes the rows of the extraction.
	Receipt record.Receipt
	// Gaps names, for people, the missing parts of the record: rows that were lost, turns without
	// an end. A complete record has none.
	Gaps []string
}

// count gives a number of things with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// problems lists what makes the snapshot unfit to approve anything.
func problems(r record.Receipt, gaps []string) []Failure {
	var out []Failure
	if r.RowsRead <= 0 || r.Watermark <= 0 {
		out = append(out, fail(ReasonIncompleteRecord, "no row of the session was read"))
	}
	if r.Failed != 0 {
		out = append(out, fail(ReasonExtractionFailed, "no entities could be extracted from %s: %s", count(r.Failed, "row"), cmp.Or(r.Error, "reason unknown")))
	}
	if r.Truncated != 0 {
		out = append(out, fail(ReasonIncompleteRecord, "%s lost content before being recorded, to a limit of its size", count(r.Truncated, "row")))
	}
	for _, g := range gaps {
		out = append(out, fail(ReasonIncompleteRecord, "%s", g))
	}
	return out
}

// Exists is the attribute of an entity that was seen, or named, without any attribute.
const Exists = entity.Exists

// Evidence reads the record of a session. Collect must return only after every row recorded before
// the call is durable and extracted. Entities recorded after the decision do not count. Without a
// decision, all entities count.
//
// Collect is called concurrently. An error, or a panic, denies.
type Evidence interface {
	Collect(ctx context.Context, s record.Session, d record.Decision) (Snapshot, error)
}

// Fingerprint returns a digest of entities with the values that were seen, as 64 hexadecimal
// digits. The entities that a person saw equal the entities that are checked if and only if the
// fingerprints are equal. Type, key, value and attributes enter, and the number of entities. Their
// order, times, sources and confidence do not.
func Fingerprint(entities []entity.Canonical) string {
	sums := make([]string, 0, len(entities))
	for _, e := range entities {
		fields := []string{e.Type, e.Key, e.Value, e.Norm.Canonical()}
		for _, name := range slices.Sorted(maps.Keys(e.Attributes)) {
			fields = append(fields, name, e.Attributes[name].Canonical())
		}
		if len(e.Absent) > 0 {
			fields = append(append(fields, notThere), e.Absent...)
		}
		sums = append(sums, digest(fields...))
	}
	slices.Sort(sums)
	return digest(append([]string{"entities v1"}, sums...)...)
}

// digest hashes strings with their lengths, so that no two lists of strings give
// the same input.
func digest(fields ...string) string {
	h := sha256.New()
	for _, f := range fields {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(f)))
		h.Write(n[:])
		h.Write([]byte(f))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// cloneEntity copies everything of e that a caller could change.
func cloneEntity(e entity.Canonical) entity.Canonical {
	e.Attributes = maps.Clone(e.Attributes)
	e.AttributeSeenAt = maps.Clone(e.AttributeSeenAt)
	e.Sources, e.Absent = slices.Clone(e.Sources), slices.Clone(e.Absent)
	e.Seen = slices.Clone(e.Seen)
	for i := range e.Seen {
		e.Seen[i].Attributes = maps.Clone(e.Seen[i].Attributes)
		e.Seen[i].Echoes = slices.Clone(e.Seen[i].Echoes)
	}
	return e
}

func cloneEntities(es []entity.Canonical) []entity.Canonical {
	out := slices.Clone(es)
	for i := range out {
		out[i] = cloneEntity(out[i])
	}
	return out
}
