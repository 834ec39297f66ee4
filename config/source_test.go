// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
)

// source is what the source of package config says about it.
type source struct {
	// comments holds those of types ("Guard"), of their fields ("Guard.CheckAge") and of
	// constants ("ModeEnforce").
	comments map[string]string
	// words are the values of the constants with a text, by name, and named are the names of
	// those of a type, in order.
	words map[string]string
	named map[string][]string
	// tags are the keys of the fields, as check_age of "Guard.CheckAge", and paths those from
	// the top, as guard.check_age.
	tags, paths map[string]string
}

// readSource reads the source in the working directory, which is that of the package.
func readSource(t *testing.T) *source {
	t.Helper()
	s := &source{
		comments: make(map[string]string), words: make(map[string]string), named: make(map[string][]string),
		tags: make(map[string]string), paths: make(map[string]string),
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if d, ok := d.(*ast.GenDecl); ok {
				s.declared(d)
			}
		}
	}
	for k := entity.KindText; k <= entity.KindSet; k++ {
		s.named["Kind"] = append(s.named["Kind"], k.String())
		s.words[k.String()] = k.String()
	}
	for name, k := range map[string]entity.Kind{"KindText": entity.KindText, "KindMoney": entity.KindMoney} {
		s.words["entity."+name] = k.String()
	}
	s.follow(reflect.TypeFor[config.Config](), "")
	return s
}

// oneLine returns a comment without its line breaks.
func oneLine(g *ast.CommentGroup) string { return strings.Join(strings.Fields(g.Text()), " ") }

func (s *source) declared(d *ast.GenDecl) {
	for _, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			s.comments[spec.Name.Name] = oneLine(d.Doc)
			if of, ok := spec.Type.(*ast.StructType); ok {
				for _, f := range of.Fields.List {
					for _, name := range f.Names {
						s.comments[spec.Name.Name+"."+name.Name] = oneLine(f.Doc)
					}
				}
			}
		case *ast.ValueSpec:
			if d.Tok != token.CONST || len(spec.Values) != 1 {
				continue
			}
			value, ok := spec.Values[0].(*ast.BasicLit)
			if !ok || value.Kind != token.STRING {
				continue
			}
			name := spec.Names[0].Name
			s.words[name], _ = strconv.Unquote(value.Value) // it was parsed
			s.comments[name] = oneLine(spec.Doc)
			if of, ok := spec.Type.(*ast.Ident); ok {
				s.named[of.Name] = append(s.named[of.Name], name)
			}
		}
	}
}

// follow notes the paths of the fields of t, which stands at path. That of a type in several
// places is the first one.
func (s *source) follow(t reflect.Type, path string) {
	for i := range t.NumField() {
		f := t.Field(i)
		name := f.Tag.Get("yaml")
		if name == "-" {
			continue
		}
		at := strings.TrimPrefix(path+"."+name, ".")
		if _, ok := s.paths[t.Name()+"."+f.Name]; !ok {
			s.tags[t.Name()+"."+f.Name], s.paths[t.Name()+"."+f.Name] = name, at
		}
		if of, suffix, ok := structBelow(f.Type); ok {
			s.follow(of, at+suffix)
		}
	}
}

// structBelow returns the struct whose keys stand below a value of t, and how they go on.
func structBelow(t reflect.Type) (of reflect.Type, suffix string, ok bool) {
	switch t.Kind() {
	case reflect.Struct:
		return t, "", true
	case reflect.Pointer:
		return t.Elem(), "", t.Elem().Kind() == reflect.Struct
	case reflect.Slice:
		return t.Elem(), "[]", t.Elem().Kind() == reflect.Struct
	case reflect.Map:
		return t.Elem(), ".NAME", t.Elem().Kind() == reflect.Struct
	default:
		return nil, "", false
	}
}

// goName is a name of Go in a comment: [Guard.CheckAge], or CheckAge beside it.
var goName = regexp.MustCompile(`\[([A-Za-z]+(?:\.[A-Za-z]+)?)\]|\b([A-Z][A-Za-z]*)\b`)

// text returns the comment on name for somebody who reads YAML: keys in the place of fields and
// words in the place of constants, which word may mark. owner is the struct around name.
func (s *source) text(owner, name, comment string, word func(string) string) string {
	comment = strings.TrimPrefix(comment, name+" ")
	for _, verb := range []string{"is ", "are "} {
		comment = strings.TrimPrefix(comment, verb)
	}
	var b strings.Builder
	last := 0
	for _, at := range goName.FindAllStringSubmatchIndex(comment, -1) {
		b.WriteString(comment[last:at[0]])
		last = at[1]
		if at[2] >= 0 {
			b.WriteString(word(s.meaning(owner, comment[at[2]:at[3]])))
			continue
		}
		bare := comment[at[4]:at[5]]
		key, ok := s.tags[owner+"."+bare]
		if value, isWord := s.words[bare]; isWord {
			key, ok = value, true
		}
		// The first word of a sentence may be any word, and one in capitals an abbreviation.
		begins := at[0] == 0 || strings.HasSuffix(comment[:at[0]], ". ")
		if inner := strings.ToLower(bare[1:]) != bare[1:]; !ok || bare == strings.ToUpper(bare) || begins && !inner {
			b.WriteString(bare)
			continue
		}
		b.WriteString(word(key))
	}
	b.WriteString(comment[last:])
	return b.String()
}

// meaning returns what a linked name is called in a file. A key of owner is called by its name,
// another one by its path.
func (s *source) meaning(owner, name string) string {
	if value, ok := s.words[name]; ok {
		return value
	}
	if key, ok := s.tags[name]; ok {
		if strings.HasPrefix(name, owner+".") {
			return key
		}
		return s.paths[name]
	}
	return name
}

// capital returns a text with a capital at its beginning.
func capital(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// sentenceEnd is where a sentence ends, behind its last letter: "500. A", and not "2.50" or " ? ".
var sentenceEnd = regexp.MustCompile(`[^\s][.!?]["')]?\s+`)

// sentences splits a text.
func sentences(text string) (out []string) {
	for text != "" {
		at := sentenceEnd.FindStringIndex(text)
		if at == nil {
			return append(out, text)
		}
		out = append(out, strings.TrimSpace(text[:at[1]]))
		text = text[at[1]:]
	}
	return out
}

// split takes the default out of the sentences of a comment: the words after "Defaults to", or
// "required".
func split(text string) (rest []string, def string) {
	rest = slices.DeleteFunc(sentences(text), func(s string) bool {
		if strings.HasPrefix(s, "Required") {
			def = "r" + strings.TrimSuffix(s[1:], ".")
		} else if to, ok := strings.CutPrefix(s, "Defaults to "); ok {
			def = strings.TrimSuffix(to, ".")
		} else {
			return false
		}
		return true
	})
	return rest, def
}
