// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"maps"
	"net/textproto"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/adk-contextgraph/contextgraph/entity"
)

// Check reports everything that is wrong with h, joined as one [*Error] each.
func (h *HTTP) Check() error { return alone("HTTP", h, h.check) }

// Check reports everything that is wrong with s, joined as one [*Error] each.
func (s *SQL) Check() error { return alone("SQL", s, s.check) }

// alone reports what is wrong with a part that stands outside of any Config.
func alone(code string, part any, check func(Key)) error {
	p := newProblems("")
	check(Key{problems: p, value: reflect.ValueOf(part).Elem(), code: code})
	return p.err()
}

// check reports what is wrong with a service that is asked.
func (h *HTTP) check(k Key) {
	if problem, remedy := checkURL(h.URL); problem != "" {
		k.Of(&h.URL).Wrong(problem, remedy)
	}
	checkHeaders(k.Of(&h.Headers), h.Headers)
	asOf, version := k.Of(&h.AsOf), k.Of(&h.Version)
	switch {
	case h.AsOf == "" || h.AsOf == AsOfFetch || h.AsOf == AsOfDateHeader:
	case !strings.HasPrefix(h.AsOf, "$"):
		asOf.Wrong(Quote(h.AsOf)+" does not say how old an answer is", oneOf(AsOfFetch, AsOfDateHeader)+", or a JSONPath such as $.as_of")
	default:
		checkPath(asOf, h.AsOf)
	}
	switch {
	case h.Version == "" || h.Version == VersionETag:
	case !strings.HasPrefix(h.Version, "$"):
		version.Wrong(Quote(h.Version)+" does not say which revision an answer describes", "write etag, or a JSONPath such as $.version")
	default:
		checkPath(version, h.Version)
	}
	answered(k.Of(&h.Attributes), h.Attributes)
	for _, attribute := range slices.Sorted(maps.Keys(h.Attributes)) {
		a := h.Attributes[attribute]
		at := k.Of(&h.Attributes).Entry(attribute, &a)
		attributeName(at, attribute)
		checkPath(at.Of(&a.Path), a.Path)
		checkKind(at.Of(&a.Type), at.Of(&a.Currency), a.Type, a.Currency)
	}
}

const (
	urlRemedy         = "write for example http://127.0.0.1:8080/v1/placements/{value}"
	placeholderRemedy = "known placeholders: {value}, {type}, {attributes.NAME}"
)

var placeholder = regexp.MustCompile(`\{([^{}]*)\}`)

// checkURL returns the fault of a URL template.
func checkURL(template string) (problem, remedy string) {
	switch {
	case template == "":
		return "missing", urlRemedy
	case strings.HasPrefix(template, "${"):
		return "the URL begins with a variable", "write the host out, or set the URL in code: environment variables are filled in in headers only"
	}
	scheme, rest, ok := strings.Cut(template, "://")
	if scheme = strings.ToLower(scheme); !ok || scheme != "http" && scheme != "https" {
		return "the URL is not an absolute http or https URL", urlRemedy
	}
	host := rest
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		host = rest[:i]
	}
	switch {
	case strings.Contains(host, "@"):
		// Neither shown nor accepted: a URL stands in errors and logs.
		return "the URL holds a user name or a password", "send credentials in headers, for example Authorization: \"Bearer ${ADS_TOKEN}\""
	case strings.ContainsAny(host, "{}"):
		return Quote(template) + " has a placeholder in its host", "write the host out: an entity must not choose who is asked about it"
	case strings.Contains(rest, "#"):
		return Quote(template) + " has a fragment, which is never sent", "remove the part from # on"
	}
	for _, m := range placeholder.FindAllStringSubmatch(template, -1) {
		attribute, isAttribute := strings.CutPrefix(m[1], "attributes.")
		switch {
		case m[1] == "value" || m[1] == "type":
		case isAttribute && entity.IsAttributeName(attribute):
		case strings.Contains(template, "$"+m[0]):
			return Quote(template) + " names the variable " + Quote(m[0]), "environment variables are filled in in headers only; " + placeholderRemedy
		default:
			return Quote(template) + " has the unknown placeholder " + Quote(m[0]), placeholderRemedy
		}
	}
	filled := placeholder.ReplaceAllString(template, "x")
	if strings.ContainsAny(filled, "{}") {
		return Quote(template) + " has a brace without its counterpart", placeholderRemedy
	}
	u, err := url.Parse(filled)
	if err != nil {
		var inner *url.Error
		if errors.As(err, &inner) {
			err = inner.Err
		}
		return Quote(template) + " is not a URL: " + err.Error(), urlRemedy
	}
	if u.Hostname() == "" {
		return Quote(template) + " has no host", urlRemedy
	}
	return "", ""
}

// checkHeaders returns the faults of headers. It never shows a value.
func checkHeaders(k Key, headers map[string]Secret) {
	first := make(map[string]string)
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		at := k.Entry(name, nil)
		canonical := textproto.CanonicalMIMEHeaderKey(name)
		if other, ok := first[canonical]; ok {
			at.Wrong(Quote(name)+" and "+Quote(other)+" are one header", "keep one of them")
			continue
		}
		first[canonical] = name
		switch {
		case name == "" || strings.ContainsFunc(name, notToken):
			at.Wrong(Quote(name)+" is not the name of a header", "use letters, digits and hyphens, for example Authorization")
		case reservedHeader(canonical):
			at.Wrong(canonical+" is set by the client", "remove it")
		case headers[name] == "":
			at.Wrong("the header has no value", "give it a value, or remove it")
		case strings.ContainsFunc(string(headers[name]), unicode.IsControl):
			at.Wrong("the value holds a line break or another control character", "remove it, also from the variables the value names")
		}
	}
}

func notToken(c rune) bool {
	return !isLetter(c) && !isDigit(c) && !strings.ContainsRune("!#$%&'*+-.^_`|~", c)
}

func reservedHeader(canonical string) bool {
	switch canonical {
	case "Host", "Connection", "Content-Length", "Transfer-Encoding", "Accept-Encoding":
		return true
	default:
		return false
	}
}

// checkArg reports an argument with a placeholder that is not known.
func checkArg(k Key, arg string) {
	for _, m := range placeholder.FindAllStringSubmatch(arg, -1) {
		attribute, isAttribute := strings.CutPrefix(m[1], "attributes.")
		if m[1] != "value" && m[1] != "type" && !(isAttribute && entity.IsAttributeName(attribute)) {
			k.Wrong(Quote(arg)+" has the unknown placeholder "+Quote(m[0]), placeholderRemedy)
			return
		}
	}
	if strings.ContainsAny(placeholder.ReplaceAllString(arg, ""), "{}") {
		k.Wrong(Quote(arg)+" has a brace without its counterpart", placeholderRemedy)
	}
}
