// The CPU kernel of Einsum. It turns the equation into matrix products, which gemm computes fast,
// instead of walking over all index combinations. Every label is an axis of one of four kinds:
//
//   batch       in both operands and in the output
//   free        in one operand and in the output
//   contracted  in both operands, not in the output
//   reduced     in one operand alone
//
//   "bij,bjk->bik":  b is batch, i free in A, k free in B, j contracted
//                    C [b, i, k] = the sum over j of A [b, i, j] B [b, j, k]
//
// Reduced axes are summed first. What is left is a batch of products [batch, free A, contracted]
// times [batch, contracted, free B]. Where the axes of a group lie behind each other in memory, the
// group is one dimension with a stride and the operand is used in place; otherwise the operand is
// copied in the order of the groups. The same holds for the output. A label that occurs twice in
// one operand is an axis whose stride is the sum of the two strides, that is the diagonal.
#include "base/checked.h"
#include "device/cpu/half.h"
#include "kernel/step_check.h"
#include "ops/array/strided_cpu.h"
#include "ops/kernel_rows.h"
#include "ops/matrix/equation.h"
#include "ops/matrix/product_cpu.h"

enum { A, B, C };  // indexes of the operands; C is the output

typedef struct axis_s {
  int label;  // a letter, or BROADCAST + the number of dimensions behind it in the ellipsis
  int64_t size;
  int64_t strides[3];
  // Whether it has more than one element there; false for a size of 1, which broadcasts.
  bool present[3];
} axis_t;
#define BROADCAST 256

#define MOST_AXES (2 * LEAT_SHAPE_MAX_RANK)
typedef struct axes_s {
  int count;
  bool output_repeats;  // a label occurs twice in the output: only the diagonal is written
  int broadcast_rank;  // the number of dimensions of the longest ellipsis
  axis_t items[MOST_AXES];
} axes_t;

static axis_t* find_axis(axes_t* axes, int label) {
  for (int i = 0; i < axes->count; ++i) {
    if (axes->items[i].label == label) return &axes->items[i];
  }
  return NULL;
}

// Adds the dimensions of input |which| to the axes. Dimensions of the ellipsis are matched from the
// last one on, as in every broadcast; sizes of one label must be equal. Programs match the words of
// the message, which are TensorFlow's.
static leat_status_t add_input(const leat_kernel_context_t* c, const leat_subscripts_t* subscripts,
                               int which, axes_t* axes) {
  const leat_shape_t* shape = &leat_kernel_input(c, which)->shape;
  const int rest = shape->rank - subscripts->count;  // dims of the ellipsis
  if (rest < 0 || (rest > 0 && subscripts->ellipsis < 0)) {
    return leat_kernel_invalid(c, "input %d has rank %d, must be %s%d", which, shape->rank,
                               subscripts->ellipsis < 0 ? "" : ">= ", subscripts->count);
  }
  axes->broadcast_rank = LEAT_MAX(axes->broadcast_rank, rest);
  int64_t stride = 1;
  for (int d = shape->rank - 1; d >= 0; --d) {
    const int64_t size = leat_shape_dim(shape, d);
    const int before = subscripts->ellipsis < 0 ? shape->rank : subscripts->ellipsis;
    const bool is_broadcast = d >= before && d < before + rest;
    const int label = is_broadcast ? BROADCAST + before + rest - 1 - d
                                   : subscripts->labels[d < before ? d : d - rest];
    axis_t* axis = find_axis(axes, label);
    if (!axis) {
      axis = &axes->items[axes->count++];
      *axis = (axis_t){.label = label, .size = size};
    } else if (is_broadcast && axis->size == 1) {
      axis->size = size;
    } else if (axis->size != size && !(is_broadcast && size == 1)) {
      return leat_kernel_invalid(
          c, "Expected dimension %lld at axis %d of the input shaped %s but got dimension %lld",
          (long long)axis->size, d, LEAT_SHAPE_TEXT(shape), (long long)size);
    }
    if (size != 1) axis->present[which] = true;
    axis->strides[which] += stride;
    stride *= size;
  }
  return leat_ok_status();
}

