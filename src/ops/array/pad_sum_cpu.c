// The CPU kernel of _SumOfPads, which adds tensors of one type after each was padded with zeros to
// the same shape. The optimizer makes it of Pad nodes that feed an AddN, as the gradients of slices
// do. The sum is written once, and no padded term is laid out in memory.
//
//   columns  0 ... 3 4 5 6 ... 9      A row reaches from the last dimension that any term pads to
//   term 0   a a a a a . . . . .      the end of the shape.
//   term 1   . . . . . b b b b b
//
// AddN's loop (ops/math/add_n_cpu.h) goes over the sum in blocks and asks for each term's elements
// in the block. A block that lies in one row is often wholly inside a term or wholly in its
// padding: then the answer is a pointer into the term, or NULL for zeros, and nothing is moved.
// Only a block across a border is put together in a buffer.
//
// Errors must be those of the Pads and the AddN that the node stands for, so that the attribute
// |names| keeps the names of the Pads.
#include <string.h>

#include "base/checked.h"
#include "ops/array/index_cpu.h"
#include "ops/array/paddings_cpu.h"
#include "ops/array/types.h"
#include "ops/kernel_rows.h"
#include "ops/math/add_n_cpu.h"

typedef struct pad_sum_s {
  leat_add_n_t add_n;
  leat_arena_t arena;
  int count;                        // of terms
  const leat_string_view_t* names;  // of the Pad nodes that the terms come from
} pad_sum_t;

typedef struct term_s {
  const leat_tensor_t *input, *paddings;
  int64_t before, length;  // the padding before the data in a row, and the data, in elements
} term_t;

typedef struct job_s {
  const leat_add_n_t* add_n;
  leat_tensor_t* output;
  term_t* terms;
  int row_axis;
  bool pads_outside;  // some term pads before |row_axis|
  int64_t row_length;
  leat_add_n_terms_t sum;
} job_t;

static leat_status_t create(leat_kernel_creation_t* c, void* state) {
  pad_sum_t* sum = state;
  const leat_attr_value_t* names;
  leat_string_view_t* copies;
  leat_arena_initialize(c->allocator, 0, &sum->arena);
  LEAT_RETURN_IF_ERROR(leat_add_n_create(c, &sum->add_n));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr(c, "names", &names));
  sum->count = c->kernel->input_count / 2;
  if ((int)names->count != sum->count) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "attribute names has %d items, must have %d",
                            (int)names->count, sum->count);
  }
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&sum->arena, (size_t)sum->count, &copies));
  for (int i = 0; i < sum->count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_arena_copy_string(&sum->arena, names->strings[i], &copies[i]));
  }
  sum->names = copies;
  return leat_ok_status();
}

static void destroy(void* state) {
  pad_sum_t* sum = state;
  leat_arena_deinitialize(&sum->arena);
}

// ---- Shapes -------------------------------------------------------------------------------------

// Finds the padded shape of term |i|, and raises |inout_row_axis| to the last dimension that the
// term pads. A failure names the Pad node that the term comes from.
static leat_status_t find_shape(const leat_kernel_context_t* c, int i, int* inout_row_axis,
                                leat_shape_t* out_shape) {
  static const leat_op_t kPad = {.name = {"Pad", 3}};
  const pad_sum_t* sum = leat_kernel_state(c);
  const leat_shape_t* input = &leat_kernel_input(c, i)->shape;
  leat_kernel_t pad = *c->kernel;
  leat_kernel_context_t context = *c;
  leat_paddings_t paddings;
  pad.op = &kPad;
  pad.node_name = sum->names[i];
  context.kernel = &pad;
  LEAT_RETURN_IF_ERROR(leat_paddings_read(&context, sum->count + i, input->rank, &paddings));
  for (int d = *inout_row_axis + 1; d < input->rank; ++d) {
    if (paddings.before[d] || paddings.after[d]) *inout_row_axis = d;
  }
  return leat_paddings_shape(&context, &paddings, input, out_shape);
}

// Finds the shape of the sum, which all padded terms must have.
static leat_status_t find_common_shape(const leat_kernel_context_t* c, int* out_row_axis,
                                       leat_shape_t* out_shape) {
  const pad_sum_t* sum = leat_kernel_state(c);
  leat_status_t status = find_shape(c, 0, out_row_axis, out_shape);
  if (status) return status;
  for (int i = 1; i < sum->count && !status; ++i) {
    leat_shape_t shape;
    status = find_shape(c, i, out_row_axis, &shape);
    if (status) break;
    if (!leat_shape_equal(&shape, out_shape)) {
      status = leat_kernel_invalid(c, "input %d is %s, must have the shape of input 0, %s", i,
                                   LEAT_SHAPE_TEXT(&shape), LEAT_SHAPE_TEXT(out_shape));
    }
    leat_shape_release(&shape);
  }
  if (status) leat_shape_release(out_shape);
  return status;
}

// ---- The sum ------------------------------------------------------------------------------------

