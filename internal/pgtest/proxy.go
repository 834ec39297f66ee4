// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package pgtest

import (
	"bytes"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// Proxy stands between a client and the server, and loses what it is told to.
type Proxy struct {
	// URL is that of the database behind the proxy.
	URL string
	// Delay is how long a statement has to take effect before its connection is cut.
	Delay time.Duration

	listen net.Listener
	server string
	all    sync.WaitGroup

	mu     sync.Mutex
	fault  string // a part of a statement
	before bool   // the statement is lost, and not its answer
	act    func() // in the place of the loss
	away   bool
	conns  map[net.Conn]bool
	hits   int
}

// NewProxy returns a proxy for a database until the end of the test.
func NewProxy(t testing.TB, url string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	host := url[strings.IndexByte(url, '@')+1 : strings.LastIndexByte(url, '/')]
	p := &Proxy{URL: strings.Replace(url, host, l.Addr().String(), 1), listen: l, server: host, Delay: 150 * time.Millisecond, conns: make(map[net.Conn]bool)}
	p.all.Go(p.accept)
	t.Cleanup(func() {
		_ = l.Close()
		p.Cut()
		p.all.Wait()
	})
	return p
}

// LoseAnswer lets the answer to the next statement with a part be lost, after the statement has taken effect.
func (p *Proxy) LoseAnswer(part string) { p.lose(part, false) }

// LoseStatement lets the next statement with a part be lost.
func (p *Proxy) LoseStatement(part string) { p.lose(part, true) }

func (p *Proxy) lose(part string, before bool) {
	p.At(part, before, nil)
}

// At calls act when the next statement with a part is on its way to the server, or when its answer is on its way back. Then
// it is lost.
func (p *Proxy) At(part string, before bool, act func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault, p.before, p.act = part, before, act
}

// Lost returns how often something was lost.
func (p *Proxy) Lost() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.hits
}

// Cut ends all connections.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
}

// Away refuses connections, and ends those that there are; or takes them again.
func (p *Proxy) Away(away bool) {
	p.mu.Lock()
	p.away = away
	p.mu.Unlock()
	if away {
		p.Cut()
	}
}

func (p *Proxy) accept() {
	for {
		client, err := p.listen.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		away := p.away
		p.mu.Unlock()
		server, err := net.Dial("tcp", p.server)
		if err != nil || away {
			_ = client.Close()
			if err == nil {
				_ = server.Close()
			}
			continue
		}
		p.mu.Lock()
		p.conns[client], p.conns[server] = true, true
		p.mu.Unlock()
		deaf, gone := make(chan struct{}), make(chan struct{})
		p.all.Go(func() { p.forward(client, server, deaf, gone) })
		p.all.Go(func() {
			defer close(gone)
			p.answer(client, server, deaf)
		})
	}
}

// forward brings statements to the server.
func (p *Proxy) forward(client, server net.Conn, deaf, gone chan struct{}) {
	defer p.end(client, server)
	buffer := make([]byte, 1<<20)
	for {
		n, err := client.Read(buffer)
		if err != nil {
			return
		}
		p.mu.Lock()
		hit := p.fault != "" && bytes.Contains(buffer[:n], []byte(p.fault))
		before, act := p.before, p.act
		if hit {
			p.fault = ""
			p.hits++
		}
		p.mu.Unlock()
		if hit && before {
			if act != nil {
				act()
			}
			return
		}
		if hit {
			close(deaf)
		}
		if _, err := server.Write(buffer[:n]); err != nil {
			return
		}
		if hit {
			select {
			case <-time.After(p.Delay):
			case <-gone:
			}
			if act != nil {
				act()
			}
			return
		}
	}
}

// answer brings answers to the client.
func (p *Proxy) answer(client, server net.Conn, deaf chan struct{}) {
	defer p.end(client, server)
	buffer := make([]byte, 64<<10)
	for {
		n, err := server.Read(buffer)
		if err != nil {
			return
		}
		select {
		case <-deaf:
			continue
		default:
		}
		if _, err := client.Write(buffer[:n]); err != nil {
			return
		}
	}
}

func (p *Proxy) end(client, server net.Conn) {
	_ = client.Close()
	_ = server.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, client)
	delete(p.conns, server)
}
