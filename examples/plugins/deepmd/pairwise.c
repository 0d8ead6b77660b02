// DprcPairwiseIdx: how the atoms of a frame are grouped for a correction between a quantum region
// and classical molecules around it, which is computed for one molecule at a time.
//
//   idxs [frames, all] (the fragment of each atom, -1: none), natoms
//
// The fragment with the lowest number is the quantum region (QM), each other one makes a row of its
// own with the QM atoms again (QM/MM). A row lists atoms as the network wants them: first local
// atoms, QM before MM, then ghost atoms in the same order, both padded with -1 to the longest row:
//
//   forward_qmmm_map   | QM local | MM local | -1 ... | QM ghost | MM ghost | -1 ... |
//                      |<------ natoms_qmmm[0] ------>|
//                      |<---------------------- natoms_qmmm[1] --------------------->|
//
// The backward maps tell for each atom of the frame its place in such a row, or -1; qmmm_frame_idx
// tells the frame of each QM/MM row.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"

enum { IDXS, NATOMS, INPUTS };
enum { FORWARD_QM, BACKWARD_QM, FORWARD_QMMM, BACKWARD_QMMM, NATOMS_QM, NATOMS_QMMM, FRAME_IDX,
       OUTPUTS };

static const char kOp[] = "DprcPairwiseIdx";

typedef struct atom_t {
  int32_t fragment, index;
} atom_t;

static int compare(const void* a, const void* b) {
  const atom_t *x = a, *y = b;
  if (x->fragment != y->fragment) return x->fragment < y->fragment ? -1 : 1;
  return x->index < y->index ? -1 : x->index > y->index;
}

// How long the two halves of the rows of a kind are, padding included.
typedef struct extent_t {
  int64_t local, ghost;
} extent_t;

typedef struct pairwise_t {
  const deepmd_call_t* call;
  deepmd_natoms_t natoms;
  int64_t frames;
  const int32_t* idxs;
  atom_t* atoms;  // of one frame, sorted by fragment
  int64_t grouped;
  extent_t qm, qmmm;
  int64_t rows;  // of QM/MM
} pairwise_t;

// Sorts the atoms of |frame| that belong to a fragment.
static bool group(pairwise_t* p, int64_t frame) {
  const int32_t* fragments = p->idxs + frame * p->natoms.all;
  p->grouped = 0;
  for (int64_t i = 0; i < p->natoms.all; ++i) {
    if (fragments[i] < -1) {
      return deepmd_fail(p->call, TF_INVALID_ARGUMENT,
                         "idxs[%" PRId64 ", %" PRId64 "] is %d, must be at least -1", frame, i,
                         fragments[i]);
    }
    if (fragments[i] >= 0) p->atoms[p->grouped++] = (atom_t){fragments[i], (int32_t)i};
  }
  if (p->grouped == 0) {
    return deepmd_fail(p->call, TF_INVALID_ARGUMENT,
                       "idxs[%" PRId64 "] is -1 everywhere, must tell of one fragment at least",
                       frame);
  }
  qsort(p->atoms, (size_t)p->grouped, sizeof *p->atoms, compare);
  return true;
}

// Where the fragment that begins at |first| ends, and how many of its atoms are local ones. They
// come first, because ghosts have higher numbers.
static int64_t fragment_end(const pairwise_t* p, int64_t first, int64_t* out_local) {
  int64_t end = first;
  *out_local = 0;
  for (; end < p->grouped && p->atoms[end].fragment == p->atoms[first].fragment; ++end) {
    if (p->atoms[end].index < p->natoms.local) ++*out_local;
  }
  return end;
}

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

// Finds how long the rows are.
static bool measure(pairwise_t* p) {
  p->qm = p->qmmm = (extent_t){.local = 1};  // the least that DeePMD gives
  p->rows = 0;
  for (int64_t f = 0; f < p->frames; ++f) {
    if (!group(p, f)) return false;
    int64_t qm_local, local, most_local = 0, most_ghost = 0;
    int64_t qm_end = fragment_end(p, 0, &qm_local), qm_ghost = qm_end - qm_local;
    for (int64_t at = qm_end; at < p->grouped; ++p->rows) {
      int64_t end = fragment_end(p, at, &local);
      most_local = larger(most_local, local);
      most_ghost = larger(most_ghost, end - at - local);
      at = end;
    }
    p->qm.local = larger(p->qm.local, qm_local);
    p->qm.ghost = larger(p->qm.ghost, qm_ghost);
    p->qmmm.local = larger(p->qmmm.local, qm_local + most_local);
    p->qmmm.ghost = larger(p->qmmm.ghost, qm_ghost + most_ghost);
  }
  return true;
}

// A row that is being filled: where the next local atom and the next ghost go.
typedef struct row_t {
  int32_t *forward, *backward;
  int64_t local, ghost;
} row_t;

static row_t begin_row(const pairwise_t* p, const deepmd_array_t* out, int map, int64_t number,
                       extent_t extent) {
  int64_t length = extent.local + extent.ghost;
  row_t row = {.forward = (int32_t*)out[map].data + number * length,
               .backward = (int32_t*)out[map + 1].data + number * p->natoms.all,
               .ghost = extent.local};
  for (int64_t i = 0; i < length; ++i) row.forward[i] = -1;
  for (int64_t i = 0; i < p->natoms.all; ++i) row.backward[i] = -1;
  return row;
}

