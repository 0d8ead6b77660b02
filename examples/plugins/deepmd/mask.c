// The environment matrix and forces of systems without a cutoff, in which a mask takes atoms out:
// every atom is every other one's neighbor, all atoms of a frame stand in each list, sorted by
// type, then by distance, and the rows of the atom itself and of masked atoms (mask 0) are 0.
//
//   DescrptSeAMask    coord [frames, 3 n], type, mask [frames, n], box, natoms, mesh
//                       -> descrpt [frames, 4 n n], descrpt_deriv, rij, nlist [frames, n n]
//                     n is natoms[1]; box and mesh are not used
//   ProdForceSeAMask  net_deriv, in_deriv, mask, nlist -> force [frames, 3 n]
//                     n is the attribute total_atom_num
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "products.h"

// Where a masked atom and the atom itself are sorted to in a list: behind all real neighbors, which
// no molecule has at such a distance. The number is DeePMD's.
static const double kMaskedDistance = 10000;

// ---- the environment matrix ---------------------------------------------------------------------

enum { COORD, TYPE, MASK, BOX, NATOMS, MESH };
enum { DESCRPT, DERIV, RIJ, NLIST };

typedef struct entry_t {
  int32_t type, index;
  double distance;
} entry_t;

static int compare(const void* a, const void* b) {
  const entry_t *x = a, *y = b;
  if (x->type != y->type) return x->type < y->type ? -1 : 1;
  if (x->distance != y->distance) return x->distance < y->distance ? -1 : 1;
  return x->index < y->index ? -1 : x->index > y->index;
}

// 1/r, x/r^2, y/r^2, z/r^2 and their derivatives by the position of the central atom.
static void fill_row(const double* r, double* row, double* deriv) {
  double square = r[0] * r[0] + r[1] * r[1] + r[2] * r[2], length = sqrt(square);
  row[0] = 1 / length;
  for (int d = 0; d < 3; ++d) deriv[d] = r[d] / (square * length);
  for (int k = 0; k < 3; ++k) {
    row[k + 1] = r[k] / square;
    for (int d = 0; d < 3; ++d) {
      deriv[3 * (k + 1) + d] = (2 * r[k] * r[d] / square - (d == k)) / square;
    }
  }
}

typedef struct frame_t {
  const double* positions;
  const int32_t *types, *mask;
  int64_t atoms;
} frame_t;

// The list of all atoms for |center|, in order.
static void sort_atoms(const frame_t* frame, int64_t center, entry_t* out_entries) {
  for (int64_t i = 0; i < frame->atoms; ++i) {
    double distance = kMaskedDistance, square = 0;
    for (int d = 0; d < 3; ++d) {
      double difference = frame->positions[3 * i + d] - frame->positions[3 * center + d];
      square += difference * difference;
    }
    if (i != center && frame->mask[i] != 0) distance = sqrt(square);
    out_entries[i] = (entry_t){frame->types[i], (int32_t)i, distance};
  }
  qsort(out_entries, (size_t)frame->atoms, sizeof *out_entries, compare);
}

// Writes the rows of the central atom |center|, which is number |row| over all frames.
static void describe_atom(const frame_t* frame, int64_t center, int64_t row, TF_DataType dtype,
                          entry_t* entries, deepmd_array_t* out) {
  bool real = frame->mask[center] != 0;
  if (real) sort_atoms(frame, center, entries);
  for (int64_t i = 0; i < frame->atoms; ++i) {
    double r[3] = {0}, values[4] = {0}, deriv[12] = {0};
    int64_t index = real ? entries[i].index : -1, place = row * frame->atoms + i;
    if (real && index != center && frame->mask[index] != 0) {
      for (int d = 0; d < 3; ++d) {
        r[d] = frame->positions[3 * index + d] - frame->positions[3 * center + d];
      }
      fill_row(r, values, deriv);
    }
    deepmd_put(&out[DESCRPT], dtype, 4 * place, values, 4);
    deepmd_put(&out[DERIV], dtype, 12 * place, deriv, 12);
    deepmd_put(&out[RIJ], dtype, 3 * place, r, 3);
    ((int32_t*)out[NLIST].data)[place] = (int32_t)index;
  }
}

