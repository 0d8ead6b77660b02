// A simulated accelerator, "SIM", with which the code that drives accelerators is tested on any
// machine. It has memory of its own that the host cannot touch, streams whose work takes time and
// ends out of order, and copies that wait for events. What only an accelerator shows (a forgotten
// wait, a buffer freed too early, a failure that arrives late) shows here as a fault or a wrong
// value.
//
// Work on one stream runs in order on a thread of its own; work on two streams ends in any order,
// unless one waits for an event of the other. Streams [0, compute_streams) are for kernels. Then
// come the stream into the device, the stream out of it, and one on which the host waits for the
// others. All functions are thread-safe; none of them waits for work.
#ifndef LEAT_DEVICE_SIMULATED_SIMULATED_DEVICE_H_
#define LEAT_DEVICE_SIMULATED_SIMULATED_DEVICE_H_

#include "device/device.h"
#include "device/simulated/simulated_memory.h"

typedef struct leat_simulated_options_s {
  int64_t memory_bytes;
  int compute_streams;          // at most LEAT_SIMULATED_STREAMS_MAX - 3
  int64_t start_ns;             // fixed time of a kernel
  double bytes_per_ns;          // speed at which a kernel touches memory
  int64_t transfer_ns;          // fixed time of a copy
  double transfer_bytes_per_ns;
  bool virtual_time;            // nobody sleeps: only the streams' clocks advance
} leat_simulated_options_t;
// The defaults: 256 MiB, 2 streams, 5 us, 100 GB/s, 10 us, 10 GB/s. The environment variable
// LEAT_SIMULATED changes them: "memory=64 streams=1 start_us=20 gbps=50 transfer_us=30
// transfer_gbps=5 virtual=1", with the memory in MiB.
leat_simulated_options_t leat_simulated_options_default(void);

// Creates the device |name|, the full name of a SIM (INVALID_ARGUMENT otherwise). The device
// retains |pool|, on which it reports the end of work; NULL: on the streams' threads.
LEAT_MUST_USE leat_status_t leat_simulated_device_create(leat_string_view_t name,
                                                         const leat_simulated_options_t* options,
                                                         leat_thread_pool_t* pool,
                                                         leat_allocator_t* allocator,
                                                         leat_device_t** out_device);
extern const leat_device_type_t leat_simulated_device_type;

// The device's memory; it belongs to the device.
leat_simulated_memory_t* leat_simulated_device_memory(const leat_device_t* device);
// The stream for the next kernel: the compute streams take turns.
int leat_simulated_device_next_stream(leat_device_t* device);
// The index of the stream that brings tensors into the device; compute streams are below it.
int leat_simulated_device_copy_in_stream(const leat_device_t* device);
// The simulated time of a kernel that touches |bytes|.
int64_t leat_simulated_device_time_ns(const leat_device_t* device, size_t bytes);

// A piece of work for |stream|. It runs when the events |after| have come and |duration_ns| have
// passed, so that its results appear as late as they may. |work| is told when its time began. Then
// |done| is called, on the pool (without one: on the stream's thread), with the status of |work|.
typedef leat_status_t (*leat_simulated_work_fn_t)(void* data, int64_t start_ns);
typedef struct leat_simulated_task_s {
  int stream;
  leat_simulated_events_t after;
  int64_t duration_ns;
  leat_simulated_work_fn_t work;  // NULL: no work, only the wait
  void* work_data;
  leat_device_done_fn_t done;  // NULL: nobody waits for the end
  void* done_data;
} leat_simulated_task_t;
// Enqueues a copy of |task|. |*out_number| (may be NULL) receives its number on the stream, from 1
// on. On failure nothing is enqueued and |done| is not called.
LEAT_MUST_USE leat_status_t leat_simulated_device_enqueue(leat_device_t* device,
                                                          const leat_simulated_task_t* task,
                                                          uint64_t* out_number);
// Adds to |events| all work that has been enqueued so far on streams [0, stream_count).
void leat_simulated_device_record(leat_device_t* device, int stream_count,
                                  leat_simulated_events_t* events);
// How many pieces of work of a stream have been enqueued and have ended.
typedef struct leat_simulated_progress_s {
  uint64_t enqueued, ended;
  int64_t busy_ns;  // the sum of the durations of work that has ended
} leat_simulated_progress_t;
leat_simulated_progress_t leat_simulated_device_progress(leat_device_t* device, int stream);

#endif  // LEAT_DEVICE_SIMULATED_SIMULATED_DEVICE_H_
