// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package flowtest runs flows. A flow is a file: a configuration, tools, agents, what their models
// do, what a client sends, what the world does in between, and how each guarded call ends.
//
// A flow runs through ADK's own runner, with scripted models, on a journal of its own. Nothing
// outside of the flow is asked: the world of the flow answers for checkers over HTTP and SQL, and
// for those that are Go code.
//
// tests/flows/attacks/changed/price.yaml explains the keys.
package flowtest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/setup"
	"github.com/adk-contextgraph/contextgraph/internal/store"
)

// Flow is a flow as [Load] reads it. It holds no state: it may run many times, at once.
type Flow struct {
	// Path is the file.
	Path string
	// Store, if set, opens the store of each instance, in the place of one in memory or of a journal.
	Store func() (store.Store, error)
	spec
	cfg config.Config
	// later is the flow with the check before asking off, nil if it expects nothing else then.
	later *Flow
	// invalid is what is wrong with the configuration, where the flow expects just that.
	invalid error
}

// spec has the keys of a file.
type spec struct {
	About string `yaml:"about"` // one sentence for people
	// Use names another flow file: shops/NAME.yaml in the folder of the flow or in one above it. The
	// keys of this flow are laid over the keys there.
	Use string `yaml:"use"`
	// Config is a mapping with keys of a configuration, or the path of a configuration file.
	Config yaml.Node `yaml:"config"`
	// Checked names types that Go code of the host checks, beside the checkers of the configuration.
	Checked []string `yaml:"checked"`
	// Identity has the host authenticate people, with the names that steps give under "as".
	Identity bool `yaml:"identity"`
	// User is whose session it is.
	User   string           `yaml:"user"`
	World  world            `yaml:"world"`
	Tools  map[string]*look `yaml:"tools"`
	Agent  shape            `yaml:"agent"`  // one agent with all tools where it is left out
	Agents []shape          `yaml:"agents"` // others, which tools run
	Steps  []step           `yaml:"steps"`
	Expect lines            `yaml:"expect"`
	// BeforeAsking is how the calls end if the check before asking finds what the flow is about. The other
	// expectations are then those of the same flow with that check off, where only the later checks stand.
	BeforeAsking lines `yaml:"before_asking"`
	// Ways has a test run the flow once for each way to guard a tool; see [Flow.Ways].
	Ways bool `yaml:"ways"`
	// Calls is how often tools ran, also for a check.
	Calls map[string]int `yaml:"calls"`
	// Effects is how often guarded tools run, where that is not once for each executed call.
	Effects *int `yaml:"effects"`
	// Says and Never are words that the texts of the flow have, and do not have.
	Says  words `yaml:"says"`
	Never words `yaml:"never"`
	// WrongToday is how the calls end today, where that is not as expected.
	WrongToday lines `yaml:"wrong_today"`
	// GivenUp says why that stays so. docs/what-counts.md names the flow.
	GivenUp string `yaml:"given_up"`
}

// words are words of texts: the hint of requests, what they show beside it, refusals, what guarded
// tools answered, the reports of checks, and the log.
type words struct {
	Hint    []string `yaml:"hint"`
	Card    []string `yaml:"card"`
	Refusal []string `yaml:"refusal"`
	Result  []string `yaml:"result"`
	Report  []string `yaml:"report"`
	Log     []string `yaml:"log"`
}

