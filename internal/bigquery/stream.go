// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"sync"
	"time"

	"cloud.google.com/go/bigquery/storage/managedwriter"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/adk-contextgraph/contextgraph/internal/replicate"
	"github.com/adk-contextgraph/contextgraph/internal/schema/wire"
)

// Target returns the table of events as a replicator writes to it: the default stream of
// the Storage Write API. Nothing is sent before its Open. Its Upgrade is [Dataset.Init],
// unless the configuration leaves tables to people.
func (d *Dataset) Target() replicate.Target { return d.target(d.names.Events(), wire.Descriptor()) }

// target returns the table with the name. The descriptor is that of its rows.
func (d *Dataset) target(name string, rows *descriptorpb.DescriptorProto) *target {
	t := &target{
		project:    d.cfg.BillingProject,
		table:      managedwriter.TableParentFromParts(d.names.Project(), d.names.Dataset(), name),
		traceID:    "contextgraph:" + Version(),
		descriptor: rows,
		options:    d.write,
		timeout:    d.ackTimeout,
	}
	if *d.cfg.Init {
		t.upgrade = func(ctx context.Context) error {
			_, err := d.Init(ctx, InitOptions{Quick: true, NoDataset: true})
			return err
		}
	}
	return t
}

// target opens streams to one table.
type target struct {
	project, table, traceID string
	descriptor              *descriptorpb.DescriptorProto
	options                 []option.ClientOption
	timeout                 time.Duration
	upgrade                 func(context.Context) error // nil: left to people
}

// errNoUpgrade is returned where the configuration leaves tables to people.
var errNoUpgrade = errors.New("the table lacks columns of the rows, and this program does not change tables")

// Upgrade adds the columns that the table lacks.
func (t *target) Upgrade(ctx context.Context) error {
	if t.upgrade == nil {
		return &replicate.Error{Class: replicate.ClassPermanent, Remedy: remedySchema, Err: fmt.Errorf("bigquery: %s: %w", t.table, errNoUpgrade)}
	}
	return t.upgrade(ctx)
}

// Open makes a client with one connection and a stream on it. Every stream has a client
// of its own: what broke one stream (a connection that is half dead, the client's count
// of requests under way, which leaks when connections fail in quick succession) is gone
// with it, and no client waits out its own backoff while the replicator has already
// decided to try again.
func (t *target) Open(ctx context.Context) (replicate.Stream, error) {
	ctx, stopTimer := context.WithTimeout(ctx, t.timeout)
	defer stopTimer()
	// The client keeps the context it is made with: the stream outlives ctx, and ends
	// when life does.
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	stopOpening := context.AfterFunc(ctx, end)
	s := &stream{table: t.table, life: life, end: end, overhead: t.overhead()}
	err := reveal(t.open(life, s))
	if !stopOpening() && err == nil {
		err = context.Cause(ctx)
	}
	if err == nil {
		return s, nil
	}
	if ctx.Err() != nil {
		err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
	}
	return nil, errors.Join(failed("open a stream", t.table, err), s.Close())
}

// open makes the client and the stream of s.
func (t *target) open(life context.Context, s *stream) (err error) {
	name := t.table + "/streams/_default"
	options := append([]option.ClientOption{
		option.WithGRPCConnectionPool(1),
		option.WithGRPCDialOption(grpc.WithChainUnaryInterceptor(onceUnary)),
		option.WithGRPCDialOption(grpc.WithChainStreamInterceptor(onceStream)),
	}, t.options...)
	// Requests reach the region of the table by this header. The generated client of
	// the bidirectional call cannot know it, and managedwriter v1.86.0 sets none.
	routed := metadata.AppendToOutgoingContext(life, "x-goog-request-params", "write_stream="+url.QueryEscape(name))
	if s.client, err = managedwriter.NewClient(routed, t.project, options...); err != nil {
		return &startError{err}
	}
	s.writer, err = s.client.NewManagedStream(life,
		managedwriter.WithType(managedwriter.DefaultStream),
		managedwriter.WithDestinationTable(t.table),
		managedwriter.WithSchemaDescriptor(t.descriptor),
		managedwriter.WithTraceID(t.traceID),
		// The replicator bounds what is under way and decides what is sent again.
		managedwriter.WithMaxInflightRequests(0),
		managedwriter.WithMaxInflightBytes(0),
		managedwriter.EnableWriteRetries(false),
	)
	return err
}

// overhead is what the first request of a connection holds beside its rows, in bytes.
func (t *target) overhead() int {
	const rest = 1 << 10 // the names of fields and what the client says of itself
	return proto.Size(t.descriptor) + len(t.table) + len(t.traceID) + rest
}

