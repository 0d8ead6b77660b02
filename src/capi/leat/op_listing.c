// leat_ops_json and leat_all_ops_json: ops as JSON, sorted by name. An op is listed with its
// inputs, outputs and attributes, whether it is stateful and has a gradient, its kernels with the
// types that these take, and what the optimizer makes of it with its neighbours. The command `leat
// ops`, the documentation and tests of completeness read it.
//
// The registry's rows are short texts ("name: type = default; ..."), which are split here at their
// separators, so that the JSON shows what the op's author wrote and not what was parsed of it.
//
// The JSON is written straight into a string builder, which keeps a failure until the end, so the
// printing functions return nothing.
#include <stdlib.h>

#include "capi/handles.h"
#include "formats/wire/json.h"
#include "graph/gradient.h"
#include "graph/rewrite_rule.h"
#include "kernel/registry.h"
#include "leat/inspect.h"
#include "optimize/fusion.h"

// Takes the text before |separator| off |*inout_text| and returns it without blanks around it.
static leat_string_view_t next_part(leat_string_view_t* inout_text, char separator) {
  size_t end = leat_string_view_find(*inout_text, separator);
  leat_string_view_t part = *inout_text;
  if (end != SIZE_MAX) part.size = end;
  *inout_text = leat_string_view_from_index(*inout_text, end == SIZE_MAX ? end : end + 1);
  return leat_string_view_trim(part);
}

// Finds the "=" of a default value; the "=" of a ">=" belongs to the attribute's type.
static size_t find_default(leat_string_view_t text) {
  for (size_t i = 1; i < text.size; ++i) {
    if (text.data[i] == '=' && text.data[i - 1] == ' ') return i;
  }
  return SIZE_MAX;
}

// Appends an argument, written as "name: type" or "name: type = default".
static void append_argument(leat_string_builder_t* out, leat_string_view_t text) {
  leat_string_view_t name = next_part(&text, ':');
  size_t mark = find_default(text);
  leat_string_view_t type = text, value = leat_string_view_from_index(text, mark);
  if (mark != SIZE_MAX) type.size = mark;
  leat_string_builder_append(out, LEAT_SV("{\"name\": "));
  leat_json_append_string(out, name);
  leat_string_builder_append(out, LEAT_SV(", \"type\": "));
  leat_json_append_string(out, leat_string_view_trim(type));
  if (mark != SIZE_MAX) {
    leat_string_builder_append(out, LEAT_SV(", \"default\": "));
    leat_json_append_string(out, leat_string_view_trim(leat_string_view_from_index(value, 1)));
  }
  leat_string_builder_append(out, LEAT_SV("}"));
}

static void append_arguments(leat_string_builder_t* out, const char* field, const char* arguments) {
  leat_string_view_t text = leat_string_view_from(arguments);
  bool first = true;
  leat_string_builder_print(out, ", \"%s\": [", field);
  while (text.size > 0) {
    leat_string_view_t argument = next_part(&text, ';');
    if (argument.size == 0) continue;
    if (!first) leat_string_builder_append(out, LEAT_SV(", "));
    append_argument(out, argument);
    first = false;
  }
  leat_string_builder_append(out, LEAT_SV("]"));
}

// Appends types such as "float, double" as a list of strings.
static void append_types(leat_string_builder_t* out, leat_string_view_t types) {
  bool first = true;
  leat_string_builder_append(out, LEAT_SV("["));
  while (types.size > 0) {
    leat_string_view_t type = next_part(&types, ',');
    if (type.size == 0) continue;
    if (!first) leat_string_builder_append(out, LEAT_SV(", "));
    leat_json_append_string(out, type);
    first = false;
  }
  leat_string_builder_append(out, LEAT_SV("]"));
}

typedef struct kernels_s {
  leat_string_builder_t* out;
  const leat_op_row_t* op;
  int count;
  const char* fusion;  // what the pass "fusion" makes of the op; NULL: nothing
} kernels_t;

// Appends a kernel: its device, and the types that it takes for each attribute.
static leat_status_t append_kernel(void* data, const leat_kernel_row_t* row) {
  kernels_t* kernels = data;
  leat_string_builder_t* out = kernels->out;
  leat_string_view_t text = leat_string_view_from(row->constraints);
  if (kernels->count++) leat_string_builder_append(out, LEAT_SV(", "));
  leat_string_builder_append(out, LEAT_SV("{\"device\": "));
  leat_json_append_string(out, leat_string_view_from(row->device_type));
  leat_string_builder_append(out, LEAT_SV(", \"types\": {"));
  bool first = true;
  while (text.size > 0) {
    leat_string_view_t types = next_part(&text, ';');
    if (types.size == 0) continue;
    if (!first) leat_string_builder_append(out, LEAT_SV(", "));
    leat_json_append_string(out, next_part(&types, ':'));
    leat_string_builder_append(out, LEAT_SV(": "));
    append_types(out, types);
    first = false;
  }
  leat_string_builder_append(out, LEAT_SV("}}"));
  if (!kernels->fusion) kernels->fusion = leat_fusion_form(kernels->op, row->access);
  return leat_ok_status();
}

