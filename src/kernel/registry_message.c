// Messages for a node that no kernel serves: its attributes, as TensorFlow summarises them, and the
// rows that its op has. The texts follow TensorFlow's, because clients and tests match on them.
// They are built only on failure, by the registry, the placer and the worker's compiler, so nothing
// here needs to be fast. Their length is bounded, since an attribute may be a tensor or a list of
// any size: lists are cut after MOST_ITEMS items and strings after 80 bytes. Attributes that begin
// with '_' are left out, since the runtime adds them.
#include "kernel/registry.h"

#include "base/string_builder.h"

#define MOST_ITEMS 10  // items of a list that are printed

// Appends the type in the spelling of TensorFlow's enum, "DT_FLOAT" for "float".
static void append_type(leat_string_builder_t* b, int dtype) {
  leat_string_builder_append(b, LEAT_SV("DT_"));
  for (const char* c = leat_dtype_name(dtype); *c; ++c) {
    leat_string_builder_append_char(b, *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c);
  }
}

static void append_string(leat_string_builder_t* b, leat_string_view_t text) {
  leat_string_builder_append_char(b, '"');
  leat_string_builder_append(b, leat_string_view_make(text.data, text.size < 80 ? text.size : 80));
  leat_string_builder_append(b, text.size < 80 ? LEAT_SV("\"") : LEAT_SV("...\""));
}

static void append_tensor(leat_string_builder_t* b, const leat_tensor_t* tensor) {
  leat_string_builder_print(b, "Tensor<type: %s shape: %s>", leat_dtype_name(tensor->dtype),
                            LEAT_SHAPE_TEXT(&tensor->shape));
}

// Appends item |i| of a list, or the single value.
static void append_item(leat_string_builder_t* b, const leat_attr_value_t* value, uint32_t i) {
  bool many = value->is_list;
  switch ((leat_attr_kind_t)value->kind) {
    case LEAT_ATTR_STRING:
    case LEAT_ATTR_PLACEHOLDER:
      append_string(b, many ? value->strings[i] : value->s);
      break;
    case LEAT_ATTR_INT:
      leat_string_builder_print(b, "%lld", (long long)(many ? value->ints[i] : value->i));
      break;
    case LEAT_ATTR_FLOAT:
      leat_string_builder_print(b, "%g", (double)(many ? value->floats[i] : value->f));
      break;
    case LEAT_ATTR_BOOL:
      leat_string_builder_print(b, "%s", (many ? value->bools[i] : value->b) ? "true" : "false");
      break;
    case LEAT_ATTR_TYPE:
      append_type(b, many ? value->types[i] : value->type);
      break;
    case LEAT_ATTR_SHAPE:
      leat_string_builder_print(b, "%s",
                                LEAT_PARTIAL_SHAPE_TEXT(many ? value->shapes[i] : value->shape));
      break;
    case LEAT_ATTR_TENSOR:
      append_tensor(b, many ? value->tensors[i] : value->tensor);
      break;
    case LEAT_ATTR_FUNCTION: {
      const leat_function_name_t* f = many ? &value->functions[i] : value->function;
      leat_string_builder_print(b, "%.*s[]", LEAT_SV_ARG(f->name));
      break;
    }
    case LEAT_ATTR_NONE:
      break;
  }
}

static void append_value(leat_string_builder_t* b, const leat_attr_value_t* value) {
  if (!value->is_list) {
    append_item(b, value, 0);
    return;
  }
  leat_string_builder_append_char(b, '[');
  for (uint32_t i = 0; i < value->count && i < MOST_ITEMS; ++i) {
    if (i) leat_string_builder_append(b, LEAT_SV(", "));
    append_item(b, value, i);
  }
  if (value->count > MOST_ITEMS) leat_string_builder_append(b, LEAT_SV(", ..."));
  leat_string_builder_append_char(b, ']');
}

// Appends "reduction=\"sum\", T=DT_FLOAT".
static void append_attrs(leat_string_builder_t* b, const leat_attr_t* attrs, int attr_count) {
  bool first = true;
  for (int i = 0; i < attr_count; ++i) {
    if (attrs[i].name.size > 0 && attrs[i].name.data[0] == '_') continue;
    if (!first) leat_string_builder_append(b, LEAT_SV(", "));
    first = false;
    leat_string_builder_append(b, attrs[i].name);
    leat_string_builder_append_char(b, '=');
    append_value(b, &attrs[i].value);
  }
}

