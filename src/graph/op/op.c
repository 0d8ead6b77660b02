// What can be asked of a parsed op: the place of an attribute, whether a value is allowed for it,
// and the op's declaration as text. The checks are those that TensorFlow makes when it validates a
// NodeDef, and the messages are TensorFlow's, because clients match on them.
//
// leat_op_attr_check is called wherever a value reaches a node from outside: when a node is added
// (graph/signature.c), when an attribute is set (graph/graph_edit.c), and when a default is parsed
// (graph/op/op_parse.c). Texts of allowed values and of declarations are cut off where they outgrow
// their buffers, since they only serve messages.
#include "graph/op/op.h"

#include <stdarg.h>
#include <stdio.h>

int leat_op_find_attr(const leat_op_t* op, leat_string_view_t name) {
  for (int i = 0; i < op->attr_count; ++i) {
    if (leat_string_view_equal(op->attrs[i].name, name)) return i;
  }
  return -1;
}

// ---- checks -------------------------------------------------------------------------------------

// An empty list fits every list attribute, and so does a value of which nothing is set, because an
// encoded AttrValue with an empty list does not say of which kind the list is.
static leat_status_t check_kind(const leat_op_attr_t* attr, const leat_attr_value_t* value) {
  LEAT_DCHECK(attr->kind != LEAT_ATTR_NONE);
  if (attr->is_list && value->is_list && value->count == 0) return leat_ok_status();
  if (value->kind == attr->kind && value->is_list == attr->is_list) return leat_ok_status();
  if (value->kind == LEAT_ATTR_NONE && attr->is_list) return leat_ok_status();
  const char* expected = leat_attr_kind_name(attr->kind, attr->is_list);
  if (value->kind == LEAT_ATTR_NONE) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "AttrValue missing value with expected type '%s' for attr '%.*s'",
                            expected, LEAT_SV_ARG(attr->name));
  }
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "AttrValue had value with type '%s' when '%s' expected for attr '%.*s'",
                          leat_attr_kind_name((leat_attr_kind_t)value->kind, value->is_list),
                          expected, LEAT_SV_ARG(attr->name));
}

static leat_status_t check_type(const leat_op_attr_t* attr, int dtype) {
  if (dtype > 0 && leat_dtype_is_valid(dtype) && !leat_dtype_is_ref(dtype)) {
    if (!attr->allowed_types || leat_dtype_in(dtype, attr->allowed_types)) return leat_ok_status();
    char list[256];
    size_t used = 0;
    for (int i = 0; i < attr->allowed_type_count && used < sizeof(list); ++i) {
      used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "",
                               leat_dtype_name(attr->allowed_type_list[i]));
    }
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Value for attr '%.*s' of %s is not in the list of allowed values: %s",
                            LEAT_SV_ARG(attr->name), leat_dtype_name(dtype), list);
  }
  if (dtype > 0 && leat_dtype_is_valid(dtype)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "AttrValue must not have reference type value of %s for attr '%.*s'",
                            leat_dtype_name(dtype), LEAT_SV_ARG(attr->name));
  }
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "AttrValue has invalid DataType enum: %d for attr '%.*s'", dtype,
                          LEAT_SV_ARG(attr->name));
}

static leat_status_t check_string(const leat_op_attr_t* attr, leat_string_view_t string) {
  char list[256] = "";
  size_t used = 0;
  for (int i = 0; i < attr->allowed_string_count; ++i) {
    if (leat_string_view_equal(attr->allowed_strings[i], string)) return leat_ok_status();
    if (used >= sizeof(list)) continue;
    used += (size_t)snprintf(list + used, sizeof(list) - used, "%s\"%.*s\"", i ? ", " : "",
                             LEAT_SV_ARG(attr->allowed_strings[i]));
  }
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Value for attr '%.*s' of \"%.*s\" is not in the list of allowed values: "
                          "%s",
                          LEAT_SV_ARG(attr->name), LEAT_SV_ARG(string), list);
}

static leat_status_t check_minimum(const leat_op_attr_t* attr, const leat_attr_value_t* value) {
  int64_t number = attr->is_list ? (int64_t)value->count : value->i;
  if (number >= attr->minimum) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "%s for attr '%.*s' of %lld must be at least minimum %lld",
                          attr->is_list ? "Length" : "Value", LEAT_SV_ARG(attr->name),
                          (long long)number, (long long)attr->minimum);
}

leat_status_t leat_op_attr_check(const leat_op_attr_t* attr, const leat_attr_value_t* value) {
  LEAT_RETURN_IF_ERROR(check_kind(attr, value));
  if (attr->has_minimum) LEAT_RETURN_IF_ERROR(check_minimum(attr, value));
  uint32_t count = attr->is_list ? value->count : 1;
  if (attr->kind == LEAT_ATTR_TYPE) {
    for (uint32_t i = 0; i < count; ++i) {
      LEAT_RETURN_IF_ERROR(check_type(attr, attr->is_list ? value->types[i] : value->type));
    }
  } else if (attr->allowed_strings) {
    for (uint32_t i = 0; i < count; ++i) {
      LEAT_RETURN_IF_ERROR(check_string(attr, attr->is_list ? value->strings[i] : value->s));
    }
  }
  return leat_ok_status();
}

// ---- as text ------------------------------------------------------------------------------------

typedef struct printer_s {
  char* buffer;
  size_t size, used;
} printer_t;

static void print(printer_t* p, const char* format, ...) LEAT_PRINTF(2, 3);
// Appends to the buffer, and does nothing once it is full.
static void print(printer_t* p, const char* format, ...) {
  if (p->used + 1 >= p->size) return;
  va_list arguments;
  va_start(arguments, format);
  int written = vsnprintf(p->buffer + p->used, p->size - p->used, format, arguments);
  va_end(arguments);
  if (written > 0) p->used += (size_t)written;
}

static void print_arguments(printer_t* p, const leat_op_t* op, const leat_op_argument_t* arguments,
                            int count) {
  for (int i = 0; i < count; ++i) {
    const leat_op_argument_t* a = &arguments[i];
    print(p, "%s%.*s:%s", i ? ", " : "", LEAT_SV_ARG(a->name), a->is_ref ? "Ref(" : "");
    if (a->number_attr >= 0) print(p, "%.*s*", LEAT_SV_ARG(op->attrs[a->number_attr].name));
    if (a->type_attr >= 0) print(p, "%.*s", LEAT_SV_ARG(op->attrs[a->type_attr].name));
    else print(p, "%s", leat_dtype_name(a->dtype));
    if (a->is_ref) print(p, ")");
  }
}

const char* leat_op_print(const leat_op_t* op, char* buffer, size_t size) {
  if (size == 0) return buffer;
  printer_t p = {buffer, size, 0};
  buffer[0] = 0;
  print(&p, "Op<name=%.*s; signature=", LEAT_SV_ARG(op->name));
  print_arguments(&p, op, op->inputs, op->input_count);
  print(&p, " -> ");
  print_arguments(&p, op, op->outputs, op->output_count);
  for (int i = 0; i < op->attr_count; ++i) {
    const leat_op_attr_t* attr = &op->attrs[i];
    print(&p, "; attr=%.*s:%s", LEAT_SV_ARG(attr->name),
          leat_attr_kind_name(attr->kind, attr->is_list));
    if (attr->has_minimum) print(&p, ",min=%lld", (long long)attr->minimum);
  }
  print(&p, ">");
  return buffer;
}
