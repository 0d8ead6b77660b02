// A stand-in for NVIDIA's driver and its CUPTI in one library, for tests of recordings on machines
// without a GPU. A launch writes the records that CUPTI writes, as NVIDIA documents their bytes,
// into buffers that it asks for; they come back when one is full or all are flushed. Work "runs" at
// once and ends when its time has passed. The clock runs twice as fast as the system's and begins
// elsewhere, so that times which are not converted are seen. What CUPTI leaves undone while it is
// not asked is left undone here: no kind, no record; POSIX's thread numbers unless the system's are
// wished; records that find no buffer are dropped and counted; the work that has not ended has no
// times when its record is flushed. Any function can be told to fail.
#define _GNU_SOURCE
#include "fake_cuda.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define KINDS 64

enum { COPY = 1, FILL = 2, DRIVER = 4, RUNTIME = 5, KERNEL = 10, PEER_COPY = 22 };
enum { MAX_LIMIT_REACHED = 12, INVALID_OPERATION = 7, INVALID_PARAMETER = 1 };

typedef struct __attribute__((packed, aligned(8))) kernel_record_s {
  uint32_t kind;
  uint8_t cache, shared;
  uint16_t registers;
  uint32_t cache_requested, cache_executed;
  uint64_t start, end, completed;
  uint32_t device, context, stream;
  int32_t grid[3], block[3], shared_bytes[2];
  uint32_t local_bytes[2], correlation;
  int64_t grid_id;
  const char* name;
  uint8_t rest[96];
} kernel_record_t;

typedef struct __attribute__((packed, aligned(8))) copy_record_s {
  uint32_t kind;
  uint8_t direction, source, destination, flags;
  uint64_t bytes, start, end;
  uint32_t device, context, stream, correlation;
  uint8_t rest[48];
} copy_record_t;

typedef struct __attribute__((packed, aligned(8))) call_record_s {
  uint32_t kind, function;
  uint64_t start, end;
  uint32_t process, thread, correlation, result;
} call_record_t;

typedef void (*request_fn_t)(uint8_t** out_buffer, size_t* out_size, size_t* out_most);
typedef void (*complete_fn_t)(void* context, uint32_t stream, uint8_t* buffer, size_t size,
                              size_t valid_size);

static struct {
  pthread_mutex_t mutex;
  const char* failing;
  int failure;
  uint32_t version, correlation;
  int thread_id_type;
  bool is_enabled[KINDS];
  request_fn_t request;
  complete_fn_t complete;
  uint8_t* buffer;  // that is being filled
  size_t size, filled;
  int buffers;
  size_t dropped;
  void (*on_flush)(void);
} fake = {.mutex = PTHREAD_MUTEX_INITIALIZER, .version = 28};

static uint64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  const uint64_t ns = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
  return UINT64_C(1700000000000000000) + 2 * ns;
}

// The result that |function| must give.
static int result_of(const char* function) {
  return fake.failing && strcmp(fake.failing, function) == 0 ? fake.failure : 0;
}

// ---- Records ------------------------------------------------------------------------------------
// The mutex is held.

static size_t size_of(const uint8_t* record) {
  uint32_t kind;
  memcpy(&kind, record, sizeof kind);
  if (kind == KERNEL) return sizeof(kernel_record_t);
  return kind == COPY ? sizeof(copy_record_t) : sizeof(call_record_t);
}

static void give_back(void) {
  if (!fake.buffer) return;
  // Of work that goes on the end is not known.
  for (size_t at = 0; at < fake.filled;) {
    kernel_record_t* kernel = (kernel_record_t*)(fake.buffer + at);
    at += size_of(fake.buffer + at);
    if (kernel->kind == KERNEL && kernel->end > now()) kernel->start = kernel->end = 0;
  }
  fake.complete(NULL, 0, fake.buffer, fake.size, fake.filled);
  fake.buffer = NULL;
  --fake.buffers;
}

static void put(uint32_t kind, const void* record, size_t size) {
  size_t most = 1;
  if (!fake.is_enabled[kind]) return;
  if (fake.buffer && fake.size - fake.filled < size) give_back();
  if (!fake.buffer) {
    fake.filled = 0;
    fake.request(&fake.buffer, &fake.size, &most);
    fake.buffers += fake.buffer != NULL;
  }
  if (!fake.buffer) {
    ++fake.dropped;
    return;
  }
  memcpy(fake.buffer + fake.filled, record, size);
  fake.filled += size;
}

static uint32_t thread_id(void) {
  return fake.thread_id_type == 1 ? (uint32_t)syscall(SYS_gettid)
                                  : (uint32_t)(uintptr_t)pthread_self();
}

