// The CPU kernels that choose the first centers of k-means.
//
// k-means++ (Arthur and Vassilvitskii, 2007) draws each center among the points with a probability
// that is proportional to the squared distance from the nearest center so far. Of several points
// that are drawn, the one is kept that leaves the smallest sum of squared distances. All distances
// are halved, so that they are |x|^2/2 + |y|^2/2 - x.y, and computed in float, as in TensorFlow;
// the words of the generator are taken in the same order, so that the same seed chooses the same
// points.
//
// K-MC2 (Bachem et al., "Approximate k-means++ in sublinear time", 2016) walks over a sample of the
// points, and moves on to the next one with the probability of the quotient of their distances.
#include <math.h>

#include "kernel/step_check.h"
#include "ops/kernel_rows.h"
#include "ops/random/unigram_cpu.h"

static int64_t scalar_at(const leat_kernel_context_t* c, int index) {
  return *leat_tensor_data(leat_kernel_input(c, index), const int64_t);
}

// ---- k-means++ ----------------------------------------------------------------------------------

typedef struct seeding_s {
  const float* points;  // [rows, columns]
  int64_t rows, columns;
  int64_t retries;    // of a draw
  int64_t candidate;  // the row that |trial| takes as a further center
  // For each row: half its squared norm; half the squared distance from the nearest center, as it
  // is, with the candidate, and with the best candidate; the sum of |nearest| up to the row.
  float *norms, *nearest, *trial, *best, *sums;
} seeding_t;
#define ARRAYS 5

static float dot(const seeding_t* s, int64_t a, int64_t b) {
  const float *x = s->points + a * s->columns, *y = s->points + b * s->columns;
  float sum = 0;
  for (int64_t k = 0; k < s->columns; ++k) sum += x[k] * y[k];
  return sum;
}

static void find_norms(void* data, int64_t begin, int64_t end) {
  const seeding_t* s = data;
  for (int64_t i = begin; i < end; ++i) s->norms[i] = 0.5f * dot(s, i, i);
}

static void try_candidate(void* data, int64_t begin, int64_t end) {
  const seeding_t* s = data;
  for (int64_t i = begin; i < end; ++i) {
    const float distance = s->norms[i] + s->norms[s->candidate] - dot(s, i, s->candidate);
    const float positive = distance < 0 ? 0 : distance;
    s->trial[i] = positive < s->nearest[i] ? positive : s->nearest[i];
  }
}

static void sum_up(const seeding_t* s) {
  float sum = 0;
  for (int64_t i = 0; i < s->rows; ++i) s->sums[i] = sum += s->nearest[i];
}

