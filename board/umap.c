// UMAP (McInnes, Healy and Melville 2018): a fuzzy simplicial set of the nearest rows, and points
// that are moved until a set of the same kind fits them. They begin at the eigenvectors of the
// graph of the set. Edges are sampled as often as their membership says, each with points that are
// drawn at random and repelled (negative sampling). The random numbers are the same at each call.
#include <math.h>

#include "board/fuzzy_set.h"
#include "board/projection.h"

#define EPOCHS 300
#define NEGATIVE_SAMPLES 5
#define EIGENVECTOR_STEPS 100
#define MAX_NEIGHBOURS 100
#define EXTENT 10.0f  // of the first arrangement
#define MAX_MOVE 4.0f
// Of the curve 1 / (1 + a d^2b), fitted to one that is 1 up to the distance 0.1 and falls
// exponentially from there.
#define CURVE_A 1.5769f
#define CURVE_B 0.8951f

typedef struct layout_s {
  size_t rows;
  uint32_t dims;
  float* points;
  uint64_t random;
} layout_t;

static uint64_t draw(layout_t* layout) {
  layout->random ^= layout->random << 13;
  layout->random ^= layout->random >> 7;
  layout->random ^= layout->random << 17;
  return layout->random >> 11;
}

// |out| += D^-1/2 W D^-1/2 |vector|, where W has the memberships and D their sums.
static void add_product(const board_fuzzy_set_t* set, const double* sums, const double* vector,
                        double* out) {
  for (size_t i = 0; i < set->count; ++i) {
    const board_fuzzy_edge_t* edge = &set->edges[i];
    double weight = edge->membership / sqrt(sums[edge->a] * sums[edge->b]);
    out[edge->a] += weight * vector[edge->b];
    out[edge->b] += weight * vector[edge->a];
  }
}

// Places the points at the eigenvectors of the normalized graph with the greatest eigenvalues, but
// for the first, which is known (the roots of |sums|) and has no information. They are found by
// subspace iteration; adding the vector to its product makes all eigenvalues positive.
static leat_status_t begin(const board_fuzzy_set_t* set, leat_arena_t* arena, layout_t* layout) {
  size_t rows = layout->rows, count = layout->dims + 1;
  double *sums = NULL, *vectors = NULL, *next = NULL;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, rows, &sums));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count * rows, &vectors));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count * rows, &next));
  for (size_t i = 0; i < set->count; ++i) {
    sums[set->edges[i].a] += set->edges[i].membership;
    sums[set->edges[i].b] += set->edges[i].membership;
  }
  for (size_t i = 0; i < count * rows; ++i) {
    vectors[i] = i < rows ? sqrt(sums[i]) : (double)draw(layout) * 0x1p-53 - 0.5;
  }
  board_orthogonalize(vectors, count, rows);
  for (int step = 0; step < EIGENVECTOR_STEPS; ++step) {
    for (size_t i = 0; i < count * rows; ++i) next[i] = vectors[i];
    for (size_t v = 1; v < count; ++v) add_product(set, sums, vectors + v * rows, next + v * rows);
    board_orthogonalize(next, count, rows);
    double* swap = vectors;
    vectors = next;
    next = swap;
  }
  for (uint32_t d = 0; d < layout->dims; ++d) {
    const double* vector = vectors + (d + 1) * rows;
    double most = 1e-12;
    for (size_t r = 0; r < rows; ++r) most = fmax(most, fabs(vector[r]));
    for (size_t r = 0; r < rows; ++r) {
      // Equal places are moved apart a little, or nothing ever would.
      double noise = ((double)draw(layout) * 0x1p-53 - 0.5) * 1e-3;
      layout->points[r * layout->dims + d] = EXTENT * (float)(vector[r] / most + noise);
    }
  }
  return leat_ok_status();
}

// Moves |a|, and |b| the other way unless it is NULL, by |scale| along the line between |a| and
// |from|, each coordinate by MAX_MOVE at most.
static void move(const layout_t* layout, float scale, float rate, float* a, const float* from,
                 float* b) {
  for (uint32_t d = 0; d < layout->dims; ++d) {
    float part = fmaxf(-MAX_MOVE, fminf(MAX_MOVE, scale * (a[d] - from[d]))) * rate;
    a[d] += part;
    if (b) b[d] -= part;
  }
}

static float square_between(const layout_t* layout, const float* a, const float* b) {
  float sum = 0;
  for (uint32_t d = 0; d < layout->dims; ++d) sum += (a[d] - b[d]) * (a[d] - b[d]);
  return sum;
}

static void attract(layout_t* layout, float* a, float* b, float rate) {
  float square = square_between(layout, a, b);
  if (square <= 0) return;
  float power = powf(square, CURVE_B);
  float scale = -2 * CURVE_A * CURVE_B * power / (square * (1 + CURVE_A * power));
  move(layout, scale, rate, a, b, b);
}

// |a| is repelled by points that are drawn.
static void repel(layout_t* layout, float* a, float rate) {
  for (int i = 0; i < NEGATIVE_SAMPLES; ++i) {
    const float* other = layout->points + draw(layout) % layout->rows * layout->dims;
    if (other == a) continue;
    float square = square_between(layout, a, other);
    float power = powf(square, CURVE_B);
    move(layout, 2 * CURVE_B / ((0.001f + square) * (1 + CURVE_A * power)), rate, a, other, NULL);
  }
}

leat_status_t board_project_umap(const board_matrix_t* matrix, uint32_t dims, size_t neighbours,
                                 leat_arena_t* arena, float** out_points) {
  size_t rows = matrix->rows, count = neighbours < 2 ? 2 : neighbours;
  board_nearest_t nearest;
  board_fuzzy_set_t set;
  float *due = NULL, most = 0;
  layout_t layout = {.rows = rows, .dims = dims, .random = 88172645463325252u};
  LEAT_RETURN_IF_ERROR(board_projection_check(matrix, dims));
  if (count > MAX_NEIGHBOURS) count = MAX_NEIGHBOURS;
  if (count >= rows) count = rows - 1;
  LEAT_RETURN_IF_ERROR(board_nearest_find(matrix, count, arena, &nearest));
  LEAT_RETURN_IF_ERROR(board_fuzzy_set_make(&nearest, arena, &set));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, rows * dims, &layout.points));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, set.count + 1, &due));
  LEAT_RETURN_IF_ERROR(begin(&set, arena, &layout));
  for (size_t i = 0; i < set.count; ++i) most = fmaxf(most, set.edges[i].membership);
  for (int epoch = 0; epoch < EPOCHS; ++epoch) {
    float rate = 1 - (float)epoch / EPOCHS;
    for (size_t i = 0; i < set.count; ++i) {
      // An edge of the greatest membership comes in each epoch, others in their share of them.
      due[i] += set.edges[i].membership / most;
      if (due[i] < 1) continue;
      due[i] -= 1;
      float *a = layout.points + (size_t)set.edges[i].a * dims,
            *b = layout.points + (size_t)set.edges[i].b * dims;
      attract(&layout, a, b, rate);
      repel(&layout, a, rate);
      repel(&layout, b, rate);
    }
  }
  *out_points = layout.points;
  return leat_ok_status();
}
