// Event files, which TensorBoard reads: records of Event messages in
// <prefix>.out.tfevents.<seconds>.<host><suffix>. The first event states the format's version. An
// event is what a program says at one step: a summary of scalars and histograms, or a graph.
//
//   leat_event_writer_t* writer;
//   LEAT_RETURN_IF_ERROR(leat_event_writer_create(fs, "logs/run", "", allocator, &writer));
//   status = leat_event_writer_add_scalar(writer, step, LEAT_SV("loss"), loss);
//   ...
//   status = leat_status_join(status, leat_event_writer_close(writer));
//
// Readers may follow a file while it is written: it always ends with a whole record.
#ifndef LEAT_FORMATS_RECORD_EVENT_H_
#define LEAT_FORMATS_RECORD_EVENT_H_

#include "base/file_system.h"
#include "formats/generated/event.h"
#include "formats/record/record.h"

// Thread-safe. Events are gathered and reach the file when there are many, on flush and on close.
typedef struct leat_event_writer_s leat_event_writer_t;

// Opens the file, makes its directory when there is none, and writes the first event. |suffix| may
// be "".
LEAT_MUST_USE leat_status_t leat_event_writer_create(leat_file_system_t* fs, const char* prefix,
                                                     const char* suffix,
                                                     leat_allocator_t* allocator,
                                                     leat_event_writer_t** out_writer);
// Flushes and closes; NULL is allowed. The status of what was not written before.
LEAT_MUST_USE leat_status_t leat_event_writer_close(leat_event_writer_t* writer);
// The file's path; valid until the writer is closed.
const char* leat_event_writer_path(const leat_event_writer_t* writer);
// An event without wall time gets the present one. After an error the event is not kept; those
// added before are written as soon as that is possible.
LEAT_MUST_USE leat_status_t leat_event_writer_add(leat_event_writer_t* writer,
                                                  const leat_pb_event_t* event);
// An encoded Event as it is.
LEAT_MUST_USE leat_status_t leat_event_writer_add_encoded(leat_event_writer_t* writer,
                                                          leat_string_view_t event);
// A summary of one value under |tag|, with the present wall time.
LEAT_MUST_USE leat_status_t leat_event_writer_add_scalar(leat_event_writer_t* writer, int64_t step,
                                                         leat_string_view_t tag, float value);
LEAT_MUST_USE leat_status_t leat_event_writer_add_histogram(
    leat_event_writer_t* writer, int64_t step, leat_string_view_t tag,
    const leat_pb_histogram_proto_t* histogram);
// |graph_def|: an encoded GraphDef.
LEAT_MUST_USE leat_status_t leat_event_writer_add_graph(leat_event_writer_t* writer, int64_t step,
                                                        leat_string_view_t graph_def);
// Writes what was gathered and waits until it is on the disk.
LEAT_MUST_USE leat_status_t leat_event_writer_flush(leat_event_writer_t* writer);

// Reads an event file from its beginning, on one thread. The fields are the reader's own.
typedef struct leat_event_reader_s {
  leat_file_t* file;
  leat_record_file_source_t source;
  leat_record_reader_t records;
} leat_event_reader_t;

// The allocator must live until the reader is closed. A reader whose opening failed may be closed
// too.
LEAT_MUST_USE leat_status_t leat_event_reader_open(leat_file_system_t* fs, const char* path,
                                                   leat_allocator_t* allocator,
                                                   leat_event_reader_t* out_reader);
void leat_event_reader_close(leat_event_reader_t* reader);
// The next event: its lists in |arena|, its strings valid until the next call. OUT_OF_RANGE at the
// end, where a later call reads what was written since.
LEAT_MUST_USE leat_status_t leat_event_reader_next(leat_event_reader_t* reader,
                                                   leat_arena_t* arena,
                                                   leat_pb_event_t* out_event);

#endif  // LEAT_FORMATS_RECORD_EVENT_H_
