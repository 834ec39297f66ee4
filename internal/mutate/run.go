// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// fate is what became of a mutant.
type fate uint8

const (
	killed   fate = iota // a test failed
	hung                 // the tests did not end in time
	unbuilt              // it does not compile
	survived             // every test passed
)

func (f fate) String() string {
	return [...]string{killed: "killed", hung: "did not end", unbuilt: "does not compile", survived: "survived"}[f]
}

// workspace builds and tests mutants of one package.
type workspace struct {
	dir     string // of the package
	name    string // of the package
	tests   []pkg  // whose tests are run
	scratch string
	sources []*source
	limit   time.Duration
	binary  atomic.Int64 // counts those that were built
}

// pkg is what go list says of a package.
type pkg struct {
	Dir, ImportPath, Name string
	GoFiles               []string
}

func listPackages(ctx context.Context, patterns ...string) ([]pkg, error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{"list", "-json=Dir,ImportPath,Name,GoFiles"}, patterns...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list %q: %w", patterns, err)
	}
	var list []pkg
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var p pkg
		if err := d.Decode(&p); err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return list, nil
}

// build compiles the tests of every package with files in place of others, by their
// paths, and returns the binaries. A complaint of the compiler is a *buildError.
func (l *workspace) build(ctx context.Context, replace map[string]string) ([]string, error) {
	n := l.binary.Add(1)
	overlay := make(map[string]string)
	for path, text := range replace {
		file := filepath.Join(l.scratch, fmt.Sprintf("%d-%s", n, filepath.Base(path)))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return nil, err
		}
		overlay[path] = file
	}
	data, err := json.Marshal(map[string]any{"Replace": overlay})
	if err != nil {
		return nil, err
	}
	config := filepath.Join(l.scratch, fmt.Sprintf("%d.json", n))
	if err := os.WriteFile(config, data, 0o600); err != nil {
		return nil, err
	}
	var binaries []string
	for i, p := range l.tests {
		out := filepath.Join(l.scratch, fmt.Sprintf("%d-%d.test", n, i))
		// The overlay and coverage, which GOFLAGS may ask for, do not go together.
		cmd := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-cover=false", "-gcflags="+l.tests[0].ImportPath+"=-e", "-overlay", config, "-o", out, p.ImportPath)
		if said, err := cmd.CombinedOutput(); err != nil {
			return nil, &buildError{fmt.Errorf("building the tests of %s: %w", p.ImportPath, err), said}
		}
		binaries = append(binaries, out)
	}
	return binaries, nil
}

type buildError struct {
	err  error
	said []byte
}

func (e *buildError) Error() string { return fmt.Sprintf("%v\n%s", e.err, e.said) }

// buildAll compiles all mutants at once. Those that cannot be are marked.
func (l *workspace) buildAll(ctx context.Context) ([]string, error) {
	for {
		replace := map[string]string{filepath.Join(l.dir, "zz_mutate.go"): fmt.Sprintf(active, l.name, activeEnv)}
		texts := make(map[string]string)
		for _, s := range l.sources {
			text := s.all()
			replace[s.path] = text
			texts[fmt.Sprintf("%d-%s", l.binary.Load()+1, filepath.Base(s.path))] = text
			texts[filepath.Base(s.path)] = text
		}
		binaries, err := l.build(ctx, replace)
		failed, ok := errors.AsType[*buildError](err)
		if !ok || blame(l.sources, texts, string(failed.said)) == 0 {
			return binaries, err
		}
	}
}

// run runs the tests in every binary with one mutant alive and returns what became of
// it. Mutant 0 is none.
func (l *workspace) run(ctx context.Context, binaries []string, id int) (fate, []byte, error) {
	for i, binary := range binaries {
		limited, cancel := context.WithTimeout(ctx, l.limit)
		cmd := exec.CommandContext(limited, binary, "-test.short", "-test.failfast", "-test.timeout", l.limit.String())
		cmd.Dir, cmd.Env = l.tests[i].Dir, append(os.Environ(), activeEnv+"="+strconv.Itoa(id))
		said, err := cmd.CombinedOutput()
		late := limited.Err() != nil
		cancel()
		_, failed := errors.AsType[*exec.ExitError](err)
		switch {
		case ctx.Err() != nil:
			return killed, nil, ctx.Err()
		case late || bytes.Contains(said, []byte("panic: test timed out")):
			return hung, said, nil
		case failed:
			return killed, said, nil
		case err != nil:
			return killed, said, err
		}
	}
	return survived, nil, nil
}

// runAlone compiles one mutant and runs the tests.
func (l *workspace) runAlone(ctx context.Context, m *mutant) (fate, error) {
	for _, s := range l.sources {
		if filepath.Base(s.path) != m.file {
			continue
		}
		binaries, err := l.build(ctx, map[string]string{s.path: s.one(m)})
		if _, ok := errors.AsType[*buildError](err); ok && ctx.Err() == nil {
			return unbuilt, nil
		}
		if err != nil {
			return killed, err
		}
		defer func() {
			for _, b := range binaries {
				os.Remove(b)
			}
		}()
		f, _, err := l.run(ctx, binaries, 0)
		return f, err
	}
	return killed, fmt.Errorf("%s: no such file", m.file)
}

// test finds out what becomes of each mutant, one on each processor at a time.
func (l *workspace) test(ctx context.Context, mutants []*mutant, done func(*mutant, fate)) error {
	binaries, err := l.buildAll(ctx)
	if err != nil {
		return err
	}
	l.limit = 5 * time.Minute
	start := time.Now()
	f, said, err := l.run(ctx, binaries, 0)
	if err != nil {
		return err
	}
	if f != survived {
		return fmt.Errorf("the tests fail without a mutant:\n%s", said)
	}
	l.limit = 30*time.Second + 5*time.Since(start)

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var mu sync.Mutex
	var workers sync.WaitGroup
	var next atomic.Int64
	for range runtime.NumCPU() {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(mutants) && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				m := mutants[i]
				var f fate
				var err error
				if m.alone {
					f, err = l.runAlone(ctx, m)
				} else {
					f, _, err = l.run(ctx, binaries, m.id)
				}
				if err != nil {
					cancel(err)
					return
				}
				mu.Lock()
				done(m, f)
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	return context.Cause(ctx)
}
