// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package writefake

import (
	"net"
	"sync"
)

// port is the port of a server. It is kept while the server is stopped, when somebody
// else could take it, and hangs up on those who connect then: to a client that is like a
// port that nobody listens on, an error before anything was sent.
type port struct {
	net.Listener
	accepting sync.WaitGroup

	mu   sync.Mutex
	door *door // nil while the server is stopped
}

// listen takes a free port of loopback.
func listen() (*port, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &port{Listener: l}
	p.accepting.Go(p.accept)
	return p, nil
}

// accept gives every connection to the door that is open, until the port is closed.
func (p *port) accept() {
	for {
		conn, err := p.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		d := p.door
		p.mu.Unlock()
		if d == nil || !d.let(conn) {
			_ = conn.Close() // nobody is there to hear of an error
		}
	}
}

// open returns the listener of the next life of the server.
func (p *port) open() net.Listener {
	d := &door{port: p, conns: make(chan net.Conn), closed: make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.door = d
	return d
}

// close gives the port back.
func (p *port) close() {
	_ = p.Close() // closing is all that is left to do with it
	p.accepting.Wait()
}

// door is the listener of one life of a server.
type door struct {
	port   *port
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

// let hands a connection to Accept. It reports false when the door was closed.
func (d *door) let(conn net.Conn) bool {
	select {
	case d.conns <- conn:
		return true
	case <-d.closed:
		return false
	}
}

// Accept implements [net.Listener].
func (d *door) Accept() (net.Conn, error) {
	select {
	case conn := <-d.conns:
		return conn, nil
	case <-d.closed:
		return nil, net.ErrClosed
	}
}

// Close implements [net.Listener]. The port stays.
func (d *door) Close() error {
	d.once.Do(func() {
		close(d.closed)
		d.port.mu.Lock()
		defer d.port.mu.Unlock()
		if d.port.door == d {
			d.port.door = nil
		}
	})
	return nil
}

// Addr implements [net.Listener].
func (d *door) Addr() net.Addr { return d.port.Addr() }
