// The ops that put the inputs of several steps into one batch, as servers of models do:
//
//   Batch          each step gives rows; one of the steps gets the rows of all, the others get none
//   Unbatch        gives each of these steps its own rows of what was made of the batch
//   UnbatchGrad    the gradient of Unbatch: the gradients of all steps become one batch again
//   BatchFunction  all three in one: calls a function with the batch, each step gets its rows
//
// The kernels are in batch_cpu.c and unbatch_cpu.c. A step that waits for others holds no thread.
#include "base/arena.h"
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

// |shape| with any number of rows.
static leat_status_t with_any_rows(leat_inference_t* c, leat_partial_shape_t shape,
                                   leat_partial_shape_t* out_shape) {
  *out_shape = shape;
  if (shape.rank < 0) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, shape, 1));
  leat_partial_shape_t rows, rest;
  LEAT_RETURN_IF_ERROR(leat_inference_unknown_of_rank(c, 1, &rows));
  LEAT_RETURN_IF_ERROR(leat_inference_subshape(c, shape, 1, shape.rank, &rest));
  return leat_inference_concatenate(c, rows, rest, out_shape);
}

static leat_status_t batch_shape(leat_inference_t* c) {
  const int count = leat_inference_input_count(c);
  leat_partial_shape_t shape;
  for (int i = 0; i < count; ++i) {
    LEAT_RETURN_IF_ERROR(with_any_rows(c, leat_inference_input(c, i), &shape));
    leat_inference_set_output(c, i, shape);
  }
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 2, (const int64_t[]){-1, 3}, &shape));
  leat_inference_set_output(c, count, shape);
  leat_inference_set_output(c, count + 1, leat_partial_shape_scalar());
  return leat_ok_status();
}

