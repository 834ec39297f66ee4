// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// unused fills in the exported names that no other package of the repository names. Tests and
// other modules count as packages. A method counts as named wherever its name is selected, from a
// value of any type; one that only an interface elsewhere asks for counts as unused.
func unused(m module, packages []measure) error {
	users := map[string]string{} // the package that uses "path.Name" or ".Method", or "several"
	err := filepath.WalkDir(m.Dir, func(name string, d fs.DirEntry, err error) error {
		if base := filepath.Base(name); err == nil && d.IsDir() && name != m.Dir && (strings.HasPrefix(base, ".") || base == "testdata") {
			return filepath.SkipDir
		} else if err != nil || filepath.Ext(name) != ".go" {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		user := filepath.Dir(name)
		if strings.HasSuffix(f.Name.Name, "_test") {
			user += "_test"
		}
		imported := map[string]string{}
		for _, spec := range f.Imports {
			target, _ := strconv.Unquote(spec.Path.Value) // the parser has checked it
			imported[path.Base(target)] = m.short(target)
			if spec.Name != nil {
				imported[spec.Name.Name] = m.short(target)
			}
		}
		for n := range ast.Preorder(f) {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				x, _ := sel.X.(*ast.Ident)
				for _, key := range []string{"." + sel.Sel.Name, imported[x.String()] + "." + sel.Sel.Name} {
					if users[key] != "" && users[key] != user {
						users[key] = "several"
					} else {
						users[key] = user
					}
				}
			}
		}
		return nil
	})
	for i := range packages {
		p := &packages[i]
		check := func(key, name string) {
			if user := users[key]; user == "" || user == p.dir {
				p.Unused = append(p.Unused, name)
			}
		}
		for _, name := range p.types.Scope().Names() {
			if token.IsExported(name) {
				check(p.Package+"."+name, name)
			}
			_, methods := methodsOf(p.types.Scope().Lookup(name))
			for _, method := range methods {
				check("."+method, name+"."+method)
			}
		}
	}
	return err
}
