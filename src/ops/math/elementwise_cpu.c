// The engine of elementwise kernels: it does everything around a loop, which only computes n
// results from dense arrays of n elements. Ops therefore need one loop per type and no code for
// broadcasting, threads or half precision. Work is cut into shards of the output, and a shard into
// pieces in which every operand is a dense array.
//
//   operand with all elements    ─────────────────────────▶ loop   (read in place)
//   operand that is repeated     ──▶ block on the stack ──▶ loop   (BLOCK elements at a time)
//   half, bfloat16               ──▶ floats on the stack ─▶ loop ─▶ floats ─▶ rounded to output
//
// Three paths serve three cases: all shapes equal (same_shard: no blocks at all), long rows
// (visit_rows: only an operand of one element per row is repeated into a block) and short rows
// (visit_blocks: a piece spans many rows, since a call of the loop per row would cost more than the
// loop). The output may take the bytes of an input; that is safe because element i of the output is
// written after element i of every input has been read. Loops report faults as bits, which shards
// collect; the first kind that is set becomes the kernel's status. Kernels in ops/math and ops/nn
// and the fused interpreter (fused_cpu.c) call the engine.
#include "ops/math/elementwise_cpu.h"

#include <string.h>

#include "base/checked.h"
#include "base/sync.h"
#include "device/cpu/vector_math.h"

#define MAX_INPUTS LEAT_ELEMENTWISE_MAX_INPUTS
#define BLOCK 512             // elements of a block on the stack
#define SHORT_ROW 64          // a row that is shorter joins a piece of many rows
// The shortest row of a matrix that is not joined; it is longer because a matrix is gathered by a
// quicker function.
#define SHORT_MATRIX_ROW 256
#define MAX_ELEMENT_BYTES 24
#define MAX_CHAINED_BYTES 16

// ---- Creation -----------------------------------------------------------------------------------

leat_loop_type_t leat_loop_type(int dtype) {
  static const uint8_t types[LEAT_DTYPE_COUNT] = {
#define ENTRY(NAME) [LEAT_DTYPE_##NAME] = LEAT_LOOP_TYPE_##NAME,
      LEAT_LOOP_TYPES(ENTRY)
#undef ENTRY
      [LEAT_DTYPE_QINT8] = LEAT_LOOP_TYPE_INT8,
      [LEAT_DTYPE_QINT16] = LEAT_LOOP_TYPE_INT16,
      [LEAT_DTYPE_QINT32] = LEAT_LOOP_TYPE_INT32,
      [LEAT_DTYPE_QUINT8] = LEAT_LOOP_TYPE_UINT8,
      [LEAT_DTYPE_QUINT16] = LEAT_LOOP_TYPE_UINT16,
  };
  return (leat_loop_type_t)types[dtype];
}

static bool is_half(int dtype) {
  return dtype == LEAT_DTYPE_HALF || dtype == LEAT_DTYPE_BFLOAT16;
}

// Looks in the tables in the order of preference; each of them may be NULL.
static leat_elementwise_loop_t find_loop(const leat_elementwise_loops_t vector,
                                         const leat_elementwise_loops_t base,
                                         const leat_elementwise_loops_t plain, int dtype) {
  const leat_loop_type_t type = leat_loop_type(dtype);
  if (vector && vector[type]) return vector[type];
  if (base && base[type]) return base[type];
  return plain ? plain[type] : NULL;
}

