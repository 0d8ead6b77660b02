// A matrix product in blocks of rows, each followed by a step (row_step.h). A block's rows of C fit
// the second-level cache, where the step finds them. Each block is computed by one thread, because
// the cores have a second-level cache each; where there are fewer blocks than threads, all of C
// fits into their caches together, and the product is given to the pool as a whole.
//
// Each block packs B again. Therefore a block has at least BLOCK_ROWS rows, however long they are:
// packing then costs little beside the product.
#include "device/cpu/row_step.h"

#include "base/checked.h"

#define BLOCK_BYTES (512 * 1024)
#define BLOCK_ROWS 256
#define STEP_NS 1.0  // the estimated time of a step for one element

typedef struct blocks_s {
  const leat_row_step_t* step;
  leat_row_product_fn_t multiply;
  const leat_gemm_shape_t* shape;
  size_t item_bytes;
  const char* a;
  const void* b;
  char* c;
  int64_t first, count;  // the step's number of row 0; the number of blocks
} blocks_t;

// Applies the step to rows [begin, end) of C.
static void apply_to_rows(void* data, int64_t begin, int64_t end) {
  const blocks_t* s = data;
  char* rows = s->c + (size_t)(begin * s->shape->ldc) * s->item_bytes;
  s->step->apply(s->step->data, rows, s->first + begin, end - begin, false);
}

// Computes blocks [begin, end), which differ in size by at most one row.
static void run_blocks(void* data, int64_t begin, int64_t end) {
  const blocks_t* s = data;
  for (int64_t i = begin; i < end; ++i) {
    leat_gemm_shape_t shape = *s->shape;
    const int64_t row = s->shape->m * i / s->count, last = s->shape->m * (i + 1) / s->count;
    const int64_t a_offset = shape.op_a == LEAT_GEMM_PLAIN ? row * shape.lda : row;
    shape.m = last - row;
    s->multiply(&shape, s->a + (size_t)a_offset * s->item_bytes, s->b,
                s->c + (size_t)(row * shape.ldc) * s->item_bytes, NULL);
    apply_to_rows(data, row, last);
  }
}

void leat_row_step_multiply(const leat_row_step_t* step, leat_row_product_fn_t multiply,
                            const leat_gemm_shape_t* shape, size_t item_bytes, const void* a,
                            const void* b, void* c, int64_t first, bool is_whole,
                            leat_thread_pool_t* pool) {
  LEAT_DCHECK(shape->ldc == shape->n);
  if (shape->m <= 0 || shape->n <= 0) return;
  const int64_t fitting = BLOCK_BYTES / (shape->n * (int64_t)item_bytes);
  const int64_t rows = LEAT_MAX(fitting, BLOCK_ROWS);
  blocks_t blocks = {.step = step,
                     .multiply = multiply,
                     .shape = shape,
                     .item_bytes = item_bytes,
                     .a = a,
                     .b = b,
                     .c = c,
                     .first = first,
                     .count = (shape->m + rows - 1) / rows};
  const int threads = pool ? leat_thread_pool_size(pool) : 1;
  if (blocks.count == 1 || blocks.count < threads || is_whole) {
    multiply(shape, a, b, c, pool);
    leat_thread_pool_parallel_for(pool, 0, shape->m, STEP_NS * (double)shape->n, apply_to_rows,
                                  &blocks);
    return;
  }
  const double block_ns = (double)rows * (double)shape->n * ((double)shape->k * 0.03 + STEP_NS);
  leat_thread_pool_parallel_for(pool, 0, blocks.count, block_ns, run_blocks, &blocks);
}
