// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package evidence_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/theory/jsonpath"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"

	contextgraph "github.com/adk-contextgraph/contextgraph"
	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/journal/journaltest"
	"github.com/adk-contextgraph/contextgraph/internal/setup"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// plan is one of the plans of docs/what-counts.md, with nothing in it that the page does not
// say: the configuration, the calls of the agent, what is checked, and the rows of the table.
type plan struct {
	name, config        string
	calls               []planCall // the last one is the action
	checked, notChecked []string   // "Type value"
	rows                []planRow
}

type planCall struct {
	tool         string
	args, result map[string]any
}

// planRow is a row of the table: what happens between request and answer, and what the
// action comes to; twice, if the agent asks again.
type planRow struct{ change, verdict string }

var (
	thing       = regexp.MustCompile("([A-Z][A-Za-z]*) `([^`]+)`")
	changed     = regexp.MustCompile("^([A-Z][A-Za-z]*) `([^`]+)`: ([a-z_]+) `([^`]+)` → `([^`]+)`$")
	gone        = regexp.MustCompile("^([A-Z][A-Za-z]*) `([^`]+)` is gone$")
	uncalled    = regexp.MustCompile("^`([a-z_]+)` was not called$")
	shown       = regexp.MustCompile("^`([a-z_]+)` shows `([^`]+)`$")
	alsoCalled  = regexp.MustCompile("^`([^`]+)` was called too$")
	asksFor     = regexp.MustCompile("^the request says `([^`]+)`$")
	without     = regexp.MustCompile("^no `([^`]+)` in the rules$")
	ruleSays    = regexp.MustCompile("^the rule `([^`]+)` says `([^`]+)`$")
	inPlaceOf   = regexp.MustCompile("^`([^`]+)` in place of `([^`]+)`$")
	failedCheck = regexp.MustCompile("`([a-z_]+)` of (the plan|[A-Z][A-Za-z]* `[^`]+`)")
	inCode      = regexp.MustCompile("`([^`]+)`")
)

// readPlans reads the page.
func readPlans(t *testing.T, page string) (out []plan) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "\n## Eight plans\n")
	if !found {
		t.Fatalf("%s has no eight plans", page)
	}
	for _, section := range strings.Split(rest, "\n### ")[1:] {
		name, body, _ := strings.Cut(section, "\n")
		p := plan{name: name, config: fence(t, name, body, "yaml")}
		for _, line := range strings.Split(strings.TrimSpace(fence(t, name, body, "text")), "\n") {
			p.calls = append(p.calls, parseCall(t, line))
		}
		for _, line := range strings.Split(body, "\n") {
			switch cells := strings.Split(line, " | "); {
			case strings.HasPrefix(line, "- Checked: "):
				p.checked = thingsOf(line)
			case strings.HasPrefix(line, "- Not checked: "):
				p.notChecked = thingsOf(line)
			case strings.HasPrefix(line, "| ") && len(cells) == 3 && !strings.HasPrefix(line, "| after the request"):
				p.rows = append(p.rows, planRow{strings.TrimPrefix(cells[0], "| "), cells[1]})
			case strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| after the request"):
				t.Errorf("%s: a row has no three cells: %s", name, line)
			}
		}
		if len(p.checked) == 0 || len(p.rows) < 4 || p.rows[0].change != "nothing" {
			t.Errorf("%s: the page does not say what is checked, or what comes of changes", name)
		}
		out = append(out, p)
	}
	return out
}

// fence returns the one fenced block of a language.
func fence(t *testing.T, name, body, language string) string {
	t.Helper()
	blocks := strings.Split(body, "\n```"+language+"\n")
	if len(blocks) != 2 {
		t.Fatalf("%s: %d blocks of %s, want 1", name, len(blocks)-1, language)
	}
	block, _, _ := strings.Cut(blocks[1], "\n```")
	return block
}

// parseCall reads a line such as: search {"query": "routes"} -> {"items": []}
func parseCall(t *testing.T, line string) (c planCall) {
	t.Helper()
	call, result, _ := strings.Cut(line, " -> ")
	name, args, _ := strings.Cut(call, " ")
	c.tool, c.args = name, object(t, args)
	if result != "" {
		c.result = object(t, result)
	}
	return c
}

func object(t *testing.T, text string) (m map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatalf("%s is no JSON object: %v", text, err)
	}
	return m
}

func thingsOf(text string) (out []string) {
	for _, m := range thing.FindAllStringSubmatch(text, -1) {
		out = append(out, m[1]+" "+m[2])
	}
	slices.Sort(out)
	return out
}

