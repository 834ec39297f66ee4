// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import "strings"

// A tokenForm is a form of tokens that need no name to be told.
type tokenForm struct {
	name     string
	prefixes []string
	signal   byte // the byte of each prefix that a scan stops at, where it stands first
	// alphabet has the bytes of which the vendor makes what follows a prefix. length is how many follow
	// at least, and most how many at most, where that tells a token from words; 0 says nothing of it.
	// Prefix, alphabet and length are a proof.
	alphabet     kinds
	length, most int
	// body reports whether at least so many bytes that follow a prefix look like the rest of a token, of
	// whatever length, and not like words, a number or an identifier. Nil never does.
	body  func(s string, least int) bool
	least int
}

// tokenForms are the forms that are known. A new form needs a prefix with a byte that few
// words have at its place, and no alphabet in which the form can fail at a text that repeats its prefix:
// each repetition would be read to the end.
var tokenForms = []tokenForm{
	{"JSON web token", []string{"eyJ"}, 'J', 0, 0, 0, isWebToken, 20},
	{"Google API key", []string{"AIza"}, 'z', base64URL, 35, 35, isDense, 30},
	{"Google OAuth token", []string{"ya29."}, '2', base64URL, 20, 0, isDense, 20},
	{"Google client secret", []string{"GOCSPX-"}, 'P', base64URL, 28, 28, isDense, 20},
	{"AWS access key", []string{"AKIA", "ASIA", "ABIA"}, 'I', upper | digits, 16, 16, nil, 0},
	{"AWS Bedrock key", []string{"bedrock-api-key-YmVkcm9jay5hbWF6b25hd3MuY29t"}, '-', standard, 20, 0, nil, 0},
	{"GitHub token", []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_"}, '_', alphanumeric, 36, 0, isDense, 20},
	{"fine-grained GitHub token", []string{"github_pat_"}, '_', alphanumeric | underscore, 82, 0, isDense, 20},
	{"GitLab token", []string{"glpat-", "gldt-", "glrt-", "glft-", "glffct-", "glsoat-"}, '-', base64URL, 20, 20, isRoutable, 20},
	{"GitLab job token", []string{"glcbt-"}, '-', base64URL, 22, 26, isRoutable, 20},
	{"GitLab mail token", []string{"glimt-"}, '-', base64URL, 25, 25, isRoutable, 20},
	{"GitLab trigger token", []string{"glptt-"}, '-', hex, 40, 0, nil, 0},
	{"GitLab agent token", []string{"glagent-", "gloas-"}, '-', base64URL, 50, 0, nil, 0},
	{"Slack token", []string{"xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxe-", "xoxo-", "xoxe.xoxb-", "xoxe.xoxp-"}, '-', 0, 0, 0, hasDigit, 10},
	{"Slack app token", []string{"xapp-"}, '-', alphanumeric | dash, 60, 0, nil, 0},
	{"Slack webhook", []string{"hooks.slack.com/services/", "hooks.slack.com/workflows/", "hooks.slack.com/triggers/"}, '/', standard, 40, 0, nil, 0},
	{"Discord webhook", []string{"discord.com/api/webhooks/", "discordapp.com/api/webhooks/"}, '/', base64URL | slash, 70, 0, nil, 0},
	{"Stripe key", []string{"sk_live_", "sk_test_", "rk_live_", "rk_test_"}, '_', alphanumeric, 24, 0, isDense, 10},
	{"Stripe webhook secret", []string{"whsec_"}, '_', standard, 32, 0, nil, 0},
	{"OpenAI key", []string{"sk-"}, '-', alphanumeric, 32, 0, isDashed, 20},
	{"OpenAI or Anthropic key", []string{"sk-proj-", "sk-svcacct-", "sk-admin-", "sk-ant-"}, '-', base64URL, 80, 0, nil, 0},
	{"OpenRouter key", []string{"sk-or-v1-"}, '-', hex, 64, 0, nil, 0},
	{"Groq key", []string{"gsk_"}, '_', alphanumeric, 50, 0, nil, 0},
	{"xAI key", []string{"xai-"}, '-', alphanumeric | underscore, 80, 0, nil, 0},
	{"NVIDIA key", []string{"nvapi-"}, '-', base64URL, 50, 0, nil, 0},
	{"Perplexity key", []string{"pplx-"}, '-', alphanumeric, 48, 0, nil, 0},
	{"Replicate token", []string{"r8_"}, '8', base64URL, 37, 37, nil, 0},
	{"LangSmith key", []string{"lsv2_pt_", "lsv2_sk_"}, '2', hex | underscore, 43, 43, nil, 0},
	{"Hugging Face token", []string{"hf_", "api_org_"}, '_', alphanumeric, 34, 0, isDense, 30},
	{"npm token", []string{"npm_"}, '_', alphanumeric, 36, 0, isDense, 30},
	{"PyPI token", []string{"pypi-"}, '-', 0, 0, 0, isDense, 30},
	{"RubyGems key", []string{"rubygems_"}, '_', hex, 48, 0, nil, 0},
	{"Docker token", []string{"dckr_pat_"}, '_', base64URL, 27, 27, isDense, 20},
	{"DigitalOcean token", []string{"dop_v1_", "doo_v1_", "dor_v1_"}, '_', hex, 64, 0, nil, 0},
	{"Fly token", []string{"fo1_"}, '1', base64URL, 43, 43, nil, 0},
	{"Fly macaroon", []string{"fm2_"}, '2', standard, 100, 0, nil, 0},
	{"Heroku token", []string{"HRKU-AA"}, '-', base64URL, 58, 58, nil, 0},
	{"Pulumi token", []string{"pul-"}, '-', hex, 40, 0, nil, 0},
	{"Supabase token", []string{"sbp_"}, '_', hex, 40, 0, nil, 0},
	{"Supabase secret key", []string{"sb_secret_"}, '_', base64URL, 30, 0, nil, 0},
	{"PlanetScale token", []string{"pscale_tkn_", "pscale_pw_", "pscale_oauth_"}, '_', base64URL | dot, 32, 64, nil, 0},
	{"Shopify token", []string{"shpat_", "shpca_", "shppa_", "shpss_"}, '_', hex | upperHex, 32, 0, isDense, 20},
	{"Shippo token", []string{"shippo_live_", "shippo_test_"}, '_', hex | upperHex, 40, 0, nil, 0},
	{"Square token", []string{"sq0atp-"}, '-', base64URL, 22, 22, nil, 0},
	{"Square secret", []string{"sq0csp-"}, '-', base64URL, 43, 43, nil, 0},
	{"Vault token", []string{"hvs.", "hvb.", "hvr."}, 'v', base64URL, 24, 24, isDense, 20},
	{"long Vault token", []string{"hvs.", "hvb.", "hvr."}, 'v', base64URL, 90, 0, nil, 0},
	{"SendGrid key", []string{"SG."}, 'G', base64URL | dot, 66, 66, isDense, 30},
	{"Brevo key", []string{"xkeysib-"}, '-', alphanumeric | dash, 81, 81, nil, 0},
	{"Figma token", []string{"figd_"}, '_', base64URL, 40, 0, nil, 0},
	{"Postman key", []string{"PMAK-"}, '-', hex | dash, 59, 59, nil, 0},
	{"New Relic key", []string{"NRAK-"}, '-', upper | digits, 27, 27, nil, 0},
	{"Sentry token", []string{"sntryu_"}, '_', hex, 64, 0, nil, 0},
	{"Sentry organization token", []string{"sntrys_eyJ"}, '_', standard | underscore, 60, 0, nil, 0},
	{"Grafana token", []string{"glsa_"}, '_', alphanumeric | underscore, 41, 41, nil, 0},
	{"Grafana Cloud token", []string{"glc_"}, '_', standard, 32, 0, nil, 0},
	{"Sourcegraph token", []string{"sgp_"}, '_', hex | underscore, 40, 57, nil, 0},
	{"Linear key", []string{"lin_api_"}, '_', alphanumeric, 40, 0, nil, 0},
	{"Notion token", []string{"ntn_"}, '_', alphanumeric, 46, 0, nil, 0},
	{"Atlassian token", []string{"ATATT3"}, '3', base64URL | equals, 180, 0, nil, 0},
	{"Prefect key", []string{"pnu_"}, '_', alphanumeric, 36, 0, nil, 0},
	{"ReadMe key", []string{"rdme_"}, '_', alphanumeric, 70, 0, nil, 0},
	{"1Password token", []string{"ops_eyJ"}, '_', standard, 200, 0, nil, 0},
	{"age key", []string{"AGE-SECRET-KEY-1"}, '-', upper | digits, 58, 0, nil, 0},
}

// kinds are kinds of bytes.
type kinds uint16

const (
	digits kinds = 1 << iota
	lowerHex
	otherLower
	upperHex
	otherUpper
	underscore
	dash
	dot
	slash
	equals
	plus

	hex          = digits | lowerHex
	upper        = upperHex | otherUpper
	alphanumeric = hex | otherLower | upper
	base64URL    = alphanumeric | underscore | dash
	standard     = alphanumeric | plus | slash | equals
	joining      = underscore | dash | dot | slash
)

// kindOfByte has the kind of each byte that a token may have.
var kindOfByte = func() (t [256]kinds) {
	for c := range t {
		switch b := byte(c); {
		case isDigit(b):
			t[c] = digits
		case !isLetter(b):
		case isUpper(b) && b <= 'F':
			t[c] = upperHex
		case isUpper(b):
			t[c] = otherUpper
		case b <= 'f':
			t[c] = lowerHex
		default:
			t[c] = otherLower
		}
	}
	t['_'], t['-'], t['.'], t['/'], t['='], t['+'] = underscore, dash, dot, slash, equals, plus
	return t
}()

// proof returns how many bytes at the start of s are those of a vendor behind a prefix, and whether they
// are a token.
func (f *tokenForm) proof(s string) (n int, ok bool) {
	var seen kinds
	for n < len(s) && kindOfByte[s[n]]&f.alphabet != 0 {
		seen |= kindOfByte[s[n]]
		n++
	}
	for n > 0 && s[n-1] == '.' {
		n-- // of a sentence
	}
	switch {
	case f.length == 0 || n < f.length:
		return n, false
	case f.most > 0 && (n > f.most || n < len(s) && kindOfByte[s[n]]&alphanumeric != 0):
		return n, false
	}
	// Words that something joins have small letters alone.
	return n, seen&joining == 0 || seen&(digits|upper) != 0
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
		if inWord(s, start) {
			continue // so that no byte is a part of more than one
		}
		body := start + len(p.text)
		length, ok := p.proof(s[min(body, len(s)):])
		for end = body + length; end < len(s) && isWord(s[end]); {
			end++
		}
		for s[end-1] == '.' {
			end-- // of a sentence
		}
		rest := s[min(body, end):end]
		if ok || p.body != nil && len(rest) >= p.least && p.body(rest, p.least) {
			return start, end
		}
	}
	return -1, -1
}

