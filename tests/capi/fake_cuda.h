// What fake_cuda_plugin.so does besides being a CUDA driver and a CUPTI to those who load it: it
// works like a GPU that a test drives. Its functions are found by their names.
#ifndef LEAT_TESTS_CAPI_FAKE_CUDA_H_
#define LEAT_TESTS_CAPI_FAKE_CUDA_H_

#include <stddef.h>
#include <stdint.h>

// A piece of work: a kernel, or a copy to the device where |name| is NULL.
typedef struct fake_work_s {
  const char* name;
  uint32_t device, stream;
  int64_t duration_ns;
} fake_work_t;

// A call of the runtime's, with one of the driver's within it, begins the work at once, on a GPU
// that is never busy. It is recorded where CUPTI was asked to.
typedef void (*fake_cuda_launch_fn_t)(const fake_work_t* work);
// Lets CUPTI's |function| fail with |result| from now on; NULL: none does.
typedef void (*fake_cupti_fail_fn_t)(const char* function, int result);
typedef void (*fake_cupti_set_version_fn_t)(uint32_t version);
typedef int (*fake_cupti_flush_fn_t)(uint32_t flag);
// CUPTI says that it dropped |count| records.
typedef void (*fake_cupti_drop_fn_t)(size_t count);
// |fn| is called when the next flush begins.
typedef void (*fake_cupti_on_flush_fn_t)(void (*fn)(void));
// How many kinds of records are asked for, and how many buffers it has of whoever asks.
typedef int (*fake_cupti_count_fn_t)(void);

#endif  // LEAT_TESTS_CAPI_FAKE_CUDA_H_