leat_status_t leat_elementwise_create(leat_kernel_creation_t* c, void* state,
                                      const leat_elementwise_loops_t vector,
                                      const leat_elementwise_loops_t base,
                                      const leat_elementwise_loops_t plain, int deciding,
                                      float cost_ns) {
  leat_elementwise_t* e = state;
  const leat_kernel_t* kernel = c->kernel;
  int dtype = leat_dtype_base(kernel->input_types[deciding]);
  e->cost_ns = cost_ns;
  e->input_count = (uint8_t)kernel->input_count;
  e->output_size = (uint8_t)leat_dtype_size(kernel->output_types[0]);
  e->object_output =
      leat_dtype_in(leat_dtype_base(kernel->output_types[0]), LEAT_DTYPES_OBJECT);
  for (int i = 0; i < kernel->input_count; ++i) {
    int input_type = leat_dtype_base(kernel->input_types[i]);
    e->input_size[i] = (uint8_t)leat_dtype_size(input_type);
    if (input_type == LEAT_DTYPE_STRING) e->string_inputs |= (uint8_t)(1 << i);
  }
  e->loop = find_loop(vector, base, plain, dtype);
  if (!e->loop && is_half(dtype)) {
    e->loop = find_loop(vector, base, plain, LEAT_DTYPE_FLOAT);
    e->is_bfloat16 = dtype == LEAT_DTYPE_BFLOAT16;
    e->float_output = is_half(leat_dtype_base(kernel->output_types[0]));
    e->in_blocks = true;
    for (int i = 0; i < kernel->input_count; ++i) {
      if (is_half(leat_dtype_base(kernel->input_types[i]))) e->float_inputs |= (uint8_t)(1 << i);
    }
  }
  if (e->loop) return leat_ok_status();
  return leat_make_status(LEAT_UNIMPLEMENTED,
                          "Create failed for node '%.*s' (%s): T is %s, must be a type with a loop",
                          LEAT_SV_ARG(kernel->node_name), kernel->row->op, leat_dtype_name(dtype));
}

// ---- One piece ----------------------------------------------------------------------------------

// Runs a float loop over halves or bfloat16, through blocks of floats on the stack.
static int run_through_float(const leat_elementwise_t* e, const void* const inputs[], void* output,
                             int64_t n) {
  const leat_vector_math_t* m = leat_vector_math();
  float blocks[MAX_INPUTS][BLOCK], result[BLOCK];
  int faults = 0;
  for (int64_t i = 0; i < n; i += BLOCK) {
    int64_t count = LEAT_MIN(n - i, BLOCK);
    const void* pieces[MAX_INPUTS];
    for (int k = 0; k < e->input_count; ++k) {
      const char* piece = (const char*)inputs[k] + i * e->input_size[k];
      pieces[k] = piece;
      if (!(e->float_inputs >> k & 1)) continue;
      (e->is_bfloat16 ? m->bfloat16_to_float : m->half_to_float)((const uint16_t*)piece, blocks[k],
                                                                 count);
      pieces[k] = blocks[k];
    }
    char* target = (char*)output + i * e->output_size;
    faults |= e->loop(pieces, e->float_output ? (void*)result : target, count);
    if (!e->float_output) continue;
    (e->is_bfloat16 ? m->bfloat16_from_float : m->half_from_float)(result, (uint16_t*)target,
                                                                   count);
  }
  return faults;
}

// Runs the loop and then the chain, each over the results of the one before, in blocks on the
// stack.
static int run_chain(const leat_elementwise_t* e, const void* const inputs[], void* output,
                     int64_t n) {
  _Alignas(64) char blocks[LEAT_ELEMENTWISE_MAX_CHAIN][BLOCK * MAX_CHAINED_BYTES];
  int faults = 0;
  for (int64_t i = 0; i < n; i += BLOCK) {
    const int64_t count = LEAT_MIN(n - i, BLOCK);
    const void* pieces[MAX_INPUTS];
    for (int k = 0; k < e->input_count; ++k) {
      pieces[k] = (const char*)inputs[k] + i * e->input_size[k];
    }
    faults |= e->loop(pieces, blocks[0], count);
    for (int k = 0; k < LEAT_ELEMENTWISE_MAX_CHAIN && e->chain[k]; ++k) {
      const bool is_last = k + 1 == LEAT_ELEMENTWISE_MAX_CHAIN || !e->chain[k + 1];
      const void* from = blocks[k];
      void* to = is_last ? (char*)output + i * e->output_size : blocks[k + 1];
      faults |= e->chain[k](&from, to, count);
    }
  }
  return faults;
}

