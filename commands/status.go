package commands

import (
	"github.com/urfave/cli/v2"

	"github.com/heyaira/heyaira-loop/ledger"
)

// itemsShown is how much work --items tells of.
const itemsShown = 50

func statusCommand(env *Env) *cli.Command {
	var scope, workType, format string
	var items, check bool
	event := int64(-1)
	return &cli.Command{
		Name:  "status",
		Usage: "show what is covered and what is on its way, or judge it",
		Description: "States, worst first: unobservable, failing, overdue, due, gated, paused, new, idle.\n" +
			"--check prints a line for each thing that is wrong, and exits 3 where there is one.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "scope", Destination: &scope, Usage: "this `SCOPE` only"},
			&cli.StringFlag{Name: "work-type", Destination: &workType, Usage: "scopes of this `TYPE` only"},
			boolFlag("items", &items, "show pieces of work, the newest 50"),
			&cli.Int64Flag{Name: "events", Destination: &event, Value: -1, DefaultText: "none", Usage: "show the receipts of the item `ITEM`, of the ledger itself with 0"},
			&cli.StringFlag{Name: "format", Destination: &format, Value: "table", Usage: "`FORMAT` of what is shown: table, json"},
			boolFlag("check", &check, "judge, and exit 3 where something is wrong"),
		},
		Action: func(c *cli.Context) error {
			events := c.IsSet("events")
			if format != "table" && format != "json" {
				return misuse("it is one of table, json", "flag --format: unknown format %q", format)
			}
			if events && event < 0 {
				return misuse("status --items shows their numbers", "flag --events: want an item's number")
			}
			if count(items, events, check) > 1 {
				return misuse("give one of them", "flags --items, --events and --check exclude each other")
			}
			env.json = env.json || format == "json"
			return show(c, env, ledger.StatusQuery{WorkType: workType, Scope: scope}, items, events, check, event)
		},
	}
}

// show asks the ledger for what was wanted and prints it.
func show(c *cli.Context, env *Env, q ledger.StatusQuery, items, events, check bool, event int64) error {
	conf, err := env.Config()
	if err != nil {
		return err
	}
	q.Beat = conf.Beat
	riders, err := consumers(env)
	if err != nil {
		return err
	}
	db, closeLedger, err := env.Ledger(c.Context)
	if err != nil {
		return err
	}
	defer closeLedger()
	switch {
	case items:
		list, err := db.Items(c.Context, q.WorkType, q.Scope, itemsShown)
		if err != nil {
			return err
		}
		return printItems(env, list)
	case events:
		list, err := db.Events(c.Context, event)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			return misuse("status --items shows their numbers", "item %d has no receipts", event)
		}
		return printEvents(env, list)
	}
	report, err := db.Status(c.Context, q)
	if err != nil {
		return err
	}
	unseen := unregistered(riders, q, report)
	if len(report.Scopes)+len(unseen) == 0 && q != (ledger.StatusQuery{Beat: q.Beat}) {
		return misuse("heyaira-loop status shows all of them", "no such scope, neither in the ledger nor in the configuration")
	}
	if check {
		return judge(env, conf, report, unseen)
	}
	return printStatus(env, conf, report, unseen)
}

func count(flags ...bool) int {
	n := 0
	for _, set := range flags {
		if set {
			n++
		}
	}
	return n
}
