// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contextgraph

import (
	"errors"
	"maps"
	"net/textproto"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/source"
)

func (c *CheckerConfig) check(p *problems, k keyPath) {
	entityType(p, k.field("type"), c.Type)
	c.checkSource(p, k)
}

func (c *HTTPCheckerConfig) check(p *problems, k keyPath) {
	if problem, remedy := checkURL(c.URL); problem != "" {
		p.add(k.field("url"), problem, remedy)
	}
	checkHeaders(p, k.field("headers"), c.Headers)
	if c.AsOf != "" && c.AsOf != source.AsOfFetch && c.AsOf != source.AsOfDateHeader {
		if !strings.HasPrefix(c.AsOf, "$") {
			p.add(k.field("as_of"), quote(c.AsOf)+" does not say how old an answer is", oneOf(source.AsOfFetch, source.AsOfDateHeader)+", or a JSONPath such as $.as_of")
		} else {
			checkPath(p, k.field("as_of"), c.AsOf)
		}
	}
	if c.Version != "" && c.Version != source.VersionETag {
		if !strings.HasPrefix(c.Version, "$") {
			p.add(k.field("version"), quote(c.Version)+" does not say which revision an answer describes", "write etag, or a JSONPath such as $.version")
		} else {
			checkPath(p, k.field("version"), c.Version)
		}
	}
	if len(c.Attributes) == 0 {
		p.add(k.field("attributes"), "no attribute is given", "name at least one: a checker that answers nothing makes every check fail")
	}
	checkAttributes(p, k.field("attributes"), c.Attributes)
	for _, name := range slices.Sorted(maps.Keys(c.Attributes)) {
		if c.Attributes[name].Optional {
			p.add(k.field("attributes").entry(name).field("optional"), "given for a checker", "leave it out: what was seen is always required of a checker")
		}
		if c.Attributes[name].LookedUp {
			p.add(k.field("attributes").entry(name).field("looked_up"), "given for a checker", "leave it out: it is for rules over results")
		}
	}
}

const (
	urlRemedy         = "write for example http://127.0.0.1:8080/v1/placements/{value}"
	placeholderRemedy = "known placeholders: {value}, {type}, {attributes.NAME}"
)

var placeholder = regexp.MustCompile(`\{([^{}]*)\}`)

// checkURL says what is wrong with a URL template.
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
		return quote(template) + " has a placeholder in its host", "write the host out: an entity must not choose who is asked about it"
	case strings.Contains(rest, "#"):
		return quote(template) + " has a fragment, which is never sent", "remove the part from # on"
	}
	for _, m := range placeholder.FindAllStringSubmatch(template, -1) {
		attribute, isAttribute := strings.CutPrefix(m[1], "attributes.")
		switch {
		case m[1] == "value" || m[1] == "type":
		case isAttribute && entity.IsAttributeName(attribute):
		case strings.Contains(template, "$"+m[0]):
			return quote(template) + " names the variable " + quote(m[0]), "environment variables are filled in in headers only; " + placeholderRemedy
		default:
			return quote(template) + " has the unknown placeholder " + quote(m[0]), placeholderRemedy
		}
	}
	filled := placeholder.ReplaceAllString(template, "x")
	if strings.ContainsAny(filled, "{}") {
		return quote(template) + " has a brace without its counterpart", placeholderRemedy
	}
	u, err := url.Parse(filled)
	if err != nil {
		var inner *url.Error
		if errors.As(err, &inner) {
			err = inner.Err
		}
		return quote(template) + " is not a URL: " + err.Error(), urlRemedy
	}
	if u.Hostname() == "" {
		return quote(template) + " has no host", urlRemedy
	}
	return "", ""
}

// checkHeaders says what is wrong with headers. It never shows a value.
func checkHeaders(p *problems, k keyPath, headers map[string]Secret) {
	first := make(map[string]string)
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		at := k.entry(name)
		canonical := textproto.CanonicalMIMEHeaderKey(name)
		if other, ok := first[canonical]; ok {
			p.add(at, quote(name)+" and "+quote(other)+" are one header", "keep one of them")
			continue
		}
		first[canonical] = name
		switch {
		case name == "" || strings.ContainsFunc(name, notToken):
			p.add(at, quote(name)+" is not the name of a header", "use letters, digits and hyphens, for example Authorization")
		case reservedHeader(canonical):
			p.add(at, canonical+" is set by the client", "remove it")
		case headers[name] == "":
			p.add(at, "the header has no value", "give it a value, or remove it")
		case strings.ContainsFunc(string(headers[name]), unicode.IsControl):
			p.add(at, "the value holds a line break or another control character", "remove it, also from the variables the value names")
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
