// CPU kernel of EditDistance: the Levenshtein distance between sequences, which is the least number
// of insertions, deletions and substitutions that turn one into the other.
//
//   hypothesis, truth (sparse tensors of rank r) -> output, dense, of rank r - 1
//
// A sequence is a run of entries that agree in all indices but the last. Both tensors are in the
// order of their indices, so they are walked side by side as in a merge. Where only one of them has
// a sequence, the other's is empty. The distance is found by dynamic programming over one row of
// costs: the row before it is overwritten from left to right, and only its element diagonally above
// is kept.
#include <math.h>

#include "base/checked.h"
#include "device/cpu/half.h"
#include "kernel/step_check.h"
#include "ops/kernel_rows.h"
#include "ops/sparse/entries_cpu.h"

typedef struct distance_state_s {
  bool is_normalized;
} distance_state_t;

static leat_status_t create(leat_kernel_creation_t* c, void* state) {
  return leat_kernel_attr_bool(c, "normalize", &((distance_state_t*)state)->is_normalized);
}

// ---- Sequences ----------------------------------------------------------------------------------

// A tensor of sequences and the current one.
typedef struct sequences_s {
  leat_entries_t entries;
  int64_t rank;
  int64_t first, count;  // the entries of the current sequence; count 0 after the last one
} sequences_t;

static const int64_t* index_of(const sequences_t* s, int64_t entry) {
  return leat_tensor_data(&s->entries.indices, const int64_t) + entry * s->rank;
}

// Compares the sequences that two entries belong to.
static int compare(const int64_t* a, const int64_t* b, int64_t rank) {
  for (int64_t d = 0; d + 1 < rank; ++d) {
    if (a[d] != b[d]) return a[d] < b[d] ? -1 : 1;
  }
  return 0;
}

// Moves to the next sequence.
static void advance(sequences_t* s) {
  int64_t total = s->entries.values.shape.element_count;
  s->first += s->count;
  s->count = 0;
  while (s->first + s->count < total &&
         compare(index_of(s, s->first), index_of(s, s->first + s->count), s->rank) == 0) {
    ++s->count;
  }
}

// ---- Distances ----------------------------------------------------------------------------------

// Compares two elements as numbers, so that 0 equals -0 and NaN equals nothing.
static bool equal(const leat_tensor_t* a, int64_t i, const leat_tensor_t* b, int64_t j) {
#define SAME(type) (leat_tensor_data(a, const type)[i] == leat_tensor_data(b, const type)[j])
  size_t size = leat_dtype_size(a->dtype);
  switch (a->dtype) {
    case LEAT_DTYPE_FLOAT: return SAME(float);
    case LEAT_DTYPE_DOUBLE: return SAME(double);
    case LEAT_DTYPE_COMPLEX64: return SAME(leat_complex64_t);
    case LEAT_DTYPE_COMPLEX128: return SAME(leat_complex128_t);
    case LEAT_DTYPE_HALF:
      return leat_half_to_float(leat_tensor_data(a, const uint16_t)[i]) ==
             leat_half_to_float(leat_tensor_data(b, const uint16_t)[j]);
    case LEAT_DTYPE_BFLOAT16:
      return leat_bfloat16_to_float(leat_tensor_data(a, const uint16_t)[i]) ==
             leat_bfloat16_to_float(leat_tensor_data(b, const uint16_t)[j]);
    case LEAT_DTYPE_STRING:
      return leat_string_view_equal(leat_tensor_string_at(a, i), leat_tensor_string_at(b, j));
    default:
      return memcmp((const uint8_t*)a->data + (size_t)i * size,
                    (const uint8_t*)b->data + (size_t)j * size, size) == 0;
  }
#undef SAME
}

#define COST_OF_CELL 5.0  // nanoseconds

// Levenshtein's distance. After row i, costs[j] is the distance between the first i + 1 elements of
// |a| and the first j + 1 elements of |b|, which must not be empty.
static leat_status_t find_distance(leat_step_pace_t* pace, const sequences_t* a,
                                   const sequences_t* b, int64_t* costs, int64_t* out_distance) {
  for (int64_t j = 0; j < b->count; ++j) costs[j] = j + 1;
  for (int64_t i = 0; i < a->count; ++i) {
    int64_t diagonal = i, left = i + 1;
    LEAT_RETURN_IF_ERROR(leat_step_pace_count(pace, COST_OF_CELL * (double)b->count));
    for (int64_t j = 0; j < b->count; ++j) {
      bool same = equal(&a->entries.values, a->first + i, &b->entries.values, b->first + j);
      int64_t cost = LEAT_MIN(diagonal + !same, LEAT_MIN(left, costs[j]) + 1);
      diagonal = costs[j];
      costs[j] = left = cost;
    }
  }
  *out_distance = costs[b->count - 1];
  return leat_ok_status();
}

typedef struct distances_s {
  sequences_t hypothesis, truth;
  leat_tensor_t* output;
  int64_t* costs;  // room for the longest sequence of the hypothesis
} distances_t;

