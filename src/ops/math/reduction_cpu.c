// The CPU kernels of Sum, Mean, Prod, Max, Min, EuclideanNorm, All and Any. A plan
// (reduction_plan_cpu.h) merges the dimensions of the input so that kept and reduced ones
// alternate; a reducer (reduction_cpu.h) folds numbers of one type. This file cuts the work into
// pieces and runs them on the pool:
//
//   inner dimension reduced:  a piece is a group of outputs, or one chunk of a long output
//   inner dimension kept:     a piece is a block of COLUMNS outputs and a chunk of rows
//
// Invariant: the pieces depend on the shape alone, never on the number of threads, and the
// accumulators of an output's chunks are merged in the order of the chunks. A sum of floats
// therefore has the same bits on any number of threads. The obvious alternative, one accumulator
// per thread, would be simpler but give a result that changes with the machine. Accumulators are
// doubles or 64-bit integers, so that a chunk's partial result loses nothing before it is merged.
#include "ops/math/reduction_cpu.h"

#include <string.h>

#include "base/checked.h"
#include "ops/kernel_rows.h"
#include "ops/math/reduction_plan_cpu.h"

#define CHUNK LEAT_REDUCTION_MAX_ROW  // about as many terms as one piece folds
#define COLUMNS 512      // outputs that one piece covers where the inner dimension is kept
#define NARROW 64        // a kept inner dimension below this is folded several rows at a time
#define MAX_ACCUMULATOR_BYTES 16

static leat_status_t create_reduction(leat_kernel_creation_t* c, void* state,
                                      leat_reduction_t reduction, leat_finish_t finish) {
  leat_reduction_state_t* s = state;
  LEAT_RETURN_IF_ERROR(leat_reducer_create(c, reduction, &s->reducer));
  s->finish = finish;
  s->changes_single_values = reduction == LEAT_REDUCTION_NORM;
  return leat_kernel_attr_bool(c, "keep_dims", &s->keep_dims);
}

#define CREATE(name, reduction, finish)                                              \
  static leat_status_t create_##name(leat_kernel_creation_t* c, void* state) {       \
    return create_reduction(c, state, LEAT_REDUCTION_##reduction, LEAT_FINISH_##finish);  \
  }
CREATE(Sum, SUM, PLAIN)
CREATE(Mean, SUM, MEAN)
CREATE(Prod, PROD, PLAIN)
CREATE(Max, MAX, PLAIN)
CREATE(Min, MIN, PLAIN)
CREATE(EuclideanNorm, NORM, ROOT)
CREATE(All, ALL, PLAIN)
CREATE(Any, ANY, PLAIN)

// ---- Pieces -------------------------------------------------------------------------------------

// One reduction. Pieces are numbered so that the chunks of one output (or block of columns) are
// neighbours: piece = (output or block) * chunks + chunk.
typedef struct leat_reduction_job_s {
  const leat_reduction_state_t* state;
  const leat_reduction_plan_t* plan;
  const char* input;
  char* output;
  int64_t output_bytes;
  int64_t terms;          // terms that are folded into one output
  int64_t chunk_terms;    // terms of one chunk
  int64_t chunks;         // chunks of one output
  int64_t column_blocks;  // blocks of columns for one index of the outer kept dimensions
  int64_t width;          // the size of the inner dimension where it is kept
  int64_t outputs;
  int64_t group;          // outputs of one piece where the inner dimension is reduced
  char* partials;         // accumulators [chunk][output]; NULL when every output has one chunk
} leat_reduction_job_t;

