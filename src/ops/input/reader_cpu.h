// Readers as resources of a graph. A reader takes work units, such as file names, one after the
// other and gives their records, each a key and a value. This header has what all readers share; a
// kind of reader is a vtable of what it does with one work unit (reader_cpu.c), and
// reader_state_cpu.c counts, saves and restores.
//
//   work unit ─▶ begin ─▶ read, read, ... ─▶ no record, or |is_last| ─▶ end ─▶ next work unit
//
// One kernel at a time has the reader (reader_access_cpu.c gives turns through the wait queue,
// without blocking a thread) and may call the functions below. They may block on the file system.
#ifndef LEAT_OPS_INPUT_READER_CPU_H_
#define LEAT_OPS_INPUT_READER_CPU_H_

#include "base/string_builder.h"
#include "kernel/handle.h"
#include "kernel/kernel.h"
#include "kernel/resource.h"
#include "kernel/wait_queue.h"

typedef struct leat_reader_resource_s leat_reader_resource_t;

// A kind of reader. Its struct begins with the base and lies in memory of the system's allocator,
// which the base frees.
typedef struct leat_reader_vtable_s {
  const char* name;
  // Starts on the work unit |self->work|. NULL: nothing to do.
  leat_status_t (*begin)(leat_reader_resource_t* self);
  // Reads the next record: appends its key to |key| and sets |*out_value|, which is valid until the
  // next call, and |*out_produced|. At the end of the work unit it leaves |*out_produced| false; it
  // may also set |*out_is_last| with the last record.
  leat_status_t (*read)(leat_reader_resource_t* self, leat_string_builder_t* key,
                        leat_string_view_t* out_value, bool* out_produced, bool* out_is_last);
  // Releases what |begin| and |read| took. NULL: nothing.
  void (*end)(leat_reader_resource_t* self);
  bool has_state;  // the counters and the work unit are all its state, so that it can be saved
} leat_reader_vtable_t;

struct leat_reader_resource_s {
  leat_resource_t resource;  // kind leat_reader_kind
  const leat_reader_vtable_t* vtable;
  leat_string_builder_t name;  // "IdentityReader 'node'", for messages
  leat_wait_queue_t wait_queue;
  // guarded by the wait queue's lock; the kernel for which it was set alone uses the fields below
  bool busy;
  leat_string_builder_t work;  // the current work unit, followed by a NUL
  int64_t work_started;  // work units begun
  _Atomic(int64_t) work_finished;  // readable at any time
  _Atomic(int64_t) records_produced;  // likewise
};
extern const leat_resource_kind_t leat_reader_kind;

// Initializes the base of a reader, which is zeroed; |node_name| is of the node that makes it.
void leat_reader_initialize(const leat_reader_vtable_t* vtable, leat_string_view_t node_name,
                            leat_reader_resource_t* out_reader);
// Leaves the work unit before, and starts on |work|, which is copied. The caller has the reader.
// When it fails, no work unit was begun.
LEAT_MUST_USE leat_status_t leat_reader_begin_work(leat_reader_resource_t* reader,
                                                   leat_string_view_t work);
// Whether the reader is in the middle of a work unit.
static inline bool leat_reader_has_work(const leat_reader_resource_t* reader) {
  return reader->work_finished < reader->work_started;
}
// Reads the next record of the work unit, if there is one, and counts it; the arguments are those
// of the vtable's |read|. |*out_produced| false means that the work unit has ended.
LEAT_MUST_USE leat_status_t leat_reader_read(leat_reader_resource_t* reader,
                                             leat_string_builder_t* key,
                                             leat_string_view_t* out_value, bool* out_produced);
// Forgets the work unit and sets all counters to 0.
void leat_reader_reset(leat_reader_resource_t* reader);
// Appends the reader's state to |out|, as a serialized ReaderBaseState. UNIMPLEMENTED for kinds
// without |has_state|.
LEAT_MUST_USE leat_status_t leat_reader_save(leat_reader_resource_t* reader,
                                             leat_string_builder_t* out);
// Restores a saved state. INVALID_ARGUMENT, with the reader reset, where |state| is malformed.
LEAT_MUST_USE leat_status_t leat_reader_restore(leat_reader_resource_t* reader,
                                                leat_string_view_t state);

#endif  // LEAT_OPS_INPUT_READER_CPU_H_