static bool describe(const deepmd_call_t* call, const deepmd_product_t* product,
                     deepmd_array_t* in, deepmd_array_t* out) {
  const TF_DataType dtype = product->dtype;
  deepmd_natoms_t natoms;
  if (!deepmd_input(call, COORD, "coord", 2, &in[COORD]) ||
      !deepmd_input(call, TYPE, "type", 2, &in[TYPE]) ||
      !deepmd_input(call, MASK, "mask", 2, &in[MASK]) ||
      !deepmd_input(call, NATOMS, "natoms", 1, &in[NATOMS]) ||
      !deepmd_natoms(call, &in[NATOMS], &natoms)) {
    return false;
  }
  int64_t frames = in[COORD].rows, atoms = natoms.all, places = atoms * atoms;  // below 2^62
  if (!deepmd_expect_columns(call, "coord", &in[COORD], 3 * atoms) ||
      !deepmd_expect_rows(call, "type", &in[TYPE], frames) ||
      !deepmd_expect_columns(call, "type", &in[TYPE], atoms) ||
      !deepmd_expect_rows(call, "mask", &in[MASK], frames) ||
      !deepmd_expect_columns(call, "mask", &in[MASK], atoms)) {
    return false;
  }
  if (places > INT64_MAX / 12) {
    return deepmd_fail(call, TF_INVALID_ARGUMENT, "natoms[1] is %" PRId64 ", which is too many",
                       atoms);
  }
  if (!deepmd_output(call, DESCRPT, 2, frames, 4 * places, &out[DESCRPT]) ||
      !deepmd_output(call, DERIV, 2, frames, 12 * places, &out[DERIV]) ||
      !deepmd_output(call, RIJ, 2, frames, 3 * places, &out[RIJ]) ||
      !deepmd_output(call, NLIST, 2, frames, places, &out[NLIST])) {
    return false;
  }
  entry_t* entries = deepmd_allocate(call, atoms, sizeof *entries);
  double* positions = deepmd_allocate(call, 3 * atoms, sizeof *positions);
  bool good = entries && positions;
  for (int64_t f = 0; good && atoms > 0 && f < frames; ++f) {
    for (int64_t i = 0; i < 3 * atoms; ++i) {
      positions[i] = deepmd_get(&in[COORD], dtype, 3 * atoms * f + i);
    }
    frame_t frame = {positions, (const int32_t*)in[TYPE].data + atoms * f,
                     (const int32_t*)in[MASK].data + atoms * f, atoms};
    good = deepmd_expect_finite(call, positions, atoms);
    for (int64_t i = 0; good && i < atoms; ++i) {
      describe_atom(&frame, i, f * atoms + i, dtype, entries, out);
    }
  }
  free(entries);
  free(positions);
  return good;
}

static void* create_descrpt(TF_OpKernelConstruction* ctx) {
  return deepmd_product_create(ctx, "DescrptSeAMask", 4);
}

static void compute_descrpt(void* kernel, TF_OpKernelContext* ctx) {
  deepmd_product_compute(kernel, ctx, describe);
}

static void descrpt_shape(TF_ShapeInferenceContext* ctx, TF_Status* status) {
  deepmd_expect_ranks(ctx, "222", status);
  if (TF_GetCode(status) == TF_OK) TF_ShapeInferenceContextSetUnknownShape(ctx, status);
}

// ---- forces -------------------------------------------------------------------------------------

enum { FORCE_NET_DERIV, FORCE_IN_DERIV, FORCE_MASK, FORCE_NLIST };

