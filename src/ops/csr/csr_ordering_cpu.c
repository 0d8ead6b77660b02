// CPU kernel of SparseMatrixOrderingAMD: the approximate minimum degree ordering of Amestoy, Davis
// and Duff ("An approximate minimum degree ordering algorithm", 1996). Row permutation[i] of the
// matrix is to be eliminated as the i-th.
//
// Eliminating a row joins all its neighbours with each other. The graph is therefore kept as a
// quotient graph: an eliminated row becomes an element, whose list are the rows that it joined, and
// a row has a list of neighbours that are rows and of elements that it is in.
//
//   row      [ rows ... | elements ... ]      element      [ rows ... ]
//
// An element that lies wholly in a newer one is absorbed, so that no list ever grows but the new
// one, and rows with the same neighbours are merged and counted by weight. The degree of a row,
// which decides what goes next, is bounded by the sum of the sizes of its elements outside the
// newest one, which costs far less than the true number of different rows. Rows with very many
// entries make every degree large and are ordered last.
//
// Only the pattern of the lower triangle is read. TensorFlow's order comes from another program for
// the same method; ties make the two differ, and neither leaves fewer entries than the other
// (docs/decisions/0006).
#include <math.h>

#include "base/checked.h"
#include "kernel/step_check.h"
#include "ops/csr/csr_matrix_cpu.h"
#include "ops/kernel_rows.h"

typedef enum node_state_e {
  ROW = 0,
  ELEMENT,
  GONE,  // eliminated without an element of its own, merged, or absorbed
} node_state_t;

// Arrays [n] but where it says otherwise.
typedef struct ordering_s {
  leat_kernel_context_t* c;
  leat_step_pace_t pace;
  int32_t n;
  int32_t *lists, *spare;  // [room] the lists lie in one; compaction copies them to the other
  int64_t room, used;
  int64_t* start;        // of a node's list
  int32_t *length, *rows;  // of the list, and how many rows stand at its front
  uint8_t* state;
  int32_t* weight;       // rows that a row stands for; of an element the sum of its list
  int32_t* degree;       // of a row, a bound
  int32_t *head, *next, *previous;  // rows by degree, [n + 1] lists; -1 ends them
  int32_t *inside, *seen;  // the last pivot whose list has the row, that has met the element
  int32_t* outside;      // weight of an element's rows outside of the pivot's list
  int32_t *follower, *last;  // the rows that are eliminated with a row, as a list
  int32_t *bucket, *chained, *hash;  // rows of the pivot's list by a hash of their lists
  int32_t* mark;         // the row whose list has the node
  int32_t least;         // no row has a smaller degree
  int32_t* out;          // the order, of which |count| are there
  int32_t count, dense_count;
} ordering_t;

// ---- Rows by degree -----------------------------------------------------------------------------

static void insert(ordering_t* o, int32_t row) {
  const int32_t degree = o->degree[row], first = o->head[degree];
  o->next[row] = first;
  o->previous[row] = -1;
  if (first >= 0) o->previous[first] = row;
  o->head[degree] = row;
  o->least = LEAT_MIN(o->least, degree);
}

static void take_out(ordering_t* o, int32_t row) {
  const int32_t before = o->previous[row], after = o->next[row];
  if (after >= 0) o->previous[after] = before;
  if (before >= 0) {
    o->next[before] = after;
  } else {
    o->head[o->degree[row]] = after;
  }
}

// ---- The graph ----------------------------------------------------------------------------------

// Counts the neighbours of each row in |length|, or writes them to the lists.
static void visit_entries(ordering_t* o, const leat_csr_matrix_t* m, int64_t batch, bool writes) {
  for (int32_t row = 0; row < o->n; ++row) {
    const leat_csr_row_t entries = leat_csr_row(m, batch, row);
    for (int64_t i = entries.begin; i < entries.end; ++i) {
      const int32_t column = m->indices[i];
      if (column >= row) continue;
      if (writes) {
        o->lists[o->start[row] + o->length[row]] = column;
        o->lists[o->start[column] + o->length[column]] = row;
      }
      ++o->length[row];
      ++o->length[column];
    }
  }
}

// Lays out the lists of all rows, each neighbour once.
static void build_graph(ordering_t* o, const leat_csr_matrix_t* m, int64_t batch) {
  for (int32_t i = 0; i < o->n; ++i) o->length[i] = 0;
  visit_entries(o, m, batch, false);
  o->used = 0;
  for (int32_t i = 0; i < o->n; ++i) {
    o->start[i] = o->used;
    o->used += o->length[i];
    o->length[i] = 0;
  }
  visit_entries(o, m, batch, true);
  for (int32_t i = 0; i < o->n; ++i) {
    int32_t* list = o->lists + o->start[i];
    int32_t kept = 0;
    for (int32_t k = 0; k < o->length[i]; ++k) {
      if (o->mark[list[k]] == i) continue;
      o->mark[list[k]] = i;
      list[kept++] = list[k];
    }
    o->length[i] = o->rows[i] = kept;
  }
  for (int32_t i = 0; i < o->n; ++i) o->mark[i] = -1;
}

