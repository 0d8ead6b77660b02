// t-SNE (van der Maaten and Hinton 2008), with early exaggeration, momentum and gains: it lays out
// the rows of an embedding in two or three dimensions for the board's projector, so that near rows
// come to lie near each other. board/api_projector.c is the caller.
//
//   rows ─▶ nearest rows ─▶ affinities: they attract ─┐
//   points ─▶ tree of cells: it repels ───────────────┴▶ slopes ─▶ points, STEPS times
//
// Only the nearest rows of a row attract it, three times as many as the perplexity, since the
// others would hardly do. The affinities of a row are weights whose entropy is the logarithm of the
// perplexity, found by bisection. What repels is summed by Barnes and Hut's tree (van der Maaten
// 2014), of few rows exactly. The nearest rows are found by comparing all pairs (board/nearest.c),
// so their number is limited (board/projection.h). Nothing is drawn at random: the points begin
// where the principal directions put them, with an offset by the number of their row that parts
// equal rows, and the number of steps is fixed, so each call gives the same points. All memory
// comes from the request's arena.
#include <math.h>
#include <string.h>

#include "board/cell_tree.h"
#include "board/nearest.h"
#include "board/projection.h"

#define STEPS 400
#define EXAGGERATED_STEPS 100
#define EXAGGERATION 4.0f
#define MAX_PERPLEXITY 100
#define EXACT_ROWS 1000
#define THETA 0.5f

typedef struct embedding_s {
  size_t rows;
  uint32_t dims;
  board_nearest_t nearest;
  float* affinities;  // of each row to its nearest: rows x nearest.count, of sum 1/2
  float *points, *velocities, *gains, *slopes;
  board_cell_tree_t* tree;
} embedding_t;

// The weights of the |count| nearest of a row, whose entropy is |wanted|, found by bisection.
static void weigh(const float* squares, size_t count, double wanted, float* out) {
  float most = squares[count - 1];
  double low = 0, high = INFINITY, beta = 10;
  for (int step = 0; step < 50; ++step) {
    double sum = 0, mean = 0;
    for (size_t i = 0; i < count; ++i) {
      float square = most > 0 ? squares[i] / most : 0;
      out[i] = expf((float)-beta * square);
      sum += out[i];
      mean += (double)out[i] * square;
    }
    double entropy = sum > 0 ? log(sum) + beta * mean / sum : 0;
    for (size_t i = 0; i < count && sum > 0; ++i) out[i] /= (float)sum;
    if (fabs(entropy - wanted) < 1e-4) return;
    if (entropy > wanted) {
      low = beta;
      beta = isinf(high) ? 2 * beta : (low + high) / 2;
    } else {
      high = beta;
      beta = (low + high) / 2;
    }
  }
}

// The slope of the divergence, for affinities that are exaggerated by |scale|. An affinity acts on
// both of its rows, which makes it the mean of both directions.
static void find_slopes(embedding_t* e, float scale) {
  float theta = e->rows <= EXACT_ROWS ? 0 : THETA;
  double sum = board_cell_tree_repel(e->tree, e->points, theta, e->slopes);
  float inverse = sum > 0 ? (float)(1 / sum) : 0;
  for (size_t i = 0; i < e->rows * e->dims; ++i) e->slopes[i] *= -4 * inverse;
  for (size_t i = 0; i < e->rows * e->nearest.count; ++i) {
    float* a = e->points + i / e->nearest.count * e->dims;
    float* b = e->points + (size_t)e->nearest.indices[i] * e->dims;
    float square = 0;
    for (uint32_t d = 0; d < e->dims; ++d) square += (a[d] - b[d]) * (a[d] - b[d]);
    float force = 4 * scale * e->affinities[i] / (1 + square);
    for (uint32_t d = 0; d < e->dims; ++d) {
      float part = force * (a[d] - b[d]);
      e->slopes[a - e->points + d] += part;
      e->slopes[b - e->points + d] -= part;
    }
  }
}