// Adds the output's strides to the axes and makes its shape, which the caller releases.
static leat_status_t add_output(const leat_kernel_context_t* c, const leat_subscripts_t* subscripts,
                                axes_t* axes, leat_shape_t* out_shape) {
  axis_t* order[2 * LEAT_SHAPE_MAX_RANK];
  int64_t dims[2 * LEAT_SHAPE_MAX_RANK];
  int rank = 0;
  for (int i = 0; i <= subscripts->count; ++i) {
    for (int k = axes->broadcast_rank - 1; i == subscripts->ellipsis && k >= 0; --k) {
      order[rank++] = find_axis(axes, BROADCAST + k);
    }
    if (i == subscripts->count) break;
    order[rank] = find_axis(axes, subscripts->labels[i]);
    if (!order[rank++]) return leat_kernel_invalid(c, "an output label is in no input");
  }
  if (subscripts->ellipsis < 0 && axes->broadcast_rank > 0) {
    return leat_kernel_invalid(c, "an ellipsis of rank %d has no place in the output",
                               axes->broadcast_rank);
  }
  for (int d = 0; d < rank; ++d) dims[d] = order[d]->size;
  LEAT_RETURN_IF_ERROR(leat_shape_create(rank, dims, out_shape));
  int64_t stride = 1;
  for (int d = rank - 1; d >= 0; --d) {
    axes->output_repeats |= order[d]->present[C];
    order[d]->present[C] = order[d]->size != 1;
    order[d]->strides[C] += stride;
    stride *= dims[d];
  }
  return leat_ok_status();
}

// ---- Groups of axes -----------------------------------------------------------------------------

// Some of the axes, outermost first; |size| is the product of their sizes.
typedef struct group_s {
  int count;
  int64_t size;
  const axis_t* axes[MOST_AXES];
} group_t;

// Collects the axes that are present in A, B and C exactly as stated, in the order in which they
// lie in the memory of |which|. Axes of one element are left out, because they need no loop.
static void select_axes(const axes_t* axes, bool in_a, bool in_b, bool in_c, int which,
                        group_t* out) {
  out->count = 0;
  out->size = 1;
  for (int i = 0; i < axes->count; ++i) {
    const axis_t* axis = &axes->items[i];
    if (axis->present[A] != in_a || axis->present[B] != in_b || axis->present[C] != in_c) continue;
    if (axis->size == 1) continue;
    int place = out->count++;
    while (place > 0 && out->axes[place - 1]->strides[which] < axis->strides[which]) {
      out->axes[place] = out->axes[place - 1];
      --place;
    }
    out->axes[place] = axis;
    out->size *= axis->size;
  }
}

// true when the group lies in |which| as one dimension, whose stride is |out_stride|.
static bool collapses(const group_t* group, int which, int64_t* out_stride) {
  *out_stride = 1;
  for (int i = group->count - 1; i >= 0; --i) {
    const int64_t stride = group->axes[i]->strides[which];
    if (i == group->count - 1) {
      *out_stride = stride;
    } else if (stride != group->axes[i + 1]->strides[which] * group->axes[i + 1]->size) {
      return false;
    }
  }
  return true;
}

// Copies from |which| as it lies to a dense block [groups[0], groups[1], ...], or back when
// |to_dense| is false.
static leat_status_t reorder(const leat_kernel_context_t* c, const group_t* const groups[],
                             int group_count, int which, bool to_dense, const void* from,
                             void* to) {
  leat_strided_t block;
  leat_strided_begin(&block, leat_kernel_input(c, 0)->dtype);
  int64_t dense = 1;
  for (int g = 0; g < group_count; ++g) dense *= groups[g]->size;
  for (int g = 0; g < group_count; ++g) {
    for (int i = 0; i < groups[g]->count; ++i) {
      const axis_t* axis = groups[g]->axes[i];
      dense /= axis->size;
      const int64_t stride = axis->strides[which];
      leat_strided_add(&block, axis->size, to_dense ? dense : stride, to_dense ? stride : dense);
    }
  }
  return leat_strided_copy(c, &block, from, to);
}

static leat_status_t allocate(leat_kernel_context_t* c, int64_t count, leat_tensor_t* out) {
  const leat_shape_t shape = leat_shape_vector(count);
  return leat_kernel_allocate_temporary(c, leat_kernel_input(c, 0)->dtype, &shape, out);
}

// ---- Operands -----------------------------------------------------------------------------------

// An operand as [batch, rows, columns] with a stride in elements for each; |temporary| owns a copy,
// if one was needed.
typedef struct operand_s {
  const char* data;
  int64_t batch, rows, columns;
  leat_tensor_t temporary;
} operand_t;

