// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import "strings"

// A tokenForm is a form of tokens that need no name to be told.
type tokenForm struct {
	name     string
	prefixes []string
	signal   byte // the byte of each prefix that a scan stops at, where it stands first
	least    int  // how many bytes follow a prefix at least
	// body reports whether what follows a prefix looks like the rest of a token and not like
	// words, a number or an identifier.
	body func(s string, least int) bool
}

// tokenForms are the forms that are known. A new form needs a prefix with a byte that few
// words have at its place.
var tokenForms = []tokenForm{
	{"JSON web token", []string{"eyJ"}, 'J', 20, isWebToken},
	{"Google API key", []string{"AIza"}, 'z', 30, isDense},
	{"Google OAuth token", []string{"ya29."}, '2', 20, isDense},
	{"AWS access key", []string{"AKIA", "ASIA"}, 'I', 16, isAccessKey},
	{"GitHub token", []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"}, '_', 20, isDense},
	{"GitLab token", []string{"glpat-"}, '-', 20, isDashed},
	{"Slack token", []string{"xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxe-", "xoxo-"}, '-', 10, hasDigit},
	{"Stripe key", []string{"sk_live_", "sk_test_", "rk_live_", "rk_test_"}, '_', 10, isDense},
	{"OpenAI or Anthropic key", []string{"sk-"}, '-', 20, isDashed},
	{"npm token", []string{"npm_"}, '_', 30, isDense},
	{"Hugging Face token", []string{"hf_"}, '_', 30, isDense},
	{"Docker token", []string{"dckr_pat_"}, '_', 20, isDense},
	{"Shopify token", []string{"shpat_", "shpca_", "shppa_", "shpss_"}, '_', 20, isDense},
	{"Google client secret", []string{"GOCSPX-"}, 'P', 20, isDense},
	{"PyPI token", []string{"pypi-"}, '-', 30, isDense},
	{"Vault token", []string{"hvs.", "hvb.", "hvr."}, 'v', 20, isDense},
	{"SendGrid key", []string{"SG."}, 'G', 30, isDense},
}

// tokenPrefixes are the prefixes of tokens by the byte before their signal, of which few
// have the same.
var tokenPrefixes = func() (t [256][]tokenPrefix) {
	for i := range tokenForms {
		form := &tokenForms[i]
		for _, p := range form.prefixes {
			at := strings.IndexByte(p, form.signal)
			t[p[at-1]] = append(t[p[at-1]], tokenPrefix{form, p, at})
		}
	}
	return t
}()

// tokenPrefix is a prefix of a form, with its signal at a place.
type tokenPrefix struct {
	*tokenForm
	text string
	at   int
}

// token returns where a token of a known form begins and ends that has the signal at i in
// its prefix. start is -1 where there is none.
func token(s string, i int) (start, end int) {
	if i == 0 {
		return -1, -1
	}
	prefixes := tokenPrefixes[s[i-1]]
	for n := range prefixes {
		p := &prefixes[n]
		if p.signal != s[i] || i < p.at || !strings.HasPrefix(s[i-p.at:], p.text) {
			continue
		}
		start = i - p.at
		if start > 0 && isWord(s[start-1]) && (start < 2 || s[start-2] != '\\') {
			return -1, -1 // so that no byte is a part of more than one
		}
		body := start + len(p.text)
		for end = body; end < len(s) && isWord(s[end]); {
			end++
		}
		for s[end-1] == '.' {
			end-- // of a sentence
		}
		if rest := s[min(body, end):end]; len(rest) < p.least || !p.body(rest, p.least) {
			return -1, -1
		}
		return start, end
	}
	return -1, -1
}

// isWebToken reports whether s are the parts of a web token behind its first bytes. Of three
// parts the middle one is JSON too, unless it is encrypted.
func isWebToken(s string, _ int) bool {
	n := strings.IndexByte(s, '.')
	return n > 0 && (strings.HasPrefix(s[n+1:], "eyJ") || strings.Count(s, ".") >= 2)
}

func isAccessKey(s string, length int) bool {
	for i := range len(s) {
		if !isUpper(s[i]) && !isDigit(s[i]) {
			return false
		}
	}
	return len(s) == length
}

func hasDigit(s string, _ int) bool { return strings.ContainsAny(s, "0123456789") }

// isDense reports whether s begins with a run of letters, digits and joining characters that has
// both and is longer than a word or a part of a UUID.
func isDense(s string, least int) bool {
	letters, digits := 0, 0
	for i := range min(len(s), least) {
		if c := s[i]; isDigit(c) {
			digits++
		} else if isLetter(c) {
			letters++
		}
	}
	return letters > 0 && digits > 0
}

// isDashed is isDense for a token with dashes, such as the one after "proj". Its run has letters
// and digits alone.
func isDashed(s string, least int) bool {
	run, letters, digits := 0, 0, 0
	for i := 0; i < len(s) && run < least; i++ {
		switch c := s[i]; {
		case isDigit(c):
			run, digits = run+1, digits+1
		case isLetter(c):
			run, letters = run+1, letters+1
		default:
			if run >= 16 && letters > 0 && digits > 0 {
				return true
			}
			run, letters, digits = 0, 0, 0
		}
	}
	return run >= min(least, 16) && letters > 0 && digits > 0
}
