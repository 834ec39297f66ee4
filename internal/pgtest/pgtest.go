// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package pgtest starts PostgreSQL for tests: one server for a test binary, on loopback, in a temporary folder, by a user
// without privileges; and a database for each test. Where there is no PostgreSQL the tests are skipped, or fail with
// CI_REQUIRE_POSTGRES=1.
package pgtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

var (
	once      sync.Once
	server    *Server
	errStart  error
	databases atomic.Int64
)

// Server is a running server.
type Server struct {
	Port   int
	dir    string
	runs   []*exec.Cmd
	main   *exec.Cmd // of them the server itself
	pooled int       // the port of PgBouncer, once it runs
}

// Database returns the URL of a fresh and empty database, on a server that is shared by the tests of the binary.
func Database(t testing.TB) string {
	t.Helper()
	s := shared(t)
	name := fmt.Sprintf("test%d", databases.Add(1))
	s.run(t, "postgres", "CREATE DATABASE "+name)
	t.Cleanup(func() { s.run(t, "postgres", "DROP DATABASE "+name+" WITH (FORCE)") })
	return s.url(s.Port, name)
}

// Pooled returns the URL of the same database behind PgBouncer, which pools transactions.
func Pooled(t testing.TB, url string) string {
	t.Helper()
	s := shared(t)
	if s.pooled == 0 {
		if err := s.pool(); err != nil {
			missing(t, err)
		}
	}
	return s.url(s.pooled, url[strings.LastIndexByte(url, '/')+1:])
}

// Crash ends the server at once, calls during, and starts it again.
func Crash(t testing.TB, during func()) {
	t.Helper()
	s := shared(t)
	_ = s.main.Process.Signal(syscall.SIGQUIT)
	_ = s.main.Wait()
	during()
	again := command(s.dir, s.main.SysProcAttr.Credential, s.main.Path, s.main.Args[1:])
	s.runs[slices.Index(s.runs, s.main)] = again
	s.main = again
	err := again.Start()
	if err == nil {
		err = s.answers(s.Port)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Standby returns the URL of a database on an asynchronous standby of the server, which follows it through the proxy, and
// what makes it a server of its own. It ends with the test.
func Standby(t testing.TB, p *Proxy) (url string, promote func()) {
	t.Helper()
	s := shared(t)
	backup, err := program("pg_basebackup")
	postgres, err2 := program("postgres")
	as, err3 := nobody()
	port, err4 := freePort()
	if err := errors.Join(err, err2, err3, err4); err != nil {
		missing(t, err)
	}
	data := filepath.Join(s.dir, "standby")
	database := p.URL[strings.LastIndexByte(p.URL, '/')+1:]
	if err := s.finish(as, backup, "-D", data, "-R", "-d", strings.TrimSuffix(p.URL, database)+"postgres?application_name=follower", "-c", "fast", "--no-sync"); err != nil {
		t.Fatal(err)
	}
	cmd := command(s.dir, as, postgres, []string{"-D", data, "-p", strconv.Itoa(port), "-h", "127.0.0.1", "-k", s.dir, "-c", "fsync=off", "-c", "max_connections=300"})
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGQUIT)
		_ = cmd.Wait()
		_ = os.RemoveAll(data)
	})
	if err := s.answers(port); err != nil {
		t.Fatal(err)
	}
	return s.url(port, database), func() { Exec(t, s.url(port, "postgres"), "SELECT pg_promote(true, 60)") }
}

// Stop stops what runs. TestMain calls it at the end.
func Stop() {
	if server == nil {
		return
	}
	for _, cmd := range server.runs {
		_ = cmd.Process.Signal(syscall.SIGINT)
		_ = cmd.Wait()
	}
	_ = os.RemoveAll(server.dir)
}

func shared(t testing.TB) *Server {
	t.Helper()
	once.Do(func() { server, errStart = start() })
	if errStart != nil {
		missing(t, errStart)
	}
	return server
}

// missing skips a test that has no server, or lets it fail.
func missing(t testing.TB, err error) {
	t.Helper()
	if os.Getenv("CI_REQUIRE_POSTGRES") == "1" {
		t.Fatalf("no PostgreSQL, and CI_REQUIRE_POSTGRES is 1: %v", err)
	}
	t.Skipf("no PostgreSQL: %v", err)
}

// program returns the path of a program of the server.
func program(name string) (string, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if len(found) > 0 {
		return found[len(found)-1], nil
	}
	return exec.LookPath(name)
}

// nobody is the user who runs the server where the tests run as root, nil elsewhere.
func nobody() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("nobody")
	if err != nil {
		return nil, err
	}
	uid, err := strconv.Atoi(u.Uid)
	gid, err2 := strconv.Atoi(u.Gid)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, errors.Join(err, err2)
}

