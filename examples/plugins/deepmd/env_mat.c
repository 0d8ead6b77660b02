// The environment matrix of each local atom: one row for each of its neighbors, sorted by type and
// distance, with places left empty where there are fewer neighbors than an attribute (sel_a or sel)
// provides for. With r the vector to the neighbor,
//
//   ProdEnvMatA     s(r) (1, x/r, y/r, z/r)     sections of sel_a[t] places for type t
//   ProdEnvMatR     s(r)                        the same, named sel
//   ProdEnvMatAMix  as ProdEnvMatA              one section for all types
//
//   s(r) = w(u) / r,   u = (r - rcut_smth) / (rcut - rcut_smth),
//   w(u) = 1 for u < 0, 1 - 10 u^3 + 15 u^4 - 6 u^5, and 0 for u >= 1
//
// less davg and divided by dstd, which have a row for each type of the central atom.
// |descrpt_deriv| is the derivative of each element by the position of the central atom, and so
// minus the one by the position of the neighbor. All is computed in double, also for coordinates in
// float. Two atoms in one place give infinities, as the formulas do.
//
// What the input mesh holds says how neighbors are found; only its size matters in most cases:
//
//   0 (1)   open space                   (in brackets: for ProdEnvMatAMix alone)
//   6 (7)   a periodic box
//   16      addresses of lists in the caller's memory, which LAMMPS sends: refused, see below
//   17...   the lists themselves: 16 unused elements, then |nloc| atoms, the number of neighbors of
//           each, and the neighbors
//
// A tensor with 16 elements holds three pointers in elements 4 to 15. Whoever can feed a graph, or
// write one, would choose which memory this process reads; no check can tell a right address from
// a wrong one.
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "neighbor.h"

enum { COORD, TYPE, NATOMS, BOX, MESH, DAVG, DSTD, INPUTS };
enum { DESCRPT, DERIV, RIJ, NLIST, NTYPE, NMASK, OUTPUTS };
enum { HEADER = 16 };                      // unused elements before the lists of a mesh
static const int64_t kMostPlaces = 1 << 24;  // of one atom: sizes of outputs cannot overflow

typedef struct env_mat_t {
  const char* op;
  bool mixed;
  int width;  // elements of a row: 4 or 1
  TF_DataType dtype;
  float rcut, rcut_smth;
  int64_t* sel;  // places for each type, or for all
  int64_t sel_count, places;
} env_mat_t;

// ---- making a kernel ----------------------------------------------------------------------------

static void env_mat_delete(void* kernel) {
  env_mat_t* env = kernel;
  if (env) free(env->sel);
  free(env);
}

// The list |name| into |out_values|, which the caller frees.
static int64_t read_list(TF_OpKernelConstruction* ctx, const char* name, int64_t** out_values,
                         TF_Status* status) {
  int32_t size = 0, unused = 0;
  TF_OpKernelConstruction_GetAttrSize(ctx, name, &size, &unused, status);
  if (TF_GetCode(status) != TF_OK || size <= 0) return 0;
  *out_values = calloc((size_t)size, sizeof **out_values);
  if (!*out_values) {
    TF_SetStatus(status, TF_RESOURCE_EXHAUSTED, "no memory for an attribute");
    return 0;
  }
  TF_OpKernelConstruction_GetAttrInt64List(ctx, name, *out_values, size, status);
  return size;
}

// DeePMD's older descriptors had neighbors of a second kind; those of these ops must be none.
static void expect_no_sel_r(const deepmd_call_t* call, TF_OpKernelConstruction* ctx) {
  int64_t* values = NULL;
  int64_t count = read_list(ctx, "sel_r", &values, call->status);
  for (int64_t i = 0; i < count && TF_GetCode(call->status) == TF_OK; ++i) {
    if (values[i] == 0) continue;
    deepmd_fail(call, TF_INVALID_ARGUMENT, "sel_r[%" PRId64 "] is %" PRId64 ", must be 0", i,
                values[i]);
  }
  free(values);
}