static void set_one(int dtype, void* to) {
  switch (dtype) {
    case LEAT_DTYPE_FLOAT: *(float*)to = 1; break;
    case LEAT_DTYPE_DOUBLE: *(double*)to = 1; break;
    case LEAT_DTYPE_HALF: *(uint16_t*)to = leat_half_from_float(1); break;
    case LEAT_DTYPE_BFLOAT16: *(uint16_t*)to = leat_bfloat16_from_float(1); break;
    case LEAT_DTYPE_COMPLEX64: *(leat_complex64_t*)to = 1; break;
    case LEAT_DTYPE_COMPLEX128: *(leat_complex128_t*)to = 1; break;
    case LEAT_DTYPE_INT32: *(int32_t*)to = 1; break;
    default: *(int64_t*)to = 1;
  }
}

// Sums over the columns of |from| [rows, columns] into |to| [rows], as a product with a vector of
// ones: gemm has a kernel for every type.
static leat_status_t sum_columns(leat_kernel_context_t* c, const void* from, int64_t rows,
                                 int64_t columns, void* to) {
  const int dtype = leat_kernel_input(c, 0)->dtype;
  leat_tensor_t ones;
  LEAT_RETURN_IF_ERROR(allocate(c, columns, &ones));
  for (int64_t i = 0; i < columns; ++i) set_one(dtype, leat_element_at(ones.data, dtype, i));
  const leat_gemm_shape_t product = {
      .m = rows, .n = 1, .k = columns, .lda = columns, .ldb = 1, .ldc = 1};
  const leat_multiply_fn_t multiply = leat_multiply_of(dtype, c->services->deterministic);
  multiply(&product, from, ones.data, to, c->services->pool);
  leat_tensor_release(&ones);
  return leat_ok_status();
}

// Sums input |which| over |reduced| into a dense block of the |kept| groups.
static leat_status_t sum_reduced(leat_kernel_context_t* c, int which, const group_t* const kept[],
                                 int kept_count, const group_t* reduced, void* to) {
  const group_t* all[4];
  int64_t rows = 1;
  for (int g = 0; g < kept_count; ++g) {
    all[g] = kept[g];
    rows *= kept[g]->size;
  }
  all[kept_count] = reduced;
  leat_tensor_t dense;
  LEAT_RETURN_IF_ERROR(allocate(c, rows * reduced->size, &dense));
  leat_status_t status = reorder(c, all, kept_count + 1, which, true,
                                 leat_kernel_input(c, which)->data, dense.data);
  if (!status) status = sum_columns(c, dense.data, rows, reduced->size, to);
  leat_tensor_release(&dense);
  return status;
}

// Makes the operand [batch, rows, columns] of input |which|: in place when the groups lie well and
// one matrix dimension is dense, else a copy. The caller releases |operand->temporary|.
static leat_status_t prepare_operand(leat_kernel_context_t* c, int which,
                                     const group_t* const groups[3], const group_t* reduced,
                                     operand_t* operand) {
  operand->data = leat_kernel_input(c, which)->data;
  const bool lies_well = collapses(groups[0], which, &operand->batch) &&
                         collapses(groups[1], which, &operand->rows) &&
                         collapses(groups[2], which, &operand->columns);
  const bool is_matrix = groups[1]->size == 1 || groups[2]->size == 1 || operand->rows == 1 ||
                         operand->columns == 1;
  const int64_t rows = groups[1]->size, columns = groups[2]->size;
  if (reduced->count == 0 && lies_well && is_matrix) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(allocate(c, groups[0]->size * rows * columns, &operand->temporary));
  *operand = (operand_t){.data = operand->temporary.data,
                         .batch = rows * columns,
                         .rows = columns,
                         .columns = 1,
                         .temporary = operand->temporary};
  if (reduced->count > 0) {
    return sum_reduced(c, which, groups, 3, reduced, operand->temporary.data);
  }
  return reorder(c, groups, 3, which, true, leat_kernel_input(c, which)->data,
                 operand->temporary.data);
}

// ---- Products -----------------------------------------------------------------------------------

typedef struct products_s {
  leat_gemm_shape_t shape;
  leat_multiply_fn_t multiply;
  const char *a, *b;
  char* c;
  int64_t a_bytes, b_bytes, c_bytes;  // bytes from one product of the batch to the next
} products_t;

static void run_products(void* data, int64_t begin, int64_t end) {
  const products_t* p = data;
  for (int64_t i = begin; i < end; ++i) {
    p->multiply(&p->shape, p->a + i * p->a_bytes, p->b + i * p->b_bytes, p->c + i * p->c_bytes,
                NULL);
  }
}