// Moves the lists together, so that |wanted| items fit behind them. There is room for the lists as
// they were at first, which they never exceed, and for one more.
static void make_room(ordering_t* o, int64_t wanted) {
  if (o->room - o->used >= wanted) return;
  int64_t used = 0;
  for (int32_t i = 0; i < o->n; ++i) {
    if (o->state[i] == GONE) continue;
    memcpy(o->spare + used, o->lists + o->start[i], (size_t)o->length[i] * sizeof *o->lists);
    o->start[i] = used;
    used += o->length[i];
  }
  int32_t* lists = o->lists;
  o->lists = o->spare;
  o->spare = lists;
  o->used = used;
  LEAT_DCHECK(o->room - o->used >= wanted);
}

// ---- A pivot ------------------------------------------------------------------------------------

// |row| will be eliminated with |with|.
static void join(ordering_t* o, int32_t with, int32_t row) {
  o->follower[o->last[with]] = row;
  o->last[with] = o->last[row];
  o->state[row] = GONE;
}

static void add_to_pivot(ordering_t* o, int32_t pivot, int32_t row) {
  if (o->state[row] != ROW || o->inside[row] == pivot || row == pivot) return;
  o->inside[row] = pivot;
  o->lists[o->used++] = row;
  o->weight[pivot] += o->weight[row];
  take_out(o, row);
}

// Makes the pivot an element: its rows are its neighbours and those of its elements, which it
// absorbs.
static void make_element(ordering_t* o, int32_t pivot) {
  int64_t most = o->rows[pivot];
  for (int32_t k = o->rows[pivot]; k < o->length[pivot]; ++k) {
    most += o->length[o->lists[o->start[pivot] + k]];
  }
  make_room(o, LEAT_MIN(most, (int64_t)o->n));
  const int64_t begin = o->used;
  o->weight[pivot] = 0;
  for (int32_t k = 0; k < o->length[pivot]; ++k) {
    const int32_t node = o->lists[o->start[pivot] + k];
    if (k < o->rows[pivot]) {
      add_to_pivot(o, pivot, node);
      continue;
    }
    for (int32_t i = 0; i < o->length[node] && o->state[node] == ELEMENT; ++i) {
      add_to_pivot(o, pivot, o->lists[o->start[node] + i]);
    }
    o->state[node] = GONE;
  }
  o->state[pivot] = ELEMENT;
  o->start[pivot] = begin;
  o->length[pivot] = o->rows[pivot] = (int32_t)(o->used - begin);
}

// Finds for each element that meets the pivot's list how much of it lies outside.
static void find_outside(ordering_t* o, int32_t pivot) {
  for (int32_t k = 0; k < o->length[pivot]; ++k) {
    const int32_t row = o->lists[o->start[pivot] + k];
    for (int32_t i = o->rows[row]; i < o->length[row]; ++i) {
      const int32_t element = o->lists[o->start[row] + i];
      if (o->state[element] != ELEMENT) continue;
      if (o->seen[element] != pivot) o->outside[element] = o->weight[element];
      o->seen[element] = pivot;
      o->outside[element] -= o->weight[row];
    }
  }
}

// Brings the list of |row|, one of the rows that the pivot connects, up to date: rows and elements
// that lie within the pivot are reached through it, so that they leave the list and the pivot joins
// it. Then bounds the row's degree, without the pivot's own rows, and hashes the list.
static void update_row(ordering_t* o, int32_t pivot, int32_t row) {
  int32_t* list = o->lists + o->start[row];
  int32_t kept = 0;
  int64_t degree = 0;
  uint32_t hash = 0;
  for (int32_t k = 0; k < o->rows[row]; ++k) {
    const int32_t other = list[k];
    if (o->state[other] != ROW || o->inside[other] == pivot) continue;
    degree += o->weight[other];
    hash += (uint32_t)other;
    list[kept++] = other;
  }
  const int32_t rows = kept;
  for (int32_t k = o->rows[row]; k < o->length[row]; ++k) {
    const int32_t element = list[k];
    if (o->state[element] != ELEMENT) continue;
    if (o->outside[element] == 0) {
      o->state[element] = GONE;  // absorbed, for all of it lies in the pivot's list
      continue;
    }
    degree += o->outside[element];
    hash += (uint32_t)element;
    list[kept++] = element;
  }
  LEAT_DCHECK(kept < o->length[row]);
  list[kept++] = pivot;
  o->rows[row] = rows;
  o->length[row] = kept;
  o->degree[row] = (int32_t)LEAT_MIN(degree, (int64_t)o->degree[row]);
  o->hash[row] = (int32_t)(hash % (uint32_t)o->n);
}