// startError says that the client could not be made: its options or the credentials are
// not usable.
type startError struct{ err error }

// Error returns the words of the client library.
func (e *startError) Error() string { return e.err.Error() }

// Unwrap returns its error.
func (e *startError) Unwrap() error { return e.err }

// onceError hides the status of an error from the client library, which would call
// again for as long as its context lasts and never say why. The replicator has to know.
type onceError struct{ err error }

// Error returns the words of the error that is hidden.
func (e *onceError) Error() string { return e.err.Error() }

// reveal returns the error that a onceError hides.
func reveal(err error) error {
	if once := (*onceError)(nil); errors.As(err, &once) {
		return once.err
	}
	return err
}

// onceUnary makes calls fail with a onceError.
func onceUnary(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	if err := invoke(ctx, method, req, reply, conn, opts...); err != nil {
		return &onceError{err}
	}
	return nil
}

// onceStream makes the opening of streams fail with one.
func onceStream(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	s, err := open(ctx, desc, conn, method, opts...)
	if err != nil {
		return nil, &onceError{err}
	}
	return s, nil
}

// stream is one connection to the table.
type stream struct {
	table    string
	life     context.Context
	end      context.CancelFunc
	client   *managedwriter.Client
	writer   *managedwriter.ManagedStream
	overhead int

	once     sync.Once
	closeErr error
}

// maxRequestBytes is the largest request that the service takes. A larger one would
// also end the connection, and with it every request before it that has no answer.
// Documented as 10 MB; the number is the one that the service names when it refuses one.
const maxRequestBytes = 10_485_760

// Append sends rows in one request.
func (s *stream) Append(ctx context.Context, rows [][]byte) (replicate.Pending, error) {
	if size := s.size(rows); size > maxRequestBytes {
		return nil, &replicate.Error{Class: replicate.ClassTooLarge, Err: fmt.Errorf(
			"a request of %d rows has %d bytes, and the Storage Write API takes %d: it was not sent", len(rows), size, maxRequestBytes)}
	}
	result, err := s.writer.AppendRows(ctx, rows)
	if err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("bigquery: append to %s: %w", s.table, context.Cause(ctx))
		}
		return nil, failed("append", s.table, s.ended(reveal(err)))
	}
	return &pending{stream: s, result: result}, nil
}

// size bounds the encoded size of a request from above.
func (s *stream) size(rows [][]byte) int {
	const perRow = 5 // tag and length
	size := s.overhead
	for _, r := range rows {
		size += len(r) + perRow
	}
	return size
}

// errStreamClosed is what a request gets that has no answer when the stream is closed.
var errStreamClosed = errors.New("the stream was closed before the answer came")

// ended replaces an error that says no more than that this side closed the stream.
func (s *stream) ended(err error) error {
	if s.life.Err() != nil {
		return errStreamClosed
	}
	return err
}

// closeTimeout bounds Close. The locks of managedwriter are held while it sends; its
// context has ended by then, so this is for what nobody thought of.
const closeTimeout = 5 * time.Second

// Close ends the connection and what waits for it. It returns within closeTimeout.
func (s *stream) Close() error {
	s.once.Do(func() {
		s.end()
		done := make(chan error, 1)
		go func() { done <- s.release() }()
		timer := time.NewTimer(closeTimeout)
		defer timer.Stop()
		select {
		case s.closeErr = <-done:
		case <-timer.C:
			s.closeErr = fmt.Errorf("bigquery: the stream to %s did not close within %s", s.table, closeTimeout)
		}
	})
	return s.closeErr
}

// release closes the writer and the client, as far as there are any.
func (s *stream) release() error {
	if s.writer != nil {
		// It is EOF or canceled in the best of cases, and no other case has a remedy.
		_ = s.writer.Close()
	}
	if s.client == nil {
		return nil
	}
	if err := s.client.Close(); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("bigquery: close the client of %s: %w", s.table, err)
	}
	return nil
}

// pending is a request without an answer.
type pending struct {
	stream *stream
	result *managedwriter.AppendResult
}

// Wait reads the answer.
func (p *pending) Wait(ctx context.Context) error {
	select {
	case <-p.result.Ready():
	case <-ctx.Done():
		return ctx.Err()
	}
	// An answer may say that the table has another schema now (updated_schema). The
	// writer's has not changed, so that is for a stream that failed, and was opened
	// again, alone.
	resp, err := p.result.FullResponse(context.WithoutCancel(ctx))
	if rows := resp.GetRowErrors(); len(rows) > 0 {
		return refused(p.stream.table, err, rows)
	}
	if err != nil {
		return failed("append", p.stream.table, p.stream.ended(err))
	}
	return nil
}