// look is a tool, by the looks of it.
type look struct {
	Description string `yaml:"description"`
	// Arguments are those that the declaration of the tool names, and no others may come. If the list is
	// empty, the declaration does not say, as that of an MCP server without a schema.
	Arguments []string `yaml:"arguments"`
	// Guard is how the tool is guarded: protect, confirm, asks, twin, or nothing, if the configuration
	// lists it or nobody guards it.
	Guard string `yaml:"guard"`
	// Cases are results by arguments; the first counts whose arguments the call has. Where none does,
	// the other keys of the tool count.
	Cases  []tableCase    `yaml:"cases"`
	Result any            `yaml:"result"`
	Error  string         `yaml:"error"`
	World  world          `yaml:"world"`  // what the call changes
	State  map[string]any `yaml:"state"`  // what the call writes into the state of the session
	Agents []string       `yaml:"agents"` // the agents that the call runs, one after the other
	Runs   []string       `yaml:"runs"`   // tools that the call calls by itself, with its own arguments
	Reads  []string       `yaml:"reads"`  // keys of the state that the call reads, for =state.KEY
	// Reading is how the call reads them, and an artifact, where that is not State().Get and Load: all,
	// readonly, derived (by a context made from its own), aside (in another goroutine).
	Reading string `yaml:"reading"`
	Loads   string `yaml:"loads"`  // the argument that names an artifact; =artifact is its text
	Leaves  bool   `yaml:"leaves"` // the client goes away while the call runs
	Panics  string `yaml:"panics"` // what the call panics with
	// Declares are things that the tool declares with RecordEntity.
	Declares []declared `yaml:"declares"`
	// Text answers JSON as one text, Streams answers in chunks, LongRunning ends later.
	Text        bool `yaml:"text"`
	Streams     bool `yaml:"streams"`
	LongRunning bool `yaml:"long_running"`
	// Replayable says that a check may call the tool again.
	Replayable bool `yaml:"replayable"`
	// Rewrite is what a callback of the agent makes of the result, also of an error.
	Rewrite any `yaml:"rewrite"`
	// Args is what a callback of the agent puts over the arguments before the tool runs.
	Args map[string]any `yaml:"args"`
	// Instead is the result that a callback of the agent gives in the place of a call that may run.
	Instead map[string]any `yaml:"instead"`
	// Payload is what a callback of the agent puts into the answer of such a call.
	Payload map[string]any `yaml:"payload"`
	// Shown is what a callback of the agent puts over the result in each request of a model.
	Shown map[string]any `yaml:"shown"`
}

type tableCase struct {
	Args   map[string]any `yaml:"args"`
	Result any            `yaml:"result"`
	Error  string         `yaml:"error"`
}

type declared struct {
	Type       string         `yaml:"type"`
	Value      string         `yaml:"value"`
	Attributes map[string]any `yaml:"attributes"`
}

// shape is an agent, or a node of a workflow.
type shape struct {
	Name string `yaml:"name"`
	// Kind is llm, sequential, parallel, loop or workflow; a node may also be tool, output, ask or fork.
	Kind  string   `yaml:"kind"`
	Tools []string `yaml:"tools"` // of an llm, agents of the flow among them; all that no other agent has where it is left out. Of an output: what it calls
	Of    []shape  `yaml:"of"`    // agents below, or the nodes of a workflow, one after the other
	Times uint     `yaml:"times"` // of a loop
	Mode  string   `yaml:"mode"`  // of an llm: task or single_turn
	Alone bool     `yaml:"alone"` // an llm whose model reads nothing of what was before
	Wants string   `yaml:"wants"` // the type of the answer to an ask, as a JSON schema names it
	// Result is what a node with the kind output hands on, or what an ask shows.
	Result any `yaml:"result"`
}

// step is one thing that happens. The keys from User to Events begin a turn.
type step struct {
	User   string  `yaml:"user"`   // a message
	Answer answers `yaml:"answer"` // to requests, the oldest first
	Send   []part  `yaml:"send"`   // a message, part by part
	// Becomes is what a plugin of the host makes of the message, part by part.
	Becomes []part    `yaml:"becomes"`
	Instead string    `yaml:"instead"` // what it answers in the place of the run
	State   yaml.Node `yaml:"state"`   // a change of the state that comes with the message
	// As is the person who sends the message, Session where to; a session is s1 where it is left out.
	As      string `yaml:"as"`
	Session string `yaml:"session"`
	// Model has what models do from here on, in the place of what they did not do yet.
	Model moves `yaml:"model"`
	// Asked are the guarded tools for which the turn asks.
	Asked *[]string `yaml:"asked"`

	World world    `yaml:"world"` // changes
	Down  []string `yaml:"down"`  // types whose source answers no more
	Up    []string `yaml:"up"`    // and again
	// Stale makes answers about a type as old as it says.
	Stale    map[string]duration `yaml:"stale"`
	Tools    map[string]*look    `yaml:"tools"`     // changes
	Wait     duration            `yaml:"wait"`      // time passes
	Restart  bool                `yaml:"restart"`   // another process with the same journal
	Off      bool                `yaml:"off"`       // that process records nothing
	Forget   bool                `yaml:"forget"`    // the session is deleted; its journal stays
	Artifact map[string]string   `yaml:"artifacts"` // versions that somebody saves
	// Events are written into the session behind the runner, as a client of ADK's REST server can
	// with a new session.
	Events []event `yaml:"events"`
}