// inWord reports whether a word goes on at i that began before, and not as an escape.
func inWord(s string, i int) bool {
	return i > 0 && isWord(s[i-1]) && (i < 2 || s[i-2] != '\\')
}

// botToken returns where a token of a Telegram bot begins and ends that has its colon at i: a number, a
// colon and 35 bytes. start is -1 where there is none.
func botToken(s string, i int) (start, end int) {
	const least, most, length = 5, 16, 35
	if end = i + 1 + length; end > len(s) || s[i+1] != 'A' {
		return -1, -1
	}
	for start = i; start > 0 && isDigit(s[start-1]); {
		start--
	}
	if n := i - start; n < least || n > most || inWord(s, start) && !strings.HasSuffix(s[:start], "/bot") {
		return -1, -1
	}
	for k := i + 1; k < end; k++ {
		if kindOfByte[s[k]]&base64URL == 0 {
			return -1, -1
		}
	}
	if end < len(s) && kindOfByte[s[end]]&base64URL != 0 {
		return -1, -1
	}
	return start, end
}

// isWebToken reports whether s are the parts of a web token behind its first bytes. Of three
// parts the middle one is JSON too, unless it is encrypted.
func isWebToken(s string, _ int) bool {
	n := strings.IndexByte(s, '.')
	return n > 0 && (strings.HasPrefix(s[n+1:], "eyJ") || strings.Count(s, ".") >= 2)
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

// isRoutable is isDashed, or reports whether s is a token of GitLab that says where it leads: behind its
// payload stand a dot and 9 characters or more of base 36.
func isRoutable(s string, least int) bool {
	const payload, rest = 27, 9
	n := strings.IndexByte(s, '.')
	return n >= payload && len(s)-n > rest && s[n+1:] == strings.ToLower(s[n+1:]) || isDashed(s, least)
}