static void descend(embedding_t* e, float momentum, float rate) {
  for (size_t i = 0; i < e->rows * e->dims; ++i) {
    bool turns = (e->slopes[i] > 0) == (e->velocities[i] > 0);
    e->gains[i] = turns ? fmaxf(e->gains[i] * 0.8f, 0.01f) : e->gains[i] + 0.2f;
    e->velocities[i] = momentum * e->velocities[i] - rate * e->gains[i] * e->slopes[i];
    e->points[i] += e->velocities[i];
  }
}

// Begins with the principal directions, of which the first has a deviation of 0.0001.
static leat_status_t begin(const board_matrix_t* matrix, leat_arena_t* arena, embedding_t* e) {
  float* principal;
  double shares[BOARD_PRINCIPAL_COUNT], squares = 0;
  LEAT_RETURN_IF_ERROR(board_project_principal(matrix, arena, &principal, shares));
  for (size_t r = 0; r < e->rows; ++r) {
    squares += (double)principal[r * BOARD_PRINCIPAL_COUNT] * principal[r * BOARD_PRINCIPAL_COUNT];
  }
  double deviation = sqrt(squares / (double)e->rows);
  for (size_t r = 0; r < e->rows; ++r) {
    for (uint32_t d = 0; d < e->dims; ++d) {
      float along = principal[r * BOARD_PRINCIPAL_COUNT + d];
      // Equal rows are moved apart a little, or nothing ever would.
      e->points[r * e->dims + d] = (deviation > 0 ? along / (float)deviation * 1e-4f : 0) +
                                   (float)((r * 7919 + d * 104729) % 1000) * 1e-8f;
    }
  }
  return leat_ok_status();
}

static leat_status_t find_affinities(const board_matrix_t* matrix, double perplexity,
                                     leat_arena_t* arena, embedding_t* e) {
  double most = e->rows > 3 ? (double)(e->rows - 1) / 3 : 1;
  perplexity = fmax(1, fmin(fmin(perplexity, MAX_PERPLEXITY), most));
  size_t count = (size_t)ceil(3 * perplexity);
  if (count >= e->rows) count = e->rows - 1;
  LEAT_RETURN_IF_ERROR(board_nearest_find(matrix, count, arena, &e->nearest));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, e->rows * count + 1, &e->affinities));
  for (size_t r = 0; r < e->rows && count; ++r) {
    weigh(e->nearest.squares + r * count, count, log(perplexity), e->affinities + r * count);
  }
  for (size_t i = 0; i < e->rows * count; ++i) e->affinities[i] /= 2 * (float)e->rows;
  return leat_ok_status();
}

leat_status_t board_project_neighbours(const board_matrix_t* matrix, uint32_t dims,
                                       double perplexity, leat_arena_t* arena,
                                       float** out_points) {
  size_t rows = matrix->rows, count = rows * dims;
  embedding_t e = {.rows = rows, .dims = dims};
  LEAT_RETURN_IF_ERROR(board_projection_check(matrix, dims));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, 4 * count + 1, &e.points));
  e.velocities = e.points + count;
  e.gains = e.points + 2 * count;
  e.slopes = e.points + 3 * count;
  LEAT_RETURN_IF_ERROR(begin(matrix, arena, &e));
  LEAT_RETURN_IF_ERROR(find_affinities(matrix, perplexity, arena, &e));
  LEAT_RETURN_IF_ERROR(board_cell_tree_create(rows, dims, arena, &e.tree));
  for (size_t i = 0; i < count; ++i) e.gains[i] = 1;
  float rate = fmaxf((float)rows / (4 * EXAGGERATION), 10);
  for (int step = 0; step < STEPS; ++step) {
    bool is_early = step < EXAGGERATED_STEPS;
    find_slopes(&e, is_early ? EXAGGERATION : 1);
    descend(&e, is_early ? 0.5f : 0.8f, rate);
  }
  *out_points = e.points;
  return leat_ok_status();
}
