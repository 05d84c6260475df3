package commands

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// Only main.go ends the process, and nothing runs before it: no exit or panic for an
// expected failure, no init.
func TestOnlyMainEndsTheProcess(t *testing.T) {
	t.Parallel()
	looked := 0
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && path != ".." && strings.HasPrefix(entry.Name(), ".") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || path == "../main.go" {
			return nil
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		looked++
		ast.Inspect(file, func(node ast.Node) bool {
			if found := endsProcess(node); found != "" {
				t.Errorf("%s: %s", files.Position(node.Pos()), found)
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if looked < 20 {
		t.Errorf("only %d files were looked at", looked)
	}
}

func endsProcess(node ast.Node) string {
	switch n := node.(type) {
	case *ast.FuncDecl:
		if n.Recv == nil && n.Name.Name == "init" {
			return "func init"
		}
	case *ast.CallExpr:
		switch call := n.Fun.(type) {
		case *ast.Ident:
			if call.Name == "panic" {
				return "panic"
			}
		case *ast.SelectorExpr:
			from, ok := call.X.(*ast.Ident)
			switch {
			case ok && from.Name == "os" && call.Sel.Name == "Exit":
				return "os.Exit"
			case ok && from.Name == "log" && strings.HasPrefix(call.Sel.Name, "Fatal"):
				return "log." + call.Sel.Name
			}
		}
	}
	return ""
}
