// Finds the atoms within the cutoff of each atom by a grid of cells that are at least as wide as
// the cutoff: the neighbors of an atom are then in its cell and in those around it. In a periodic
// box the grid continues beyond the box for |reach| cells on each side, and the cells out there
// hold images of the atoms inside, made once for each frame:
//
//        reach    size     reach
//      |  c' d' | a b c d | a' b' |      a box of 4 cells in one direction; a' is an image of a
//
// so that a search never has to wrap around. A box that is thinner than the cutoff has one cell and
// a larger reach, and an atom may then be its own neighbor as an image. Images are numbered after
// the atoms, by cell and in a cell by atom, as DeePMD does: neighbors at the same distance are
// sorted by number, and a list that has too few places must leave out the same ones.
//
// Boxes and coordinates may be anything: numbers that are not finite and boxes without volume are
// refused, and so are boxes that would need more than kMostImages images.
#include "neighbor.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// A box as wide as the cutoff has 26 images of each atom. What exceeds this bound is a box whose
// edges are thousands of times shorter than the cutoff: a mistake in the units.
static const int64_t kMostImages = INT64_C(1) << 24;

static double dot(const double* a, const double* b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void cross(const double* a, const double* b, double* out) {
  out[0] = a[1] * b[2] - a[2] * b[1];
  out[1] = a[2] * b[0] - a[0] * b[2];
  out[2] = a[0] * b[1] - a[1] * b[0];
}

// Cells along an axis: as many as are as wide as the cutoff, but few enough that all cells together
// are about eight times as many as the atoms at most.
static int64_t axis_cells(double length, double cutoff, int64_t count) {
  double most = 1 + 2 * cbrt((double)count), cells = floor(length / cutoff);
  if (!(cells >= 1)) return 1;
  return (int64_t)(cells < most ? cells : most);
}

// The cell that a coordinate between 0 and |size| lies in; rounding may have moved it to an end.
static int64_t cell_of(double coordinate, int64_t size) {
  if (!(coordinate > 0)) return 0;
  return coordinate < (double)size ? (int64_t)coordinate : size - 1;
}

static int64_t grid_size(const deepmd_cells_t* cells, int axis) {
  return cells->size[axis] + 2 * cells->reach[axis];
}

static int64_t grid_cells(const deepmd_cells_t* cells) {
  return grid_size(cells, 0) * grid_size(cells, 1) * grid_size(cells, 2);
}

// The number of the cell at |place|, which counts from the first cell of the box: a place before it
// is negative.
static int64_t cell_at(const deepmd_cells_t* cells, const int64_t* place) {
  int64_t number = 0;
  for (int d = 0; d < 3; ++d) {
    number = number * grid_size(cells, d) + place[d] + cells->reach[d];
  }
  return number;
}

// Puts the atoms that are no ghosts into their cells: |homes| is filled already.
static bool fill_local_cells(const deepmd_call_t* call, deepmd_cells_t* cells) {
  int64_t count = grid_cells(cells);
  cells->starts = deepmd_allocate(call, count + 1, sizeof *cells->starts);
  if (!cells->starts) return false;
  for (int64_t i = 0; i < cells->local; ++i) ++cells->starts[cells->homes[i] + 1];
  return true;
}

static bool copy_atoms(const deepmd_call_t* call, const double* positions, const int32_t* types,
                       deepmd_cells_t* cells) {
  cells->positions = deepmd_allocate(call, 3 * cells->count, sizeof *cells->positions);
  cells->types = deepmd_allocate(call, cells->count, sizeof *cells->types);
  cells->origins = deepmd_allocate(call, cells->count, sizeof *cells->origins);
  cells->members = deepmd_allocate(call, cells->count, sizeof *cells->members);
  if (!cells->positions || !cells->types || !cells->origins || !cells->members) return false;
  if (cells->local == 0) return true;
  memcpy(cells->positions, positions, 3 * (size_t)cells->local * sizeof *positions);
  memcpy(cells->types, types, (size_t)cells->local * sizeof *types);
  for (int64_t i = 0; i < cells->local; ++i) cells->origins[i] = (int32_t)i;
  return true;
}

// Makes |starts| positions of cells out of their sizes, which stand one place later.
static void add_up_starts(deepmd_cells_t* cells) {
  int64_t count = grid_cells(cells);
  for (int64_t c = 0; c < count; ++c) cells->starts[c + 1] += cells->starts[c];
}

// ---- open space ---------------------------------------------------------------------------------

bool deepmd_cells_initialize_open(const deepmd_call_t* call, const double* positions,
                                  const int32_t* types, int64_t count, double cutoff,
                                  deepmd_cells_t* out_cells) {
  deepmd_cells_t* cells = out_cells;
  *cells = (deepmd_cells_t){.cutoff = cutoff, .local = count, .count = count};
  if (!deepmd_expect_finite(call, positions, count)) return false;
  double low[3] = {0}, width[3];
  for (int d = 0; d < 3; ++d) {
    double high = count > 0 ? positions[d] : 0;
    low[d] = high;
    for (int64_t i = 1; i < count; ++i) {
      low[d] = fmin(low[d], positions[3 * i + d]);
      high = fmax(high, positions[3 * i + d]);
    }
    double length = high - low[d];  // infinite for the largest of numbers, which get one cell
    cells->size[d] = isfinite(length) ? axis_cells(length, cutoff, count) : 1;
    width[d] = length / (double)cells->size[d];
  }
  cells->homes = deepmd_allocate(call, count, sizeof *cells->homes);
  if (!cells->homes) return false;
  for (int64_t i = 0; i < count; ++i) {
    int64_t place[3] = {0};
    for (int d = 0; d < 3; ++d) {
      if (cells->size[d] == 1) continue;
      place[d] = cell_of((positions[3 * i + d] - low[d]) / width[d], cells->size[d]);
    }
    cells->homes[i] = cell_at(cells, place);
  }
  if (!fill_local_cells(call, cells) || !copy_atoms(call, positions, types, cells)) return false;
  add_up_starts(cells);
  int64_t* next = deepmd_allocate(call, grid_cells(cells), sizeof *next);
  if (!next) return false;
  for (int64_t i = 0; i < count; ++i) {
    int64_t home = cells->homes[i];
    cells->members[cells->starts[home] + next[home]++] = (int32_t)i;
  }
  free(next);
  return true;
}

// ---- a periodic box -----------------------------------------------------------------------------

// What converts coordinates: |inverse| gives the fractions of the edges, |faces| are the distances
// of opposite faces.
typedef struct box_t {
  const double* edges;
  double inverse[9], faces[3];
} box_t;

static bool box_initialize(const deepmd_call_t* call, const double* edges, box_t* out_box) {
  out_box->edges = edges;
  for (int i = 0; i < 9; ++i) {
    if (!isfinite(edges[i])) {
      return deepmd_fail(call, TF_INVALID_ARGUMENT, "box[%d] is %g, must be finite", i, edges[i]);
    }
  }
  double normals[9];
  for (int d = 0; d < 3; ++d) {
    cross(edges + 3 * ((d + 1) % 3), edges + 3 * ((d + 2) % 3), normals + 3 * d);
  }
  double volume = dot(edges, normals);
  bool good = isfinite(volume) && volume != 0;
  for (int d = 0; d < 3; ++d) {
    for (int k = 0; k < 3; ++k) out_box->inverse[3 * d + k] = normals[3 * d + k] / volume;
    out_box->faces[d] = fabs(volume) / sqrt(dot(normals + 3 * d, normals + 3 * d));
    good = good && isfinite(out_box->faces[d]) && out_box->faces[d] > 0;
  }
  if (good) return true;
  return deepmd_fail(call, TF_INVALID_ARGUMENT,
                     "box has volume %g, must be one that is neither 0 nor infinite", volume);
}

// Calls for each cell of the grid, in order, what |visit| is; |place| counts from the box.
typedef void (*visit_t)(deepmd_cells_t* cells, const int64_t* place, void* arg);

static void visit_cells(deepmd_cells_t* cells, visit_t visit, void* arg) {
  int64_t place[3], from[3], to[3];
  for (int d = 0; d < 3; ++d) {
    from[d] = -cells->reach[d];
    to[d] = cells->size[d] + cells->reach[d];
  }
  for (place[0] = from[0]; place[0] < to[0]; ++place[0]) {
    for (place[1] = from[1]; place[1] < to[1]; ++place[1]) {
      for (place[2] = from[2]; place[2] < to[2]; ++place[2]) visit(cells, place, arg);
    }
  }
}

// The cell in the box that the cell at |place| repeats, and by how many boxes they are apart.
static int64_t source_of(const deepmd_cells_t* cells, const int64_t* place, int64_t* out_boxes) {
  int64_t source[3];
  for (int d = 0; d < 3; ++d) {
    int64_t size = cells->size[d];
    out_boxes[d] = place[d] >= 0 ? place[d] / size : -((size - 1 - place[d]) / size);
    source[d] = place[d] - out_boxes[d] * size;
  }
  return cell_at(cells, source);
}

static bool is_image(const int64_t* boxes) { return boxes[0] || boxes[1] || boxes[2]; }

// Gives a cell outside the box the size of the one that it repeats. Sizes stand one place later,
// and those of the cells in the box are known before.
static void count_images(deepmd_cells_t* cells, const int64_t* place, void* arg) {
  int64_t boxes[3], source = source_of(cells, place, boxes), *total = arg;
  int64_t size = cells->starts[source + 1];
  if (is_image(boxes)) cells->starts[cell_at(cells, place) + 1] = size;
  *total += size;
}

typedef struct images_t {
  const double* edges;
  int64_t next;
} images_t;

static void make_images(deepmd_cells_t* cells, const int64_t* place, void* arg) {
  images_t* images = arg;
  int64_t boxes[3], source = source_of(cells, place, boxes);
  if (!is_image(boxes)) return;
  int64_t from = cells->starts[source], to = cells->starts[source + 1];
  int64_t at = cells->starts[cell_at(cells, place)];
  for (int64_t m = from; m < to; ++m) {
    int32_t origin = cells->members[m];
    int64_t ghost = images->next++;
    for (int d = 0; d < 3; ++d) {
      double shift = (double)boxes[0] * images->edges[d] + (double)boxes[1] * images->edges[3 + d] +
                     (double)boxes[2] * images->edges[6 + d];
      cells->positions[3 * ghost + d] = cells->positions[3 * (int64_t)origin + d] + shift;
    }
    cells->types[ghost] = cells->types[origin];
    cells->origins[ghost] = origin;
    cells->members[at++] = (int32_t)ghost;
  }
}

// Moves the atoms into the box and finds their cells.
static bool settle(const deepmd_call_t* call, const box_t* box, const double* positions,
                   double* out_positions, deepmd_cells_t* cells) {
  for (int64_t i = 0; i < cells->local; ++i) {
    double fraction[3];
    int64_t place[3];
    for (int d = 0; d < 3; ++d) {
      fraction[d] = fmod(dot(box->inverse + 3 * d, positions + 3 * i), 1);
      if (fraction[d] < 0) fraction[d] += 1;
      if (!isfinite(fraction[d])) {
        return deepmd_fail(call, TF_INVALID_ARGUMENT,
                           "coord of atom %" PRId64 " is too large for box", i);
      }
      place[d] = cell_of(fraction[d] * (double)cells->size[d], cells->size[d]);
    }
    for (int k = 0; k < 3; ++k) {
      out_positions[3 * i + k] = fraction[0] * box->edges[k] + fraction[1] * box->edges[3 + k] +
                                 fraction[2] * box->edges[6 + k];
    }
    cells->homes[i] = cell_at(cells, place);
  }
  return true;
}

// The atoms are in their cells and |positions| are in the box: adds the images.
static bool fill_cells(const deepmd_call_t* call, const double* edges, const double* positions,
                       const int32_t* types, deepmd_cells_t* cells) {
  if (!fill_local_cells(call, cells)) return false;
  cells->count = 0;
  visit_cells(cells, count_images, &cells->count);
  if (cells->count - cells->local > kMostImages || cells->count > INT32_MAX) {
    return deepmd_fail(call, TF_INVALID_ARGUMENT, "box needs %" PRId64
                       " images of its atoms within the cutoff of %g, must be at most %" PRId64,
                       cells->count - cells->local, cells->cutoff, kMostImages);
  }
  if (!copy_atoms(call, positions, types, cells)) return false;
  add_up_starts(cells);
  int64_t* next = deepmd_allocate(call, grid_cells(cells), sizeof *next);
  if (!next) return false;
  for (int64_t i = 0; i < cells->local; ++i) {
    int64_t home = cells->homes[i];
    cells->members[cells->starts[home] + next[home]++] = (int32_t)i;
  }
  free(next);
  images_t images = {.edges = edges, .next = cells->local};
  visit_cells(cells, make_images, &images);
  return true;
}

bool deepmd_cells_initialize_box(const deepmd_call_t* call, const double* positions,
                                 const int32_t* types, int64_t count, const double* box,
                                 double cutoff, deepmd_cells_t* out_cells) {
  deepmd_cells_t* cells = out_cells;
  *cells = (deepmd_cells_t){.cutoff = cutoff, .local = count, .count = count, .periodic = true};
  box_t geometry;
  if (!deepmd_expect_finite(call, positions, count) || !box_initialize(call, box, &geometry)) {
    return false;
  }
  double total = 1;
  for (int d = 0; d < 3; ++d) {
    cells->size[d] = axis_cells(geometry.faces[d], cutoff, count);
    double reach = floor(cutoff / (geometry.faces[d] / (double)cells->size[d])) + 1;
    total *= (double)cells->size[d] + 2 * reach;
    if (!(total < (double)kMostImages)) {
      return deepmd_fail(call, TF_INVALID_ARGUMENT,
                         "box has faces at a distance of %g, too little for a cutoff of %g",
                         geometry.faces[d], cutoff);
    }
    cells->reach[d] = (int64_t)reach;
  }
  cells->homes = deepmd_allocate(call, count, sizeof *cells->homes);
  double* settled = deepmd_allocate(call, 3 * count, sizeof *settled);
  bool done = cells->homes && settled && settle(call, &geometry, positions, settled, cells) &&
              fill_cells(call, box, settled, types, cells);
  free(settled);
  return done;
}

void deepmd_cells_deinitialize(deepmd_cells_t* cells) {
  free(cells->positions);
  free(cells->types);
  free(cells->origins);
  free(cells->starts);
  free(cells->members);
  free(cells->homes);
  *cells = (deepmd_cells_t){0};
}

// ---- neighbors ----------------------------------------------------------------------------------

bool deepmd_neighbors_add(const deepmd_call_t* call, const double* from, const double* to,
                          int32_t section, int32_t index, double cutoff,
                          deepmd_neighbors_t* inout_neighbors) {
  deepmd_neighbors_t* list = inout_neighbors;
  float square = 0, limit = (float)cutoff;
  for (int d = 0; d < 3; ++d) {
    float difference = (float)to[d] - (float)from[d];
    square += difference * difference;
  }
  if (!(square <= limit * limit)) return true;
  if (list->count == list->capacity) {
    int64_t capacity = list->capacity > 0 ? 2 * list->capacity : 256;
    void* items = realloc(list->items, (size_t)capacity * sizeof *list->items);
    if (!items) return deepmd_fail(call, TF_RESOURCE_EXHAUSTED, "no memory for neighbors");
    list->items = items;
    list->capacity = capacity;
  }
  list->items[list->count++] = (deepmd_neighbor_t){section, square, index};
  return true;
}

// Adds what one cell holds. An atom exactly at the cutoff is no neighbor here, although
// deepmd_neighbors_add would take it.
static bool search_cell(const deepmd_call_t* call, const deepmd_cells_t* cells, int64_t cell,
                        int64_t center, bool mixed, deepmd_neighbors_t* inout_neighbors) {
  const double* from = cells->positions + 3 * center;
  float limit = (float)cells->cutoff * (float)cells->cutoff;
  for (int64_t m = cells->starts[cell]; m < cells->starts[cell + 1]; ++m) {
    int32_t index = cells->members[m];
    if (index == center || cells->types[index] < 0) continue;
    const double* to = cells->positions + 3 * (int64_t)index;
    double difference[3] = {from[0] - to[0], from[1] - to[1], from[2] - to[2]};
    if (!(dot(difference, difference) < (double)limit)) continue;
    int32_t section = mixed ? 0 : cells->types[index];
    if (!deepmd_neighbors_add(call, from, to, section, index, cells->cutoff, inout_neighbors)) {
      return false;
    }
  }
  return true;
}

bool deepmd_neighbors_find(const deepmd_call_t* call, const deepmd_cells_t* cells, int64_t center,
                           bool mixed, deepmd_neighbors_t* out_neighbors) {
  out_neighbors->count = 0;
  // DeePMD gives a virtual atom no neighbors in a box, but its neighbors in open space. Neither has
  // an effect, because its rows of the descriptor are 0 in any case; nlist tells the difference.
  if (cells->periodic && cells->types[center] < 0) return true;
  int64_t home = cells->homes[center], middle[3], from[3], to[3], place[3];
  for (int d = 2; d >= 0; --d) {
    middle[d] = home % grid_size(cells, d) - cells->reach[d];
    home /= grid_size(cells, d);
    from[d] = middle[d] - 1 > 0 ? middle[d] - 1 : 0;
    to[d] = middle[d] + 1 < cells->size[d] ? middle[d] + 1 : cells->size[d] - 1;
    if (cells->periodic) {
      from[d] = middle[d] - cells->reach[d];
      to[d] = middle[d] + cells->reach[d];
    }
  }
  for (place[0] = from[0]; place[0] <= to[0]; ++place[0]) {
    for (place[1] = from[1]; place[1] <= to[1]; ++place[1]) {
      for (place[2] = from[2]; place[2] <= to[2]; ++place[2]) {
        if (!search_cell(call, cells, cell_at(cells, place), center, mixed, out_neighbors)) {
          return false;
        }
      }
    }
  }
  return true;
}

static int compare(const void* a, const void* b) {
  const deepmd_neighbor_t *x = a, *y = b;
  if (x->section != y->section) return x->section < y->section ? -1 : 1;
  if (x->square != y->square) return x->square < y->square ? -1 : 1;
  return x->index < y->index ? -1 : x->index > y->index;
}

void deepmd_neighbors_format(deepmd_neighbors_t* neighbors, const int64_t* sections,
                             int64_t section_count, int32_t* out_list) {
  if (neighbors->count > 0) {
    qsort(neighbors->items, (size_t)neighbors->count, sizeof *neighbors->items, compare);
  }
  int64_t next = 0;
  for (int64_t s = 0; s < section_count; ++s) {
    int64_t used = 0;
    for (; next < neighbors->count && neighbors->items[next].section == s; ++next) {
      if (used < sections[s]) out_list[used++] = neighbors->items[next].index;
    }
    for (; used < sections[s]; ++used) out_list[used] = -1;
    out_list += sections[s];
  }
}

void deepmd_neighbors_deinitialize(deepmd_neighbors_t* neighbors) {
  free(neighbors->items);
  *neighbors = (deepmd_neighbors_t){0};
}
