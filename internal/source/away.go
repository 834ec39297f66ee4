// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// away returns err with [safety.ReasonSourceDown] if it says that there is no connection to the
// source, or that it broke. People may override a check only then, so anything else stays as it is: a
// certificate that is not trusted, or an answer that is not understood.
func away(err error) error {
	if op, is := errors.AsType[*net.OpError](err); is && slices.Contains([]string{"dial", "read", "write"}, op.Op) {
		return down(err)
	}
	if _, is := errors.AsType[*net.DNSError](err); is {
		return down(err)
	}
	for _, broken := range []error{io.EOF, io.ErrUnexpectedEOF, driver.ErrBadConn, sql.ErrConnDone} {
		if errors.Is(err, broken) {
			return down(err)
		}
	}
	// PostgreSQL and others say by SQLSTATE that no connection stands: 08 is a connection exception, 53 are
	// insufficient resources, 57 is an intervention of the operator, 55000 a database that does not accept connections.
	if state, is := errors.AsType[sqlState](err); is {
		if code := state.SQLState(); code == "55000" || slices.Contains([]string{"08", "53", "57"}, code[:min(len(code), 2)]) {
			return down(err)
		}
	}
	return err
}

// sqlState is an error of a database with its SQLSTATE. Drivers such as pgx and lib/pq have it.
type sqlState interface {
	error
	SQLState() string
}

// awayStatus reports whether a status says that the service does not work at present.
func awayStatus(code int) bool {
	switch code {
	case http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

func down(err error) error { return &safety.AnswerError{Reason: safety.ReasonSourceDown, Err: err} }

// gone returns the attributes of what does not exist.
func gone() map[string]entity.Value {
	return map[string]entity.Value{safety.Exists: entity.Bool(false)}
}
