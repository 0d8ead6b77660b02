// Which atoms are within the cutoff of an atom.
#ifndef LEAT_EXAMPLES_DEEPMD_NEIGHBOR_H_
#define LEAT_EXAMPLES_DEEPMD_NEIGHBOR_H_

#include "call.h"

// The atoms of one frame, in a box that repeats itself in three directions or in open space, sorted
// into cells so that a search looks at few of them. In a box there are also ghost atoms: the images
// of atoms in the neighboring boxes, as many as reach within the cutoff.
typedef struct deepmd_cells_t {
  double cutoff;
  int64_t local;      // how many of the atoms are no ghosts; they come first
  int64_t count;      // with the ghosts
  double* positions;  // three numbers for each
  int32_t* types;     // below 0: a virtual atom, which is nobody's neighbor
  int32_t* origins;   // the local atom that a ghost is an image of; a local atom itself
  bool periodic;
  // The grid: in a box it continues for |reach| cells on both sides. Cell c holds members
  // starts[c] to starts[c + 1] - 1.
  int64_t size[3], reach[3];
  int64_t* starts;
  int32_t* members;
  int64_t* homes;  // the cell of each local atom
} deepmd_cells_t;

// Open space: |positions| and |types| are of |count| atoms and copied.
bool deepmd_cells_initialize_open(const deepmd_call_t* call, const double* positions,
                                  const int32_t* types, int64_t count, double cutoff,
                                  deepmd_cells_t* out_cells);
// The rows of |box| are its edges; atoms outside are moved into it.
bool deepmd_cells_initialize_box(const deepmd_call_t* call, const double* positions,
                                 const int32_t* types, int64_t count, const double* box,
                                 double cutoff, deepmd_cells_t* out_cells);
void deepmd_cells_deinitialize(deepmd_cells_t* cells);

// A neighbor as it is sorted: by section, then by distance, then by index. DeePMD compares squares
// of distances in single precision, whatever the type of the coordinates; so does this, because
// the order decides which atoms are left out where a section is too short.
typedef struct deepmd_neighbor_t {
  int32_t section;
  float square;
  int32_t index;
} deepmd_neighbor_t;

// A list that grows.
typedef struct deepmd_neighbors_t {
  deepmd_neighbor_t* items;
  int64_t count, capacity;
} deepmd_neighbors_t;

// Adds atom |index|, which is at |to|, when it is within |cutoff| of |from|.
bool deepmd_neighbors_add(const deepmd_call_t* call, const double* from, const double* to,
                          int32_t section, int32_t index, double cutoff,
                          deepmd_neighbors_t* inout_neighbors);
// The neighbors of the local atom |center|; sections are types, or 0 when |mixed|.
bool deepmd_neighbors_find(const deepmd_call_t* call, const deepmd_cells_t* cells, int64_t center,
                           bool mixed, deepmd_neighbors_t* out_neighbors);
// Sorts the neighbors into a list of as many places as |sections| says in all: those of section s
// get sections[s] places one after the other. A place without a neighbor holds -1; the farthest of
// more neighbors than places are left out.
void deepmd_neighbors_format(deepmd_neighbors_t* neighbors, const int64_t* sections,
                             int64_t section_count, int32_t* out_list);
void deepmd_neighbors_deinitialize(deepmd_neighbors_t* neighbors);

#endif  // LEAT_EXAMPLES_DEEPMD_NEIGHBOR_H_
