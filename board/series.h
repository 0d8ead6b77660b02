// One series of a run: what was written under one tag.
//
// Scalars are columns of numbers. Of everything else (histograms, images, texts, graphs) the series
// keeps where it lies in its event file, and whoever shows it reads it then: logs with gigabytes of
// images cost no memory. The steps are in the order in which they were written.
#ifndef LEAT_BOARD_SERIES_H_
#define LEAT_BOARD_SERIES_H_

#include <stdbool.h>

#include "base/string_view.h"
#include "board/json_writer.h"
#include "board/reservoir.h"

// SummaryMetadata.data_class.
typedef enum board_data_class_e {
  BOARD_CLASS_UNKNOWN = 0,  // of a tag that no plugin owns: it is nowhere shown
  BOARD_CLASS_SCALAR = 1,
  BOARD_CLASS_TENSOR = 2,
  BOARD_CLASS_BLOB = 3,
} board_data_class_t;

// What lies in the file where a point of a series says.
typedef enum board_form_e {
  BOARD_FORM_SCALAR,  // nothing: the column holds the value
  BOARD_FORM_VALUE,   // a Summary.Value
  BOARD_FORM_BYTES,   // the blob itself: a GraphDef or a RunMetadata of an Event
} board_form_t;

typedef struct board_place_s {
  uint64_t offset;
  uint32_t file;  // index in the run
  uint32_t size;
  uint32_t length;  // elements of a blob sequence
} board_place_t;

// The points of a series as its readers see them. Of |values| and |places| only one is there.
typedef struct board_columns_s {
  uint32_t count;
  int64_t* steps;
  double* wall_times;
  double* values;
  board_place_t* places;
} board_columns_t;

typedef struct board_series_s {
  char* tag;  // this and the other texts are owned, NUL-terminated and UTF-8
  size_t tag_size;
  board_form_t form;
  board_number_kind_t number_kind;  // of scalars, as the newest was
  // The points lie in |slots| in their order, with holes between them where the reservoir took some
  // out. The slots belong to the series, or, where |capacity| is 0, to a mapped file.
  uint32_t count;     // points
  uint32_t used;      // slots that are points or holes
  uint32_t capacity;
  board_columns_t slots;
  uint32_t* holes;    // indices of the |used| - |count| holes, in ascending order
  board_reservoir_t reservoir;
  size_t follower;  // index in the run of the series whose value came after one of this
  board_data_class_t data_class;
  char* plugin;
  char* display_name;
  char* description;
  leat_string_view_t content;  // bytes, owned
} board_series_t;

void board_series_deinitialize(board_series_t* series);
// The points. The caller holds the lock of the run, and looks at them only until it lets go.
board_columns_t board_series_columns(board_series_t* series);
// Offers a point to the reservoir and keeps it. |value| or |place| is used, by the form.
LEAT_MUST_USE leat_status_t board_series_add(board_series_t* series, int64_t step,
                                             double wall_time, double value, board_place_t place);
// The same for a scalar, where there is a slot for it and nothing has to be drawn: what nearly all
// points of a log are. false, and nothing was done, where it is not so.
static inline bool board_series_add_quickly(board_series_t* series, int64_t step, double wall_time,
                                            double value) {
  uint32_t at;
  if (series->form != BOARD_FORM_SCALAR) return false;
  if (series->capacity && board_reservoir_replaces_newest(&series->reservoir)) {
    at = series->used - 1;
  } else if (series->used < series->capacity && series->count < series->reservoir.size) {
    at = series->used++;
    ++series->count;
    series->reservoir.seen += series->reservoir.seen < UINT32_MAX;
  } else {
    return false;
  }
  series->slots.steps[at] = step;
  series->slots.wall_times[at] = wall_time;
  series->slots.values[at] = value;
  return true;
}
// Forgets the points at and behind |step|. Returns how many.
uint32_t board_series_purge(board_series_t* series, int64_t step);
// Frees the slots and takes others with the same points, which belong to a mapped file. |items| are
// values or places.
void board_series_borrow(board_series_t* series, int64_t* steps, double* wall_times, void* items);

#endif  // LEAT_BOARD_SERIES_H_