static leat_status_t unbatch_shape(leat_inference_t* c) {
  leat_partial_shape_t shape;
  LEAT_RETURN_IF_ERROR(with_any_rows(c, leat_inference_input(c, 0), &shape));
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

static leat_status_t unbatch_grad_shape(leat_inference_t* c) {
  const int rank = leat_inference_input(c, 2).rank;
  leat_partial_shape_t shape;
  if (rank < 0) return leat_shape_unknown(c);
  LEAT_RETURN_IF_ERROR(leat_inference_unknown_of_rank(c, rank, &shape));
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

// Prints "<prefix><name of the node><suffix>", the shared name of a gradient's resource.
static leat_string_view_t shared_name(leat_gradient_t* g, const char* prefix, int index) {
  leat_builder_t* b = &g->builder;
  leat_string_view_t text = LEAT_SV("");
  leat_string_view_t name = leat_gradient_node(g)->name;
  if (b->status) return text;
  b->status = index < 0 ? leat_arena_print(leat_graph_arena(b->graph), &text, "%s%.*s", prefix,
                                           LEAT_SV_ARG(name))
                        : leat_arena_print(leat_graph_arena(b->graph), &text, "%s%.*s_%d", prefix,
                                           LEAT_SV_ARG(name), index);
  return text;
}

// Each step takes its rows of the gradient of the batch.
static leat_status_t batch_gradient(leat_gradient_t* g) {
  const leat_node_t* node = leat_gradient_node(g);
  const int count = node->input_count;
  const int64_t timeout_us = leat_node_attr_int(node, "grad_timeout_micros", 0);
  for (int i = 0; i < count; ++i) {
    leat_string_view_t name = shared_name(g, "batch_gradient_", i);
    leat_output_t grad = leat_build(
        &g->builder, "Unbatch",
        LEAT_INPUTS(leat_gradient_of_output(g, i), leat_gradient_output(g, count),
                    leat_gradient_output(g, count + 1)),
        LEAT_ATTRS(LEAT_INT("timeout_micros", timeout_us), LEAT_STRING("shared_name", name)));
    leat_gradient_set_input(g, i, grad);
  }
  return leat_ok_status();
}

static leat_status_t unbatch_gradient(leat_gradient_t* g) {
  leat_string_view_t name = shared_name(g, "unbatch_gradient_", -1);
  leat_gradient_set_input(
      g, 0,
      leat_build(&g->builder, "UnbatchGrad",
                 LEAT_INPUTS(leat_gradient_input(g, 0), leat_gradient_input(g, 1),
                             leat_gradient_of_output(g, 0), leat_gradient_input(g, 2)),
                 LEAT_ATTRS(LEAT_STRING("shared_name", name))));
  return leat_ok_status();
}

#define NAMES "container: string = ''; shared_name: string = ''"
#define PRIORITY                                                                            \
  "low_priority_max_batch_size: int = 0; low_priority_batch_timeout_micros: int = 0; "      \
  "low_priority_allowed_batch_sizes: list(int) = []; "                                      \
  "low_priority_max_enqueued_batches: int = 0; mixed_priority_policy: "                     \
  "{'low_priority_padding_with_max_batch_size', "                                           \
  "'low_priority_padding_with_next_allowed_batch_size', 'priority_isolation', "             \
  "'priority_merge'} = 'low_priority_padding_with_max_batch_size'; "

const leat_op_row_t leat_batch_ops[] = {
    {.name = "Batch",
     .inputs = "in_tensors: T",
     .outputs = "batched_tensors: T; batch_index: int64; id: int64",
     .attrs = "num_batch_threads: int; max_batch_size: int; max_enqueued_batches: int = 10; "
              "batch_timeout_micros: int; allowed_batch_sizes: list(int) = []; "
              "grad_timeout_micros: int; " NAMES "; batching_queue: string = ''; T: list(type)",
     .flags = LEAT_OP_DISTRIBUTED_COMMUNICATION | LEAT_OP_NEVER_FOLD,
     .shape = batch_shape,
     .gradient = batch_gradient,
     .doc = "Puts the rows of several steps into one batch, which one of them gets."},
    {.name = "BatchFunction",
     .inputs = "in_tensors: Tin; captured_tensors: Tcaptured",
     .outputs = "out_tensors: Tout",
     .attrs = "f: func; num_batch_threads: int; max_batch_size: int; batch_timeout_micros: int; "
              "max_enqueued_batches: int = 10; allowed_batch_sizes: list(int) = []; " NAMES
              "; batching_queue: string = ''; " PRIORITY
              "batch_padding_policy: {'PAD_UP', 'BATCH_DOWN', 'MINIMIZE_TPU_COST_PER_REQUEST'} = "
              "'PAD_UP'; Tin: list(type); Tcaptured: list(type) >= 0; Tout: list(type); "
              "enable_large_batch_splitting: bool = false",
     .flags = LEAT_OP_DISTRIBUTED_COMMUNICATION | LEAT_OP_CALLS | LEAT_OP_NEVER_FOLD,
     .shape = leat_shape_unknown,
     .doc = "Calls a function with the rows of several steps as one batch."},
    {.name = "Unbatch",
     .inputs = "batched_tensor: T; batch_index: int64; id: int64",
     .outputs = "unbatched_tensor: T",
     .attrs = "timeout_micros: int; " NAMES "; T: type",
     .flags = LEAT_OP_NEVER_FOLD,
     .shape = unbatch_shape,
     .gradient = unbatch_gradient,
     .contract = LEAT_RULES(LEAT_RULE_RANK_AT_LEAST(0, 1), LEAT_RULE_MATRIX(1),
                            LEAT_RULE_SCALAR(2)),
     .doc = "Gives each step of a batch its rows."},
    {.name = "UnbatchGrad",
     .inputs = "original_input: T; batch_index: int64; grad: T; id: int64",
     .outputs = "batched_grad: T",
     .attrs = NAMES "; T: type",
     .flags = LEAT_OP_NEVER_FOLD,
     .shape = unbatch_grad_shape,
     .contract = LEAT_RULES(LEAT_RULE_RANK_AT_LEAST(2, 1), LEAT_RULE_SCALAR(3)),
     .doc = "The gradient of Unbatch: rows of several steps as one batch."},
    LEAT_OP_ROWS_END,
};