// A mask of the inputs whose bytes the output may take. An output of objects takes none, because
// the loop reads the inputs' objects while it makes new ones.
static inline uint64_t forwardable(const leat_elementwise_t* e) {
  return e->object_output ? 0 : (UINT64_C(1) << e->input_count) - 1;
}

static inline int run_piece(const leat_elementwise_t* e, const void* const inputs[], void* output,
                            int64_t n) {
  if (LEAT_LIKELY(!e->in_blocks)) return e->loop(inputs, output, n);
  return e->chain[0] ? run_chain(e, inputs, output, n) : run_through_float(e, inputs, output, n);
}

int leat_elementwise_piece(const leat_elementwise_t* e, const void* const inputs[], void* output,
                           int64_t n) {
  return run_piece(e, inputs, output, n);
}

// TensorFlow reports a division by zero in its Truncate ops as INTERNAL, and in all others as
// INVALID_ARGUMENT; programs may depend on the code.
LEAT_COLD leat_status_t leat_elementwise_fault_status(const leat_kernel_context_t* c, int faults) {
  if (faults & LEAT_ELEMENTWISE_DIVISION_BY_ZERO) {
    bool truncates = strncmp(c->kernel->row->op, "Truncate", 8) == 0;
    return leat_kernel_error(c, truncates ? LEAT_INTERNAL : LEAT_INVALID_ARGUMENT,
                             "Integer division by zero");
  }
  return leat_kernel_invalid(c, "Integers to negative integer powers are not allowed");
}

// ---- All operands alike -------------------------------------------------------------------------

typedef struct leat_elementwise_job_s {
  const leat_elementwise_t* e;
  const char* inputs[MAX_INPUTS];
  char* output;
  const leat_broadcast_t* plan;
  atomic_int faults;
} leat_elementwise_job_t;

static void same_shard(void* data, int64_t begin, int64_t end) {
  leat_elementwise_job_t* job = data;
  const leat_elementwise_t* e = job->e;
  const void* pieces[MAX_INPUTS];
  for (int k = 0; k < e->input_count; ++k) pieces[k] = job->inputs[k] + begin * e->input_size[k];
  int faults = run_piece(e, pieces, job->output + begin * e->output_size, end - begin);
  if (faults) atomic_fetch_or(&job->faults, faults);
}

// Runs |e| over operands that have as many elements as the output. Less than 10 us of work stays on
// this thread.
static leat_status_t run_same(leat_kernel_context_t* c, const leat_elementwise_t* e,
                              const leat_tensor_t* const inputs[], leat_tensor_t* output) {
  int64_t n = output->shape.element_count;
  leat_elementwise_job_t job = {.e = e, .output = output->data};
  for (int k = 0; k < e->input_count; ++k) job.inputs[k] = inputs[k]->data;
  if ((double)n * e->cost_ns < 10000) {
    if (n) same_shard(&job, 0, n);
  } else {
    leat_kernel_parallel_for(c, n, e->cost_ns, same_shard, &job);
  }
  int faults = atomic_load_explicit(&job.faults, memory_order_relaxed);
  return LEAT_LIKELY(!faults) ? leat_ok_status() : leat_elementwise_fault_status(c, faults);
}

// The fast path for one number: it makes no job and looks at no other input.
static leat_status_t run_scalar(leat_kernel_context_t* c, const leat_elementwise_t* e,
                                const leat_tensor_t* input) {
  leat_tensor_t* output;
  const void* x = input->data;
  LEAT_RETURN_IF_ERROR(
      leat_kernel_forward_any_or_allocate(c, forwardable(e), 0, &input->shape, &output));
  int faults = run_piece(e, &x, output->data, 1);
  return LEAT_LIKELY(!faults) ? leat_ok_status() : leat_elementwise_fault_status(c, faults);
}