// Folds rows [first, last) of a short inner dimension. The rows are folded element by element into
// one accumulator per column, which runs along the vector lanes; the columns' accumulators are then
// folded into one by halves.
static void fold_short_rows(const leat_reduction_job_t* job, const char* base, int64_t first,
                            int64_t last, void* accumulator) {
  const leat_reduction_walk_t* walk = &job->plan->reduced;
  const leat_reducer_t* reducer = &job->state->reducer;
  int64_t width = job->plan->inner, bytes = reducer->accumulator_bytes;
  int64_t run = walk->dims[walk->rank - 1], stride = walk->strides[walk->rank - 1];
  _Alignas(64) char wide[COLUMNS * MAX_ACCUMULATOR_BYTES];
  leat_reducer_start(reducer, wide, width);
  while (first < last) {
    int64_t n = LEAT_MIN(run - first % run, last - first);
    const char* x = base + leat_reduction_offset(walk, first) * reducer->element_bytes;
    leat_reducer_rows(reducer, x, stride, n, width, wide);
    first += n;
  }
  while (width > 1) {
    int64_t half = width / 2;
    leat_reducer_merge(reducer, wide + (width - half) * bytes, wide, half);
    width -= half;
  }
  leat_reducer_merge(reducer, wide, accumulator, 1);
}

// Folds terms [begin, end) of one output into |accumulator|. The output's first term is at |base|,
// and its inner dimension is reduced.
static void fold_terms(const leat_reduction_job_t* job, const char* base, int64_t begin,
                       int64_t end, void* accumulator) {
  const leat_reduction_plan_t* plan = job->plan;
  const leat_reduction_state_t* s = job->state;
  if (plan->reduced.rank == 0) {
    const char* x = base + begin * s->reducer.element_bytes;
    leat_reducer_row(&s->reducer, x, end - begin, accumulator);
    return;
  }
  if (plan->inner <= COLUMNS && plan->inner >= 4 && end - begin >= 4 * plan->inner) {
    int64_t first = (begin + plan->inner - 1) / plan->inner, last = end / plan->inner;
    if (begin % plan->inner) fold_terms(job, base, begin, first * plan->inner, accumulator);
    fold_short_rows(job, base, first, last, accumulator);
    begin = last * plan->inner;
  }
  while (begin < end) {
    int64_t row = begin / plan->inner, column = begin % plan->inner;
    int64_t n = LEAT_MIN(plan->inner - column, end - begin);
    int64_t offset = leat_reduction_offset(&plan->reduced, row) + column;
    leat_reducer_row(&s->reducer, base + offset * s->reducer.element_bytes, n, accumulator);
    begin += n;
  }
}

// Folds dense rows of few columns. Several rows are folded as if they were one long row, so that
// vectors are full; the accumulators of these rows are then merged into those of the columns.
static void fold_narrow_rows(const leat_reduction_job_t* job, const char* x, int64_t rows,
                             int64_t width, char* accumulators) {
  const leat_reducer_t* reducer = &job->state->reducer;
  _Alignas(64) char wide[COLUMNS * MAX_ACCUMULATOR_BYTES];
  int64_t joined = COLUMNS / width, wide_rows = rows / joined, wide_width = joined * width;
  leat_reducer_start(reducer, wide, wide_width);
  leat_reducer_rows(reducer, x, wide_width, wide_rows, wide_width, wide);
  for (int64_t g = 0; g < joined; ++g) {
    leat_reducer_merge(reducer, wide + g * width * reducer->accumulator_bytes, accumulators, width);
  }
  int64_t done = wide_rows * joined;
  leat_reducer_rows(reducer, x + done * width * reducer->element_bytes, width, rows - done, width,
                    accumulators);
}

// Folds rows [begin, end) of |width| columns into |width| accumulators, where the inner dimension
// is kept.
static void fold_rows(const leat_reduction_job_t* job, const char* base, int64_t begin,
                      int64_t end, int64_t width, char* accumulators) {
  const leat_reduction_walk_t* walk = &job->plan->reduced;
  const leat_reduction_state_t* s = job->state;
  if (walk->rank == 0) {
    leat_reducer_rows(&s->reducer, base, 0, 1, width, accumulators);
    return;
  }
  int64_t inner_rows = walk->dims[walk->rank - 1], stride = walk->strides[walk->rank - 1];
  while (begin < end) {
    int64_t n = LEAT_MIN(inner_rows - begin % inner_rows, end - begin);
    const char* x = base + leat_reduction_offset(walk, begin) * s->reducer.element_bytes;
    if (width == stride && width < NARROW && n * width >= 4 * COLUMNS) {
      fold_narrow_rows(job, x, n, width, accumulators);
    } else {
      leat_reducer_rows(&s->reducer, x, stride, n, width, accumulators);
    }
    begin += n;
  }
}

