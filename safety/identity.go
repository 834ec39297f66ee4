// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety

import (
	"context"
	"errors"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/adk-contextgraph/contextgraph/internal/text"
	"github.com/adk-contextgraph/contextgraph/record"
)

// IdentityFunc returns the name of the authenticated person, or program, that a context belongs to.
// The context is that of the run, so it holds what the host authenticated. An error or an empty
// name means that nobody was authenticated. It is called concurrently.
type IdentityFunc func(ctx context.Context) (string, error)

// errNobody is the error of an IdentityFunc that names nobody.
var errNobody = errors.New("nobody is authenticated")

// who calls f within the time for one check. There is no identity without an f.
func (g *Guard) who(ctx context.Context) (string, error) {
	if g.identity == nil {
		return "", errNobody
	}
	name, err := bounded(ctx, g.policy.CheckTimeout, g.identity)
	if err == nil && identity(name) == "" {
		err = errNobody
	}
	return name, err
}

// requester returns who asks. If nothing authenticates them, it is the user of the session, who is
// the word of a client.
func (g *Guard) requester(ctx context.Context, s record.Session) (name string, authenticated bool) {
	if name, err := g.who(ctx); err == nil {
		return name, true
	}
	return s.User, false
}

// nobodyApprovers is how many people have to approve what somebody asked whom the identity does not
// name: one of them may be the one who asked.
const nobodyApprovers = 2

// approvers returns how many people have to approve a call of a tool.
func (g *Guard) approvers(tool string, authenticated bool) int {
	n := g.policy.settings(tool).Approvers
	if g.identity == nil || authenticated || g.policy.SelfApproval {
		return n
	}
	return max(n, nobodyApprovers)
}

var otherCase = strings.NewReplacer("ß", "ss", "i\u0307", "i")

// identity returns the form of a name in which people are compared: without regard to case, to the
// width of characters, to space around and inside, and to characters that nobody sees.
func identity(name string) string {
	name = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || text.Ignorable(r) {
			return -1
		}
		return r
	}, norm.NFKD.String(name))
	// NFKD leaves one letter whole that is two in another case, and Go's İ is i in small letters.
	return otherCase.Replace(strings.ToLower(strings.ToUpper(name)))
}

// same reports whether two names are those of one person. Names that are empty are nobody's.
func same(a, b string) bool { return identity(a) != "" && identity(a) == identity(b) }

// has reports whether a list of people names somebody.
func has(people []string, who string) bool {
	return slices.ContainsFunc(people, func(name string) bool { return same(name, who) })
}