// outside is the world of a plan: what tools showed, until it changes. It answers for
// everything, also for what no tool showed, as a lax service does.
type outside struct {
	mu      sync.Mutex
	types   map[string]string                    // by the path of the URL
	answers map[string]config.HTTP               // by type
	state   map[string]map[string]map[string]any // by type, value and attribute
	asked   map[string]bool                      // "Type value"
	absent  map[string]bool
}

func newOutside(t *testing.T, cfg *cgtest.Config, rules []config.Extract, calls []planCall) *outside {
	t.Helper()
	w := &outside{
		types: make(map[string]string), answers: make(map[string]config.HTTP),
		state: make(map[string]map[string]map[string]any), asked: make(map[string]bool), absent: make(map[string]bool),
	}
	for _, c := range calls {
		for _, r := range rules {
			if r.Tool == c.tool && r.In == config.InResult && c.result != nil {
				w.learn(t, r, c)
			}
		}
	}
	server := httptest.NewServer(w)
	t.Cleanup(server.Close)
	for i := range cfg.Checkers {
		c := &cfg.Checkers[i]
		u, err := url.Parse(c.HTTP.URL)
		if err != nil {
			t.Fatal(err)
		}
		path, ok := strings.CutSuffix(u.Path, "{value}")
		if !ok || !strings.HasSuffix(u.Host, ".example.com") {
			t.Fatalf("%s is no address of the page", c.HTTP.URL)
		}
		w.types[path], w.answers[c.Type] = c.Type, *c.HTTP
		c.HTTP.URL = server.URL + u.Path
	}
	return w
}

// learn keeps what a rule of the page finds in a result of the page.
func (w *outside) learn(t *testing.T, r config.Extract, c planCall) {
	t.Helper()
	one := func(path string, from any) any {
		found := jsonpath.MustParse(path).Select(from)
		if len(found) != 1 {
			t.Fatalf("rule %q: %s selects %v", r.Name, path, found)
		}
		return found[0]
	}
	for _, node := range jsonpath.MustParse(cmp.Or(r.Each, "$")).Select(any(c.result)) {
		var value string
		if r.ValueArgs != "" {
			value = one(r.ValueArgs, any(c.args)).(string)
		} else {
			value = one(r.Value, node).(string)
		}
		for name, a := range r.Attributes {
			w.set(r.Type, value, name, one(a.Path, node))
		}
	}
}

func (w *outside) set(typ, value, attribute string, v any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.state[typ] == nil {
		w.state[typ] = make(map[string]map[string]any)
	}
	if w.state[typ][value] == nil {
		w.state[typ][value] = make(map[string]any)
	}
	w.state[typ][value][attribute] = v
}

// ServeHTTP answers as the checkers of the page expect it.
func (w *outside) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	dir, value := r.URL.Path[:strings.LastIndex(r.URL.Path, "/")+1], r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	typ := w.types[dir]
	w.asked[typ+" "+value] = true
	if typ == "" || w.absent[typ+" "+value] {
		http.NotFound(rw, r)
		return
	}
	body := map[string]any{"as_of": time.Now()}
	for name, a := range w.answers[typ].Attributes {
		body[strings.TrimPrefix(a.Path, "$.")] = w.now(typ, value, name)
	}
	_ = json.NewEncoder(rw).Encode(body)
}

// now returns the value of an attribute: of a thing that nothing shows, that of another.
func (w *outside) now(typ, value, attribute string) any {
	if v, ok := w.state[typ][value][attribute]; ok {
		return v
	}
	for _, other := range slices.Sorted(maps.Keys(w.state[typ])) {
		if v, ok := w.state[typ][other][attribute]; ok {
			return v
		}
	}
	return true
}

// change makes a value of the page true. It returns the alert that says so.
func (w *outside) change(t *testing.T, typ, value, attribute, before, after string) planAlert {
	t.Helper()
	w.mu.Lock()
	was := w.now(typ, value, attribute)
	w.mu.Unlock()
	if spelt(was, before) != was {
		t.Fatalf("%s %s has the %s %v and not %s", typ, value, attribute, was, before)
	}
	w.set(typ, value, attribute, spelt(was, after))
	return planAlert{typ, value, attribute, before, after}
}

// spelt returns a value of the page in the JSON type of another.
func spelt(like any, text string) any {
	switch like.(type) {
	case string:
		return text
	case bool:
		return text == "available" || text == "true"
	}
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return err
	}
	return v
}

type planAlert struct{ typ, value, attribute, before, after string }