// Stores the |n| accumulators of chunk |chunk|: as results when an output has one chunk, otherwise
// among the partial results that are merged when all pieces have run.
static void deliver(const leat_reduction_job_t* job, char* accumulators, int64_t chunk,
                    int64_t output, int64_t n) {
  int64_t bytes = job->state->reducer.accumulator_bytes;
  if (job->partials) {
    memcpy(job->partials + (chunk * job->outputs + output) * bytes, accumulators,
           (size_t)(n * bytes));
  } else {
    leat_reducer_finish(&job->state->reducer, job->state->finish, accumulators,
                        job->output + output * job->output_bytes, n, job->terms);
  }
}

// The first element of the outputs with outer kept index |kept|.
static const char* kept_base(const leat_reduction_job_t* job, int64_t kept) {
  const int64_t offset = leat_reduction_offset(&job->plan->kept, kept);
  return job->input + offset * job->state->reducer.element_bytes;
}

// Folds |terms| elements of each of |n| rows that lie |stride| bytes apart into |n| accumulators.
static void fold_matrix(const leat_reducer_t* reducer, const char* x, int64_t stride, int64_t n,
                        int64_t terms, char* accumulators) {
  leat_reducer_start(reducer, accumulators, n);
  for (int64_t i = 0; i < n; ++i, x += stride) {
    leat_reducer_row(reducer, x, terms, accumulators + i * reducer->accumulator_bytes);
  }
}

void leat_reduction_reduce_rows(const leat_reduction_state_t* state, const void* x, int64_t rows,
                                int64_t terms, void* out) {
  const leat_reducer_t* reducer = &state->reducer;
  const int64_t stride = terms * reducer->element_bytes;
  _Alignas(64) char accumulators[NARROW * MAX_ACCUMULATOR_BYTES];
  for (int64_t i = 0; i < rows; i += NARROW) {
    const int64_t n = LEAT_MIN(rows - i, NARROW);
    fold_matrix(reducer, (const char*)x + i * stride, stride, n, terms, accumulators);
    leat_reducer_finish(reducer, state->finish, accumulators,
                        (char*)out + i * reducer->element_bytes, n, terms);
  }
}

// Runs a piece where the inner dimension is reduced.
static void run_group(const leat_reduction_job_t* job, int64_t piece) {
  const leat_reducer_t* reducer = &job->state->reducer;
  int64_t chunk = piece % job->chunks, output = piece / job->chunks * job->group;
  int64_t begin = chunk * job->chunk_terms, end = LEAT_MIN(begin + job->chunk_terms, job->terms);
  int64_t n = LEAT_MIN(job->group, job->outputs - output);
  _Alignas(64) char accumulators[COLUMNS * MAX_ACCUMULATOR_BYTES];
  if (job->plan->reduced.rank == 0 && job->plan->kept.rank == 1) {  // the rows of a matrix
    int64_t stride = job->plan->inner * reducer->element_bytes;
    const char* x = job->input + output * stride + begin * reducer->element_bytes;
    fold_matrix(reducer, x, stride, n, end - begin, accumulators);
    deliver(job, accumulators, chunk, output, n);
    return;
  }
  leat_reducer_start(reducer, accumulators, n);
  for (int64_t i = 0; i < n; ++i) {
    fold_terms(job, kept_base(job, output + i), begin, end,
               accumulators + i * reducer->accumulator_bytes);
  }
  deliver(job, accumulators, chunk, output, n);
}