// Updates the rows of the pivot's list. One that has no other neighbours is eliminated with it.
static leat_status_t update_rows(ordering_t* o, int32_t pivot) {
  for (int32_t k = 0; k < o->length[pivot]; ++k) {
    const int32_t row = o->lists[o->start[pivot] + k];
    LEAT_RETURN_IF_ERROR(leat_step_pace_count(&o->pace, 10 + 3 * (double)o->length[row]));
    update_row(o, pivot, row);
    if (o->length[row] == 1) {
      o->weight[pivot] -= o->weight[row];
      join(o, pivot, row);
      continue;
    }
    o->chained[row] = o->bucket[o->hash[row]];
    o->bucket[o->hash[row]] = row;
  }
  return leat_ok_status();
}

static bool has_marked_list(const ordering_t* o, int32_t row, int32_t marker) {
  if (o->length[row] != o->length[marker] || o->rows[row] != o->rows[marker]) return false;
  for (int32_t k = 0; k < o->length[row]; ++k) {
    if (o->mark[o->lists[o->start[row] + k]] != marker) return false;
  }
  return true;
}

// Merges the rows of a bucket that have the same list.
static leat_status_t merge_bucket(ordering_t* o, int32_t first) {
  for (int32_t row = first; row >= 0; row = o->chained[row]) {
    if (o->state[row] != ROW) continue;
    for (int32_t k = 0; k < o->length[row]; ++k) o->mark[o->lists[o->start[row] + k]] = row;
    for (int32_t other = o->chained[row]; other >= 0; other = o->chained[other]) {
      LEAT_RETURN_IF_ERROR(leat_step_pace_count(&o->pace, 2));
      if (o->state[other] != ROW || !has_marked_list(o, other, row)) continue;
      o->weight[row] += o->weight[other];
      join(o, row, other);
    }
    for (int32_t k = 0; k < o->length[row]; ++k) o->mark[o->lists[o->start[row] + k]] = -1;
  }
  return leat_ok_status();
}

static leat_status_t merge_rows(ordering_t* o, int32_t pivot) {
  for (int32_t k = 0; k < o->length[pivot]; ++k) {
    const int32_t row = o->lists[o->start[pivot] + k];
    if (o->state[row] != ROW) continue;
    const int32_t first = o->bucket[o->hash[row]];
    o->bucket[o->hash[row]] = -1;
    LEAT_RETURN_IF_ERROR(merge_bucket(o, first));
  }
  return leat_ok_status();
}

// Writes a row, and those that are eliminated with it, to the order.
static void emit(ordering_t* o, int32_t first) {
  for (int32_t row = first; row >= 0; row = o->follower[row]) o->out[o->count++] = row;
}

// Leaves in the pivot's list what was not merged or eliminated, and files it by its new degree.
static void finish_pivot(ordering_t* o, int32_t pivot) {
  int32_t* list = o->lists + o->start[pivot];
  const int32_t left = o->n - o->count - o->dense_count;
  int32_t kept = 0;
  for (int32_t k = 0; k < o->length[pivot]; ++k) {
    const int32_t row = list[k];
    if (o->state[row] != ROW) continue;
    const int64_t degree = (int64_t)o->degree[row] + o->weight[pivot] - o->weight[row];
    o->degree[row] = (int32_t)LEAT_MIN(degree, (int64_t)left - o->weight[row]);
    insert(o, row);
    list[kept++] = row;
  }
  o->used = o->start[pivot] + kept;
  o->length[pivot] = o->rows[pivot] = kept;
  if (kept == 0) o->state[pivot] = GONE;
}

static leat_status_t eliminate(ordering_t* o, int32_t pivot) {
  take_out(o, pivot);
  make_element(o, pivot);
  find_outside(o, pivot);
  LEAT_RETURN_IF_ERROR(update_rows(o, pivot));
  emit(o, pivot);
  LEAT_RETURN_IF_ERROR(merge_rows(o, pivot));
  finish_pivot(o, pivot);
  return leat_step_pace_count(&o->pace, 50);
}

// ---- The kernel ---------------------------------------------------------------------------------

