// Forces out of the derivatives of the energy by the environment matrix:
//
//   net_deriv [frames, local * places * width], in_deriv [..., three times as much],
//   nlist [frames, local * places], natoms -> force [frames, 3 * all]
//
// ProdForceSeA and ProdForceNorot have 4 elements for each neighbor, ProdForceSeR has one.
#include <string.h>

#include "products.h"

enum { NET_DERIV, IN_DERIV, NLIST, NATOMS };

static void* create_a(TF_OpKernelConstruction* ctx) {
  return deepmd_product_create(ctx, "ProdForceSeA", 4);
}
static void* create_norot(TF_OpKernelConstruction* ctx) {
  return deepmd_product_create(ctx, "ProdForceNorot", 4);
}
static void* create_r(TF_OpKernelConstruction* ctx) {
  return deepmd_product_create(ctx, "ProdForceSeR", 1);
}

static bool force(const deepmd_call_t* call, const deepmd_product_t* product, deepmd_array_t* in,
                  deepmd_array_t* out) {
  deepmd_natoms_t natoms;
  int64_t places, frames;
  if (!deepmd_input(call, NET_DERIV, "net_deriv", 2, &in[NET_DERIV]) ||
      !deepmd_input(call, IN_DERIV, "in_deriv", 2, &in[IN_DERIV]) ||
      !deepmd_input(call, NLIST, "nlist", 2, &in[NLIST]) ||
      !deepmd_input(call, NATOMS, "natoms", 1, &in[NATOMS]) ||
      !deepmd_natoms(call, &in[NATOMS], &natoms) ||
      !deepmd_products_check(call, product->width, natoms.local, natoms.all, &in[NET_DERIV],
                             &in[IN_DERIV], &in[NLIST], &places)) {
    return false;
  }
  frames = in[NET_DERIV].rows;
  if (!deepmd_output(call, 0, 2, frames, 3 * natoms.all, out)) return false;
  size_t bytes = TF_TensorByteSize(out->tensor);
  if (bytes > 0) memset(out->data, 0, bytes);
  deepmd_add_forces(product->dtype, product->width, natoms.local, natoms.all, places,
                    &in[NET_DERIV], &in[IN_DERIV], &in[NLIST], NULL, out);
  return true;
}

static void compute(void* kernel, TF_OpKernelContext* ctx) {
  deepmd_product_compute(kernel, ctx, force);
}

static void shape(TF_ShapeInferenceContext* ctx, TF_Status* status) {
  deepmd_expect_ranks(ctx, "2221", status);
  if (TF_GetCode(status) == TF_OK) TF_ShapeInferenceContextSetUnknownShape(ctx, status);
}

void deepmd_register_force(TF_Status* status) {
  static const char* const kInputs[] = {"net_deriv: T", "in_deriv: T", "nlist: int32",
                                        "natoms: int32", NULL};
  static const char* const kOutputs[] = {"force: T", NULL};
  static const deepmd_variant_t kVariants[] = {{"ProdForceSeA", create_a, true},
                                               {"ProdForceNorot", create_norot, true},
                                               {"ProdForceSeR", create_r, false}};
  const deepmd_op_t op = {.inputs = kInputs,
                          .outputs = kOutputs,
                          .shape = shape,
                          .destroy = deepmd_product_delete,
                          .compute = compute,
                          .compute_float = compute};
  deepmd_variants_register(&op, kVariants, 3, status);
}