static void check_attrs(const deepmd_call_t* call, const char* sel, env_mat_t* env) {
  for (int64_t i = 0; i < env->sel_count && TF_GetCode(call->status) == TF_OK; ++i) {
    if (env->sel[i] < 0 || env->sel[i] > kMostPlaces - env->places) {
      deepmd_fail(call, TF_INVALID_ARGUMENT, "%s[%" PRId64 "] is %" PRId64
                  ", must be from 0 on, and the sum at most %" PRId64, sel, i, env->sel[i],
                  kMostPlaces);
    } else {
      env->places += env->sel[i];
    }
  }
  if (env->mixed && env->sel_count != 1) {
    deepmd_fail(call, TF_INVALID_ARGUMENT, "%s has %" PRId64 " elements, must be 1", sel,
                env->sel_count);
  }
  if (!(env->rcut > 0) || !isfinite(env->rcut) || !isfinite(env->rcut_smth)) {
    deepmd_fail(call, TF_INVALID_ARGUMENT,
                "the cutoff is %g and smooth from %g on, must be finite and above 0", env->rcut,
                env->rcut_smth);
  }
}

static void* create(TF_OpKernelConstruction* ctx, const char* op, int width, bool mixed) {
  env_mat_t* env = calloc(1, sizeof *env);
  deepmd_call_t call = {.status = TF_NewStatus(), .op = op};
  if (!env) {
    deepmd_fail(&call, TF_RESOURCE_EXHAUSTED, "no memory for the kernel");
  } else {
    const char* sel = width == 4 ? "sel_a" : "sel";
    *env = (env_mat_t){.op = op, .width = width, .mixed = mixed};
    TF_OpKernelConstruction_GetAttrType(ctx, "T", &env->dtype, call.status);
    if (TF_GetCode(call.status) == TF_OK) {
      TF_OpKernelConstruction_GetAttrFloat(ctx, width == 4 ? "rcut_r" : "rcut", &env->rcut,
                                           call.status);
    }
    if (TF_GetCode(call.status) == TF_OK) {
      TF_OpKernelConstruction_GetAttrFloat(ctx, width == 4 ? "rcut_r_smth" : "rcut_smth",
                                           &env->rcut_smth, call.status);
    }
    if (TF_GetCode(call.status) == TF_OK) {
      env->sel_count = read_list(ctx, sel, &env->sel, call.status);
    }
    if (TF_GetCode(call.status) == TF_OK && width == 4) expect_no_sel_r(&call, ctx);
    check_attrs(&call, sel, env);
  }
  if (TF_GetCode(call.status) != TF_OK) TF_OpKernelConstruction_Failure(ctx, call.status);
  TF_DeleteStatus(call.status);
  return env;
}

static void* create_a(TF_OpKernelConstruction* ctx) { return create(ctx, "ProdEnvMatA", 4, false); }
static void* create_se_a(TF_OpKernelConstruction* ctx) {
  return create(ctx, "DescrptSeA", 4, false);
}
static void* create_norot(TF_OpKernelConstruction* ctx) {
  return create(ctx, "DescrptNorot", 4, false);
}
static void* create_r(TF_OpKernelConstruction* ctx) { return create(ctx, "ProdEnvMatR", 1, false); }
static void* create_se_r(TF_OpKernelConstruction* ctx) {
  return create(ctx, "DescrptSeR", 1, false);
}
static void* create_mix(TF_OpKernelConstruction* ctx) {
  return create(ctx, "ProdEnvMatAMix", 4, true);
}

// ---- one run ------------------------------------------------------------------------------------

typedef enum search_t { SEARCH_OPEN, SEARCH_BOX, SEARCH_LISTS } search_t;

// One run of a kernel: what it reads and writes, and what it needs for one frame and for one atom.
typedef struct run_t {
  const deepmd_call_t* call;
  const env_mat_t* env;
  deepmd_natoms_t natoms;
  search_t search;
  deepmd_array_t inputs[INPUTS], outputs[OUTPUTS];
  double *positions, *mean, *deviation;
  const int32_t* types;  // of the frame
  double *row, *deriv, *rij;
  int32_t* list;
  deepmd_neighbors_t neighbors;
  // Of lists in the mesh: where the neighbors of an atom begin, and how many they are.
  const int32_t **lists, *list_sizes;
} run_t;

