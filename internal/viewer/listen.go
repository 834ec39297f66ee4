// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// StopTime bounds how long requests under way are waited for when a server ends.
const StopTime = 5 * time.Second

// Serve serves the handler of [NewHandler] on a listener until ctx ends, and closes the listener.
func Serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	// The pages' waiting ends with the server.
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		// Long enough for a query of the dataset; the stream of changes has a time of its own.
		WriteTimeout: 5 * time.Minute,
		BaseContext:  func(net.Listener) context.Context { return serving },
		ErrorLog:     slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo),
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	stop()
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), StopTime)
	defer cancel()
	if server.Shutdown(closing) != nil {
		_ = server.Close() // its connections are those that were waited for
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
