// CPU kernel of NearestNeighbors. The square of the distance of a point p from a center c is
// |p|^2 + |c|^2 - 2 p.c; |p|^2 is the same for all centers, so that they are compared by
// |c|^2 / 2 - p.c, as in TensorFlow. Each point's nearest centers so far lie sorted in its row of
// the outputs, and a nearer one is inserted at its place; of two that are equally near the first
// comes first.
#include "base/checked.h"
#include "kernel/step_check.h"
#include "ops/kernel_rows.h"

typedef struct nearest_s {
  const float *points, *centers;
  const float* half_squares;  // [center_count] |c|^2 / 2
  int64_t center_count, dims;
  int64_t k;  // at most center_count
  int64_t* indices;
  float* distances;
} nearest_t;

static float dot(const float* a, const float* b, int64_t count) {
  float sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

// Inserts center |index| into a sorted row of |count| items, which has room for |k|. A NaN lies
// behind all numbers.
static void insert(float distance, int64_t index, int64_t count, int64_t k, float* distances,
                   int64_t* indices) {
  int64_t at = 0, end = count;
  while (at < end) {
    int64_t middle = at + (end - at) / 2;
    if (distance < distances[middle] || (distances[middle] != distances[middle] &&
                                         distance == distance)) {
      end = middle;
    } else {
      at = middle + 1;
    }
  }
  if (at == k) return;
  size_t moved = (size_t)(LEAT_MIN(count, k - 1) - at);
  memmove(distances + at + 1, distances + at, moved * sizeof *distances);
  memmove(indices + at + 1, indices + at, moved * sizeof *indices);
  distances[at] = distance;
  indices[at] = index;
}

static void find_shard(void* data, int64_t begin, int64_t end) {
  const nearest_t* job = data;
  for (int64_t i = begin; i < end && !leat_step_loop_is_over(); ++i) {
    const float* point = job->points + i * job->dims;
    float* distances = job->distances + i * job->k;
    int64_t* indices = job->indices + i * job->k;
    for (int64_t c = 0; c < job->center_count; ++c) {
      float distance = job->half_squares[c] - dot(point, job->centers + c * job->dims, job->dims);
      insert(distance, c, LEAT_MIN(c, job->k), job->k, distances, indices);
    }
    float square = dot(point, point, job->dims);
    for (int64_t j = 0; j < job->k; ++j) {
      float distance = 2 * distances[j] + square;
      distances[j] = distance < 0 ? 0 : distance;  // rounding must not make it negative
    }
  }
}

static leat_status_t nearest__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* points = leat_kernel_input(c, 0);
  const leat_tensor_t* centers = leat_kernel_input(c, 1);
  int64_t k = *leat_tensor_data(leat_kernel_input(c, 2), const int64_t);
  int64_t point_count = leat_shape_dim(&points->shape, 0);
  nearest_t job = {.points = points->data,
                   .centers = centers->data,
                   .center_count = leat_shape_dim(&centers->shape, 0),
                   .dims = leat_shape_dim(&points->shape, 1)};
  if (k < 0) return leat_kernel_invalid(c, "k is %lld, must not be negative", (long long)k);
  if (!point_count) return leat_kernel_invalid(c, "points has no rows, must have some");
  job.k = LEAT_MIN(k, job.center_count);
  const int64_t dims[] = {point_count, job.k};
  leat_tensor_t *indices, *distances, half_squares;
  leat_shape_t row;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_sized(c, 0, 2, dims, &indices));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_sized(c, 1, 2, dims, &distances));
  if (!indices->shape.element_count) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_shape_create(1, &job.center_count, &row));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_temporary(c, LEAT_DTYPE_FLOAT, &row, &half_squares));
  float* halves = leat_tensor_data(&half_squares, float);
  for (int64_t i = 0; i < job.center_count; ++i) {
    const float* center = job.centers + i * job.dims;
    halves[i] = dot(center, center, job.dims) / 2;
  }
  job.half_squares = halves;
  job.indices = leat_tensor_data(indices, int64_t);
  job.distances = leat_tensor_data(distances, float);
  double cost_ns = (double)job.center_count * ((double)job.dims + 10);
  leat_kernel_parallel_for(c, point_count, cost_ns, find_shard, &job);
  leat_tensor_release(&half_squares);
  return leat_ok_status();
}

const leat_kernel_row_t leat_nearest_kernels_cpu[] = {
    {.op = "NearestNeighbors", .device_type = "CPU", .compute = nearest__cpu},
    LEAT_KERNEL_ROWS_END,
};
