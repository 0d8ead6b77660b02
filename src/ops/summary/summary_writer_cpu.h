// Events that kernels add to a writer of an event file or of a database (summary_writer_cpu.c).
// Kernels that outlive their step, such as those of datasets, keep the writer itself.
#ifndef LEAT_OPS_SUMMARY_SUMMARY_WRITER_CPU_H_
#define LEAT_OPS_SUMMARY_SUMMARY_WRITER_CPU_H_

#include "formats/generated/event.h"
#include "kernel/kernel.h"
#include "kernel/resource.h"

// The field numbers in Event, which select what it holds.
enum { LEAT_EVENT_GRAPH_DEF = 4, LEAT_EVENT_SUMMARY = 5 };

// Adds |event|, with the step in input 1 and the present time, to the writer that input 0 names.
LEAT_MUST_USE leat_status_t leat_summary_write(leat_kernel_context_t* c, leat_pb_event_t event);

// Whether the writer that input 0 names writes into a database, which keeps numbers with their
// types.
LEAT_MUST_USE leat_status_t leat_summary_writer_is_database(const leat_kernel_context_t* c,
                                                            bool* out_is);

// Finds the writer that input |index| names; it is retained. NOT_FOUND when its file is not open.
LEAT_MUST_USE leat_status_t leat_summary_writer_find(const leat_kernel_context_t* c, int index,
                                                     leat_resource_t** out_writer);
// Adds |event|, with its step and the present time. Thread-safe.
LEAT_MUST_USE leat_status_t leat_summary_writer_add(leat_resource_t* writer,
                                                    const leat_pb_event_t* event);

#endif  // LEAT_OPS_SUMMARY_SUMMARY_WRITER_CPU_H_