// How gemm must read the operand [rows, columns]: by rows when its columns are neighbours, else
// transposed. |out_step| is the distance of stored rows. A group of size 1 has stride 1.
static leat_gemm_op_t find_storage(const operand_t* x, int64_t rows, int64_t columns,
                                   int64_t* out_step) {
  if (x->columns == 1) {
    *out_step = rows == 1 ? columns : x->rows;
    return LEAT_GEMM_PLAIN;
  }
  *out_step = x->columns;
  return LEAT_GEMM_TRANSPOSE;
}

// Where products are written.
typedef struct target_s {
  void* data;
  int64_t batch, rows;  // the distance of matrices, and of the rows of one
} target_t;

// Computes |batch| products of |m| x |k| and |k| x |n| matrices.
static void multiply(leat_kernel_context_t* c, const operand_t* a, const operand_t* b,
                     int64_t batch, int64_t m, int64_t n, int64_t k, target_t to) {
  const int dtype = leat_kernel_input(c, 0)->dtype;
  const int64_t item = (int64_t)leat_dtype_size(dtype);
  products_t p = {.shape = {.m = m, .n = n, .k = k, .ldc = to.rows},
                  .multiply = leat_multiply_of(dtype, c->services->deterministic),
                  .a = a->data,
                  .b = b->data,
                  .c = to.data,
                  .a_bytes = a->batch * item,
                  .b_bytes = b->batch * item,
                  .c_bytes = to.batch * item};
  p.shape.op_a = find_storage(a, m, k, &p.shape.lda);
  p.shape.op_b = find_storage(b, k, n, &p.shape.ldb);
  const double product_ns = leat_product_ns(&p.shape);
  if (batch == 1 || product_ns > LEAT_PRODUCT_WHOLE_POOL_NS) {
    for (int64_t i = 0; i < batch && !leat_step_is_over(c->services, i > 0); ++i) {
      leat_product_run(c, p.multiply, &p.shape, (size_t)item, p.a + i * p.a_bytes,
                       p.b + i * p.b_bytes, p.c + i * p.c_bytes);
    }
  } else {
    leat_kernel_parallel_for(c, batch, product_ns, run_products, &p);
  }
}

typedef struct groups_s {
  group_t batch, free_a, free_b, contracted, reduced_a, reduced_b;
} groups_t;

// The operand with rows and columns exchanged.
static operand_t transposed(const operand_t* x) {
  return (operand_t){x->data, x->batch, x->columns, x->rows, {0}};
}

// Multiplies the operands a [batch, free, contracted] and b [batch, contracted, free] into the
// output. gemm writes dense rows: where the output's free axes lie the other way round, C^T = B^T
// A^T is computed; where neither order is dense, a temporary is reordered.
static leat_status_t write_products(leat_kernel_context_t* c, const axes_t* axes,
                                    const groups_t* g, const operand_t* a, const operand_t* b) {
  const int64_t m = g->free_a.size, n = g->free_b.size, k = g->contracted.size;
  const int64_t count = g->batch.size;
  void* output = leat_kernel_output(c, 0)->data;
  int64_t batch, rows, columns;
  if (!axes->output_repeats && collapses(&g->batch, C, &batch) &&
      collapses(&g->free_a, C, &rows) && collapses(&g->free_b, C, &columns)) {
    if (n == 1 || columns == 1) {
      multiply(c, a, b, count, m, n, k, (target_t){output, batch, m == 1 ? n : rows});
      return leat_ok_status();
    }
    if (m == 1 || rows == 1) {
      const operand_t at = transposed(a), bt = transposed(b);
      multiply(c, &bt, &at, count, n, m, k, (target_t){output, batch, columns});
      return leat_ok_status();
    }
  }
  leat_tensor_t dense;
  LEAT_RETURN_IF_ERROR(allocate(c, count * m * n, &dense));
  multiply(c, a, b, count, m, n, k, (target_t){dense.data, m * n, n});
  const group_t* const groups[] = {&g->batch, &g->free_a, &g->free_b};
  leat_status_t status = reorder(c, groups, 3, C, false, dense.data, output);
  leat_tensor_release(&dense);
  return status;
}