leat_status_t leat_elementwise_same__cpu(leat_kernel_context_t* c) {
  const leat_elementwise_t* e = leat_kernel_state(c);
  const leat_tensor_t* inputs[MAX_INPUTS] = {leat_kernel_input(c, 0)};
  if (e->input_count == 1 && inputs[0]->shape.rank == 0) return run_scalar(c, e, inputs[0]);
  for (int k = 0; k < e->input_count; ++k) {
    inputs[k] = leat_kernel_input(c, k);
    if (inputs[k]->shape.element_count != inputs[0]->shape.element_count) {
      return leat_kernel_invalid(c, "The two arguments to a cwise op must have same number of "
                                 "elements, got %lld and %lld: input %d is %s, the first %s",
                                 (long long)inputs[0]->shape.element_count,
                                 (long long)inputs[k]->shape.element_count, k,
                                 LEAT_SHAPE_TEXT(&inputs[k]->shape),
                                 LEAT_SHAPE_TEXT(&inputs[0]->shape));
    }
  }
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_forward_any_or_allocate(
      c, forwardable(e), 0, &inputs[0]->shape, &output));
  return run_same(c, e, inputs, output);
}

// ---- Broadcast ----------------------------------------------------------------------------------

// Where the dense pieces of a broadcast operand come from.
typedef enum leat_operand_kind_e {
  OPERAND_DIRECT,    // the operand has every element of the output: read in place
  OPERAND_PERIODIC,  // one short row for all rows: repeated into a block once per shard
  OPERAND_GATHERED,  // anything else: copied into a block for every piece
} leat_operand_kind_t;

typedef struct leat_operand_block_s {
  _Alignas(64) char bytes[(BLOCK + SHORT_MATRIX_ROW) * MAX_ELEMENT_BYTES];
} leat_operand_block_t;

// Copies of one element that fill 16 bytes.
typedef uint64_t pattern_t __attribute__((vector_size(16)));
#define SIZES(X) X(1, uint8_t) X(2, uint16_t) X(4, uint32_t) X(8, uint64_t)

// Repeats an element of |size| bytes, which is 1, 2, 4, 8 or 16. |size| is constant in all callers
// that matter, so that the switch disappears.
__attribute__((always_inline)) static inline pattern_t pattern_of(const char* element, int size) {
  pattern_t pattern;
  switch (size) {
#define LEAT_CASE_(bytes, type)                            \
  case bytes: {                                            \
    typedef type items_t __attribute__((vector_size(16))); \
    type item;                                             \
    memcpy(&item, element, bytes);                         \
    return (pattern_t)((items_t){0} + item);               \
  }
    SIZES(LEAT_CASE_)
#undef LEAT_CASE_
    default:
      memcpy(&pattern, element, sizeof pattern);
      return pattern;
  }
}

// Writes the last |bytes| of a fill, fewer than 16.
static inline void fill_few(char* target, pattern_t pattern, int64_t bytes) {
#define LEAT_WRITE_(part)             \
  if (bytes & (part)) {               \
    memcpy(target, &pattern, (part)); \
    target += (part);                 \
  }
  LEAT_WRITE_(8)
  LEAT_WRITE_(4)
  LEAT_WRITE_(2)
  LEAT_WRITE_(1)
#undef LEAT_WRITE_
}

// Fills |bytes| at |target|, a multiple of the element's size, with |pattern|. It may write over up
// to |room| bytes, at least |bytes|, so that the end needs no exact store.
static inline void fill(char* target, pattern_t pattern, int64_t bytes, int64_t room) {
  const int64_t width = sizeof pattern;
  int64_t at = 0;
  for (; at + 4 * width <= bytes; at += 4 * width) {
    for (int64_t i = 0; i < 4; ++i) memcpy(target + at + i * width, &pattern, sizeof pattern);
  }
  for (; at < bytes && at + width <= room; at += width) {
    memcpy(target + at, &pattern, sizeof pattern);
  }
  if (at < bytes) fill_few(target + at, pattern, bytes - at);
}

