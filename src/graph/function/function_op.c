// Prints a function's signature as an op row: "x: T; xs: N * T; rest: Tlist". A node of such an op
// is a call of the function, and its attributes are those for which the function is instantiated.
// Defaults and allowed values of attributes are not printed, so a node must give every attribute
// that its inputs do not tell. The op CALLS, is never folded, and is stateful if the signature says
// so.
#include "graph/function/function_op.h"

#include "base/string_builder.h"
#include "graph/function/lowering.h"
#include "graph/inference/inference.h"

// A node of the function's op stands for the function's body.
static leat_status_t lower(leat_lowering_t* l) {
  leat_function_name_t function = {l->node->op->name, l->node->attrs, l->node->attr_count};
  return leat_lower_call(l, &function);
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

// Copies what was printed into |arena| and empties the builder for the next text.
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
      .gradient = leat_gradient_of_call,
      .lower = lower};
  leat_string_builder_t text;
  leat_string_builder_initialize(leat_allocator_system(), &text);
  leat_status_t status = fill_row(signature, arena, &text, row);
  leat_string_builder_deinitialize(&text);
  if (!status) status = leat_op_parse(row, arena, out_op);
  return leat_status_annotate(status, "function '%.*s'", LEAT_SV_ARG(signature->name));
}
