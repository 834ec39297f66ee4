// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety

import (
	"regexp"
	"strings"
)

// address matches what names a place in a network: a URL, or a host with a port.
var address = regexp.MustCompile(`(?i)\b[a-z][a-z0-9+.-]*://[^\s"'<>]+|\b(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?\b|\[[0-9a-f:.%]*:[0-9a-f:.%]*\](?::\d+)?|\b[a-z0-9-]*[a-z][a-z0-9-]*(?:\.[a-z0-9-]+)*:\d{2,5}\b`)

// moment matches what only looks like a host with a port: a time of day, behind its date or before its zone.
var moment = regexp.MustCompile(`(?i)^(?:\d{4}-\d{2}-\d{2}T(?:[01]\d|2[0-3]):[0-5]\d|(?:UTC|GMT)-(?:0\d|1[0-2]):[0-5]\d)$`)

// Told returns the failure as a model, or a person without rights, may read it: without the addresses
// of services and the errors of programs.
func (f Failure) Told() Failure {
	if c := causes[f.Reason]; c.secret {
		f.Detail = c.words
		return f
	}
	f.Detail = oneLine(address.ReplaceAllStringFunc(f.Detail, func(s string) string {
		if strings.Contains(s, ".yaml:") || strings.Contains(s, ".yml:") || moment.MatchString(s) {
			return s // a line of the configuration, or a time
		}
		return "[address]"
	}))
	return f
}