static void add_atoms(const pairwise_t* p, int64_t from, int64_t to, row_t* row) {
  for (int64_t a = from; a < to; ++a) {
    int32_t index = p->atoms[a].index;
    int64_t place = index < p->natoms.local ? row->local++ : row->ghost++;
    row->forward[place] = index;
    row->backward[index] = (int32_t)place;
  }
}

static bool fill(pairwise_t* p, deepmd_array_t* out) {
  int64_t next = 0, unused;
  for (int64_t f = 0; f < p->frames; ++f) {
    if (!group(p, f)) return false;
    int64_t qm_end = fragment_end(p, 0, &unused);
    row_t row = begin_row(p, out, FORWARD_QM, f, p->qm);
    add_atoms(p, 0, qm_end, &row);
    for (int64_t at = qm_end; at < p->grouped; ++next) {
      int64_t end = fragment_end(p, at, &unused);
      row = begin_row(p, out, FORWARD_QMMM, next, p->qmmm);
      add_atoms(p, 0, qm_end, &row);
      add_atoms(p, at, end, &row);
      ((int32_t*)out[FRAME_IDX].data)[next] = (int32_t)f;
      at = end;
    }
  }
  return true;
}

// The input natoms of the new rows: all atoms are told of as if they were of the first type.
static void fill_natoms(extent_t extent, deepmd_array_t* out) {
  int32_t* counts = out->data;
  for (int64_t i = 3; i < out->columns; ++i) counts[i] = 0;
  counts[0] = counts[2] = (int32_t)extent.local;
  counts[1] = (int32_t)(extent.local + extent.ghost);
}

static bool pairwise(pairwise_t* p, deepmd_array_t* in, deepmd_array_t* out) {
  const deepmd_call_t* call = p->call;
  if (!deepmd_input(call, IDXS, "idxs", 2, &in[IDXS]) ||
      !deepmd_input(call, NATOMS, "natoms", 1, &in[NATOMS]) ||
      !deepmd_natoms(call, &in[NATOMS], &p->natoms) ||
      !deepmd_expect_columns(call, "idxs", &in[IDXS], p->natoms.all)) {
    return false;
  }
  p->frames = in[IDXS].rows;
  if (p->frames <= 0 || p->frames > INT32_MAX) {
    return deepmd_fail(call, TF_INVALID_ARGUMENT, "idxs has %" PRId64
                       " rows, must have 1 at least", p->frames);
  }
  p->idxs = in[IDXS].data;
  p->atoms = deepmd_allocate(call, p->natoms.all, sizeof *p->atoms);
  if (!p->atoms || !measure(p)) return false;
  int64_t length = p->qmmm.local + p->qmmm.ghost;
  return deepmd_output(call, FORWARD_QM, 2, p->frames, p->qm.local + p->qm.ghost,
                       &out[FORWARD_QM]) &&
         deepmd_output(call, BACKWARD_QM, 2, p->frames, p->natoms.all, &out[BACKWARD_QM]) &&
         deepmd_output(call, FORWARD_QMMM, 2, p->rows, length, &out[FORWARD_QMMM]) &&
         deepmd_output(call, BACKWARD_QMMM, 2, p->rows, p->natoms.all, &out[BACKWARD_QMMM]) &&
         deepmd_output(call, NATOMS_QM, 1, 1, in[NATOMS].columns, &out[NATOMS_QM]) &&
         deepmd_output(call, NATOMS_QMMM, 1, 1, in[NATOMS].columns, &out[NATOMS_QMMM]) &&
         deepmd_output(call, FRAME_IDX, 1, 1, p->rows, &out[FRAME_IDX]) && fill(p, out);
}

static void compute(void* kernel, TF_OpKernelContext* ctx) {
  deepmd_call_t call = {.ctx = ctx, .status = TF_NewStatus(), .op = kOp};
  deepmd_array_t inputs[INPUTS] = {{0}}, outputs[OUTPUTS] = {{0}};
  pairwise_t p = {.call = &call};
  if (pairwise(&p, inputs, outputs)) {
    fill_natoms(p.qm, &outputs[NATOMS_QM]);
    fill_natoms(p.qmmm, &outputs[NATOMS_QMMM]);
  }
  free(p.atoms);
  deepmd_arrays_deinitialize(inputs, INPUTS);
  deepmd_arrays_deinitialize(outputs, OUTPUTS);
  if (TF_GetCode(call.status) != TF_OK) TF_OpKernelContext_Failure(ctx, call.status);
  TF_DeleteStatus(call.status);
}

static void shape(TF_ShapeInferenceContext* ctx, TF_Status* status) {
  deepmd_expect_ranks(ctx, "21", status);
  if (TF_GetCode(status) == TF_OK) TF_ShapeInferenceContextSetUnknownShape(ctx, status);
}

void deepmd_register_pairwise(TF_Status* status) {
  static const char* const kInputs[] = {"idxs: int32", "natoms: int32", NULL};
  static const char* const kOutputs[] = {
      "forward_qm_map: int32",    "backward_qm_map: int32", "forward_qmmm_map: int32",
      "backward_qmmm_map: int32", "natoms_qm: int32",       "natoms_qmmm: int32",
      "qmmm_frame_idx: int32",    NULL};
  static const char* const kAttrs[] = {NULL};
  deepmd_op_t op = {.name = kOp,
                    .inputs = kInputs,
                    .outputs = kOutputs,
                    .attrs = kAttrs,
                    .shape = shape,
                    .compute = compute};
  deepmd_op_register(&op, status);
}
