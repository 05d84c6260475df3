package canon

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"unicode/utf8"
)

var (
	errText  = errors.New("invalid utf-8")
	errDepth = fmt.Errorf("nested deeper than %d", maxDepth)
)

// checkText looks for what encoding/json would repair in silence: text that is not
// valid UTF-8. What a value's own MarshalJSON writes is read again afterwards.
func checkText(v reflect.Value, depth int) error {
	if !v.IsValid() {
		return nil
	}
	if depth > maxDepth {
		return errDepth
	}
	if v.CanInterface() {
		switch own := v.Interface().(type) {
		case json.Marshaler:
			return nil
		case encoding.TextMarshaler:
			if v.Kind() == reflect.Pointer && v.IsNil() {
				return nil
			}
			text, err := own.MarshalText()
			if err != nil {
				return err
			}
			return checkString(string(text))
		}
	}
	switch v.Kind() {
	case reflect.String:
		return checkString(v.String())
	case reflect.Pointer, reflect.Interface:
		return checkText(v.Elem(), depth+1)
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return nil
		}
		for i := range v.Len() {
			if err := checkText(v.Index(i), depth+1); err != nil {
				return err
			}
		}
	case reflect.Map:
		for key, value := range v.Seq2() {
			if err := errors.Join(checkText(key, depth+1), checkText(value, depth+1)); err != nil {
				return err
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if err := checkText(v.Field(i), depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkString(text string) error {
	if !utf8.ValidString(text) {
		return errText
	}
	return nil
}
