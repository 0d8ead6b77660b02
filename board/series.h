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

typedef struct board_series_s {
  // Owned, NUL-terminated texts in UTF-8; |content| are bytes.
  char* tag;
  char* plugin;
  char* display_name;
  char* description;
  leat_string_view_t content;
  size_t tag_size;
  board_data_class_t data_class;
  board_form_t form;
  board_number_kind_t number_kind;  // of scalars, as the newest was
  board_reservoir_t reservoir;
  // Columns, |count| items each. Of |values| and |places| only one is there. The columns belong to
  // the series, or, where |capacity| is 0, to a mapped file.
  uint32_t count, capacity;
  int64_t* steps;
  double* wall_times;
  double* values;
  board_place_t* places;
} board_series_t;

void board_series_deinitialize(board_series_t* series);
// Offers a point to the reservoir and keeps it. |value| or |place| is used, by the form.
LEAT_MUST_USE leat_status_t board_series_add(board_series_t* series, int64_t step,
                                             double wall_time, double value, board_place_t place);
// Forgets the points at and behind |step|. Returns how many.
uint32_t board_series_purge(board_series_t* series, int64_t step);

// Frees the columns and takes others with the same items, which belong to a mapped file. |items|
// are values or places.
void board_series_borrow(board_series_t* series, int64_t* steps, double* wall_times, void* items);

#endif  // LEAT_BOARD_SERIES_H_
