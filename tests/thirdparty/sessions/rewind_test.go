// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/glebarez/sqlite"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/session/database"

	"github.com/adk-contextgraph/contextgraph/checkpoint"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/rewindtest"
	"github.com/adk-contextgraph/contextgraph/internal/pgtest"
)

func onSQLite(t testing.TB, file string) (session.Service, *gorm.DB) {
	t.Helper()
	dialector := sqlite.Open(file)
	service, err := database.NewSessionService(dialector, &gorm.Config{Logger: logger.Discard})
	if err == nil {
		err = database.AutoMigrate(service)
	}
	if err != nil {
		t.Fatal(err)
	}
	db, err := gorm.Open(sqlite.Open(file), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		t.Fatal(err)
	}
	return service, db
}

// On the database, too, a session that went back is as one that never went further.
func TestRandomRewinds(t *testing.T) {
	dir, n := t.TempDir(), 0
	rewindtest.Compare(t, 60, func() session.Service {
		n++
		service, _ := onSQLite(t, filepath.Join(dir, strconv.Itoa(n)+".db"))
		return service
	})
}

// On PostgreSQL, too.
func TestRandomRewindsOnPostgres(t *testing.T) {
	dialector := postgres.New(postgres.Config{DSN: pgtest.Database(t), PreferSimpleProtocol: true})
	service, err := database.NewSessionService(dialector, &gorm.Config{Logger: logger.Discard})
	if err == nil {
		err = database.AutoMigrate(service)
	}
	if err != nil {
		t.Fatal(err)
	}
	rewindtest.Compare(t, 30, func() session.Service {
		err := service.Delete(t.Context(), &session.DeleteRequest{AppName: cgtest.App, UserID: cgtest.User, SessionID: cgtest.SessionID})
		if err != nil {
			t.Fatal(err)
		}
		return service
	})
}

func TestMain(m *testing.M) {
	code := m.Run()
	pgtest.Stop()
	os.Exit(code)
}

// rewinding is a shop whose sessions can go back.
type rewinding struct {
	*shop
	cps  *checkpoint.Checkpoints
	bare session.Service
	db   *gorm.DB
}

func openRewinding(t *testing.T, opts ...cgtest.Option) *rewinding {
	t.Helper()
	dir := t.TempDir()
	r := new(rewinding)
	r.shop = open(t, dir, opts...)
	r.bare, r.db = onSQLite(t, filepath.Join(dir, "sessions.db"))
	r.cps = checkpoint.New(r.CG, checkpoint.Reads("search"))
	r.serve(t, r.cps.Sessions(r.bare))
	return r
}