// Runs a piece where the inner dimension is kept.
static void run_columns(const leat_reduction_job_t* job, int64_t piece) {
  int64_t chunk = piece % job->chunks;
  int64_t block = piece / job->chunks % job->column_blocks;
  int64_t kept = piece / job->chunks / job->column_blocks;
  int64_t begin = chunk * job->chunk_terms, end = LEAT_MIN(begin + job->chunk_terms, job->terms);
  int64_t column = block * COLUMNS, width = LEAT_MIN(job->width - column, COLUMNS);
  _Alignas(64) char accumulators[COLUMNS * MAX_ACCUMULATOR_BYTES];
  leat_reducer_start(&job->state->reducer, accumulators, width);
  const char* base = kept_base(job, kept) + column * job->state->reducer.element_bytes;
  fold_rows(job, base, begin, end, width, accumulators);
  deliver(job, accumulators, chunk, kept * job->width + column, width);
}

static void reduction_shard(void* data, int64_t begin, int64_t end) {
  const leat_reduction_job_t* job = data;
  for (int64_t piece = begin; piece < end; ++piece) {
    if (job->plan->inner_is_reduced) {
      run_group(job, piece);
    } else {
      run_columns(job, piece);
    }
  }
}

// ---- The run ------------------------------------------------------------------------------------

void leat_reduction_finish_partials(const leat_reduction_state_t* state, void* partials,
                                    int64_t count, int64_t outputs, int64_t terms, void* out) {
  const leat_reducer_t* reducer = &state->reducer;
  for (int64_t i = 1; i < count; ++i) {
    const char* partial = (char*)partials + i * outputs * reducer->accumulator_bytes;
    leat_reducer_merge(reducer, partial, partials, outputs);
  }
  leat_reducer_finish(reducer, state->finish, partials, out, outputs, terms);
}

// Runs a reduction whose outputs have several chunks, through partial results.
static leat_status_t run_chunked(leat_kernel_context_t* c, leat_reduction_job_t* job,
                                 int64_t pieces, double cost_ns) {
  int64_t bytes;
  leat_tensor_t partials;
  if (!leat_checked_multiply(job->outputs * job->chunks, job->state->reducer.accumulator_bytes,
                             &bytes)) {
    return leat_kernel_invalid(c, "the reduction has too many partial results");
  }
  leat_shape_t shape = leat_shape_vector(bytes);
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_temporary(c, LEAT_DTYPE_UINT8, &shape, &partials));
  job->partials = partials.data;
  leat_kernel_parallel_for(c, pieces, cost_ns, reduction_shard, job);
  leat_reduction_finish_partials(job->state, job->partials, job->chunks, job->outputs, job->terms,
                                 job->output);
  leat_tensor_release(&partials);
  return leat_ok_status();
}

// Cuts the work into pieces and returns their number, which depends on the shape alone.
static int64_t cut(leat_reduction_job_t* job) {
  const leat_reduction_plan_t* plan = job->plan;
  int64_t piece_width = plan->inner_is_reduced ? 1 : LEAT_MIN(plan->inner, COLUMNS);
  job->chunk_terms = LEAT_MAX(CHUNK / piece_width, 64);
  job->chunks = (job->terms + job->chunk_terms - 1) / job->chunk_terms;
  if (plan->inner_is_reduced) {
    job->group = LEAT_MAX(LEAT_MIN(CHUNK / job->terms, COLUMNS), 1);
    return (job->outputs + job->group - 1) / job->group * job->chunks;
  }
  job->width = plan->inner;
  job->column_blocks = (job->width + COLUMNS - 1) / COLUMNS;
  return plan->kept.total * job->column_blocks * job->chunks;
}

