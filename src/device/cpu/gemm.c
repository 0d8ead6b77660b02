// The matrix product of float and double as callers see it. This file chooses a path, cuts C into a
// grid of blocks for the pool, and finds each block its packing buffers. MatMul and convolutions
// call it. The paths are, for C = op(A) op(B) + D:
//
//   m or n is 1              a product of a vector, bound by reading the matrix   gemm_rows.inc
//   few rows, transposed B   dot products of rows, nothing packed                 gemm_rows.inc
//   large, matrix unit       three bfloat16 parts per float (AMX)                gemm_split_amx.c
//   large, oneDNN present    oneDNN's product of each block                       onednn_module.h
//   otherwise                packed blocks and tiles in registers                 gemm_kernel.inc
//   no memory to pack        plain loops                                          gemm_grid.inc
//
// Invariant: the path is chosen by the whole shape, before the cut, and blocks are cut at tile
// borders. The order of additions in an element of C therefore does not depend on the number of
// threads. oneDNN is the exception, because it chooses its own order for each block. The thresholds
// below are measured.
#include "device/cpu/gemm.h"

#include <string.h>

#include "base/checked.h"
#include "base/sync.h"
#include "device/cpu/gemm_kernels.h"
#include "device/cpu/gemm_split.h"
#include "device/cpu/module.h"

#define MOST_BLOCKS 64

leat_gemm_shape_t leat_gemm_shape_dense(leat_gemm_op_t op_a, leat_gemm_op_t op_b, int64_t m,
                                        int64_t n, int64_t k) {
  const leat_gemm_shape_t shape = {.op_a = op_a,
                                   .op_b = op_b,
                                   .m = m,
                                   .n = n,
                                   .k = k,
                                   .lda = op_a == LEAT_GEMM_PLAIN ? k : m,
                                   .ldb = op_b == LEAT_GEMM_PLAIN ? n : k,
                                   .ldc = n,
                                   .ldd = n};
  return shape;
}

static const leat_gemm_kernels_t* select_kernels(void) {
  return LEAT_ISA_SELECT(leat_gemm_kernels);
}

// How C is cut: into blocks of |rows| x |columns|, of which the last ones are smaller.
typedef struct grid_s {
  int64_t rows, columns;
  int64_t row_blocks, column_blocks;
} grid_t;

static int64_t round_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }
static int64_t count_blocks(int64_t total, int64_t block) { return (total + block - 1) / block; }

// Chooses, among grids of about |width| blocks, the one whose blocks have the smallest rows +
// columns, which is what each block must pack. No block of less than about 20 us of work is made.
static grid_t choose_grid(const leat_gemm_shape_t* shape, const leat_gemm_blocking_t* blocking,
                          int width) {
  grid_t best = {LEAT_MAX(shape->m, 1), LEAT_MAX(shape->n, 1), 1, 1};
  const double work = (double)shape->m * (double)shape->n * (double)shape->k;
  const int limit = (int)LEAT_MIN(LEAT_MIN(width, MOST_BLOCKS), work / 1e6 + 1);
  double best_cost = 0;
  for (int row_blocks = 1; row_blocks <= limit; ++row_blocks) {
    const int column_blocks = limit / row_blocks;
    const int64_t rows = round_up(count_blocks(shape->m, row_blocks), blocking->tile_rows);
    const int64_t columns = round_up(count_blocks(shape->n, column_blocks), blocking->tile_columns);
    const double cost = (double)rows * (double)columns * (1 + 8.0 / (double)rows +
                                                          8.0 / (double)columns);
    if (row_blocks == 1 || cost < best_cost) {
      best_cost = cost;
      best = (grid_t){rows, columns, count_blocks(shape->m, rows), count_blocks(shape->n, columns)};
    }
  }
  return best;
}

// The bytes that one block packs.
static size_t block_bytes(const leat_gemm_blocking_t* blocking, const grid_t* grid, int64_t k,
                          size_t item_bytes) {
  if (blocking->packed_bytes) return blocking->packed_bytes(grid->rows, grid->columns, k);
  const int64_t depth = LEAT_MIN(k, blocking->depth);
  const int64_t columns = round_up(LEAT_MIN(grid->columns, blocking->columns),
                                   blocking->tile_columns);
  const size_t a = (size_t)leat_gemm_packed_most(grid->rows, k, blocking->rows, blocking->depth) *
                   item_bytes;
  return leat_align_up(a, 64) + leat_align_up((size_t)(columns * depth) * item_bytes, 64);
}

static bool is_vector_shape(const leat_gemm_shape_t* shape) {
  return shape->m == 1 || shape->n == 1;
}

// true for few rows of A times a much larger, transposed B: packing would cost more than the
// product. As measured, oneDNN is ahead below DOTS_BEST_ROWS (up to 1.2 times), the kernel of this
// library from there on (1.1 times).
#define DOTS_BEST_ROWS 12
#define DOTS_MOST_ROWS 24
static bool is_dots_shape(const leat_gemm_shape_t* shape) {
  return shape->op_a == LEAT_GEMM_PLAIN && shape->op_b != LEAT_GEMM_PLAIN &&
         shape->m <= DOTS_MOST_ROWS && shape->n >= 64 && shape->k >= 256;
}

// The kernels of the matrix unit where they pay, as measured: both operands must be used often
// enough to pay for their packing. The conditions exclude vectors and few rows, for which these
// kernels have no function.
static const leat_gemm_kernels_t* select_split(const leat_gemm_shape_t* shape) {
  const bool pays = shape->m >= 48 && shape->n >= 48 && shape->k >= 40 &&
                    shape->m + shape->n >= 160 &&
                    (double)shape->m * (double)shape->n * (double)shape->k >= 80.0 * 80.0 * 80.0;
  return pays ? leat_gemm_split_kernels() : NULL;
}

