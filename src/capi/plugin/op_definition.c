// Ops of plugins (ops.h): a builder collects the declarations of an op, and registering it makes a
// row of the op registry. The row and its texts lie in one block of memory, which the registry
// keeps for ever. A plugin's shape function has another signature than the library's; therefore the
// row's shape function is infer(), which finds the plugin's function behind the row of the node's
// op. While a library is being loaded, every registration is also noted for its list of ops
// (plugin.c).
#include "capi/plugin/plugin.h"

#include <string.h>

#include "graph/inference/inference.h"
#include "tensorflow/c/ops.h"

typedef void (*shape_function_t)(TF_ShapeInferenceContext* ctx, TF_Status* status);

enum { NAME, INPUTS, OUTPUTS, ATTRS, DEPRECATION, TEXTS };

struct TF_OpDefinitionBuilder {
  leat_string_builder_t texts[TEXTS];
  int counts[TEXTS];  // number of declarations in each text
  uint32_t flags;
  int deprecated_since;
  shape_function_t shape;
};

// A registered op. The row comes first, so that a pointer to the row is a pointer to this.
typedef struct plugin_op_s {
  leat_op_row_t row;
  shape_function_t shape;
} plugin_op_t;

// ---- The builder --------------------------------------------------------------------------------

static void add_text(TF_OpDefinitionBuilder* builder, int kind, const char* text) {
  leat_string_builder_t* b = &builder->texts[kind];
  if (builder->counts[kind]++) leat_string_builder_append(b, LEAT_SV("; "));
  leat_string_builder_append(b, leat_string_view_from(text ? text : ""));
}

TF_OpDefinitionBuilder* TF_NewOpDefinitionBuilder(const char* op_name) {
  TF_OpDefinitionBuilder* builder = leat_capi_allocate(sizeof *builder);
  if (!builder) return NULL;
  for (int i = 0; i < TEXTS; ++i) {
    leat_string_builder_initialize(leat_allocator_system(), &builder->texts[i]);
  }
  add_text(builder, NAME, op_name);
  return builder;
}

void TF_DeleteOpDefinitionBuilder(TF_OpDefinitionBuilder* builder) {
  for (int i = 0; builder && i < TEXTS; ++i) leat_string_builder_deinitialize(&builder->texts[i]);
  leat_allocator_free(leat_allocator_system(), builder);
}

void TF_OpDefinitionBuilderAddAttr(TF_OpDefinitionBuilder* builder, const char* attr_spec) {
  add_text(builder, ATTRS, attr_spec);
}

void TF_OpDefinitionBuilderAddInput(TF_OpDefinitionBuilder* builder, const char* input_spec) {
  add_text(builder, INPUTS, input_spec);
}

void TF_OpDefinitionBuilderAddOutput(TF_OpDefinitionBuilder* builder, const char* output_spec) {
  add_text(builder, OUTPUTS, output_spec);
}

static void set_flag(TF_OpDefinitionBuilder* builder, uint32_t flag, bool value) {
  builder->flags = value ? builder->flags | flag : builder->flags & ~flag;
}

void TF_OpDefinitionBuilderSetIsCommutative(TF_OpDefinitionBuilder* builder, bool is_commutative) {
  set_flag(builder, LEAT_OP_COMMUTATIVE, is_commutative);
}

void TF_OpDefinitionBuilderSetIsAggregate(TF_OpDefinitionBuilder* builder, bool is_aggregate) {
  set_flag(builder, LEAT_OP_AGGREGATE, is_aggregate);
}

void TF_OpDefinitionBuilderSetIsStateful(TF_OpDefinitionBuilder* builder, bool is_stateful) {
  set_flag(builder, LEAT_OP_STATEFUL, is_stateful);
}

void TF_OpDefinitionBuilderSetAllowsUninitializedInput(TF_OpDefinitionBuilder* builder,
                                                       bool allows_uninitialized_input) {
  set_flag(builder, LEAT_OP_ALLOWS_UNINITIALIZED_INPUT, allows_uninitialized_input);
}

