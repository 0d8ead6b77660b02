// A simulated accelerator, "SIM": memory of its own that the host cannot touch, streams whose work
// takes time and ends when it ends, copies that wait for events. What only an accelerator shows is
// tested with it on any machine.
//
// Streams: work on one runs in order on a thread of its own; work on two ends in any order unless
// one waits for an event of the other. Streams [0, compute_streams) are for kernels, then come the
// one into the device, the one out of it and one on which the host waits for the others.
#ifndef LEAT_DEVICE_SIMULATED_SIMULATED_DEVICE_H_
#define LEAT_DEVICE_SIMULATED_SIMULATED_DEVICE_H_

#include "device/device.h"
#include "device/simulated/simulated_memory.h"

typedef struct leat_simulated_options_s {
  int64_t memory_bytes;
  int compute_streams;          // at most LEAT_SIMULATED_STREAMS_MAX - 3
  int64_t start_ns;             // of a kernel
  double bytes_per_ns;          // that a kernel touches
  int64_t transfer_ns;          // latency of a copy
  double transfer_bytes_per_ns;
  bool virtual_time;            // nobody waits: only the streams' clocks go on
} leat_simulated_options_t;
// 256 MiB, 2 streams, 5 us, 100 GB/s, 10 us, 10 GB/s; in the environment LEAT_SIMULATED="memory=64
// (MiB) streams=1 start_us=20 gbps=50 transfer_us=30 transfer_gbps=5 virtual=1" changes them.
leat_simulated_options_t leat_simulated_options_default(void);

LEAT_MUST_USE leat_status_t leat_simulated_device_create(leat_string_view_t name,
                                                         const leat_simulated_options_t* options,
                                                         leat_thread_pool_t* pool,
                                                         leat_allocator_t* allocator,
                                                         leat_device_t** out_device);
extern const leat_device_type_t leat_simulated_device_type;

leat_simulated_memory_t* leat_simulated_device_memory(const leat_device_t* device);
// A stream for the next kernel: each in turn.
int leat_simulated_device_next_stream(leat_device_t* device);
// The one that brings tensors into the device; kernels have those before it.
int leat_simulated_device_copy_in_stream(const leat_device_t* device);
// What the device is expected to take for a kernel that touches |bytes|.
int64_t leat_simulated_device_time_ns(const leat_device_t* device, size_t bytes);

// A piece of work for |stream|: it runs when |after| has come and its time, |duration_ns|, has gone
// by, so that a value is there as late as may be. |work| learns when its time began. Then |done| is
// called, on the pool (without one: on the stream's thread).
typedef leat_status_t (*leat_simulated_work_fn_t)(void* data, int64_t start_ns);
typedef struct leat_simulated_task_s {
  int stream;
  leat_simulated_events_t after;
  int64_t duration_ns;
  leat_simulated_work_fn_t work;  // NULL: none
  void* work_data;
  leat_device_done_fn_t done;  // NULL: nobody asks
  void* done_data;
} leat_simulated_task_t;
// |*out_number| (may be NULL): which piece of work of the stream it is. On failure nothing is done.
LEAT_MUST_USE leat_status_t leat_simulated_device_enqueue(leat_device_t* device,
                                                          const leat_simulated_task_t* task,
                                                          uint64_t* out_number);
// Adds what has been enqueued so far on streams [0, stream_count).
void leat_simulated_device_record(leat_device_t* device, int stream_count,
                                  leat_simulated_events_t* events);
// How many pieces of work of a stream have been enqueued, and how many have ended.
typedef struct leat_simulated_progress_s {
  uint64_t enqueued, ended;
  int64_t busy_ns;  // what the work has taken so far, by the stream's own clock
} leat_simulated_progress_t;
leat_simulated_progress_t leat_simulated_device_progress(leat_device_t* device, int stream);

#endif  // LEAT_DEVICE_SIMULATED_SIMULATED_DEVICE_H_
