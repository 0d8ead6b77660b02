// Readers as resources: what all kinds share, and what each does.
#ifndef LEAT_OPS_INPUT_READER_CPU_H_
#define LEAT_OPS_INPUT_READER_CPU_H_

#include "base/string_builder.h"
#include "kernel/handle.h"
#include "kernel/kernel.h"
#include "kernel/resource.h"
#include "kernel/wait_queue.h"

typedef struct leat_reader_resource_s leat_reader_resource_t;

typedef struct leat_reader_vtable_s {
  const char* name;
  // Begins |self->work|. NULL: nothing to do.
  leat_status_t (*begin)(leat_reader_resource_t* self);
  // The next record at the end of |key| and in |*out_value| (valid until the next call), unless the
  // work is at its end; |*out_is_last| where it is known to be.
  leat_status_t (*read)(leat_reader_resource_t* self, leat_string_builder_t* key,
                        leat_string_view_t* out_value, bool* out_produced, bool* out_is_last);
  // Lets go of what |begin| took. NULL: nothing.
  void (*end)(leat_reader_resource_t* self);
  bool has_state;  // its work is all its state: it can be saved
} leat_reader_vtable_t;

struct leat_reader_resource_s {
  leat_resource_t resource;  // kind leat_reader_kind
  const leat_reader_vtable_t* vtable;
  leat_wait_queue_t wait_queue;
  bool busy;  // under the wait queue's lock: a read goes on, which alone touches what follows
  leat_string_builder_t work;  // NUL-terminated
  int64_t work_started;
  _Atomic(int64_t) work_finished;
  _Atomic(int64_t) records_produced;
};
extern const leat_resource_kind_t leat_reader_kind;

// Initializes the base of a reader, zeroed before.
void leat_reader_initialize(const leat_reader_vtable_t* vtable, leat_reader_resource_t* out_reader);
// The caller is the busy one. Goes on to |work|.
LEAT_MUST_USE leat_status_t leat_reader_begin_work(leat_reader_resource_t* reader,
                                                   leat_string_view_t work);
static inline bool leat_reader_has_work(const leat_reader_resource_t* reader) {
  return reader->work_finished < reader->work_started;
}
// The next record of the work, if there is one: key and value as in the vtable's |read|.
LEAT_MUST_USE leat_status_t leat_reader_read(leat_reader_resource_t* reader,
                                             leat_string_builder_t* key,
                                             leat_string_view_t* out_value, bool* out_produced);
void leat_reader_reset(leat_reader_resource_t* reader);
LEAT_MUST_USE leat_status_t leat_reader_save(leat_reader_resource_t* reader,
                                             leat_string_builder_t* out);
LEAT_MUST_USE leat_status_t leat_reader_restore(leat_reader_resource_t* reader,
                                                leat_string_view_t state);

#endif  // LEAT_OPS_INPUT_READER_CPU_H_
