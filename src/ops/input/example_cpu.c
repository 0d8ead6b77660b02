// Kernels of the ops that parse Example and SequenceExample messages. All of them use one parser
// (ops/input/example_parse_cpu.h); they differ in where the names of the wanted features stand and
// in which groups of outputs they have:
//
//     op                           keys in          groups
//     ParseExample                 scalar inputs    sparse, dense
//     ParseExampleV2               vector inputs    sparse, dense, ragged
//     ParseSingleExample           attributes       sparse, dense
//     ParseSequenceExample         attributes       context and lists: sparse, dense
//     ParseSequenceExampleV2       vector inputs    context and lists: sparse, dense, ragged
//     ParseSingleSequenceExample   scalar inputs    context and lists: sparse, dense
//
// A layout (ops/input/example_layout_cpu.h) records this. The kernel makes it once from the node's
// attributes, and checks there that the lists agree in length and cover all outputs. When the
// kernel runs, it reads the layout and the inputs into a list of features, lets the parser fill
// their tensors, and moves these to the outputs. ParseExampleDataset uses the layouts too.
#include "formats/generated/example.h"
#include "formats/wire/json_wire.h"
#include "ops/input/example_layout_cpu.h"
#include "ops/kernel_rows.h"

// ---- Layouts ------------------------------------------------------------------------------------

// The functions below copy a list attribute into the layout: attributes are borrowed from the graph
// and may not be used after the kernel was made.

static leat_status_t copy_types(const leat_kernel_creation_t* c, leat_example_layout_t* layout,
                                const char* name, const int32_t** out_types, int* out_count) {
  const leat_attr_value_t* value;
  int32_t* types;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr(c, name, &value));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&layout->arena, value->count + 1, &types));
  *out_count = (int)value->count;
  for (uint32_t i = 0; i < value->count; ++i) types[i] = value->types[i];
  *out_types = types;
  return leat_ok_status();
}

static leat_status_t copy_strings(const leat_kernel_creation_t* c, leat_example_layout_t* layout,
                                  const char* name, const leat_string_view_t** out_strings,
                                  int* out_count) {
  const leat_attr_value_t* value;
  leat_string_view_t* strings;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr(c, name, &value));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&layout->arena, value->count + 1, &strings));
  *out_count = (int)value->count;
  for (uint32_t i = 0; i < value->count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_arena_copy_string(&layout->arena, value->strings[i], &strings[i]));
  }
  *out_strings = strings;
  return leat_ok_status();
}

// Checks that the known sizes of |shape| have a product that fits a tensor, so that later products
// of them cannot overflow.
static leat_status_t check_size(leat_partial_shape_t shape) {
  leat_shape_t full;
  int skipped = shape.rank > 0 && shape.dims[0] == LEAT_DIM_UNKNOWN;
  LEAT_RETURN_IF_ERROR(leat_shape_create(shape.rank < 0 ? 0 : shape.rank - skipped,
                                         shape.dims ? shape.dims + skipped : NULL, &full));
  leat_shape_release(&full);
  return leat_ok_status();
}

static leat_status_t copy_shapes(const leat_kernel_creation_t* c, leat_example_layout_t* layout,
                                 const char* name, const leat_partial_shape_t** out_shapes,
                                 int* out_count) {
  const leat_attr_value_t* value;
  leat_partial_shape_t* shapes;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr(c, name, &value));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&layout->arena, value->count + 1, &shapes));
  *out_count = (int)value->count;
  for (uint32_t i = 0; i < value->count; ++i) {
    leat_partial_shape_t shape = value->shapes[i];
    LEAT_RETURN_IF_ERROR(check_size(shape));
    LEAT_RETURN_IF_ERROR(
        leat_partial_shape_create(shape.rank, shape.dims, &layout->arena, &shapes[i]));
  }
  *out_shapes = shapes;
  return leat_ok_status();
}

// The number of outputs that each feature of |group| has.
static int outputs_each(const leat_example_layout_t* layout, const leat_example_group_t* group) {
  switch (group->kind) {
    case LEAT_FEATURE_DENSE: return 1 + (group->is_list && layout->has_lengths);
    case LEAT_FEATURE_SPARSE: return 3;
    default: return 2 + group->is_list;
  }
}

// Where an op has the names of features: in a list attribute, in one vector input for a group, or
// in one scalar input for each feature.
typedef enum key_place_e { KEYS_IN_ATTR, KEYS_IN_VECTOR, KEYS_IN_SCALARS } key_place_t;

// The names of the attributes that describe a group.
typedef struct group_names_s {
  leat_feature_kind_t kind;
  bool is_list;
  const char* types;
  const char* more;  // dense: the attribute of shapes; ragged: the attribute of the splits' types
  const char* keys;  // the attribute of keys, where the op has one
} group_names_t;

// Appends the group that |names| describes to the layout. Inputs and outputs are numbered in the
// order of the calls. INVALID_ARGUMENT where the attributes differ in length.
static leat_status_t add_group(const leat_kernel_creation_t* c, leat_example_layout_t* layout,
                               key_place_t place, const group_names_t* names) {
  leat_example_group_t* group = &layout->groups[layout->group_count++];
  *group = (leat_example_group_t){.kind = names->kind, .is_list = names->is_list};
  LEAT_RETURN_IF_ERROR(copy_types(c, layout, names->types, &group->types, &group->count));
  int more = group->count, keys = group->count;
  if (names->kind == LEAT_FEATURE_DENSE) {
    LEAT_RETURN_IF_ERROR(copy_shapes(c, layout, names->more, &group->shapes, &more));
  } else if (names->kind == LEAT_FEATURE_RAGGED) {
    LEAT_RETURN_IF_ERROR(copy_types(c, layout, names->more, &group->splits_types, &more));
  }
  if (place == KEYS_IN_ATTR) {
    LEAT_RETURN_IF_ERROR(copy_strings(c, layout, names->keys, &group->keys, &keys));
  } else {
    group->keys_input = layout->next_input;
    group->has_scalar_keys = place == KEYS_IN_SCALARS;
    layout->next_input += group->has_scalar_keys ? group->count : 1;
  }
  if (more != group->count || keys != group->count) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "%s, %s and keys differ in length",
                            names->types, names->more ? names->more : "");
  }
  group->first_output = layout->output_count;
  layout->output_count += group->count * outputs_each(layout, group);
  return leat_ok_status();
}

static leat_status_t add_groups(const leat_kernel_creation_t* c, leat_example_layout_t* layout,
                                key_place_t place, const group_names_t* names, int count) {
  for (int i = 0; i < count; ++i) LEAT_RETURN_IF_ERROR(add_group(c, layout, place, &names[i]));
  if (layout->output_count == c->kernel->output_count) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT, "the types do not match the number of outputs");
}

// Initializes a layout with nothing in it; the callers below set what their op has. The state was
// zeroed before.
static leat_example_layout_t* begin_layout(void* state) {
  leat_example_layout_t* layout = state;
  leat_arena_initialize(leat_allocator_system(), 0, &layout->arena);
  layout->names_input = layout->missing_input = -1;
  return layout;
}

static const group_names_t kExampleGroups[] = {
    {LEAT_FEATURE_SPARSE, false, "sparse_types", NULL, "sparse_keys"},
    {LEAT_FEATURE_DENSE, false, "Tdense", "dense_shapes", "dense_keys"},
    {LEAT_FEATURE_RAGGED, false, "ragged_value_types", "ragged_split_types", "ragged_keys"},
};

static leat_status_t example_create(leat_kernel_creation_t* c, void* state) {
  leat_example_layout_t* layout = begin_layout(state);
  layout->least_rank = layout->most_rank = 1;
  layout->names_input = 1;
  layout->next_input = 2;
  LEAT_RETURN_IF_ERROR(add_groups(c, layout, KEYS_IN_SCALARS, kExampleGroups, 2));
  layout->defaults_input = layout->next_input;
  return leat_ok_status();
}

static leat_status_t example_v2_create(leat_kernel_creation_t* c, void* state) {
  leat_example_layout_t* layout = begin_layout(state);
  layout->most_rank = 1;
  layout->names_input = 1;
  layout->next_input = 2;
  layout->defaults_input = 5;
  return add_groups(c, layout, KEYS_IN_VECTOR, kExampleGroups, 3);
}

static leat_status_t single_create(leat_kernel_creation_t* c, void* state) {
  leat_example_layout_t* layout = begin_layout(state);
  layout->defaults_input = 1;
  return add_groups(c, layout, KEYS_IN_ATTR, kExampleGroups, 2);
}

// ExperimentalParseExampleDataset has no attributes for ragged features.
leat_status_t leat_example_layout_create_of_dataset(leat_kernel_creation_t* c,
                                                    leat_example_layout_t* out_layout) {
  begin_layout(out_layout)->defaults_input = 2;
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kExampleGroups); ++i) {
    const leat_string_view_t types = leat_string_view_from(kExampleGroups[i].types);
    if (!leat_attr_find(c->attrs, c->attr_count, types)) continue;
    LEAT_RETURN_IF_ERROR(add_group(c, out_layout, KEYS_IN_ATTR, &kExampleGroups[i]));
  }
  return leat_ok_status();
}

static const group_names_t kSequenceGroups[] = {
    {LEAT_FEATURE_SPARSE, false, "context_sparse_types", NULL, "context_sparse_keys"},
    {LEAT_FEATURE_DENSE, false, "Tcontext_dense", "context_dense_shapes", "context_dense_keys"},
    {LEAT_FEATURE_SPARSE, true, "feature_list_sparse_types", NULL, "feature_list_sparse_keys"},
    {LEAT_FEATURE_DENSE, true, "feature_list_dense_types", "feature_list_dense_shapes",
     "feature_list_dense_keys"},
};

static const group_names_t kSequenceV2Groups[] = {
    {LEAT_FEATURE_SPARSE, false, "context_sparse_types", NULL, NULL},
    {LEAT_FEATURE_DENSE, false, "Tcontext_dense", "context_dense_shapes", NULL},
    {LEAT_FEATURE_RAGGED, false, "context_ragged_value_types", "context_ragged_split_types", NULL},
    {LEAT_FEATURE_SPARSE, true, "feature_list_sparse_types", NULL, NULL},
    {LEAT_FEATURE_DENSE, true, "feature_list_dense_types", "feature_list_dense_shapes", NULL},
    {LEAT_FEATURE_RAGGED, true, "feature_list_ragged_value_types",
     "feature_list_ragged_split_types", NULL},
};

static leat_status_t sequence_create(leat_kernel_creation_t* c, void* state) {
  leat_example_layout_t* layout = begin_layout(state);
  layout->is_sequence = layout->has_lengths = true;
  layout->most_rank = 1;
  layout->names_input = 1;
  layout->defaults_input = 2;
  LEAT_RETURN_IF_ERROR(copy_strings(c, layout, "feature_list_dense_missing_assumed_empty",
                                    &layout->missing_keys, &layout->missing_count));
  return add_groups(c, layout, KEYS_IN_ATTR, kSequenceGroups, 4);
}

static leat_status_t sequence_v2_create(leat_kernel_creation_t* c, void* state) {
  leat_example_layout_t* layout = begin_layout(state);
  layout->is_sequence = layout->has_lengths = true;
  layout->most_rank = 1;
  layout->names_input = 1;
  layout->next_input = 2;
  layout->missing_input = 8;
  layout->defaults_input = 9;
  return add_groups(c, layout, KEYS_IN_VECTOR, kSequenceV2Groups, 6);
}