// Sets the output's element for the sequence that |at| is at. The indices are not validated, so
// they may lie outside.
static leat_status_t set(const leat_kernel_context_t* c, const distances_t* d,
                         const sequences_t* at, float value) {
  const int64_t* index = index_of(at, at->first);
  const leat_shape_t* shape = &d->output->shape;
  uint64_t place = 0;
  for (int k = 0; k < shape->rank; ++k) {
    place = place * (uint64_t)leat_shape_dim(shape, k) + (uint64_t)index[k];
  }
  if (place >= (uint64_t)shape->element_count) {
    return leat_kernel_error(c, LEAT_INTERNAL, "entry %lld is outside of the output of shape %s",
                             (long long)at->first, LEAT_SHAPE_TEXT(shape));
  }
  leat_tensor_data(d->output, float)[place] = value;
  return leat_ok_status();
}

// Normalised distances are divided by the length of the truth; an empty truth gives infinity.
static leat_status_t fill(leat_kernel_context_t* c, distances_t* d) {
  bool is_normalized = ((const distance_state_t*)leat_kernel_state(c))->is_normalized;
  sequences_t *h = &d->hypothesis, *t = &d->truth;
  leat_step_pace_t pace = leat_step_pace_of(c);
  advance(h);
  advance(t);
  while (h->count || t->count) {
    int order = !h->count   ? 1
                : !t->count ? -1
                            : compare(index_of(h, h->first), index_of(t, t->first), h->rank);
    float value;
    if (order == 0) {
      int64_t distance;
      LEAT_RETURN_IF_ERROR(find_distance(&pace, t, h, d->costs, &distance));
      value = (float)distance;
      if (is_normalized) value /= (float)t->count;
    } else if (order < 0) {
      value = is_normalized ? INFINITY : (float)h->count;
    } else {
      value = is_normalized ? 1 : (float)t->count;
    }
    LEAT_RETURN_IF_ERROR(set(c, d, order > 0 ? t : h, value));
    if (order <= 0) advance(h);
    if (order >= 0) advance(t);
  }
  return leat_ok_status();
}

// ---- The kernel ---------------------------------------------------------------------------------

static sequences_t read_sequences(const leat_kernel_context_t* c, int first) {
  const leat_entries_t entries = leat_entries_of_inputs(c, first);
  return (sequences_t){.entries = entries, .rank = entries.shape.shape.element_count};
}

static leat_status_t make_output(leat_kernel_context_t* c, distances_t* d) {
  int64_t rank = d->truth.rank, dims[LEAT_SHAPE_MAX_RANK];
  const int64_t* hypothesis = d->hypothesis.entries.shape.data;
  const int64_t* truth = d->truth.entries.shape.data;
  leat_shape_t shape;
  if (rank < 2 || rank > LEAT_SHAPE_MAX_RANK) {
    return leat_kernel_invalid(c, "hypothesis and truth have rank %lld, must have 2 to %d",
                               (long long)rank, LEAT_SHAPE_MAX_RANK);
  }
  for (int64_t k = 0; k < rank; ++k) {
    if (hypothesis[k] < 0 || truth[k] < 0) {
      return leat_kernel_invalid(c, "dimension %lld of a sparse tensor is negative",
                                 (long long)k);
    }
    dims[k] = LEAT_MAX(hypothesis[k], truth[k]);
  }
  LEAT_RETURN_IF_ERROR(leat_shape_create((int)rank - 1, dims, &shape));
  leat_status_t status = leat_ok_status();
  if (shape.element_count == 0) {
    status = leat_kernel_invalid(c, "Got output shape %s which has 0 elements",
                                 LEAT_SHAPE_TEXT(&shape));
  }
  if (!status) status = leat_kernel_allocate_output(c, 0, &shape, &d->output);
  leat_shape_release(&shape);
  return status;
}

static leat_status_t edit_distance__cpu(leat_kernel_context_t* c) {
  distances_t d = {.hypothesis = read_sequences(c, 0), .truth = read_sequences(c, 3)};
  leat_tensor_t costs;
  LEAT_RETURN_IF_ERROR(make_output(c, &d));
  leat_tensor_fill_zero(d.output);
  leat_shape_t shape = leat_shape_vector(d.hypothesis.entries.values.shape.element_count);
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_temporary(c, LEAT_DTYPE_INT64, &shape, &costs));
  d.costs = costs.data;
  leat_status_t status = fill(c, &d);
  leat_tensor_release(&costs);
  return status;
}

const leat_kernel_row_t leat_edit_distance_kernels_cpu[] = {
    {.op = "EditDistance",
     .device_type = "CPU",
     .constraints = "T: bfloat16, bool, complex128, complex64, double, float, half, int16, int32, "
                    "int64, int8, string, uint16, uint32, uint64, uint8",
     .create = create,
     .state_bytes = sizeof(distance_state_t),
     .compute = edit_distance__cpu},
    LEAT_KERNEL_ROWS_END,
};
