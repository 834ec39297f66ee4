// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"net/textproto"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/adk-contextgraph/contextgraph/entity"
)

// Check reports everything that is wrong with h, joined as one [*Error] each.
func (h *HTTP) Check() error {
	var p problems
	h.check(&p, "")
	return p.alone(reflect.TypeFor[HTTP]())
}

// Check reports everything that is wrong with s, joined as one [*Error] each.
func (s *SQL) Check() error {
	var p problems
	s.check(&p, "")
	return p.alone(reflect.TypeFor[SQL]())
}

// alone returns the problems of a part that stands outside of any Config.
func (p problems) alone(of reflect.Type) error {
	r := newReport("", of)
	r.add(p...)
	return r.err()
}

func (h *HTTP) check(p *problems, path string) {
	p.url(path+"url", h.URL)
	p.headers(path+"headers", h.Headers)
	if h.AsOf != AsOfFetch && h.AsOf != AsOfDateHeader {
		p.when(h.AsOf != "" && h.AsOf[0] != '$', path+"as_of", Quote(h.AsOf)+" does not say how old an answer is", "write one of: fetch, date_header, or a JSONPath such as $.as_of")
		p.optionalPath(path+"as_of", h.AsOf)
	}
	if h.Version != VersionETag {
		p.when(h.Version != "" && h.Version[0] != '$', path+"version", Quote(h.Version)+" does not say which revision an answer describes", "write etag, or a JSONPath such as $.version")
		p.optionalPath(path+"version", h.Version)
	}
	for i, status := range h.Gone {
		p.when(status != 404 && status != 410, Index(path+"gone", i), strconv.Itoa(status)+" does not say that a thing is gone", "write 404, 410 or both")
	}
	p.when(len(h.Attributes) == 0, path+"attributes", noAttribute, attributeRemedy)
	sorted(path+"attributes", h.Attributes, func(at, attribute string, a Answer) {
		p.attribute(at, attribute)
		p.valuePath(at+".path", a.Path, a.Type)
		p.kind(at, "type", a.Type, a.Currency)
	})
}

const (
	noAttribute     = "no attribute is given"
	attributeRemedy = "name at least one: a checker that answers nothing makes every check fail"
)

// names reports whether a template has a place for the thing: its value, or an attribute of it.
func names(template string) bool {
	return strings.Contains(template, "{value}") || strings.Contains(template, "{attributes.")
}

const nothingAsked = "every thing would get the same answer, and another thing's would pass for its own"

func (s *SQL) check(p *problems, path string) {
	const column = "the name of a column of the query"
	p.name(path+"database", s.Database, "the name that code gives the database with WithDatabase")
	p.when(strings.TrimSpace(s.Query) == "", path+"query", "missing", "write for example SELECT price FROM placements WHERE name = ?")
	p.when(strings.TrimSpace(s.Query) != "" && !slices.ContainsFunc(s.Args, names), path+"query", "asks for no thing: no argument has {value} or {attributes.NAME}",
		"write a parameter into the query, and args: [\"{value}\"]; "+nothingAsked)
	for i, arg := range s.Args {
		p.placeholders(Index(path+"args", i), arg)
	}
	if s.AsOf != "" {
		p.name(path+"as_of", s.AsOf, column)
	}
	if s.Version != "" {
		p.name(path+"version", s.Version, column)
	}
	p.when(len(s.Attributes) == 0, path+"attributes", noAttribute, attributeRemedy)
	sorted(path+"attributes", s.Attributes, func(at, attribute string, a Column) {
		p.attribute(at, attribute)
		p.name(at+".column", a.Column, column)
		p.kind(at, "type", a.Type, a.Currency)
	})
}

var placeholder = regexp.MustCompile(`\{([^{}]*)\}`)

// placeholders reports a placeholder that is not known, in a URL or an argument of a query.
func (p *problems) placeholders(path, template string) {
	const known = "known placeholders: {value}, {type}, {attributes.NAME}"
	for _, m := range placeholder.FindAllStringSubmatch(template, -1) {
		attribute, isAttribute := strings.CutPrefix(m[1], "attributes.")
		unknown := m[1] != "value" && m[1] != "type" && !(isAttribute && entity.IsAttributeName(attribute))
		p.when(unknown && strings.Contains(template, "$"+m[0]), path, Quote(template)+" names the variable "+Quote(m[0]), "environment variables are filled in in headers only; "+known)
		p.when(unknown, path, Quote(template)+" has the unknown placeholder "+Quote(m[0]), known)
	}
	p.when(strings.ContainsAny(placeholder.ReplaceAllString(template, ""), "{}"), path, Quote(template)+" has a brace without its counterpart", known)
}

// url reports the faults of a URL template.
func (p *problems) url(path, template string) {
	const remedy = "write for example http://127.0.0.1:8080/v1/placements/{value}"
	scheme, rest, _ := strings.Cut(template, "://")
	host, _, _ := strings.Cut(strings.NewReplacer("?", "/", "#", "/").Replace(rest), "/")
	p.when(template == "", path, "missing", remedy)
	p.when(strings.HasPrefix(template, "${"), path, "the URL begins with a variable", "write the host out, or set the URL in code: environment variables are filled in in headers only")
	p.when(rest == "" || !slices.Contains([]string{"http", "https"}, strings.ToLower(scheme)), path, "the URL is not an absolute http or https URL", remedy)
	// Neither shown nor accepted: a URL stands in errors and logs.
	p.when(strings.Contains(host, "@"), path, "the URL holds a user name or a password", "send credentials in headers, for example Authorization: \"Bearer ${ADS_TOKEN}\"")
	p.when(strings.ContainsAny(host, "{}"), path, Quote(template)+" has a placeholder in its host", "write the host out: an entity must not choose who is asked about it")
	p.when(strings.Contains(rest, "#"), path, Quote(template)+" has a fragment, which is never sent", "remove the part from # on")
	p.placeholders(path, template)
	u, err := url.Parse(placeholder.ReplaceAllString(template, "x"))
	var inner *url.Error
	if errors.As(err, &inner) {
		err = inner.Err
	}
	if err != nil {
		p.when(true, path, Quote(template)+" is not a URL: "+err.Error(), remedy)
		return
	}
	p.when(template != "" && !names(template), path, Quote(template)+" asks for no thing: it has neither {value} nor {attributes.NAME}",
		"write {value} where the service takes the name of the thing; "+nothingAsked)
	p.when(u.Hostname() == "", path, Quote(template)+" has no host", remedy)
}

var (
	headerName      = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")
	reservedHeaders = []string{"Host", "Connection", "Content-Length", "Transfer-Encoding", "Accept-Encoding"}
)

// headers reports the faults of headers. It never shows a value.
func (p *problems) headers(path string, headers map[string]Secret) {
	first := make(map[string]string)
	sorted(path, headers, func(at, name string, value Secret) {
		canonical := textproto.CanonicalMIMEHeaderKey(name)
		other, again := first[canonical]
		first[canonical] = name
		p.when(again, at, Quote(name)+" and "+Quote(other)+" are one header", "keep one of them")
		p.when(!headerName.MatchString(name), at, Quote(name)+" is not the name of a header", "use letters, digits and hyphens, for example Authorization")
		p.when(slices.Contains(reservedHeaders, canonical), at, canonical+" is set by the client", "remove it")
		p.when(value == "", at, "the header has no value", "give it a value, or remove it")
		p.when(strings.ContainsFunc(string(value), unicode.IsControl), at, "the value holds a line break or another control character", "remove it, also from the variables the value names")
	})
}
