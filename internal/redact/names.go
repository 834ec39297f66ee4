// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import "strings"

// Secret reports whether a key names a secret. Its value is then a secret. Keys are compared
// without case and by their letters and digits alone, so that "access_token", "Access-Token" and
// "accessToken" are one. Digits at the end do not count.
//
// A key is a secret by its last words, so "db_password", "STRIPE_SECRET_KEY" and "github_token" are
// too. The words are password, passwd, passphrase, passcode, pwd, secret, token, credential,
// authorization and their plurals, cookie headers, and the kinds of key that open something (API,
// private, secret, access, account, signing, encryption, master, subscription, auth, shared).
//
// Some keys are secrets only as a whole, because as last words they mean other things: sig,
// signature, jwt, bearer, cookies, an access key's ID and a few more below. Some are secrets by
// their first word: x-amz-*, x-goog-* and the session state under temp:, which is for one run only.
//
// Not secret are tokens for the next part of a list (page, next, sync, cursor, continuation, ...),
// tokens of a vocabulary (eos, pad, ...) and of prices (per token), and counts of tokens, which
// have another last word.
func (r *Rules) Secret(k string) bool {
	if strings.HasPrefix(k, "temp:") || r.custom(k) {
		return true
	}
	if !mayEndSecret(k) {
		return vendorKey(k)
	}
	// The other prefixes name the sharers of a value of the session state, not its kind.
	if rest, ok := strings.CutPrefix(k, "user:"); ok {
		k = rest
	} else if rest, ok := strings.CutPrefix(k, "app:"); ok {
		k = rest
	}
	var f folded
	word, whole := f.tail(k)
	return whole && secretWords[string(word)] || secretTail(word) && !listToken(k) || vendorKey(k)
}

// custom reports whether the key is one of those that were configured.
func (r *Rules) custom(k string) bool {
	if r == nil || len(r.keys) == 0 {
		return false
	}
	var f folded
	word, whole := f.fold(k, false)
	_, ok := r.keys[string(word)]
	return ok && whole
}

// vendorKey reports whether the key is one of the headers and parameters that
// sign a request to Amazon or Google.
func vendorKey(k string) bool {
	i := 0
	for i < len(k) && !isLetter(k[i]) {
		i++
	}
	if i+len("x-amz") > len(k) || k[i]|0x20 != 'x' {
		return false
	}
	var f folded
	head, _ := f.fold(k[i:min(len(k), i+12)], false)
	return len(head) > 4 && (string(head[:4]) == "xamz" || string(head[:5]) == "xgoog")
}

// endings holds, for the last two letters of the names below, the letters that may
// stand before them: most keys are told apart by one look.
var endings = func() (t [32][32]uint32) {
	add := func(name string) {
		e := name[len(name)-3:]
		t[e[2]&31][e[1]&31] |= 1 << (e[0] & 31)
	}
	for name := range secretWords {
		add(name)
	}
	for _, name := range []string{"key", "auth", "code", "value"} {
		add(name) // secrets by what stands around them
	}
	for _, names := range tails {
		for _, name := range names {
			add(name)
		}
	}
	return t
}()

// mayEndSecret reports whether k may be the name of a secret by its last letters.
func mayEndSecret(k string) bool {
	if len(k) < 3 {
		return false
	}
	a, b, c := k[len(k)-3], k[len(k)-2], k[len(k)-1]
	if isLetter(a) && isLetter(b) && isLetter(c) {
		return endings[c&31][b&31]>>(a&31)&1 != 0
	}
	return lastLetters(k)
}