static bool choose_search(run_t* run) {
  int64_t size = run->inputs[MESH].columns;
  bool mixed = run->env->mixed;
  if (size == 0 || (mixed && size == 1)) {
    run->search = SEARCH_OPEN;
  } else if (size == 6 || (mixed && size == 7)) {
    run->search = SEARCH_BOX;
  } else if (size > HEADER) {
    run->search = SEARCH_LISTS;
  } else if (size == HEADER) {
    return deepmd_fail(run->call, TF_UNIMPLEMENTED,
                       "mesh has 16 elements: addresses of neighbor lists, which LAMMPS sends, are "
                       "not followed, because no address in a tensor can be trusted; must be the "
                       "lists themselves (17 elements and more), or 6 or 0 elements");
  } else {
    return deepmd_fail(run->call, TF_INVALID_ARGUMENT, "mesh has %" PRId64 " elements, must be %s",
                       size, mixed ? "0, 1, 6, 7 or above 16" : "0, 6 or above 16");
  }
  return true;
}

static bool read_inputs(run_t* run) {
  static const char* const kNames[] = {"coord", "type", "natoms", "box", "mesh", "davg", "dstd"};
  static const int kRanks[] = {2, 2, 1, 2, 1, 2, 2};
  const deepmd_call_t* call = run->call;
  deepmd_array_t* in = run->inputs;
  for (int i = 0; i < INPUTS; ++i) {
    if (!deepmd_input(call, i, kNames[i], kRanks[i], &in[i])) return false;
  }
  if (!deepmd_natoms(call, &in[NATOMS], &run->natoms) || !choose_search(run)) return false;
  int64_t elements = run->env->places * run->env->width;
  if (!run->env->mixed && run->env->sel_count != run->natoms.types) {
    return deepmd_fail(call, TF_INVALID_ARGUMENT,
                       "natoms tells of %" PRId64 " types, must be as many as the %" PRId64
                       " of the attribute", run->natoms.types, run->env->sel_count);
  }
  if (run->search == SEARCH_BOX && run->natoms.all != run->natoms.local) {
    return deepmd_fail(call, TF_INVALID_ARGUMENT, "natoms[1] is %" PRId64
                       ", must be natoms[0], %" PRId64 ", in a periodic box", run->natoms.all,
                       run->natoms.local);
  }
  int64_t frames = in[COORD].rows;
  return deepmd_expect_columns(call, "coord", &in[COORD], 3 * run->natoms.all) &&
         deepmd_expect_rows(call, "type", &in[TYPE], frames) &&
         deepmd_expect_columns(call, "type", &in[TYPE], run->natoms.all) &&
         deepmd_expect_rows(call, "box", &in[BOX], frames) &&
         deepmd_expect_columns(call, "box", &in[BOX], 9) &&
         deepmd_expect_rows(call, "davg", &in[DAVG], run->natoms.types) &&
         deepmd_expect_columns(call, "davg", &in[DAVG], elements) &&
         deepmd_expect_rows(call, "dstd", &in[DSTD], run->natoms.types) &&
         deepmd_expect_columns(call, "dstd", &in[DSTD], elements);
}

// The lists of a mesh, by the atom that they belong to.
static bool read_lists(run_t* run) {
  const deepmd_call_t* call = run->call;
  const int32_t* mesh = run->inputs[MESH].data;
  int64_t local = run->natoms.local, left = run->inputs[MESH].columns - HEADER - 2 * local;
  if (left < 0) {
    return deepmd_fail(call, TF_INVALID_ARGUMENT,
                       "mesh has %" PRId64 " elements, must be at least 16 + 2 * %" PRId64,
                       run->inputs[MESH].columns, local);
  }
  run->lists = deepmd_allocate(call, local, sizeof *run->lists);
  int32_t* sizes = deepmd_allocate(call, local, sizeof *sizes);
  run->list_sizes = sizes;
  if (!run->lists || !sizes) return false;
  const int32_t *atoms = mesh + HEADER, *counts = atoms + local, *next = counts + local;
  for (int64_t i = 0; i < local; ++i) {
    int32_t atom = atoms[i], count = counts[i];
    if (atom < 0 || atom >= local || run->lists[atom]) {
      return deepmd_fail(call, TF_INVALID_ARGUMENT,
                         "mesh[%" PRId64 "] is %d, must be a local atom without a list yet",
                         HEADER + i, atom);
    }
    if (count < 0 || count > left) {
      return deepmd_fail(call, TF_INVALID_ARGUMENT,
                         "mesh[%" PRId64 "] is %d, must be a number of neighbors that follow",
                         HEADER + local + i, count);
    }
    for (int32_t n = 0; n < count; ++n) {
      if (next[n] >= 0 && next[n] < run->natoms.all && next[n] != atom) continue;
      return deepmd_fail(call, TF_INVALID_ARGUMENT,
                         "mesh[%" PRId64 "] is %d, must be an atom below %" PRId64
                         " other than %d", (int64_t)(next + n - mesh), next[n], run->natoms.all,
                         atom);
    }
    run->lists[atom] = next;
    sizes[atom] = count;
    next += count;
    left -= count;
  }
  return true;
}

