// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package house holds the packages of the module against a table of the imports that each is
// allowed. It has only tests.
package house

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
)

// pkg is what go list says of a package.
type pkg struct {
	ImportPath, Export     string
	GoFiles, Imports, Deps []string
}

// module is a module and its packages.
type module struct {
	Path     string
	packages []pkg
}

// load lists the packages of the module that the working directory belongs to.
func load(ctx context.Context) (m module, err error) {
	if err := run(ctx, func(d *json.Decoder) error { return d.Decode(&m) }, "list", "-m", "-json=Path"); err != nil {
		return m, err
	}
	m.packages, err = list(ctx, m.Path+"/...")
	return m, err
}

// short returns the path of a package below the module; that of the root package is ".".
func (m module) short(path string) string {
	if path == m.Path {
		return "."
	}
	return strings.TrimPrefix(path, m.Path+"/")
}

// own returns those of the paths that are in the module, each below it.
func (m module) own(paths []string) (own []string) {
	for _, path := range paths {
		if under(path, m.Path) {
			own = append(own, m.short(path))
		}
	}
	return own
}

// list runs go list with more flags and patterns of packages.
func list(ctx context.Context, args ...string) (all []pkg, err error) {
	return all, run(ctx, func(d *json.Decoder) error {
		for {
			var p pkg
			if err := d.Decode(&p); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return err
			}
			all = append(all, p)
		}
	}, append([]string{"list", "-json=ImportPath,Export,GoFiles,Imports,Deps"}, args...)...)
}

// run runs the go command and reads what it prints.
func run(ctx context.Context, read func(*json.Decoder) error, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err == nil {
		err = read(json.NewDecoder(bytes.NewReader(out)))
	}
	if err != nil {
		return fmt.Errorf("go %s: %w; run it inside the module, on packages that compile\n%s", strings.Join(args, " "), err, &stderr)
	}
	return nil
}