// planRun is one run of a plan.
type planRun struct {
	t       *testing.T
	plan    plan
	printed plan // without what the row says
	world   *outside
	runner  *runner.Runner
	pending []planCall // what the model is still to ask for
	request string     // the id of the last confirmation
	ran     atomic.Int64
	alerts  []planAlert
}

// TestWhatCounts runs each plan of docs/what-counts.md as it is printed, with each change
// of its table.
func TestWhatCounts(t *testing.T) {
	all := readPlans(t, "../../docs/what-counts.md")
	if len(all) != 8 {
		t.Errorf("%d plans, want 8", len(all))
	}
	for _, p := range all {
		for _, row := range p.rows {
			t.Run(p.name+"/"+row.change, func(t *testing.T) { p.run(t, row) })
		}
	}
}

func (p plan) run(t *testing.T, row planRow) {
	stages, verdicts := strings.Split(row.change, "; then "), strings.Split(row.verdict, "; then ")
	if len(stages) != len(verdicts) {
		t.Fatalf("%d stages and %d verdicts", len(stages), len(verdicts))
	}
	r := &planRun{t: t, plan: p, printed: p}
	r.plan.calls = slices.Clone(p.calls)
	for i, stage := range stages {
		var changes []func()
		for _, part := range strings.Split(stage, "; ") {
			if f := r.apply(part); f != nil {
				changes = append(changes, f)
			}
		}
		calls := r.plan.calls
		if i == 0 {
			r.open()
		} else {
			calls = calls[len(calls)-1:] // the agent has read the rest
		}
		r.want(verdicts[i], r.settle(calls, changes))
	}
	if row.change == "nothing" {
		r.wantAsked()
		r.wantOnce()
	}
}

// TestFirstConfiguration runs the first configuration of docs/checkers.md, which has what people
// need who read no more than it.
func TestFirstConfiguration(t *testing.T) {
	const name = "docs/checkers.md"
	text, err := os.ReadFile("../../" + name)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "\n## HTTP, from the configuration\n")
	section, _, _ := strings.Cut(rest, "\n## ")
	p := plan{name: name, config: fence(t, name, section, "yaml")}
	for _, line := range []string{
		`query_ad_inventory {} -> {"placements": [{"name": "Reels", "price": "$40,000", "available": true}, ` +
			`{"name": "Routes", "price": "$20,000", "available": true}, {"name": "Homepage", "price": "$90,000", "available": true}]}`,
		`buy_placements {"lines": [{"placement": "Reels"}, {"placement": "Routes"}]}`,
	} {
		p.calls = append(p.calls, parseCall(t, line))
	}
	p.checked, p.notChecked = []string{"Product Reels", "Product Routes"}, []string{"Product Homepage"}
	for _, row := range []planRow{
		{"nothing", "runs"},
		{"Product `Reels`: price `$40,000` → `$52,000`", "blocked"},
		{"Product `Routes`: availability `available` → `unavailable`", "blocked"},
		{"Product `Homepage`: availability `available` → `unavailable`", "runs"},
		{"the request says `\"lines\": [{\"placement\": \"Superbowl\"}]`", "check fails: `nothing_seen` of Product `Superbowl`"},
		{"`tool: query_inventory` in place of `tool: query_ad_inventory`",
			"check fails: `nothing_seen` of Product `Reels`, `nothing_seen` of Product `Routes`"},
	} {
		t.Run(row.change, func(t *testing.T) { p.run(t, row) })
	}
}

