// Principal directions are found by subspace iteration: a few directions are multiplied by the
// covariance, which is never formed, and made orthogonal again, until they stay. Eight directions
// are iterated for three that are kept, because convergence then depends on the ratio of the third
// to the ninth variance. t-SNE is in board/tsne.c, UMAP in board/umap.c.
#include "board/projection.h"

#include <math.h>
#include <string.h>

#define DIRECTIONS 8
#define PRINCIPAL_STEPS 30

// ---- Principal directions -----------------------------------------------------------------------
// A copy without what is not finite, and without the mean of each column.
static leat_status_t center(const board_matrix_t* matrix, leat_arena_t* arena, float** out_values) {
  size_t rows = matrix->rows, columns = matrix->columns;
  double* means = NULL;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, rows * columns + 1, out_values));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, columns + 1, &means));
  for (size_t i = 0; i < rows * columns; ++i) {
    float value = matrix->values[i];
    // Sums of squares of larger numbers would not be finite.
    (*out_values)[i] = fabsf(value) <= 1e15f ? value : 0;
    means[i % columns] += (*out_values)[i];
  }
  for (size_t i = 0; i < rows * columns; ++i) {
    (*out_values)[i] -= (float)(means[i % columns] / (double)rows);
  }
  return leat_ok_status();
}

void board_orthogonalize(double* basis, size_t count, size_t columns) {
  for (size_t d = 0; d < count; ++d) {
    double* row = basis + d * columns;
    double before = 0, after = 0;
    for (size_t c = 0; c < columns; ++c) before += row[c] * row[c];
    // Twice, since once leaves errors of rounding.
    for (int pass = 0; pass < 2; ++pass) {
      for (size_t other = 0; other < d; ++other) {
        const double* done = basis + other * columns;
        double along = 0;
        for (size_t c = 0; c < columns; ++c) along += row[c] * done[c];
        for (size_t c = 0; c < columns; ++c) row[c] -= along * done[c];
      }
    }
    for (size_t c = 0; c < columns; ++c) after += row[c] * row[c];
    double scale = after > before * 1e-24 && after > 0 ? 1 / sqrt(after) : 0;
    for (size_t c = 0; c < columns; ++c) row[c] *= scale;
  }
}

// |out| gets the coordinates of a row of |values| along each direction.
static void project_row(const float* row, const double* basis, size_t count, size_t columns,
                        double* out) {
  for (size_t d = 0; d < count; ++d) {
    double sum = 0;
    for (size_t c = 0; c < columns; ++c) sum += row[c] * basis[d * columns + c];
    out[d] = sum;
  }
}

// Multiplies the directions by the covariance (times the rows).
static void multiply(const float* values, size_t rows, size_t columns, size_t count,
                     const double* basis, double* out) {
  memset(out, 0, count * columns * sizeof *out);
  for (size_t r = 0; r < rows; ++r) {
    double along[DIRECTIONS];
    const float* row = values + r * columns;
    project_row(row, basis, count, columns, along);
    for (size_t d = 0; d < count; ++d) {
      for (size_t c = 0; c < columns; ++c) out[d * columns + c] += along[d] * row[c];
    }
  }
}

// Turns the plane of the directions |a| and |b| so that the covariance of the two, in |matrix|,
// becomes diagonal (a rotation of Jacobi).
static void rotate(double matrix[DIRECTIONS][DIRECTIONS], double turn[DIRECTIONS][DIRECTIONS],
                   size_t count, size_t a, size_t b) {
  if (matrix[a][b] == 0) return;
  double angle = 0.5 * atan2(2 * matrix[a][b], matrix[a][a] - matrix[b][b]);
  double c = cos(angle), s = sin(angle);
  for (size_t i = 0; i < count; ++i) {
    double left = matrix[i][a], right = matrix[i][b];
    matrix[i][a] = c * left + s * right;
    matrix[i][b] = c * right - s * left;
  }
  for (size_t i = 0; i < count; ++i) {
    double above = matrix[a][i], below = matrix[b][i];
    matrix[a][i] = c * above + s * below;
    matrix[b][i] = c * below - s * above;
    above = turn[a][i];
    below = turn[b][i];
    turn[a][i] = c * above + s * below;
    turn[b][i] = c * below - s * above;
  }
}