static void append_form(leat_string_builder_t* out, const char* by, const char* doc, bool first) {
  leat_string_builder_append(out, first ? LEAT_SV("{\"by\": ") : LEAT_SV(", {\"by\": "));
  leat_json_append_string(out, leat_string_view_from(by));
  leat_string_builder_append(out, LEAT_SV(", \"doc\": "));
  leat_json_append_string(out, leat_string_view_from(doc));
  leat_string_builder_append(out, LEAT_SV("}"));
}

static bool names_op(const leat_rewrite_rule_t* rule, leat_string_view_t op) {
  return leat_rewrite_is_listed(rule->root, op) ||
         (rule->producer && leat_rewrite_is_listed(rule->producer, op)) ||
         (rule->through && leat_rewrite_is_listed(rule->through, op));
}

// Appends the passes and rewrite rules that make one node of the op and its neighbours.
static void append_fused_forms(leat_string_builder_t* out, const leat_runtime_t* runtime,
                               const leat_op_row_t* row, const char* fusion) {
  bool first = !fusion;
  leat_string_builder_append(out, LEAT_SV(", \"fused\": ["));
  if (fusion) append_form(out, "fusion", fusion, true);
  LEAT_REWRITE_FOR_EACH_RULE(runtime->ops, rule) {
    if (!names_op(rule, leat_string_view_from(row->name))) continue;
    append_form(out, rule->name, rule->doc, first);
    first = false;
  }
  leat_string_builder_append(out, LEAT_SV("]"));
}

// Appends an op with its kernels and fused forms.
static leat_status_t append_op(leat_string_builder_t* out, const leat_runtime_t* runtime,
                               const leat_op_row_t* row) {
  leat_string_builder_append(out, LEAT_SV("{\"name\": "));
  leat_json_append_string(out, leat_string_view_from(row->name));
  leat_string_builder_append(out, LEAT_SV(", \"doc\": "));
  leat_json_append_string(out, leat_string_view_from(row->doc));
  const char* family = leat_op_registry_family(runtime->ops, leat_string_view_from(row->name));
  if (family) leat_string_builder_print(out, ", \"family\": \"%s\"", family);
  append_arguments(out, "inputs", row->inputs);
  append_arguments(out, "outputs", row->outputs);
  append_arguments(out, "attributes", row->attrs);
  if (row->shapes) {
    leat_string_builder_append(out, LEAT_SV(", \"shapes\": "));
    leat_json_append_string(out, leat_string_view_from(row->shapes));
  }
  bool differentiable = row->gradient && row->gradient != leat_gradient_none;
  leat_string_builder_print(out, ", \"stateful\": %s, \"gradient\": %s, \"kernels\": [",
                            row->flags & LEAT_OP_STATEFUL ? "true" : "false",
                            differentiable ? "true" : "false");
  kernels_t kernels = {.out = out, .op = row};
  LEAT_RETURN_IF_ERROR(leat_kernel_registry_each(
      runtime->kernels, leat_string_view_from(row->name), append_kernel, &kernels));
  leat_string_builder_append(out, LEAT_SV("]"));
  append_fused_forms(out, runtime, row, kernels.fusion);
  leat_string_builder_append(out, LEAT_SV("}"));
  return leat_ok_status();
}

static leat_status_t append_ops(leat_string_builder_t* out, const leat_runtime_t* runtime,
                                bool with_declared, leat_arena_t* arena) {
  const leat_op_row_t** rows;
  size_t count;
  LEAT_RETURN_IF_ERROR(leat_op_registry_list(runtime->ops, with_declared, arena, &rows, &count));
  leat_string_builder_append(out, LEAT_SV("[\n"));
  for (size_t i = 0; i < count; ++i) {
    if (i) leat_string_builder_append(out, LEAT_SV(",\n"));
    LEAT_RETURN_IF_ERROR(append_op(out, runtime, rows[i]));
  }
  leat_string_builder_append(out, LEAT_SV("\n]\n"));
  return leat_ok_status();
}

static TF_Buffer* make_listing(bool with_declared, TF_Status* status) {
  const leat_runtime_t* runtime = NULL;
  leat_string_builder_t out;
  leat_arena_t arena;
  leat_string_builder_initialize(leat_allocator_system(), &out);
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_status_t result = leat_runtime_get(&runtime);
  if (!result) result = append_ops(&out, runtime, with_declared, &arena);
  leat_arena_deinitialize(&arena);
  return leat_capi_buffer_return(result, &out, status);
}

TF_Buffer* leat_ops_json(TF_Status* status) { return make_listing(false, status); }

TF_Buffer* leat_all_ops_json(TF_Status* status) { return make_listing(true, status); }