// lastLetters is mayEndSecret of a key with something else among its last letters.
func lastLetters(k string) bool {
	var last [3]byte
	n := 0
	for i := len(k) - 1; i >= 0 && n < len(last); i-- {
		switch c := k[i]; {
		case isLetter(c):
			last[n] = c & 31
			n++
		case isDigit(c) && n > 0, c >= 0x80:
			return false
		}
	}
	return n == len(last) && endings[last[0]][last[1]]>>last[2]&1 != 0
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// folded is room for the last letters of a key. No name in the lists is longer.
type folded [48]byte

// tail folds the end of a key without its last digits, and reports whether it is
// the whole key.
func (f *folded) tail(k string) (word []byte, whole bool) { return f.fold(k, true) }

func (f *folded) fold(k string, trim bool) (word []byte, whole bool) {
	n := len(f)
	for i := len(k) - 1; i >= 0; i-- {
		c := k[i]
		switch {
		case 'A' <= c && c <= 'Z':
			c += 'a' - 'A'
		case 'a' <= c && c <= 'z' || c >= 0x80:
		case isDigit(c):
			if trim && n == len(f) {
				continue
			}
		default:
			continue
		}
		if n == 0 {
			return f[:], false
		}
		n--
		f[n] = c
	}
	return f[n:], true
}

// secretWords are the folded keys that name a secret as a whole.
var secretWords = func() map[string]bool {
	t := make(map[string]bool)
	for _, k := range []string{"sig", "signature", "jwt", "bearer", "cookie", "cookies", "googleaccessid", "awsaccesskeyid",
		"ossaccesskeyid", "accesskeyid", "keypairid", "codeverifier", "clientassertion", "authcode", "authorizationcode",
		"dbpass", "userpass", "smtppass", "adminpass", "rootpass", "authpass", "passwordhash", "seedphrase", "samlresponse",
		"devicecode"} {
		t[k] = true
	}
	return t
}()

// tails are the last words of secret keys by their last letter.
var tails = [32][]string{
	'd' & 31: {"password", "passwd", "pwd"},
	't' & 31: {"secret"},
	'y' & 31: {"apikey", "secretkey", "privatekey", "accesskey", "accountkey", "signingkey", "encryptionkey", "masterkey",
		"subscriptionkey", "authkey"},
	'n' & 31: {"token", "authorization", "passwordconfirmation"},
	'l' & 31: {"credential"},
	's' & 31: {"credentials", "passwords", "secrets", "apikeys", "secretkeys", "privatekeys", "accesskeys", "accesstokens",
		"refreshtokens", "apitokens", "authtokens", "idtokens", "sessiontokens", "bearertokens"},
	'e' & 31: {"passphrase", "passcode", "setcookie", "sessioncookie", "authcookie", "sharedaccesssignature", "secretvalue",
		"tokenvalue", "passwordvalue"},
	'g' & 31: {"secretstring"},
	'a' & 31: {"privatekeydata", "clientkeydata"},
}

// listTokens are the words before "token" that make it none of a secret.
var listTokens = map[string]bool{
	"page": true, "nextpage": true, "prevpage": true, "previouspage": true, "startpage": true, "next": true, "prev": true,
	"previous": true, "continuation": true, "continue": true, "sync": true, "nextsync": true, "cursor": true, "resume": true,
	"scroll": true, "pagination": true, "skip": true, "delta": true, "marker": true, "idempotency": true,
	"eos": true, "bos": true, "pad": true, "unk": true, "mask": true, "sep": true, "cls": true,
	"per": true, "first": true, "last": true, "input": true, "output": true,
}

// listToken reports whether a key that ends in "token" has one of these words before it. Separators
// and capital letters divide words: a developer token is no token per something.
func listToken(k string) bool {
	end := len(k)
	for end > 0 && !isLetter(k[end-1]) {
		end--
	}
	if end -= len("token"); end <= 0 || !strings.EqualFold(k[end:end+len("token")], "token") {
		return false
	}
	for end > 0 && !isLetter(k[end-1]) && !isDigit(k[end-1]) {
		end--
	}
	from := end
	for from > 0 && isLetter(k[from-1]) {
		if from--; from+1 < end && isUpper(k[from]) != isUpper(k[from+1]) {
			if !isUpper(k[from]) {
				from++
			}
			break
		}
	}
	var f folded
	word, whole := f.fold(k[from:end], false)
	return whole && listTokens[string(word)]
}

func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }

func secretTail(k []byte) bool {
	if len(k) == 0 {
		return false
	}
	for _, t := range tails[k[len(k)-1]&31] {
		if !hasSuffix(k, t) {
			continue
		}
		// A preauthorization of a doctor or a bank is no credential.
		before := k[:len(k)-len(t)]
		return t != "authorization" || !hasSuffix(before, "pre") && !hasSuffix(before, "prior")
	}
	return false
}

func hasSuffix(k []byte, s string) bool {
	return len(k) >= len(s) && string(k[len(k)-len(s):]) == s
}
