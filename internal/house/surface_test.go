// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package house

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// No exported name of a public package leads to a type of an internal package: a user could
// neither name it nor read what it is.
func TestPublicPackagesNameNoInternalType(t *testing.T) {
	m, err := load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	listed, err := list(t.Context(), "-export", "-deps", m.Path+"/...")
	if err != nil {
		t.Fatal(err)
	}
	export := map[string]string{}
	for _, p := range listed {
		export[p.ImportPath] = p.Export
	}
	compiled := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) { return os.Open(export[path]) })
	table := rules()
	for _, p := range m.packages {
		name := m.short(p.ImportPath)
		if r, _ := find(table, name); r.tests || isInternal(name) || len(p.GoFiles) == 0 {
			continue
		}
		pkg, err := compiled.Import(p.ImportPath)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range exposed(m, pkg) {
			t.Error(line)
		}
	}
}

func TestExposed(t *testing.T) {
	const hidden = `package hidden; type T struct{}; type U[V any] struct{}; type A = int; type I interface{ M() }; const C A = 1`
	m := module{Path: "m"}
	for _, test := range []struct{ source, want string }{
		{`func F(hidden.T) {}`, "F"},
		{`func F() (int, []*hidden.T) { return 0, nil }`, "F"},
		{`func F(func(map[string]chan hidden.T)) {}`, "F"},
		{`func F[V hidden.I](V) {}`, "F"},
		{`func F(struct{ X, y hidden.T }) {}`, "F.X"},
		{`func F(interface{ M(hidden.T) }) {}`, "F.M"},
		{`func F(hidden.A) {}`, "F"},
		{`func F(p[hidden.T]) {}; type p[V any] struct{ V V }`, "F F.V"},
		{`var V [2]hidden.T`, "V"},
		{`const C hidden.A = 1`, "C"},
		{`var V = hidden.C`, "V"},
		{`type A = hidden.T`, "A"},
		{`type A = []hidden.T`, "A"},
		{`type S struct { Field hidden.T }`, "S.Field"},
		{`type S struct { hidden.T }`, "S.T"},
		{`type S struct { inner }; type inner struct { Field hidden.T }`, "S.Field"},
		{`type S struct { *inner }; type inner struct { Field hidden.T }`, "S.Field"},
		{`type S struct { inner }; type inner struct {}; func (*inner) M(hidden.T) {}`, "S.M"},
		{`type S int; func (S) M() hidden.U[int] { panic(0) }`, "S.M"},
		{`type I interface { M() hidden.T }`, "I.M"},
		{`type G[V hidden.I] struct { v V }`, "G"},
		{`type O func(*inner); type inner struct { Field hidden.T }`, ""},
		{`func F() inner { panic(0) }; type inner struct { Field hidden.T }`, "F.Field"},
		{`type T struct { inner hidden.T }; func (T) m(hidden.T) {}; func f(hidden.T) {}; type I interface { m(hidden.T) }; func F(T, I) {}; var v hidden.T`, ""},
	} {
		fset := token.NewFileSet()
		checked := func(path, source string, imports map[string]*types.Package) *types.Package {
			f, err := parser.ParseFile(fset, path+".go", source, 0)
			if err != nil {
				t.Fatal(err)
			}
			pkg, err := (&types.Config{Importer: imported(imports)}).Check(path, fset, []*ast.File{f}, nil)
			if err != nil {
				t.Fatal(err)
			}
			return pkg
		}
		pkg := checked("m/p", `package p; import "m/internal/hidden"; `+test.source+"; var _ hidden.T", map[string]*types.Package{
			"m/internal/hidden": checked("m/internal/hidden", hidden, nil),
		})
		var want []string
		for name := range strings.FieldsSeq(test.want) {
			want = append(want, "p."+name)
		}
		got := exposed(m, pkg)
		for i, line := range got {
			got[i], _, _ = strings.Cut(line, " names internal/hidden.")
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.source, diff)
		}
	}
}

type imported map[string]*types.Package

func (i imported) Import(path string) (*types.Package, error) { return i[path], nil }

// isInternal reports whether a path has an element internal.
func isInternal(path string) bool { return slices.Contains(strings.Split(path, "/"), "internal") }

// exposed says, for each exported name of the package, which types of internal packages of the
// module a user meets there.
func exposed(m module, pkg *types.Package) []string {
	x := exposure{module: m, pkg: pkg}
	for _, name := range pkg.Scope().Names() {
		if token.IsExported(name) {
			x.object(pkg.Scope().Lookup(name))
		}
	}
	return x.found
}