type event struct {
	Author string `yaml:"author"`
	Turn   string `yaml:"turn"` // last: that of the last event
	Parts  []part `yaml:"parts"`
}

// part is a part of a message.
type part struct {
	Text     string `yaml:"text"`
	Call     *reply `yaml:"call"`
	Response *reply `yaml:"response"`
}

type reply struct {
	ID   string         `yaml:"id"`
	Name string         `yaml:"name"`
	Args map[string]any `yaml:"args"` // of a call or of a response
}

// Load reads a flow. configuration is the file that counts where the flow has no key config; "" for
// none. An error names the file, the place in it and the remedy.
func Load(path, configuration string) (*Flow, error) {
	doc, dir, err := readLayers(path, nil)
	if err != nil {
		return nil, err
	}
	f := &Flow{Path: path}
	if err := decode(path, doc, &f.spec); err != nil {
		return nil, err
	}
	if f.cfg, f.invalid = f.configuration(dir, configuration); f.invalid != nil && !f.mayBeInvalid() {
		return nil, f.invalid
	}
	if err := f.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if f.BeforeAsking != nil {
		f.split()
	}
	return f, nil
}

// split makes two flows of one: with the check before asking, and without it.
func (f *Flow) split() {
	later := *f
	later.cfg.Guard.CheckBeforeAsking = new(false)
	f.later = &later
	f.Expect, f.WrongToday, f.Says, f.Calls, f.Effects = f.BeforeAsking, nil, words{}, nil, nil
	f.Steps = slices.Clone(f.Steps)
	for i := range f.Steps {
		f.Steps[i].Asked = nil
	}
}

// variable is a variable of the environment in a header of a configuration.
var variable = regexp.MustCompile(`\$\{(\w+)\}`)

// placeholders returns an environment with the variables that a configuration names: no source is
// asked, so nobody needs its secrets.
func placeholders(data []byte) (environ []string) {
	for _, m := range variable.FindAllSubmatch(data, -1) {
		environ = append(environ, string(m[1])+"=placeholder")
	}
	return environ
}

// Files returns the flows below a folder: its files with the ending .yaml, but for those in folders
// of the name shops.
func Files(dir string) (paths []string, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "shops":
			return fs.SkipDir
		case !d.IsDir() && filepath.Ext(path) == ".yaml":
			paths = append(paths, path)
		}
		return nil
	})
	return paths, err
}