// Returns the row of the term's input that lies in row |index| of the sum; -1 where that row is
// padding.
static int64_t find_row(const job_t* job, const term_t* term, int64_t index) {
  int64_t row = 0, stride = 1;
  if (!job->pads_outside) return index;
  for (int d = job->row_axis - 1; d >= 0; --d) {
    const int64_t size = leat_shape_dim(&job->output->shape, d);
    const int64_t inner = leat_shape_dim(&term->input->shape, d);
    const int64_t at = index % size - leat_index_read(term->paddings, 2 * d);
    if (at < 0 || at >= inner) return -1;
    row += at * stride;
    stride *= inner;
    index /= size;
  }
  return row;
}

// Returns the address of the element at |column| of row |row| of the term's input.
static const char* find_element(const job_t* job, const term_t* term, int64_t row, int64_t column) {
  return (const char*)term->input->data + (row * term->length + column) * job->add_n->element_bytes;
}

// Puts elements [index, index + n) of the padded term together at |to|, row by row.
static void pad_block(const job_t* job, const term_t* term, int64_t index, int64_t n, char* to) {
  const int64_t width = job->add_n->element_bytes;
  int64_t row = index / job->row_length, column = index % job->row_length;
  memset(to, 0, (size_t)(n * width));
  for (int64_t end; n > 0; n -= end - column, column = 0, ++row) {
    end = LEAT_MIN(column + n, job->row_length);
    const int64_t from = LEAT_MAX(column, term->before);
    const int64_t count = LEAT_MIN(end, term->before + term->length) - from;
    const int64_t source = count > 0 ? find_row(job, term, row) : -1;
    if (source >= 0) {
      memcpy(to + (from - column) * width, find_element(job, term, source, from - term->before),
             (size_t)(count * width));
    }
    to += (end - column) * width;
  }
}

// Gives AddN elements [index, index + n) of padded term |i|: a pointer into its input, NULL where
// all are zero, or |room|, into which they were put.
static const void* term_at(const void* data, int i, int64_t index, int64_t n, void* room) {
  const job_t* job = data;
  const term_t* term = &job->terms[i];
  const int64_t row = index / job->row_length;
  const int64_t column = index % job->row_length - term->before;
  if (column + term->before + n <= job->row_length) {
    if (column + n <= 0 || column >= term->length) return NULL;
    if (column >= 0 && column + n <= term->length) {
      const int64_t source = find_row(job, term, row);
      return source < 0 ? NULL : find_element(job, term, source, column);
    }
  }
  pad_block(job, term, index, n, room);
  return room;
}

static void add_shard(void* data, int64_t begin, int64_t end) {
  const job_t* job = data;
  leat_add_n_run(job->add_n, &job->sum, begin, end, job->output->data);
}

// Sets the length of a row of the sum and where each term's data lie in a row. In a sum of scalars,
// which nothing pads, a row is one element.
static void find_terms(const leat_kernel_context_t* c, job_t* job) {
  const leat_shape_t* shape = &job->output->shape;
  const int axis = job->row_axis, count = job->sum.count;
  if (shape->rank > 0) job->row_length = leat_shape_product(shape, axis, shape->rank);
  for (int i = 0; i < count; ++i) {
    term_t* term = &job->terms[i];
    *term = (term_t){leat_kernel_input(c, i), leat_kernel_input(c, count + i), 0, 1};
    if (shape->rank == 0) continue;
    const int64_t inner = leat_shape_product(shape, axis + 1, shape->rank);
    term->before = leat_index_read(term->paddings, 2 * axis) * inner;
    term->length = leat_shape_dim(&term->input->shape, axis) * inner;
    for (int d = 0; d < axis; ++d) {
      job->pads_outside |= leat_shape_dim(&term->input->shape, d) != leat_shape_dim(shape, d);
    }
  }
}

static leat_status_t run(leat_kernel_context_t* c, int row_axis, leat_tensor_t* output) {
  const pad_sum_t* sum = leat_kernel_state(c);
  job_t job = {.add_n = &sum->add_n, .output = output, .row_axis = row_axis, .row_length = 1};
  job.sum = (leat_add_n_terms_t){.count = sum->count, .at = term_at, .data = &job};
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), (size_t)sum->count, &job.terms));
  find_terms(c, &job);
  leat_kernel_parallel_for(c, output->shape.element_count, 0.3, add_shard, &job);
  leat_allocator_free(leat_allocator_system(), job.terms);
  return leat_ok_status();
}

static leat_status_t pad_sum__cpu(leat_kernel_context_t* c) {
  leat_shape_t shape;
  leat_tensor_t* output;
  int row_axis = 0;
  leat_status_t status = find_common_shape(c, &row_axis, &shape);
  if (status) return status;
  status = leat_kernel_allocate_output(c, 0, &shape, &output);
  leat_shape_release(&shape);
  if (status || output->shape.element_count == 0) return status;
  return run(c, row_axis, output);
}

const leat_kernel_row_t leat_pad_sum_kernels_cpu[] = {
    LEAT_CPU_KERNEL("_SumOfPads", "T: " LEAT_TYPES_NUMBER "; Tpaddings: " LEAT_TYPES_INDEX,
                    pad_sum_t, create, pad_sum__cpu, .access = LEAT_ACCESS_PAD_SUM,
                    .destroy = destroy),
    LEAT_KERNEL_ROWS_END,
};
