// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"math/rand/v2"
	"regexp/syntax"
	"strings"
	"testing"
)

// vendorForms are the forms of tokens, as the vendors or scanners of secrets have them. Each is random
// in its classes.
var vendorForms = []string{
	`eyJ[A-Za-z0-9_-]{33}\.eyJ[A-Za-z0-9_-]{60}\.[A-Za-z0-9_-]{43}`, `AIza[\w-]{35}`, `ya29\.[A-Za-z0-9_-]{100}`, `GOCSPX-[A-Za-z0-9_-]{28}`,
	`(AKIA|ASIA|ABIA)[A-Z2-7]{16}`, `bedrock-api-key-YmVkcm9jay5hbWF6b25hd3MuY29t[A-Za-z0-9+/]{60}={0,2}`,
	`gh[pousr]_[0-9a-zA-Z]{36}`, `github_pat_[0-9a-zA-Z]{22}_[0-9a-zA-Z]{59}`,
	`gl(pat|dt|rt|ft|ffct|soat)-[\w-]{20}`, `glpat-[\w-]{27,60}\.[0-9a-z]{2}\.[0-9a-z]{9}`, `glrt-t1_[\w-]{27,60}\.[0-9a-z]{9}`,
	`glcbt-[0-9a-zA-Z]{1,5}_[\w-]{20}`, `glimt-[\w-]{25}`, `glptt-[0-9a-f]{40}`, `glagent-[\w-]{50}`, `gloas-[\w-]{64}`,
	`xoxb-[0-9]{12}-[0-9]{12}-[a-zA-Z0-9]{24}`, `xox[pe](-[0-9]{12}){3}-[a-f0-9]{32}`, `xoxe\.xox[bp]-1-[A-Z0-9]{164}`, `xapp-1-[A-Z0-9]{11}-[0-9]{13}-[a-f0-9]{64}`,
	`hooks\.slack\.com/services/T[A-Z0-9]{8,10}/B[A-Z0-9]{8,10}/[A-Za-z0-9]{24}`, `hooks\.slack\.com/(workflows|triggers)/[A-Za-z0-9+/]{43,56}`,
	`(discord|discordapp)\.com/api/webhooks/[0-9]{18}/[\w-]{68}`,
	`[sr]k_(live|test)_[a-zA-Z0-9]{24,99}`, `whsec_[a-zA-Z0-9]{32}`,
	`sk-[a-zA-Z0-9]{20}T3BlbkFJ[a-zA-Z0-9]{20}`, `sk-(proj|svcacct|admin)-([\w-]{74}|[\w-]{58})T3BlbkFJ[\w-]{58}`, `sk-[a-f0-9]{32}`,
	`sk-ant-(api03|admin01)-[\w-]{93}AA`, `sk-or-v1-[a-f0-9]{64}`,
	`gsk_[a-zA-Z0-9]{52}`, `xai-[a-zA-Z0-9]{80}`, `pplx-[a-zA-Z0-9]{48}`, `r8_[a-zA-Z0-9]{37}`, `lsv2_(pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}`,
	`(hf|api_org)_[a-zA-Z]{34}`, `npm_[a-zA-Z0-9]{36}`, `pypi-AgEIcHlwaS5vcmc[\w-]{80,180}`, `rubygems_[a-f0-9]{48}`, `dckr_pat_[\w-]{27}`,
	`do[por]_v1_[a-f0-9]{64}`, `fo1_[\w-]{43}`, `fm2_[a-zA-Z0-9+/]{100,200}={0,2}`, `HRKU-AA[\w-]{58}`, `pul-[a-f0-9]{40}`, `sbp_[a-f0-9]{40}`,
	`pscale_(tkn|pw|oauth)_[\w-]{43}`, `shp(at|ca|pa|ss)_[a-fA-F0-9]{32}`, `shippo_(live|test)_[a-f0-9]{40}`, `sq0atp-[\w-]{22}`, `sq0csp-[\w-]{43}`,
	`hvs\.[a-zA-Z0-9]{24}`, `hvs\.[\w-]{90,120}`, `hv[br]\.[\w-]{138,300}`, `SG\.[\w-]{22}\.[\w-]{43}`, `xkeysib-[a-f0-9]{64}-[a-zA-Z0-9]{16}`,
	`PMAK-[a-f0-9]{24}-[a-f0-9]{34}`, `NRAK-[A-Z0-9]{27}`, `sntryu_[a-f0-9]{64}`, `sntrys_eyJ[a-zA-Z0-9+/]{60,200}={0,2}_[a-zA-Z0-9+/]{43}`,
	`glsa_[a-zA-Z0-9]{32}_[a-fA-F0-9]{8}`, `glc_eyJ[a-zA-Z0-9+/]{80,200}={0,3}`, `sgp_[a-f0-9]{40}`, `sgp_[a-f0-9]{16}_[a-f0-9]{40}`,
	`lin_api_[a-zA-Z0-9]{40}`, `ntn_[0-9]{11}[A-Za-z0-9]{35}`, `ATATT3[A-Za-z0-9_=-]{186}`, `pnu_[a-zA-Z0-9]{36}`, `rdme_[a-z0-9]{70}`,
	`nvapi-[\w-]{64}`, `sb_secret_[\w-]{22}_[a-zA-Z0-9]{8}`, `figd_[\w-]{40}`,
	`ops_eyJ[a-zA-Z0-9+/]{250,400}={0,3}`, `AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}`, `[0-9]{8,10}:AA[\w-]{33}`,
}

