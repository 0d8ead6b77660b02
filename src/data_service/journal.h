// The journal of a dispatcher: each change of its state, on the disk before whoever asked for the
// change is answered, so that a dispatcher that is started again in the same work directory knows
// what the one before knew. The files are those of TensorFlow's dispatcher:
//
//   WORK_DIR/tf_data_dispatcher_journal/journal_0    records (TFRecord) of DispatcherUpdate
//                                       journal_1    one file for each start of a dispatcher
//                                       ...
//
// Two dispatchers must not write to one directory at the same time. Not thread-safe: the
// dispatcher's mutex is held.
#ifndef LEAT_DATA_SERVICE_JOURNAL_H_
#define LEAT_DATA_SERVICE_JOURNAL_H_

#include "base/file_system.h"
#include "formats/generated/data_service_journal.h"

// Receives a change; it is borrowed for the call. An error ends the reading.
typedef leat_status_t (*leat_journal_fn_t)(void* data,
                                           const leat_pb_dispatcher_update_t* update);

typedef struct leat_journal_s leat_journal_t;

// Reads the files in |directory| in their order, calls |fn| with each change, and begins the file
// behind the last one; the directory is made where it is missing, and |fs| must live as long as the
// journal. The last file may end inside a record, as that of a process that was killed while it
// wrote: nobody was answered for the record, and it is cut off. Errors name the file and the number
// of the record in it, from 0: DATA_LOSS for a record that cannot be read, also a torn one in a
// file that is not the last, and where a file is missing between others; and what |fn| says.
LEAT_MUST_USE leat_status_t leat_journal_open(leat_file_system_t* fs, leat_string_view_t directory,
                                              leat_journal_fn_t fn, void* data,
                                              leat_journal_t** out_journal);
void leat_journal_close(leat_journal_t* journal);  // NULL is allowed
// Writes the changes and waits until the disk has them: all of them, or none and an error, such as
// RESOURCE_EXHAUSTED for a full disk; a later call may succeed. Only where the file could not be
// cut back to what it held before does every later call fail, with the same error.
LEAT_MUST_USE leat_status_t leat_journal_write(leat_journal_t* journal,
                                               const leat_pb_dispatcher_update_t* updates,
                                               size_t count);
// The dispatcher could not make a change that was written, so that the disk is ahead of its memory:
// every later write fails with |status|, which is copied, until a new dispatcher reads the journal.
void leat_journal_fail(leat_journal_t* journal, leat_status_t status);

// Reads the records of one file's bytes; |*out_whole_bytes| is where the torn record begins that
// they end with, or their number. |is_last|: a torn one is no error. For tests and fuzzers, and for
// leat_journal_open.
LEAT_MUST_USE leat_status_t leat_journal_read(leat_string_view_t bytes, bool is_last,
                                              leat_journal_fn_t fn, void* data,
                                              size_t* out_whole_bytes);

#endif  // LEAT_DATA_SERVICE_JOURNAL_H_
