// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package thirdparty

import (
	"fmt"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/session/database"

	"github.com/adk-contextgraph/contextgraph/internal/pgtest"
	"github.com/adk-contextgraph/contextgraph/pgstore"
)

func TestMain(m *testing.M) {
	code := m.Run()
	pgtest.Stop()
	os.Exit(code)
}

// fleet is ADK's REST server three times, behind a proxy that gives each request to the next one. ADK's sessions are in
// the same database, and both are behind PgBouncer.
type fleet struct {
	*bank // the proxy
	banks []*bank
}

func newFleet(t *testing.T) *fleet {
	t.Helper()
	dsn := pgtest.Pooled(t, pgtest.Database(t))
	f := &fleet{bank: &bank{t: t}}
	var next atomic.Int64
	for range 3 {
		f.banks = append(f.banks, newReplica(t, adkSessions(t, dsn), dsn, plain, pgstore.Option()))
	}
	server := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		to, err := url.Parse(f.banks[next.Add(1)%3].url)
		if err != nil {
			t.Error(err)
		}
		r.SetURL(to)
	}})
	t.Cleanup(server.Close)
	f.url = server.URL
	return f
}

// adkSessions returns ADK's service of sessions over a database, as each replica has its own.
func adkSessions(t *testing.T, dsn string) session.Service {
	t.Helper()
	dialector := postgres.New(postgres.Config{DSN: dsn, PreferSimpleProtocol: true})
	service, err := database.NewSessionService(dialector, &gorm.Config{Logger: logger.Discard})
	if err != nil {
		t.Fatal(err)
	}
	if err := database.AutoMigrate(service); err != nil {
		t.Fatal(err)
	}
	return service
}

// paid returns how often any replica paid.
func (f *fleet) paidOnAll() (n int64) {
	for _, b := range f.banks {
		n += b.paid.Load()
	}
	return n
}

// owe sets what is owed, for all replicas.
func (f *fleet) owe(amount string) {
	for _, b := range f.banks {
		b.owed.Store(amount)
	}
}

// TestReplicasOverREST asks and answers through the proxy: each request reaches another replica.
func TestReplicasOverREST(t *testing.T) {
	f := newFleet(t)
	for i, tt := range []struct {
		owed string
		paid int64
	}{{"$100", 1}, {"$80", 0}, {"no amount", 0}} {
		f.owe("$100")
		before := f.paidOnAll()
		id := fmt.Sprint("s", i)
		f.post("/apps/clerk/users/alice/sessions/"+id, map[string]any{})
		run := func(part map[string]any) []map[string]any {
			return f.post("/run", map[string]any{"appName": "clerk", "userId": "alice", "sessionId": id, "newMessage": map[string]any{"role": "user", "parts": []any{part}}})
		}
		asked := confirmation(t, run(map[string]any{"text": "pay ACME"}))
		f.owe(tt.owed)
		run(approve(asked))
		if n := f.paidOnAll() - before; n != tt.paid {
			t.Errorf("%s is owed: paid %d times, want %d", tt.owed, n, tt.paid)
		}
		for range 3 { // each replica gets it once more
			run(approve(asked))
		}
		if n := f.paidOnAll() - before; n != tt.paid {
			t.Errorf("%s is owed: paid %d times after a replay, want %d", tt.owed, n, tt.paid)
		}
	}
}

// TestAttackOnReplicasOverREST sends one answer many times at once, so that all replicas have it, and answers in the
// session of somebody else.
func TestAttackOnReplicasOverREST(t *testing.T) {
	f := newFleet(t)
	f.post("/apps/clerk/users/alice/sessions/s1", map[string]any{})
	f.post("/apps/clerk/users/mallory/sessions/s1", map[string]any{})
	id := confirmation(t, f.run(map[string]any{"text": "pay ACME"}))
	f.post("/run", map[string]any{"appName": "clerk", "userId": "mallory", "sessionId": "s1", "newMessage": map[string]any{"role": "user", "parts": []any{approve(id)}}})
	if n := f.paidOnAll(); n != 0 {
		t.Fatalf("paid %d times by the word of another user", n)
	}
	var all sync.WaitGroup
	for range 9 {
		all.Go(func() { f.run(approve(id)) })
	}
	all.Wait()
	if n := f.paidOnAll(); n > 1 {
		t.Fatalf("paid %d times", n)
	}
	f.run(approve(id))
	if n := f.paidOnAll(); n != 1 {
		t.Errorf("paid %d times, want once", n)
	}
}