func (r *rewinding) serve(t *testing.T, service session.Service) {
	t.Helper()
	r.Sessions = service
	made, err := runner.New(runner.Config{
		AppName: cgtest.App, Agent: cgtest.RootAgent(t, r.Model, r.Tools...), SessionService: service,
		PluginConfig: r.CG.PluginConfig(), AutoCreateSession: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	r.Runner = made
}

func (r *rewinding) back(message string) checkpoint.Result {
	r.T.Helper()
	list, err := r.cps.List(r.T.Context(), cgtest.Key(cgtest.SessionID))
	if err != nil {
		r.T.Fatal(err)
	}
	for _, cp := range list {
		if cp.Message == message {
			result, err := r.cps.Rewind(r.T.Context(), cgtest.Key(cgtest.SessionID), cp.ID)
			if err != nil {
				r.T.Fatal(err)
			}
			return result
		}
	}
	r.T.Fatalf("no message %q in %+v", message, list)
	return checkpoint.Result{}
}

// texts returns the texts that the session shows, in its order.
func (r *rewinding) texts(req session.GetRequest) (list []string) {
	r.T.Helper()
	req.AppName, req.UserID, req.SessionID = cgtest.App, cgtest.User, cgtest.SessionID
	got, err := r.Sessions.Get(r.T.Context(), &req)
	if err != nil {
		r.T.Fatal(err)
	}
	for ev := range got.Session.Events().All() {
		if ev.Content != nil {
			list = append(list, ev.Content.Parts[0].Text)
		}
	}
	return list
}

func (r *rewinding) want(got []string, want ...string) {
	r.T.Helper()
	if strings.Join(got, "|") != strings.Join(want, "|") {
		r.T.Errorf("the session shows %q, want %q", got, want)
	}
}

// skewed has every event a time of a clock that is behind.
type skewed struct {
	session.Service
	by time.Duration
}

func (s skewed) AppendEvent(ctx context.Context, to session.Session, ev *session.Event) error {
	ev.Timestamp = ev.Timestamp.Add(-s.by)
	return s.Service.AppendEvent(ctx, to, ev)
}

// After a rewind another replica goes on, whose clock is behind. Its events are older than those that were left, and are
// visible all the same.
func TestClockBehind(t *testing.T) {
	r := openRewinding(t)
	r.Say("one")
	time.Sleep(1100 * time.Millisecond)
	r.Say("two")
	r.back("two")
	r.serve(t, skewed{r.Sessions, time.Second})
	r.Say("three")
	r.want(r.texts(session.GetRequest{}), "one", "Done.", "three", "Done.")
}

// Events of one microsecond come back in another order. What was left stays left, and what comes after is visible.
func TestOneMicrosecond(t *testing.T) {
	r := openRewinding(t)
	r.Say("one")
	at := &atOnce{Service: r.Sessions, at: time.Now().Add(time.Millisecond)}
	r.serve(t, at)
	r.Say("two")
	r.back("two")
	r.want(r.texts(session.GetRequest{}), "one", "Done.")
	r.serve(t, at) // the same microsecond again
	r.Say("three")
	got := r.texts(session.GetRequest{})
	if len(got) != 4 || strings.Contains(strings.Join(got, "|"), "two") {
		t.Errorf("the session shows %q", got)
	}
}

func TestWindows(t *testing.T) {
	r := openRewinding(t)
	r.Say("one")
	r.Say("two")
	r.back("two")
	middle := time.Now()
	r.want(r.texts(session.GetRequest{NumRecentEvents: 1}), "Done.")
	r.Say("three")
	r.want(r.texts(session.GetRequest{NumRecentEvents: 3}), "Done.", "three", "Done.")
	r.want(r.texts(session.GetRequest{After: middle}), "three", "Done.")
	r.want(r.texts(session.GetRequest{After: middle, NumRecentEvents: 1}), "Done.")
}

// Whole numbers in the state come back from the database with a fraction, before a rewind and after it.
func TestIntegers(t *testing.T) {
	count := cgtest.NewTool(t, "count", func(ctx agent.Context, _ struct{}) (map[string]any, error) {
		n, _ := ctx.State().Get("n")
		f, _ := n.(float64)
		return map[string]any{"n": n}, ctx.State().Set("n", int(f)+1)
	})
	r := openRewinding(t)
	r.Tools = append(r.Tools, count)
	r.serve(t, r.Sessions)
	n := func() any {
		v, _ := r.Session(cgtest.User, cgtest.SessionID).State().Get("n")
		return v
	}
	for _, text := range []string{"one", "two"} {
		r.next = []*model.LLMResponse{adktest.Call("count", map[string]any{})}
		r.Say(text)
	}
	if n() != 2.0 {
		t.Errorf("n is %v", n())
	}
	list, err := r.cps.List(t.Context(), cgtest.Key(cgtest.SessionID))
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.cps.Rewind(t.Context(), cgtest.Key(cgtest.SessionID), list[0].ID)
	if !errors.Is(err, checkpoint.ErrEffects) {
		t.Fatalf("rewind over a call of count: %v", err)
	}
	would, err := r.cps.Rewind(t.Context(), cgtest.Key(cgtest.SessionID), list[0].ID, checkpoint.DryRun())
	if err == nil {
		_, err = r.cps.Rewind(t.Context(), cgtest.Key(cgtest.SessionID), list[0].ID, checkpoint.Keep(would.Effects[0].CallID))
	}
	if err != nil {
		t.Fatal(err)
	}
	if n() != 1.0 {
		t.Errorf("n is %v after the rewind, want 1", n())
	}
	r.next = []*model.LLMResponse{adktest.Call("count", map[string]any{})}
	r.Say("two")
	if n() != 2.0 {
		t.Errorf("n is %v after another turn, want 2", n())
	}
}

// Somebody writes a marker into the database: of a row that does not exist, or of another session's rewind. It hides
// nothing, and no run of the session begins.
func TestMarkerBySQL(t *testing.T) {
	r := openRewinding(t)
	r.Say("one")
	r.Say("two")
	real := r.back("two")
	for name, id := range map[string]string{"made up": "00000000000000000000000000000000", "another session's": real.ID} {
		t.Run(name, func(t *testing.T) {
			r.T = t
			if _, err := r.bare.Create(t.Context(), &session.CreateRequest{AppName: cgtest.App, UserID: cgtest.User, SessionID: name}); err != nil {
				t.Fatal(err)
			}
			adktest.Run(t, r.Runner, cgtest.User, name, adktest.UserText("hello"))
			err := r.db.Exec(`INSERT INTO events (id, app_name, user_id, session_id, invocation_id, author, timestamp, actions, custom_metadata)
				SELECT 'forged', app_name, user_id, session_id, invocation_id, 'user', timestamp, actions, ? FROM events WHERE session_id = ? LIMIT 1`,
				`{"contextgraph.rewind":"`+id+`"}`, name).Error
			if err != nil {
				t.Fatal(err)
			}
			if n := r.Session(cgtest.User, name).Events().Len(); n != 3 {
				t.Errorf("the session shows %d events, want all 3", n)
			}
			events, err := adktest.TryRun(t.Context(), r.Runner, cgtest.User, name, adktest.UserText("and now?"))
			if !errors.Is(err, checkpoint.ErrForeign) || len(events) > 0 {
				t.Errorf("the run ended with %v and %d events, want ErrForeign", err, len(events))
			}
			s := cgtest.Key(name)
			if _, err := r.cps.List(t.Context(), s); !errors.Is(err, checkpoint.ErrForeign) {
				t.Errorf("List: %v", err)
			}
		})
	}
}

// A run of another process is open when the session goes back: it ends at its next event.
func TestRunOfAnotherProcess(t *testing.T) {
	dir := t.TempDir()
	r := openRewinding(t)
	_ = dir
	r.Say("one")
	list, err := r.cps.List(t.Context(), cgtest.Key(cgtest.SessionID))
	if err != nil {
		t.Fatal(err)
	}
	other, err := r.bare.Get(t.Context(), &session.GetRequest{AppName: cgtest.App, UserID: cgtest.User, SessionID: cgtest.SessionID})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.cps.Rewind(t.Context(), cgtest.Key(cgtest.SessionID), list[0].ID); err != nil {
		t.Fatal(err)
	}
	ev := session.NewEvent(t.Context(), "other")
	ev.Author, ev.Content = "root", adktest.UserText("late")
	if err := r.bare.AppendEvent(t.Context(), other.Session, ev); err == nil || !strings.Contains(err.Error(), "stale session") {
		t.Errorf("the other process appends: %v", err)
	}
}