EXPORT void fake_cuda_launch(const fake_work_t* work) {
  pthread_mutex_lock(&fake.mutex);
  const uint32_t correlation = ++fake.correlation;
  const uint64_t called = now();
  const uint64_t end = called + 4 + 2 * (uint64_t)work->duration_ns;
  const call_record_t driver = {.kind = DRIVER, .start = called + 1, .end = called + 2,
                                .thread = thread_id(), .correlation = correlation};
  const call_record_t runtime = {.kind = RUNTIME, .start = called, .end = called + 3,
                                 .thread = thread_id(), .correlation = correlation};
  const kernel_record_t kernel = {.kind = KERNEL, .start = called + 4, .end = end,
                                  .device = work->device, .context = 1, .stream = work->stream,
                                  .correlation = correlation, .name = work->name};
  const copy_record_t copy = {.kind = COPY, .direction = 1, .bytes = 64, .start = called + 4,
                              .end = end, .device = work->device, .context = 1,
                              .stream = work->stream, .correlation = correlation};
  put(DRIVER, &driver, sizeof driver);
  put(RUNTIME, &runtime, sizeof runtime);
  if (work->name) {
    put(KERNEL, &kernel, sizeof kernel);
  } else {
    put(COPY, &copy, sizeof copy);
  }
  pthread_mutex_unlock(&fake.mutex);
}

// ---- What tests do ------------------------------------------------------------------------------

EXPORT void fake_cupti_fail(const char* function, int result) {
  fake.failing = function;
  fake.failure = result;
}

EXPORT void fake_cupti_set_version(uint32_t version) { fake.version = version; }

EXPORT void fake_cupti_drop(size_t count) { fake.dropped = count; }

EXPORT void fake_cupti_on_flush(void (*fn)(void)) { fake.on_flush = fn; }

EXPORT int fake_cupti_count_kinds(void) {
  int count = 0;
  for (int i = 0; i < KINDS; ++i) count += fake.is_enabled[i];
  return count;
}

EXPORT int fake_cupti_count_buffers(void) { return fake.buffers; }

// ---- CUPTI --------------------------------------------------------------------------------------

EXPORT int cuptiGetVersion(uint32_t* out_version) {
  *out_version = fake.version;
  return result_of("cuptiGetVersion");
}

EXPORT int cuptiGetTimestamp(uint64_t* out_ns) {
  const int result = result_of("cuptiGetTimestamp");
  *out_ns = result ? 0 : now();
  return result;
}

EXPORT int cuptiGetResultString(int result, const char** out_text) {
  *out_text = "CUPTI_ERROR_OF_TEST";
  return 0;
}

EXPORT int cuptiSetThreadIdType(int type) {
  fake.thread_id_type = type;
  return result_of("cuptiSetThreadIdType");
}

EXPORT int cuptiActivityRegisterCallbacks(request_fn_t request, complete_fn_t complete) {
  fake.request = request;
  fake.complete = complete;
  return result_of("cuptiActivityRegisterCallbacks");
}

static int set_enabled(int kind, bool is_enabled) {
  if (kind <= 0 || kind >= KINDS) return INVALID_PARAMETER;
  pthread_mutex_lock(&fake.mutex);
  fake.is_enabled[kind] = is_enabled;
  pthread_mutex_unlock(&fake.mutex);
  return 0;
}

EXPORT int cuptiActivityEnable(int kind) {
  // The last of the kinds that are asked for is the one that fails.
  const int result = kind == DRIVER ? result_of("cuptiActivityEnable") : 0;
  return result ? result : set_enabled(kind, true);
}

EXPORT int cuptiActivityDisable(int kind) {
  const int result = result_of("cuptiActivityDisable");
  return result ? result : set_enabled(kind, false);
}

EXPORT int cuptiActivityFlushAll(uint32_t flag) {
  const int result = result_of("cuptiActivityFlushAll");
  void (*on_flush)(void) = fake.on_flush;
  if (!fake.complete) return INVALID_OPERATION;
  fake.on_flush = NULL;
  if (on_flush) on_flush();
  pthread_mutex_lock(&fake.mutex);
  if (!result && flag == 1) give_back();
  pthread_mutex_unlock(&fake.mutex);
  return result;
}

EXPORT int cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid_size,
                                      uint8_t** inout_record) {
  size_t at = 0;
  if (*inout_record) {
    at = (size_t)(*inout_record - buffer) + size_of(*inout_record);
  }
  if (result_of("cuptiActivityGetNextRecord")) return result_of("cuptiActivityGetNextRecord");
  if (at >= valid_size) return MAX_LIMIT_REACHED;
  *inout_record = buffer + at;
  return 0;
}

EXPORT int cuptiActivityGetNumDroppedRecords(void* context, uint32_t stream,
                                             size_t* out_dropped) {
  *out_dropped = fake.dropped;
  fake.dropped = 0;
  return result_of("cuptiActivityGetNumDroppedRecords");
}
