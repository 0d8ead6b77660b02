// The virial out of the derivatives of the energy by the environment matrix, and the share of each
// atom (that of the neighbor in each pair) in it:
//
//   net_deriv, in_deriv, rij [frames, local * places * 3], nlist, natoms
//     -> virial [frames, 9], atom_virial [frames, 9 * all]
//
// ProdVirialSeA and ProdVirialNorot have 4 elements for each neighbor, ProdVirialSeR has one.
#include <string.h>

#include "products.h"

enum { NET_DERIV, IN_DERIV, RIJ, NLIST, NATOMS };

static void* create_a(TF_OpKernelConstruction* ctx) {
  return deepmd_product_create(ctx, "ProdVirialSeA", 4);
}
static void* create_norot(TF_OpKernelConstruction* ctx) {
  return deepmd_product_create(ctx, "ProdVirialNorot", 4);
}
static void* create_r(TF_OpKernelConstruction* ctx) {
  return deepmd_product_create(ctx, "ProdVirialSeR", 1);
}

static bool virial(const deepmd_call_t* call, const deepmd_product_t* product, deepmd_array_t* in,
                   deepmd_array_t* out) {
  deepmd_natoms_t natoms;
  int64_t places, frames;
  if (!deepmd_input(call, NET_DERIV, "net_deriv", 2, &in[NET_DERIV]) ||
      !deepmd_input(call, IN_DERIV, "in_deriv", 2, &in[IN_DERIV]) ||
      !deepmd_input(call, RIJ, "rij", 2, &in[RIJ]) ||
      !deepmd_input(call, NLIST, "nlist", 2, &in[NLIST]) ||
      !deepmd_input(call, NATOMS, "natoms", 1, &in[NATOMS]) ||
      !deepmd_natoms(call, &in[NATOMS], &natoms) ||
      !deepmd_products_check(call, product->width, natoms.local, natoms.all, &in[NET_DERIV],
                             &in[IN_DERIV], &in[NLIST], &places)) {
    return false;
  }
  frames = in[NET_DERIV].rows;
  if (!deepmd_expect_rows(call, "rij", &in[RIJ], frames) ||
      !deepmd_expect_columns(call, "rij", &in[RIJ], 3 * in[NLIST].columns) ||
      !deepmd_output(call, 0, 2, frames, 9, &out[0]) ||
      !deepmd_output(call, 1, 2, frames, 9 * natoms.all, &out[1])) {
    return false;
  }
  for (int i = 0; i < 2; ++i) {
    size_t bytes = TF_TensorByteSize(out[i].tensor);
    if (bytes > 0) memset(out[i].data, 0, bytes);
  }
  deepmd_add_virials(product->dtype, product->width, natoms.local, natoms.all, places,
                     &in[NET_DERIV], &in[IN_DERIV], &in[RIJ], &in[NLIST], &out[0], &out[1]);
  return true;
}

static void compute(void* kernel, TF_OpKernelContext* ctx) {
  deepmd_product_compute(kernel, ctx, virial);
}

static void shape(TF_ShapeInferenceContext* ctx, TF_Status* status) {
  deepmd_expect_ranks(ctx, "22221", status);
  if (TF_GetCode(status) == TF_OK) TF_ShapeInferenceContextSetUnknownShape(ctx, status);
}

void deepmd_register_virial(TF_Status* status) {
  static const char* const kInputs[] = {"net_deriv: T", "in_deriv: T",   "rij: T",
                                        "nlist: int32", "natoms: int32", NULL};
  static const char* const kOutputs[] = {"virial: T", "atom_virial: T", NULL};
  static const deepmd_variant_t kVariants[] = {{"ProdVirialSeA", create_a, true},
                                               {"ProdVirialNorot", create_norot, true},
                                               {"ProdVirialSeR", create_r, false}};
  const deepmd_op_t op = {.inputs = kInputs,
                          .outputs = kOutputs,
                          .shape = shape,
                          .destroy = deepmd_product_delete,
                          .compute = compute,
                          .compute_float = compute};
  deepmd_variants_register(&op, kVariants, 3, status);
}