// readLayers returns the document at path over those that it uses, and the folder that paths in it
// are relative to.
func readLayers(path string, seen []string) (doc *yaml.Node, dir string, err error) {
	if slices.Contains(seen, path) {
		return nil, "", fmt.Errorf("%s: use: the file uses itself", path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, "", err
	}
	// Decoded by itself first, so that an error names a line of this file.
	var own spec
	if err := decodeBytes(path, data, &own); err != nil {
		return nil, "", err
	}
	doc = new(yaml.Node)
	if err := yaml.Unmarshal(data, doc); err != nil {
		return nil, "", fmt.Errorf("%s: %w", path, err)
	}
	if len(doc.Content) != 1 {
		return nil, "", fmt.Errorf("%s: the file is empty: write a flow, such as contextgraph init makes", path)
	}
	doc, dir = doc.Content[0], filepath.Dir(path)
	if own.Use == "" {
		return doc, dir, nil
	}
	base, err := find(dir, own.Use)
	if err != nil {
		return nil, "", fmt.Errorf("%s: use: %w", path, err)
	}
	below, baseDir, err := readLayers(base, append(seen, path))
	if err != nil {
		return nil, "", err
	}
	if own.Config.Kind != yaml.ScalarNode {
		dir = baseDir // the configuration is named there
	}
	return merge(below, doc), dir, nil
}

// find returns the file that "use: name" means in a folder.
func find(dir, name string) (string, error) {
	for at, err := filepath.Abs(dir); err == nil; at = filepath.Dir(at) {
		path := filepath.Join(at, "shops", name+".yaml")
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	return "", fmt.Errorf("no shops/%s.yaml stands in the folder of the flow or in one above it", name)
}

func decode(path string, doc *yaml.Node, to any) error {
	data, err := yaml.Marshal(doc)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return decodeBytes(path, data, to)
}

func decodeBytes(path string, data []byte, to any) error {
	d := yaml.NewDecoder(bytes.NewReader(data))
	d.KnownFields(true)
	if err := d.Decode(to); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: %s", path, plainly(err))
	}
	return nil
}

// configuration reads the configuration of the flow. The world answers for its sources.
func (f *Flow) configuration(dir, fallback string) (config.Config, error) {
	name := fallback
	switch f.Config.Kind {
	case 0:
		if name == "" {
			return config.Config{}, fmt.Errorf("%s: config is missing: write the keys of a configuration there, or the path of its file", f.Path)
		}
	case yaml.ScalarNode:
		name = filepath.Join(dir, f.Config.Value)
	default:
		data, err := yaml.Marshal(&f.Config)
		if err != nil {
			return config.Config{}, fmt.Errorf("%s: config: %w", f.Path, err)
		}
		return config.Parse(f.Path, data, placeholders(data), setup.Checks()...)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return config.Config{}, fmt.Errorf("%s: config: %w", f.Path, err)
	}
	return config.Parse(name, data, placeholders(data), setup.Checks()...)
}

// mayBeInvalid reports whether the configuration may be an error when the program starts.
func (f *Flow) mayBeInvalid() bool {
	return slices.Contains(f.Expect, unstarted) || slices.Contains(f.WrongToday, unstarted)
}

// Ways returns the flow itself; or, if it has the key ways, the flow in each way to guard a tool, by
// the name of the way: one that asks by itself, for ADK or inside, needs a rule that reads its
// arguments. With the key before_asking each comes twice.
func (f *Flow) Ways() map[string]*Flow {
	out := f.ways()
	if f.later != nil {
		for name, later := range f.later.ways() {
			out[strings.TrimSpace(name+" without the check before asking")] = later
		}
	}
	return out
}

func (f *Flow) ways() map[string]*Flow {
	if !f.spec.Ways {
		return map[string]*Flow{"": f}
	}
	out := make(map[string]*Flow)
	for name, way := range map[string]look{
		"listed": {}, "protected": {Guard: "protect"}, "streaming": {Guard: "protect", Streams: true}, "covered": {Guard: "confirm"}, "asking inside": {Guard: "asks"},
	} {
		g := *f
		g.Tools = maps.Clone(f.Tools)
		var listed []string
		// Settings hold in every way; a tool that has some is listed as well.
		g.cfg.Guard.Tools = maps.Clone(f.cfg.Guard.Tools)
		if g.cfg.Guard.Tools == nil {
			g.cfg.Guard.Tools = make(map[string]config.ToolSettings)
		}
		maps.DeleteFunc(g.cfg.Guard.Tools, func(_ string, s config.ToolSettings) bool { return reflect.ValueOf(s).IsZero() })
		for name, l := range f.Tools {
			if f.isGuarded(name) {
				changed := *l
				changed.Guard, changed.Streams = way.Guard, way.Streams
				g.Tools[name] = &changed
				listed = append(listed, name)
			}
		}
		if way.Guard == "" {
			for _, name := range listed {
				if len(config.Matching(g.cfg.Guard.Tools, name)) == 0 {
					g.cfg.Guard.Tools[name] = config.ToolSettings{}
				}
			}
		}
		out[name] = &g
	}
	return out
}

// isGuarded reports whether calls of a tool count as effects.
func (f *Flow) isGuarded(name string) bool {
	if l := f.Tools[name]; l != nil && l.Guard != "" {
		return true
	}
	return len(config.Matching(f.cfg.Guard.Tools, name)) > 0
}
