package ledger_test

import (
	"os"
	"testing"

	"github.com/heyaira/heyaira-loop/internal/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }
