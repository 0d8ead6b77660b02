// Definitions and shape functions of the six ops that parse serialized Example and SequenceExample
// messages, and of DecodeJSONExample, which turns Example messages in JSON into serialized ones,
// and whose output has the shape of its input. Each of the six has groups of outputs, for sparse,
// dense and ragged features, and the number of outputs in a group follows from list attributes. For
// a batch of messages [n] (the leading n is absent for a scalar):
//
//     sparse   indices [values, 2] int64, values [values], dense shape [2] int64
//     dense    values [n, dense_shape...]
//     ragged   values [values], row splits [n + 1]
//
// In feature lists of SequenceExamples a sparse value has one more index, a dense value one more
// dimension (the rows of the longest list, with the lengths as another output), and a ragged one
// another level of splits. A shape function checks that the attributes agree in number and then
// writes the outputs group by group, in the order of the op's outputs.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

// ---- Attributes ---------------------------------------------------------------------------------

static int count_of(const leat_inference_t* c, const char* list) {
  const leat_attr_value_t* value = leat_node_attr(c->node, leat_string_view_from(list));
  return value ? (int)value->count : 0;
}

static leat_status_t check_same(const char* a, int64_t a_count, const char* b, int64_t b_count) {
  if (a_count == b_count) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT, "%s (%lld) must match the size of %s (%lld)", a,
                          (long long)a_count, b, (long long)b_count);
}

static leat_status_t check_counts(const leat_inference_t* c, const char* a, const char* b) {
  return check_same(a, count_of(c, a), b, count_of(c, b));
}

static leat_status_t check_number(const leat_inference_t* c, const char* number,
                                  const char* list) {
  return check_same(number, leat_node_attr_int(c->node, number, 0), list, count_of(c, list));
}

// Checks that the shapes in attribute |name| have a known rank and known sizes, but for the first
// size where it |may_vary|.
static leat_status_t check_shapes(const leat_inference_t* c, const char* name, bool may_vary) {
  const leat_attr_value_t* value = leat_node_attr(c->node, leat_string_view_from(name));
  for (uint32_t i = 0; value && i < value->count; ++i) {
    leat_partial_shape_t shape = value->shapes[i];
    bool known = shape.rank >= 0;
    for (int d = may_vary; d < shape.rank && known; ++d) known = shape.dims[d] >= 0;
    if (known) continue;
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "%s[%u] has unknown rank or unknown inner dimensions: %s", name, i,
                            LEAT_PARTIAL_SHAPE_TEXT(shape));
  }
  return leat_ok_status();
}

// ---- Outputs, group by group --------------------------------------------------------------------

typedef struct writer_s {
  leat_inference_t* c;
  leat_partial_shape_t input;  // shape of the serialized messages
  int next;  // the output that is set next
} writer_t;

// Gives the next |count| outputs the shape |dims| of |rank| sizes.
static leat_status_t put(writer_t* w, int count, int rank, const int64_t* dims) {
  leat_partial_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_inference_make(w->c, rank, dims, &shape));
  while (count--) leat_inference_set_output(w->c, w->next++, shape);
  return leat_ok_status();
}

static leat_status_t put_vector(writer_t* w, int count, int64_t size) {
  return put(w, count, 1, &size);
}

// The outputs of a group of sparse features; |more_dims| dimensions follow those of the messages.
static leat_status_t put_sparse(writer_t* w, const char* types, int more_dims) {
  int count = count_of(w->c, types);
  int64_t rank = w->input.rank < 0 ? LEAT_DIM_UNKNOWN : w->input.rank + more_dims;
  LEAT_RETURN_IF_ERROR(put(w, count, 2, (const int64_t[]){LEAT_DIM_UNKNOWN, rank}));
  LEAT_RETURN_IF_ERROR(put_vector(w, count, LEAT_DIM_UNKNOWN));
  return put_vector(w, count, rank);
}

// The outputs of a group of dense features: |prefix|, then the shape in attribute |name|.
static leat_status_t put_dense(writer_t* w, const char* name, leat_partial_shape_t prefix) {
  const leat_attr_value_t* value = leat_node_attr(w->c->node, leat_string_view_from(name));
  for (uint32_t i = 0; value && i < value->count; ++i) {
    leat_partial_shape_t shape;
    LEAT_RETURN_IF_ERROR(leat_inference_concatenate(w->c, prefix, value->shapes[i], &shape));
    leat_inference_set_output(w->c, w->next++, shape);
  }
  return leat_ok_status();
}

// The outputs of a group of ragged features. Feature lists (|is_list|) have inner splits as well.
static leat_status_t put_ragged(writer_t* w, const char* types, bool is_list) {
  int count = count_of(w->c, types);
  int64_t batch = w->input.rank == 1 ? w->input.dims[0] : LEAT_DIM_UNKNOWN;
  LEAT_RETURN_IF_ERROR(put_vector(w, count, LEAT_DIM_UNKNOWN));
  LEAT_RETURN_IF_ERROR(put_vector(w, count, batch < 0 ? LEAT_DIM_UNKNOWN : batch + 1));
  return is_list ? put_vector(w, count, LEAT_DIM_UNKNOWN) : leat_ok_status();
}

static leat_status_t at_most_vector(leat_inference_t* c, int index) {
  return leat_inference_with_rank_at_most(c, leat_inference_input(c, index), 1);
}

static leat_status_t exactly_vector(leat_inference_t* c, int index, leat_partial_shape_t* out) {
  return leat_inference_with_rank(c, leat_inference_input(c, index), 1, out);
}

// ---- Examples -----------------------------------------------------------------------------------

static leat_status_t put_example(leat_inference_t* c, leat_partial_shape_t input, bool ragged) {
  writer_t w = {.c = c, .input = input};
  LEAT_RETURN_IF_ERROR(put_sparse(&w, "sparse_types", 1));
  LEAT_RETURN_IF_ERROR(put_dense(&w, "dense_shapes", input));
  return ragged ? put_ragged(&w, "ragged_value_types", false) : leat_ok_status();
}

static leat_status_t check_dense(const leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(check_shapes(c, "dense_shapes", true));
  return check_counts(c, "Tdense", "dense_shapes");
}

static leat_status_t parse_example_shape(leat_inference_t* c) {
  leat_partial_shape_t input, names;
  LEAT_RETURN_IF_ERROR(check_dense(c));
  LEAT_RETURN_IF_ERROR(check_number(c, "Nsparse", "sparse_types"));
  LEAT_RETURN_IF_ERROR(check_number(c, "Ndense", "Tdense"));
  LEAT_RETURN_IF_ERROR(exactly_vector(c, 0, &input));
  LEAT_RETURN_IF_ERROR(exactly_vector(c, 1, &names));
  return put_example(c, input, false);
}

static leat_status_t parse_example_v2_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(check_dense(c));
  LEAT_RETURN_IF_ERROR(check_number(c, "num_sparse", "sparse_types"));
  LEAT_RETURN_IF_ERROR(check_counts(c, "ragged_value_types", "ragged_split_types"));
  LEAT_RETURN_IF_ERROR(at_most_vector(c, 0));
  LEAT_RETURN_IF_ERROR(at_most_vector(c, 1));
  return put_example(c, leat_inference_input(c, 0), true);
}

static leat_status_t parse_single_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(check_number(c, "num_sparse", "sparse_keys"));
  LEAT_RETURN_IF_ERROR(check_number(c, "num_sparse", "sparse_types"));
  LEAT_RETURN_IF_ERROR(check_dense(c));
  LEAT_RETURN_IF_ERROR(check_counts(c, "dense_keys", "Tdense"));
  LEAT_RETURN_IF_ERROR(leat_shape_check_scalar(c, 0));
  return put_example(c, leat_partial_shape_scalar(), false);
}

// ---- Sequences ----------------------------------------------------------------------------------

static leat_status_t check_sequence(const leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(check_number(c, "Ncontext_sparse", "context_sparse_types"));
  LEAT_RETURN_IF_ERROR(check_counts(c, "Tcontext_dense", "context_dense_shapes"));
  LEAT_RETURN_IF_ERROR(check_number(c, "Nfeature_list_sparse", "feature_list_sparse_types"));
  LEAT_RETURN_IF_ERROR(check_number(c, "Nfeature_list_dense", "feature_list_dense_types"));
  LEAT_RETURN_IF_ERROR(check_counts(c, "feature_list_dense_types", "feature_list_dense_shapes"));
  LEAT_RETURN_IF_ERROR(check_shapes(c, "context_dense_shapes", false));
  return check_shapes(c, "feature_list_dense_shapes", false);
}

// What only some of the SequenceExample ops have: ragged groups, and outputs with the lengths of
// dense feature lists.
typedef struct sequence_form_s {
  bool has_ragged, has_lengths;
} sequence_form_t;

static leat_status_t put_sequence(leat_inference_t* c, leat_partial_shape_t input,
                                  sequence_form_t form) {
  writer_t w = {.c = c, .input = input};
  leat_partial_shape_t rows;
  LEAT_RETURN_IF_ERROR(leat_inference_unknown_of_rank(c, 1, &rows));
  LEAT_RETURN_IF_ERROR(leat_inference_concatenate(c, input, rows, &rows));
  LEAT_RETURN_IF_ERROR(put_sparse(&w, "context_sparse_types", 1));
  LEAT_RETURN_IF_ERROR(put_dense(&w, "context_dense_shapes", input));
  if (form.has_ragged) LEAT_RETURN_IF_ERROR(put_ragged(&w, "context_ragged_value_types", false));
  LEAT_RETURN_IF_ERROR(put_sparse(&w, "feature_list_sparse_types", 2));
  LEAT_RETURN_IF_ERROR(put_dense(&w, "feature_list_dense_shapes", rows));
  for (int i = 0; form.has_lengths && i < count_of(c, "feature_list_dense_types"); ++i) {
    leat_inference_set_output(c, w.next++, input);
  }
  return form.has_ragged ? put_ragged(&w, "feature_list_ragged_value_types", true)
                         : leat_ok_status();
}

static leat_status_t parse_sequence_shape(leat_inference_t* c) {
  leat_partial_shape_t input, names;
  LEAT_RETURN_IF_ERROR(check_number(c, "Ncontext_sparse", "context_sparse_keys"));
  LEAT_RETURN_IF_ERROR(check_number(c, "Ncontext_dense", "context_dense_keys"));
  LEAT_RETURN_IF_ERROR(check_number(c, "Ncontext_dense", "Tcontext_dense"));
  LEAT_RETURN_IF_ERROR(check_number(c, "Nfeature_list_sparse", "feature_list_sparse_keys"));
  LEAT_RETURN_IF_ERROR(check_number(c, "Nfeature_list_dense", "feature_list_dense_keys"));
  LEAT_RETURN_IF_ERROR(check_sequence(c));
  LEAT_RETURN_IF_ERROR(exactly_vector(c, 0, &input));
  LEAT_RETURN_IF_ERROR(exactly_vector(c, 1, &names));
  return put_sequence(c, input, (sequence_form_t){.has_lengths = true});
}

static leat_status_t parse_sequence_v2_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(check_sequence(c));
  LEAT_RETURN_IF_ERROR(
      check_counts(c, "context_ragged_value_types", "context_ragged_split_types"));
  LEAT_RETURN_IF_ERROR(
      check_counts(c, "feature_list_ragged_value_types", "feature_list_ragged_split_types"));
  LEAT_RETURN_IF_ERROR(at_most_vector(c, 0));
  LEAT_RETURN_IF_ERROR(at_most_vector(c, 1));
  return put_sequence(c, leat_inference_input(c, 0), (sequence_form_t){true, true});
}

static leat_status_t parse_single_sequence_shape(leat_inference_t* c) {
  leat_partial_shape_t missing;
  LEAT_RETURN_IF_ERROR(check_number(c, "Ncontext_dense", "Tcontext_dense"));
  LEAT_RETURN_IF_ERROR(check_sequence(c));
  LEAT_RETURN_IF_ERROR(leat_shape_check_scalar(c, 0));
  LEAT_RETURN_IF_ERROR(exactly_vector(c, 1, &missing));
  return put_sequence(c, leat_partial_shape_scalar(), (sequence_form_t){0});
}

// ---- Rows ---------------------------------------------------------------------------------------

#define TYPES "list({float, int64, string}) >= 0"
#define SPLITS "list({int32, int64}) >= 0"
#define SEQUENCE_COUNTS                                                                    \
  "Ncontext_sparse: int >= 0 = 0; Ncontext_dense: int >= 0 = 0; "                          \
  "Nfeature_list_sparse: int >= 0 = 0; Nfeature_list_dense: int >= 0 = 0; "                \
  "context_sparse_types: " TYPES " = []; Tcontext_dense: " TYPES " = []; "                 \
  "feature_list_dense_types: " TYPES " = []; "                                             \
  "context_dense_shapes: list(shape) >= 0 = []; feature_list_sparse_types: " TYPES " = []; " \
  "feature_list_dense_shapes: list(shape) >= 0 = []"
#define CONTEXT_OUTPUTS                                                                    \
  "context_sparse_indices: Ncontext_sparse * int64; "                                      \
  "context_sparse_values: context_sparse_types; "                                          \
  "context_sparse_shapes: Ncontext_sparse * int64; context_dense_values: Tcontext_dense"
#define LIST_OUTPUTS                                                                       \
  "; feature_list_sparse_indices: Nfeature_list_sparse * int64; "                          \
  "feature_list_sparse_values: feature_list_sparse_types; "                                \
  "feature_list_sparse_shapes: Nfeature_list_sparse * int64; "                             \
  "feature_list_dense_values: feature_list_dense_types"
#define LENGTHS "; feature_list_dense_lengths: Nfeature_list_dense * int64"

const leat_op_row_t leat_example_ops[] = {
    {.name = "ParseExample",
     .inputs = "serialized: string; names: string; sparse_keys: Nsparse * string; "
               "dense_keys: Ndense * string; dense_defaults: Tdense",
     .outputs = "sparse_indices: Nsparse * int64; sparse_values: sparse_types; "
                "sparse_shapes: Nsparse * int64; dense_values: Tdense",
     .attrs = "Nsparse: int >= 0; Ndense: int >= 0; sparse_types: " TYPES "; Tdense: " TYPES
              "; dense_shapes: list(shape) >= 0",
     .shape = parse_example_shape,
     .gradient = leat_gradient_none,
     .doc = "The wanted features of Example messages, as tensors."},
    {.name = "ParseExampleV2",
     .inputs = "serialized: string; names: string; sparse_keys: string; dense_keys: string; "
               "ragged_keys: string; dense_defaults: Tdense",
     .outputs = "sparse_indices: num_sparse * int64; sparse_values: sparse_types; "
                "sparse_shapes: num_sparse * int64; dense_values: Tdense; "
                "ragged_values: ragged_value_types; ragged_row_splits: ragged_split_types",
     .attrs = "Tdense: " TYPES "; num_sparse: int >= 0; sparse_types: " TYPES
              "; ragged_value_types: " TYPES "; ragged_split_types: " SPLITS
              "; dense_shapes: list(shape) >= 0",
     .shape = parse_example_v2_shape,
     .gradient = leat_gradient_none,
     .doc = "The wanted features of Example messages, as tensors, sparse ones and ragged ones."},
    {.name = "ParseSingleExample",
     .inputs = "serialized: string; dense_defaults: Tdense",
     .outputs = "sparse_indices: num_sparse * int64; sparse_values: sparse_types; "
                "sparse_shapes: num_sparse * int64; dense_values: Tdense",
     .attrs = "num_sparse: int >= 0; sparse_keys: list(string) >= 0; "
              "dense_keys: list(string) >= 0; sparse_types: " TYPES "; Tdense: " TYPES
              "; dense_shapes: list(shape) >= 0",
     .shape = parse_single_shape,
     .gradient = leat_gradient_none,
     .doc = "The wanted features of one Example message."},
    {.name = "ParseSequenceExample",
     .inputs = "serialized: string; debug_name: string; context_dense_defaults: Tcontext_dense",
     .outputs = CONTEXT_OUTPUTS LIST_OUTPUTS LENGTHS,
     .attrs = "feature_list_dense_missing_assumed_empty: list(string) >= 0; "
              "context_sparse_keys: list(string) >= 0; context_dense_keys: list(string) >= 0; "
              "feature_list_sparse_keys: list(string) >= 0; "
              "feature_list_dense_keys: list(string) >= 0; " SEQUENCE_COUNTS,
     .shape = parse_sequence_shape,
     .gradient = leat_gradient_none,
     .doc = "The wanted features and feature lists of SequenceExample messages."},
    {.name = "ParseSequenceExampleV2",
     .inputs = "serialized: string; debug_name: string; context_sparse_keys: string; "
               "context_dense_keys: string; context_ragged_keys: string; "
               "feature_list_sparse_keys: string; feature_list_dense_keys: string; "
               "feature_list_ragged_keys: string; feature_list_dense_missing_assumed_empty: bool; "
               "context_dense_defaults: Tcontext_dense",
     .outputs = CONTEXT_OUTPUTS "; context_ragged_values: context_ragged_value_types; "
                "context_ragged_row_splits: context_ragged_split_types" LIST_OUTPUTS LENGTHS
                "; feature_list_ragged_values: feature_list_ragged_value_types; "
                "feature_list_ragged_outer_splits: feature_list_ragged_split_types; "
                "feature_list_ragged_inner_splits: feature_list_ragged_split_types",
     .attrs = "Ncontext_sparse: int >= 0 = 0; Tcontext_dense: " TYPES
              " = []; context_sparse_types: " TYPES " = []; context_ragged_value_types: " TYPES
              " = []; context_ragged_split_types: " SPLITS
              " = []; context_dense_shapes: list(shape) >= 0 = []; "
              "Nfeature_list_sparse: int >= 0 = 0; Nfeature_list_dense: int >= 0 = 0; "
              "feature_list_dense_types: " TYPES " = []; feature_list_sparse_types: " TYPES
              " = []; feature_list_ragged_value_types: " TYPES
              " = []; feature_list_ragged_split_types: " SPLITS
              " = []; feature_list_dense_shapes: list(shape) >= 0 = []",
     .shape = parse_sequence_v2_shape,
     .gradient = leat_gradient_none,
     .doc = "The wanted features and feature lists of SequenceExample messages, also ragged ones."},
    {.name = "ParseSingleSequenceExample",
     .inputs = "serialized: string; feature_list_dense_missing_assumed_empty: string; "
               "context_sparse_keys: Ncontext_sparse * string; "
               "context_dense_keys: Ncontext_dense * string; "
               "feature_list_sparse_keys: Nfeature_list_sparse * string; "
               "feature_list_dense_keys: Nfeature_list_dense * string; "
               "context_dense_defaults: Tcontext_dense; debug_name: string",
     .outputs = CONTEXT_OUTPUTS LIST_OUTPUTS,
     .attrs = SEQUENCE_COUNTS,
     .shape = parse_single_sequence_shape,
     .gradient = leat_gradient_none,
     .doc = "The wanted features and feature lists of one SequenceExample message."},
    {.name = "DecodeJSONExample",
     .inputs = "json_examples: string",
     .outputs = "binary_examples: string",
     .shape = leat_shape_unchanged,
     .gradient = leat_gradient_none,
     .doc = "Each Example message, of its JSON."},
    LEAT_OP_ROWS_END,
};
