// What forces and virials have in common: the inputs net_deriv, in_deriv, nlist and natoms.
#ifndef LEAT_EXAMPLES_DEEPMD_PRODUCTS_H_
#define LEAT_EXAMPLES_DEEPMD_PRODUCTS_H_

#include "call.h"

// An op of this kind, made for each node.
typedef struct deepmd_product_t {
  const char* op;
  int width;  // elements of the environment matrix for each neighbor: 4 or 1
  TF_DataType dtype;
  int64_t atoms;  // of ProdForceSeAMask: its attribute total_atom_num; else unused
} deepmd_product_t;

void* deepmd_product_create(TF_OpKernelConstruction* ctx, const char* op, int width);
void deepmd_product_delete(void* kernel);

// One run of such an op: it reads its inputs into |in| and makes |out|, which the caller
// deinitializes. False, with the status of |call| set, where that fails.
enum { DEEPMD_MOST_ARRAYS = 6 };  // inputs, and outputs
typedef bool (*deepmd_product_fn_t)(const deepmd_call_t* call, const deepmd_product_t* product,
                                    deepmd_array_t* in, deepmd_array_t* out);
// What a kernel's compute function does with |run|.
void deepmd_product_compute(const void* kernel, TF_OpKernelContext* ctx, deepmd_product_fn_t run);

// An op under one of its names. Those with |has_sel| have two attributes that no kernel needs.
typedef struct deepmd_variant_t {
  const char* name;
  void* (*create)(TF_OpKernelConstruction* ctx);
  bool has_sel;
} deepmd_variant_t;

// Registers the op under each name; |op| has all that they share.
void deepmd_variants_register(const deepmd_op_t* op, const deepmd_variant_t* variants, int count,
                              TF_Status* status);

// Checks that there are |places| neighbors for each of |local| atoms in all arrays, and that no
// entry of |list| is |all| or more. Gives the places. |list| has rank 2, the others have it too.
bool deepmd_products_check(const deepmd_call_t* call, int width, int64_t local, int64_t all,
                           const deepmd_array_t* net_deriv, const deepmd_array_t* in_deriv,
                           const deepmd_array_t* list, int64_t* out_places);

// Adds the forces of all frames; |forces| has |all| atoms in each frame and is 0 before. Central
// atoms whose |mask| [frames, local] is 0 are left out; it may be NULL.
void deepmd_add_forces(TF_DataType dtype, int width, int64_t local, int64_t all, int64_t places,
                       const deepmd_array_t* net_deriv, const deepmd_array_t* in_deriv,
                       const deepmd_array_t* list, const deepmd_array_t* mask,
                       deepmd_array_t* forces);
// Adds the virials of all frames likewise.
void deepmd_add_virials(TF_DataType dtype, int width, int64_t local, int64_t all, int64_t places,
                        const deepmd_array_t* net_deriv, const deepmd_array_t* in_deriv,
                        const deepmd_array_t* rij, const deepmd_array_t* list,
                        deepmd_array_t* virials, deepmd_array_t* atom_virials);

#endif  // LEAT_EXAMPLES_DEEPMD_PRODUCTS_H_
