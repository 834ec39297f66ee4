// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package writefake

import (
	"errors"
	"io"
	"slices"
	"time"

	"cloud.google.com/go/bigquery/storage/apiv1/storagepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// answer is what the sender of a connection does next.
type answer struct {
	due   time.Time
	hold  <-chan struct{}
	resp  *storagepb.AppendRowsResponse // nil: none
	end   error                         // not nil: the stream ends
	swap  bool
	deaf  bool
	bytes int
}

// success reports whether the answer says that rows were applied.
func (a *answer) success() bool { return a.resp.GetAppendResult() != nil }

// AppendRows reads the requests of one connection, applies them in order, and has its
// sender answer them in order, each when it is due.
func (s *service) AppendRows(stream storagepb.BigQueryWrite_AppendRowsServer) error {
	c := &connection{service: s, stream: stream, answers: make(chan answer, 10_000), over: make(chan struct{})}
	s.mu.Lock()
	c.number = len(s.record.connections)
	md, _ := metadata.FromIncomingContext(stream.Context())
	c.about = &Connection{Routing: slices.Clone(md.Get("x-goog-request-params"))}
	s.record.connections = append(s.record.connections, c.about)
	s.mu.Unlock()

	// The handler must return for the stream to end, and Recv returns only then: so the
	// receiver is the goroutine and the sender the handler.
	go c.receive()
	err := c.send()
	close(c.over)

	s.mu.Lock()
	s.record.unanswered -= c.waiting
	c.waiting = 0
	c.closed = true
	c.about.Err = err
	s.mu.Unlock()
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// connection is one call of AppendRows.
type connection struct {
	*service
	stream  storagepb.BigQueryWrite_AppendRowsServer
	number  int
	answers chan answer
	over    chan struct{} // the handler returns

	// What follows is guarded by the lock of the server.
	about   *Connection
	waiting int // bytes without an answer
	closed  bool

	// What follows belongs to receive.
	schema *writerSchema
	silent bool
	astray bool // an answer is missing
}

// receive reads requests until the client or the connection ends.
func (c *connection) receive() {
	for {
		req, err := c.stream.Recv()
		if err != nil {
			// The client sends no more (EOF), or the connection broke. Either way the
			// sender finishes what it has.
			close(c.answers)
			return
		}
		a := c.take(req)
		select {
		case c.answers <- a:
		case <-c.over:
			return
		}
		switch {
		case a.deaf:
			<-c.over
			return
		case a.end != nil:
			return
		}
	}
}

// send gives the answers in order until one ends the stream.
func (c *connection) send() error {
	var swapped *answer
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		var a answer
		var ok bool
		select {
		case a, ok = <-c.answers:
		case <-c.stream.Context().Done():
			return c.stream.Context().Err()
		case <-c.life.drain:
			// What was received is answered first.
			select {
			case a, ok = <-c.answers:
			default:
				return status.Error(codes.Unavailable, "the connection is draining")
			}
		}
		if !ok {
			if swapped != nil {
				return c.give(*swapped)
			}
			return nil
		}
		timer.Reset(max(0, time.Until(a.due)))
		select {
		case <-timer.C:
		case <-c.stream.Context().Done():
			return c.stream.Context().Err()
		}
		if a.hold != nil {
			select {
			case <-a.hold:
			case <-c.stream.Context().Done():
				return c.stream.Context().Err()
			}
		}
		if a.end != nil {
			return a.end
		}
		if a.swap && swapped == nil && a.success() {
			swapped = &a
			continue
		}
		both := []answer{a}
		if swapped != nil {
			both = append(both, *swapped)
			if !a.success() {
				slices.Reverse(both)
			}
			swapped = nil
		}
		for _, a := range both {
			if err := c.give(a); err != nil {
				return err
			}
		}
	}
}

// give sends one answer.
func (c *connection) give(a answer) error {
	if a.resp == nil {
		return nil
	}
	c.mu.Lock()
	c.waiting -= a.bytes
	c.record.unanswered -= a.bytes
	c.mu.Unlock()
	return c.stream.Send(a.resp)
}

// take decides what becomes of a request, applies it and returns the answer.
func (c *connection) take(req *storagepb.AppendRowsRequest) answer {
	size := proto.Size(req)
	rows := req.GetProtoRows().GetRows().GetSerializedRows()
	c.mu.Lock()
	defer c.mu.Unlock()
	request := Request{Connection: c.number, Number: c.about.Requests, Rows: len(rows), Bytes: size}
	c.about.Requests++
	if !c.closed {
		c.waiting += size
		c.record.unanswered += size
		c.record.maxUnanswered = max(c.record.maxUnanswered, c.record.unanswered)
	}
	if err := c.check(req, size); err != nil {
		return answer{end: err}
	}
	request.Stream = c.about.Stream
	decoded, bad := c.decode(rows, request)
	if c.silent {
		return answer{bytes: size}
	}
	told := c.next(request)
	out := answer{hold: told.Hold, swap: told.Swapped, deaf: told.Deaf, bytes: size, resp: &storagepb.AppendRowsResponse{
		UpdatedSchema: told.UpdatedSchema, WriteStream: c.about.Stream,
	}}
	if told.Delay > 0 {
		out.due = time.Now().Add(told.Delay)
	}
	if told.NotApplied && (told.End != nil || told.Silent) {
		c.silent = told.Silent
		out.end, out.resp = told.End, nil
		return out
	}
	for _, i := range told.BadRows {
		if i < len(rows) {
			bad = append(bad, rowError(i, "Field content: the script refuses this row"))
		}
	}
	if c.whole && len(bad) > 0 {
		told.Error, bad = status.New(codes.InvalidArgument, "Request contains an invalid argument."), nil
	}
	switch {
	case told.Error != nil:
		out.resp.Response = &storagepb.AppendRowsResponse_Error{Error: told.Error.Proto()}
	case len(bad) > 0:
		out.resp.RowErrors = bad
		out.resp.Response = &storagepb.AppendRowsResponse_Error{Error: status.Newf(codes.InvalidArgument,
			"Errors found while processing rows. Please refer to the row_errors field for details. The list may not be complete because of the size limitations. Entity: %s", c.about.Stream).Proto()}
	}
	if out.resp.GetError() != nil {
		if c.astray { // the client would take the answer for that to another request
			out.end = status.Error(codes.Unavailable, "the connection lost an answer")
		}
		return out
	}
	for _, row := range decoded {
		c.record.apply(row)
	}
	if told.End != nil || told.Silent || told.Missing {
		c.silent, c.astray = told.Silent, c.astray || told.Missing
		out.end, out.resp = told.End, nil
		return out
	}
	// The offset is not set on default streams.
	out.resp.Response = &storagepb.AppendRowsResponse_AppendResult_{AppendResult: &storagepb.AppendRowsResponse_AppendResult{}}
	return out
}

// check refuses what no table takes. An error ends the stream.
func (c *connection) check(req *storagepb.AppendRowsRequest, size int) error {
	if size > maxRequest {
		return tooLarge(size, c.about.Stream)
	}
	if writer := req.GetProtoRows().GetWriterSchema(); writer != nil {
		c.about.Schemas++
		schema, err := newWriterSchema(writer.GetProtoDescriptor())
		if err != nil {
			return status.Error(codes.InvalidArgument, err.Error())
		}
		c.schema = schema
	}
	if req.GetWriteStream() != "" && c.about.Stream == "" {
		c.about.Stream, c.about.TraceID = req.GetWriteStream(), req.GetTraceId()
	}
	switch {
	case c.about.Stream == "":
		return status.Error(codes.InvalidArgument, "the first request of a connection has no write_stream")
	case c.schema == nil:
		return status.Error(codes.InvalidArgument, "the first request of a connection has no writer_schema")
	case req.GetOffset() != nil:
		return status.Error(codes.InvalidArgument, "the default stream takes no offset")
	}
	if c.columns != nil {
		for _, column := range c.schema.columns() {
			if !slices.Contains(c.columns, column) {
				return extraFields(column, c.about.Stream)
			}
		}
	}
	return nil
}

// next takes the answer for a request from the script, else the schedule.
func (c *connection) next(r Request) Answer {
	if len(c.script) > 0 {
		a := c.script[0]
		c.script = c.script[1:]
		return a
	}
	if c.schedule != nil {
		return c.schedule(r)
	}
	return Answer{}
}

// decode reads the rows of a request and returns them with the errors of those that are
// refused.
func (c *connection) decode(rows [][]byte, request Request) ([]Row, []*storagepb.RowError) {
	decoded := make([]Row, 0, len(rows))
	var bad []*storagepb.RowError
	for i, encoded := range rows {
		row, err := c.schema.read(encoded)
		if err != nil {
			bad = append(bad, rowError(i, err.Error()))
			continue
		}
		row.Connection, row.Request = request.Connection, request.Number
		var words string
		if c.refuse != nil {
			words = c.refuse(row)
		}
		if c.o.DropRows {
			row.encoded, row.schema = nil, nil
		}
		c.record.see(row)
		if words != "" {
			bad = append(bad, rowError(i, words))
			continue
		}
		decoded = append(decoded, row)
	}
	return decoded, bad
}

func rowError(i int, words string) *storagepb.RowError {
	return &storagepb.RowError{Index: int64(i), Code: storagepb.RowError_FIELDS_ERROR, Message: words}
}
