package render

import (
	"bytes"
	"fmt"
	"reflect"
	"strconv"
	"text/template/parse"
)

// A form is a parsed text of templates. It knows what those need: fields, range, if and index.
// To execute them with text/template costs 7 MB in each router: it may call any method by its
// name, and so the linker keeps all methods of all packages, and what they refer to.
type form struct{ root *parse.ListNode }

func parseForm(name, text string) (form, error) {
	trees, err := parse.Parse(name, text, "", "", map[string]any{"index": true})
	if err != nil {
		return form{}, err
	}
	return form{trees[name].Root}, nil
}

// fill writes the form with the values of a struct.
func (f form) fill(to *bytes.Buffer, data any) error {
	top := reflect.Indirect(reflect.ValueOf(data))
	return filling{to, top}.list(f.root, top)
}

// filling is one use of a form; top is what $ stands for.
type filling struct {
	to  *bytes.Buffer
	top reflect.Value
}

func (f filling) list(l *parse.ListNode, dot reflect.Value) error {
	if l == nil {
		return nil
	}
	for _, n := range l.Nodes {
		if err := f.node(n, dot); err != nil {
			return err
		}
	}
	return nil
}

func (f filling) node(n parse.Node, dot reflect.Value) error {
	switch n := n.(type) {
	case *parse.TextNode:
		f.to.Write(n.Text)
		return nil
	case *parse.ActionNode:
		v, err := f.value(n.Pipe, dot)
		if err != nil {
			return err
		}
		return f.print(v, n)
	case *parse.IfNode:
		v, err := f.value(n.Pipe, dot)
		if err != nil {
			return err
		}
		if !present(v) {
			return f.list(n.ElseList, dot)
		}
		return f.list(n.List, dot)
	case *parse.RangeNode:
		v, err := f.value(n.Pipe, dot)
		if err != nil {
			return err
		}
		if v.Kind() != reflect.Slice || n.ElseList != nil {
			return fmt.Errorf("%s: a range needs a slice, not %s, and no else", n, v.Kind())
		}
		for i := range v.Len() {
			if err := f.list(n.List, v.Index(i)); err != nil {
				return err
			}
		}
		return nil
	}
	return fmt.Errorf("%s is not known here", n)
}

func present(v reflect.Value) bool {
	if v.Kind() == reflect.Slice {
		return v.Len() > 0
	}
	return !v.IsZero()
}

func (f filling) print(v reflect.Value, n parse.Node) error {
	switch {
	case v.Kind() == reflect.String:
		f.to.WriteString(v.String())
	case v.CanInt():
		f.to.WriteString(strconv.FormatInt(v.Int(), 10))
	default:
		return fmt.Errorf("%s: a %s cannot be written", n, v.Type())
	}
	return nil
}

// value evaluates what stands in an action.
func (f filling) value(p *parse.PipeNode, dot reflect.Value) (reflect.Value, error) {
	if len(p.Cmds) != 1 || len(p.Decl) > 0 {
		return reflect.Value{}, fmt.Errorf("%s is not known here", p)
	}
	args := p.Cmds[0].Args
	if len(args) == 1 {
		return f.operand(args[0], dot)
	}
	if len(args) == 3 && args[0].String() == "index" {
		of, err := f.operand(args[1], dot)
		if err != nil {
			return of, err
		}
		at, isNumber := args[2].(*parse.NumberNode)
		if isNumber && at.IsUint && of.Kind() == reflect.Array && at.Uint64 < uint64(of.Len()) {
			return of.Index(int(at.Uint64)), nil
		}
	}
	return reflect.Value{}, fmt.Errorf("%s is not known here", p)
}

func (f filling) operand(n parse.Node, dot reflect.Value) (reflect.Value, error) {
	switch n := n.(type) {
	case *parse.DotNode:
		return dot, nil
	case *parse.FieldNode:
		return fieldOf(dot, n.Ident)
	case *parse.VariableNode: // only $ can be
		return fieldOf(f.top, n.Ident[1:])
	}
	return reflect.Value{}, fmt.Errorf("%s is not known here", n)
}

func fieldOf(of reflect.Value, names []string) (reflect.Value, error) {
	for _, name := range names {
		if of.Kind() != reflect.Struct {
			return of, fmt.Errorf("%s has no field %s", of.Type(), name)
		}
		inner := of.FieldByName(name)
		if !inner.IsValid() {
			return of, fmt.Errorf("%s has no field %s", of.Type(), name)
		}
		of = inner
	}
	return of, nil
}