static bool prepare(run_t* run) {
  const deepmd_call_t* call = run->call;
  int64_t places = run->env->places, elements = places * run->env->width;
  int64_t frames = run->inputs[COORD].rows, local = run->natoms.local;
  int64_t statistics = run->natoms.types * elements;  // davg is there and has as many
  const int64_t columns[OUTPUTS] = {elements, 3 * elements, 3 * places, places, places, places};
  for (int i = 0; i < (run->env->mixed ? OUTPUTS : NTYPE); ++i) {
    if (!deepmd_output(call, i, 2, frames, local * columns[i], &run->outputs[i])) return false;
  }
  run->positions = deepmd_allocate(call, 3 * run->natoms.all, sizeof(double));
  run->mean = deepmd_allocate(call, statistics, sizeof(double));
  run->deviation = deepmd_allocate(call, statistics, sizeof(double));
  run->row = deepmd_allocate(call, elements, sizeof(double));
  run->deriv = deepmd_allocate(call, 3 * elements, sizeof(double));
  run->rij = deepmd_allocate(call, 3 * places, sizeof(double));
  run->list = deepmd_allocate(call, places, sizeof *run->list);
  if (!run->positions || !run->mean || !run->deviation || !run->row || !run->deriv || !run->rij ||
      !run->list) {
    return false;
  }
  for (int64_t i = 0; i < statistics; ++i) {
    run->mean[i] = deepmd_get(&run->inputs[DAVG], run->env->dtype, i);
    run->deviation[i] = deepmd_get(&run->inputs[DSTD], run->env->dtype, i);
  }
  return run->search != SEARCH_LISTS || read_lists(run);
}

static void run_deinitialize(run_t* run) {
  deepmd_arrays_deinitialize(run->inputs, INPUTS);
  deepmd_arrays_deinitialize(run->outputs, OUTPUTS);
  free(run->positions);
  free(run->mean);
  free(run->deviation);
  free(run->row);
  free(run->deriv);
  free(run->rij);
  free(run->list);
  free(run->lists);
  free((void*)run->list_sizes);
  deepmd_neighbors_deinitialize(&run->neighbors);
}

// ---- one atom -----------------------------------------------------------------------------------

// The row of one place and its derivatives by the position of the central atom.
static void fill_row(const env_mat_t* env, const double* r, double* row, double* deriv) {
  double square = r[0] * r[0] + r[1] * r[1] + r[2] * r[2], length = sqrt(square);
  double weight = 1, slope = 0;  // w and its derivative by the distance
  if (length >= (double)env->rcut) {
    weight = 0;
  } else if (length >= (double)env->rcut_smth) {
    double range = (double)(env->rcut - env->rcut_smth);  // rounded to float, as DeePMD's is
    double u = (length - (double)env->rcut_smth) / range;
    weight = 1 - u * u * u * (10 + u * (6 * u - 15));
    slope = -30 * u * u * (1 - u) * (1 - u) / range;
  }
  // Element k is w q with q = 1/r for k = 0, and x_k / r^2 for the others; the neighbor moves
  // against the central atom.
  for (int k = 0; k < env->width; ++k) {
    double q = k == 0 ? 1 / length : r[k - 1] / square;
    row[k] = weight * q;
    for (int d = 0; d < 3; ++d) {
      double along = k == 0 ? -r[d] / (square * length)
                            : ((d == k - 1) - 2 * r[k - 1] * r[d] / square) / square;
      deriv[3 * k + d] = -(weight * along + slope * q * r[d] / length);
    }
  }
}

