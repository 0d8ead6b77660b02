// The CUPTI module's table of functions. CUPTI is NVIDIA's library that tells what the GPUs of a
// process did; it is found by its name when it is needed, and neither it nor its headers are needed
// to build. CUPTI asks for buffers and fills them with records. A buffer that is full, or that is
// flushed, comes back on a thread of CUPTI's or on the one that flushes; its records are read here,
// by a table of where the fields of each kind lie (layout.h), and handed on as plain structs. CUPTI
// has so many buffers at most: where it gets none it drops records and counts them, so that a
// program that launches faster than the recorder reads is not held up and takes no more memory.
//
// The callbacks have no argument of ours, hence there is one state in the process, under a mutex.
// Records are handed on under it, one buffer after the other; of CUPTI's functions only that which
// finds the next record is called there, since a flush calls back. The table's functions are called
// by one thread at a time. Which call began which work is not known here.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "base/sync.h"
#include "modules/cupti/layout.h"
#include "trace/gpu_module.h"

#define BUFFER_BYTES ((size_t)256 << 10)
#define MOST_BUFFERS 256    // that CUPTI has at once
#define BATCH 128           // records that are handed on together

#define FIELD(record, name, field, offset) record##_##name = (offset),
#define NUMBER(name, theirs, value) CUPTI_##name = (value),
enum { CUPTI_FIELDS(FIELD) };
enum { CUPTI_NUMBERS(NUMBER) };
#undef FIELD
#undef NUMBER

// ---- CUPTI's functions --------------------------------------------------------------------------

typedef int result_t;  // CUptiResult
typedef void (*request_fn_t)(uint8_t** out_buffer, size_t* out_size, size_t* out_most_records);
typedef void (*complete_fn_t)(void* context, uint32_t stream, uint8_t* buffer, size_t size,
                              size_t valid_size);
typedef struct cupti_s {
  result_t (*get_version)(uint32_t* out_version);
  result_t (*get_timestamp)(uint64_t* out_ns);
  result_t (*get_result_string)(result_t result, const char** out_text);
  result_t (*set_thread_id_type)(int type);
  result_t (*register_callbacks)(request_fn_t request, complete_fn_t complete);
  result_t (*enable)(int kind);
  result_t (*disable)(int kind);
  result_t (*flush_all)(uint32_t flag);
  result_t (*get_next_record)(uint8_t* buffer, size_t valid_size, uint8_t** inout_record);
  result_t (*get_dropped)(void* context, uint32_t stream, size_t* out_dropped);
} cupti_t;

static const struct {
  const char* name;
  size_t at;
} kFunctions[] = {
    {"cuptiGetVersion", offsetof(cupti_t, get_version)},
    {"cuptiGetTimestamp", offsetof(cupti_t, get_timestamp)},
    {"cuptiGetResultString", offsetof(cupti_t, get_result_string)},
    {"cuptiSetThreadIdType", offsetof(cupti_t, set_thread_id_type)},
    {"cuptiActivityRegisterCallbacks", offsetof(cupti_t, register_callbacks)},
    {"cuptiActivityEnable", offsetof(cupti_t, enable)},
    {"cuptiActivityDisable", offsetof(cupti_t, disable)},
    {"cuptiActivityFlushAll", offsetof(cupti_t, flush_all)},
    {"cuptiActivityGetNextRecord", offsetof(cupti_t, get_next_record)},
    {"cuptiActivityGetNumDroppedRecords", offsetof(cupti_t, get_dropped)},
};

// What is recorded, in the order in which it is asked for: work before calls, so that no call is
// recorded whose work is not.
static const int kKinds[] = {CUPTI_KIND_CONCURRENT_KERNEL, CUPTI_KIND_COPY, CUPTI_KIND_PEER_COPY,
                             CUPTI_KIND_FILL, CUPTI_KIND_RUNTIME, CUPTI_KIND_DRIVER};
#define KINDS (sizeof kKinds / sizeof *kKinds)