// some returns a random text of an expression.
func some(r *rand.Rand, re *syntax.Regexp) string {
	var b strings.Builder
	switch re.Op {
	case syntax.OpLiteral:
		return string(re.Rune)
	case syntax.OpCharClass:
		var all []rune
		for i := 0; i < len(re.Rune); i += 2 {
			for c := re.Rune[i]; c <= re.Rune[i+1]; c++ {
				all = append(all, c)
			}
		}
		return string(all[r.IntN(len(all))])
	case syntax.OpAlternate:
		return some(r, re.Sub[r.IntN(len(re.Sub))])
	case syntax.OpRepeat:
		for range re.Min + r.IntN(re.Max-re.Min+1) {
			b.WriteString(some(r, re.Sub[0]))
		}
	case syntax.OpQuest:
		if r.IntN(2) > 0 {
			return some(r, re.Sub[0])
		}
	default:
		for _, sub := range re.Sub {
			b.WriteString(some(r, sub))
		}
	}
	return b.String()
}

// Of 400 random tokens of each form none is left, wherever it stands, and no part of it.
func TestVendorForms(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, form := range vendorForms {
		re, err := syntax.Parse(form, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		left := 0
		for n := range 400 {
			token := some(r, re)
			around := [][2]string{{"the key ", " was refused"}, {`{"out":"`, `"}`}, {"see https://", "."}, {"a,", ",b"}, {`\n`, `\n`}, {"(", ")"}}[n%6]
			var c Cleaner
			if got := c.Clean(around[0] + token + around[1]); got != around[0]+Mark+around[1] {
				if left++; left == 1 {
					t.Errorf("%s is left: %s", form, got)
				}
			}
		}
		if left > 0 {
			t.Errorf("%s: %d of 400 are left", form, left)
		}
	}
}

// least returns how many bytes tokens with a prefix have behind it at least. A prefix that is a part of
// another one is told by itself.
func least(prefix string) int {
	n := 1000
	for _, form := range tokenForms {
		for _, p := range form.prefixes {
			if !strings.HasPrefix(prefix, p) {
				continue
			}
			if form.length > 0 {
				n = min(n, form.length)
			}
			if form.body != nil {
				n = min(n, form.least)
			}
			if p != prefix {
				return 1
			}
		}
	}
	return n
}

// Each form of the table has a vendor's form, a signal behind another byte, and a length. It is found in
// another length than its vendor's too, if that looks like a token, and not in words.
func TestTokenForms(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var all strings.Builder
	for _, form := range vendorForms {
		re, err := syntax.Parse(form, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		for range 60 {
			all.WriteString(" " + some(r, re) + "\n")
		}
	}
	words := []string{"order", "customer", "delivery", "report", "for", "the", "new", "catalogue", "of", "payment", "tests", "a"}
	for _, form := range tokenForms {
		for _, prefix := range form.prefixes {
			if strings.IndexByte(prefix, form.signal) < 1 {
				t.Errorf("%s: the signal %q does not stand in %s behind another byte", form.name, form.signal, prefix)
			}
			if !strings.Contains(all.String(), " "+prefix) && prefix[:3] != "xox" {
				t.Errorf("%s: no form of a vendor begins with %s", form.name, prefix)
			}
			rest := map[string]string{"JSON web token": "hbGciOiJub25lIn0.eyJzdWIiOiIxMjM0NTY3ODkwIn0", "Slack token": "123456789012-abcdef"}[form.name]
			if rest == "" {
				rest = strings.Repeat("a1B2", 10)
			}
			var c Cleaner
			if got := c.Clean("a " + prefix + rest + " b"); form.body != nil && got != "a "+Mark+" b" {
				t.Errorf("%s is left: %s", form.name, got)
			}
			if short := prefix + rest[:min(len(rest), least(prefix)-1)]; c.Clean(short) != short {
				t.Errorf("%s is found in %s, which is too short for one", form.name, short)
			}
			for range 400 {
				text := prefix
				for range 1 + r.IntN(8) {
					text += words[r.IntN(len(words))] + string("-_"[r.IntN(2)])
				}
				if got := c.Clean(text); got != text {
					t.Errorf("%s: words are taken for it: %s", form.name, text)
					break
				}
			}
		}
	}
}
