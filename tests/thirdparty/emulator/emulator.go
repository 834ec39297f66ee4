// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package emulator starts the BigQuery emulator for a test, with its REST API and its
// Storage Write API, and gives the options with which real clients reach it.
//
// Each emulator is a process of its own, the test binary itself: the emulator's SQL
// analyzer never gives memory back, and what two gigabytes of it have analyzed fails from
// then on, for the whole process. A package that uses it has a TestMain that calls [Main].
package emulator

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/goccy/bigquery-emulator/server"
	"github.com/goccy/bigquery-emulator/types"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/adk-contextgraph/contextgraph/config"
)

// Project is the project of every Server.
const Project = "test-project"

// childVariable tells a process to be an emulator, with the dataset it names.
const childVariable = "BIGQUERY_EMULATOR_CHILD"

// none stands for no dataset.
const none = "-"

// Server is an emulator with one project and, unless it was started empty, one dataset.
type Server struct {
	// Dataset is the name of the dataset.
	Dataset string
	// REST and GRPC are the addresses, host:port.
	REST, GRPC string
}

// Main runs the tests of a package, or is the emulator of one of them. It ends the
// process.
func Main(m *testing.M) {
	dataset := os.Getenv(childVariable)
	if dataset == "" {
		os.Exit(m.Run())
	}
	if err := serve(dataset); err != nil {
		fmt.Fprintln(os.Stderr, "emulator:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Start starts an emulator with a dataset called "agents" and ends it with the test.
func Start(t testing.TB) *Server {
	t.Helper()
	return start(t, "agents")
}

// StartEmpty starts an emulator whose project has no dataset.
func StartEmpty(t testing.TB) *Server {
	t.Helper()
	return start(t, none)
}

func start(t testing.TB, dataset string) *Server {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childVariable+"="+dataset)
	child.Stderr = os.Stderr
	// The emulator ends when its standard input does, and so with this process.
	stdin, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		_ = child.Process.Kill()
		_ = child.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	addresses := strings.Fields(line)
	if err != nil || len(addresses) != 2 {
		t.Fatalf("the emulator did not start (%q, %v); does TestMain of the package call emulator.Main?", line, err)
	}
	return &Server{Dataset: "agents", REST: addresses[0], GRPC: proxy(t, addresses[0], addresses[1])}
}

// serve is the emulator, until the end of standard input.
func serve(dataset string) error {
	project := types.NewProject(Project)
	if dataset != none {
		project = types.NewProject(Project, types.NewDataset(dataset))
	}
	emulator, err := server.New(server.TempStorage)
	if err != nil {
		return err
	}
	if err := emulator.Load(server.StructSource(project)); err != nil {
		return err
	}
	if err := emulator.SetProject(Project); err != nil {
		return err
	}
	if err := emulator.SetLogLevel(server.LogLevelFatal); err != nil {
		return err
	}
	rest, err := freeAddress()
	if err != nil {
		return err
	}
	write, err := freeAddress()
	if err != nil {
		return err
	}
	failed := make(chan error, 1)
	go func() { failed <- emulator.Serve(context.Background(), rest, write) }()
	for _, address := range []string{rest, write} {
		if err := listening(address, failed); err != nil {
			return err
		}
	}
	fmt.Println(rest, write)
	ended := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(ended)
	}()
	select {
	case err := <-failed:
		return err
	case <-ended:
		return nil
	}
}

// Config returns the configuration for the dataset.
func (s *Server) Config() config.BigQuery {
	return config.BigQuery{Project: Project, Dataset: s.Dataset}
}

// RESTOptions are the client options for the BigQuery API.
func (s *Server) RESTOptions() []option.ClientOption {
	return []option.ClientOption{option.WithEndpoint("http://" + s.REST), option.WithoutAuthentication()}
}

// WriteOptions are the client options for the Storage Write API.
func (s *Server) WriteOptions() []option.ClientOption {
	return []option.ClientOption{
		option.WithEndpoint(s.GRPC),
		option.WithoutAuthentication(),
		option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials())),
	}
}

// freeAddress returns an address that nothing listens on. The emulator takes addresses
// only, no listeners.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// listening returns when something listens on the address.
func listening(address string, failed <-chan error) error {
	for {
		c, err := net.DialTimeout("tcp", address, time.Second)
		if err == nil {
			return c.Close()
		}
		select {
		case err := <-failed:
			return err
		case <-time.After(5 * time.Millisecond):
		}
	}
}