// Turns the directions, which span the right space, into the principal ones of that space, the one
// with the largest variance first. |product| is them times the covariance, and gets the result.
static void diagonalize(double* basis, double* product, size_t count, size_t columns) {
  double matrix[DIRECTIONS][DIRECTIONS] = {{0}}, turn[DIRECTIONS][DIRECTIONS] = {{0}};
  size_t order[DIRECTIONS];
  for (size_t a = 0; a < count; ++a) {
    turn[a][a] = 1;
    order[a] = a;
    for (size_t b = 0; b < count; ++b) {
      for (size_t c = 0; c < columns; ++c) {
        matrix[a][b] += basis[a * columns + c] * product[b * columns + c];
      }
    }
  }
  for (int sweep = 0; sweep < 12; ++sweep) {
    for (size_t a = 0; a < count; ++a) {
      for (size_t b = a + 1; b < count; ++b) rotate(matrix, turn, count, a, b);
    }
  }
  for (size_t i = 1; i < count; ++i) {
    for (size_t k = i; k > 0 && matrix[order[k]][order[k]] > matrix[order[k - 1]][order[k - 1]];
         --k) {
      size_t other = order[k];
      order[k] = order[k - 1];
      order[k - 1] = other;
    }
  }
  memset(product, 0, count * columns * sizeof *product);
  for (size_t d = 0; d < count; ++d) {
    for (size_t from = 0; from < count; ++from) {
      for (size_t c = 0; c < columns; ++c) {
        product[d * columns + c] += turn[order[d]][from] * basis[from * columns + c];
      }
    }
  }
}

// Gives each direction the sign of its largest part.
static void fix_signs(double* basis, size_t count, size_t columns) {
  for (size_t d = 0; d < count; ++d) {
    double* row = basis + d * columns;
    double largest = 0;
    for (size_t c = 0; c < columns; ++c) largest = fabs(row[c]) > fabs(largest) ? row[c] : largest;
    for (size_t c = 0; c < columns && largest < 0; ++c) row[c] = -row[c];
  }
}

leat_status_t board_project_principal(const board_matrix_t* matrix, leat_arena_t* arena,
                                      float** out_points,
                                      double out_shares[BOARD_PRINCIPAL_COUNT]) {
  size_t rows = matrix->rows, columns = matrix->columns;
  size_t count = columns < DIRECTIONS ? columns : DIRECTIONS;
  float* values;
  double *basis = NULL, *next = NULL, all = 0, sums[BOARD_PRINCIPAL_COUNT] = {0};
  uint64_t random = 88172645463325252u;
  LEAT_RETURN_IF_ERROR(center(matrix, arena, &values));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count * columns + 1, &basis));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count * columns + 1, &next));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, rows * BOARD_PRINCIPAL_COUNT + 1, out_points));
  for (size_t i = 0; i < count * columns; ++i) {
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    basis[i] = (double)(random >> 11) * 0x1p-53 - 0.5;
  }
  board_orthogonalize(basis, count, columns);
  for (int step = 0; step < PRINCIPAL_STEPS; ++step) {
    multiply(values, rows, columns, count, basis, next);
    memcpy(basis, next, count * columns * sizeof *basis);
    board_orthogonalize(basis, count, columns);
  }
  multiply(values, rows, columns, count, basis, next);
  diagonalize(basis, next, count, columns);
  fix_signs(next, count, columns);
  for (size_t i = 0; i < rows * columns; ++i) all += (double)values[i] * values[i];
  for (size_t r = 0; r < rows; ++r) {
    double along[DIRECTIONS] = {0};
    project_row(values + r * columns, next, count, columns, along);
    for (size_t d = 0; d < BOARD_PRINCIPAL_COUNT; ++d) {
      (*out_points)[r * BOARD_PRINCIPAL_COUNT + d] = (float)along[d];
      sums[d] += along[d] * along[d];
    }
  }
  for (size_t d = 0; d < BOARD_PRINCIPAL_COUNT; ++d) out_shares[d] = all > 0 ? sums[d] / all : 0;
  return leat_ok_status();
}

leat_status_t board_projection_check(const board_matrix_t* matrix, uint32_t dims) {
  LEAT_DCHECK(dims == 2 || dims == 3);
  if (matrix->rows && matrix->rows <= BOARD_NEIGHBOUR_ROWS) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT, "there are %zu rows, must be 1 to %d",
                          matrix->rows, BOARD_NEIGHBOUR_ROWS);
}