// Files all rows by degree, but for those that are dense, which leave the graph.
static void begin(ordering_t* o) {
  const double limit = LEAT_MAX(16, 10 * sqrt((double)o->n));
  o->least = o->n;
  o->count = o->dense_count = 0;
  for (int32_t i = 0; i < o->n; ++i) {
    o->head[i] = o->bucket[i] = o->mark[i] = o->inside[i] = o->seen[i] = o->follower[i] = -1;
    o->last[i] = i;
    o->weight[i] = 1;
    o->degree[i] = o->length[i];
    o->state[i] = o->length[i] > limit ? GONE : ROW;
    o->dense_count += o->state[i] == GONE;
  }
  o->head[o->n] = -1;
  for (int32_t i = o->n; i-- > 0;) {
    if (o->state[i] == ROW) insert(o, i);
  }
}

static leat_status_t order_matrix(ordering_t* o, const leat_csr_matrix_t* m, int64_t batch) {
  for (int32_t i = 0; i < o->n; ++i) o->mark[i] = -1;
  build_graph(o, m, batch);
  begin(o);
  const int32_t dense_count = o->dense_count;
  int32_t* dense = o->out + o->n - dense_count;
  for (int32_t i = 0, at = 0; i < o->n; ++i) {
    if (o->state[i] == GONE) dense[at++] = i;
  }
  while (o->count < o->n - dense_count) {
    while (o->head[o->least] < 0) ++o->least;
    LEAT_DCHECK(o->least < o->n);
    LEAT_RETURN_IF_ERROR(eliminate(o, o->head[o->least]));
  }
  return leat_ok_status();
}

// Carves the arrays out of one temporary; the last share holds the states.
enum { INT_ARRAYS = 16, SHARES };
static void place_arrays(ordering_t* o, int32_t* memory) {
  int32_t** const arrays[INT_ARRAYS] = {
      &o->length, &o->rows,    &o->weight, &o->degree,   &o->head, &o->next,   &o->previous,
      &o->inside, &o->seen,    &o->outside, &o->follower, &o->last, &o->bucket, &o->chained,
      &o->hash,   &o->mark};
  for (int i = 0; i < INT_ARRAYS; ++i) *arrays[i] = memory + (int64_t)i * (o->n + 1);
  o->state = (uint8_t*)(memory + (int64_t)INT_ARRAYS * (o->n + 1));
}

static leat_status_t order_all(ordering_t* o, const leat_csr_matrix_t* m, leat_tensor_t memory[4],
                               leat_tensor_t* output) {
  int64_t most = 0;
  for (int64_t i = 0; i < m->batches; ++i) {
    most = LEAT_MAX(most, (int64_t)m->begins[i + 1] - m->begins[i]);
  }
  // Twice the entries, and a fifth more so that compaction is rare.
  o->room = 2 * most + most / 2 + 2 * m->rows;
  const int64_t counts[4] = {o->room, o->room, SHARES * (m->rows + 1), m->rows + 1};
  for (int i = 0; i < 4; ++i) {
    const leat_shape_t vector = leat_shape_vector(counts[i]);
    LEAT_RETURN_IF_ERROR(leat_kernel_allocate_temporary(
        o->c, i < 3 ? LEAT_DTYPE_INT32 : LEAT_DTYPE_INT64, &vector, &memory[i]));
  }
  o->lists = memory[0].data;
  o->spare = memory[1].data;
  place_arrays(o, memory[2].data);
  o->start = memory[3].data;
  for (int64_t i = 0; i < m->batches; ++i) {
    o->out = leat_tensor_data(output, int32_t) + i * m->rows;
    LEAT_RETURN_IF_ERROR(order_matrix(o, m, i));
  }
  return leat_ok_status();
}

static leat_status_t ordering__cpu(leat_kernel_context_t* c) {
  leat_csr_matrix_t m;
  leat_tensor_t *output, memory[4] = {{0}};
  LEAT_RETURN_IF_ERROR(leat_csr_matrix_of_input(c, 0, 0, &m));
  if (m.rows != m.columns) {
    return leat_kernel_invalid(c, "sparse matrix must be square; got: %lld != %lld",
                               (long long)m.rows, (long long)m.columns);
  }
  const int64_t dims[] = {m.batches, m.rows};
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_sized(c, 0, m.rank - 1, dims + 3 - m.rank, &output));
  if (output->shape.element_count == 0) return leat_ok_status();
  ordering_t o = {.c = c, .pace = leat_step_pace_of(c), .n = (int32_t)m.rows};
  leat_status_t status = order_all(&o, &m, memory, output);
  for (int i = 0; i < 4; ++i) leat_tensor_release(&memory[i]);
  return status;
}

const leat_kernel_row_t leat_csr_ordering_kernels_cpu[] = {
    {.op = "SparseMatrixOrderingAMD",
     .device_type = "CPU",
     .compute = ordering__cpu,
     .expensive = true},
    LEAT_KERNEL_ROWS_END,
};