func start() (*Server, error) {
	initdb, err := program("initdb")
	postgres, err2 := program("postgres")
	as, err3 := nobody()
	if err := errors.Join(err, err2, err3); err != nil {
		return nil, err
	}
	parent := ""
	if as != nil {
		parent = "/tmp" // which nobody can enter
	}
	dir, err := os.MkdirTemp(parent, "contextgraph-postgres-")
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir}
	if as != nil {
		err = os.Chown(dir, int(as.Uid), int(as.Gid))
	}
	data := filepath.Join(dir, "data")
	if err == nil {
		err = s.finish(as, initdb, "-D", data, "-A", "trust", "-U", "agent", "-E", "UTF8", "--locale=C", "--no-sync")
	}
	if err == nil { // the role locked has to say its password
		hba := filepath.Join(data, "pg_hba.conf")
		var rules []byte
		if rules, err = os.ReadFile(hba); err == nil {
			err = os.WriteFile(hba, append([]byte("host all locked 127.0.0.1/32 scram-sha-256\n"), rules...), 0o600)
		}
	}
	if err == nil {
		s.Port, err = freePort()
	}
	if err == nil {
		fsync := "off"
		if os.Getenv("CONTEXTGRAPH_POSTGRES_FSYNC") == "1" { // for benchmarks
			fsync = "on"
		}
		err = s.begin(as, postgres, "-D", data, "-p", strconv.Itoa(s.Port), "-h", "127.0.0.1", "-k", dir,
			"-c", "fsync="+fsync, "-c", "max_connections=300", "-c", "max_wal_size=4GB")
	}
	if err == nil {
		s.main = s.runs[0]
	}
	if err == nil {
		err = s.answers(s.Port)
	}
	if err != nil {
		server = s
		Stop()
		return nil, err
	}
	return s, nil
}

// pool starts PgBouncer.
func (s *Server) pool() error {
	bouncer, err := exec.LookPath("pgbouncer")
	if err != nil {
		if _, statErr := os.Stat("/usr/sbin/pgbouncer"); statErr != nil {
			return err
		}
		bouncer = "/usr/sbin/pgbouncer"
	}
	as, err := nobody()
	if err != nil {
		return err
	}
	port, err := freePort()
	if err != nil {
		return err
	}
	config := fmt.Sprintf("[databases]\n* = host=127.0.0.1 port=%d\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = %d\nauth_type = any\n"+
		"* = \npool_mode = transaction\ndefault_pool_size = 10\nmax_client_conn = 500\nunix_socket_dir =\nlogfile = %s\npidfile = %s\nserver_reset_query =\n",
		s.Port, port, filepath.Join(s.dir, "bouncer.log"), filepath.Join(s.dir, "bouncer.pid"))
	config = strings.Replace(config, "* = \n", "", 1)
	config = strings.Replace(config, "* = host", "* = user=agent host", 1)
	file := filepath.Join(s.dir, "bouncer.ini")
	if err := os.WriteFile(file, []byte(config), 0o644); err != nil {
		return err
	}
	if err := s.begin(as, bouncer, file); err != nil {
		return err
	}
	s.pooled = port
	return s.answers(port)
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// begin starts a program that Stop ends.
func (s *Server) begin(as *syscall.Credential, name string, args ...string) error {
	cmd := command(s.dir, as, name, args)
	err := cmd.Start()
	if err == nil {
		s.runs = append([]*exec.Cmd{cmd}, s.runs...)
	}
	return err
}

func (s *Server) finish(as *syscall.Credential, name string, args ...string) error {
	cmd := command(s.dir, as, name, args)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w: %s", filepath.Base(name), err, out.Bytes())
	}
	return nil
}

func command(dir string, as *syscall.Credential, name string, args []string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	// A process group of its own: an interrupt of the tests does not reach it before Stop.
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as, Setpgid: true}
	return cmd
}

func (s *Server) url(port int, database string) string {
	return fmt.Sprintf("postgres://agent:s3cret@127.0.0.1:%d/%s", port, database)
}

// answers waits for a server.
func (s *Server) answers(port int) (err error) {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		var conn *pgx.Conn
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		if conn, err = pgx.Connect(ctx, s.url(port, "postgres")); err == nil {
			_ = conn.Close(ctx)
		}
		cancel()
		if err == nil {
			return nil
		}
	}
	return err
}

func (s *Server) run(t testing.TB, database, statement string) {
	t.Helper()
	Exec(t, s.url(s.Port, database), statement)
}

// Exec runs a statement in a database.
func Exec(t testing.TB, url, statement string, args ...any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, statement, args...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}
