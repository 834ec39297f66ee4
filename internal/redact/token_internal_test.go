// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"strings"
	"testing"
)

// Each form of the table is found, by each of its prefixes, and needs its length.
func TestTokenForms(t *testing.T) {
	body := map[string]string{
		"JSON web token": "hbGciOiJub25lIn0.eyJzdWIiOiIxMjM0NTY3ODkwIn0", "AWS access key": "IOSFODNN7EXAMPLE", "Slack token": "123456789012-abcdef",
	}
	for _, form := range tokenForms {
		rest := body[form.name]
		if rest == "" {
			rest = strings.Repeat("a1B2", 10)
		}
		for _, prefix := range form.prefixes {
			if strings.IndexByte(prefix, form.signal) < 1 {
				t.Errorf("%s: the signal %q does not stand in %s behind another byte", form.name, form.signal, prefix)
			}
			var c Cleaner
			if got := c.Clean("a " + prefix + rest + " b"); got != "a "+Mark+" b" {
				t.Errorf("%s is left: %s", form.name, got)
			}
			if short := prefix + rest[:min(len(rest), form.least)-1]; c.Clean(short) != short {
				t.Errorf("%s is found in %s, which is too short for one", form.name, short)
			}
		}
	}
}
