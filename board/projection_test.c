// Projections of points whose arrangement is known: ellipsoids, whose axes are the principal
// directions, and groups, which t-SNE and UMAP must keep apart. The points come from a hash or a
// formula of their number, so that they are the same in every run. What has an exact answer is
// compared with it: nearest rows and repelling forces with what all pairs give, shares of variance
// with the axes' squares, and memberships with the sum that is wanted. For the layouts only
// properties are tested that any good one has, such as that a point's nearest neighbour is of its
// own group and that a circle keeps its order. The tests catch directions that are not the axes,
// trees that leave points out or count them twice, columns behind the last full vector that do not
// count, and a UMAP that differs from call to call. What is degenerate (equal rows, one row, one
// column, numbers that are not finite) gives points that are finite.
#include "board/projection.h"

#include <math.h>

#include "board/cell_tree.h"
#include "board/fuzzy_set.h"
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

// Eight groups around corners that are far apart.
static board_matrix_t make_groups(size_t rows) {
  board_matrix_t matrix = make(rows, 20);
  for (size_t i = 0; i < matrix.rows * matrix.columns; ++i) {
    size_t row = i / matrix.columns;
    matrix.values[i] = 4 * noise(row % 8 * 1000 + i % matrix.columns) + noise(i + 77);
  }
  return matrix;
}

static void neighbours_stay_neighbours(void** state) {
  // Of 1,200 rows the tree is used, of 200 the exact sum.
  static const size_t sizes[] = {200, 1200};
  for (size_t s = 0; s < 2; ++s) {
    board_matrix_t matrix = make_groups(sizes[s]);
    for (uint32_t dims = 2; dims <= 3; ++dims) {
      float *points, *again;
      LEAT_EXPECT_OK(board_project_neighbours(&matrix, dims, 10, &arena, &points));
      expect_groups(points, matrix.rows, dims, 8);
      LEAT_EXPECT_OK(board_project_umap(&matrix, dims, 15, &arena, &points));
      expect_groups(points, matrix.rows, dims, 8);
      LEAT_EXPECT_OK(board_project_umap(&matrix, dims, 15, &arena, &again));
      assert_memory_equal(points, again, matrix.rows * dims * sizeof *points);
    }
  }
}

static void too_many_rows_are_refused(void** state) {
  board_matrix_t matrix = make(1, 1);
  float* points;
  matrix.rows = BOARD_NEIGHBOUR_ROWS + 1;
  LEAT_EXPECT_CODE(LEAT_INVALID_ARGUMENT,
                   board_project_neighbours(&matrix, 2, 10, &arena, &points));
  LEAT_EXPECT_CODE(LEAT_INVALID_ARGUMENT, board_project_umap(&matrix, 2, 10, &arena, &points));
}

// Rows along a circle come out as a closed curve in their order, whatever its form: the six nearest
// of a point are among the six before and the six behind it, for nearly all points.
static void a_circle_keeps_its_order(void** state) {
  board_matrix_t matrix = make(300, 3);
  float* points;
  size_t kept = 0;
  for (size_t r = 0; r < matrix.rows; ++r) {
    double angle = 2 * 3.14159265358979 * (double)r / (double)matrix.rows;
    matrix.values[3 * r] = (float)cos(angle);
    matrix.values[3 * r + 1] = (float)sin(angle);
  }
  LEAT_EXPECT_OK(board_project_umap(&matrix, 2, 6, &arena, &points));
  board_matrix_t flat = {.rows = matrix.rows, .columns = 2, .values = points};
  board_nearest_t nearest;
  LEAT_EXPECT_OK(board_nearest_find(&flat, 6, &arena, &nearest));
  for (size_t i = 0; i < nearest.rows * nearest.count; ++i) {
    size_t away = (nearest.indices[i] + matrix.rows - i / nearest.count) % matrix.rows;
    kept += away <= 6 || away >= matrix.rows - 6;
  }
  assert_true(kept >= nearest.rows * nearest.count * 95 / 100);
}

static void nearest_rows_are_found(void** state) {
  board_matrix_t matrix = make(90, 11);
  board_nearest_t nearest;
  // The column 10 counts too, which is the rest behind the eight that are added at once.
  for (size_t i = 0; i < matrix.rows * matrix.columns; ++i) {
    matrix.values[i] = i % 11 == 10 ? 3 * noise(i) : noise(i);
  }
  LEAT_EXPECT_OK(board_nearest_find(&matrix, 7, &arena, &nearest));
  for (size_t row = 0; row < matrix.rows; ++row) {
    double squares[90];
    for (size_t other = 0; other < matrix.rows; ++other) {
      squares[other] = 0;
      for (size_t c = 0; c < 11; ++c) {
        squares[other] += pow(matrix.values[row * 11 + c] - matrix.values[other * 11 + c], 2);
      }
    }
    for (size_t i = 0; i < 7; ++i) {
      size_t nearer = 0, found = nearest.indices[row * 7 + i];
      for (size_t other = 0; other < matrix.rows; ++other) {
        nearer += other != row && squares[other] < squares[found];
      }
      assert_int_equal(nearer, i);
      assert_true(fabs(nearest.squares[row * 7 + i] - squares[found]) < 1e-4);
    }
  }
}