static struct {
  leat_mutex_t mutex;  // guards what follows up to |cupti|
  const leat_gpu_host_t* host;
  int buffers;         // that CUPTI has
  int read_result;     // of the last buffer that could not be read to its end; else 0
  // Set by the first |begin| that finds CUPTI, for ever.
  cupti_t cupti;
  bool is_open;
} state = {.mutex = {PTHREAD_MUTEX_INITIALIZER}};

static int fail(const char* what, result_t result, char* message, size_t message_size) {
  const char* text = NULL;
  if (state.cupti.get_result_string(result, &text) != CUPTI_SUCCESS || !text) text = "unknown";
  snprintf(message, message_size, "%s failed: CUPTI's error %d, %s", what, result, text);
  return result == CUPTI_OUT_OF_MEMORY ? LEAT_RESOURCE_EXHAUSTED : LEAT_UNAVAILABLE;
}

// ---- Records ------------------------------------------------------------------------------------

// Where the fields of a kind of record lie. 0, at which every record has its kind: it has none.
typedef struct layout_s {
  int cupti_kind;
  leat_gpu_record_kind_t kind;
  uint16_t bytes;  // up to the last field that is read
  uint16_t start, end, correlation, thread, device, context, stream, name, direction;
} layout_t;

#define STREAM_FIELDS(record)                                                          \
  .start = record##_START, .end = record##_END, .correlation = record##_CORRELATION,   \
  .device = record##_DEVICE, .context = record##_CONTEXT, .stream = record##_STREAM
#define CALL_LAYOUT(cupti)                                                             \
  {.cupti_kind = cupti, .kind = LEAT_GPU_CALL, .bytes = CALL_CORRELATION + 4,          \
   .start = CALL_START, .end = CALL_END, .correlation = CALL_CORRELATION,              \
   .thread = CALL_THREAD}
#define KERNEL_LAYOUT(cupti)                                                           \
  {.cupti_kind = cupti, .kind = LEAT_GPU_KERNEL, .bytes = KERNEL_NAME + 8,             \
   STREAM_FIELDS(KERNEL), .name = KERNEL_NAME}
static const layout_t kLayouts[] = {
    CALL_LAYOUT(CUPTI_KIND_RUNTIME),
    CALL_LAYOUT(CUPTI_KIND_DRIVER),
    KERNEL_LAYOUT(CUPTI_KIND_KERNEL),
    KERNEL_LAYOUT(CUPTI_KIND_CONCURRENT_KERNEL),
    {.cupti_kind = CUPTI_KIND_COPY, .kind = LEAT_GPU_COPY_WITHIN, .bytes = COPY_CORRELATION + 4,
     STREAM_FIELDS(COPY), .direction = COPY_DIRECTION},
    {.cupti_kind = CUPTI_KIND_PEER_COPY, .kind = LEAT_GPU_COPY_ACROSS,
     .bytes = PEER_COPY_CORRELATION + 4, STREAM_FIELDS(PEER_COPY)},
    {.cupti_kind = CUPTI_KIND_FILL, .kind = LEAT_GPU_FILL, .bytes = FILL_CORRELATION + 4,
     STREAM_FIELDS(FILL)},
};

static leat_gpu_record_kind_t kind_of_copy(uint8_t direction) {
  switch (direction) {
    case CUPTI_HOST_TO_DEVICE:
    case CUPTI_HOST_TO_ARRAY: return LEAT_GPU_COPY_IN;
    case CUPTI_DEVICE_TO_HOST:
    case CUPTI_ARRAY_TO_HOST: return LEAT_GPU_COPY_OUT;
    case CUPTI_PEER_TO_PEER: return LEAT_GPU_COPY_ACROSS;
    default: return LEAT_GPU_COPY_WITHIN;
  }
}

static uint32_t read_word(const uint8_t* record, uint16_t at) {
  uint32_t word = 0;
  if (at) memcpy(&word, record + at, sizeof word);
  return word;
}