// exposure looks for types of internal packages.
type exposure struct {
	module module
	pkg    *types.Package
	found  []string
	seen   []types.Type // of the present name
}

func (x *exposure) object(obj types.Object) {
	x.seen = nil
	tn, isType := obj.(*types.TypeName)
	if !isType {
		x.look(obj.Name(), obj.Type())
		return
	}
	if alias, ok := tn.Type().(*types.Alias); ok {
		x.look(tn.Name(), alias.Rhs())
		return
	}
	named := tn.Type().(*types.Named)
	x.params(tn.Name(), named.TypeParams())
	x.declared(tn.Name(), named)
}

// declared looks at the fields and the methods of a type of the package.
func (x *exposure) declared(at string, named *types.Named) {
	x.seen = append(x.seen, named)
	x.underlying(at, named.Underlying())
	methods := types.NewMethodSet(types.NewPointer(named))
	if types.IsInterface(named) {
		return // underlying has them
	}
	for method := range methods.Methods() {
		if method.Obj().Exported() {
			x.look(at+"."+method.Obj().Name(), method.Type())
		}
	}
}

// underlying looks at a type that has no name. What is not exported is passed by, but for the
// exported fields of an embedded struct.
func (x *exposure) underlying(at string, t types.Type) {
	switch t := t.(type) {
	case *types.Struct:
		for f := range t.Fields() {
			if f.Exported() {
				x.look(at+"."+f.Name(), f.Type())
				continue
			}
			inner := f.Type()
			if p, ok := inner.(*types.Pointer); ok {
				inner = p.Elem()
			}
			if s, ok := inner.Underlying().(*types.Struct); ok && f.Embedded() {
				x.underlying(at, s) // its methods are those of the outer type
			}
		}
	case *types.Interface:
		for method := range t.Methods() {
			if method.Exported() {
				x.look(at+"."+method.Name(), method.Type())
			}
		}
		for embedded := range t.EmbeddedTypes() {
			x.look(at, embedded)
		}
	default:
		x.look(at, t)
	}
}

func (x *exposure) params(at string, list *types.TypeParamList) {
	for p := range list.TypeParams() {
		x.look(at, p.Constraint())
	}
}

// look reports t at a name, and goes on to the types that t is made of.
func (x *exposure) look(at string, t types.Type) {
	if slices.Contains(x.seen, t) {
		return
	}
	switch t := t.(type) {
	case *types.Alias:
		if !x.report(at, t.Obj()) {
			x.arguments(at, t.TypeArgs())
			x.look(at, t.Rhs())
		}
	case *types.Named:
		if x.report(at, t.Obj()) {
			return
		}
		x.arguments(at, t.TypeArgs())
		if t.Obj().Pkg() == x.pkg && !t.Obj().Exported() {
			x.declared(at, t)
		}
	case *types.Signature:
		x.params(at, t.TypeParams())
		for v := range t.Params().Variables() {
			if !x.opaque(v.Type()) {
				x.look(at, v.Type())
			}
		}
		for v := range t.Results().Variables() {
			x.look(at, v.Type())
		}
	case *types.Map:
		x.look(at, t.Key())
		x.look(at, t.Elem())
	case interface{ Elem() types.Type }: // a pointer, a list, an array or a channel
		x.look(at, t.Elem())
	case *types.Union:
		for term := range t.Terms() {
			x.look(at, term.Type())
		}
	case *types.Struct, *types.Interface:
		x.underlying(at, t)
	}
}

// opaque reports whether t is a type of the package, or a pointer to one, that has no exported
// name: as a parameter it says nothing, because nobody else has a value of it.
func (x *exposure) opaque(t types.Type) bool {
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	named, ok := t.(*types.Named)
	return ok && named.Obj().Pkg() == x.pkg && !named.Obj().Exported() && named.TypeArgs() == nil
}

func (x *exposure) arguments(at string, list *types.TypeList) {
	for t := range list.Types() {
		x.look(at, t)
	}
}

// report reports a type of an internal package of the module.
func (x *exposure) report(at string, tn *types.TypeName) bool {
	if tn.Pkg() == nil || !under(tn.Pkg().Path(), x.module.Path) || !isInternal(tn.Pkg().Path()) {
		return false
	}
	line := fmt.Sprintf("%s.%s names %s.%s", cmp.Or(strings.TrimPrefix(x.module.short(x.pkg.Path()), "."), x.pkg.Name()), at, x.module.short(tn.Pkg().Path()), tn.Name())
	if !slices.Contains(x.found, line) {
		x.found = append(x.found, line)
	}
	return true
}
