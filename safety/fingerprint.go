// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"slices"

	"github.com/adk-contextgraph/contextgraph/entity"
)

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