static leat_status_t single_sequence_create(leat_kernel_creation_t* c, void* state) {
  leat_example_layout_t* layout = begin_layout(state);
  layout->is_sequence = true;
  layout->missing_input = 1;
  layout->next_input = 2;
  LEAT_RETURN_IF_ERROR(add_groups(c, layout, KEYS_IN_SCALARS, kSequenceGroups, 4));
  layout->defaults_input = layout->next_input;
  layout->names_input = c->kernel->input_count - 1;
  return leat_ok_status();
}

void leat_example_layout_destroy(void* state) {
  leat_example_layout_t* layout = state;
  leat_arena_deinitialize(&layout->arena);
}

// ---- The wanted features ------------------------------------------------------------------------

// Checks that the inputs with the keys of |group| have as many keys as the group has features.
static leat_status_t check_keys(const leat_kernel_context_t* c, const leat_example_group_t* group) {
  int inputs = group->keys ? 0 : group->has_scalar_keys ? group->count : 1;
  int64_t wanted = group->has_scalar_keys ? 1 : group->count;
  for (int i = 0; i < inputs; ++i) {
    int64_t count = leat_kernel_input(c, group->keys_input + i)->shape.element_count;
    if (count == wanted) continue;
    return leat_kernel_invalid(c, "input %d has %lld keys, must have %lld", group->keys_input + i,
                               (long long)count, (long long)wanted);
  }
  return leat_ok_status();
}

static leat_string_view_t key_at(const leat_kernel_context_t* c, const leat_example_group_t* group,
                                 int index) {
  if (group->keys) return group->keys[index];
  bool scalars = group->has_scalar_keys;
  const leat_tensor_t* keys = leat_kernel_input(c, group->keys_input + (scalars ? index : 0));
  return leat_tensor_string_at(keys, scalars ? 0 : index);
}

// Reads the default value of dense feature |index|. For a feature of variable length it must be one
// value, which pads; otherwise it has the feature's shape, or no elements, which makes the feature
// required.
static leat_status_t read_default(const leat_kernel_context_t* c,
                                  const leat_example_layout_t* layout, int index,
                                  leat_feature_spec_t* spec) {
  const leat_tensor_t* value = leat_kernel_input(c, layout->defaults_input + index);
  bool is_variable = spec->shape.rank > 0 && spec->shape.dims[0] == LEAT_DIM_UNKNOWN;
  spec->fallback = value;
  if (is_variable && value->shape.element_count != 1) {
    return leat_kernel_invalid(c,
                               "dense_shape[%d] is a variable length shape: %s, therefore "
                               "def_value[%d] must contain a single element (the padding "
                               "element). But its shape is: %s",
                               index, LEAT_PARTIAL_SHAPE_TEXT(spec->shape), index,
                               LEAT_SHAPE_TEXT(&value->shape));
  }
  if (is_variable || value->shape.element_count == 0 ||
      leat_partial_shape_admits(spec->shape, &value->shape)) {
    return leat_ok_status();
  }
  return leat_kernel_invalid(c, "def_value[%d].shape() == %s is not compatible with "
                             "dense_shapes_[%d] == %s", index, LEAT_SHAPE_TEXT(&value->shape),
                             index, LEAT_PARTIAL_SHAPE_TEXT(spec->shape));
}

