// Forces and virials are sums of products of two kinds of derivatives (products.inc), for float and
// double. This file checks the arrays that the sums run over: after deepmd_products_check every
// index that the sums form is inside its array.
#include "products.h"

#include <inttypes.h>
#include <stdlib.h>

#define REAL float
#define NAME(x) x##_float
#include "products.inc"

#define REAL double
#define NAME(x) x##_double
#include "products.inc"

void* deepmd_product_create(TF_OpKernelConstruction* ctx, const char* op, int width) {
  deepmd_product_t* product = calloc(1, sizeof *product);
  TF_Status* status = TF_NewStatus();
  if (product) {
    *product = (deepmd_product_t){.op = op, .width = width};
    TF_OpKernelConstruction_GetAttrType(ctx, "T", &product->dtype, status);
  } else {
    TF_SetStatus(status, TF_RESOURCE_EXHAUSTED, "no memory for the kernel");
  }
  if (TF_GetCode(status) != TF_OK) TF_OpKernelConstruction_Failure(ctx, status);
  TF_DeleteStatus(status);
  return product;
}

void deepmd_product_delete(void* kernel) { free(kernel); }

void deepmd_product_compute(const void* kernel, TF_OpKernelContext* ctx, deepmd_product_fn_t run) {
  const deepmd_product_t* product = kernel;
  deepmd_call_t call = {.ctx = ctx, .status = TF_NewStatus(), .op = product->op};
  deepmd_array_t inputs[DEEPMD_MOST_ARRAYS] = {{0}}, outputs[DEEPMD_MOST_ARRAYS] = {{0}};
  run(&call, product, inputs, outputs);
  deepmd_arrays_deinitialize(inputs, DEEPMD_MOST_ARRAYS);
  deepmd_arrays_deinitialize(outputs, DEEPMD_MOST_ARRAYS);
  if (TF_GetCode(call.status) != TF_OK) TF_OpKernelContext_Failure(ctx, call.status);
  TF_DeleteStatus(call.status);
}

void deepmd_variants_register(const deepmd_op_t* op, const deepmd_variant_t* variants, int count,
                              TF_Status* status) {
  static const char* const kSel[] = {"n_a_sel: int", "n_r_sel: int", NULL};
  for (int i = 0; i < count; ++i) {
    deepmd_op_t variant = *op;
    variant.name = variants[i].name;
    variant.create = variants[i].create;
    variant.attrs = variants[i].has_sel ? kSel : kSel + 2;
    deepmd_op_register(&variant, status);
  }
}

bool deepmd_products_check(const deepmd_call_t* call, int width, int64_t local, int64_t all,
                           const deepmd_array_t* net_deriv, const deepmd_array_t* in_deriv,
                           const deepmd_array_t* list, int64_t* out_places) {
  *out_places = 0;
  if (!deepmd_expect_rows(call, "in_deriv", in_deriv, net_deriv->rows) ||
      !deepmd_expect_rows(call, "nlist", list, net_deriv->rows)) {
    return false;
  }
  if (local > 0 && list->columns % local != 0) {
    return deepmd_fail(call, TF_INVALID_ARGUMENT, "nlist has %" PRId64
                       " columns, must be a multiple of the %" PRId64 " local atoms of natoms",
                       list->columns, local);
  }
  if (local == 0 && !deepmd_expect_columns(call, "nlist", list, 0)) return false;
  int64_t elements;
  if (__builtin_mul_overflow(list->columns, 3 * width, &elements)) {
    return deepmd_fail(call, TF_INVALID_ARGUMENT,
                       "nlist has %" PRId64 " columns, which is too many", list->columns);
  }
  if (!deepmd_expect_columns(call, "net_deriv", net_deriv, elements / 3) ||
      !deepmd_expect_columns(call, "in_deriv", in_deriv, elements)) {
    return false;
  }
  const int32_t* indices = list->data;
  int64_t count = list->rows * list->columns;  // the tensor has as many
  for (int64_t i = 0; i < count; ++i) {
    if (indices[i] < all) continue;
    return deepmd_fail(call, TF_INVALID_ARGUMENT, "nlist[%" PRId64 ", %" PRId64
                       "] is %d, must be less than the number of atoms, %" PRId64,
                       i / list->columns, i % list->columns, indices[i], all);
  }
  *out_places = local > 0 ? list->columns / local : 0;
  return true;
}

void deepmd_add_forces(TF_DataType dtype, int width, int64_t local, int64_t all, int64_t places,
                       const deepmd_array_t* net_deriv, const deepmd_array_t* in_deriv,
                       const deepmd_array_t* list, const deepmd_array_t* mask,
                       deepmd_array_t* forces) {
  for (int64_t frame = 0; local > 0 && frame < list->rows; ++frame) {
    int64_t first = frame * local * places;
    const int32_t* masked = mask ? (const int32_t*)mask->data + frame * local : NULL;
    const int32_t* indices = (const int32_t*)list->data + first;
    if (dtype == TF_FLOAT) {
      add_forces_float((const float*)net_deriv->data + width * first,
                       (const float*)in_deriv->data + 3 * width * first, indices, masked, local,
                       places, width, (float*)forces->data + 3 * all * frame);
    } else {
      add_forces_double((const double*)net_deriv->data + width * first,
                        (const double*)in_deriv->data + 3 * width * first, indices, masked, local,
                        places, width, (double*)forces->data + 3 * all * frame);
    }
  }
}

void deepmd_add_virials(TF_DataType dtype, int width, int64_t local, int64_t all, int64_t places,
                        const deepmd_array_t* net_deriv, const deepmd_array_t* in_deriv,
                        const deepmd_array_t* rij, const deepmd_array_t* list,
                        deepmd_array_t* virials, deepmd_array_t* atom_virials) {
  for (int64_t frame = 0; local > 0 && frame < list->rows; ++frame) {
    int64_t first = frame * local * places;
    const int32_t* indices = (const int32_t*)list->data + first;
    if (dtype == TF_FLOAT) {
      add_virials_float((const float*)net_deriv->data + width * first,
                        (const float*)in_deriv->data + 3 * width * first,
                        (const float*)rij->data + 3 * first, indices, local, places, width,
                        (float*)virials->data + 9 * frame,
                        (float*)atom_virials->data + 9 * all * frame);
    } else {
      add_virials_double((const double*)net_deriv->data + width * first,
                         (const double*)in_deriv->data + 3 * width * first,
                         (const double*)rij->data + 3 * first, indices, local, places, width,
                         (double*)virials->data + 9 * frame,
                         (double*)atom_virials->data + 9 * all * frame);
    }
  }
}