// Reads a record of which |size| bytes are there; false where it is of no kind that is asked for.
static bool read_record(const uint8_t* record, size_t size, leat_gpu_record_t* out) {
  int kind;
  const layout_t* layout = kLayouts;
  if (size < sizeof kind) return false;
  memcpy(&kind, record, sizeof kind);
  while (layout < kLayouts + sizeof kLayouts / sizeof *kLayouts && layout->cupti_kind != kind) {
    ++layout;
  }
  if (layout == kLayouts + sizeof kLayouts / sizeof *kLayouts || size < layout->bytes) return false;
  *out = (leat_gpu_record_t){.kind = layout->kind,
                             .correlation = read_word(record, layout->correlation),
                             .thread = read_word(record, layout->thread),
                             .device = read_word(record, layout->device),
                             .context = read_word(record, layout->context),
                             .stream = read_word(record, layout->stream)};
  memcpy(&out->begin, record + layout->start, sizeof out->begin);
  memcpy(&out->end, record + layout->end, sizeof out->end);
  if (layout->name) memcpy(&out->name, record + layout->name, sizeof out->name);
  if (layout->direction) out->kind = kind_of_copy(record[layout->direction]);
  return true;
}

// Hands on what a buffer holds. A record without an end, as a forced flush may leave it, is CUPTI's
// "invalid kind". The mutex is held.
static void read_buffer(uint8_t* buffer, size_t valid_size) {
  leat_gpu_record_t batch[BATCH];
  size_t count = 0;
  uint8_t* record = NULL;
  result_t result;
  while ((result = state.cupti.get_next_record(buffer, valid_size, &record)) == CUPTI_SUCCESS) {
    // It lies in the buffer, or something is wrong that must not be read.
    if (!record || record < buffer || record >= buffer + valid_size) break;
    if (!read_record(record, (size_t)(buffer + valid_size - record), &batch[count])) continue;
    if (++count == BATCH) {
      state.host->take(batch, count);
      count = 0;
    }
  }
  if (count) state.host->take(batch, count);
  const bool is_read = result == CUPTI_SUCCESS || result == CUPTI_MAX_LIMIT_REACHED ||
                       result == CUPTI_INVALID_KIND;
  if (!is_read) state.read_result = result;
}

// ---- Callbacks of CUPTI -------------------------------------------------------------------------

static void request_buffer(uint8_t** out_buffer, size_t* out_size, size_t* out_most_records) {
  *out_buffer = NULL;
  *out_size = BUFFER_BYTES;
  *out_most_records = 0;  // as many as it has room for
  leat_mutex_lock(&state.mutex);
  if (state.buffers < MOST_BUFFERS) *out_buffer = malloc(BUFFER_BYTES);
  state.buffers += *out_buffer != NULL;
  leat_mutex_unlock(&state.mutex);
  if (!*out_buffer) *out_size = 0;
}

static void complete_buffer(void* context, uint32_t stream, uint8_t* buffer, size_t size,
                            size_t valid_size) {
  if (!buffer) return;
  leat_mutex_lock(&state.mutex);
  if (valid_size && valid_size <= BUFFER_BYTES) read_buffer(buffer, valid_size);
  --state.buffers;
  leat_mutex_unlock(&state.mutex);
  free(buffer);
}

// ---- The table ----------------------------------------------------------------------------------

static void* open_library(const leat_gpu_host_t* host, const char* library) {
  static const char* const kNames[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8",
                                       "libcupti.so"};
  void* opened = NULL;
  if (library) return host->open(library);
  for (size_t i = 0; i < sizeof kNames / sizeof *kNames && !opened; ++i) {
    opened = host->open(kNames[i]);
  }
  return opened;
}