// Reads whether the dense feature list |index| may be missing from an example, and then counts as
// empty. The ops say it with a list of keys in an attribute, or with keys or booleans in an input.
static leat_status_t read_missing(const leat_kernel_context_t* c,
                                  const leat_example_layout_t* layout, int index,
                                  leat_feature_spec_t* spec) {
  for (int i = 0; i < layout->missing_count; ++i) {
    spec->may_be_missing |= leat_string_view_equal(layout->missing_keys[i], spec->key);
  }
  if (layout->missing_input < 0) return leat_ok_status();
  const leat_tensor_t* missing = leat_kernel_input(c, layout->missing_input);
  if (missing->dtype == LEAT_DTYPE_BOOL) {
    if (index >= missing->shape.element_count) {
      return leat_kernel_invalid(c,
                                 "feature_list_dense_missing_assumed_empty has %lld values, must "
                                 "have one for each feature list",
                                 (long long)missing->shape.element_count);
    }
    spec->may_be_missing = leat_tensor_data(missing, const bool)[index];
    return leat_ok_status();
  }
  for (int64_t i = 0; i < missing->shape.element_count; ++i) {
    spec->may_be_missing |= leat_string_view_equal(leat_tensor_string_at(missing, i), spec->key);
  }
  return leat_ok_status();
}

static leat_status_t read_spec(const leat_kernel_context_t* c, const leat_example_layout_t* layout,
                               const leat_example_group_t* group, int index,
                               leat_feature_spec_t* spec) {
  *spec = (leat_feature_spec_t){
      .key = key_at(c, group, index), .kind = group->kind, .dtype = group->types[index]};
  if (group->splits_types) spec->splits_dtype = group->splits_types[index];
  if (group->kind != LEAT_FEATURE_DENSE) return leat_ok_status();
  spec->shape = group->shapes[index];
  return group->is_list ? read_missing(c, layout, index, spec)
                        : read_default(c, layout, index, spec);
}

leat_status_t leat_example_layout_read(const leat_kernel_context_t* c,
                                       const leat_example_layout_t* layout, leat_arena_t* arena,
                                       leat_example_parse_t* parse) {
  int total = 0;
  for (int i = 0; i < layout->group_count; ++i) total += layout->groups[i].count;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, (size_t)total + 1, &parse->features));
  int next = 0;
  for (int g = 0; g < layout->group_count; ++g) {
    const leat_example_group_t* group = &layout->groups[g];
    LEAT_RETURN_IF_ERROR(check_keys(c, group));
    for (int i = 0; i < group->count; ++i) {
      LEAT_RETURN_IF_ERROR(read_spec(c, layout, group, i, &parse->features[next++]));
    }
    *(group->is_list ? &parse->list_count : &parse->feature_count) += group->count;
  }
  parse->lists = parse->features + parse->feature_count;
  return leat_ok_status();
}

// Checks the ranks of the serialized messages and of their names, which only serve in errors.
static leat_status_t check_messages(const leat_kernel_context_t* c,
                                    const leat_example_layout_t* layout) {
  const leat_tensor_t* serialized = leat_kernel_input(c, 0);
  int rank = serialized->shape.rank;
  if (rank < layout->least_rank || rank > layout->most_rank) {
    return leat_kernel_invalid(c, "serialized has shape %s, must be a %s",
                               LEAT_SHAPE_TEXT(&serialized->shape),
                               layout->least_rank   ? "vector"
                               : layout->most_rank ? "scalar or vector"
                                                   : "scalar");
  }
  if (layout->names_input < 0) return leat_ok_status();
  const leat_tensor_t* names = leat_kernel_input(c, layout->names_input);
  if (names->shape.element_count == 0 || leat_shape_equal(&names->shape, &serialized->shape)) {
    return leat_ok_status();
  }
  return leat_kernel_invalid(c, "Expected names have the same shape as serialized: "
                             "name.shape=%s, serialized.shape=%s",
                             LEAT_SHAPE_TEXT(&names->shape), LEAT_SHAPE_TEXT(&serialized->shape));
}

// ---- The kernel ---------------------------------------------------------------------------------