// Makes |n| strings at |target| that are views of those at |source|, or of the first of them |n|
// times. Views own nothing, so that nobody needs to free the block.
static void lay_strings(char* target, const char* source, int64_t n, bool is_repeated) {
  TF_TString* to = (TF_TString*)target;
  const TF_TString* from = (const TF_TString*)source;
  for (int64_t i = 0; i < n; ++i) {
    const TF_TString* string = is_repeated ? from : from + i;
    TF_TString_Init(&to[i]);
    TF_TString_AssignView(&to[i], TF_TString_GetDataPointer(string), TF_TString_GetSize(string));
  }
}

// Copies |n| elements of operand |k| from |source| to |target|, or the first of them |n| times.
static void lay(const leat_elementwise_t* e, int k, const char* source, char* target, int64_t n,
                bool is_repeated) {
  int size = e->input_size[k];
  if (LEAT_UNLIKELY(e->string_inputs >> k & 1)) {
    lay_strings(target, source, n, is_repeated);
  } else if (is_repeated) {
    fill(target, pattern_of(source, size), n * size, n * size);
  } else {
    memcpy(target, source, (size_t)(n * size));
  }
}

// Computes elements [begin, end) row by row where rows are long. Rows are cut into pieces of BLOCK
// elements only where an operand has one element per row, which is then repeated into a block.
static int visit_rows(const leat_elementwise_job_t* job, leat_operand_block_t* blocks,
                      int64_t begin, int64_t end) {
  const leat_elementwise_t* e = job->e;
  const leat_broadcast_t* plan = job->plan;
  leat_broadcast_place_t place;
  leat_broadcast_seek(plan, begin, &place);
  int64_t filled_from[MAX_INPUTS] = {-1, -1, -1}, filled[MAX_INPUTS] = {0};
  bool any_repeated = false;
  for (int k = 0; k < plan->count; ++k) any_repeated |= !plan->strides[k][plan->rank - 1];
  int faults = 0;
  for (int64_t i = begin; i < end;) {
    int64_t n = LEAT_MIN(leat_broadcast_row_left(plan, &place), end - i);
    if (any_repeated) n = LEAT_MIN(n, BLOCK);
    const void* pieces[MAX_INPUTS];
    for (int k = 0; k < plan->count; ++k) {
      const char* source = job->inputs[k] + place.offsets[k] * e->input_size[k];
      pieces[k] = source;
      if (plan->strides[k][plan->rank - 1]) continue;
      if (filled_from[k] != place.offsets[k] || filled[k] < n) {
        lay(e, k, source, blocks[k].bytes, n, true);
        filled_from[k] = place.offsets[k];
        filled[k] = n;
      }
      pieces[k] = blocks[k].bytes;
    }
    faults |= run_piece(e, pieces, job->output + i * e->output_size, n);
    leat_broadcast_advance(plan, n, &place);
    i += n;
  }
  return faults;
}

// Writes |n| elements of an operand with one element per row of a matrix, each |row| times, from
// element |index| of the output on, which may be in the middle of a row. |size| is its bytes.
__attribute__((always_inline)) static inline void gather_items(const char* source, int size,
                                                               int64_t row, int64_t index,
                                                               int64_t n, char* target) {
  source += index / row * size;
  for (int64_t left = row - index % row; n > 0; left = row, source += size) {
    const int64_t count = LEAT_MIN(n, left);
    fill(target, pattern_of(source, size), count * size, n * size);
    target += count * size;
    n -= count;
  }
}

