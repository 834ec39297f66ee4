// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"context"
	"net"
	"net/http"
	"testing"

	"github.com/adk-contextgraph/contextgraph/internal/viewer"
)

// What a page waits for ends with the server, which does not wait for it until StopTime is over.
func TestServeEnds(t *testing.T) {
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	waits := make(chan struct{})
	handler := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(waits)
		<-r.Context().Done()
	})
	ended := make(chan error, 1)
	go func() { ended <- viewer.Serve(ctx, listener, handler) }()
	answered := make(chan error, 1)
	go func() {
		answer, err := http.Get("http://" + listener.Addr().String() + "/")
		if err == nil {
			err = answer.Body.Close()
		}
		answered <- err
	}()
	<-waits
	stop()
	if err := <-ended; err != nil {
		t.Errorf("the server ended with %v", err)
	}
	if err := <-answered; err != nil {
		t.Errorf("what waited got %v", err)
	}
	if conn, err := net.Dial("tcp", listener.Addr().String()); err == nil {
		_ = conn.Close() // only the error counts
		t.Error("somebody listens still")
	}
	http.DefaultClient.CloseIdleConnections()
}