// Appends the constraints "T: float, double; Tidx: int32" as "; T in [DT_FLOAT, DT_DOUBLE]; Tidx in
// [DT_INT32]".
static void append_constraints(leat_string_builder_t* b, const char* text) {
  bool in_types = false;
  leat_string_builder_append(b, LEAT_SV("; "));
  for (size_t size = 0; *text; text += size) {
    size = strcspn(text, " :,;");
    if (size > 0) {
      leat_string_view_t word = leat_string_view_make(text, size);
      if (in_types) {
        append_type(b, leat_dtype_from_name(word));
      } else {
        leat_string_builder_append(b, word);
      }
      continue;
    }
    if (*text == ':') leat_string_builder_append(b, LEAT_SV(" in ["));
    if (*text == ',') leat_string_builder_append(b, LEAT_SV(", "));
    if (*text == ';') leat_string_builder_append(b, LEAT_SV("]; "));
    if (*text == ':') in_types = true;
    if (*text == ';') in_types = false;
    size = 1;
  }
  if (in_types) leat_string_builder_append_char(b, ']');
}

static leat_status_t append_row(void* data, const leat_kernel_row_t* row) {
  leat_string_builder_t* b = data;
  leat_string_builder_print(b, "  device='%s'", row->device_type);
  if (row->label) {
    leat_string_builder_print(b, "; label='%s'", row->label);
  }
  if (row->constraints && *row->constraints) append_constraints(b, row->constraints);
  leat_string_builder_append_char(b, '\n');
  return leat_ok_status();
}

// Appends a line for each kernel of the op, on whatever device, so that the reader sees what would
// have been served.
static void append_rows(leat_string_builder_t* b, const leat_kernel_registry_t* registry,
                        const leat_op_t* op) {
  size_t before = b->size;
  leat_status_free(leat_kernel_registry_each(registry, op->name, append_row, b));
  if (b->size == before) leat_string_builder_append(b, LEAT_SV("  <no registered kernels>\n"));
}

// Gives a status of |code| with the text of |b|, and ends |b|.
static leat_status_t finish(leat_string_builder_t* b, leat_status_code_t code) {
  char* text = NULL;
  size_t size = 0;
  leat_status_t status = leat_string_builder_finish(b, &text, &size);
  if (!status) status = leat_make_status(code, "%s", text ? text : "");
  leat_allocator_free(leat_allocator_system(), text);
  leat_string_builder_deinitialize(b);
  return status;
}

leat_status_t leat_kernel_registry_not_found(const leat_kernel_registry_t* registry,
                                             const leat_op_t* op, const leat_attr_t* attrs,
                                             int attr_count, leat_string_view_t device_type,
                                             bool has_device) {
  leat_string_builder_t b;
  leat_string_builder_initialize(leat_allocator_system(), &b);
  leat_string_builder_print(&b, "No registered '%.*s' OpKernel for '%.*s' devices compatible with "
                                "node of op %.*s",
                            LEAT_SV_ARG(op->name), LEAT_SV_ARG(device_type),
                            LEAT_SV_ARG(op->name));
  if (has_device) {
    leat_string_builder_append(&b, LEAT_SV("\n\t (OpKernel was found, but attributes didn't match) "
                                           "Requested Attributes: "));
    append_attrs(&b, attrs, attr_count);
  }
  leat_string_builder_append(&b, LEAT_SV("\n\t.  Registered:"));
  append_rows(&b, registry, op);
  return finish(&b, LEAT_NOT_FOUND);
}

leat_status_t leat_kernel_registry_unserved(const leat_kernel_registry_t* registry,
                                            const leat_op_t* op, leat_string_view_t node_name,
                                            const leat_attr_t* attrs, int attr_count,
                                            leat_string_view_t device_types) {
  leat_string_builder_t b;
  leat_string_builder_initialize(leat_allocator_system(), &b);
  leat_string_builder_print(&b, "No OpKernel was registered to support Op '%.*s' used by "
                                "{{node %.*s}} with these attrs: [",
                            LEAT_SV_ARG(op->name), LEAT_SV_ARG(node_name));
  append_attrs(&b, attrs, attr_count);
  leat_string_builder_print(&b, "]\nRegistered devices: [%.*s]\nRegistered kernels:\n",
                            LEAT_SV_ARG(device_types));
  append_rows(&b, registry, op);
  return finish(&b, LEAT_INVALID_ARGUMENT);
}