// Finds CUPTI and its functions, once.
static int find_cupti(const leat_gpu_host_t* host, const char* library, char* message,
                      size_t message_size) {
  uint32_t version = 0;
  void* opened = open_library(host, library);
  if (!opened) {
    snprintf(message, message_size, "no %s can be opened", library ? library : "libcupti.so");
    return LEAT_NOT_FOUND;
  }
  for (size_t i = 0; i < sizeof kFunctions / sizeof *kFunctions; ++i) {
    void* found = host->find(opened, kFunctions[i].name);
    if (!found) {
      snprintf(message, message_size, "CUPTI has no function %s", kFunctions[i].name);
      return LEAT_UNIMPLEMENTED;
    }
    memcpy((char*)&state.cupti + kFunctions[i].at, &found, sizeof found);
  }
  const result_t result = state.cupti.get_version(&version);
  if (result != CUPTI_SUCCESS) return fail("cuptiGetVersion", result, message, message_size);
  if (version < CUPTI_FIRST_VERSION || version > CUPTI_LAST_VERSION) {
    snprintf(message, message_size, "CUPTI's version is %u, must be %d to %d", version,
             CUPTI_FIRST_VERSION, CUPTI_LAST_VERSION);
    return LEAT_UNIMPLEMENTED;
  }
  state.is_open = true;
  return LEAT_OK;
}

static void disable(size_t count) {
  while (count-- > 0) state.cupti.disable(kKinds[count]);
}

static int begin(const leat_gpu_host_t* host, const char* library, char* message,
                 size_t message_size) {
  if (!state.is_open) {
    const int code = find_cupti(host, library, message, message_size);
    if (code != LEAT_OK) return code;
  }
  leat_mutex_lock(&state.mutex);
  state.host = host;
  leat_mutex_unlock(&state.mutex);
  // Threads have the system's numbers in recordings, and POSIX's in CUPTI unless it is told.
  result_t result = state.cupti.set_thread_id_type(CUPTI_SYSTEM_THREAD_IDS);
  if (result != CUPTI_SUCCESS) return fail("cuptiSetThreadIdType", result, message, message_size);
  result = state.cupti.register_callbacks(request_buffer, complete_buffer);
  if (result != CUPTI_SUCCESS) {
    return fail("cuptiActivityRegisterCallbacks", result, message, message_size);
  }
  for (size_t i = 0; i < KINDS; ++i) {
    result = state.cupti.enable(kKinds[i]);
    if (result == CUPTI_SUCCESS) continue;
    disable(i);
    return fail("cuptiActivityEnable", result, message, message_size);
  }
  return LEAT_OK;
}

// Takes the error of the buffers that were read.
static result_t take_read_result(void) {
  leat_mutex_lock(&state.mutex);
  const result_t result = state.read_result;
  state.read_result = CUPTI_SUCCESS;
  leat_mutex_unlock(&state.mutex);
  return result;
}

static uint64_t now(void) {
  uint64_t ns = 0;
  return state.cupti.get_timestamp(&ns) == CUPTI_SUCCESS ? ns : 0;
}

// A flush that is forced gives the records of unfinished work too, without times.
static int collect(bool ends, uint64_t* out_dropped, char* message, size_t message_size) {
  size_t dropped = 0;
  if (ends) disable(KINDS);
  const result_t result = state.cupti.flush_all(CUPTI_FLUSH_FORCED);
  if (state.cupti.get_dropped(NULL, 0, &dropped) != CUPTI_SUCCESS) dropped = 0;
  *out_dropped = dropped;
  const result_t read_result = take_read_result();
  if (result != CUPTI_SUCCESS) {
    return fail("cuptiActivityFlushAll", result, message, message_size);
  }
  if (read_result == CUPTI_SUCCESS) return LEAT_OK;
  return fail("cuptiActivityGetNextRecord", read_result, message, message_size);
}

__attribute__((visibility("default"))) const leat_gpu_module_t* leat_module_cupti(void) {
  static const leat_gpu_module_t kModule = {.struct_size = sizeof(leat_gpu_module_t),
                                            .begin = begin,
                                            .now = now,
                                            .collect = collect};
  return &kModule;
}