// Draws a row with a probability that is proportional to its distance. Distances that are NaN or
// all 0 give the last row.
static int64_t draw_row(const seeding_t* s, leat_word_stream_t* words) {
  const float limit = leat_word_stream_fraction(words) * s->sums[s->rows - 1];
  int64_t low = 0, high = s->rows - 1;  // the row is in [low, high]
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (limit < s->sums[middle]) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

static double total_of(const float* distances, int64_t count) {
  double total = 0;
  for (int64_t i = 0; i < count; ++i) total += distances[i];
  return total;
}

static void swap(float** a, float** b) {
  float* held = *a;
  *a = *b;
  *b = held;
}

// Chooses the next center among 1 + |retries| candidates and updates s->nearest. CANCELLED or
// DEADLINE_EXCEEDED when the step shall end.
static leat_status_t choose(leat_kernel_context_t* c, seeding_t* s, bool is_first,
                            leat_word_stream_t* words, int64_t* out_row) {
  double least = 0;
  if (!is_first) sum_up(s);
  for (int64_t i = 0; i <= s->retries; ++i) {
    s->candidate = is_first ? (int64_t)leat_word_stream_below64(words, (uint64_t)s->rows)
                            : draw_row(s, words);
    leat_kernel_parallel_for(c, s->rows, 3 + (double)s->columns, try_candidate, s);
    LEAT_RETURN_IF_ERROR(leat_step_check(c->services, true));
    const double total = total_of(s->trial, s->rows);
    if (i > 0 && !(total < least)) continue;
    least = total;
    *out_row = s->candidate;
    swap(&s->trial, &s->best);
  }
  swap(&s->nearest, &s->best);
  return leat_ok_status();
}

static leat_status_t choose_all(leat_kernel_context_t* c, seeding_t* s, leat_tensor_t* output) {
  leat_word_stream_t words = {.philox = leat_philox_make((uint64_t)scalar_at(c, 2), 0)};
  leat_kernel_parallel_for(c, s->rows, 3 + (double)s->columns, find_norms, s);
  for (int64_t i = 0; i < s->rows; ++i) s->nearest[i] = INFINITY;
  for (int64_t i = 0; i < leat_shape_dim(&output->shape, 0); ++i) {
    int64_t row = 0;
    LEAT_RETURN_IF_ERROR(choose(c, s, i == 0, &words, &row));
    memcpy(leat_tensor_data(output, float) + i * s->columns, s->points + row * s->columns,
           (size_t)s->columns * sizeof(float));
  }
  return leat_ok_status();
}

static leat_status_t kmeans__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* points = leat_kernel_input(c, 0);
  const int64_t count = scalar_at(c, 1);
  seeding_t s = {.points = points->data,
                 .rows = leat_shape_dim(&points->shape, 0),
                 .columns = leat_shape_dim(&points->shape, 1),
                 .retries = scalar_at(c, 3)};
  if (s.rows == 0) return leat_kernel_invalid(c, "Expected points.rows() > 0.");
  if (count <= 0) return leat_kernel_invalid(c, "Expected num_to_sample > 0.");
  if (count > s.rows) {
    return leat_kernel_invalid(c, "Expected num_to_sample <= points.rows(). %lld vs %lld.",
                               (long long)count, (long long)s.rows);
  }
  if (s.retries < 0) s.retries = 2 + (int64_t)log((double)count);
  leat_shape_t shape;
  leat_tensor_t memory, *output;
  LEAT_RETURN_IF_ERROR(leat_shape_create(2, (const int64_t[]){ARRAYS, s.rows}, &shape));
  LEAT_RETURN_IF_ERROR(
      leat_kernel_allocate_sized(c, 0, 2, (const int64_t[]){count, s.columns}, &output));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_temporary(c, LEAT_DTYPE_FLOAT, &shape, &memory));
  float** const arrays[ARRAYS] = {&s.norms, &s.nearest, &s.trial, &s.best, &s.sums};
  for (int i = 0; i < ARRAYS; ++i) *arrays[i] = leat_tensor_data(&memory, float) + i * s.rows;
  leat_status_t status = choose_all(c, &s, output);
  leat_tensor_release(&memory);
  return status;
}

// ---- K-MC2 --------------------------------------------------------------------------------------

static leat_status_t kmc2__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  const float* distances = input->data;
  const leat_shape_t scalar = leat_shape_scalar();
  leat_word_stream_t words = {.philox = leat_philox_make((uint64_t)scalar_at(c, 1), 0)};
  leat_tensor_t* output;
  int64_t at = 0;
  for (int64_t i = 1; i < input->shape.element_count; ++i) {
    if (leat_word_stream_fraction(&words) * distances[at] < distances[i]) at = i;
  }
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &scalar, &output));
  *leat_tensor_data(output, int64_t) = at;
  return leat_ok_status();
}

const leat_kernel_row_t leat_clustering_kernels_cpu[] = {
    {.op = "KmeansPlusPlusInitialization",
     .device_type = "CPU",
     .expensive = true,
     .compute = kmeans__cpu},
    {.op = "KMC2ChainInitialization", .device_type = "CPU", .compute = kmc2__cpu},
    LEAT_KERNEL_ROWS_END,
};
