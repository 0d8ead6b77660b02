// Events that kernels add to a writer of an event file (summary_writer_cpu.c).
#ifndef LEAT_OPS_SUMMARY_SUMMARY_WRITER_CPU_H_
#define LEAT_OPS_SUMMARY_SUMMARY_WRITER_CPU_H_

#include "formats/generated/event.h"
#include "kernel/kernel.h"

// The field numbers in Event, which select what it holds.
enum { LEAT_EVENT_GRAPH_DEF = 4, LEAT_EVENT_SUMMARY = 5 };

// Adds |event|, with the step in input 1 and the present time, to the writer that input 0 names.
LEAT_MUST_USE leat_status_t leat_summary_write(leat_kernel_context_t* c, leat_pb_event_t event);

#endif  // LEAT_OPS_SUMMARY_SUMMARY_WRITER_CPU_H_