static void* create_force(TF_OpKernelConstruction* ctx) {
  deepmd_product_t* product = deepmd_product_create(ctx, "ProdForceSeAMask", 4);
  if (!product) return NULL;
  deepmd_call_t call = {.status = TF_NewStatus(), .op = product->op};
  TF_OpKernelConstruction_GetAttrInt64(ctx, "total_atom_num", &product->atoms, call.status);
  if (product->atoms < 0 || product->atoms > INT32_MAX) {
    deepmd_fail(&call, TF_INVALID_ARGUMENT, "total_atom_num is %" PRId64
                ", must be from 0 to %d", product->atoms, INT32_MAX);
  }
  if (TF_GetCode(call.status) != TF_OK) TF_OpKernelConstruction_Failure(ctx, call.status);
  TF_DeleteStatus(call.status);
  return product;
}

static bool force(const deepmd_call_t* call, const deepmd_product_t* product, deepmd_array_t* in,
                  deepmd_array_t* out) {
  int64_t places, atoms = product->atoms;
  if (!deepmd_input(call, FORCE_NET_DERIV, "net_deriv", 2, &in[FORCE_NET_DERIV]) ||
      !deepmd_input(call, FORCE_IN_DERIV, "in_deriv", 2, &in[FORCE_IN_DERIV]) ||
      !deepmd_input(call, FORCE_MASK, "mask", 2, &in[FORCE_MASK]) ||
      !deepmd_input(call, FORCE_NLIST, "nlist", 2, &in[FORCE_NLIST]) ||
      !deepmd_expect_columns(call, "nlist", &in[FORCE_NLIST], atoms * atoms) ||
      !deepmd_products_check(call, 4, atoms, atoms, &in[FORCE_NET_DERIV], &in[FORCE_IN_DERIV],
                             &in[FORCE_NLIST], &places) ||
      !deepmd_expect_rows(call, "mask", &in[FORCE_MASK], in[FORCE_NET_DERIV].rows) ||
      !deepmd_expect_columns(call, "mask", &in[FORCE_MASK], atoms) ||
      !deepmd_output(call, 0, 2, in[FORCE_NET_DERIV].rows, 3 * atoms, out)) {
    return false;
  }
  size_t bytes = TF_TensorByteSize(out->tensor);
  if (bytes > 0) memset(out->data, 0, bytes);
  // Where a masked atom is the neighbor, and where an atom is its own, the derivatives are 0.
  deepmd_add_forces(product->dtype, 4, atoms, atoms, places, &in[FORCE_NET_DERIV],
                    &in[FORCE_IN_DERIV], &in[FORCE_NLIST], &in[FORCE_MASK], out);
  return true;
}

static void compute_force(void* kernel, TF_OpKernelContext* ctx) {
  deepmd_product_compute(kernel, ctx, force);
}

static void force_shape(TF_ShapeInferenceContext* ctx, TF_Status* status) {
  deepmd_expect_ranks(ctx, "2222", status);
  if (TF_GetCode(status) == TF_OK) TF_ShapeInferenceContextSetUnknownShape(ctx, status);
}

void deepmd_register_mask(TF_Status* status) {
  static const char* const kInputs[] = {"coord: T", "type: int32",   "mask: int32",
                                        "box: T",   "natoms: int32", "mesh: int32", NULL};
  static const char* const kOutputs[] = {"descrpt: T", "descrpt_deriv: T", "rij: T",
                                         "nlist: int32", NULL};
  static const char* const kAttrs[] = {NULL};
  static const char* const kForceInputs[] = {"net_deriv: T", "in_deriv: T", "mask: int32",
                                             "nlist: int32", NULL};
  static const char* const kForceOutputs[] = {"force: T", NULL};
  static const char* const kForceAttrs[] = {"total_atom_num: int", NULL};
  deepmd_op_t descrpt = {"DescrptSeAMask", kInputs, kOutputs, kAttrs, descrpt_shape,
                         create_descrpt, deepmd_product_delete, compute_descrpt, compute_descrpt};
  deepmd_op_t forces = {"ProdForceSeAMask", kForceInputs, kForceOutputs, kForceAttrs, force_shape,
                        create_force, deepmd_product_delete, compute_force, compute_force};
  deepmd_op_register(&descrpt, status);
  deepmd_op_register(&forces, status);
}