// Runs an Einsum of two operands.
static leat_status_t run_binary(leat_kernel_context_t* c, const axes_t* axes, groups_t* g) {
  select_axes(axes, true, true, true, C, &g->batch);
  select_axes(axes, true, false, true, C, &g->free_a);
  select_axes(axes, false, true, true, C, &g->free_b);
  select_axes(axes, true, true, false, A, &g->contracted);
  select_axes(axes, true, false, false, A, &g->reduced_a);
  select_axes(axes, false, true, false, B, &g->reduced_b);
  const group_t* const a_groups[] = {&g->batch, &g->free_a, &g->contracted};
  const group_t* const b_groups[] = {&g->batch, &g->contracted, &g->free_b};
  operand_t a = {0}, b = {0};
  leat_status_t status = prepare_operand(c, A, a_groups, &g->reduced_a, &a);
  if (!status) status = prepare_operand(c, B, b_groups, &g->reduced_b, &b);
  if (!status) status = write_products(c, axes, g, &a, &b);
  leat_tensor_release(&a.temporary);
  leat_tensor_release(&b.temporary);
  return status;
}

// Runs an Einsum of one operand: a transposition or diagonal when nothing is reduced, else sums.
static leat_status_t run_unary(leat_kernel_context_t* c, const axes_t* axes, groups_t* g) {
  select_axes(axes, true, false, true, C, &g->free_a);
  select_axes(axes, true, false, false, A, &g->reduced_a);
  const void* input = leat_kernel_input(c, 0)->data;
  void* output = leat_kernel_output(c, 0)->data;
  const group_t* const kept = &g->free_a;
  if (g->reduced_a.count == 0) {
    leat_strided_t block;
    leat_strided_begin(&block, leat_kernel_input(c, 0)->dtype);
    for (int i = 0; i < kept->count; ++i) {
      const axis_t* axis = kept->axes[i];
      leat_strided_add(&block, axis->size, axis->strides[C], axis->strides[A]);
    }
    return leat_strided_copy(c, &block, input, output);
  }
  if (!axes->output_repeats) return sum_reduced(c, A, &kept, 1, &g->reduced_a, output);
  leat_tensor_t sums;
  LEAT_RETURN_IF_ERROR(allocate(c, kept->size, &sums));
  leat_status_t status = sum_reduced(c, A, &kept, 1, &g->reduced_a, sums.data);
  if (!status) status = reorder(c, &kept, 1, C, false, sums.data, output);
  leat_tensor_release(&sums);
  return status;
}

// ---- The kernel ---------------------------------------------------------------------------------

static leat_status_t create_einsum(leat_kernel_creation_t* c, void* state) {
  leat_string_view_t text;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "equation", &text));
  leat_equation_t* equation = state;
  LEAT_RETURN_IF_ERROR(leat_equation_parse(text, equation));
  if (equation->input_count == c->kernel->input_count) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT, "Expected %d inputs but got: %d",
                          equation->input_count, c->kernel->input_count);
}

static leat_status_t einsum__cpu(leat_kernel_context_t* c) {
  const leat_equation_t* equation = leat_kernel_state(c);
  axes_t axes;
  axes.count = axes.broadcast_rank = 0;
  axes.output_repeats = false;
  for (int i = 0; i < equation->input_count; ++i) {
    LEAT_RETURN_IF_ERROR(add_input(c, &equation->inputs[i], i, &axes));
  }
  leat_shape_t shape;
  LEAT_RETURN_IF_ERROR(add_output(c, &equation->output, &axes, &shape));
  leat_tensor_t* output;
  leat_status_t status = leat_kernel_allocate_output(c, 0, &shape, &output);
  leat_shape_release(&shape);
  LEAT_RETURN_IF_ERROR(status);
  if (output->shape.element_count == 0) return leat_ok_status();
  bool is_empty = false;
  for (int i = 0; i < axes.count; ++i) is_empty |= axes.items[i].size == 0;
  if (is_empty || axes.output_repeats) leat_tensor_fill_zero(output);
  if (is_empty) return leat_ok_status();
  groups_t groups;
  return equation->input_count == 1 ? run_unary(c, &axes, &groups)
                                    : run_binary(c, &axes, &groups);
}

const leat_kernel_row_t leat_einsum_kernels_cpu[] = {
    {.op = "Einsum",
     .device_type = "CPU",
     .constraints = "T: bfloat16, half, float, double, int32, int64, complex64, complex128",
     .create = create_einsum,
     .state_bytes = sizeof(leat_equation_t),
     .compute = einsum__cpu,
     .expensive = true},
    LEAT_KERNEL_ROWS_END,
};