// Between points there is q = 1 / (1 + square of the distance), which the sum and the forces are
// made of.
static void cells_repel_as_their_points_do(void** state) {
  for (uint32_t dims = 2; dims <= 3; ++dims) {
    size_t rows = 800;
    float *points = make(rows, dims).values, *forces = make(rows, dims).values;
    board_cell_tree_t* tree;
    double sum = 0, size = 0;
    double* wanted = NULL;
    for (size_t i = 0; i < rows * dims; ++i) points[i] = 20 * noise(i) * noise(i + 5000);
    for (uint32_t d = 0; d < dims; ++d) points[dims + d] = points[d];  // two are equal
    LEAT_EXPECT_OK(LEAT_NEW(&arena, rows * dims, &wanted));
    for (size_t a = 0; a < rows; ++a) {
      for (size_t b = 0; b < rows; ++b) {
        double square = 0;
        for (uint32_t d = 0; d < dims; ++d) {
          square += pow(points[a * dims + d] - points[b * dims + d], 2);
        }
        double q = 1 / (1 + square);
        if (a != b) sum += q;
        for (uint32_t d = 0; d < dims; ++d) {
          wanted[a * dims + d] += q * q * (points[a * dims + d] - points[b * dims + d]);
        }
      }
    }
    for (size_t i = 0; i < rows * dims; ++i) size += wanted[i] * wanted[i];
    LEAT_EXPECT_OK(board_cell_tree_create(rows, dims, &arena, &tree));
    static const struct {
      float theta;
      double error;
    } cases[] = {{0, 1e-5}, {0.5f, 0.03}};
    for (size_t c = 0; c < 2; ++c) {
      double error = 0, found = board_cell_tree_repel(tree, points, cases[c].theta, forces);
      for (size_t i = 0; i < rows * dims; ++i) error += pow(forces[i] - wanted[i], 2);
      assert_true(fabs(found / sum - 1) < cases[c].error);
      assert_true(sqrt(error / size) < cases[c].error);
    }
  }
}

static void memberships_have_the_sum_that_is_wanted(void** state) {
  float squares[16], memberships[16], sum = 0;
  for (size_t i = 0; i < 16; ++i) squares[i] = 4 + (float)(i * i) * 0.3f;
  board_fuzzy_memberships(squares, 16, memberships);
  for (size_t i = 0; i < 16; ++i) {
    sum += memberships[i];
    assert_true(i == 0 ? memberships[i] == 1 : memberships[i] < memberships[i - 1]);
  }
  assert_true(fabs(sum - 4) < 1e-3);
  // Two of three rows are near each other; the third says 1 of its nearest, which says less of it.
  board_matrix_t matrix = {.rows = 3, .columns = 1, .values = (float[]){0, 1, 5}};
  board_nearest_t nearest;
  board_fuzzy_set_t set;
  LEAT_EXPECT_OK(board_nearest_find(&matrix, 2, &arena, &nearest));
  LEAT_EXPECT_OK(board_fuzzy_set_make(&nearest, &arena, &set));
  assert_int_equal(set.count, 3);
  for (size_t i = 0; i < 3; ++i) {
    size_t a = set.edges[i].a, b = set.edges[i].b;
    float own[2], back[2];
    board_fuzzy_memberships(nearest.squares + 2 * a, 2, own);
    board_fuzzy_memberships(nearest.squares + 2 * b, 2, back);
    float p = own[nearest.indices[2 * a] != b], q = back[nearest.indices[2 * b] != a];
    assert_true(fabsf(set.edges[i].membership - (p + q - p * q)) < 1e-6f);
    if (b == 1 || a == 1) assert_true(set.edges[i].membership == 1);
  }
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
      LEAT_EXPECT_OK(board_project_umap(&matrix, 3, 15, &arena, &points));
      for (size_t i = 0; i < matrix.rows * 3; ++i) assert_true(isfinite(points[i]));
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(principal_directions_are_the_axes_of_an_ellipsoid, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(neighbours_stay_neighbours, set_up, tear_down),
      cmocka_unit_test_setup_teardown(too_many_rows_are_refused, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_circle_keeps_its_order, set_up, tear_down),
      cmocka_unit_test_setup_teardown(nearest_rows_are_found, set_up, tear_down),
      cmocka_unit_test_setup_teardown(cells_repel_as_their_points_do, set_up, tear_down),
      cmocka_unit_test_setup_teardown(memberships_have_the_sum_that_is_wanted, set_up, tear_down),
      cmocka_unit_test_setup_teardown(what_is_degenerate_stays_finite, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
