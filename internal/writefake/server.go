// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package writefake

import (
	"context"
	"slices"
	"strings"
	"sync"

	"cloud.google.com/go/bigquery/storage/apiv1/storagepb"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

// Server is the fake. Its methods are safe for concurrent use. It has one table,
// whatever name the client uses.
type Server struct {
	storagepb.UnimplementedBigQueryWriteServer
	o    Options
	port *port

	mu       sync.Mutex
	serving  *serving
	script   []Answer
	schedule func(Request) Answer
	lookups  []error
	refuse   func(Row) string
	whole    bool
	columns  []string // nil: the table has whatever the writer has
	record   record
}

// Options are for [Start]. The zero value is usable.
type Options struct {
	// DropRows keeps the identity of rows only, for tests that stream many.
	DropRows bool
}

// serving is one life of the server between two restarts.
type serving struct {
	grpc *grpc.Server
	done chan struct{} // Serve has returned
	// drain is closed when connections shall end once what they received is answered.
	drain chan struct{}
}

// Start listens on a free port of loopback. The caller closes the server.
func Start(o Options) (*Server, error) {
	p, err := listen()
	if err != nil {
		return nil, err
	}
	s := &Server{o: o, port: p}
	s.record.ids, s.record.seen = make(map[string]int), make(map[string]bool)
	s.Listen()
	return s, nil
}

// Listen serves again, on the same port, after Stop.
func (s *Server) Listen() {
	listener := s.port.open()
	life := &serving{
		// The service itself says no when a request is too large; gRPC must let it.
		grpc: grpc.NewServer(grpc.MaxRecvMsgSize(4*maxRequest), grpc.WaitForHandlers(true)),
		done: make(chan struct{}), drain: make(chan struct{}),
	}
	storagepb.RegisterBigQueryWriteServer(life.grpc, &service{Server: s, life: life})
	s.mu.Lock()
	s.serving = life
	s.mu.Unlock()
	go func() {
		defer close(life.done)
		_ = life.grpc.Serve(listener) // returns when the server stops, which is not news
	}()
}

// Stop closes every connection at once, as a crash would, and takes no other: streams end
// with what TCP says. It does nothing when the server is stopped.
func (s *Server) Stop() {
	s.end(func(life *serving) { life.grpc.Stop() })
}

// Restart stops the server and listens on the same port.
func (s *Server) Restart() {
	s.Stop()
	s.Listen()
}

// Drain tells every connection to go away (GOAWAY), answers what they have sent, ends
// them with "the connection is draining", and takes new connections on the same port.
func (s *Server) Drain() {
	s.end(func(life *serving) {
		close(life.drain)
		life.grpc.GracefulStop()
	})
	s.Listen()
}

func (s *Server) end(stop func(*serving)) {
	s.mu.Lock()
	life := s.serving
	s.serving = nil
	s.mu.Unlock()
	if life != nil {
		stop(life)
		<-life.done
	}
}

// Close stops the server for good. Every connection has ended when it returns.
func (s *Server) Close() {
	s.Stop()
	s.port.close()
}

// Addr is the address the server listens on. It stays the same for its life.
func (s *Server) Addr() string { return s.port.Addr().String() }

// ClientOptions make a client of the write service use the server.
func (s *Server) ClientOptions() []option.ClientOption {
	return []option.ClientOption{
		option.WithEndpoint(s.Addr()),
		option.WithoutAuthentication(),
		option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials())),
	}
}

func (s *Server) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// Script answers the next requests, of whichever connection, one by one. Those after
// them are answered by the schedule.
func (s *Server) Script(answers ...Answer) {
	s.set(func() { s.script = append(s.script, answers...) })
}

// Schedule answers every request that no script answers. Nil is the zero Answer. next
// is called with the server locked, for one request at a time.
func (s *Server) Schedule(next func(Request) Answer) {
	s.set(func() { s.schedule = next })
}

// Lookups are the errors of the next calls of GetWriteStream, one by one. Nil is
// success, as is every call after them.
func (s *Server) Lookups(errs ...error) {
	s.set(func() { s.lookups = append(s.lookups, errs...) })
}

// Refuse names rows that are never taken: refuse returns the words of the error, or
// nothing for a good row. A request with such a row gets row errors, however it was to
// be answered.
func (s *Server) Refuse(refuse func(Row) string) {
	s.set(func() { s.refuse, s.whole = refuse, false })
}

// RefuseWhole is Refuse without row errors: the answer is INVALID_ARGUMENT for the whole
// request, and does not say which row is at fault.
func (s *Server) RefuseWhole(refuse func(Row) string) {
	s.set(func() { s.refuse, s.whole = refuse, true })
}

// SetColumns says which columns the table has. A writer schema with others is a
// mismatch. Before the first call the table has what the writer has.
func (s *Server) SetColumns(names ...string) {
	s.set(func() { s.columns = slices.Clone(names) })
}

// service is what gRPC calls. It belongs to one life of the server.
type service struct {
	*Server
	life *serving
}

// GetWriteStream answers for the default stream of the table. The client library calls
// it once for each stream it opens.
func (s *service) GetWriteStream(_ context.Context, req *storagepb.GetWriteStreamRequest) (*storagepb.WriteStream, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.record.lookups++
	if len(s.lookups) > 0 {
		err := s.lookups[0]
		s.lookups = s.lookups[1:]
		if err != nil {
			return nil, err
		}
	}
	if !strings.HasSuffix(req.GetName(), "/streams/_default") {
		return nil, status.Errorf(codes.InvalidArgument, "the fake has default streams only, not %q", req.GetName())
	}
	return &storagepb.WriteStream{Name: req.GetName(), Type: storagepb.WriteStream_COMMITTED, Location: "europe-west3"}, nil
}
