// The tree is built anew for each arrangement: points are inserted one by one, and a cell with a
// second point is divided, a quadtree in two dimensions and an octree in three. At MAX_DEPTH points
// that are all but equal share a cell. A point meets itself too, with q = 1 and no force, which is
// taken off the sum in the end; hence nothing must tell it from the others.
#include "board/cell_tree.h"

#include <math.h>
#include <string.h>

#define MAX_DIMS 3
#define CHILDREN 8
#define MAX_DEPTH 24

typedef struct cell_s {
  float middle[MAX_DIMS], half;  // of the cube
  float centre[MAX_DIMS];        // of its points
  uint32_t count;                // of them
  uint32_t first;                // the one that a leaf has
  uint32_t children[CHILDREN];   // 0: none, since no cell has the root as a child
  bool is_divided;
} cell_t;

struct board_cell_tree_s {
  size_t rows, capacity, used;
  uint32_t dims;
  cell_t* cells;
};

leat_status_t board_cell_tree_create(size_t rows, uint32_t dims, leat_arena_t* arena,
                                     board_cell_tree_t** out_tree) {
  LEAT_DCHECK(dims >= 2 && dims <= MAX_DIMS);
  // A point that is inserted divides at most one cell at each depth, which adds two cells there.
  size_t capacity = rows * 2 * MAX_DEPTH + 1;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, 1, out_tree));
  **out_tree = (board_cell_tree_t){.rows = rows, .capacity = capacity, .dims = dims};
  return LEAT_NEW(arena, capacity, &(*out_tree)->cells);
}

// The child of |cell| in which |point| lies, made where there is none.
static cell_t* child_of(board_cell_tree_t* tree, cell_t* cell, const float* point) {
  size_t which = 0;
  for (uint32_t d = 0; d < tree->dims; ++d) which |= (size_t)(point[d] > cell->middle[d]) << d;
  if (!cell->children[which]) {
    LEAT_DCHECK(tree->used < tree->capacity);
    cell_t* made = &tree->cells[tree->used];
    *made = (cell_t){.half = cell->half / 2};
    for (uint32_t d = 0; d < tree->dims; ++d) {
      made->middle[d] = cell->middle[d] + (which >> d & 1 ? made->half : -made->half);
    }
    cell->children[which] = (uint32_t)tree->used++;
  }
  return &tree->cells[cell->children[which]];
}

static void add_point(const board_cell_tree_t* tree, cell_t* cell, const float* point) {
  ++cell->count;
  for (uint32_t d = 0; d < tree->dims; ++d) {
    cell->centre[d] += (point[d] - cell->centre[d]) / (float)cell->count;
  }
}

static void insert(board_cell_tree_t* tree, const float* points, size_t index) {
  const float* point = points + index * tree->dims;
  cell_t* cell = tree->cells;
  for (int depth = 0;; ++depth) {
    if (!cell->count) cell->first = (uint32_t)index;
    add_point(tree, cell, point);
    if (cell->count == 1 || depth == MAX_DEPTH) return;
    if (!cell->is_divided) {
      cell->is_divided = true;
      const float* other = points + (size_t)cell->first * tree->dims;
      cell_t* child = child_of(tree, cell, other);
      child->first = cell->first;
      add_point(tree, child, other);
    }
    cell = child_of(tree, cell, point);
  }
}

static void build(board_cell_tree_t* tree, const float* points) {
  cell_t root = {.half = 1e-6f};
  for (uint32_t d = 0; d < tree->dims; ++d) {
    float low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < tree->rows; ++i) {
      low = fminf(low, points[i * tree->dims + d]);
      high = fmaxf(high, points[i * tree->dims + d]);
    }
    root.middle[d] = (low + high) / 2;
    root.half = fmaxf(root.half, (high - low) / 2);
  }
  tree->cells[0] = root;
  tree->used = 1;
  for (size_t i = 0; i < tree->rows; ++i) insert(tree, points, i);
}

// Adds what all cells do to |point|, and returns the sum of its q.
static double repel_point(const board_cell_tree_t* tree, const float* point, float theta,
                          float* force) {
  uint32_t stack[CHILDREN * (MAX_DEPTH + 1)] = {0};
  size_t waiting = 1;  // the root
  double sum = 0;
  while (waiting) {
    const cell_t* cell = &tree->cells[stack[--waiting]];
    float away[MAX_DIMS], square = 0, width = 2 * cell->half;
    for (uint32_t d = 0; d < tree->dims; ++d) {
      away[d] = point[d] - cell->centre[d];
      square += away[d] * away[d];
    }
    if (cell->is_divided && width * width >= theta * theta * square) {
      for (size_t i = 0; i < CHILDREN; ++i) {
        if (cell->children[i]) stack[waiting++] = cell->children[i];
      }
      continue;
    }
    float near = 1 / (1 + square), all = (float)cell->count * near;
    sum += all;
    for (uint32_t d = 0; d < tree->dims; ++d) force[d] += all * near * away[d];
  }
  return sum;
}

double board_cell_tree_repel(board_cell_tree_t* tree, const float* points, float theta,
                             float* out_forces) {
  double sum = 0;
  LEAT_DCHECK(theta >= 0 && theta <= 0.5f);
  build(tree, points);
  memset(out_forces, 0, tree->rows * tree->dims * sizeof *out_forces);
  for (size_t i = 0; i < tree->rows; ++i) {
    sum += repel_point(tree, points + i * tree->dims, theta, out_forces + i * tree->dims) - 1;
  }
  return sum;
}
