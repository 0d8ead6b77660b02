// A simulated accelerator, "SIM": memory of its own that the host cannot touch, streams whose work
// takes time and ends when it ends, copies that wait for events. What only an accelerator shows is
// tested with it on any machine.
//
// Streams: work on one runs in order on a thread of its own; work on two ends in any order unless
// one waits for an event of the other. Streams [0, compute_streams) are for kernels, then come the
// one into the device and the one out of it.
#ifndef LEAT_DEVICE_SIMULATED_SIMULATED_DEVICE_H_
#define LEAT_DEVICE_SIMULATED_SIMULATED_DEVICE_H_

#include "device/device.h"
#include "device/simulated/simulated_memory.h"

#define LEAT_SIMULATED_STREAMS_MAX 8

typedef struct leat_simulated_options_s {
  int64_t memory_bytes;
  int compute_streams;          // at most LEAT_SIMULATED_STREAMS_MAX - 2
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
// What the device is expected to take for a kernel that touches |bytes|.
int64_t leat_simulated_device_time_ns(const leat_device_t* device, size_t bytes);

// An event: the first |number| pieces of work of |stream| have ended.
typedef struct leat_simulated_event_s {
  int stream;
  uint64_t number;
} leat_simulated_event_t;
leat_simulated_event_t leat_simulated_device_record(leat_device_t* device, int stream);

// Runs |work| on |stream| when all |events| have come; it takes at least |duration_ns|. Then |done|
// is called, on the pool (without one: on the stream's thread).
typedef leat_status_t (*leat_simulated_work_fn_t)(void* data);
void leat_simulated_device_enqueue(leat_device_t* device, int stream,
                                   const leat_simulated_event_t* events, int event_count,
                                   leat_simulated_work_fn_t work, void* work_data,
                                   int64_t duration_ns, leat_device_done_fn_t done,
                                   void* done_data);
// What a stream's work has taken so far, by its own clock.
int64_t leat_simulated_device_busy_ns(leat_device_t* device, int stream);

#endif  // LEAT_DEVICE_SIMULATED_SIMULATED_DEVICE_H_
