// Debuggers' dumps below the log directory: the directories in which the tensors of a step were
// written, one file each (board/dump_tensor.h). A directory is a dump where it has directories of
// devices ("_tfdbg_device_..."), as TensorFlow's debugger makes them, or where its name begins with
// "run_" and it has .npy files, as Leat's dumping sessions make it.
#ifndef LEAT_BOARD_DUMP_STORE_H_
#define LEAT_BOARD_DUMP_STORE_H_

#include "board/dump_tensor.h"

typedef struct board_dump_store_s board_dump_store_t;

// An output of a node. A loop writes one many times: what is told is then of the time with most
// elements that are no finite numbers, and of such ones the last.
typedef struct board_dump_value_s {
  leat_string_view_t node;
  int64_t slot;
  uint32_t times;
  int64_t time_us;
  board_dump_tensor_t tensor;
} board_dump_value_t;

// All values of a dump, by node and slot.
typedef struct board_dump_s {
  board_dump_value_t* values;
  size_t count;
  size_t unread;  // files that were damaged or too large
} board_dump_t;

LEAT_MUST_USE leat_status_t board_dump_store_create(board_dump_store_t** out_store);
// NULL is allowed.
void board_dump_store_free(board_dump_store_t* store);
// The dumps below |logdir|, by name: their paths below it. Symbolic links are not followed, and a
// directory that cannot be read has none.
LEAT_MUST_USE leat_status_t board_dump_store_list(const char* logdir, leat_arena_t* arena,
                                                  leat_string_view_t** out_names,
                                                  size_t* out_count);
// Calls |visit| with the dump |name|, which is read when it is first asked for or when its files
// have changed; the last one is kept. Any thread; one waits for another. NOT_FOUND where the log
// directory has no such dump.
LEAT_MUST_USE leat_status_t board_dump_store_visit(
    board_dump_store_t* store, const char* logdir, leat_string_view_t name,
    leat_status_t (*visit)(void* data, const board_dump_t* dump), void* data);

#endif  // LEAT_BOARD_DUMP_STORE_H_