static int pool_width(const leat_thread_pool_t* pool) {
  return pool ? leat_thread_pool_size(pool) : 1;
}

static size_t workspace_bytes(const leat_gemm_shape_t* shape, const leat_gemm_blocking_t* blocking,
                              size_t item_bytes, const leat_thread_pool_t* pool) {
  if (is_vector_shape(shape) || shape->m <= 0 || shape->n <= 0 || shape->k <= 0) return 0;
  const grid_t grid = choose_grid(shape, blocking, pool_width(pool));
  return block_bytes(blocking, &grid, shape->k, item_bytes) *
         (size_t)(grid.row_blocks * grid.column_blocks);
}

size_t leat_gemm_f32_workspace_bytes(const leat_gemm_shape_t* shape,
                                     const leat_thread_pool_t* pool) {
  const leat_gemm_kernels_t* split = select_split(shape);
  const size_t ours = workspace_bytes(shape, &select_kernels()->blocking_f32, sizeof(float), pool);
  return split ? LEAT_MAX(ours, workspace_bytes(shape, &split->blocking_f32, sizeof(float), pool))
               : ours;
}

size_t leat_gemm_f64_workspace_bytes(const leat_gemm_shape_t* shape,
                                     const leat_thread_pool_t* pool) {
  return workspace_bytes(shape, &select_kernels()->blocking_f64, sizeof(double), pool);
}

// Buffers that calls without a workspace borrow. They are kept for the next call, so that their
// number grows to the number of products that ever ran at once.
typedef struct buffer_s {
  struct buffer_s* next;
  size_t size_bytes;
  char pad[64 - sizeof(void*) - sizeof(size_t)];
} buffer_t;

static leat_spinlock_t cache_lock;
static buffer_t* cache_first;

// Takes a buffer that is large enough out of the cache, or makes one; NULL when there is no memory.
// The data follow the header.
static buffer_t* borrow_buffer(size_t size_bytes) {
  leat_spinlock_lock(&cache_lock);
  buffer_t** link = &cache_first;
  while (*link && (*link)->size_bytes < size_bytes) link = &(*link)->next;
  buffer_t* buffer = *link;
  buffer_t* small = NULL;
  if (buffer) {
    *link = buffer->next;
  } else if (cache_first) {  // a buffer that is too small is replaced by a larger one
    small = cache_first;
    cache_first = small->next;
  }
  leat_spinlock_unlock(&cache_lock);
  if (buffer) return buffer;
  leat_allocator_free(leat_allocator_system(), small);
  void* memory = NULL;
  leat_status_t status = leat_allocator_allocate_uninitialized(
      leat_allocator_system(), 64, sizeof(buffer_t) + size_bytes, &memory);
  if (!leat_status_is_ok(status)) {
    leat_status_free(status);
    return NULL;
  }
  buffer = memory;
  buffer->size_bytes = size_bytes;
  return buffer;
}

static void return_buffer(buffer_t* buffer) {
  leat_spinlock_lock(&cache_lock);
  buffer->next = cache_first;
  cache_first = buffer;
  leat_spinlock_unlock(&cache_lock);
}

#define REAL float
#define SUFFIX(x) x##_f32
#include "device/cpu/gemm_grid.inc"
#undef REAL
#undef SUFFIX

#define REAL double
#define SUFFIX(x) x##_f64
#include "device/cpu/gemm_grid.inc"
#undef REAL
#undef SUFFIX

// oneDNN can add only to what C holds already. Copying a D there first costs more than oneDNN gains
// when C is larger than the second-level cache and the product is not deep.
static bool is_heavy_to_lay(const leat_gemm_shape_t* shape) {
  return shape->m * shape->n >= 256 * 1024 && shape->k <= 512;
}

bool leat_gemm_f32_prefers_onednn(const leat_gemm_shape_t* shape) {
  if (shape->m < 4 || shape->n < 4) return false;
  if (shape->m >= DOTS_BEST_ROWS && is_dots_shape(shape)) return false;
  return (double)shape->m * (double)shape->n * (double)shape->k > 128.0 * 128.0 * 128.0;
}

void leat_gemm_f32_portable(const leat_gemm_shape_t* shape, const float* a, const float* b,
                            const float* d, float* c, void* workspace, leat_thread_pool_t* pool) {
  run_product_f32(select_kernels(), shape, a, b, d, c, workspace, pool, NULL);
}

void leat_gemm_f32(const leat_gemm_shape_t* shape, const float* a, const float* b, const float* d,
                   float* c, void* workspace, leat_thread_pool_t* pool) {
  const leat_gemm_kernels_t* split = select_split(shape);
  if (split) {
    run_product_f32(split, shape, a, b, d, c, workspace, pool, NULL);
    return;
  }
  const bool adds_on_the_way = d && d != c && is_heavy_to_lay(shape);
  const leat_onednn_module_t* onednn =
      !adds_on_the_way && leat_gemm_f32_prefers_onednn(shape) ? leat_cpu_onednn() : NULL;
  run_product_f32(select_kernels(), shape, a, b, d, c, workspace, pool,
                  onednn ? onednn->gemm_f32 : NULL);
}

void leat_gemm_f64(const leat_gemm_shape_t* shape, const double* a, const double* b,
                   const double* d, double* c, void* workspace, leat_thread_pool_t* pool) {
  run_product_f64(select_kernels(), shape, a, b, d, c, workspace, pool, NULL);
}
