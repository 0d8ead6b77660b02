// What a debugger's dump of one tensor says of its values. A dump is a file of TensorFlow's
// debugger (an Event whose summary holds the tensor, or a DebugNumericSummary of it), or an array
// of numpy's (.npy), as the dumping sessions of Leat's Python package write it.
#ifndef LEAT_BOARD_DUMP_TENSOR_H_
#define LEAT_BOARD_DUMP_TENSOR_H_

#include "base/arena.h"

enum { BOARD_DUMP_BUCKETS = 24, BOARD_DUMP_RANK = 8 };
// Larger files are not read.
#define BOARD_DUMP_BYTES ((uint64_t)512 << 20)

typedef struct board_dump_tensor_s {
  int dtype;
  int rank;  // of which at most BOARD_DUMP_RANK sizes are kept
  int64_t dims[BOARD_DUMP_RANK];
  uint64_t count;   // of elements
  bool is_counted;  // the rest is known: the elements are numbers
  uint64_t nan, negative_infinity, positive_infinity;
  // Of the finite elements; of none of them 0.
  double least, most, mean, deviation;
  // Elements of equal parts of |least| to |most|; a summary has no buckets.
  bool has_buckets;
  uint64_t buckets[BOARD_DUMP_BUCKETS];
} board_dump_tensor_t;

// Whose output a file holds, which its path tells.
typedef struct board_dump_name_s {
  leat_string_view_t node;
  int64_t slot;
  int64_t time_us;     // since 1970; 0 where it is not told
  bool is_summary;     // a DebugNumericSummary
} board_dump_name_t;

// Reads the path of a file below the directory of a device, or of a run: "a/b_0.npy", or
// "a/b_0_DebugIdentity_1700000000000000". False for other files.
bool board_dump_parse_name(leat_string_view_t path, board_dump_name_t* out_name);
// Reads the file at |path|. INVALID_ARGUMENT where it is no dump, or larger than BOARD_DUMP_BYTES.
LEAT_MUST_USE leat_status_t board_dump_read(const char* path, const board_dump_name_t* name,
                                            board_dump_tensor_t* out_tensor);

#endif  // LEAT_BOARD_DUMP_TENSOR_H_