static void gather_column(const char* source, int size, int64_t row, int64_t index, int64_t n,
                          char* target) {
  switch (size) {
#define LEAT_CASE_(bytes, type)                         \
  case bytes:                                           \
    gather_items(source, bytes, row, index, n, target); \
    return;
    SIZES(LEAT_CASE_)
#undef LEAT_CASE_
    default:
      gather_items(source, 16, row, index, n, target);
  }
}

void leat_elementwise_gather(const leat_elementwise_t* e, const leat_broadcast_t* plan, int k,
                             const void* input, int64_t index, int64_t n, void* output) {
  const int size = e->input_size[k];
  const bool is_repeated = !plan->strides[k][plan->rank - 1];
  char* target = output;
  if (is_repeated && plan->rank == 2 && plan->strides[k][0] && !e->string_inputs) {
    gather_column(input, size, plan->dims[1], index, n, output);
    return;
  }
  leat_broadcast_place_t place;
  leat_broadcast_seek(plan, index, &place);
  while (n > 0) {
    int64_t count = LEAT_MIN(leat_broadcast_row_left(plan, &place), n);
    const char* source = (const char*)input + place.offsets[k] * size;
    lay(e, k, source, target, count, is_repeated);
    leat_broadcast_advance(plan, count, &place);
    target += count * size;
    n -= count;
  }
}

void leat_elementwise_repeat(const leat_elementwise_t* e, int k, const void* input, int64_t n,
                             void* target) {
  lay(e, k, input, target, n, true);
}

static leat_operand_kind_t operand_kind(const leat_broadcast_t* plan, int k) {
  bool reads_all = true, reads_outer = false;
  for (int d = 0; d < plan->rank; ++d) {
    reads_all &= plan->strides[k][d] != 0;
    reads_outer |= d < plan->rank - 1 && plan->strides[k][d] != 0;
  }
  if (reads_all) return OPERAND_DIRECT;
  return reads_outer ? OPERAND_GATHERED : OPERAND_PERIODIC;
}

// Computes elements [begin, end) in pieces of BLOCK elements that span many short rows.
static int visit_blocks(const leat_elementwise_job_t* job, leat_operand_block_t* blocks,
                        int64_t begin, int64_t end) {
  const leat_elementwise_t* e = job->e;
  const leat_broadcast_t* plan = job->plan;
  const int64_t row = plan->dims[plan->rank - 1];
  int64_t total = 1;
  for (int d = 0; d < plan->rank; ++d) total *= plan->dims[d];
  leat_operand_kind_t kinds[MAX_INPUTS];
  for (int k = 0; k < plan->count; ++k) {
    kinds[k] = operand_kind(plan, k);
    if (kinds[k] != OPERAND_PERIODIC) continue;
    leat_elementwise_gather(e, plan, k, job->inputs[k], 0, LEAT_MIN(BLOCK + row, total),
                            blocks[k].bytes);
  }
  int faults = 0;
  for (int64_t i = begin; i < end; i += BLOCK) {
    int64_t n = LEAT_MIN(end - i, BLOCK);
    const void* pieces[MAX_INPUTS];
    for (int k = 0; k < plan->count; ++k) {
      if (kinds[k] == OPERAND_DIRECT) {
        pieces[k] = job->inputs[k] + i * e->input_size[k];
      } else if (kinds[k] == OPERAND_PERIODIC) {
        pieces[k] = blocks[k].bytes + i % row * e->input_size[k];
      } else {
        leat_elementwise_gather(e, plan, k, job->inputs[k], i, n, blocks[k].bytes);
        pieces[k] = blocks[k].bytes;
      }
    }
    faults |= run_piece(e, pieces, job->output + i * e->output_size, n);
  }
  return faults;
}

static bool has_short_rows(const leat_broadcast_t* plan) {
  return plan->rank > 1 &&
         plan->dims[plan->rank - 1] < (plan->rank == 2 ? SHORT_MATRIX_ROW : SHORT_ROW);
}