static leat_status_t reduce(leat_kernel_context_t* c, const leat_reduction_state_t* state,
                            const leat_tensor_t* input, const bool* reduced,
                            leat_tensor_t* output) {
  leat_reduction_plan_t plan;
  leat_reduction_plan(&input->shape, reduced, &plan);
  leat_reduction_job_t job = {
      .state = state,
      .plan = &plan,
      .input = input->data,
      .output = output->data,
      .output_bytes = (int64_t)leat_dtype_size(output->dtype),
      .outputs = output->shape.element_count,
      .terms = input->shape.element_count / output->shape.element_count,
  };
  int64_t pieces = cut(&job);
  double cost_ns =
      10 + LEAT_REDUCTION_COST_NS * (double)input->shape.element_count / (double)pieces;
  if (job.chunks > 1) return run_chunked(c, &job, pieces, cost_ns);
  leat_kernel_parallel_for(c, pieces, cost_ns, reduction_shard, &job);
  return leat_ok_status();
}

// Fills the outputs of a reduction without terms with the result of folding nothing (0 for a sum).
static void fill_empty(const leat_reduction_state_t* s, leat_tensor_t* output) {
  int64_t bytes = (int64_t)leat_dtype_size(output->dtype);
  for (int64_t i = 0; i < output->shape.element_count; ++i) {
    char accumulator[MAX_ACCUMULATOR_BYTES];
    leat_reducer_start(&s->reducer, accumulator, 1);
    leat_reducer_finish(&s->reducer, s->finish, accumulator, (char*)output->data + i * bytes, 1, 0);
  }
}

// true when every output is its only term unchanged, so that the input's bytes are the result.
static bool gives_input(const leat_reduction_state_t* s, const leat_tensor_t* input,
                        const leat_shape_t* output) {
  return output->element_count == input->shape.element_count && !s->changes_single_values;
}

leat_status_t leat_reduction_run(leat_kernel_context_t* c, const leat_reduction_state_t* s,
                                 const leat_tensor_t* input, const bool* reduced,
                                 leat_tensor_t* output) {
  if (output->shape.element_count == 0) return leat_ok_status();
  if (gives_input(s, input, &output->shape)) {
    return leat_tensor_copy_elements(input->dtype, input->data, output->data,
                                     output->shape.element_count);
  }
  if (input->shape.element_count == 0) {
    fill_empty(s, output);
    return leat_ok_status();
  }
  return reduce(c, s, input, reduced, output);
}

static leat_status_t reduce_into(leat_kernel_context_t* c, const leat_tensor_t* input,
                                 const bool* reduced, const leat_shape_t* shape) {
  const leat_reduction_state_t* s = leat_kernel_state(c);
  if (gives_input(s, input, shape)) return leat_kernel_pass_input_reshaped(c, 0, 0, shape);
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, shape, &output));
  return leat_reduction_run(c, s, input, reduced, output);
}

static leat_status_t reduction__cpu(leat_kernel_context_t* c) {
  const leat_reduction_state_t* s = leat_kernel_state(c);
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  bool reduced[LEAT_SHAPE_MAX_RANK];
  LEAT_RETURN_IF_ERROR(
      leat_reduction_axes(c, leat_kernel_input(c, 1), input->shape.rank, reduced));
  leat_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_reduction_shape(&input->shape, reduced, s->keep_dims, &shape));
  leat_status_t status = reduce_into(c, input, reduced, &shape);
  leat_shape_release(&shape);
  return status;
}

#define ROW(name, types)                              \
  {.op = #name,                                       \
   .device_type = "CPU",                              \
   .constraints = types,                              \
   .create = create_##name,                           \
   .state_bytes = sizeof(leat_reduction_state_t),     \
   .access = LEAT_ACCESS_REDUCTION,         \
   .compute = reduction__cpu}
#define REAL                                                                                 \
  "T: half, bfloat16, float, double, int8, int16, int32, int64, uint8, uint16, uint32, uint64"
#define NUMBER REAL ", complex64, complex128"

const leat_kernel_row_t leat_reduction_kernels_cpu[] = {
    ROW(Sum, NUMBER),           ROW(Mean, NUMBER), ROW(Prod, NUMBER), ROW(Max, REAL),
    ROW(Min, REAL),             ROW(EuclideanNorm, NUMBER),
    ROW(All, NULL),             ROW(Any, NULL),
    LEAT_KERNEL_ROWS_END,
};