// The neighbors of |atom| as a list with -1 in empty places.
static bool find_list(run_t* run, const deepmd_cells_t* cells, int64_t atom) {
  const env_mat_t* env = run->env;
  if (run->search != SEARCH_LISTS) {
    if (!deepmd_neighbors_find(run->call, cells, atom, env->mixed, &run->neighbors)) return false;
  } else {
    run->neighbors.count = 0;
    for (int32_t n = 0; n < run->list_sizes[atom]; ++n) {
      int32_t index = run->lists[atom][n], type = run->types[index];
      if (type < 0) continue;
      if (!deepmd_neighbors_add(run->call, run->positions + 3 * atom,
                                run->positions + 3 * (int64_t)index, env->mixed ? 0 : type, index,
                                env->rcut, &run->neighbors)) {
        return false;
      }
    }
  }
  deepmd_neighbors_format(&run->neighbors, env->sel, env->sel_count, run->list);
  return true;
}

static void normalize(run_t* run, int64_t atom) {
  const env_mat_t* env = run->env;
  int64_t elements = env->places * env->width;
  int32_t type = run->types[atom];
  if (type < 0) {
    memset(run->row, 0, (size_t)elements * sizeof *run->row);
    memset(run->deriv, 0, 3 * (size_t)elements * sizeof *run->deriv);
    return;
  }
  const double *mean = run->mean + type * elements, *deviation = run->deviation + type * elements;
  for (int64_t e = 0; e < elements; ++e) {
    run->row[e] = (run->row[e] - mean[e]) / deviation[e];
    for (int d = 0; d < 3; ++d) run->deriv[3 * e + d] /= deviation[e];
  }
}

// Writes what stands in the buffers of |run| to the places of |atom|, which counts over all frames.
static void put(run_t* run, int64_t frame, int64_t atom, const int32_t* origins) {
  const env_mat_t* env = run->env;
  int64_t places = env->places, elements = places * env->width;
  deepmd_put(&run->outputs[DESCRPT], env->dtype, atom * elements, run->row, elements);
  deepmd_put(&run->outputs[DERIV], env->dtype, 3 * atom * elements, run->deriv, 3 * elements);
  deepmd_put(&run->outputs[RIJ], env->dtype, 3 * atom * places, run->rij, 3 * places);
  const int32_t* types = (const int32_t*)run->inputs[TYPE].data + frame * run->natoms.all;
  for (int64_t p = 0; p < places; ++p) {
    int32_t index = run->list[p];
    if (index >= 0 && origins) index = origins[index];
    ((int32_t*)run->outputs[NLIST].data)[atom * places + p] = index;
    if (!env->mixed) continue;
    ((int32_t*)run->outputs[NTYPE].data)[atom * places + p] =
        index >= 0 ? types[index] : (int32_t)run->natoms.types;
    ((unsigned char*)run->outputs[NMASK].data)[atom * places + p] = index >= 0;
  }
}

static bool compute_frame(run_t* run, int64_t frame, deepmd_cells_t* cells) {
  const env_mat_t* env = run->env;
  int64_t all = run->natoms.all;
  run->types = (const int32_t*)run->inputs[TYPE].data + frame * all;
  double box[9];
  for (int64_t i = 0; i < 3 * all; ++i) {
    run->positions[i] = deepmd_get(&run->inputs[COORD], env->dtype, 3 * all * frame + i);
  }
  for (int i = 0; i < 9; ++i) box[i] = deepmd_get(&run->inputs[BOX], env->dtype, 9 * frame + i);
  for (int64_t i = 0; i < all; ++i) {
    if (run->types[i] < run->natoms.types) continue;
    return deepmd_fail(run->call, TF_INVALID_ARGUMENT, "type[%" PRId64 ", %" PRId64
                       "] is %d, must be less than %" PRId64, frame, i, run->types[i],
                       run->natoms.types);
  }
  const double* positions = run->positions;
  const int32_t* origins = NULL;
  if (run->search == SEARCH_BOX) {
    if (!deepmd_cells_initialize_box(run->call, positions, run->types, all, box, env->rcut,
                                     cells)) {
      return false;
    }
    positions = cells->positions;
    origins = cells->origins;
  } else if (run->search == SEARCH_OPEN &&
             !deepmd_cells_initialize_open(run->call, positions, run->types, all, env->rcut,
                                           cells)) {
    return false;
  }
  for (int64_t atom = 0; atom < run->natoms.local; ++atom) {
    if (!find_list(run, cells, atom)) return false;
    memset(run->row, 0, (size_t)(env->places * env->width) * sizeof *run->row);
    memset(run->deriv, 0, 3 * (size_t)(env->places * env->width) * sizeof *run->deriv);
    for (int64_t p = 0; p < env->places; ++p) {
      int64_t index = run->list[p];
      for (int d = 0; d < 3; ++d) {
        run->rij[3 * p + d] = index < 0 ? 0 : positions[3 * index + d] - positions[3 * atom + d];
      }
      if (index < 0) continue;
      fill_row(env, run->rij + 3 * p, run->row + p * env->width, run->deriv + 3 * p * env->width);
    }
    normalize(run, atom);
    put(run, frame, frame * run->natoms.local + atom, origins);
  }
  return true;
}