// Moves the tensors of a group's features to the outputs. A group with n features has n outputs of
// the first sort, then n of the second, and so on.
static void set_group(leat_kernel_context_t* c, const leat_example_layout_t* layout,
                      const leat_example_group_t* group, leat_feature_spec_t* specs) {
  int n = group->count, first = group->first_output;
  for (int i = 0; i < n; ++i) {
    leat_feature_spec_t* spec = &specs[i];
    bool is_sparse = spec->kind == LEAT_FEATURE_SPARSE;
    int next = first + i;
    if (is_sparse) {
      leat_kernel_set_output(c, next, leat_tensor_move(&spec->indices));
      next += n;
    }
    leat_kernel_set_output(c, next, leat_tensor_move(&spec->values));
    if (is_sparse || spec->kind == LEAT_FEATURE_RAGGED || outputs_each(layout, group) > 1) {
      leat_kernel_set_output(c, next + n, leat_tensor_move(&spec->extent));
    }
    if (spec->kind == LEAT_FEATURE_RAGGED && group->is_list) {
      leat_kernel_set_output(c, next + 2 * n, leat_tensor_move(&spec->inner_splits));
    }
  }
}

static leat_status_t parse(leat_kernel_context_t* c, leat_arena_t* arena) {
  const leat_example_layout_t* layout = leat_kernel_state(c);
  leat_example_parse_t parse = {.serialized = leat_kernel_input(c, 0),
                                .is_sequence = layout->is_sequence,
                                .memory = c->services->memory,
                                .pool = c->services->pool};
  if (layout->names_input >= 0) parse.names = leat_kernel_input(c, layout->names_input);
  LEAT_RETURN_IF_ERROR(check_messages(c, layout));
  LEAT_RETURN_IF_ERROR(leat_example_layout_read(c, layout, arena, &parse));
  leat_status_t status = leat_example_parse(&parse);
  leat_feature_spec_t* next = parse.features;
  for (int i = 0; i < layout->group_count && !status; ++i) {
    set_group(c, layout, &layout->groups[i], next);
    next += layout->groups[i].count;
  }
  leat_example_parse_release(&parse);
  return status;
}

static leat_status_t parse__cpu(leat_kernel_context_t* c) {
  leat_arena_t arena;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_status_t status = parse(c, &arena);
  leat_arena_deinitialize(&arena);
  return status;
}

// ---- DecodeJSONExample --------------------------------------------------------------------------
// Each string is an Example in protocol buffers' JSON mapping, and becomes the same message in wire
// format.

static leat_status_t decode_all(const leat_tensor_t* input, leat_tensor_t* output,
                                leat_string_builder_t* text) {
  for (int64_t i = 0; i < input->shape.element_count; ++i) {
    text->size = 0;
    LEAT_RETURN_IF_ERROR(leat_json_to_wire(&leat_pb_example_descriptor,
                                           leat_tensor_string_at(input, i), text));
    LEAT_RETURN_IF_ERROR(leat_tensor_set_string(output, i, leat_string_builder_view(text)));
  }
  return leat_ok_status();
}

static leat_status_t decode_json__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  leat_tensor_t* output;
  leat_string_builder_t text;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &input->shape, &output));
  leat_string_builder_initialize(leat_allocator_system(), &text);
  leat_status_t status = decode_all(input, output, &text);
  leat_string_builder_deinitialize(&text);
  return status;
}

// ---- Rows ---------------------------------------------------------------------------------------

#define PARSER(op_name, op_create)                                             \
  LEAT_CPU_KERNEL(op_name, NULL, leat_example_layout_t, op_create, parse__cpu, \
                  .destroy = leat_example_layout_destroy, .expensive = true)

const leat_kernel_row_t leat_example_kernels_cpu[] = {
    PARSER("ParseExample", example_create),
    PARSER("ParseExampleV2", example_v2_create),
    PARSER("ParseSingleExample", single_create),
    PARSER("ParseSequenceExample", sequence_create),
    PARSER("ParseSequenceExampleV2", sequence_v2_create),
    PARSER("ParseSingleSequenceExample", single_sequence_create),
    {.op = "DecodeJSONExample",
     .device_type = "CPU",
     .compute = decode_json__cpu,
     .expensive = true},
    LEAT_KERNEL_ROWS_END,
};