// apply changes the plan as a part of a row says, or returns what changes the world once
// the approval was asked for.
func (r *planRun) apply(part string) (later func()) {
	r.t.Helper()
	p, action := &r.plan, len(r.plan.calls)-1
	replace := func(old, new string) {
		if !strings.Contains(p.config, old) {
			r.t.Fatalf("the configuration has no %q", old)
		}
		p.config = strings.ReplaceAll(p.config, old, new)
	}
	if part == "nothing" || part == "the same request" {
		return nil
	}
	if m := changed.FindStringSubmatch(part); m != nil {
		return func() { r.alerts = append(r.alerts, r.world.change(r.t, m[1], m[2], m[3], m[4], m[5])) }
	}
	if m := gone.FindStringSubmatch(part); m != nil {
		return func() {
			r.world.mu.Lock()
			defer r.world.mu.Unlock()
			r.world.absent[m[1]+" "+m[2]] = true
		}
	}
	if m := uncalled.FindStringSubmatch(part); m != nil {
		n := len(p.calls)
		p.calls = slices.DeleteFunc(p.calls, func(c planCall) bool { return c.tool == m[1] })
		if len(p.calls) == n {
			r.t.Fatalf("the plan does not call %s", m[1])
		}
		return nil
	}
	if m := shown.FindStringSubmatch(part); m != nil {
		for i, c := range p.calls {
			if c.tool == m[1] {
				p.calls[i].result = merged(c.result, object(r.t, "{"+m[2]+"}"))
				return nil
			}
		}
	}
	if m := alsoCalled.FindStringSubmatch(part); m != nil {
		p.calls = slices.Insert(p.calls, action, parseCall(r.t, m[1]))
		return nil
	}
	if m := asksFor.FindStringSubmatch(part); m != nil {
		p.calls[action].args = merged(p.calls[action].args, object(r.t, "{"+m[1]+"}"))
		return nil
	}
	if m := without.FindStringSubmatch(part); m != nil {
		replace(m[1], "")
		return nil
	}
	if m := ruleSays.FindStringSubmatch(part); m != nil {
		replace("{name: "+m[1]+",", "{name: "+m[1]+", "+m[2]+",")
		return nil
	}
	if m := inPlaceOf.FindStringSubmatch(part); m != nil {
		replace(m[2], m[1])
		return nil
	}
	r.t.Fatalf("the test does not know what this row says: %s", part)
	return nil
}

func merged(a, b map[string]any) map[string]any {
	a = maps.Clone(a)
	maps.Copy(a, b)
	return a
}

// open starts the agent of the plan with its configuration.
func (r *planRun) open() {
	r.t.Helper()
	cfg, printed := cgtest.Config{Config: r.plan.load(r.t), Logger: cgtest.Quiet()}, r.printed.load(r.t).WithDefaults()
	if w := setup.Warnings(printed, nil); len(w) > 0 {
		r.t.Errorf("the configuration warns: %q", w)
	}
	r.world = newOutside(r.t, &cfg, printed.Extract, slices.Concat(r.printed.calls, r.plan.calls))
	cfg.Journal = config.Journal{Path: journaltest.Path(r.t), CommitInterval: time.Millisecond}
	cg, err := cfg.Open(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		if err := cg.Close(r.t.Context()); err != nil {
			r.t.Errorf("Close: %v", err)
		}
	})
	var tools []tool.Tool
	names := make(map[string]bool)
	for i, c := range r.plan.calls {
		if names[c.tool] {
			continue
		}
		names[c.tool] = true
		if i == len(r.plan.calls)-1 {
			tools = append(tools, cg.Protect(cgtest.NewTool(r.t, c.tool, func(agent.Context, map[string]any) (map[string]any, error) {
				r.ran.Add(1)
				return map[string]any{"status": "done"}, nil
			})))
			continue
		}
		tools = append(tools, cgtest.NewTool(r.t, c.tool, func(_ agent.Context, args map[string]any) (map[string]any, error) {
			for _, told := range r.plan.calls {
				if told.tool == c.tool && reflect.DeepEqual(told.args, args) {
					return told.result, nil
				}
			}
			return nil, fmt.Errorf("the page does not say what %s answers to %v", c.tool, args)
		}))
	}
	r.runner, err = runner.New(runner.Config{
		AppName: cgtest.App, SessionService: session.InMemoryService(), PluginConfig: cg.PluginConfig(), AutoCreateSession: true,
		Agent: cgtest.NewAgent(r.t, llmagent.Config{Name: "agent", Tools: tools, Model: &adktest.Model{Answer: r.answer}}),
	})
	if err != nil {
		r.t.Fatal(err)
	}
}

