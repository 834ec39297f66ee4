// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package writefake

import (
	"fmt"
	"io"
	"time"

	"cloud.google.com/go/bigquery/storage/apiv1/storagepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Answer says what becomes of one request. The zero value applies the rows and answers
// at once.
type Answer struct {
	// Delay is how long after the request the answer goes out. Answers keep their
	// order: one that is late delays those after it.
	Delay time.Duration
	// Hold delays the answer until the channel is closed.
	Hold <-chan struct{}
	// Error is answered in place of success; nothing is applied and the stream goes on.
	Error *status.Status
	// BadRows are refused, by their index in the request; nothing is applied and the
	// stream goes on. An index that the request has not is passed over.
	BadRows []int
	// End ends the stream in place of an answer: [io.EOF] in order, an error of package
	// status with that status.
	End error
	// NotApplied drops the rows of a request that ends its stream or is Silent.
	NotApplied bool
	// Silent leaves this request and all later ones of the connection without an
	// answer. Later ones are not applied.
	Silent bool
	// Deaf reads no further request of the connection, so that the client's sending
	// comes to a halt when the buffers in between are full.
	Deaf bool
	// Missing applies the rows and gives no answer, but goes on with the next request,
	// until one is refused: that ends the stream.
	Missing bool
	// Swapped gives the answer after that to the next request, if both are success.
	Swapped bool
	// UpdatedSchema stands in the answer.
	UpdatedSchema *storagepb.TableSchema
}

// Failed is an error in the answer: nothing is applied, the stream goes on.
func Failed(code codes.Code, message string) Answer {
	return Answer{Error: status.New(code, message)}
}

// EndBefore ends the stream without having applied the rows. A nil err is [io.EOF].
func EndBefore(err error) Answer { return Answer{End: orEOF(err), NotApplied: true} }

// EndAfter ends the stream when the rows were applied, without an answer. A nil err is
// [io.EOF].
func EndAfter(err error) Answer { return Answer{End: orEOF(err)} }

func orEOF(err error) error {
	if err == nil {
		return io.EOF
	}
	return err
}

// StorageError returns a status as the service gives it: with the code of the Storage
// API among its details.
func StorageError(code codes.Code, storage storagepb.StorageError_StorageErrorCode, message string) *status.Status {
	s, err := status.New(code, message).WithDetails(&storagepb.StorageError{Code: storage, ErrorMessage: message})
	if err != nil {
		return status.New(code, message) // only for code OK, which is no error
	}
	return s
}

// maxRequest is the limit of the service. It and the texts below are what the service was
// seen to say.
const maxRequest = 10_485_760

func tooLarge(size int, stream string) error {
	return status.Errorf(codes.InvalidArgument, "AppendRows request too large: %d limit %d Entity: %s", size, maxRequest, stream)
}

func extraFields(column, stream string) error {
	return StorageError(codes.InvalidArgument, storagepb.StorageError_SCHEMA_MISMATCH_EXTRA_FIELDS,
		fmt.Sprintf("Input schema has more fields than BigQuery schema, extra fields: '%s' Entity: %s", column, stream)).Err()
}

// TableNotFound is what a request for a table that does not exist ends with.
func TableNotFound(table string) error {
	return StorageError(codes.NotFound, storagepb.StorageError_TABLE_NOT_FOUND,
		"Requested entity was not found. Entity: "+table).Err()
}
