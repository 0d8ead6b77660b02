// The interface of leat_module_cupti.so: what GPUs did, as NVIDIA's CUPTI tells it, in plain
// structs, so that our library knows neither CUPTI's functions nor the bytes of its records.
// trace/gpu_source.c loads the module and is its only caller; trace/gpu_spans.h makes spans of the
// records. The module reaches the library only through what it is handed.
#ifndef LEAT_TRACE_GPU_MODULE_H_
#define LEAT_TRACE_GPU_MODULE_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// What a record tells of. All but a call are work of a stream.
typedef enum leat_gpu_record_kind_e {
  LEAT_GPU_CALL,         // a thread called a function of CUDA's
  LEAT_GPU_KERNEL,
  LEAT_GPU_COPY_IN,      // to the device
  LEAT_GPU_COPY_OUT,     // from the device
  LEAT_GPU_COPY_ACROSS,  // between two devices
  LEAT_GPU_COPY_WITHIN,  // within a device
  LEAT_GPU_FILL,         // memory is set to a value
  LEAT_GPU_RECORD_KINDS,
} leat_gpu_record_kind_t;

typedef struct leat_gpu_record_s {
  uint64_t begin, end;   // of the module's clock; 0 where they are not known
  const char* name;      // of a kernel, perhaps NULL; borrowed during the call that hands it over
  leat_gpu_record_kind_t kind;
  uint32_t correlation;  // the call and the work that it began have the same
  uint32_t thread;       // of a call, as the system numbers it
  uint32_t device, context, stream;  // of work
} leat_gpu_record_t;

// What the module is handed.
typedef struct leat_gpu_host_s {
  void* (*open)(const char* path);  // a shared library; NULL where it cannot be opened
  void* (*find)(void* library, const char* symbol);  // NULL where it has none
  // Takes records, on any thread, one call after the other. It must not call the module.
  void (*take)(const leat_gpu_record_t* records, size_t count);
} leat_gpu_host_t;

// One caller at a time.
typedef struct leat_gpu_module_s {
  size_t struct_size;  // of the module's struct: a field past it is absent
  // Opens |library|, or CUPTI by one of its names where that is NULL, and has records made from now
  // on. A leat_status_code_t; unless it is LEAT_OK nothing is made, and |message| says why.
  int (*begin)(const leat_gpu_host_t* host, const char* library, char* message,
               size_t message_size);
  uint64_t (*now)(void);  // by the clock of records
  // Hands over what has been recorded, before it returns, and says in |*out_dropped| how many
  // records were dropped for want of room. With |ends| nothing more is recorded. As |begin|.
  int (*collect)(bool ends, uint64_t* out_dropped, char* message, size_t message_size);
} leat_gpu_module_t;

#endif  // LEAT_TRACE_GPU_MODULE_H_
