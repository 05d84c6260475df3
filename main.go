// Heyaira-loop is one step of a control loop for operators, started by cron: look,
// take work, do it, prove it. See README.md.
package main

import (
	"os"

	"github.com/heyaira/heyaira-loop/commands"
)

func main() {
	os.Exit(commands.Main(os.Args, os.Stdin, os.Stdout, os.Stderr))
}
