// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package flowtest

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/adk-contextgraph/contextgraph/internal/text"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// A flow with a slip of the pen must not look like an answer about the policy. So whatever a flow
// names has to be there.

// States that are none of an approval.
const (
	refused   = "refused"   // nobody was asked
	unguarded = "unguarded" // a person was asked, and no approval is on record
	unstarted = "unstarted" // the configuration is refused
	otherwise = "otherwise" // in wrong_today: in more ways than one
)

// check reports what is wrong with a flow by itself.
func (f *Flow) check() error {
	for _, name := range slices.Sorted(maps.Keys(f.Tools)) {
		l := f.Tools[name]
		if l == nil {
			return fmt.Errorf("tools.%s is empty: say what the tool does, such as {result: {ok: true}}", name)
		}
		if !slices.Contains([]string{"", "protect", "confirm", "asks", "twin"}, l.Guard) {
			return fmt.Errorf("tools.%s.guard is %q: use protect, confirm or asks, or leave it out and name the tool in guard.tools of the configuration", name, l.Guard)
		}
	}
	if len(f.Steps) == 0 {
		return errors.New("steps is missing: say what happens, such as - user: buy a desk")
	}
	if len(f.Expect) == 0 {
		return errors.New("expect is missing: say how the guarded calls end, such as executed safe; or none")
	}
	if f.GivenUp != "" && f.WrongToday == nil {
		return errors.New("given_up stands without wrong_today: say how the calls end")
	}
	ends := f.Expect
	if f.WrongToday != nil { // what is expected may have a word that the guard does not know yet
		ends = f.WrongToday
	}
	for _, line := range append(slices.Clone(ends), f.BeforeAsking...) {
		if err := checkLine(line); err != nil {
			return err
		}
	}
	if f.invalid != nil {
		return nil
	}
	return errors.Join(f.checkGuard(), f.checkWorld())
}

// checkGuard reports a flow whose calls nobody guards.
func (f *Flow) checkGuard() error {
	names := slices.Sorted(maps.Keys(f.Tools))
	switch {
	case slices.ContainsFunc(names, f.isGuarded), len(f.cfg.Guard.Inputs) > 0, slices.Contains(f.Expect, "none"), slices.Contains(f.Expect, unguarded):
		return nil
	case len(f.cfg.Guard.Tools) == 0:
		return errors.New("no tool of the flow is guarded: name one in guard.tools of the configuration, or give it guard: protect")
	}
	listed := slices.Sorted(maps.Keys(f.cfg.Guard.Tools))
	return fmt.Errorf("no tool of the flow is guarded: guard.tools of the configuration has %s; %s", strings.Join(listed, ", "), meant(listed[0], names))
}

// checkLine reports a word of a line that is none.
func checkLine(line string) error {
	if _, rest, ok := strings.Cut(line, ": "); ok {
		line = rest
	}
	words := strings.Fields(line)
	states := []string{"pending", "approved", "rejected", "expired", "blocked", "superseded", "permitted", "executing", "executed", "failed"}
	verdicts := []string{safety.Safe.String(), safety.Drift.String(), safety.CheckFailed.String()}
	known := append(slices.Clone(states), refused, unguarded, unstarted, otherwise, "none")
	if len(words) == 0 || !slices.Contains(known, words[0]) {
		return fmt.Errorf("%q begins with no state; %s", line, meant(strings.Join(words[:min(1, len(words))], ""), known))
	}
	if len(words) > 1 && slices.Contains(states, words[0]) && !slices.Contains(verdicts, words[1]) && text.Nearest(words[1], verdicts) != "" {
		return fmt.Errorf("%q has no verdict; %s", line, meant(words[1], verdicts))
	}
	return nil
}

// meant names the known word that was probably meant, or all of them.
func meant(word string, known []string) string {
	if near := text.Nearest(word, known); near != "" {
		return fmt.Sprintf("did you mean %s?", near)
	}
	return "use one of " + strings.Join(known, ", ")
}

// checkWorld reports types that nothing has: in changes of the world, in sources that go down, and in
// what results refer to.
func (f *Flow) checkWorld() error {
	types := make(map[string]bool)
	for _, rule := range f.cfg.Extract {
		types[rule.Type] = true
	}
	for _, t := range f.Checked {
		types[t] = true
	}
	for _, l := range f.Tools {
		for _, d := range l.Declares {
			types[d.Type] = true
		}
	}
	sources := slices.Sorted(maps.Keys(types))
	for t := range f.World {
		types[t] = true
	}
	known := slices.Sorted(maps.Keys(types))
	for i, s := range f.Steps {
		for t := range s.World {
			if !types[t] {
				return fmt.Errorf("step %d: world has no %s: %s", i+1, t, meant(t, known))
			}
		}
		for _, t := range append(slices.Clone(s.Down), s.Up...) {
			if !slices.Contains(sources, t) {
				return fmt.Errorf("step %d: nothing checks the type %s: %s", i+1, t, meant(t, sources))
			}
		}
	}
	known = append(known, "args", "state", "artifact", "text", "input", "answer")
	for _, name := range slices.Sorted(maps.Keys(f.Tools)) {
		l := f.Tools[name]
		results := []any{l.Result, l.Rewrite, any(l.World), any(l.State)}
		for _, c := range l.Cases {
			results = append(results, c.Result)
		}
		for _, path := range references(results) {
			first, _, _ := strings.Cut(path, ".")
			if !slices.Contains(known, first) {
				return fmt.Errorf("tools.%s: =%s: the world has no %s: %s", name, path, first, meant(first, known))
			}
		}
	}
	return nil
}

// references returns the paths that texts in v refer to.
func references(v any) (paths []string) {
	switch v := v.(type) {
	case string:
		if path, ok := strings.CutPrefix(v, "="); ok {
			return []string{path}
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			paths = append(paths, references(v[key])...)
		}
	case []any:
		for _, element := range v {
			paths = append(paths, references(element)...)
		}
	}
	return paths
}

// checkKeys reports a key of a mapping that is none of the known ones.
func checkKeys(n *yaml.Node, known ...string) error {
	for i := 0; i < len(n.Content); i += 2 {
		if key := n.Content[i]; !slices.Contains(known, key.Value) {
			return fmt.Errorf("line %d: unknown key %q; %s", key.Line, key.Value, meant(key.Value, known))
		}
	}
	return nil
}

// goTerms are the words of the decoder of YAML that a person need not know.
var goTerms = regexp.MustCompile(`field (\S+) not found in type flowtest\.(\w+)`)

// plainly returns the text of an error of the decoder in words of a flow.
func plainly(err error) string {
	places := map[string]string{"spec": "a flow", "look": "a tool", "shape": "an agent", "part": "a part", "reply": "a call or a response", "tableCase": "a case"}
	said := goTerms.ReplaceAllStringFunc(strings.TrimPrefix(err.Error(), "yaml: "), func(s string) string {
		m := goTerms.FindStringSubmatch(s)
		place := places[m[2]]
		if place == "" {
			place = "a " + m[2]
		}
		return fmt.Sprintf("unknown key %q in %s", m[1], place)
	})
	return strings.TrimPrefix(said, "unmarshal errors:\n  ")
}
