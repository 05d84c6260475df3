package ledger_test

import (
	"testing"

	"github.com/heyaira/heyaira-loop/lease/leasetest"
)

func TestLedgerKeepsTheProtocol(t *testing.T) {
	t.Parallel()
	leasetest.Run(t, func(t testing.TB) leasetest.Harness { return newLab(t) })
}
