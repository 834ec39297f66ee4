// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"io"
	"os"
	"reflect"
)

// maxFileSize bounds a configuration file, in bytes.
const maxFileSize = 1 << 20

// Load reads the configuration file at path and puts the environment of the process over it; see
// [Parse]. The error for a file that cannot be read wraps the error of package os.
func Load(path string, checks ...Check) (Config, error) {
	f, err := os.Open(path)
	if err != nil {
		return Config{}, fmt.Errorf("contextgraph: configuration: %w; name a readable YAML file", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFileSize+1))
	if err != nil {
		return Config{}, fmt.Errorf("contextgraph: configuration: %w; name a readable YAML file", err)
	}
	return Parse(path, data, os.Environ(), checks...)
}

// Parse reads a configuration file from data. Errors contain the name.
//
// The file is one YAML document without anchors, aliases and tags. A key that is not known, is
// there twice or has a value of another type is an error. An empty file gives the zero Config.
//
// The variables of environ, in the form of [os.Environ], take the place of keys. Each single value
// outside of lists and maps has one: CONTEXTGRAPH_GUARD_MODE is guard.mode. The lists guard.tools
// and guard.inputs have one too, with commas between the names: it adds names to those of the file,
// and takes none away. Any other variable with a name that begins with CONTEXTGRAPH_ is an error.
// The exceptions are a variable that a header of the file names, and CONTEXTGRAPH_TOKEN and
// CONTEXTGRAPH_AGENT, which are for the commands "contextgraph serve" and "contextgraph approve".
//
// A value that neither sets is zero and means the default. The checks of this package come before
// the given ones; see [Config.Check]. The error joins one [*Error] for each fault; with it comes
// the zero Config.
func Parse(name string, data []byte, environ []string, checks ...Check) (Config, error) {
	if name == "" {
		name = "configuration"
	}
	var c Config
	p := newProblems(name)
	env := newEnvironment(environ)
	root := p.root(&c)
	if top := parseDocument(p, data); top != nil {
		d := &decoder{problems: p, env: env}
		d.decode(root, top, reflect.ValueOf(Default()))
	}
	env.apply(root)
	c.check(root, checks)
	if err := p.err(); err != nil {
		return Config{}, err
	}
	return c, nil
}

// Check reports every fault of c, joined as one [*Error] each. It makes the checks of this package,
// and then the given ones. Open of package contextgraph gives the checks of all packages that use
// c.
func (c Config) Check(checks ...Check) error {
	p := newProblems("")
	c.check(p.root(&c), checks)
	if err := p.err(); err != nil {
		return fmt.Errorf("contextgraph: configuration:\n%w", err)
	}
	return nil
}

func (c *Config) check(root Key, checks []Check) {
	checkWords(root)
	c.checkStorage(root)
	c.Guard.check(root.Of(&c.Guard))
	c.checkExtract(root.Of(&c.Extract))
	c.checkCheckers(root.Of(&c.Checkers))
	c.BigQuery.check(root.Of(&c.BigQuery))
	for _, check := range checks {
		for _, p := range check(c) {
			root.at(p.Path).Wrong(p.Text, p.Remedy)
		}
	}
}
