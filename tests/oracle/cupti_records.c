// The program of cupti_oracle.py: what src/modules/cupti knows of CUPTI's bytes beside NVIDIA's own
// headers, and its reading of records that are laid out by NVIDIA's structs and walked by NVIDIA's
// library. CUPTI records nothing on a machine without a GPU, so the functions that begin and flush
// are stood in for here: the flush fills the module's buffer by hand. All that is read of it goes
// through the real cuptiActivityGetNextRecord.
// Usage: cupti_records MODULE CUPTI records|begin|clock
#include <cuda.h>  // the script's: the types that CUPTI's headers name

#include <cupti_activity.h>
#include <cupti_version.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "modules/cupti/layout.h"
#include "trace/gpu_module.h"

// ---- The bytes ----------------------------------------------------------------------------------

typedef CUpti_ActivityKernel9 KERNEL_t;
typedef CUpti_ActivityMemcpy6 COPY_t;
typedef CUpti_ActivityMemcpyPtoP4 PEER_COPY_t;
typedef CUpti_ActivityMemset4 FILL_t;
typedef CUpti_ActivityAPI CALL_t;
enum { BYTES_START = 8, BYTES_END = 8, BYTES_DEVICE = 4, BYTES_CONTEXT = 4, BYTES_STREAM = 4,
       BYTES_CORRELATION = 4, BYTES_NAME = 8, BYTES_DIRECTION = 1, BYTES_THREAD = 4 };

#define FIELD(record, name, field, at)                                     \
  _Static_assert(offsetof(record##_t, field) == (at), #record "." #field); \
  _Static_assert(sizeof(((record##_t*)0)->field) == BYTES_##name, #record "." #field);
#define NUMBER(name, theirs, value) _Static_assert((int)theirs == (value), #theirs);
CUPTI_FIELDS(FIELD)
CUPTI_NUMBERS(NUMBER)
_Static_assert(CUPTI_API_VERSION >= CUPTI_FIRST_VERSION, "the version is known");
_Static_assert(CUPTI_API_VERSION <= CUPTI_LAST_VERSION, "the version is known");

// ---- Standing in --------------------------------------------------------------------------------

static void* cupti;
static int stands_in;
static CUpti_BuffersCallbackRequestFunc request;
static CUpti_BuffersCallbackCompleteFunc complete;

static CUptiResult set_thread_id_type(CUpti_ActivityThreadIdType type) {
  return type == CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM ? CUPTI_SUCCESS : CUPTI_ERROR_UNKNOWN;
}

static CUptiResult register_callbacks(CUpti_BuffersCallbackRequestFunc request_fn,
                                      CUpti_BuffersCallbackCompleteFunc complete_fn) {
  request = request_fn;
  complete = complete_fn;
  return CUPTI_SUCCESS;
}

static CUptiResult change_kind(CUpti_ActivityKind kind) { return CUPTI_SUCCESS; }

static CUptiResult flush(uint32_t flag) {
  uint8_t* buffer;
  size_t size, most, filled = 0;
#define PUT(type, ...)                                    \
  do {                                                    \
    const type record = {__VA_ARGS__};                    \
    memcpy(buffer + filled, &record, sizeof record);      \
    filled += sizeof record;                              \
  } while (0)
  request(&buffer, &size, &most);
  PUT(CALL_t, .kind = CUPTI_ACTIVITY_KIND_RUNTIME, .cbid = 211, .start = 100, .end = 110,
      .processId = 1, .threadId = 77, .correlationId = 5);
  PUT(CALL_t, .kind = CUPTI_ACTIVITY_KIND_DRIVER, .cbid = 307, .start = 101, .end = 109,
      .processId = 1, .threadId = 78, .correlationId = 5);
  PUT(KERNEL_t, .kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, .start = 120, .end = 190,
      .deviceId = 3, .contextId = 4, .streamId = 7, .correlationId = 5, .name = "sgemm");
  PUT(KERNEL_t, .kind = CUPTI_ACTIVITY_KIND_KERNEL, .start = 121, .end = 191, .correlationId = 6);
  PUT(CUpti_ActivityDevice5, .kind = CUPTI_ACTIVITY_KIND_DEVICE);  // which nobody asked for
  for (int direction = 0; direction <= 10; ++direction) {
    PUT(COPY_t, .kind = CUPTI_ACTIVITY_KIND_MEMCPY, .copyKind = (uint8_t)direction, .start = 200,
        .end = 210, .deviceId = 1, .contextId = 2, .streamId = 14, .correlationId = 8);
  }
  PUT(PEER_COPY_t, .kind = CUPTI_ACTIVITY_KIND_MEMCPY2, .copyKind = 10, .start = 300, .end = 310,
      .deviceId = 1, .contextId = 2, .streamId = 15, .srcDeviceId = 9, .dstDeviceId = 9,
      .correlationId = 10);
  PUT(FILL_t, .kind = CUPTI_ACTIVITY_KIND_MEMSET, .start = 400, .end = 410, .deviceId = 1,
      .contextId = 2, .streamId = 16, .correlationId = 11);
  complete(NULL, 0, buffer, size, filled);
  return CUPTI_SUCCESS;
}

static CUptiResult get_dropped(CUcontext context, uint32_t stream, size_t* out_dropped) {
  *out_dropped = 42;
  return CUPTI_SUCCESS;
}

// ---- The module's host --------------------------------------------------------------------------

static void* open_library(const char* path) {
  return cupti = dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static void* find(void* library, const char* symbol) {
  static const struct {
    const char* name;
    void* function;
  } kOurs[] = {{"cuptiSetThreadIdType", (void*)set_thread_id_type},
               {"cuptiActivityRegisterCallbacks", (void*)register_callbacks},
               {"cuptiActivityEnable", (void*)change_kind},
               {"cuptiActivityDisable", (void*)change_kind},
               {"cuptiActivityFlushAll", (void*)flush},
               {"cuptiActivityGetNumDroppedRecords", (void*)get_dropped}};
  for (size_t i = 0; stands_in && i < sizeof kOurs / sizeof *kOurs; ++i) {
    if (strcmp(symbol, kOurs[i].name) == 0) return kOurs[i].function;
  }
  return dlsym(library, symbol);
}

static void take(const leat_gpu_record_t* records, size_t count) {
  for (const leat_gpu_record_t* r = records; r < records + count; ++r) {
    printf("%d %d: %d to %d, thread %u, GPU %u %u %u, %s\n", (int)r->kind, (int)r->correlation,
           (int)r->begin, (int)r->end, r->thread, r->device, r->context, r->stream,
           r->name ? r->name : "-");
  }
}

int main(int argc, char** argv) {
  static const leat_gpu_host_t kHost = {open_library, find, take};
  char message[256] = "";
  uint64_t dropped = 0;
  const leat_gpu_module_t* (*entry)(void);
  void* library = argc == 4 ? dlopen(argv[1], RTLD_NOW) : NULL;
  if (!library) return 2;
  *(void**)&entry = dlsym(library, "leat_module_cupti");
  const leat_gpu_module_t* module = entry();
  stands_in = strcmp(argv[3], "records") == 0;
  const int begun = module->begin(&kHost, argv[2], message, sizeof message);
  if (strcmp(argv[3], "clock") == 0) {
    printf("%llu\n", (unsigned long long)module->now());
    return 0;
  }
  printf("begin: %d %s\n", begun, message);
  if (begun) return 0;
  const int collected = module->collect(true, &dropped, message, sizeof message);
  printf("collect: %d, %d dropped\n", collected, (int)dropped);
  return 0;
}
