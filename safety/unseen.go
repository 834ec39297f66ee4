// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety

// Unseen says what the check does with what no reading shows.
type Unseen uint8

// What happens to the unseen. The zero value denies.
const (
	UnseenDeny Unseen = iota
	// UnseenAllow lets a check pass, and says so in the report.
	UnseenAllow
)

var unseenNames = []string{UnseenDeny: "deny", UnseenAllow: "allow"}

// String returns "allow" or, for every other value, "deny".
func (u Unseen) String() string { return nameOf(unseenNames, u) }

// MarshalText encodes u as its String.
func (u Unseen) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// UnmarshalText reads what String writes. Anything else is an error.
func (u *Unseen) UnmarshalText(text []byte) error {
	return readName(u, "answer to the unseen", unseenNames, text)
}
