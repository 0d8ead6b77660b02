// Projections of points whose arrangement is known: ellipsoids, whose axes are the principal
// directions, and groups, which t-SNE must keep apart. What is degenerate (equal rows, one row, one
// column, numbers that are not finite) gives points that are finite.
#include "board/projection.h"

#include <math.h>

#include "board/test_arena.h"

static board_matrix_t make(size_t rows, size_t columns) {
  board_matrix_t matrix = {.rows = rows, .columns = columns};
  LEAT_EXPECT_OK(LEAT_NEW(&arena, rows * columns, &matrix.values));
  return matrix;
}

// A number between -1 and 1 that depends on |i| alone.
static float noise(size_t i) {
  uint64_t word = leat_hash_mix(leat_hash_mix(1, i), 99);
  return (float)(word >> 40) * 0x1p-23f - 1;
}

// The axes of the ellipsoid lie between the coordinates: u and v are turned by 30 degrees.
static void principal_directions_are_the_axes_of_an_ellipsoid(void** state) {
  board_matrix_t matrix = make(2000, 40);
  float* points;
  double shares[BOARD_PRINCIPAL_COUNT];
  for (size_t r = 0; r < matrix.rows; ++r) {
    double u = 8 * noise(3 * r), v = 6 * noise(3 * r + 1), w = 4 * noise(3 * r + 2);
    float* row = matrix.values + r * matrix.columns;
    row[3] = (float)(5 + u * cos(0.5) - v * sin(0.5));
    row[7] = (float)(u * sin(0.5) + v * cos(0.5));
    row[39] = (float)w;
  }
  LEAT_EXPECT_OK(board_project_principal(&matrix, &arena, &points, shares));
  // Variances in the ratio 64 : 36 : 16.
  assert_true(fabs(shares[0] - 64.0 / 116) < 0.02 && fabs(shares[1] - 36.0 / 116) < 0.02);
  assert_true(fabs(shares[0] + shares[1] + shares[2] - 1) < 1e-6);
  double error = 0;
  for (size_t r = 0; r < matrix.rows; ++r) {
    error = fmax(error, fabs(points[3 * r] - 8 * noise(3 * r)));
    error = fmax(error, fabs(points[3 * r + 1] - 6 * noise(3 * r + 1)));
    error = fmax(error, fabs(points[3 * r + 2] - 4 * noise(3 * r + 2)));
  }
  // The noise is not quite uncorrelated.
  assert_true(error < 1);
}

// Whether each point is nearer to some point of its own group than to any other, for groups of
// rows with the same remainder.
static void expect_groups(const float* points, size_t rows, uint32_t dims, size_t groups) {
  for (size_t a = 0; a < rows; ++a) {
    double nearest = INFINITY;
    size_t best = 0;
    for (size_t b = 0; b < rows; ++b) {
      double away = 0;
      for (uint32_t d = 0; d < dims; ++d) {
        away += pow(points[a * dims + d] - points[b * dims + d], 2);
      }
      if (b != a && away < nearest) {
        nearest = away;
        best = b;
      }
    }
    assert_int_equal(best % groups, a % groups);
  }
}

static void neighbours_stay_neighbours(void** state) {
  board_matrix_t matrix = make(200, 20);
  float* points;
  for (size_t i = 0; i < matrix.rows * matrix.columns; ++i) {
    size_t row = i / matrix.columns;
    matrix.values[i] = 4 * noise(row % 8 * 1000 + i % matrix.columns) + noise(i + 77);
  }
  for (uint32_t dims = 2; dims <= 3; ++dims) {
    LEAT_EXPECT_OK(board_project_neighbours(&matrix, dims, 10, &arena, &points));
    expect_groups(points, matrix.rows, dims, 8);
  }
  matrix.rows = BOARD_TSNE_ROWS + 1;
  LEAT_EXPECT_CODE(LEAT_INVALID_ARGUMENT,
                     board_project_neighbours(&matrix, 2, 10, &arena, &points));
}

static void what_is_degenerate_stays_finite(void** state) {
  static const size_t sizes[][2] = {{1, 1}, {2, 1}, {1, 9}, {30, 2}, {30, 12}};
  static const float kinds[] = {0, 7, NAN, INFINITY, 3e38f};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s) {
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; ++kind) {
      board_matrix_t matrix = make(sizes[s][0], sizes[s][1]);
      float* points;
      double shares[BOARD_PRINCIPAL_COUNT];
      for (size_t i = 0; i < matrix.rows * matrix.columns; ++i) {
        matrix.values[i] = kind > 1 && i % 3 ? noise(i) : kinds[kind];
      }
      LEAT_EXPECT_OK(board_project_principal(&matrix, &arena, &points, shares));
      for (size_t i = 0; i < matrix.rows * 3; ++i) assert_true(isfinite(points[i]));
      LEAT_EXPECT_OK(board_project_neighbours(&matrix, 2, 30, &arena, &points));
      for (size_t i = 0; i < matrix.rows * 2; ++i) assert_true(isfinite(points[i]));
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(principal_directions_are_the_axes_of_an_ellipsoid, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(neighbours_stay_neighbours, set_up, tear_down),
      cmocka_unit_test_setup_teardown(what_is_degenerate_stays_finite, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
