// How fast a device is: the work and the bytes that it gets through in a nanosecond, and how long a
// kernel takes to begin. Each device states its own figures (device/device.h), and the cost model
// (graph/cost/cost.h) computes with them. They are rough, since only comparisons between placements
// matter. A kernel is taken to last start_ns plus the larger of its work over |flops_per_ns| and
// its bytes over |bytes_per_ns|.
#ifndef LEAT_BASE_SPEED_H_
#define LEAT_BASE_SPEED_H_

#include <stdint.h>

typedef struct leat_speed_s {
  double flops_per_ns;
  double bytes_per_ns;
  int64_t start_ns;              // of a kernel
  double transfer_bytes_per_ns;  // to and from other devices; 0 = nothing is moved
  int64_t transfer_ns;           // latency
} leat_speed_t;

#endif  // LEAT_BASE_SPEED_H_
