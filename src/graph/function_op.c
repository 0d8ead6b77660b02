// Arguments and attributes are printed as "x: T; xs: N * T; rest: Tlist" and parsed as those of any
// op. A node of such an op is a call: its attributes are the function's.
#include "graph/function_op.h"

#include "base/string_builder.h"
#include "graph/gradient.h"
#include "graph/graph_functions.h"
#include "graph/inference.h"
#include "graph/lowering.h"

static leat_status_t lower(leat_lowering_t* l) {
  leat_function_name_t function = {l->node->op->name, l->node->attrs, l->node->attr_count};
  return leat_lower_call(l, &function);
}

// What the library says is the function's gradient is called with its arguments and one dC/dy for
// each return.
static leat_status_t gradient(leat_gradient_t* g) {
  leat_graph_t* graph = g->builder.graph;
  const leat_node_t* node = leat_gradient_node(g);
  leat_string_view_t name = leat_function_library_gradient_of(graph->functions, node->op->name);
  int count = node->input_count, outputs = node->output_count;
  leat_node_spec_t spec = {.device = node->device, .attrs = node->attrs,
                           .attr_count = node->attr_count, .borrow_storage = true};
  void* memory;
  LEAT_RETURN_IF_ERROR(leat_graph_find_op(graph, name, &spec.op));
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(leat_graph_arena(graph),
                                                 (size_t)(count + outputs) + 1,
                                                 sizeof(leat_output_t), &memory));
  leat_output_t* inputs = memory;
  for (int i = 0; i < count; ++i) inputs[i] = leat_gradient_input(g, i);
  for (int k = 0; k < outputs; ++k) inputs[count + k] = leat_gradient_of_output(g, k);
  LEAT_RETURN_IF_ERROR(g->builder.status);
  spec.inputs = inputs;
  spec.input_count = count + outputs;
  leat_string_view_t base;
  LEAT_RETURN_IF_ERROR(leat_arena_print(leat_graph_arena(graph), &base, "%.*s%.*s",
                                        LEAT_SV_ARG(g->builder.scope), LEAT_SV_ARG(name)));
  LEAT_RETURN_IF_ERROR(leat_graph_unique_name(graph, base, &spec.name));
  int32_t call;
  LEAT_RETURN_IF_ERROR(leat_graph_add_node(graph, &spec, &call));
  if (graph->nodes[call].output_count != count) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "gradient function '%.*s' returns %d values, must be %d",
                            LEAT_SV_ARG(name), graph->nodes[call].output_count, count);
  }
  for (int i = 0; i < count; ++i) leat_gradient_set_input(g, i, (leat_output_t){call, i});
  return leat_ok_status();
}

static void print_arguments(leat_string_builder_t* out,
                            const leat_pb_op_def_arg_def_list_t* arguments) {
  for (size_t i = 0; i < arguments->count; ++i) {
    const leat_pb_op_def_arg_def_t* a = &arguments->items[i];
    leat_string_builder_print(out, "%s%.*s: ", i ? "; " : "", LEAT_SV_ARG(a->name));
    if (a->is_ref) leat_string_builder_print(out, "Ref(");
    if (a->number_attr.size) leat_string_builder_print(out, "%.*s * ", LEAT_SV_ARG(a->number_attr));
    if (a->type_list_attr.size || a->type_attr.size) {
      leat_string_view_t attr = a->type_list_attr.size ? a->type_list_attr : a->type_attr;
      leat_string_builder_print(out, "%.*s", LEAT_SV_ARG(attr));
    } else {
      leat_string_builder_print(out, "%s", leat_dtype_name(leat_dtype_base(a->type)));
    }
    if (a->is_ref) leat_string_builder_print(out, ")");
  }
}

// Takes what was printed; the next text begins.
static leat_status_t take_text(leat_arena_t* arena, leat_string_builder_t* text,
                               const char** out_text) {
  leat_string_view_t copy;
  LEAT_RETURN_IF_ERROR(leat_status_clone(text->status));
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(arena, leat_string_builder_view(text), &copy));
  *out_text = copy.data;
  text->size = 0;
  return leat_ok_status();
}

static leat_status_t fill_row(const leat_pb_op_def_t* signature, leat_arena_t* arena,
                              leat_string_builder_t* text, leat_op_row_t* row) {
  leat_string_builder_print(text, "%.*s", LEAT_SV_ARG(signature->name));
  LEAT_RETURN_IF_ERROR(take_text(arena, text, &row->name));
  print_arguments(text, &signature->input_arg);
  LEAT_RETURN_IF_ERROR(take_text(arena, text, &row->inputs));
  print_arguments(text, &signature->output_arg);
  LEAT_RETURN_IF_ERROR(take_text(arena, text, &row->outputs));
  for (size_t i = 0; i < signature->attr.count; ++i) {
    const leat_pb_op_def_attr_def_t* attr = &signature->attr.items[i];
    leat_string_builder_print(text, "%s%.*s: %.*s", i ? "; " : "", LEAT_SV_ARG(attr->name),
                              LEAT_SV_ARG(attr->type));
    if (attr->has_minimum) leat_string_builder_print(text, " >= %lld", (long long)attr->minimum);
  }
  return take_text(arena, text, &row->attrs);
}

leat_status_t leat_function_op_make(const leat_pb_op_def_t* signature, leat_arena_t* arena,
                                    leat_op_t** out_op) {
  void* memory;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate(arena, sizeof(leat_op_row_t), &memory));
  leat_op_row_t* row = memory;
  *row = (leat_op_row_t){
      .flags = LEAT_OP_CALLS | LEAT_OP_NEVER_FOLD | (signature->is_stateful ? LEAT_OP_STATEFUL : 0),
      .shape = leat_shape_unknown,
      .gradient = gradient,
      .lower = lower};
  leat_string_builder_t text;
  leat_string_builder_initialize(leat_allocator_system(), &text);
  leat_status_t status = fill_row(signature, arena, &text, row);
  leat_string_builder_deinitialize(&text);
  if (!status) status = leat_op_parse(row, arena, out_op);
  return leat_status_annotate(status, "function '%.*s'", LEAT_SV_ARG(signature->name));
}