static void compute(void* kernel, TF_OpKernelContext* ctx) {
  const env_mat_t* env = kernel;
  deepmd_call_t call = {.ctx = ctx, .status = TF_NewStatus(), .op = env->op};
  run_t run = {.call = &call, .env = env};
  bool good = read_inputs(&run) && prepare(&run);
  // Without atoms there is nothing to do, however many frames a shape without elements tells of.
  int64_t frames = good && run.natoms.all > 0 ? run.inputs[COORD].rows : 0;
  for (int64_t frame = 0; good && frame < frames; ++frame) {
    deepmd_cells_t cells = {0};
    good = compute_frame(&run, frame, &cells);
    deepmd_cells_deinitialize(&cells);
  }
  run_deinitialize(&run);
  if (TF_GetCode(call.status) != TF_OK) TF_OpKernelContext_Failure(ctx, call.status);
  TF_DeleteStatus(call.status);
}

// ---- the ops ------------------------------------------------------------------------------------

static void shape(TF_ShapeInferenceContext* ctx, TF_Status* status) {
  deepmd_expect_ranks(ctx, "2212122", status);
  if (TF_GetCode(status) == TF_OK) TF_ShapeInferenceContextSetUnknownShape(ctx, status);
}

static const char* const kInputs[] = {"coord: T",    "type: int32", "natoms: int32", "box: T",
                                      "mesh: int32", "davg: T",     "dstd: T",       NULL};
static const char* const kOutputs[] = {"descrpt: T", "descrpt_deriv: T", "rij: T", "nlist: int32",
                                       NULL};
static const char* const kMixOutputs[] = {"descrpt: T",   "descrpt_deriv: T", "rij: T",
                                          "nlist: int32", "ntype: int32",     "nmask: bool",
                                          NULL};
static const char* const kAttrsA[] = {"rcut_a: float",    "rcut_r: float",    "rcut_r_smth: float",
                                      "sel_a: list(int)", "sel_r: list(int)", NULL};
static const char* const kAttrsR[] = {"rcut: float", "rcut_smth: float", "sel: list(int)", NULL};

void deepmd_register_env_mat(TF_Status* status) {
  static const struct {
    const char* name;
    void* (*create)(TF_OpKernelConstruction* ctx);
    const char *const *outputs, *const *attrs;
  } kOps[] = {
      {"ProdEnvMatA", create_a, kOutputs, kAttrsA},
      {"DescrptSeA", create_se_a, kOutputs, kAttrsA},
      {"DescrptNorot", create_norot, kOutputs, kAttrsA},
      {"ProdEnvMatR", create_r, kOutputs, kAttrsR},
      {"DescrptSeR", create_se_r, kOutputs, kAttrsR},
      {"ProdEnvMatAMix", create_mix, kMixOutputs, kAttrsA},
  };
  for (size_t i = 0; i < sizeof kOps / sizeof *kOps; ++i) {
    deepmd_op_t op = {.name = kOps[i].name,
                      .inputs = kInputs,
                      .outputs = kOps[i].outputs,
                      .attrs = kOps[i].attrs,
                      .shape = shape,
                      .create = kOps[i].create,
                      .destroy = env_mat_delete,
                      .compute = compute,
                      .compute_float = compute};
    deepmd_op_register(&op, status);
  }
}