void TF_OpDefinitionBuilderDeprecated(TF_OpDefinitionBuilder* builder, int version,
                                      const char* explanation) {
  builder->deprecated_since = version < INT16_MAX ? version : INT16_MAX;
  builder->texts[DEPRECATION].size = 0;
  builder->counts[DEPRECATION] = 0;
  add_text(builder, DEPRECATION, explanation);
}

void TF_OpDefinitionBuilderSetShapeInferenceFunction(TF_OpDefinitionBuilder* builder,
                                                     shape_function_t shape_inference_func) {
  builder->shape = shape_inference_func;
}

// ---- Registration -------------------------------------------------------------------------------

// The shape function of every plugin op that has one.
static leat_status_t infer(leat_inference_t* inference) {
  const plugin_op_t* op = (const plugin_op_t*)inference->node->op->row;
  TF_Status status = {0};
  op->shape((TF_ShapeInferenceContext*)inference, &status);
  return leat_capi_status_take(&status);
}

static bool is_op_name(const char* name) {
  size_t rest = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_>");
  return name[rest] == 0 && ((*name >= 'A' && *name <= 'Z') || (*name == '_' && name[1]));
}

// Makes the row with the builder's texts behind it in one block.
static leat_status_t make_row(const TF_OpDefinitionBuilder* builder, plugin_op_t** out_op) {
  char* texts[TEXTS];
  void* memory;
  LEAT_RETURN_IF_ERROR(leat_capi_allocate_with_texts(sizeof(plugin_op_t), builder->texts, TEXTS,
                                                     texts, &memory));
  plugin_op_t* op = memory;
  op->row = (leat_op_row_t){
      .name = texts[NAME],
      .inputs = texts[INPUTS],
      .outputs = texts[OUTPUTS],
      .attrs = texts[ATTRS],
      .flags = builder->flags,
      .shape = builder->shape ? infer : NULL,
      .doc = "",
      .deprecated_since = (int16_t)builder->deprecated_since,
      .deprecation = builder->deprecated_since ? texts[DEPRECATION] : NULL,
  };
  op->shape = builder->shape;
  *out_op = op;
  return leat_ok_status();
}

// Parses the declarations. Each text that was added must be one declaration: a text with two, or an
// empty one, would go unnoticed otherwise.
static leat_status_t check_row(const TF_OpDefinitionBuilder* builder, const leat_op_row_t* row) {
  if (!is_op_name(row->name)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Op name must be CamelCase (and only A-Z, a-z, 0-9, > and _), is '%s'",
                            row->name);
  }
  leat_arena_t arena;
  leat_op_t* op = NULL;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_status_t status = leat_op_parse(row, &arena, &op);
  if (!status) {
    if (op->input_count != builder->counts[INPUTS] ||
        op->output_count != builder->counts[OUTPUTS] || op->attr_count != builder->counts[ATTRS]) {
      status = leat_make_status(LEAT_INVALID_ARGUMENT,
                                "Registering op '%s' failed: a declaration is empty, or several "
                                "in one, must be one",
                                row->name);
    }
    leat_op_release_defaults(op);
  }
  leat_arena_deinitialize(&arena);
  return status;
}

static leat_status_t register_op(const TF_OpDefinitionBuilder* builder) {
  const leat_runtime_t* runtime = NULL;
  plugin_op_t* op = NULL;
  for (int i = 0; i < TEXTS; ++i) {
    LEAT_RETURN_IF_ERROR(leat_status_clone(builder->texts[i].status));
  }
  LEAT_RETURN_IF_ERROR(leat_runtime_get(&runtime));
  LEAT_RETURN_IF_ERROR(make_row(builder, &op));
  leat_status_t status = check_row(builder, &op->row);
  if (!status) status = leat_op_registry_extend(runtime->ops, &op->row);
  bool is_registered = !status;
  status = leat_capi_loading_note(op->row.name, status);
  if (!is_registered) leat_allocator_free(leat_allocator_system(), op);
  return status;
}

void TF_RegisterOpDefinition(TF_OpDefinitionBuilder* builder, TF_Status* status) {
  leat_capi_status_set(status, builder ? register_op(builder)
                                       : leat_make_status(LEAT_INVALID_ARGUMENT,
                                                          "Registering an op failed: builder is "
                                                          "NULL"));
  TF_DeleteOpDefinitionBuilder(builder);
}
