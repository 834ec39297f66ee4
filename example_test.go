// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contextgraph_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"time"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/cmd/launcher"
	"google.golang.org/adk/v2/tool/functiontool"

	contextgraph "github.com/adk-contextgraph/contextgraph"
	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// replay lets a check call get_price again, as the agent called it.
const replay = `
checkers:
  - {type: Drink, replay: {}}
`

// A person approves, nothing has changed, and the tool runs.
func Example_approveOnce() {
	cafe := newCafe()
	defer cafe.close()
	cg := cafe.open(replay)
	defer cg.Close(context.Background())

	getPrice, err := cg.Replayable(cafe.getPrice) // it only reads
	if err != nil {
		log.Fatal(err)
	}
	order := cg.Protect(cafe.order) // it runs only with an approval that holds
	visit(cg, cafe.barista(getPrice, order), nothing)
	// Output:
	// asked: order_drink
	// ran: flat white
	// verdict: safe, executed
}

// A person approves, but the price is another by now. The tool does not run.
func Example_priceChanged() {
	cafe := newCafe()
	defer cafe.close()
	cg := cafe.open(replay)
	defer cg.Close(context.Background())

	getPrice, err := cg.Replayable(cafe.getPrice)
	if err != nil {
		log.Fatal(err)
	}
	visit(cg, cafe.barista(getPrice, cg.Protect(cafe.order)), func() { cafe.price = "$5.00" })
	// Output:
	// asked: order_drink
	// verdict: drift, blocked
}

// A launcher takes the plugins as a runner does.
func ExampleInstance_PluginConfig() {
	cafe := newCafe()
	defer cafe.close()
	cg := cafe.open("")
	defer cg.Close(context.Background())

	config := &launcher.Config{
		AgentLoader:  agent.NewSingleLoader(cafe.barista(cafe.getPrice, cg.Protect(cafe.order))),
		PluginConfig: cg.PluginConfig(),
	}
	fmt.Println(config.AgentLoader.RootAgent().Name(), len(config.PluginConfig.Plugins) > 0)
	// Output: barista true
}

// A tool without an approval that holds does not run: here no checker can say what the price is now.
func ExampleInstance_Protect() {
	cafe := newCafe()
	defer cafe.close()
	cg := cafe.open("guard: {check_before_asking: false}\n") // ask all the same
	defer cg.Close(context.Background())

	visit(cg, cafe.barista(cafe.getPrice, cg.Protect(cafe.order)), nothing)
	// Output:
	// asked: order_drink
	// verdict: check_failed, pending
}

// A tool that knows exactly what it evaluated says so.
func ExampleInstance_RecordEntity() {
	cafe := newCafe()
	defer cafe.close()
	cg := cafe.open("guard: {check_before_asking: false}\n")
	defer cg.Close(context.Background())

	getPrice, err := functiontool.New(functiontool.Config{Name: "get_price", Description: "Returns the price of a drink."},
		func(ctx agent.Context, d drink) (drink, error) {
			available := entity.Bool(true)
			return d, cg.RecordEntity(ctx, entity.Entity{
				Type: "Drink", Value: d.Drink, Attributes: map[string]entity.Value{"available": available},
			})
		})
	if err != nil {
		log.Fatal(err)
	}
	visit(cg, cafe.barista(getPrice, cg.Protect(cafe.order)), nothing)
	reasons, err := cg.Why(context.Background(), record.Session{App: "cafe", User: "guest", ID: "table-1"})
	if err != nil {
		log.Fatal(err)
	}
	for _, reason := range reasons {
		fmt.Println("rests on:", reason.Entity.Value)
	}
	// Output:
	// asked: order_drink
	// verdict: check_failed, pending
	// rests on: flat white
}

// A checker in Go says what is true now.
func ExampleWithChecker() {
	cafe := newCafe()
	defer cafe.close()
	menu := safety.CheckerFunc(func(_ context.Context, e entity.Canonical) (safety.State, error) {
		price, err := entity.ParseMoney(cafe.price, "USD") // of e.Value, from the menu
		return safety.State{Attributes: map[string]entity.Value{"price": price}, AsOf: time.Now()}, err
	})
	cg := cafe.open("", contextgraph.WithChecker("Drink", menu))
	defer cg.Close(context.Background())

	visit(cg, cafe.barista(cafe.getPrice, cg.Protect(cafe.order)), nothing)
	// Output:
	// asked: order_drink
	// ran: flat white
	// verdict: safe, executed
}

// The checker over HTTP of a configuration file, from code.
func ExampleHTTPChecker() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"price": "4.20"}`)
	}))
	defer server.Close()

	menu, err := contextgraph.HTTPChecker(server.Client(), config.HTTP{
		URL: server.URL + "/v1/menu/{value}",
		Attributes: map[string]config.Answer{
			"price": {Path: "$.price", Type: entity.KindMoney, Currency: "USD"},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	state, err := menu.Check(context.Background(), entity.Canonical{Type: "Drink", Value: "flat white"})
	fmt.Println(state.Attributes["price"], err)
	// Output: $4.20 <nil>
}

// The checker over SQL of a configuration file, from code.
func ExampleSQLChecker() {
	db := sql.OpenDB(menuDriver{}) // opened with any driver
	defer db.Close()

	menu, err := contextgraph.SQLChecker(db, config.SQL{
		Query: "SELECT price FROM menu WHERE drink = $1",
		Args:  []string{"{value}"},
		Attributes: map[string]config.Column{
			"price": {Column: "price", Type: entity.KindMoney, Currency: "USD"},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	state, err := menu.Check(context.Background(), entity.Canonical{Type: "Drink", Value: "flat white"})
	fmt.Println(state.Attributes["price"], err)
	// Output: $4.20 <nil>
}

// menuDriver is a database with one row.
type menuDriver struct{}

func (menuDriver) Connect(context.Context) (driver.Conn, error) { return menuDriver{}, nil }
func (menuDriver) Driver() driver.Driver                        { return nil }
func (menuDriver) Prepare(string) (driver.Stmt, error)          { return nil, errors.ErrUnsupported }
func (menuDriver) Begin() (driver.Tx, error)                    { return nil, errors.ErrUnsupported }
func (menuDriver) Close() error                                 { return nil }

func (menuDriver) QueryContext(context.Context, string, []driver.NamedValue) (driver.Rows, error) {
	return &menuRows{}, nil
}

type menuRows struct{ read bool }

func (*menuRows) Columns() []string { return []string{"price"} }
func (*menuRows) Close() error      { return nil }

func (r *menuRows) Next(row []driver.Value) error {
	if r.read {
		return io.EOF
	}
	r.read = true
	row[0] = "4.20"
	return nil
}