static void broadcast_shard(void* data, int64_t begin, int64_t end) {
  leat_elementwise_job_t* job = data;
  leat_operand_block_t blocks[MAX_INPUTS];
  int faults = has_short_rows(job->plan) ? visit_blocks(job, blocks, begin, end)
                                         : visit_rows(job, blocks, begin, end);
  if (faults) atomic_fetch_or(&job->faults, faults);
}

static leat_status_t run_broadcast(leat_kernel_context_t* c, const leat_elementwise_t* e,
                                   const leat_tensor_t* const inputs[], leat_tensor_t* output) {
  const leat_shape_t* shapes[MAX_INPUTS];
  leat_elementwise_job_t job = {.e = e, .output = output->data};
  for (int k = 0; k < e->input_count; ++k) {
    shapes[k] = &inputs[k]->shape;
    job.inputs[k] = inputs[k]->data;
  }
  leat_broadcast_t plan;
  leat_broadcast_plan(shapes, e->input_count, &output->shape, &plan);
  job.plan = &plan;
  leat_kernel_parallel_for(c, output->shape.element_count, e->cost_ns, broadcast_shard, &job);
  int faults = atomic_load_explicit(&job.faults, memory_order_relaxed);
  return LEAT_LIKELY(!faults) ? leat_ok_status() : leat_elementwise_fault_status(c, faults);
}

leat_status_t leat_elementwise_run(leat_kernel_context_t* c, const leat_elementwise_t* e,
                                   const leat_tensor_t* const inputs[], leat_tensor_t* output) {
  bool is_same = true;
  for (int k = 0; k < e->input_count; ++k) {
    is_same &= inputs[k]->shape.element_count == output->shape.element_count;
  }
  if (is_same || output->shape.element_count == 0) return run_same(c, e, inputs, output);
  return run_broadcast(c, e, inputs, output);
}

leat_status_t leat_elementwise_shape(leat_kernel_context_t* c, int count,
                                     const leat_tensor_t* const inputs[],
                                     leat_shape_t* out_shape) {
  leat_shape_t shape = leat_shape_retain(&inputs[0]->shape);
  for (int k = 1; k < count; ++k) {
    leat_shape_t wider;
    leat_status_t status = leat_shape_broadcast(&shape, &inputs[k]->shape, &wider);
    if (status) {
      leat_status_free(status);
      status = leat_kernel_invalid(c, "Incompatible shapes: %s vs. %s", LEAT_SHAPE_TEXT(&shape),
                                   LEAT_SHAPE_TEXT(&inputs[k]->shape));
      leat_shape_release(&shape);
      return status;
    }
    leat_shape_release(&shape);
    shape = wider;
  }
  *out_shape = shape;
  return leat_ok_status();
}

static leat_status_t broadcast_general(leat_kernel_context_t* c, const leat_elementwise_t* e,
                                       const leat_tensor_t* const inputs[]) {
  leat_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_elementwise_shape(c, e->input_count, inputs, &shape));
  leat_tensor_t* output;
  leat_status_t status = leat_kernel_forward_any_or_allocate(c, forwardable(e), 0,
                                                             &shape, &output);
  if (!status) status = leat_elementwise_run(c, e, inputs, output);
  leat_shape_release(&shape);
  return status;
}

leat_status_t leat_elementwise_broadcast__cpu(leat_kernel_context_t* c) {
  const leat_elementwise_t* e = leat_kernel_state(c);
  const leat_tensor_t* inputs[MAX_INPUTS] = {0};
  bool is_same = true;
  for (int k = 0; k < e->input_count; ++k) {
    inputs[k] = leat_kernel_input(c, k);
    is_same &= k == 0 || leat_shape_equal(&inputs[0]->shape, &inputs[k]->shape);
  }
  if (!is_same) return broadcast_general(c, e, inputs);
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_forward_any_or_allocate(
      c, forwardable(e), 0, &inputs[0]->shape, &output));
  return run_same(c, e, inputs, output);
}