func (p plan) load(t *testing.T) contextgraph.Config {
	t.Helper()
	cfg, err := config.Parse(p.name, []byte(p.config), nil, setup.Checks()...)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// answer asks for the next call that is pending.
func (r *planRun) answer(*model.LLMRequest) (*model.LLMResponse, error) {
	if len(r.pending) == 0 {
		return adktest.Text("Done."), nil
	}
	next := r.pending[0]
	r.pending = r.pending[1:]
	return adktest.Call(next.tool, next.args), nil
}

// settle runs the calls of a turn, changes the world once the last of them was asked for,
// approves it, and returns what it came to.
func (r *planRun) settle(calls []planCall, changes []func()) map[string]any {
	r.t.Helper()
	r.pending, r.alerts = calls, nil
	r.ran.Store(0)
	events := adktest.Run(r.t, r.runner, cgtest.User, cgtest.SessionID, adktest.UserText("go"))
	for _, change := range changes {
		change()
	}
	asked := adktest.Confirmations(events)
	if len(asked) != 1 {
		r.t.Fatalf("%d requests for an approval, want 1", len(asked))
	}
	r.request = asked[0].ID
	events, err := adktest.TryRun(r.t.Context(), r.runner, cgtest.User, cgtest.SessionID, adktest.Answer(r.request, true))
	if err != nil {
		r.t.Fatal(err)
	}
	name := calls[len(calls)-1].tool
	ended := adktest.Responses(events, name)
	if len(ended) != 1 {
		r.t.Fatalf("%s ended %d times, want once", name, len(ended))
	}
	return ended[0]
}

// want compares what the action came to with a cell of the page: "runs"; "blocked", with
// exactly the changes of the row as alerts, or with the alerts that the cell names; or
// "check fails", with each reason and the thing it is about.
func (r *planRun) want(verdict string, got map[string]any) {
	r.t.Helper()
	kind, detail, _ := strings.Cut(verdict, ": ")
	var reason string
	switch kind {
	case "runs":
		if r.ran.Load() != 1 || got["status"] != "done" {
			r.t.Errorf("the action ran %d times and answered %s, want it to run", r.ran.Load(), encoded(got))
		}
		return
	case "blocked":
		reason = safety.CodeDrift
	case "check fails":
		reason = safety.CodeCheckFailed
	default:
		r.t.Fatalf("%q is no verdict", verdict)
	}
	if r.ran.Load() != 0 || got["reason"] != reason {
		r.t.Fatalf("the action ran %d times and answered %s, want %s", r.ran.Load(), encoded(got), verdict)
	}
	var alerts []planAlert
	var drifts, failures, wantFailures []string
	for _, a := range got["alerts"].([]any) {
		a := a.(map[string]any)
		str := func(key string) string { s, _ := a[key].(string); return s }
		alerts = append(alerts, planAlert{str("entity_type"), str("entity"), str("attribute"), str("before"), str("after")})
		drifts = append(drifts, str("drift_type"))
	}
	for _, f := range got["failures"].([]any) {
		f := f.(map[string]any)
		of := fmt.Sprintf("%v %v", f["entity_type"], f["entity"])
		if f["entity_type"] == "" {
			of = "the plan"
		}
		if f := fmt.Sprintf("%v of %s", f["reason"], of); !slices.Contains(failures, f) {
			failures = append(failures, f)
		}
	}
	for _, m := range failedCheck.FindAllStringSubmatch(detail, -1) {
		wantFailures = append(wantFailures, m[1]+" of "+strings.ReplaceAll(m[2], "`", ""))
	}
	if diff := gocmp.Diff(wantFailures, failures); diff != "" {
		r.t.Errorf("failures (-page +run):\n%s", diff)
	}
	switch {
	case kind == "blocked" && detail == "":
		if diff := gocmp.Diff(r.alerts, alerts, gocmp.AllowUnexported(planAlert{})); diff != "" {
			r.t.Errorf("alerts (-page +run):\n%s", diff)
		}
	case kind == "blocked":
		var want []string
		for _, m := range inCode.FindAllStringSubmatch(detail, -1) {
			want = append(want, m[1])
		}
		if diff := gocmp.Diff(want, drifts); diff != "" {
			r.t.Errorf("types of alerts (-page +run):\n%s", diff)
		}
	case len(alerts) > 0 || len(failures) == 0:
		r.t.Errorf("the action answered %s, want the reason in %s", encoded(got), verdict)
	}
}

// wantOnce answers the request again, which runs nothing.
func (r *planRun) wantOnce() {
	r.t.Helper()
	_, _ = adktest.TryRun(r.t.Context(), r.runner, cgtest.User, cgtest.SessionID, adktest.Answer(r.request, true))
	if n := r.ran.Load(); n != 1 {
		r.t.Errorf("one approval ran the action %d times", n)
	}
}

// wantAsked compares what the checkers were asked with what the page says.
func (r *planRun) wantAsked() {
	r.t.Helper()
	r.world.mu.Lock()
	defer r.world.mu.Unlock()
	if diff := gocmp.Diff(r.plan.checked, slices.Sorted(maps.Keys(r.world.asked))); diff != "" {
		r.t.Errorf("checked (-page +run):\n%s", diff)
	}
	var others []string
	for typ, values := range r.world.state {
		for value := range values {
			if !r.world.asked[typ+" "+value] {
				others = append(others, typ+" "+value)
			}
		}
	}
	slices.Sort(others)
	if diff := gocmp.Diff(r.plan.notChecked, others); diff != "" {
		r.t.Errorf("not checked (-page +run):\n%s", diff)
	}
}
